"""How far providers may reach. Tests forbid everything but this machine, so that none of them can spend money."""

from urllib.parse import urlsplit

from pollux.core.errors import PolicyError

_forbidden = 0


def forbid(change: int) -> None:
    """Forbid real requests once more, or once less."""
    global _forbidden
    _forbidden += change


def check(base_url: str) -> None:
    """Raises PolicyError for an address that may not be asked."""
    if _forbidden and not is_loopback(base_url):
        host = urlsplit(base_url).hostname
        raise PolicyError(
            f"real requests are forbidden here, and {host} is not this machine. Use a scripted model, or the emulator",
            code="requests_forbidden",
        )


def is_loopback(url: str) -> bool:
    """Whether the address is on this machine."""
    from ipaddress import ip_address

    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        # As an address, not by how it begins: 127.example is somebody's name.
        return ip_address(host).is_loopback
    except ValueError:
        return False
