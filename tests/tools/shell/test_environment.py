"""What a child gets to see of our environment."""

from pollux.tools.shell.environment import child_environment
from pollux.tools.shell.git import ALWAYS


def test_a_child_sees_what_every_program_needs_and_what_was_named():
    base = {"PATH": "/bin", "HOME": "/home/ada", "LC_ALL": "C", "TERM": "xterm", "EDITOR": "vi"}
    named = {"MODE": "test"}
    assert child_environment(base, named) == ALWAYS | {
        "PATH": "/bin", "HOME": "/home/ada", "LC_ALL": "C", "TERM": "xterm", "MODE": "test",
    }  # fmt: skip


def test_secrets_stay_with_us_unless_they_are_named():
    names = "GEMINI_API_KEY OPENAI_API_KEY AWS_SECRET_ACCESS_KEY GITHUB_TOKEN SSH_AUTH_SOCK DATABASE_URL POLLUX_HOME"
    base = dict.fromkeys([*names.split(), "https_proxy", "LD_PRELOAD", "PYTHONPATH", "BASH_ENV"], "canary")
    assert child_environment(base, {}) == ALWAYS
    assert child_environment(base, {"GITHUB_TOKEN": base["GITHUB_TOKEN"]}) == ALWAYS | {"GITHUB_TOKEN": "canary"}


def test_what_is_named_wins():
    assert child_environment({"PATH": "/bin"}, {"PATH": "/opt"}) == ALWAYS | {"PATH": "/opt"}


def test_a_path_never_means_the_folder_that_a_command_runs_in():
    assert child_environment({"PATH": ":.:/bin:tools:/usr/bin:"}, {})["PATH"] == "/bin:/usr/bin"


def test_what_is_named_for_git_is_added_to_what_always_holds():
    named = "'core.hooksPath=hooks'"
    given = child_environment({}, {"GIT_CONFIG_PARAMETERS": named, "GIT_PAGER": "less"})
    assert given["GIT_CONFIG_PARAMETERS"] == f"{ALWAYS['GIT_CONFIG_PARAMETERS']} {named}"
    assert given["GIT_PAGER"] == "less"
