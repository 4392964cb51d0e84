"""Tools from typed functions, and the way between Python types and JSON."""
