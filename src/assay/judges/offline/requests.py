"""Which prompts of a session are requests, where in them the request stands, and whether there is a goal at all."""

import re
from collections.abc import Sequence

from assay.judges.offline.topic import QUESTION, REFERENCE, find_content_words
from assay.sessions import speech
from assay.sessions.calls import is_mutating, list_calls, list_made_edits
from assay.types import Intent, Prompt, Turn

OPENING, SHORT_ANSWER = 3, 5
LONG_PROMPT = 1_200
LONGEST_PASTE = 8_000
SENTENCE = re.compile(r"(?<=[.!。！\n])\s*")
CHANGES = ("bug_fix", "feature", "refactor", "small_change")
REQUESTS = ("bug_fix", "feature", "refactor", "small_change", "review", "plan")
NEXT_STEP = re.compile(
    r"(?:[,;，、]|\b(?:and|then|und|dann|et|puis|ensuite|y|luego|después|e|poi|depois|и|затем|потом))"
    r"(?:\s+(?:then|just|only|please|dann|nur|bitte|también|solo|também|só|anche|aussi|juste|also|только))?\s*\Z",
    re.IGNORECASE,
)
PLAIN_QUESTION = re.compile(
    r"\W*(?:does|is|are|did|was|were|has|should|why|which|where|who|do (?:we|you|they|these|those|any)"
    r"|can (?!you\b|u\b|we\b)[\w-]+)\b(?:[^.!?\n]|\.(?=\S))*\??\s*\Z",
    re.IGNORECASE,
)
"""All of a text is one question, with its mark or without: "Does it take any branch"."""
LOOKING = ("question", "investigation", "review")
HEADING = re.compile(r"^#{1,3}\s+(.+)$", re.MULTILINE)


def has_goal(turns: Sequence[Turn]) -> bool:
    """Whether a person asked for anything: some prompt says more than hello, or work was done on what it says."""
    spoken = [turn.prompt for turn in turns if turn.prompt and has_words(turn.prompt)]
    if spoken and any(is_mutating(call) for call in list_calls(turns)):
        return True
    return any(not (is_small_talk(prompt) or is_role(prompt)) for prompt in spoken)


def has_words(prompt: Prompt) -> bool:
    """Whether anything of a prompt was meant for the agent; neither what the client wrote was, nor a shell command."""
    if prompt.kind == "shell":
        return False
    is_others = all(piece.owner == "client" or not piece.text.strip() for piece in speech.split_prompt(prompt))
    return not is_others or prompt.images > 0


def is_small_talk(prompt: Prompt) -> bool:
    """Whether a prompt only greets, answers or agrees."""
    if prompt.kind != "typed" or prompt.images or speech.name_template(prompt):
        return False
    if REFERENCE.search(join_pieces(prompt, "typed")):  # an address alone asks to look at it
        return False
    said = speech.parse_request(prompt)
    if is_greeting(said):
        return True
    is_answer = not find_content_words(said) or (said.words <= SHORT_ANSWER and bool(said.first("agrees", "accepts")))
    return is_answer and not any(kind.startswith("asks.") for kind in said.heard)


def is_greeting(said: speech.Utterance) -> bool:
    """Whether nothing is left of a text without its greetings."""
    left = said.source
    for heard in said.heard.get("greets", ()):
        left = left.replace(heard.phrase, " ")
    return left != said.source and not find_content_words(speech.parse_utterance(left))


def is_role(prompt: Prompt) -> bool:
    """Whether a prompt only says whom the agent is to play: nothing is asked for outside of that sentence."""
    said = speech.parse_request(prompt)
    roles = {heard.sentence for heard in said.heard.get("sets_role", ()) if is_opening(said, heard)}
    if not roles or prompt.images or speech.name_template(prompt) or QUESTION.search(said.text[-300:]):
        return False
    return not any(
        heard.sentence not in roles
        for kind, all_of in said.heard.items()
        if kind.startswith(("asks.", "about.")) or kind in ("chores", "complains")
        for heard in all_of
    )


