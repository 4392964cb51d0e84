"""Gemini's wire format: read a request as strictly as the real service does, and write the answer the way it does."""
