"""Agents inside a runbook: our own as child runs, foreign ones over ACP. Both under the same gate."""
