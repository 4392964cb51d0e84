"""OpenAI's Chat Completions, as OpenAI, Ollama and Gemini's own compatible endpoint speak it: a small second face."""
