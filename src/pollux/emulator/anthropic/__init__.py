"""Anthropic's Messages API: a third face of the same demo model."""
