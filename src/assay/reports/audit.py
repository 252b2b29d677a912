"""A session as an audit shows it: what was asked, what was done and how it ended, and not a word of the judge's."""

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from rich.console import Group
from rich.table import Table
from rich.text import Text

from assay.reports.format import format_count, format_line, format_time, format_words, sanitize_text
from assay.reports.session import list_facts
from assay.reports.summary import describe_marks, describe_missing, describe_more, format_interval
from assay.scores.audit import AuditTally
from assay.scores.report import Report
from assay.types import Session, Turn

MOST_PROMPTS = 8
PROMPT_LINES = {1: 5, 2: 3, 3: 2}
"""Lines for each prompt where there are few; one of many has a line."""
SHOWN_FACTS = ("lines", "files", "git", "pull requests", "checks run", "trouble")
REPLY_BEGINS, REPLY_ENDS, FEW_WORDS = 240, 200, 80
ENDINGS = {
    "answered": "the agent's last words close it",
    "landed": "on a commit, push or pull request, without closing words",
    "unanswered": "the last prompt got no answer",
    "api_error": "the model's service failed",
    "interrupted": "the person stopped the agent",
    "rejected": "the person refused a call, and nothing followed",
    "pending": "a question or plan waits for the person",
    "mid_work": "in the middle of the work, on a tool call",
    "announces_more": "the last words say what comes next, and it never came",
    "nothing": "nobody asked for anything",
}


def render_case(session: Session, turns: Sequence[Turn], ending: str, zone: tzinfo, width: int) -> Group:
    """One session in about twenty lines."""
    place = [sanitize_text(session.id), format_time(session.started_at, zone), format_line(session.project, 60)]
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1)
    for name, words in list_case_lines(session, turns, ending, width):
        is_line = name in ("asked", "") and len(words) <= width
        table.add_row(Text(name), Text(words, no_wrap=is_line, overflow="ellipsis" if is_line else "fold"))
    title = Text(format_line(session.title, 200) or "(nobody said anything)", "bold")
    return Group(title, Text("  ".join(place), "cyan"), table)


def list_case_lines(session: Session, turns: Sequence[Turn], ending: str, width: int) -> Iterator[tuple[str, str]]:
    """What is shown of a session, each with its name."""
    asked = [(n, turn.prompt.text) for n, turn in enumerate(turns, 1) if turn.prompt and turn.prompt.text.strip()]
    room = max(20, width - 18)
    each = room * PROMPT_LINES.get(len(asked), 1)
    for n, line in enumerate(pick_prompts([format_words(f"{n}. {text}", each) for n, text in asked])):
        yield "" if n else "asked", line
    facts = dict(list_facts(session.facts, session.project))
    yield from ((name, format_words(facts[name], 3 * room)) for name in SHOWN_FACTS if facts.get(name))
    if not session.facts.get("files"):
        yield "files", "none was changed"
    yield "ended", ENDINGS.get(ending, ending)
    yield "last said", shorten_reply(find_last_words(turns)) or "nothing"


def pick_prompts(lines: Sequence[str]) -> list[str]:
    """The first and the last of many prompts."""
    if len(lines) <= MOST_PROMPTS:
        return list(lines)
    first, last = MOST_PROMPTS // 2 - 1, MOST_PROMPTS // 2
    return [*lines[:first], f"… {len(lines) - first - last} more …", *lines[-last:]]


def find_last_words(turns: Sequence[Turn]) -> str:
    """What the agent said last; of a mere "you are welcome" also what it said before."""
    said = [reply.text for turn in turns for reply in turn.replies if reply.text.strip()][-2:]
    return " / ".join(said if said and len(said[-1]) < FEW_WORDS else said[-1:])


def shorten_reply(text: str) -> str:
    """How a reply begins and how it ends, on one line."""
    whole = format_line(text, len(text) + 1)
    if len(whole) <= REPLY_BEGINS + REPLY_ENDS:
        return whole
    begins = format_words(whole, REPLY_BEGINS).removesuffix("…").rstrip()
    ends = whole[-REPLY_ENDS:]
    behind = ends.partition(" ")[2] if whole[-REPLY_ENDS - 1] != " " else ends
    return f"{begins} […] {(behind if 2 * len(behind) > REPLY_ENDS else ends).lstrip()}"


# --- how far it is ------------------------------------------------------------------------------


def describe_progress(found: Report, wanted: int) -> list[str]:
    """How far an audit is, and what it says of the score."""
    audit = found.audit
    if audit is None:
        return ["nothing is audited yet; `assay audit 40` asks you about 40 sessions, drawn at random"]
    return [describe_answers(audit, wanted), *describe_effect(found, audit)]


def describe_answers(audit: AuditTally, wanted: int) -> str:
    """How many were answered, and how."""
    of = min(audit.sessions, max(wanted, audit.answered))
    told = f"{audit.landed} landed, {audit.not_landed} did not, {audit.unclear} unclear"
    return f"{audit.answered} of {of} answered: {told}; {format_count(audit.sessions, 'session')} may be drawn"


def describe_effect(found: Report, audit: AuditTally) -> list[str]:
    """What an audit does to the score."""
    known = found.score.corrected
    if known is None:
        return [f"the score is not corrected yet: {audit.why_not}; {describe_more(audit)}"]
    raw = "no raw score" if found.score.value is None else f"raw {found.score.value:.0f}"
    said = [f"the score is corrected: {known.value:.0f}, 95 % interval {format_interval(known)} ({raw})"]
    if audit.missing:
        said.append(describe_missing(audit))
    return [*said, *describe_marks(audit)]
