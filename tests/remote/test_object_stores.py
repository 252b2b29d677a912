"""Transcripts in an object store: the same report as on a disk, nothing read twice, and trouble that is told."""

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from assay.pipeline.remote_files import hide_in_text, hide_secrets, parse_address
from tests.conftest import Ran, is_one_line, run
from tests.remote.conftest import StandIn

EXAMPLES = Path(__file__).parents[2] / "src/assay/examples/codex"
ONE = next(iter(sorted(EXAMPLES.rglob("*.jsonl"))))


def score(tmp_path: Path, *paths: object, env: dict[str, str] | None = None, how: str = "score") -> Ran:
    return run(how, *paths, "--json", "--store", tmp_path / "store.db", env=env)


def test_a_bucket_gives_the_same_report_as_a_folder_and_is_asked_for_nothing_twice(s3: StandIn, tmp_path: Path) -> None:
    s3.put_folder("same/in", EXAMPLES)
    (tmp_path / "here").mkdir()
    s3.trouble()
    there = score(tmp_path, "s3://same/in", env=s3.env)
    assert there.out == score(tmp_path / "here", EXAMPLES).out
    assert len(s3.trouble()) == len(list(EXAMPLES.rglob("*.jsonl")))
    assert score(tmp_path, "s3://same/in", env=s3.env).out == there.out
    assert s3.trouble() == []
    s3.put("same/in/more.jsonl", ONE.read_bytes())
    score(tmp_path, "s3://same/in", env=s3.env)
    assert s3.trouble() == ["/same/in/more.jsonl"]


def test_what_a_bucket_no_longer_has_stays_in_the_report(s3: StandIn, tmp_path: Path) -> None:
    s3.put("less")
    s3.put("less/in/a.jsonl.gz", gzip.compress(ONE.read_bytes()))
    s3.put("less/in/b.jsonl", b"")
    before = score(tmp_path, "s3://less/in", env=s3.env)
    gone = score(tmp_path, "s3://less/in/a.jsonl.gz", "s3://missing/in", env=s3.env)
    assert (before.code, gone.code) == (0, 0)
    assert gone.json["score"] == before.json["score"]
    assert gone.json["skipped"]["reasons"] == {"not there": 1}


@pytest.mark.parametrize(
    ("bucket", "without", "said"),
    [
        ("s3://never-made/in", (), "not there"),
        ("s3://empty/in", (), "not there"),
        ("s3://empty/in", ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "no credentials"),
    ],
)
def test_a_place_that_can_t_be_looked_at_is_told_in_a_line(
    s3: StandIn, tmp_path: Path, bucket: str, without: tuple[str, ...], said: str
) -> None:
    s3.put("empty")
    env = {name: value for name, value in s3.env.items() if name not in without}
    found = score(tmp_path, bucket, env=env)
    assert found.code == 2
    assert is_one_line(found.err)
    assert found.err.startswith(f"assay: {bucket}: {said}")


def test_a_store_that_is_busy_is_asked_again(s3: StandIn, tmp_path: Path) -> None:
    s3.put_folder("busy/in", EXAMPLES)
    s3.trouble(busy=3)
    found = score(tmp_path, "s3://busy/in", env=s3.env).json
    s3.trouble()
    assert found["skipped"]["files"] == 0
    assert found["waterfall"]["streams"]


def test_of_an_object_that_changes_while_it_is_read_nothing_is_kept_until_the_next_run(
    s3: StandIn, tmp_path: Path
) -> None:
    s3.put_folder("change/in", EXAMPLES)
    s3.put("change/in/turning.jsonl", ONE.read_bytes())
    s3.trouble(changes="turning.jsonl")
    found = score(tmp_path, "s3://change/in", env=s3.env, how="streams").json
    assert [one["why"] for one in found["skipped"] if one["file"].endswith("turning.jsonl")] == [
        "changed while it was read; the next run reads it"
    ]
    assert found["streams"]
    later = score(tmp_path, "s3://change/in", env=s3.env, how="streams").json
    assert [one["why"] for one in later["skipped"]] == ["not a transcript of any agent that is known here"]


def test_a_poisoned_object_is_counted_and_the_rest_is_read(s3: StandIn, tmp_path: Path) -> None:
    s3.put_folder("poison/in", EXAMPLES)
    s3.put("poison/in/bad.jsonl.gz", gzip.compress(b"{}" * 9000)[:60] + b"garbage" * 9)
    s3.put("poison/in/bad.parquet", b"PAR1" + b"\0" * 200)
    found = score(tmp_path, "s3://poison/in", env=s3.env).json
    assert found["waterfall"]["streams"]
    assert found["skipped"]["files"] == 2
    assert sorted(found["skipped"]["reasons"]) == ["a damaged Parquet table", "damaged gzip data"]


def test_an_address_is_shown_and_kept_without_its_secrets(s3: StandIn, tmp_path: Path) -> None:
    s3.put("web")
    s3.put("web/a.jsonl", ONE.read_bytes())
    host = s3.address.removeprefix("http://")
    address = f"http://me:geheim@{host}/web/%s?X-Amz-Signature=0123456789abcdef"
    missing = score(tmp_path, address % "b.jsonl")
    assert (missing.code, missing.err) == (2, f"assay: http://{host}/web/b.jsonl: not there\n")
    found = score(tmp_path, address % "a.jsonl", how="streams").json
    assert [one["file"] for one in found["streams"]] == [f"http://{host}/web/a.jsonl"]
    with closing(sqlite3.connect(tmp_path / "store.db")) as store:
        kept = "\n".join(store.iterdump())
    assert "geheim" not in kept
    assert "Signature" not in kept


def test_addresses_are_told_from_paths() -> None:
    assert parse_address(Path("s3://bucket/a b/c.jsonl")) == "s3://bucket/a b/c.jsonl"
    assert [parse_address(one) for one in ("/home/s3:/b", "s3:", "otel:", "shipped:", "a/b", "file:///a")] == [""] * 6


def test_secrets_in_a_message_are_left_out() -> None:
    said = "GET https://me:pw@host/a/b.jsonl?sig=123 failed, see 'https://host/x?y'"
    assert hide_in_text(said) == "GET https://host/a/b.jsonl failed, see 'https://host/x'"
    assert hide_secrets("https://[::1/broken?sig=1") == "https://[::1/broken"
