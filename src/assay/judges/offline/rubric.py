"""The rubric judge: intent, the seven checks of how it was asked for, a grade, a title and a summary."""

import re
from collections.abc import Sequence

from assay.judges.citations import shorten_text
from assay.judges.criteria import LONGEST_SUMMARY, LONGEST_TITLE, grade_checks, select_checks
from assay.judges.offline.intent import PASTED_ERROR, find_work_titles, judge_intent, quote_line
from assay.judges.offline.requests import join_pieces, pick_headline, select_requests
from assay.judges.offline.topic import QUESTION, REFERENCE
from assay.sessions import speech
from assay.sessions.calls import list_calls, list_made_edits
from assay.sessions.endings import quote_tail
from assay.types import Prompt, RubricJudgement, Turn

FEW_WORDS, ENOUGH_WORDS, MANY_WORDS = 4, 10, 150
CONCRETE = re.compile(
    r"`[^`\n]+`|\b[\w-]+\.(?:py|[jt]sx?|go|rs|java|kt|rb|php|[ch]|cpp|cs|swift|sh|sql|md|json|ya?ml|toml|html|css|vue|lua)\b"
    r"|(?:[\w.-]+/){1,}[\w.-]+|\b\w+\(\)|\b[a-z]+[A-Z]\w+|\b\w+_\w+\b|@\w[\w/.-]+|\bline \d+|:\d+\b|--[a-z][\w-]+"
)
POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|so|now|and|then|great|please|also|well|right|alright|yes|yeah)\b[\s,.!:-]*"
    r"|(?:can|could|would|will) (?:you|we) (?:please )?|i(?:'d| would) like (?:you )?to |i (?:want|need) (?:you )?to "
    r"|we (?:need|want) to |let's |let us |help me (?:to )?|go ahead and |please )+",
    re.IGNORECASE,
)
MARKDOWN_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\s]{1,400}\)")
ADDRESS = re.compile(
    r"https?://(?:github|gitlab)\.com/([\w.-]+/[\w.-]+(?:/[\w-]+/\d+)?)\S*|https?://(?:www\.)?([^\s/?#]+)\S*"
)
"""Of a repository, issue or pull request its name is kept, of any other page its host."""
DESCRIBED = re.compile(r"\A\s*---[ \t]*\n(?:[^\n]*\n){0,8}?description:[ \t]*([^\n]+)")
MARKUP = re.compile(r"```.*?(?:```|\Z)|\*\*|^#{1,6}\s|^>\s|\||^\s*[-|]+\s*$", re.DOTALL | re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.!?])(?<!\d\.)\s+|(?<=[。！？])")
TELLING_TITLE = 16
OPENING_WORDS = 2


def rubric(turns: Sequence[Turn]) -> RubricJudgement:
    """What the session was after and how well it was asked for."""
    found = judge_intent(turns)
    prompts = [prompt for _, prompt in select_requests(turns)]
    title = build_title(turns, prompts)
    if found is None:
        return RubricJudgement(intent=None, checks={}, grade=None, title=title, summary=build_summary(title, turns))
    checks = select_checks(found.intent, judge_checks(turns, prompts))
    return RubricJudgement(
        intent=found.intent,
        checks=checks,
        grade=grade_checks(checks),
        title=title,
        summary=build_summary(title, turns),
        reasons=tuple(sorted(found.reasons, key=lambda reason: -abs(reason.weight))),
        aim=found.aim,
        second_intent=found.second,
        intent_chance=found.chance,
    )


def judge_checks(turns: Sequence[Turn], prompts: Sequence[Prompt]) -> dict[str, bool]:
    """The seven checks, on all that the person said."""
    first = prompts[0] if prompts else None
    text = first.text[:4_000] if first else ""
    said = speech.parse_request(first)
    spoken = [speech.parse_own_words(turn.prompt) for turn in turns if turn.prompt]
    asks = any(kind.startswith("asks.") for kind in said.heard) or bool(QUESTION.search(said.text[-200:]))
    is_concrete = bool(CONCRETE.search(text) or REFERENCE.search(text)) or bool(first and first.images)
    is_plan = bool(first) and first is not None and first.kind == "plan"
    return {
        "goal_explicit": is_plan or (said.words >= FEW_WORDS and (asks or "wants" in said.heard)),
        "scope_bounded": is_plan or "bounds" in said.heard or (is_concrete and said.words <= MANY_WORDS),
        "references_concrete": is_concrete,
        "context_sufficient": not was_asked_back(turns) and (is_concrete or said.words >= ENOUGH_WORDS),
        "verification_requested": any("verifies" in one.heard for one in spoken),
        "root_cause_oriented": any("root_cause" in one.heard for one in spoken[:3]),
        "plan_first": is_plan or any("plans" in one.heard for one in spoken[:3]) or has_planned_first(turns),
    }


