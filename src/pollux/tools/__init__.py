"""Tools that come with Pollux, and the way to make one."""
