"""One session for a person: how it ended and why, what happened in it, and every piece of evidence."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.judges.criteria import FLOORS, SHOWS, format_chance
from assay.reports.format import (
    MARKS,
    UNKNOWN,
    format_cost,
    format_duration,
    format_line,
    format_list,
    format_name,
    format_number,
    format_time,
    format_words,
    sanitize_text,
)
from assay.reports.rework import describe_rework, explain_rework
from assay.reports.score import render_section
from assay.reports.streams import render_turn_body, render_turn_head
from assay.reports.summary import SAID, explain_outcome, format_intent
from assay.scores.audit import is_marked_since
from assay.scores.breakdown import is_intent_unclear
from assay.scores.measures import PILLARS
from assay.scores.reasons import advise_session
from assay.types import Boundary, Join, Reason, Session, Turn

MOST_QUOTE, MOST_FILES, MOST_REASONS = 160, 6, 3
GOOD, BAD = "green", "red"
COUNTS = {
    "turns": {"turns": "", "queued_prompts": "queued", "interruptions": "interrupted"},
    "calls": {
        "tool_calls": "", "tool_errors": "failed", "rejections": "rejected", "denials": "denied",
        "unanswered_calls": "unanswered", "agents": "sub-agent",
    },
    "git": {"commit_runs": "committed", "pushes": "pushed", "reverts": "taken back"},
    "trouble": {
        "repeated_failures": "the same failure", "api_errors": "service failed", "rollbacks": "rolled back",
        "compactions": "compacted",
    },
}  # fmt: skip
"""Counts that stand on one line, by their fact, each with its word."""
WEIGHTS = Text(
    "+ speaks for a completed goal, − against it (log-odds); ✓ shows it, or part of it where more speaks against it",
    "dim",
)
EVIDENCE = {
    "starting_point": "where such goals start",
    "says_done": "the agent says so",
    "handed_in": "handed in",
    "never_shown": "nothing shows that it works",
    "admits_failure": "the agent says that it failed",
    "nothing_changed": "nothing was changed",
    "last_turn_idle": "last asked, nothing done",
    "ends_on_error": "the last run failed",
    "failure_signal": "a failure signal",
    "full_answer": "a full answer",
    "stopped": "stopped by the person",
    "broken_after_showing": "broke off later",
    "accepted": "the person says so",
    "accepted_next": "the person says so",
    "check_passed": "a check passed",
    "ran_again": "run again, now right",
    "concluded": "a conclusion",
}
"""Kinds of evidence named for what they are; the others by their own name."""
SEEN = {
    "starting_point": "how often such goals are reached, before anything is known of this one",
    "says_done": "the agent says that it is done",
    "admits_failure": "in its last words the agent tells of something that failed or can't be done",
    "last_turn_idle": "the last request changed nothing",
    "ends_on_error": "the last command or check failed",
    "stopped": "the person stopped the agent while it was at this",
    "interrupted": "the person stopped the agent while it was at this, and nothing followed",
    "rejected": "the person turned this down, and nothing followed",
    "mid_work": "it breaks off in the middle of this",
    "announces_more": "the agent says what it does next, and it never came",
    "unanswered": "this was never answered",
    "pending": "this waits for an answer of the person's",
    "api_error": "the model's service failed",
    "broken_after_showing": "it broke off in the middle of this, after something had been shown",
    "accepted": "the person says that it is right",
    "accepted_next": "the person says that it is right, as the next goal begins",
    "ran_again": "what had failed was run again, and works",
    "concluded": "the agent states a conclusion",
    "plan_accepted": "the plan was accepted",
    "building_began": "the person said go, and building began",
    "unresolved_error": "an error that nothing resolved",
    "frustration": "the person lost patience",
    "scope_abandoned": "the person let go of it in words, or stopped the agent and did not come back",
    "iteration_loop": "the same went wrong again and again",
}
"""The same in a whole line, for whoever sees it for the first time; failure signals, too."""
SAME_WORDS = 40
"""Characters in which quotes of one turn have to agree to be the same words, cut at another length."""
IN_PART = "shown in part (✓), but what speaks against it outweighs it"
VOTES = Text("+ the model says completed, − it says not, with its confidence", "dim")
OF_MODELS = frozenset({"rationale", "vote", "no_vote"})


def render_session(one: Session, turns: Sequence[Turn], zone: tzinfo, *, has_floors: bool = False) -> Group:
    """All that is known of it, the outcome first and its turns last; `has_floors`: the published ones decided."""
    return Group(
        *render_head(one, zone),
        *render_section("Why", [*render_verdict(one), *(render_floor(one) if has_floors else ())]),
        *render_section("Evidence", render_evidence(one, len(turns))),
        *render_section(
            "Failure signals", [render_signal(found, len(turns)) for found in one.facts.get("failure_signals", [])]
        ),
        *render_section("What became of its lines", [Text(line) for line in explain_rework(one.facts, zone)]),
        *render_section("Where it begins", render_boundary(one)),
        *render_section("How it was asked", render_checks(one)),
        *render_section("Facts", [render_facts(one.facts, one.project)]),
        *render_section("Turns", render_turns(one, turns, zone)),
    )


def render_head(one: Session, zone: tzinfo) -> list[Text]:
    """What it was about, which one it is, and how it ended."""
    where = [
        sanitize_text(one.id),
        format_line(one.agent, 20),
        format_line(one.project, 80),
        format_line(one.branch, 40),
    ]
    lines = [
        Text(format_line(one.title, 200) or "(nobody said anything)", "bold"),
        Text("  ".join(filter(None, where)), "cyan"),
        Text(f"{format_time(one.started_at, zone)} to {format_time(one.ended_at, zone)}{format_language(one)}", "dim"),
    ]
    if one.summary:
        lines.insert(1, Text(sanitize_text(one.summary)))
    return [*lines, *render_outcome(one)]


def render_outcome(one: Session) -> list[Text]:
    """How it ended, and what would have made it crush."""
    sign, style = MARKS[one.crushed]
    state = {True: "crushed", False: "not crushed", None: "not counted"}[one.crushed]
    why = f"{', ' if one.marked else ': '}{format_line(explain_outcome(one), 160)}"
    lines = [Text.assemble((f"{sign} {state}", f"bold {style}"), why)]
    if helpful := advise_session(one):
        lines.append(Text.assemble(("What would have made it crush: ", "bold"), format_line(helpful, 400)))
    return lines


def format_language(one: Session) -> str:
    spoken = [format_line(word, 20) for word in (one.language, one.programming_language) if word]
    return f" · {', '.join(spoken)}" if spoken else ""


def render_verdict(one: Session, *, in_full: bool = True) -> list[Text]:
    """What a person said of it, what the judge said, and what the intent asks for; in full, by which versions."""
    lines = [*render_mark(one)]
    lines.append(Text(describe_intent(one) if one.intent else "no goal that a judge would commit to"))
    if one.judge_status == "ungraded":
        lines.append(Text(f"ungraded: {format_line(one.ungraded_reason or 'no reason given', 200)}"))
    elif one.judge_status == "unclear" and one.confidence is not None and not one.marked:
        part = f"{IN_PART}; " if is_shown(one) else ""
        chance = f"a chance of {format_chance(one.confidence)} that it was completed, so nothing is claimed"
        lines.append(Text(f"unclear: {part}{chance}"))
    elif one.goal_complete is not None and not one.marked:
        likely = "likely " if one.evidence == "silent" else ""
        done = f"{likely}completed" if one.goal_complete else "not completed"
        lines.append(Text(f"goal {done}: {explain_ground(one)}"))
    versions = ", ".join(
        f"{format_name(job)} {format_line(text[:8], 8)}" for job, text in sorted(one.judge_versions.items())
    )
    if one.fallback:
        instead = "judged by the offline judge instead: " if one.judge == "offline" else ""
        lines.append(Text(instead + format_line(one.fallback, 200), "yellow"))
    if not versions:
        return lines
    who = f"judged by {format_line(one.judge, 40)}"
    return [*lines, Text(f"{who}; judge versions: {versions}" if in_full else who, "dim")]


def render_mark(one: Session) -> list[Text]:
    """A person's word on it, and what it stands against."""
    mark = one.marked
    if mark is None:
        return []
    how = "marked" if not mark.sampled or is_marked_since(one) else "asked in an audit"
    why = f": “{format_line(mark.why, 500)}”" if mark.why else ""
    lines = [Text(f"{explain_outcome(one)}, {how} {format_line(mark.at[:10], 10)}{why}", "bold")]
    judged = {True: "completed", False: "not completed", None: format_name(mark.judge_status)}[mark.judged]
    sure = "" if one.confidence is None else f", a chance of {format_chance(one.confidence)}"
    lines.append(Text(f"your word wins; the judge says: {judged}{sure}", "dim"))
    if mark.answer and is_marked_since(one):
        asked = SAID.get(mark.answer, mark.answer).removeprefix("you: ")
        lines.append(Text(f"asked in an audit you said: {asked}; that corrects the score, the mark holds in all else"))
    if mark.turns and mark.turns != one.facts.get("turns"):
        grown = f"it had {mark.turns} turns when you said so, and has {one.facts.get('turns')} now: look again"
        lines.append(Text(grown, "yellow"))
    return lines


