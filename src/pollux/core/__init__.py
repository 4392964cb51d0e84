"""The pure core: facts, decisions and the machine. Standard library only; no async, clock, randomness or I/O."""
