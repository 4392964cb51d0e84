"""Files as text: UTF-8 and nothing else. What could not be written back as it was is refused rather than mended."""

from pollux.core.errors import ToolError, ValidationError


def decoded(content: bytes) -> str:
    """The file's text, line ends as they are. Raises ToolError for what is no text."""
    if (at := content.find(b"\0")) >= 0:
        raise ToolError(
            f"expected a text file, found a binary one (NUL at byte {at}). Use a program that knows its format"
        )
    try:
        return content.decode()
    except UnicodeDecodeError as problem:
        raise ToolError(
            f"expected a text file in UTF-8, found the byte 0x{content[problem.start]:02X} at {problem.start}. "
            "If it is text, convert it first, for example with `iconv`"
        ) from None


def encoded(text: object, *, name: str = "content") -> bytes:
    """The bytes to write. Raises ValidationError, in the argument's `name`, for what is no text."""
    if not isinstance(text, str):
        raise ValidationError(f"{name}: expected text, found {type(text).__name__}")
    if "\0" in text:
        raise ValidationError(f"{name}: expected text, found a NUL character")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValidationError(f"{name}: expected Unicode text, found a lone surrogate") from None