def describe_intent(one: Session) -> str:
    """What it was after, the two likeliest intents where they are not told apart, and what speaks for it."""
    told = format_intent(one)
    if one.intent and one.second_intent and is_intent_unclear(one):
        told += f": {format_name(one.intent)} or {format_name(one.second_intent)}"
    return f"intent: {told}{format_intent_reasons(one)}"


def format_intent_reasons(one: Session) -> str:
    """What speaks most for the intent."""
    speaking = [found for found in one.intent_reasons if found.weight > 0][: 2 * MOST_REASONS]
    told = [
        format_name(found.kind) + (f" “{format_words(found.quote, 40)}”" if found.quote else "") for found in speaking
    ]
    told = list(dict.fromkeys(told))
    return f" ({', '.join(told[:MOST_REASONS])})" if told else ""


def render_floor(one: Session) -> list[Text]:
    """The published floor that the chance was held against."""
    if one.intent is None or one.goal_complete is None or one.marked:
        return []
    floor = f"{FLOORS[one.intent]:.2f} for a {format_name(one.intent)}"
    return [
        Text(f"by the published formula: the floor is {floor}, explicit evidence needs none, signals decide", "dim")
    ]


def explain_ground(one: Session) -> str:
    """What the verdict stands on."""
    sure = UNKNOWN if one.confidence is None else format_chance(one.confidence)
    stands_on = {
        "explicit": "shown by the evidence marked ✓",
        "silent": "nobody confirmed it and no check shows it",
        "failure": "signs of failure",
    }.get(one.evidence or "", "no evidence")
    if is_shown(one) and one.evidence != "explicit":
        stands_on = "shown in part (✓), without words to quote" if one.goal_complete else IN_PART
    return f"{stands_on}; a chance of {sure} that it was completed"


