"""Policies from files, in our own form and in Gemini CLI's."""
