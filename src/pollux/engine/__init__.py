"""The engine: the only code that performs effects."""
