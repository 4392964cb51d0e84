"""Dispatchers: where a run is driven."""