def is_shown(one: Session) -> bool:
    """Whether some of its evidence is marked as showing the goal reached."""
    return any(reason.kind in SHOWS for reason in one.reasons)


def render_evidence(one: Session, turns: int) -> list[RenderableType]:
    """The evidence, and how to read it."""
    found = [render_reasons(one, turns)] if one.reasons or one.citations else []
    says_why = any(reason.kind in OF_MODELS for reason in one.reasons)
    return [VOTES if says_why else WEIGHTS, *found] if one.reasons else [*found]


def render_reasons(one: Session, turns: int) -> Table:
    """Every reason, the heaviest first, and citations that no reason has."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(justify="right", no_wrap=True)
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for found in list_reasons(one):
        table.add_row(*render_reason(found, turns, MOST_QUOTE))
    known = {(found.turn, found.quote) for found in one.reasons}
    for cited in one.citations:
        if (cited.turn, cited.quote) not in known:
            table.add_row(Text(""), render_place(cited.turn, turns), Text("cited"), render_quote(cited.quote))
    return table


def list_reasons(one: Session) -> list[Reason]:
    """Every reason, the heaviest first."""
    return sorted(one.reasons, key=lambda found: (-abs(found.weight), found.turn, found.kind))


def render_reason(found: Reason, turns: int, most: int) -> list[Text]:
    """What a reason weighs, where it stands, what it is, and its words up to a length."""
    style = BAD if found.weight < 0 else GOOD
    weight = "✓" if found.kind in SHOWS else f"{found.weight:+.2f}".replace("-", "−")
    quote = render_quote(found.quote, most)
    return [Text(weight, style), render_place(found.turn, turns), Text(name_evidence(found)), quote]


def name_evidence(found: Reason) -> str:
    return EVIDENCE.get(found.kind) or format_name(found.kind)


def describe_evidence(found: Reason) -> str:
    """What was seen, in a whole line."""
    return SEEN.get(found.kind) or name_evidence(found)


def is_quoted(quote: str, turn: int, known: Iterable[tuple[int, str]]) -> bool:
    """Whether the same words of a turn stand among others already, cut at another length or not."""
    words = " ".join(quote.split())
    for other_turn, other in known:
        told = " ".join(other.split())
        same = min(len(words), len(told))
        if other_turn == turn and words[:same] == told[:same] and (same >= SAME_WORDS or words == told):
            return True
    return False


def render_place(turn: int, turns: int) -> Text:
    """A turn; what the person said next, in another session, stands behind the last one."""
    return Text(UNKNOWN if turn < 1 else f"turn {turn}" if turn <= turns else "said next", "dim")


def render_quote(quote: str, most: int = MOST_QUOTE) -> Text:
    return Text(f"“{format_words(quote, most)}”" if quote else "", "italic")


def render_signal(found: dict[str, Any], turns: int) -> Text:
    """A failure signal with its words."""
    name = (f"✗ {format_name(found['kind'])}", BAD)
    return Text.assemble(name, "  ", render_place(found["turn"], turns), "  ", render_quote(found["quote"]))


def render_boundary(one: Session) -> list[Text]:
    """Why it began there, and what was joined to it."""
    lines = [Text(describe_boundary(one.boundary))]
    lines += [Text(f"joined {sanitize_text(join.id)} by {describe_boundary(join)}") for join in one.merged_from]
    if len(one.streams) > 1:
        lines.append(Text(f"spans {format_list([format_line(stream, 40) for stream in one.streams], 6)}", "dim"))
    elif one.streams:
        lines.append(Text(f"in stream {format_line(one.streams[0], 80)}", "dim"))
    return lines


def describe_boundary(found: Boundary | Join) -> str:
    return f"{format_name(found.signal)}, {found.confidence:.2f}: {format_line(found.evidence, 200)}"


def render_checks(one: Session) -> list[Text]:
    """The grade of the prompts and the checks behind it, by pillar."""
    lines = [Text(f"wording graded {one.grade}: how it was asked, not how it ended", "bold")] if one.grade else []
    for pillar, names in PILLARS.items():
        found = [name for name in names if name in one.checks]
        if found:
            words = [word for name in found for word in render_check(name, one.checks[name])]
            lines.append(Text.assemble(f"{pillar:<14}", *words))
    return [*lines, Text("– does not apply to this intent", "dim")] if None in one.checks.values() else lines


def render_check(name: str, held: bool | None) -> list[Any]:
    sign, style = MARKS[held]
    return [(f"{sign} ", style), (f"{format_name(name)}   ", "dim" if held is None else "")]


# --- facts ------------------------------------------------------------------------------------


def render_facts(found: dict[str, Any], project: str) -> Table:
    """What was established without a judge."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, words in list_facts(found, project):
        if words:
            table.add_row(Text(name), Text(words))
    return table


