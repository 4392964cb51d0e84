"""The HTTP runtime: runs, streams, approvals, threads, grants and the audit, over the engine's verbs."""
