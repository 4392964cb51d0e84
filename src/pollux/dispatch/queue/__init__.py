"""Wakes as jobs of Procrastinate, in the database of the PostgreSQL store, for workers on any number of hosts."""
