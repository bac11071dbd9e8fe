"""Which addresses may be fetched: the internet by rules, a person's own network only by name, keys never."""

import pytest

from magent_lsp.core.tool import Verdict
from tests.support.permissions import layer, named, policy

ALLOWED = {"fetch": "allow"}
LOCAL = {"fetch": {"*": "allow", "http://localhost:*": "allow", "http://192.168.1.5/*": "allow"}}

CASES: dict[str, tuple[object, Verdict, str]] = {
    "public by default": (None, "ask", "https://example.com/"),
    "public by rule": (ALLOWED, "allow", "https://example.com/"),
    **{
        f"own network under {rules}: {url}": (rules, "ask", url)
        for url in (
            *("http://localhost/", "http://localhost:8000/x", "http://127.0.0.1:8000/", "http://[::1]:80/"),
            *("http://10.0.0.1/", "http://192.168.1.5/", "http://172.16.0.1/", "http://[fc00::1]/"),
            *("http://intranet/", "http://nas.local/", "http://x.internal/", "http://100.64.0.1/"),
            *(
                "http://LOCALHOST:8000/",
                "http://localhost./",
                "http://a.localhost/",
                "http://[64:ff9b::7f00:1]/",
            ),
        )
        for rules in (
            ALLOWED,
            {"fetch": {"http://*": "allow"}},
            {"fetch": {"*://*": "allow", "http*": "allow", "http://*:8000/*": "allow"}},
        )
    },
    "named with any port": (LOCAL, "allow", "http://localhost:8000/docs"),
    "named, in capitals": (LOCAL, "allow", "http://LocalHost:8000/docs"),
    "named with a path": (LOCAL, "allow", "http://192.168.1.5/x"),
    "another port than none": (LOCAL, "ask", "http://192.168.1.5:81/x"),
    "another scheme": (LOCAL, "ask", "https://localhost:8000/"),
    "another host that begins alike": (LOCAL, "allow", "http://localhost.example.com:80/"),
    "another local host that begins alike": (LOCAL, "ask", "http://localhost.local:80/"),
    "a user in front": (LOCAL, "deny", "http://localhost:8000@10.0.0.1/"),
    "a range": ({"fetch": {"http://192.168.1.*": "allow"}}, "ask", "http://192.168.1.5/"),
    "a name with a star": ({"fetch": {"http://*.local/*": "allow"}}, "ask", "http://nas.local/"),
    **{
        f"never, under {rules}: {url}": (rules, "deny", url)
        for url in (
            *(
                "http://169.254.169.254/latest/meta-data",
                "http://[fe80::1]/",
                "http://0.0.0.0/",
                "http://[::]/",
            ),
            *(
                "http://100.100.100.200/",
                "http://168.63.129.16/",
                "http://[fd00:ec2::254]/",
                "http://192.0.0.192/",
            ),
            *("http://metadata.google.internal/", "http://METADATA.google.internal./x", "http://metadata/"),
            *(
                "http://2852039166/",
                "http://0xa9fea9fe/",
                "http://169.254.43518/",
                "http://[::ffff:a9fe:a9fe]/",
            ),
            *("file:///etc/passwd", "ftp://localhost/", "http://u@localhost/", "http://224.0.0.1/"),
        )
        for rules in (ALLOWED, {"fetch": {"http://169.254.169.254/*": "allow", "http://metadata/*": "allow"}})
    },
}


@pytest.mark.parametrize(("rules", "verdict", "url"), CASES.values(), ids=CASES.keys())
def test_an_address(rules: object, verdict: Verdict, url: str) -> None:
    decision = named("fetch", url, policy(rules))
    assert decision.verdict == verdict, decision.explain()


