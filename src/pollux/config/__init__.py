"""Environment, files and flags, read once into typed settings. Nothing is read on import, and nothing is read twice.

Order: flags, environment, `.env`, configuration files. What lies in a working directory may narrow rights, never widen
them: see `project`, which is loaded on first use because a command that fails for want of a key never needs it.
"""

from typing import TYPE_CHECKING

from pollux.config.files import ConfigError
from pollux.config.models import ModelRef, ProviderName, model_ref, provider_of, without_key
from pollux.config.settings import Settings, missing_key, read_settings
from pollux.config.sources import ConfigFile
from pollux.config.table import SETTINGS, Setting, explain_missing

if TYPE_CHECKING:
    from pollux.config.project import LeftOut, Project, accept_project, load_project
    from pollux.config.rights import Rights

__all__ = [
    "SETTINGS",
    "ConfigError",
    "ConfigFile",
    "LeftOut",
    "ModelRef",
    "Project",
    "ProviderName",
    "Rights",
    "Setting",
    "Settings",
    "accept_project",
    "explain_missing",
    "load_project",
    "missing_key",
    "model_ref",
    "provider_of",
    "read_settings",
    "without_key",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'pollux.config' has no attribute '{name}'")
    from pollux.config import project

    return getattr(project, name)
