"""Runbooks over HTTP: the documents of one folder, their runs, and what is asked of people meanwhile."""
