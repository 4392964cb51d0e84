"""Print the reference page of settings: `python -m pollux.config > docs/reference/settings.md`."""

from pollux.config.reference import settings_page

print(settings_page(), end="")
