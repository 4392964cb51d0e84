"""Whether a `run` lacks its key, found out with nothing imported: scripts ask this often, and want to know at once.

Only the plain case is answered here: no key in flag or environment, and no file that could hold one. Everything else
is left to those who read settings properly; a test holds the two to the same words.
"""

import os
import sys

VALUES = frozenset(
    "-p --prompt --output-format --model --model-name --system-prompt --system-prompt-file --session --api-key --allow"
    " --allowed-tools --policy --sandbox --max-turns --timeout --cwd --project-dir --attach --store --config".split()
)
FLAGS = frozenset({"--debug"})
# Who answers for a name, and which variables hold the key.
KEYS = {"gemini-": ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "claude-": ("ANTHROPIC_API_KEY",), "gpt-": ("OPENAI_API_KEY",)}
WORDS = "{} is not set. Set it, or put `{}` in the config file, or pass --api-key on the command line"
FILE_KEYS = {"gemini-": "api_key", "claude-": "anthropic.api_key", "gpt-": "openai.api_key"}


def refused(argv: list[str]) -> bool:
    """Whether it was refused here for want of a key. Says so on standard output, as one JSON object."""
    options = _options(argv)
    if options is None or _may_be_elsewhere(options):
        return False
    model = options.get("--model", options.get("--model-name", "gemini-"))
    prefix = next((prefix for prefix in KEYS if model.startswith(prefix)), None)
    if prefix is None or any(_is_key(os.environ.get(name, "")) for name in KEYS[prefix]):
        return False
    message = WORDS.format(KEYS[prefix][0], FILE_KEYS[prefix])
    sys.stdout.write('{"type":"error","error":"' + message + '","code":"missing_credential"}\n')
    return True


def _options(argv: list[str]) -> dict[str, str] | None:
    """The options, or None where there is anything to think about."""
    options: dict[str, str] = {}
    prompts = 0
    words = iter(argv)
    for word in words:
        name, has_value, value = word.partition("=")
        if word in FLAGS:
            continue
        if word.startswith("-") and word != "-":
            if name not in VALUES:
                return None
            following = value if has_value else next(words, None)
            if following is None:
                return None
            options[name] = following
            prompts += name in ("-p", "--prompt")
        else:
            prompts += 1
    unusual = ("--api-key", "--config", "--cwd", "--project-dir", "--timeout", "--max-turns", "--output-format")
    return None if prompts != 1 or any(name in options for name in unusual[:-1]) else _known_format(options)


def _known_format(options: dict[str, str]) -> dict[str, str] | None:
    formats = ("text", "json", "stream-json", "gemini-stream-json")
    return options if options.get("--output-format", "text") in formats else None


def _may_be_elsewhere(options: dict[str, str]) -> bool:
    """Whether some file could hold a key, or a model that another key belongs to."""
    environ = os.environ
    own = environ.get("HOME", "")
    config = environ.get("POLLUX_CONFIG") or f"{environ.get('XDG_CONFIG_HOME') or own + '/.config'}/pollux/config.toml"
    if not own or _may_exist(config) or _may_exist(".env"):
        return True
    folder = os.getcwd()
    while True:
        if _may_exist(f"{folder}/pollux.toml") or _may_exist(f"{folder}/config/.gemini.yaml"):
            return True
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above


def _may_exist(path: str) -> bool:
    """Also where it cannot be looked at: that is to be said by those who would read it."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _is_key(text: str) -> bool:
    return bool(text.strip()) and not text.strip().startswith("<")