def select_requests(turns: Sequence[Turn]) -> list[tuple[int, Prompt]]:
    """The first prompts that ask for something, with their turns' numbers: no go-ahead, chore or complaint."""
    asked = [(n, turn.prompt) for n, turn in enumerate(turns, 1) if turn.prompt]
    kept: list[tuple[int, Prompt]] = []
    for n, prompt in asked:
        said = speech.parse_own_words(prompt)
        is_chore = said.words <= 10 and "chores" in said.heard
        is_echo = bool(kept) and (prompt.kind in ("rejection", "queued") or bool(said.first("complains")))
        is_empty = not has_words(prompt) or is_small_talk(prompt) or is_role(prompt)
        if is_empty or (is_chore and len(asked) > 1) or is_echo:
            continue
        kept.append((n, prompt))
    if any(list_made_edits(call) for call in list_calls(turns)):
        begins = next((place for place, (_, prompt) in enumerate(kept) if is_change_request(prompt)), 0)
        kept = kept[begins:]
    return kept[:3] or asked[:1]


def is_change_request(prompt: Prompt) -> bool:
    """Whether it asks for more than an answer, or tells of a defect."""
    said = speech.parse_utterance(pick_headline(prompt))
    asks = any(heard.word <= OPENING for intent in REQUESTS for heard in said.heard.get(f"asks.{intent}", ()))
    return prompt.kind != "typed" or asks or "about.bug_fix" in said.heard or not find_question(said)


def join_pieces(prompt: Prompt, *owners: str) -> str:
    """What some have written of a prompt, its beginning."""
    return "".join(piece.text for piece in speech.split_prompt(prompt) if piece.owner in owners)[:LONGEST_PASTE]


def find_question(said: speech.Utterance) -> re.Match[str] | None:
    """Ends with a question that is no polite request."""
    last = [part for part in SENTENCE.split(said.text[-400:]) if part.strip()]
    if not last or has_change_request(speech.parse_utterance(last[-1])):
        return None
    return QUESTION.search(said.text[-300:])


def pick_headline(prompt: Prompt) -> str:
    """The part of a prompt that says what is wanted: of a plan its headings, of a long text its two ends."""
    if speech.is_plan(prompt):
        return "\n".join(HEADING.findall(prompt.text)[:1]) or prompt.text[:300]
    own = speech.parse_request(prompt).text
    return own if len(own) <= LONG_PROMPT else own[: LONG_PROMPT * 2 // 3] + "\n" + own[-LONG_PROMPT // 3 :]


def find_lead(said: speech.Utterance, heard: Sequence[tuple[speech.HeardPhrase, Intent]]) -> list[Intent]:
    """What the request is in the first sentence that asks: its first verb; behind "and" or "then", or where verbs
    come last, its last one: "read the notes, then fix it"."""
    opening = [(one, intent) for one, intent in heard if is_opening(said, one)]
    if not opening:
        return []
    sentence = min(one.sentence for one, _ in opening)
    here = [(one, intent) for one, intent in heard if one.sentence == sentence]
    lead = min(one.start for one, _ in opening if one.sentence == sentence)
    is_reading = all(intent in LOOKING for one, intent in here if one.start == lead)
    if said.is_unspaced:
        lead = max(one.start for one, _ in here)
    elif is_reading:
        lead = max([lead, *(one.start for one, intent in here if intent in REQUESTS and is_next_step(said, one))])
    return [intent for one, intent in here if one.start == lead]


def is_next_step(said: speech.Utterance, heard: speech.HeardPhrase) -> bool:
    """Whether "and", "then" or a comma stands right before a phrase."""
    return bool(NEXT_STEP.search(said.source, max(0, heard.start - 24), heard.start))


def is_opening(said: speech.Utterance, heard: speech.HeardPhrase) -> bool:
    """Whether a phrase stands where requests stand: at the beginning, or anywhere where verbs come last."""
    return said.is_unspaced or heard.word <= OPENING or is_next_step(said, heard)


def has_change_request(said: speech.Utterance) -> bool:
    """A verb that asks to make, change or look at something stands in it."""
    return any(f"asks.{intent}" in said.heard for intent in REQUESTS)
