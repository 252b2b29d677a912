"""What a session was after: phrases of the person, what was done, how it was named, added up per intent."""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import exp
from typing import get_args

from msgspec import Struct

from assay.judges.criteria import AIMS
from assay.judges.offline.topic import QUESTION, REFERENCE, find_content_words
from assay.judges.timeline import DOCUMENT
from assay.resources import load_table
from assay.sessions import speech
from assay.sessions.calls import is_mutating, list_calls, list_made_edits
from assay.sessions.endings import BROKEN_ENDINGS, find_ending
from assay.types import Aim, Call, Edit, Intent, Prompt, Reason, Turn

INTENTS: tuple[Intent, ...] = get_args(Intent)
SHARPER = 2.0
"""Evidence is counted so often when it becomes a chance: measured, that tells read, plan and change apart best."""
LONG_PROMPT = 1_200
LONGEST_PASTE = 8_000
OPENING, FIRST_SENTENCES, SHORT_ANSWER = 3, 2, 5
SMALL_LINES, SMALL_FILES, LARGE_LINES, LARGE_FILES = 20, 3, 80, 8
LITTLE_READ, MUCH_READ = 4, 10
READING = frozenset({"read", "search", "web", "agent"})
QUOTE = 120

PASTED_ERROR = re.compile(
    r"Traceback \(most|^[ \t]+at [^(\n]+\([^\n]*?:\d|\b\w*(?:Error|Exception)\b:|\bpanic:|--- FAIL|\bFAILED\b"
    r"|\berror(?:\[\w+\])?:|\bE\d{3,4}\b|exit (?:code|status) [1-9]|npm ERR!|segmentation fault",
    re.MULTILINE | re.IGNORECASE,
)
PULL_REQUEST = re.compile(r"/pull/\d+|/merge_requests/\d+|\bPR\s?#?\d+", re.IGNORECASE)
ISSUE = re.compile(r"/issues/\d+|\bissue\s?#?\d+", re.IGNORECASE)
PLAN_DOCUMENT = re.compile(
    r"(?:plan|spec|design|proposal|rfc|adr|prd|requirements|roadmap|architecture|仕様|設計|計画|方案|设计|規格|기획|설계)"
    r"[^/]*\.(?:md|mdx|rst|txt)$|/(?:specs?|plans?|adrs?|rfcs?|design)/[^/]+\.md$",
    re.IGNORECASE,
)
SENTENCE = re.compile(r"(?<=[.!。！\n])\s*")
ON_PAPER = frozenset({"plan_document", "planned_on_paper", "only_documents", "plan_mode", "plan_never_built"})
"""What was written of a plan; it tells one thing, however often it is told."""
CHANGES = ("bug_fix", "feature", "refactor", "small_change")
REQUESTS = ("bug_fix", "feature", "refactor", "small_change", "review", "plan")
TESTS = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|__tests__|e2e|testdata|fixtures)(?:[/_.-]|$)", re.IGNORECASE)
LABELLED = re.compile(r"^\W*([A-Za-z]+)(?:\([^)]*\))?!?(?::|/)")
NEGATION = re.compile(
    r"n['\u2019]t\b|\bnot\b|\bnever\b|\bno longer\b|不|没|沒|ない|ません|안 |않|못"
    r"|\bnicht\b|\bpas\b|\bkein|\bне\b|\bnão\b",
    re.IGNORECASE,
)
NEXT_STEP = re.compile(
    r"(?:[,;，、]|\b(?:and|then|und|dann|et|puis|ensuite|y|luego|después|e|poi|depois|и|затем|потом))"
    r"(?:\s+(?:then|just|only|please|dann|nur|bitte|también|solo|também|só|anche|aussi|juste|also|только))?\s*\Z",
    re.IGNORECASE,
)
LOOKING = ("question", "investigation", "review")
NAME_WORD = re.compile(r"[A-Za-z]+")
HEADING = re.compile(r"^#{1,3}\s+(.+)$", re.MULTILINE)
COMMIT_MESSAGE = re.compile(
    r"""git commit\b[^\n]{0,300}?-\w{0,9}m\s*"""
    r"""(?:"\$\(cat <<-?'?"?(\w+)'?"?\n(?P<heredoc>[^\n]+)|(?P<quote>["'])(?P<plain>[^"'\n]+))"""
)
TITLE = re.compile(r"""gh pr create\b[^\n]{0,900}?--title[ =](?P<quote>["'])(?P<plain>[^"'\n]+)""")
BRANCH = re.compile(r"git (?:checkout -[bB]|switch -[cC]) (?P<plain>[\w./-]+)")
NAMED = (("commit_name", COMMIT_MESSAGE), ("pull_request_name", TITLE), ("branch_name", BRANCH))


