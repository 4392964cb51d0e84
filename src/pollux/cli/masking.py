"""No credential leaves: text is masked as it streams, also where a key comes in two pieces."""

from collections.abc import Iterable

from pollux.core.redact import Masking, Secret, no_words


class Mask(Masking):
    """Masks what is secret in what the command line writes."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        super().__init__(no_words(secrets))