def test_a_question_about_ones_own_server_names_it_and_can_be_answered_for_the_session() -> None:
    decision = named("fetch", "http://localhost:8000/docs", policy(ALLOWED))
    assert "http://localhost:8000/docs" in decision.reason
    assert "in your own network" in decision.reason
    assert decision.protected, "--yes is not meant for it"
    assert [rule.pattern for rule in decision.grants] == ["http://localhost:8000/*"]


def test_only_the_person_opens_their_network() -> None:
    """A project, trusted or not, and an agent's file cannot."""
    rules = {"fetch": {"*": "allow", "http://localhost:*": "allow"}}
    for name in ("agent", "project"):
        decision = named("fetch", "http://localhost:8000/", policy(None, layer(name, rules)))  # type: ignore[arg-type]
        assert decision.verdict == "ask", name


def test_what_a_command_line_allows_by_name_is_allowed() -> None:
    more = layer("environment", {"fetch": {"http://localhost:8000/*": "allow"}})
    assert named("fetch", "http://localhost:8000/", policy(None, more)).verdict == "allow"
    broad = layer("environment", ALLOWED)
    assert named("fetch", "http://localhost:8000/", policy(None, broad)).verdict == "ask"


URLS: list[tuple[str, Verdict]] = [
    ("https://example.com/", "allow"),
    ("HTTPS://EXAMPLE.COM/x", "allow"),
    ("http://example.com:8080/x", "allow"),
    ("https://8.8.8.8/", "allow"),
    ("https://[2606:4700::1111]/", "allow"),
    ("ftp://example.com/", "deny"),
    ("file:///etc/passwd", "deny"),
    ("gopher://x", "deny"),
    ("javascript:x", "deny"),
    ("example.com", "deny"),
    ("//example.com", "deny"),
    ("", "deny"),
    ("https://", "deny"),
    ("https://user@example.com/", "deny"),
    ("https://user:pw@example.com/", "deny"),
    ("https://example.com@evil.example/", "deny"),
    ("https://exa mple.com/", "deny"),
    ("https://example.com\\@evil.example/", "deny"),
    ("https://example.com:99999/", "deny"),
    ("https://[::1", "deny"),
    ("http://169.254.169.254/latest", "deny"),
    ("http://0.0.0.0/", "deny"),
    ("http://2130706433/", "deny"),
    ("http://0x7f000001/", "deny"),
    ("http://0177.0.0.1/", "deny"),
    ("http://127.1/", "deny"),
    ("http://224.0.0.1/", "deny"),
    ("http://[fe80::1]/", "deny"),
    ("http://[::ffff:169.254.169.254]/", "deny"),
    ("http://127.0.0.1/", "ask"),
    ("http://localhost:8000/", "ask"),
    ("http://x.localhost/", "ask"),
    ("http://printer.local/", "ask"),
    ("http://intranet/", "ask"),
    ("http://10.0.0.1/", "ask"),
    ("http://192.168.1.1/", "ask"),
    ("http://100.64.0.1/", "ask"),
    ("http://[::1]/", "ask"),
    ("http://[fd00::1]/", "ask"),
    ("http://[::ffff:127.0.0.1]/", "ask"),
    ("http://localhost./", "ask"),
]


@pytest.mark.parametrize(("url", "verdict"), URLS)
def test_even_under_allow_only_public_addresses_are_fetched(url: str, verdict: Verdict) -> None:
    assert named("fetch", url, policy({"fetch": "allow"})).verdict == verdict


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        ("https://docs.python.org/3/", "allow"),
        ("https://DOCS.python.org/3/", "allow"),
        ("https://evil.example/docs.python.org/", "ask"),
        ("https://docs.python.org.evil.example/", "ask"),
        ("https://evil.example/.python.org/x", "ask"),
        ("http://docs.python.org/3/", "ask"),
    ],
)
def test_a_star_in_a_host_stays_in_the_host(url: str, verdict: Verdict) -> None:
    assert (
        named("fetch", url, policy({"fetch": {"*": "ask", "https://*.python.org/*": "allow"}})).verdict
        == verdict
    )