class PhrasePlaces(Struct, frozen=True):
    opening: float
    inside: float


class PhraseWeights(Struct, frozen=True):
    prompts: list[float]
    argument: float
    first: float
    later: float
    intents: dict[Intent, PhrasePlaces]
    about: dict[Intent, float]


class ReplyWeights(Struct, frozen=True):
    first: float
    last: float


class NameWeights(Struct, frozen=True):
    command: float
    commit: float
    pull_request: float
    branch: float
    unlabelled: float
    words: dict[Intent, list[str]]


class RubricWeights(Struct, frozen=True):
    version: int
    phrases: PhraseWeights
    replies: ReplyWeights
    signs: dict[str, dict[Intent, float]]
    names: NameWeights
    most_on_paper: float


class IntentEvidence(Struct, frozen=True):
    """What one piece of evidence adds to the intents."""

    kind: str
    turn: int
    quote: str
    adds: dict[Intent, float]


class IntentJudgement(Struct, frozen=True):
    """The intent with most evidence, and how sure that is."""

    intent: Intent
    second: Intent
    chance: float
    aim: Aim
    reasons: list[Reason]


def judge_intent(turns: Sequence[Turn]) -> IntentJudgement | None:
    """The intent with most evidence, and the evidence for it; `None` where nobody asked for anything."""
    weights = load_table("assay.judges.offline", "rubric.toml", RubricWeights)
    if not has_goal(turns):
        return None
    pieces = [
        *from_prompts(turns, weights),
        *from_replies(turns, weights),
        *from_work(turns, weights),
        *from_names(turns, weights),
    ]
    total = dict.fromkeys(INTENTS, 0.0)
    on_paper = 0.0
    for piece in pieces:
        for intent, value in piece.adds.items():
            total[intent] += value
        on_paper += max(0.0, piece.adds.get("plan", 0.0)) if piece.kind in ON_PAPER else 0.0
    total["plan"] -= max(0.0, on_paper - weights.most_on_paper)
    best, second, *_ = sorted(INTENTS, key=lambda intent: (-total[intent], INTENTS.index(intent)))
    shares = {intent: exp(SHARPER * (total[intent] - total[best])) for intent in INTENTS}
    aims: dict[Aim, float] = {"read": 0.0, "plan": 0.0, "change": 0.0}
    for intent, share in shares.items():
        aims[AIMS[intent]] += share
    reasons = [
        Reason(kind=piece.kind, turn=piece.turn, quote=piece.quote, weight=round(piece.adds[best], 3))
        for piece in pieces
        if piece.adds.get(best)
    ]
    return IntentJudgement(
        intent=best,
        second=second,
        chance=round(1 / sum(shares.values()), 3),
        aim=max(aims, key=lambda aim: aims[aim]),
        reasons=reasons,
    )


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


def from_prompts(turns: Sequence[Turn], weights: RubricWeights) -> Iterator[IntentEvidence]:
    """What the person asked for, in words and form."""
    for place, (n, prompt) in enumerate(select_requests(turns)):
        share = weights.phrases.prompts[place]
        called = [*weigh_name("command_name", n, speech.name_template(prompt), weights.names.command * share, weights)]
        yield from called
        share *= weights.phrases.argument if called else 1.0
        text = pick_headline(prompt)
        said = speech.parse_utterance(text)
        yield from weigh_phrases(said, n, share, weights, is_later=place > 0)
        for intent, value in weights.phrases.about.items():
            if about := said.heard.get(f"about.{intent}"):
                yield IntentEvidence("is_about", n, about[0].phrase, {intent: value * share * min(2, len(about))})
        signs = {
            "pasted_error": PASTED_ERROR.search(join_pieces(prompt, "typed", "pasted")),
            "asks_question": find_question(said),
            "says_not": None if find_question(said) else NEGATION.search(said.text),
            "names_pull_request": PULL_REQUEST.search(join_pieces(prompt, "typed")[:2_000]),
            "names_issue": ISSUE.search(join_pieces(prompt, "typed")[:2_000]),
        }
        for kind, found in signs.items():
            if found:
                adds = {intent: value * share for intent, value in weights.signs[kind].items()}
                yield IntentEvidence(kind, n, quote_line(found), adds)
        if prompt.kind == "plan":
            yield IntentEvidence("carried_plan", n, text[:QUOTE], weights.signs["carried_plan"])


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