def list_facts(found: dict[str, Any], project: str) -> Iterable[tuple[str, str]]:
    """Names and values; an empty value is not shown."""
    get = found.get
    for name, counted in COUNTS.items():
        yield name, format_counts(found, counted)
    if get("files"):
        yield "lines", f"+{get('lines_added', 0)} −{get('lines_removed', 0)}"
        inside = f"{project.rstrip('/')}/"
        yield "files", format_list([format_line(path.removeprefix(inside), 80) for path in found["files"]], MOST_FILES)
    yield "checks run", ", ".join(format_runs(name, runs) for name, runs in get("checks", {}).items())
    yield "pull requests", format_list([format_line(url, 100) for url in get("pull_requests", [])], 3)
    if found.get("tokens"):
        yield "tokens", ", ".join(f"{format_number(n)} {format_name(kind)}" for kind, n in found["tokens"].items())
    if "cost_usd" in found and "unpriced_models" in found:
        yield "cost", format_cost(found)
    if get("active_s") is not None and get("wall_s") is not None:
        yield "time", f"{format_duration(found['active_s'])} of work in {format_duration(found['wall_s'])}"
    yield "languages", ", ".join(f"{format_line(name, 20)} {n}" for name, n in get("programming_languages", {}).items())
    yield "substance", "yes" if get("substance") else "no: under 3 turns and 10 lines, and nothing changed"
    yield "rework", describe_rework(found)


