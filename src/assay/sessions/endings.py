"""How a run of turns ends: answered, or broken off and by whom."""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from assay.sessions import speech, text
from assay.sessions.calls import LANDING, is_stopped_server
from assay.sessions.text import take_beginning
from assay.types import Call, Turn

EndingKind = Literal[
    "answered",  # the agent's last words close the turn
    "landed",  # ends on a commit, push or pull request without closing words
    "unanswered",  # the last prompt got neither words nor work
    "api_error",  # the model's service failed
    "interrupted",  # the person stopped the agent
    "rejected",  # the person refused a call, and nothing followed
    "pending",  # a question or plan waits for the person
    "mid_work",  # a tool call is the last that happened
    "announces_more",  # the last words say what comes next, and it never came
    "nothing",  # nobody asked for anything
]
BROKEN_ENDINGS: frozenset[EndingKind] = frozenset(
    {"unanswered", "api_error", "interrupted", "rejected", "pending", "mid_work", "announces_more"}
)

SERVICE_ERROR = re.compile(
    r"\A\s*(?:(?:API error|stream error|request (?:failed|timed out)|invalid API key|overloaded(?:_error)?)"
    r"(?=\s*(?:[:.(·]|with status|\d{3}\b|\Z))|Error: \d{3}\b|(?:Claude )?(?:AI )?usage limit reached"
    r"|You(?:['’]ve| have) hit your|5-hour limit reached|Credit balance is too low|Prompt is too long"
    r"|Rate limit (?:reached|exceeded)|OAuth token (?:has )?(?:been )?(?:expired|revoked)|Please run /login)",
    re.IGNORECASE,
)
"""What clients write in the model's place; work on API errors and rate limits begins with such words too."""
LAST_WORDS = 240
SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+")


class Ending(Struct, frozen=True):
    kind: EndingKind
    turn: int
    """Number of the turn, from 1."""
    quote: str


def find_ending(turns: Sequence[Turn]) -> Ending:
    """How these turns end; a thank-you or a prompt that only says goodbye needs no answer."""
    number = find_last_asked(turns)
    while number > 1 and is_goodbye(turns[number - 1]):
        number = find_last_asked(turns[: number - 1])
    if not number:
        return Ending("nothing", 0, "")
    turn = turns[number - 1]
    kind = find_ending_kind(turn)
    return Ending(kind, number, quote_ending(turn, kind))


def find_last_asked(turns: Sequence[Turn]) -> int:
    """Number of the last turn that a person began, or of the last one at all; 0 where there is none."""
    asked = [n for n, turn in enumerate(turns, 1) if turn.prompt and turn.prompt.kind != "shell"]
    return asked[-1] if asked else len(turns)


def is_goodbye(turn: Turn) -> bool:
    """Whether a turn is only thanks or agreement that nobody answered: nothing is left to do."""
    if turn.prompt is None or find_ending_kind(turn) != "unanswered":
        return False
    said = speech.parse_own_words(turn.prompt)
    return said.words <= 8 and bool(said.first("accepts")) and not said.first("complains", "frustrated", "chores")


def find_ending_kind(turn: Turn) -> EndingKind:
    calls = [call for call in turn.calls if not call.by]
    replies = [reply for reply in turn.replies if reply.text.strip()]
    said_at = replies[-1].at if replies else ""
    did_at = max((max(call.at, call.ended_at) for call in calls), default="")
    for mark in reversed(turn.marks):
        if mark.kind == "interrupt" and mark.at >= max(said_at, did_at):
            return "mid_work" if calls and calls[-1].at >= said_at and is_stopped_server(calls[-1]) else "interrupted"
        if mark.kind == "api_error" and mark.at >= max(said_at, did_at):
            return "api_error"
    if replies and SERVICE_ERROR.search(replies[-1].text):
        return "api_error"
    if not replies and not calls:
        return "unanswered"
    is_timed = bool(said_at or did_at)  # without any time the order is not known, and words close a turn
    if calls and calls[-1].at >= said_at and (is_timed or not replies):
        return judge_last_call(calls[-1])
    return "announces_more" if is_announcing_more(replies[-1].text) else "answered"


def judge_last_call(call: Call) -> EndingKind:
    """How a turn ends that stops after this call."""
    if call.kind in ("ask", "plan") and call.status in ("open", "rejected", "interrupted", "error"):
        return "pending" if call.status == "open" else "rejected"
    if call.status in ("rejected", "denied"):
        return "rejected"
    if call.status == "interrupted":
        return "mid_work" if is_stopped_server(call) else "interrupted"
    if any(run.purpose in LANDING and run.outcome != "failed" for run in call.runs) and call.status in ("ok", "open"):
        return "landed"
    return "mid_work"


def is_announcing_more(text: str) -> bool:
    """Whether the last sentence opens with what the agent is about to do, or the text breaks off at a colon."""
    flat = text.rstrip()
    if flat.endswith((":", "：")):
        return True
    last = [part for part in SENTENCES.split(flat[-LAST_WORDS:]) if part.strip()]
    if not last or flat.endswith(("?", "？")):
        return False
    said = speech.parse_utterance(last[-1])
    opens = any(heard.word <= 2 for heard in said.heard.get("agent.more", ()))
    return opens and not said.first("agent.asks_back", "agent.done")


def quote_ending(turn: Turn, kind: EndingKind) -> str:
    """Words of the turn that show the ending: what came last, for a prompt shows only what was wanted."""
    prompt = turn.prompt.text if turn.prompt else ""
    replies = [reply for reply in turn.replies if reply.text.strip()]
    if kind in ("answered", "announces_more") and replies:
        return quote_tail(replies[-1].text)
    if kind == "api_error" and replies:
        return take_beginning(replies[-1].text.strip(), LAST_WORDS)
    if kind in ("mid_work", "rejected", "pending", "landed", "interrupted"):
        done = [
            (call.at, said) for call in turn.calls if not call.by and (said := (call.command or call.target).strip())
        ]
        said_at = replies[-1].at if replies else ""
        if replies and (not done or (kind == "interrupted" and said_at > done[-1][0])):
            return quote_tail(replies[-1].text) or take_beginning(prompt.strip(), LAST_WORDS)
        if done:
            return take_beginning(done[-1][1], LAST_WORDS)
    return take_beginning(prompt.strip(), LAST_WORDS)


def quote_tail(said: str) -> str:
    """The last sentence or two of a text, whole lines."""
    last = text.take_ending(said.strip(), LAST_WORDS)
    parts = [part for part in SENTENCES.split(last) if any(char.isalnum() for char in part)]
    return parts[-1].strip() if parts else ""
