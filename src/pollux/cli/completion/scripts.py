"""Completion scripts for bash, zsh and fish. Tables only: nothing of ours runs while a person presses Tab."""

from collections.abc import Iterable

from pollux.cli.completion.words import Command, Option

BASH = """\
# Completion for bash, made by `pollux completion bash`.
_pollux() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} where=pollux words= word index
    local IFS=$' \\t\\n'
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    for ((index = 1; index < COMP_CWORD; index++)); do
        word=${{COMP_WORDS[index]}}
        case "$where $word" in
            {commands}) where="$where $word" ;;
        esac
    done
    case "$where $prev" in
{values}
    esac
    if [[ $cur == -* ]]; then
        case "$where" in
{options}
        esac
    elif [[ -z $words ]]; then
        case "$where" in
{words}
        esac
    fi
    # Nothing to offer is no failure: under `set -e` it would end the shell.
    COMPREPLY=($(compgen -W "$words" -- "$cur")) || true
}}
complete -o default -F _pollux pollux
"""

ZSH = """\
#compdef pollux
# Completion for zsh, made by `pollux completion zsh`.
compdef _pollux pollux
_pollux() {{
    local where=pollux prev=${{words[CURRENT-1]}} word index
    local -a entries
    for ((index = 2; index < CURRENT; index++)); do
        word=${{words[index]}}
        case "$where $word" in
            {commands}) where="$where $word" ;;
        esac
    done
    if [[ $PREFIX == --*=* ]]; then
        prev=${{PREFIX%%=*}}
        compset -P '*='
    fi
    case "$where $prev" in
{values}
    esac
    if [[ $PREFIX == -* ]]; then
        case "$where" in
{options}
        esac
        _describe -o option entries
        return
    fi
    case "$where" in
{words}
    esac
    if (( $#entries )); then
        _describe command entries
    else
        _files
    fi
}}
if [[ $funcstack[1] == _pollux ]]; then
    _pollux "$@"
fi
"""

FISH = """\
# Completion for fish, made by `pollux completion fish`.
function __pollux_at
    set -l where pollux
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        switch "$where $word"
            case {commands}
                set where "$where $word"
        end
    end
    test "$where" = "$argv"
end
complete -c pollux -f
{lines}
"""


def bash(root: Command) -> str:
    """The script for bash."""
    every, valued = list(root.walk()), _valued(root)
    values = [_case(_spoken(c, o), f"words={_quoted(' '.join(o.choices))}") for c, o in valued if o.choices]
    # Back to bash's own way: file names, with all their quoting.
    values += _joined([(c, o) for c, o in valued if not o.choices], "return")
    options = {command: [name for option in command.options for name in option.names] for command in every}
    return BASH.format(
        commands=_patterns(" ".join(command.path) for command in every[1:]),
        values="\n".join(values),
        options="\n".join(_bash_words(command, names) for command, names in options.items() if names),
        words="\n".join(_bash_words(command, _following(command)) for command in every if _following(command)),
    )


def zsh(root: Command) -> str:
    """The script for zsh."""
    every, valued = list(root.walk()), _valued(root)
    values = [_case(_spoken(c, o), f"compadd -- {' '.join(o.choices)}; return") for c, o in valued if o.choices]
    values += _joined([(c, o) for c, o in valued if o.is_file and not o.choices], "_files; return")
    values += _joined([(c, o) for c, o in valued if not o.is_file and not o.choices], "_message value; return")
    return ZSH.format(
        commands=_patterns(" ".join(command.path) for command in every[1:]),
        values="\n".join(values),
        options="\n".join(_zsh_entries(command, _said_options(command)) for command in every if command.options),
        words="\n".join(_zsh_entries(command, _said_words(command)) for command in every if _following(command)),
    )


def fish(root: Command) -> str:
    """The script for fish."""
    every = list(root.walk())
    return FISH.format(
        commands=" ".join(_fish_quoted(" ".join(command.path)) for command in every[1:]),
        lines="\n".join(line for command in every for line in _fish_lines(command)),
    )


# Tables

Valued = tuple[Command, Option]


def _valued(root: Command) -> list[Valued]:
    """The options that take a value, each with its command."""
    return [(command, option) for command in root.walk() for option in command.options if option.takes_value]


def _spoken(command: Command, option: Option) -> list[str]:
    """A command and its option, as they stand on the line."""
    return [f"{' '.join(command.path)} {name}" for name in option.names]


def _following(command: Command) -> list[str]:
    return [*(below.path[-1] for below in command.commands), *command.choices]


def _said_options(command: Command) -> list[tuple[str, str]]:
    return [(name, option.said) for option in command.options for name in option.names]


def _said_words(command: Command) -> list[tuple[str, str]]:
    return [*((below.path[-1], below.said) for below in command.commands), *((word, "") for word in command.choices)]


# Shell


def _patterns(spoken: Iterable[str]) -> str:
    return " | ".join(_quoted(words) for words in spoken)


def _case(spoken: Iterable[str], does: str) -> str:
    return f"        {_patterns(spoken)}) {does} ;;"


def _joined(options: list[Valued], does: str) -> list[str]:
    spoken = [words for command, option in options for words in _spoken(command, option)]
    return [_case(spoken, does)] if spoken else []


def _bash_words(command: Command, words: Iterable[str]) -> str:
    return "    " + _case([" ".join(command.path)], f"words={_quoted(' '.join(words))}")


def _zsh_entries(command: Command, entries: Iterable[tuple[str, str]]) -> str:
    told = " ".join(_quoted(f"{word}:{said}" if said else word) for word, said in entries)
    return "    " + _case([" ".join(command.path)], f"entries=({told})")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_lines(command: Command) -> list[str]:
    at = f"complete -c pollux -n '__pollux_at {' '.join(command.path)}'"
    lines = [f"{at} -a {_fish_quoted(word)}{_fish_said(said)}" for word, said in _said_words(command)]
    # Nothing to offer: what follows may well be a file.
    lines = lines or [f"{at} -F"]
    return lines + [f"{at} {_fish_option(option)}{_fish_said(option.said)}" for option in command.options]


def _fish_said(said: str) -> str:
    return f" -d {_fish_quoted(said)}" if said else ""


def _fish_option(option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if not option.takes_value:
        return " ".join(names)
    takes = f"-x -a {_fish_quoted(' '.join(option.choices))}" if option.choices else "-r -F" if option.is_file else "-x"
    return f"{' '.join(names)} {takes}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
