"""Google's OAuth, Gmail and Calendar on this machine: a real HTTP server with Google's paths, and a ledger of effects.

Law: the product reaches it by base URL only, like the real services; nothing that is sent here leaves this machine.
"""

from pollux.emulator.workspace.server import Workspace, run_workspace

__all__ = ["Workspace", "run_workspace"]
