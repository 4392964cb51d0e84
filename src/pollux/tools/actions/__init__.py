"""Described actions: what a site's server can do for a page and, where a `.jay-action` file says so, for a model."""

from pollux.tools.actions.as_tools import OWN, ActionTool, action_tools
from pollux.tools.actions.documents import FileError
from pollux.tools.actions.handlers import Handler, action, query
from pollux.tools.actions.metadata import ActionMetadata, load_action_metadata
from pollux.tools.actions.plugins import Plugin, PluginAction, read_plugin, resolve_action_metadata_path
from pollux.tools.actions.registered import add_plugin, handlers_at, registered_handlers
from pollux.tools.actions.registry import ActionError, ActionRegistry, Caller, DescribedAction

__all__ = [
    "OWN",
    "ActionError",
    "ActionMetadata",
    "ActionRegistry",
    "ActionTool",
    "Caller",
    "DescribedAction",
    "FileError",
    "Handler",
    "Plugin",
    "PluginAction",
    "action",
    "action_tools",
    "add_plugin",
    "handlers_at",
    "load_action_metadata",
    "query",
    "read_plugin",
    "registered_handlers",
    "resolve_action_metadata_path",
]
