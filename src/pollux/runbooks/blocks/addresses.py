"""Addresses that no request of a runbook goes to: there the machine's provider gives out the machine's own keys."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

REFUSED: Final = tuple(
    ip_network(net)
    for net in (
        "169.254.0.0/16",  # Link-local: AWS, Azure, Google and most others.
        "fe80::/10",
        "fd00:ec2::/32",  # AWS, by IPv6.
        "fd20:ce::/32",  # Google, by IPv6.
        "100.100.100.200/32",  # Alibaba.
        "192.0.0.192/32",  # Oracle.
        "168.63.129.16/32",  # Azure's platform.
    )
)

_CARRIERS: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))
"""IPv6 addresses whose last 32 bits are an IPv4 address."""


def is_refused(host: str) -> bool:
    """Whether it is the text of such an address. Names are none: ask about what they stand for."""
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return any(form in net for form in _forms(address) for net in REFUSED if form.version == net.version)


def _forms(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """The address, and the ones that it carries."""
    if isinstance(address, IPv4Address):
        return [address]
    carried = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    carried += [IPv4Address(int(address) & 0xFFFFFFFF) for net in _CARRIERS if address in net]
    return [address, *(one for one in carried if one is not None)]