def was_asked_back(turns: Sequence[Turn]) -> bool:
    """The agent had to ask before it could do anything."""
    first = next((turn for turn in turns if turn.prompt), None)
    if first is None or not first.replies or any(list_made_edits(call) for call in first.calls):
        return False
    return bool(QUESTION.search(quote_tail(first.replies[-1].text))) or any(call.kind == "ask" for call in first.calls)


def has_planned_first(turns: Sequence[Turn]) -> bool:
    """A plan was made before the first edit."""
    for call in list_calls(turns):
        if call.kind == "plan":
            return True
        if list_made_edits(call):
            return False
    return False


def build_title(turns: Sequence[Turn], prompts: Sequence[Prompt]) -> str:
    """The first sentence of the first request; where that says little, the name of the first pull request or commit."""
    asked = next(filter(None, (pick_sentence(prompt) for prompt in prompts)), "")
    if len(asked) < TELLING_TITLE:
        named = " ".join(next(find_work_titles(turns), "").split())
        asked = named or asked
    first = asked.partition(" ")[0].rstrip(",?")
    is_plain = first.isalpha() and first.islower()
    return shorten_text(asked[:1].upper() + asked[1:] if is_plain else asked, LONGEST_TITLE)


def pick_sentence(prompt: Prompt) -> str:
    """What a prompt asks for in a line: the person's own words, else the template and its argument, else an error."""
    name, typed = speech.name_template(prompt), pick_opening(join_pieces(prompt, "typed")[:1_000])
    if speech.is_plan(prompt):
        return pick_opening(pick_headline(prompt))
    if name and len(typed) < TELLING_TITLE:
        return f"/{name} {typed}".strip()
    failed = PASTED_ERROR.search(join_pieces(prompt, "pasted"))
    if len(typed) < TELLING_TITLE and failed:
        return f"{typed} {pick_opening(quote_line(failed))}".strip()
    if any(map(str.isalnum, typed)):
        return typed
    if described := DESCRIBED.search(prompt.text[:1_000]):
        return pick_opening(described[1])
    return pick_request(speech.parse_request(prompt).text[:4_000])


def pick_request(text: str) -> str:
    """The first sentence that asks for something, else what a text begins with."""
    flat = " ".join(MARKUP.sub(" ", text).split())
    asking = (
        one
        for one in SENTENCE.split(flat)[:20]
        if any(kind.startswith("asks.") for kind in speech.parse_utterance(one).heard)
    )
    return pick_opening(next(asking, text))


def pick_opening(text: str) -> str:
    """What a text begins with, without politeness, addresses in short."""
    text = MARKDOWN_LINK.sub(r"\1", text)
    text = ADDRESS.sub(lambda found: found[1] or found[2], text)
    flat = " ".join(MARKUP.sub(" ", text).split())
    flat = POLITE.sub("", flat) or flat
    first, *rest = SENTENCE.split(flat, maxsplit=1)
    if rest and is_thanks(first):
        flat = POLITE.sub("", rest[0]) or rest[0]
        first = SENTENCE.split(flat, maxsplit=1)[0]
    return (first if len(first) >= TELLING_TITLE else flat).rstrip(".。:：")


def is_thanks(sentence: str) -> bool:
    """Whether a sentence begins with accepting or greeting, and asks for nothing."""
    said = speech.parse_utterance(sentence)
    accepts = any(heard.word <= OPENING_WORDS for heard in said.heard.get("accepts", ()))
    greets = bool(said.first("greets")) and said.words <= FEW_WORDS
    return (accepts or greets) and not any(kind.startswith("asks.") for kind in said.heard)


def build_summary(title: str, turns: Sequence[Turn]) -> str:
    """What was asked, and the agent's last words on it."""
    replies = [reply.text for turn in turns for reply in turn.replies[-1:] if reply.text.strip()]
    flat = " ".join(MARKUP.sub(" ", replies[-1][:800]).split()) or " ".join(replies[-1].split()) if replies else ""
    sentences = [part for part in SENTENCE.split(flat) if part]
    ended = next((part for part in sentences if len(part) >= TELLING_TITLE), " ".join(sentences) or "no reply")
    return shorten_text(f"{title or 'Nothing was asked'} → {ended}", LONGEST_SUMMARY)