def format_counts(found: dict[str, Any], named: dict[str, str]) -> str:
    """Those of the counts that are not zero."""
    return ", ".join(
        f"{found[name]:,}{f' × {word}' if word else ''}" for name, word in named.items() if found.get(name)
    )


def format_runs(name: str, runs: dict[str, Any]) -> str:
    """How often a check was run and how the last run ended."""
    known = ", ".join(f"{runs[outcome]} {outcome}" for outcome in ("passed", "failed") if runs[outcome])
    last = f"last {runs['last']}" if runs["last"] else f"last unknown, {known}" if known else "outcome unknown"
    stale = ", edited since" if runs["is_stale"] else ""
    total = runs["passed"] + runs["failed"] + runs["unknown"]
    return f"{format_name(name)} {total} × ({last}{stale})"


# --- turns ------------------------------------------------------------------------------------


def render_turns(one: Session, turns: Sequence[Turn], zone: tzinfo) -> list[RenderableType]:
    """The turns, counted from 1, with what cites them."""
    cited = group_citations(one)
    parts: list[RenderableType] = []
    for number, turn in enumerate(turns, 1):
        parts.append(render_turn_head(number, turn, zone))
        if number in cited:
            parts.append(Padding(Text(f"◆ cited: {', '.join(cited[number])}", "yellow"), (0, 0, 0, 3)))
        parts.append(Padding(render_turn_body(turn, one.project), (0, 0, 1, 3)))
    return parts


def group_citations(one: Session) -> dict[int, list[str]]:
    """What cites each turn."""
    found: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for reason in sorted(one.reasons, key=lambda reason: -abs(reason.weight)):
        found[reason.turn][name_evidence(reason)] = None
    for failure in one.facts.get("failure_signals", []):
        found[failure["turn"]][format_name(failure["kind"])] = None
    for citation in one.citations:
        found[citation.turn] = found[citation.turn] or {"outcome": None}
    return {turn: list(kinds) for turn, kinds in found.items()}
