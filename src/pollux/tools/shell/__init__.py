"""Commands: what they mean, whether they may run, and what becomes of their processes."""