def weigh_phrases(
    said: speech.Utterance, n: int, share: float, weights: RubricWeights, *, is_later: bool
) -> Iterator[IntentEvidence]:
    """Phrases of each intent; the very first weighs most. A later question asks about the work, it is not the goal."""
    rules = weights.phrases
    heard = [(one, intent) for intent in INTENTS for one in said.heard.get(f"asks.{intent}", ())]
    if not heard:
        return
    at_first = find_lead(said, heard)
    for intent in INTENTS:
        mine = sorted(
            drop_overlaps(one for one, whose in heard if whose == intent),
            key=lambda one: (not is_opening(said, one), one.sentence >= FIRST_SENTENCES, one.start),
        )
        if not mine or (is_later and intent == "question"):
            continue
        places = rules.intents[intent]
        value = sum(
            (places.opening if is_opening(said, one) else places.inside)
            * (1.0 if one.sentence < FIRST_SENTENCES else rules.later)
            for one in mine[:2]
        )
        if intent in at_first:
            value += rules.first / len(at_first)
        yield IntentEvidence("asked_for", n, mine[0].phrase, {intent: value * share})


def drop_overlaps(heard: Iterable[speech.HeardPhrase]) -> Iterator[speech.HeardPhrase]:
    """Phrases that share no word with one before them: "take a look at" asks once."""
    end = 0
    for one in sorted(heard, key=lambda one: one.start):
        if one.start >= end:
            yield one
            end = one.start + len(one.phrase)


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


def from_replies(turns: Sequence[Turn], weights: RubricWeights) -> Iterator[IntentEvidence]:
    """What the agent says it is about to do, and what it says it did."""
    replies = [(n, reply) for n, turn in enumerate(turns, 1) for reply in turn.replies[:1] + turn.replies[-1:]]
    if not replies:
        return
    for (n, reply), weight in ((replies[0], weights.replies.first), (replies[-1], weights.replies.last)):
        said = speech.parse_utterance(reply.text[:300])
        for intent in INTENTS:
            heard = said.heard.get(f"asks.{intent}", ())
            if heard:
                yield IntentEvidence(
                    "agent_names_it", n, heard[0].phrase, {intent: weight * weights.phrases.intents[intent].opening}
                )


def from_work(turns: Sequence[Turn], weights: RubricWeights) -> Iterator[IntentEvidence]:
    """What was done: nothing, little, much; to documents or code; a plan or a build."""
    calls = list(list_calls(turns))
    edits = [edit for call in calls for edit in list_made_edits(call)]
    is_cut_short = find_ending(turns).kind in BROKEN_ENDINGS or was_dropped(turns) or was_asked_for(turns)
    for kind in (
        *find_reading_signs(calls, is_cut_short),
        *find_plan_signs(calls),
        *(find_size_signs(edits) if edits else ()),
        *find_check_signs(calls),
        *find_telling_signs(turns, edits),
    ):
        yield IntentEvidence(kind, len(turns), "", weights.signs[kind])


def was_dropped(turns: Sequence[Turn]) -> bool:
    """The person let go of it in the last prompt."""
    said = speech.parse_own_words(turns[-1].prompt) if turns and turns[-1].prompt else None
    return said is not None and any(heard.word <= OPENING for heard in said.heard.get("drops", ()))


def was_asked_for(turns: Sequence[Turn]) -> bool:
    """A change was asked for in so many words: that none was made says nothing of the wish."""
    prompts = [prompt for _, prompt in select_requests(turns)]
    said = speech.parse_utterance(pick_headline(prompts[0])) if prompts else None
    if said is None or find_question(said):
        return False
    heard = [(one, intent) for intent in INTENTS for one in said.heard.get(f"asks.{intent}", ())]
    return any(intent in CHANGES for intent in find_lead(said, heard))


def find_telling_signs(turns: Sequence[Turn], edits: list[Edit]) -> Iterator[str]:
    """What the words mean in the light of what was done."""
    prompts = [prompt for _, prompt in select_requests(turns)]
    said = speech.parse_utterance(pick_headline(prompts[0])) if prompts else None
    if said is None or not edits:
        return
    is_told = prompts[0].kind == "typed" and not has_change_request(said) and not said.first("wants")
    if is_told and sum(edit.added + edit.removed for edit in edits) < LARGE_LINES and not QUESTION.search(said.text):
        yield "tells_a_problem"
    later = [speech.parse_own_words(turn.prompt) for turn in turns[1:] if turn.prompt]
    if any(one.first("complains", "frustrated") for one in later):
        yield "complained_later"
    if all(DOCUMENT.search(edit.path) for edit in edits) and "asks.plan" in said.heard:
        yield "planned_on_paper"


