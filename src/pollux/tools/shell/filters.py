"""awk and sed: one of their words is a program of its own, and most such programs only print, replace and count.

A program is plain if we can read all of it and nothing in it starts a command or writes a file. In doubt it is not.
"""

import re


def is_plain_awk(words: tuple[str, ...]) -> bool:
    """Whether it is a program on the command line without a word by which awk starts, writes or loads anything."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("-F", "-v"):
            at += 2
        elif _AWK_OPTION.fullmatch(words[at]):
            at += 1
        else:
            return False
    return at < len(words) and not any(_AWK_REACHES.search(word) for word in words[at:])


def is_plain_sed(words: tuple[str, ...]) -> bool:
    """Whether all it does is print, delete and replace, by a script that we read to its end."""
    scripts: list[str] = []
    operands: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word in ("-e", "--expression") and at + 1 < len(words):
            scripts.append(words[at + 1])
            at += 2
            continue
        if not word.startswith("-"):
            operands.append(word)
        elif not _SED_FLAG.fullmatch(word):
            return False
        at += 1
    scripts = scripts or operands[:1]
    return bool(scripts) and all(_SED_PLAIN.fullmatch(script) for script in scripts)


_AWK_REACHES = re.compile(r"system|getline|/inet|[|>@]")
_AWK_OPTION = re.compile(r"-[Fv].+")
_SED_FLAG = re.compile(r"-[nErsuz]+|--quiet|--silent|--regexp-extended|--null-data|--separate|--unbuffered|--posix")


def _sed_part(end: str) -> str:
    """Text up to its end. Whether a bracket hides an end is read differently by different seds: it may not hold one,
    nor a bracket of its own: in `[[:alpha:]/]` some end it at the first `]`, some at the last."""
    return rf"(?:[^{end}\\\n\[]|\\[^\n]|\[\^?[^{end}\]\[^\\\n][^{end}\]\[\\\n]*\])*"


_SED_ADDRESS = rf"(?:\d+|\$|/{_sed_part('/')}/)"
_SED_REPLACE = "|".join(
    f"s{end}{_sed_part(end)}{end}{_sed_part(end)}{end}[gpiI0-9]*" for end in map(re.escape, "/|#,:@")
)
_SED_COMMAND = rf"(?:{_SED_ADDRESS}(?:,(?:{_SED_ADDRESS}|\+\d+))?)?!?(?:[pdqDPNnGgHhx=]|{_SED_REPLACE})"
_SED_PLAIN = re.compile(rf"{_SED_COMMAND}(?:; *{_SED_COMMAND})*")
