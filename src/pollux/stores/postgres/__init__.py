"""The store on PostgreSQL: many hosts, one truth. Only `bootstrap` imports it, and only when it is asked for."""