def has_change_request(said: speech.Utterance) -> bool:
    """A verb that asks to make, change or look at something stands in it."""
    return any(f"asks.{intent}" in said.heard for intent in REQUESTS)


def find_reading_signs(calls: list[Call], is_cut_short: bool) -> Iterator[str]:
    """Whether anything was changed; a session that was cut short tells nothing by what it did not do."""
    reads = sum(call.kind in READING or (call.kind == "shell" and not is_mutating(call)) for call in calls)
    if any(is_mutating(call) for call in calls):
        yield "changed"
    elif not is_cut_short:
        yield "nothing_changed"
        if reads <= LITTLE_READ:
            yield "little_read"
        elif reads >= MUCH_READ:
            yield "much_read"


def find_plan_signs(calls: list[Call]) -> Iterator[str]:
    plans = [n for n, call in enumerate(calls) if call.kind == "plan"]
    if plans:
        yield "plan_mode"
        if plans[-1] > max((n for n, call in enumerate(calls) if list_made_edits(call)), default=-1):
            yield "plan_never_built"


def find_size_signs(edits: list[Edit]) -> Iterator[str]:
    """How large the change is, tests and documents apart, and what it is made of."""
    code = [edit for edit in edits if not DOCUMENT.search(edit.path) and not TESTS.search(edit.path)]
    added, removed = sum(edit.added for edit in code), sum(edit.removed for edit in code)
    paths = {edit.path for edit in code}
    if code:
        yield "changed_code"
    if code and added + removed <= SMALL_LINES and len(paths) <= SMALL_FILES:
        yield "small_edit"
    elif added + removed >= LARGE_LINES or len(paths) >= LARGE_FILES:
        yield "large_edit"
    if sum(edit.how == "create" for edit in code) >= 2:
        yield "new_files"
    if removed > added and removed >= LARGE_LINES / 2:
        yield "removes_more"
    if len(paths) >= 5 and added + removed <= 12 * len(paths) and abs(added - removed) <= 0.3 * (added + removed):
        yield "many_files_few_lines"
    if all(DOCUMENT.search(edit.path) for edit in edits):
        yield "only_documents"
        if any(PLAN_DOCUMENT.search(edit.path) for edit in edits):
            yield "plan_document"


def find_check_signs(calls: list[Call]) -> Iterator[str]:
    outcomes = [run.outcome for call in calls for run in call.runs if run.purpose == "test" and run.outcome]
    if "failed" in outcomes and outcomes[-1] == "passed":
        yield "failing_then_passing"


def from_names(turns: Sequence[Turn], weights: RubricWeights) -> Iterator[IntentEvidence]:
    """How the first commit, pull request and branch are named."""
    rules = weights.names
    weight = {"commit_name": rules.commit, "pull_request_name": rules.pull_request, "branch_name": rules.branch}
    found: set[str] = set()
    for kind, n, named in find_names(turns):
        if kind not in found:
            found.add(kind)
            yield from weigh_name(kind, n, named, weight[kind], weights)


def weigh_name(kind: str, n: int, named: str, weight: float, weights: RubricWeights) -> Iterator[IntentEvidence]:
    """The first word of a name that tells an intent."""
    words = [word.lower() for word in NAME_WORD.findall(named)[:6]]
    for place, word in enumerate(words):
        intents = [intent for intent, known in weights.names.words.items() if word in known]
        if intents:
            is_label = kind == "command_name" or (place == 0 and LABELLED.match(named))
            share = 1.0 if is_label else weights.names.unlabelled
            yield IntentEvidence(kind, n, named[:QUOTE], {intent: weight * share / len(intents) for intent in intents})
            return


def quote_line(found: re.Match[str]) -> str:
    """The line in which something was found."""
    text = found.string
    start = text.rfind("\n", 0, found.start()) + 1
    end = text.find("\n", found.end())
    return text[start : end if end >= 0 else len(text)].strip()[:QUOTE]


def find_names(turns: Sequence[Turn]) -> Iterator[tuple[str, int, str]]:
    """Commits, pull requests and branches with the turn and the name they were given."""
    for n, turn in enumerate(turns, 1):
        for call in turn.calls:
            if call.command and call.status in ("ok", "error", "open"):
                for kind, pattern in NAMED:
                    if match := pattern.search(call.command):
                        yield kind, n, match["plain"] or match.groupdict().get("heredoc") or ""


def find_work_titles(turns: Sequence[Turn]) -> Iterator[str]:
    """What pull requests, else commits are called."""
    things = list(find_names(turns))
    for wanted in ("pull_request_name", "commit_name"):
        yield from (named for kind, _, named in things if kind == wanted and named)
