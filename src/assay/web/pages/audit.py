"""An audit: one session at a time, three answers, and the interval that shrinks with them; no word of a judge's."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from assay.reports.audit import ENDINGS, SHOWN_FACTS, describe_progress, find_last_words, pick_prompts
from assay.reports.format import format_count, format_percent
from assay.reports.session import list_facts
from assay.scores.audit import LEAST, AuditStep
from assay.scores.report import Report
from assay.types import Session, Turn
from assay.web.charts import ChartPoint, TrendChart
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, h, say
from assay.web.links import to_session, to_sessions
from assay.web.marks import (
    Tone,
    render_card,
    render_chip,
    render_empty,
    render_facts,
    render_list,
    render_note,
    render_share_bar,
)
from assay.web.tables import Column, render_chart, render_table

ANSWERS = (("landed", "Landed", "l"), ("not", "Did not land", "n"), ("unclear", "No telling", "u"))
SAID: dict[str, tuple[Tone, str]] = {
    "landed": ("good", "landed"), "not": ("bad", "did not land"), "unclear": ("quiet", "no telling"),
}  # fmt: skip
KEYS = (("l", "it landed"), ("n", "it did not land"), ("u", "no telling"), ("b", "back: take the last answer back"))
AMOUNTS = (20, 40, 100)
FIRST_PROMPT, LATER_PROMPT, LONGEST_PROMPT, LONGEST_REPLY, MOST_TURNS, MOST_ANSWERS = 1_200, 400, 2_000, 1_000, 60, 12
BLIND = "What the judge says of it is not shown, here or in the list of those that wait, before you have answered."


class AuditShown(Struct, frozen=True, kw_only=True):
    """How far an audit is, and the session that is asked about."""

    report: Report
    wanted: int
    answered: Sequence[Session]
    """By when they were."""
    waiting: int
    steps: Sequence[AuditStep]
    case: Session | None = None
    turns: Sequence[Turn] = ()
    ending: str = ""


def render_audit(found: AuditShown, context: PageContext) -> Page:
    """The whole page."""
    if not found.report.waterfall.sessions:
        body: Node = render_empty("No sessions to look at yet", "`assay score` reads what agents left on this machine.")
    elif found.case is not None:
        body = h.div(".columns.audit")[render_case(found, found.case, context), render_progress(found, context)]
    else:
        body = h.div(".columns.audit")[render_beginning(found, context), render_progress(found, context)]
    lead = "Sessions drawn at random, and your word on each: from 20 answers on they correct the score."
    return Page(name="audit", title="Audit", lead=lead, body=body, keys=KEYS)


# --- the session --------------------------------------------------------------------------------


def render_case(found: AuditShown, one: Session, context: PageContext) -> Element:
    """What was asked, what was done, how it ended; then the question."""
    place = f"{len(found.answered) + 1} of {len(found.answered) + found.waiting}"
    where: list[Node] = [h.span[place], " · ", context.show_time(one.started_at), " · ", one.project or "no project"]
    facts = dict(list_facts(one.facts, one.project))
    done = [(name, facts[name]) for name in SHOWN_FACTS if facts.get(name)]
    if not one.facts.get("files"):
        done.append(("files", "none was changed"))
    return render_card(
        one.title or "(nobody said anything)",
        render_prompts(found.turns),
        h.h3["Done"],
        render_facts(done),
        h.h3["How it ended"],
        h.p[f"{(ended := ENDINGS.get(found.ending, found.ending))[:1].upper()}{ended[1:]}."],
        h.blockquote(".quote.long")[h.span(".said")[shorten(find_last_words(found.turns), LONGEST_REPLY) or "nothing"]],
        render_conversation(found.turns),
        render_question(found, one, context),
        lead=where,
        kind="case",
    )


def shorten(text: str, most: int) -> str:
    """The beginning and the end of a long text; how much stands between."""
    if len(text) <= most:
        return text.strip()
    half = most // 2
    return f"{text[:half].rstrip()}\n[… {len(text) - 2 * half:,} characters …]\n{text[-half:].lstrip()}"


def list_prompts(turns: Sequence[Turn]) -> list[tuple[int, str]]:
    return [(n, turn.prompt.text) for n, turn in enumerate(turns, 1) if turn.prompt and turn.prompt.text.strip()]


def render_prompts(turns: Sequence[Turn]) -> Node:
    """What was asked: all of few prompts, the first and the last of many."""
    asked = list_prompts(turns)
    if not asked:
        return render_note("Nothing that was asked is kept in words.")
    known = {str(n): shorten(text, LATER_PROMPT if at else FIRST_PROMPT) for at, (n, text) in enumerate(asked)}
    return [
        h.h3["Asked"],
        h.ol(".asked")[
            [
                h.li(value=one)[h.span(".said")[known[one]]] if one in known else h.li(".between")[one]
                for one in pick_prompts(list(known))
            ]
        ],
    ]


def render_conversation(turns: Sequence[Turn]) -> Node:
    """Turn by turn, for whoever has to look closer: what was asked, run, and said last."""
    if len(turns) < 2 and not any(turn.calls for turn in turns):
        return None
    left = format_count(len(turns) - MOST_TURNS, "turn") if len(turns) > MOST_TURNS else ""
    more = f"{left} in the middle are left out" if left else ""
    half = MOST_TURNS // 2
    numbered = list(enumerate(turns, 1))
    shown = numbered if not left else [*numbered[:half], *numbered[-half:]]
    return h.details[
        h.summary[f"Turn by turn ({len(turns):,})"],
        h.ol(".asked")[[h.li(value=str(n))[list(render_turn(turn))] for n, turn in shown]],
        render_note(more) if more else None,
    ]


def render_turn(turn: Turn) -> Iterator[Node]:
    if turn.prompt:
        yield h.p[h.span(".said")[shorten(turn.prompt.text, LONGEST_PROMPT)]]
    if turn.calls:
        failed = sum(one.status == "error" for one in turn.calls)
        yield h.p(".quiet")[format_count(len(turn.calls), "call"), f", {failed} failed" if failed else ""]
    said = [one.text for one in turn.replies if one.text.strip()]
    if said:
        yield h.blockquote(".quote.long")[h.span(".said")[shorten(said[-1], LONGEST_REPLY)]]


def render_question(found: AuditShown, one: Session, context: PageContext) -> Element:
    """Three answers, each with its key; and the way back."""
    if not context.may_change:
        return render_note(say("Your key may look and not answer; `assay keys add NAME --scope admin` makes another."))
    return h.div(".question")[
        h.form(method="post", action="/audit/answers", aria_label="Your answer")[
            h.input(type="hidden", name="session", value=one.id),
            h.b["Did it land?"],
            [
                h.button(class_=["answer", value], name="verdict", value=value, data_key=key)[words, " ", h.kbd[key]]
                for value, words, key in ANSWERS
            ],
        ],
        render_back(found),
    ]


def render_back(found: AuditShown) -> Element | None:
    """Take the last answer back; which one is named, so that it is never another."""
    if not found.answered:
        return None
    return h.form(method="post", action="/audit/back")[
        h.input(type="hidden", name="session", value=found.answered[-1].id),
        h.button(data_key="b")["Back ", h.kbd["b"]],
    ]


# --- how far it is ------------------------------------------------------------------------------


def render_beginning(found: AuditShown, context: PageContext) -> Element:
    """How many sessions are to be looked at; asked where none waits."""
    done = len(found.answered)
    if done and not found.waiting:
        title: str = "All that were wanted are answered"
        words = f"{format_count(done, 'session')} looked at. More answers make the interval narrower."
    else:
        title = "Is the judge right about your sessions?"
        words = f"Look at some, drawn at random; each takes about half a minute. {BLIND}"
    return render_card(
        title,
        h.p[words],
        render_amounts(done) if context.may_change else render_note("Your key may look and not answer."),
        h.div(".question")[render_back(found)] if done and context.may_change else None,
        render_note(say("The same in a terminal: `assay audit 40`; `assay audit --export` writes the answers down.")),
    )


def render_amounts(done: int) -> Element:
    return h.form(".amounts", method="post", action="/audit/draw")[
        [
            h.button(class_="first" if amount == AMOUNTS[1] else None, name="wanted", value=str(done + amount))[
                f"Ask me about {amount}{' more' if done else ''}"
            ]
            for amount in AMOUNTS
        ]
    ]


def render_progress(found: AuditShown, context: PageContext) -> Element:
    """How many are answered, where the true share lies by them, and what was answered."""
    done, wanted = len(found.answered), len(found.answered) + found.waiting
    told = describe_progress(found.report, found.wanted) if done else []
    return render_card(
        "How far it is",
        [
            h.p[context.link(to_sessions(marked="yes"), f"{done:,} answered"), f" of {wanted:,} wanted"],
            render_share_bar(done / wanted),
        ]
        if wanted
        else h.p["Nothing is answered yet."],
        render_shrinking(found, context),
        render_list([f"{one[:1].upper()}{one[1:]}." for one in told]),
        render_answers(found, context),
    )


def render_shrinking(found: AuditShown, context: PageContext) -> Node:
    """The interval after each answer."""
    if not found.steps:
        predicted = found.report.score.predicted
        if predicted is None:
            return None
        ends = f"{format_percent(predicted.low)} and {format_percent(predicted.high)}"
        return render_note(
            f"Without an audit the true share lies between {ends} %, by how far this judge was off elsewhere."
        )
    return render_chart(build_shrinking_chart(found.steps, len(found.answered) + found.waiting), context)


def build_shrinking_chart(steps: Sequence[AuditStep], sessions: int) -> TrendChart:
    """Where the true share lay by the answers up to each."""
    points = [
        ChartPoint(
            label=str(one.answers), value=one.value, low=one.low, high=one.high,
            note=f"{one.landed} of {one.answers} landed" + (", corrected" if one.is_corrected else ", answers alone"),
        )
        for one in steps
    ]  # fmt: skip
    last, needed = steps[-1], LEAST if sessions >= LEAST else f"all {sessions}"
    wide = f"{last.high - last.low:.0f} points wide by now"
    said = (
        f"{wide}; your answers with the judge's word on all others"
        if last.is_corrected
        else f"{wide}; your answers alone, until {needed} correct the score"
    )
    return TrendChart(title="The interval, answer by answer", along="answer", points=points, said=said, name="landed")


def render_answers(found: AuditShown, context: PageContext) -> Node:
    """What was answered last; now the judge's word can be looked at."""
    rows = []
    for one in reversed(found.answered[-MOST_ANSWERS:]):
        tone, word = SAID.get((one.marked and one.marked.answer) or "unclear", SAID["unclear"])
        rows.append((context.link(to_session(one.id), one.title or one.id), render_chip(tone, word)))
    if not rows:
        return None
    columns = [Column(words="session", kind="main"), Column(words="you said")]
    return h.details[h.summary["Your last answers"], render_table(columns, rows, "Your last answers", context)]
