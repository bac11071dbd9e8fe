"""Which network addresses a fetch may reach, and how names lead to them."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from magent_lsp.core.errors import ToolError

Address = IPv4Address | IPv6Address

_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))


def is_public(address: Address) -> bool:
    """Whether the address is one of the open internet, also by what it wraps."""
    if address.is_multicast or address.is_unspecified or not address.is_global:
        return False
    inner = _wrapped(address)
    return inner is None or is_public(inner)


def _wrapped(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 one leads to."""
    if isinstance(address, IPv4Address):
        return None
    if any(address in network for network in _NAT64):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    return address.teredo[1] if address.teredo is not None else None


async def resolve_host(host: str, port: int, allowed: Callable[[Address], bool]) -> Sequence[Address]:
    """All addresses of a name, if all are allowed; ToolError otherwise."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"The host {host!r} was not found: {error}.") from error
    addresses = list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))
    refused = [str(address) for address in addresses if not allowed(address)]
    if refused or not addresses:
        raise ToolError(
            f"{host!r} leads to {', '.join(refused) or 'no address'}, which is not on the public internet; "
            "fetch reaches only that."
        )
    return addresses
