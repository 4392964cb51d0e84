"""The rules of the demo model: words of a prompt against names and schemas of declared tools."""
