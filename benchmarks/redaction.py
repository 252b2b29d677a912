"""Redaction: how fast, what of planted secrets it finds, what else it finds; beside plain `re` and detect-secrets.

    python -m benchmarks.redaction [--dir TRANSCRIPTS] [--mb 60] [--slow-mb 0.5] [--hits FILE]

Speed and other finds are measured on the decoded strings of real transcripts (a made corpus where there are none),
joined to texts of about 50 KB as a turn has them; finds on one secret of every shape in every place, made up for
the run. The slow rows read less, as their line says. Asserts nothing.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from assay.sessions.redaction import RedactionOptions, finder
from assay.sessions.redaction.checks import CHECKS
from assay.sessions.redaction.finder import SecretFinder, list_candidates
from assay.sessions.redaction.rulebook import RedactionRule, load_rules
from benchmarks.tables import table
from tests.sessions.redaction_secrets import placed, secrets

ROOT = Path(__file__).parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
CACHE = Path(__file__).parent / ".cache"
TURN = 50_000
SEED = 20261
AROUND = 50
HEAD = ["method", "MB", "MB/CPU-s", "planted found", "other finds", "per MB"]

Find = Callable[[str], list[str]]
"""What a method takes for secrets in a text."""


class Planted(NamedTuple):
    """A text with a secret in it."""

    text: str
    value: str


# --- texts ------------------------------------------------------------------------------------


def strings(value: object) -> Iterator[str]:
    """Every string in a record, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def turns(folder: Path, most: float) -> Iterator[str]:
    """The strings of all transcripts below a folder, as texts of about the size of a turn."""
    parts: list[str] = []
    size = total = 0
    for file in sorted(folder.rglob("*.jsonl")):
        for line in file.read_bytes().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            for text in strings(record):
                parts.append(text)
                size += len(text)
            if size > TURN:
                yield "\n".join(parts)
                total += size
                parts, size = [], 0
            if total > most * 1e6:
                return
    yield "\n".join(parts)


def made(folder: Path, mb: float) -> Path:
    """A corpus where there is none."""
    argv = [sys.executable, "-m", "benchmarks.corpus", str(folder), "--mb", str(int(mb) + 1), "--seed", "1"]
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True)
    return folder


# --- methods ----------------------------------------------------------------------------------


def ours(engine: str) -> Find:
    finder = SecretFinder(RedactionOptions(), engine)

    def find(text: str) -> list[str]:
        raw = text.encode("utf-8", "surrogatepass")
        return [raw[start:end].decode("utf-8", "replace") for start, end, _ in finder.find_spans(raw)]

    return find


def ungated() -> Find:
    """Every pattern over the whole text, as one would write it at first; the same checks."""
    patterns = [(rule, whole(rule)) for rule in load_rules() if not rule.option]

    def find(text: str) -> list[str]:
        raw = text.encode("utf-8", "surrogatepass")
        return [
            raw[one.start : one.end].decode("utf-8", "replace")
            for rule, pattern in patterns
            for match in pattern.finditer(raw)
            for one in list_candidates(
                rule, raw, match.span("word") if "word" in match.groupdict() else match.span(), match
            )
            if CHECKS[rule.check](raw[one.start : one.end], one)
        ]

    return find


def whole(rule: RedactionRule) -> re.Pattern[bytes]:
    """A rule's pattern with its words in front, where it needs them."""
    if not (rule.after or rule.value):
        return rule.pattern
    words = "|".join(map(re.escape, rule.words))
    return re.compile(f"(?P<word>{words})(?:{rule.build_pattern()})".encode(), rule.pattern.flags)


def detect_secrets(*, with_entropy: bool) -> Find | None:
    """File by file, as it is made to be used; fetched into `.cache/` if need be."""
    home = CACHE / "detect-secrets"
    if not home.exists():
        fetch = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(home), "detect-secrets"]
        if subprocess.run(fetch, check=False, capture_output=True).returncode:
            return None
    sys.path.append(str(home))
    from detect_secrets.core.scan import scan_file  # type: ignore[import-not-found]
    from detect_secrets.settings import default_settings, get_settings  # type: ignore[import-not-found]

    entropy = ["Base64HighEntropyString", "HexHighEntropyString"]

    def find(text: str) -> list[str]:
        with default_settings(), tempfile.NamedTemporaryFile("w", suffix=".txt", errors="replace") as file:
            if not with_entropy:
                get_settings().disable_plugins(*entropy)
            file.write(text)
            file.flush()
            return [one.secret_value for one in scan_file(file.name) if one.secret_value]

    return find


# --- measuring --------------------------------------------------------------------------------


def is_found(planted: Planted, finds: Sequence[str]) -> bool:
    """Whether something that was found is the secret, or most of it, or holds it."""
    return any(
        planted.value in one or (one in planted.value and len(one) * 2 > len(planted.value)) for one in finds if one
    )


def row(name: str, find: Find, texts: Sequence[str], planted: Sequence[Planted], most: float) -> list[str]:
    total = sum(map(len, texts)) / 1e6
    read = texts[:: max(1, int(total / most))]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in read)
    find(planted[0].text)
    began = time.process_time()
    other = sum(len(find(text)) for text in read)
    took = time.process_time() - began
    found = sum(is_found(one, find(one.text)) for one in planted)
    speed = size / 1e6 / took
    return [
        name,
        f"{size / 1e6:.1f}",
        f"{speed:.0f}" if speed > 10 else f"{speed:.2f}",
        f"{found:,} of {len(planted):,}",
        f"{other:,}",
        f"{other / size * 1e6:.2f}",
    ]


def hits(texts: Sequence[str]) -> Iterator[str]:
    """Each find with its surroundings, for a person to judge."""
    finder = SecretFinder(RedactionOptions())
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        for start, end, kind in finder.find_spans(raw):
            around = raw[max(0, start - AROUND) : start], raw[start:end], raw[end : end + AROUND]
            yield f"{kind}\t{around[0]!r}\t{around[1]!r}\t{around[2]!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, default=CORPUS, help="folder with transcripts")
    parser.add_argument("--mb", type=float, default=60, help="how much the fast rows read")
    parser.add_argument("--slow-mb", type=float, default=0.5, help="how much the slow rows read")
    parser.add_argument("--hits", type=Path, help="write what is found in the transcripts to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = given.dir if given.dir.is_dir() else made(Path(folder), given.mb)
        texts = list(turns(source, given.mb))
    planted = [Planted(text, value) for one in secrets(SEED) for _, text, value in placed(one)]
    few = planted[:: max(1, len(planted) // 500)]
    if given.hits:
        given.hits.write_text("".join(f"{line}\n" for line in hits(texts)), "utf-8")
    console = Console(width=110)
    began = time.perf_counter()
    SecretFinder(RedactionOptions())
    console.print(f"{len(load_rules())} rules, read and compiled in {time.perf_counter() - began:.3f} s")
    rows = [
        row(f"assay, {name}", ours(name), texts, planted, given.mb if name != "re" else 10)
        for name in finder.ENGINES
        if finder.import_engine(name)
    ]
    rows.append(row("the same patterns, ungated `re`", ungated(), texts, few, given.slow_mb))
    for title, with_entropy in (("detect-secrets, no entropy plugins", False), ("detect-secrets, as it comes", True)):
        if find := detect_secrets(with_entropy=with_entropy):
            rows.append(row(title, find, texts, few, given.slow_mb))
        else:
            rows.append([title, *["not available"] * 5])
    console.print(table("Redaction", HEAD, rows))


if __name__ == "__main__":
    main()
