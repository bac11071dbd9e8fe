"""Addresses that may be fetched: scheme, user and network are judged before any rule."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from magent_lsp.core.tool import Verdict
from magent_lsp.permissions.globs import text_matches

_LOCAL_NAMES: Final = re.compile(
    r"localhost|.*\.(?:localhost|local|internal|lan|home|corp|intranet|localdomain)|[^.:]+"
)
_METADATA_NAMES: Final = re.compile(
    r"metadata|(?:.+\.)?metadata\.(?:google\.internal|goog|azure\.(?:com|internal)|tencentyun\.com)"
    r"|instance-data(?:\..+)?"
)
_METADATA: Final = frozenset(
    map(
        ipaddress.ip_address,
        ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)
"""Where clouds hand out the keys of the machine; those at 169.254.* are link-local and refused as such."""
_NAT64: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48")))
_NUMBERS: Final = re.compile(r"(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]+|\d+))*")


@dataclass(frozen=True, kw_only=True)
class Address:
    """A URL as it is judged."""

    text: str
    """With scheme and host in lower case."""
    least: Verdict
    """The most lenient verdict it can get."""
    reason: str = ""


def judge_url(url: str) -> Address:
    """What can be said of a URL before any rule is asked."""
    if len(url) > 8_192 or re.search(r"[\x00-\x20\x7f\\]", url):
        return Address(
            text=url, least="deny", reason="the URL holds signs that no URL can hold, or is too long"
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return Address(text=url, least="deny", reason="the URL cannot be read")
    if parts.scheme.lower() not in ("http", "https"):
        return Address(text=url, least="deny", reason="only http and https are fetched")
    if "@" in parts.netloc:
        return Address(text=url, least="deny", reason="the URL holds a user name or password")
    if not host or port == 0:
        return Address(text=url, least="deny", reason="the URL names no host")
    text = parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower()).geturl()
    least, reason = judge_host(host.rstrip("."))
    return Address(text=text, least=least, reason=reason)


def judge_host(host: str) -> tuple[Verdict, str]:
    """The most lenient verdict for a host, by name or number, and why."""
    host = host.lower()
    try:
        return judge_ip(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        pass
    if _NUMBERS.fullmatch(host):
        return "deny", "the address is written in an unusual way"
    if _METADATA_NAMES.fullmatch(host):
        return "deny", "the host hands out the keys of a machine in the cloud"
    if _LOCAL_NAMES.fullmatch(host):
        return "ask", "the host is in your own network"
    return "allow", ""


def judge_ip(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> tuple[Verdict, str]:
    """The most lenient verdict for an address; for each one that a name or a redirect leads to."""
    if address in _METADATA:
        return "deny", f"{address} hands out the keys of a machine in the cloud"
    inner = wrapped(address)
    if inner is not None:
        verdict, reason = judge_ip(inner)
        return ("ask" if verdict == "allow" and not address.is_global else verdict), reason
    if address.is_loopback:
        return "ask", f"{address} is your own machine"
    if address.is_link_local or address.is_unspecified or address.is_multicast or address.is_reserved:
        return "deny", f"{address} is not an address to fetch from"
    if not address.is_global:
        return "ask", f"{address} is in your own network"
    return "allow", ""


def wrapped(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one leads to."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if any(address in network for network in _NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    return address.teredo[1] if address.teredo is not None else None


def names_host(pattern: str) -> bool:
    """Whether a pattern of `fetch` names one host; its port and what follows may be open."""
    scheme, found, rest = pattern.partition("://")
    host = rest.partition("/")[0].removesuffix("*").removesuffix(":")
    return bool(found and host) and "*" not in scheme and "*" not in host and not host.endswith(".")


def host_fits(pattern: str, url: str) -> bool:
    """Whether the host of a pattern fits that of the URL by itself: a `*` in it takes no `/`."""
    scheme, found, rest = pattern.partition("://")
    if not found:
        return True
    host = rest.partition("/")[0]
    if "*" in scheme or not host.strip("*"):
        return True
    parts = urlsplit(url)
    if host.endswith("*") and not host.endswith(".*"):
        host = host.rstrip("*").removesuffix(":")
        return parts.netloc == host or parts.netloc.startswith(f"{host}:")
    return text_matches(host, parts.netloc)
