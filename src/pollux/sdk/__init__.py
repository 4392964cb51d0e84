"""Pollux from Python: agents, and the sessions of other programs that they go on with."""
