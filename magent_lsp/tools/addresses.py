"""Which network addresses a fetch may reach, and how names lead to them."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from magent_lsp.core.errors import ToolError
from magent_lsp.permissions.urls import judge_host, judge_ip, wrapped

Address = IPv4Address | IPv6Address


def is_public(address: Address) -> bool:
    """Whether the address is one of the open internet, also by what it wraps."""
    if address.is_multicast or address.is_unspecified or not address.is_global:
        return False
    inner = wrapped(address)
    return judge_ip(address)[0] == "allow" and (inner is None or is_public(inner))


def is_own(host: str, address: Address) -> bool:
    """Whether a host of a person's own network, which was allowed by its name, may be at this address."""
    return judge_host(host)[0] == "ask" and judge_ip(address)[0] != "deny"


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
            f"{host!r} leads to {', '.join(refused) or 'no address'}, which is not on the public internet. "
            "A server of your own is fetched by its own name or address, such as http://localhost:8000/."
        )
    return addresses
