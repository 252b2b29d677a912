"""What a session was after: phrases of the person, what was done, how it was named, added up per intent."""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import exp
from typing import get_args

from msgspec import Struct

from assay.judges.criteria import AIMS
from assay.judges.offline.requests import (
    CHANGES,
    OPENING,
    PLAIN_QUESTION,
    find_lead,
    find_question,
    has_change_request,
    has_goal,
    is_opening,
    join_pieces,
    pick_headline,
    select_requests,
)
from assay.judges.offline.topic import QUESTION
from assay.judges.timeline import DOCUMENT
from assay.resources import load_table
from assay.sessions import speech
from assay.sessions.calls import is_mutating, list_calls, list_made_edits
from assay.sessions.endings import BROKEN_ENDINGS, find_ending
from assay.types import Aim, Call, Edit, Intent, Reason, Turn

INTENTS: tuple[Intent, ...] = get_args(Intent)
SHARPER = 2.0
"""Evidence is counted so often when it becomes a chance: measured, that tells read, plan and change apart best."""
SMALL_LINES, SMALL_FILES, LARGE_LINES, LARGE_FILES = 20, 3, 80, 8
LITTLE_READ, MUCH_READ = 4, 10
FIRST_SENTENCES = 2
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
ON_PAPER = frozenset({"plan_document", "planned_on_paper", "only_documents", "plan_mode", "plan_never_built"})
"""What was written of a plan; it tells one thing, however often it is told."""
TESTS = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|__tests__|e2e|testdata|fixtures)(?:[/_.-]|$)", re.IGNORECASE)
LABELLED = re.compile(r"^\W*([A-Za-z]+)(?:\([^)]*\))?!?(?::|/)")
NEGATION = re.compile(
    r"n['\u2019]t\b|\bnot\b|\bnever\b|\bno longer\b|不|没|沒|ない|ません|안 |않|못"
    r"|\bnicht\b|\bpas\b|\bkein|\bне\b|\bnão\b",
    re.IGNORECASE,
)
NAME_WORD = re.compile(r"[A-Za-z]+")
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


def from_prompts(turns: Sequence[Turn], weights: RubricWeights) -> Iterator[IntentEvidence]:
    """What the person asked for, in words and form; where nothing was changed, a question asks for no change."""
    is_idle = not any(is_mutating(call) for call in list_calls(turns))
    for place, (n, prompt) in enumerate(select_requests(turns)):
        share = weights.phrases.prompts[place]
        called = [*weigh_name("command_name", n, speech.name_template(prompt), weights.names.command * share, weights)]
        yield from called
        share *= weights.phrases.argument if called else 1.0
        text = pick_headline(prompt)
        said = speech.parse_utterance(text)
        is_asking = PLAIN_QUESTION.match(said.text) if is_idle else None
        question = find_question(said) or is_asking
        phrases = weigh_phrases(said, n, share, weights, is_later=place > 0)
        yield from (one for one in phrases if not (is_asking and one.adds.keys() <= set(CHANGES)))
        for intent, value in weights.phrases.about.items():
            if about := said.heard.get(f"about.{intent}"):
                yield IntentEvidence("is_about", n, about[0].phrase, {intent: value * share * min(2, len(about))})
        signs = {
            "pasted_error": PASTED_ERROR.search(join_pieces(prompt, "typed", "pasted")),
            "asks_question": question,
            "says_not": None if question else NEGATION.search(said.text),
            "names_pull_request": PULL_REQUEST.search(join_pieces(prompt, "typed")[:2_000]),
            "names_issue": ISSUE.search(join_pieces(prompt, "typed")[:2_000]),
        }
        for kind, found in signs.items():
            if found:
                adds = {intent: value * share for intent, value in weights.signs[kind].items()}
                yield IntentEvidence(kind, n, quote_line(found), adds)
        if prompt.kind == "plan":
            yield IntentEvidence("carried_plan", n, text[:QUOTE], weights.signs["carried_plan"])


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
    if said is None or find_question(said) or PLAIN_QUESTION.match(said.text):
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
