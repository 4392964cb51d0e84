"""`pollux chat`: a conversation at the terminal, or line by line through a pipe.

`asked` reads the arguments; `talk` is the conversation, `conversation` the session it happens in. `commands` is what
begins with a slash, `questions` what a person is needed for, `keys` and `editor` what is typed, `screen` what is seen.
"""


def main(argv: list[str]) -> int:
    """Talk until the person leaves; the result is the exit code."""
    from pollux.cli.chat.asked import asked_by

    asked = asked_by(argv)
    from pollux.cli.chat.talk import talk

    return talk(asked)
