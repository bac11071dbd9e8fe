"""What a file held before an edit is there when the edit is to be undone."""

import os
import stat
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.document import digest_of
from magent_lsp.store.blobs import BlobStore


@given(st.text())
def test_every_text_comes_back_under_its_digest(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    blobs = BlobStore(tmp_path_factory.mktemp("blobs"))
    assert blobs.put(text) == digest_of(text)
    assert blobs.get(digest_of(text)) == text


def test_line_ends_and_lone_surrogates_are_kept(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    for text in ("a\r\nb\rc\n\x0c\u2028", "\ud800", ""):
        assert blobs.get(blobs.put(text)) == text


def test_bytes_that_are_no_text_come_back_as_bytes_only(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    digest = blobs.put(b"\xff\xfe")
    assert blobs.get_bytes(digest) == b"\xff\xfe"
    assert blobs.get(digest) is None


def test_a_damaged_text_is_never_written_back_into_a_file(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    digest = blobs.put("original")
    (tmp_path / "blobs" / digest[:2] / digest[2:]).write_text("other")
    assert blobs.get(digest) is None


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "x" * 64, "a" * 63, "A" * 64, "a" * 64])
def test_what_is_not_kept_is_none(tmp_path: Path, digest: str) -> None:
    assert BlobStore(tmp_path).get(digest) is None


def test_a_huge_text_is_not_kept_but_has_its_digest(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path, max_blob=10)
    assert blobs.put("x" * 11) == digest_of("x" * 11)
    assert blobs.get(digest_of("x" * 11)) is None


def test_old_texts_go_first_and_the_rest_fits(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    digests = [blobs.put(f"{n:0100}") for n in range(5)]
    for n, digest in enumerate(digests):
        age = time.time() - (5 - n) * 86_400
        os.utime(tmp_path / "blobs" / digest[:2] / digest[2:], (age, age))
    blobs.put(f"{1:0100}")  # used again today
    assert blobs.prune(max_bytes=250, max_age_days=4.5) == 3
    assert [n for n, digest in enumerate(digests) if blobs.get(digest)] == [1, 4]
    assert blobs.prune() == 0


def test_only_the_owner_can_read_them(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has no mode bits")
    digest = BlobStore(tmp_path / "s").put("secret")
    path = tmp_path / "s" / "blobs" / digest[:2] / digest[2:]
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
