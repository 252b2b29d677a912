"""What `assay doctor` looks at: places, versions, skips, and transcripts that will soon be deleted."""

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.listing import TELEMETRY_ROOT
from assay.pipeline import privacy
from assay.pipeline.inputs import find_usual_roots
from assay.pipeline.privacy import PrivacyRules
from assay.pipeline.scan import Changes
from assay.pipeline.sources_compared import ComparedConversation, SourceTally, compare_sources, redact_comparison
from assay.sessions.redaction import Redactor
from assay.stores import FileTally, Store
from assay.types import Document

DAY_S = 86_400
CLEANUP_DAYS = 30
"""Claude Code deletes transcripts this many days after their last change, unless its settings say otherwise."""
SOON_DAYS = 7
WITHHELD = "(withheld)"


class WatchedFolder(Struct, frozen=True, kw_only=True):
    """A folder that was looked at."""

    agent: str
    path: str
    is_there: bool
    files: int


class CleanupPlan(Struct, frozen=True, kw_only=True):
    """Transcripts that Claude Code will delete."""

    settings: str
    """The file with the setting `cleanupPeriodDays`."""
    days: int
    is_default: bool
    soon: list[str]
    """Transcripts that go within the next seven days."""


class HealthReport(Document, frozen=True, kw_only=True, tag="doctor"):
    """`assay doctor --json`."""

    store: str
    store_bytes: int
    places: list[WatchedFolder]
    files: int
    not_transcripts: int
    gone: int
    streams: int
    lines_read: int
    lines_skipped: int
    skip_reasons: dict[str, int]
    skips: list[tuple[str, int, str]]
    unreadable: list[tuple[str, str]]
    versions: dict[str, dict[str, int]]
    """Files by agent and by version of the client."""
    unknown_records: dict[str, int]
    cleanup: list[CleanupPlan]
    sources: list[SourceTally]
    """How much telemetry and Langfuse tell of, and transcripts of the same conversations."""
    conversations: list[ComparedConversation]
    """The latest that several sources tell of, with what each says."""


def examine_store(
    store: Store, outcome: Changes, rules: PrivacyRules, env: Mapping[str, str], home: Path
) -> HealthReport:
    """All that a person may want to know before trusting a number; names in it are redacted."""
    rows = store.transcripts.list_tallies(outcome.roots)
    skips = privacy.redact_skips(store.transcripts.list_skips(outcome.roots), rules)
    redactor = Redactor(rules.options)
    versions, unknown = count_kinds(rows, rules, redactor)
    there = [row for row in rows if not row.is_gone]
    compared = redact_comparison(compare_sources(store, outcome.roots), rules)
    return HealthReport(
        store=redactor.text(store.where),
        store_bytes=store.count_bytes(),
        places=[
            replace(one, path=redactor.text(one.path))
            for one in list_places(outcome, [row.path for row in there], env, home)
        ],
        files=outcome.files,
        not_transcripts=sum(not row.source for row in there),
        gone=sum(row.is_gone for row in rows),
        streams=len(store.transcripts.list_streams(outcome.roots)),
        lines_read=sum(row.lines_read for row in there),
        lines_skipped=sum(row.lines_skipped for row in there),
        skip_reasons=dict(Counter(why for _, _, why in skips).most_common()),
        skips=skips,
        unreadable=privacy.redact_unreadable(outcome.unreadable, rules),
        versions={agent: dict(sorted(found.items())) for agent, found in sorted(versions.items())},
        unknown_records=dict(unknown.most_common()),
        cleanup=[
            redact_cleanup(one, redactor)
            for one in list_cleanups([(row.path, row.mtime_ns) for row in there], env, home)
        ],
        sources=compared.sources,
        conversations=compared.conversations,
    )


def count_kinds(
    rows: Sequence[FileTally], rules: PrivacyRules, redactor: Redactor
) -> tuple[dict[str, Counter[str]], Counter[str]]:
    """Files by agent and version of the client, and records that are not understood."""
    versions: dict[str, Counter[str]] = {}
    unknown: Counter[str] = Counter()
    for row in rows:
        if row.source and (part := row.part):
            is_silent = bool(privacy.find_owner(part.signs or (part.cwd,), part.ended_at, rules).withheld)
            for name, n in row.unknown.items():
                unknown[f"{row.agent} {WITHHELD if is_silent else redactor.text(name)}"] += n
            for version in part.versions or ("unknown",):
                versions.setdefault(row.agent, Counter())[WITHHELD if is_silent else redactor.text(version)] += 1
    return versions, unknown


def redact_cleanup(one: CleanupPlan, redactor: Redactor) -> CleanupPlan:
    return replace(one, settings=redactor.text(one.settings), soon=[redactor.text(path) for path in one.soon])


def list_places(outcome: Changes, paths: Sequence[str], env: Mapping[str, str], home: Path) -> list[WatchedFolder]:
    """Every usual folder and every root of this scan, with what lies in it."""
    known = {str(root): agent for agent, roots in find_usual_roots(env, home).items() for root in roots}
    usual = {os.path.realpath(root) for root in known}
    is_told = any(path.startswith(f"{TELEMETRY_ROOT}/") for path in paths)
    there = [root for root in outcome.roots if root not in usual and (root != TELEMETRY_ROOT or is_told)]
    roots = dict.fromkeys([*known, *there])
    return [
        WatchedFolder(
            agent=known.get(root, "telemetry" if root == TELEMETRY_ROOT else "given"),
            path=root,
            is_there=root == TELEMETRY_ROOT or os.path.exists(root),
            files=sum(path == root or path.startswith(find_real_root(root) + "/") for path in paths),
        )
        for root in roots
        if find_real_root(root) == root or find_real_root(root) not in outcome.roots or root in known
    ]


def find_real_root(root: str) -> str:
    """Where a root really is; that of telemetry is nowhere."""
    return root if root == TELEMETRY_ROOT else os.path.realpath(root)


class ClaudeSettings(Struct):
    cleanupPeriodDays: int | None = None  # noqa: N815


def list_cleanups(files: Sequence[tuple[str, int]], env: Mapping[str, str], home: Path) -> list[CleanupPlan]:
    """For each of Claude Code's folders: when it deletes, and what is next."""
    found = []
    for root in find_usual_roots(env, home).get("claude-code", []):
        if root.is_dir():
            settings = root.parent / "settings.json"
            days = read_cleanup_days(settings)
            period = CLEANUP_DAYS if days is None else days
            inside = os.path.realpath(root) + "/"
            limit_ns = (time.time() - (period - SOON_DAYS) * DAY_S) * 1e9
            soon = sorted(path for path, mtime_ns in files if path.startswith(inside) and mtime_ns < limit_ns)
            found.append(CleanupPlan(settings=str(settings), days=period, is_default=days is None, soon=soon))
    return found


def read_cleanup_days(settings: Path) -> int | None:
    """What the settings say, or `None` where they say nothing that can be read."""
    try:
        return msgspec.json.decode(settings.read_bytes(), type=ClaudeSettings).cleanupPeriodDays
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
