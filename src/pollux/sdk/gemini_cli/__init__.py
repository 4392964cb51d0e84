"""Sessions that Gemini CLI keeps in files of its own: found, read, and made into messages. Never written."""
