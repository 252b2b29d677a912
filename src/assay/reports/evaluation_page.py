"""An evaluation as a page that needs nothing else: the task × repeat grid, each cell linked to its trial."""

import os
from collections.abc import Iterable
from html import escape
from pathlib import Path
from urllib.parse import quote

from assay.reports.evaluation import (
    describe_cost,
    describe_suspect,
    describe_verdict,
    format_difference,
    format_number,
    format_passes,
    list_cautions,
    list_configurations,
    list_figures,
    sort_tasks,
)
from assay.reports.format import format_count, format_line, sanitize_text
from assay.types.evals import ARMS, Arm, Evaluation, TaskResult, TrialLine

SIGN = {True: ("✓", "pass"), False: ("✗", "fail"), None: ("–", "none")}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE = """
:root { color-scheme: light dark; --pass: #1a7f37; --fail: #cf222e; --quiet: #6e7781; --line: #8884 }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% } th, td { padding: .25rem .6rem; text-align: left; vertical-align: top }
td, th { border-bottom: 1px solid var(--line) }
td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.pass { color: var(--pass) } .fail { color: var(--fail) } .none, .quiet { color: var(--quiet) }
td.cells { min-width: 6rem }
td.cells a, td.cells span { display: inline-block; min-width: 1.4em; text-align: center; text-decoration: none }
tr.differs th { border-left: 4px solid var(--fail) } tr.gains th { border-left: 4px solid var(--pass) }
.wide { overflow-x: auto } code { overflow-wrap: anywhere } h1 small { font-weight: normal }
""".strip()


def render_page(found: Evaluation, beside: Path) -> bytes:
    """The page; `beside` is the folder in which it will lie, from which trials are linked."""
    root = quote(Path(os.path.relpath(found.run.folder, beside)).as_posix())
    foot = f"{describe_cost(found)}; {found.run.sandbox}; rubric judged by {found.run.judge}"
    body = [
        f"<h1>{escape_text(found.verdict)}<small>{escape_text(describe_verdict(found))}</small></h1>",
        render_list((*list_figures(found), *found.reasons, *list_cautions(found))),
        render_section("Hard regressions", [f"{one.task}: {one.kind}: {one.detail}" for one in found.regressions]),
        "<h2>Tasks and repeats</h2>",
        render_grid(found, root),
        render_section("Run again", map(describe_suspect, found.suspects)),
        render_section("Planned", found.run.plan),
        render_section("Configurations", list_configurations(found)),
        render_section("Notes", found.run.notes),
        "<h2>Trials</h2>",
        *(render_details(found, task, root) for task in sort_tasks(found)),
        f"<p class=quiet>{escape_text(foot)}</p>",
    ]
    head = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{POLICY}"><meta name="viewport" content="width=device-width"><title>{escape_text(found.verdict)}: '
        f"evaluation</title>\n<style>{STYLE}</style></head>\n<body>\n"
    )
    return (head + "\n".join(part for part in body if part) + "\n</body></html>\n").encode("utf-8", "replace")


def escape_text(value: str) -> str:
    """Any text as HTML that does no harm."""
    return escape(sanitize_text(value))


def render_list(said: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape_text(one)}</li>' for one in said)}</ul>"


def render_section(title: str, said: Iterable[str]) -> str:
    """A heading and its lines; nothing where there are none."""
    there = list(said)
    return f"<h2>{escape_text(title)}</h2>{render_list(there)}" if there else ""


def render_grid(found: Evaluation, root: str) -> str:
    """A row for each task, those on which the sides differ first; a cell for each trial."""
    heads = "".join(
        f"<th>{name}</th>" for name in ("task", *ARMS, "delta", "passed", *(f"{arm} trials" for arm in ARMS))
    )
    lines = "".join(render_row(found, one, root) for one in sort_tasks(found))
    return f"<div class=wide><table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"


def render_row(found: Evaluation, one: TaskResult, root: str) -> str:
    loses = one.is_discordant and (one.delta or 0) < 0
    kind = "differs" if loses else "gains" if one.is_discordant else ""
    numbers = "".join(
        f"<td class=n>{value}</td>"
        for value in (format_number(one.baseline), format_number(one.candidate), format_difference(one.delta))
    )
    sides = "".join(f"<td class=cells>{render_marks(found, one.task, arm, root)}</td>" for arm in ARMS)
    why = f"<br><span class=quiet>{escape_text(one.left_out)}</span>" if one.left_out else ""
    head = f'<tr class="{kind}"><th>{escape_text(one.task)}{why}</th>'
    return f"{head}{numbers}<td class=n>{format_passes(one)}</td>{sides}</tr>"


def render_marks(found: Evaluation, task: str, arm: Arm, root: str) -> str:
    """One linked sign for each trial, those of the guard behind the others."""
    there = [one for one in found.run.trials if (one.task, one.arm) == (task, arm)]
    there.sort(key=lambda one: (one.stage != "main", one.repeat))
    return "".join(render_mark(one, root) for one in there)


def render_mark(one: TrialLine, root: str) -> str:
    sign, kind = SIGN[one.is_passed]
    target = one.transcripts[0] if one.transcripts else f"{one.folder}/"
    title = f"{one.task}, {one.arm}, {one.stage} {one.repeat}: {one.state}"
    return (
        f'<a class={kind} href="{build_link(root, target)}" title="{escape_text(format_line(title, 200))}">{sign}</a>'
    )


def build_link(root: str, path: str) -> str:
    return escape(f"{root}/{quote(path)}")


def render_details(found: Evaluation, task: TaskResult, root: str) -> str:
    """Every trial of a task: its checks, its cost, its files."""
    cells = [one for one in found.run.trials if one.task == task.task]
    lines = "".join(render_trial(one, root) for one in cells)
    is_open = " open" if task.is_discordant else ""
    head = f"<details{is_open}><summary>{escape_text(task.task)}</summary>"
    return f"{head}<div class=wide><table>{lines}</table></div></details>"


def render_trial(one: TrialLine, root: str) -> str:
    sign, kind = SIGN[one.is_passed]
    files = " ".join(
        f'<a href="{build_link(root, file)}">{escape_text(file.removeprefix(f"{one.folder}/"))}</a>'
        for file in (*one.transcripts, *one.files)
    )
    checks = "<br>".join(
        f"<span class={SIGN[check.passed][1]}>{SIGN[check.passed][0]}</span> {escape_text(check.name)} "
        f"<span class=quiet>{escape_text(format_line(check.detail, 400))}</span>"
        for check in one.checks
    )
    judged = (
        f"<br>rubric {format_number(one.judge01)}: {escape_text(format_line(one.rationale, 600))}"
        if one.judge01 is not None
        else ""
    )
    cost = ", ".join(f"{name} {value:g}" for name, value in list_costs(one) if value is not None)
    return (
        f"<tr><th class={kind}>{sign} {one.arm} {escape_text(one.stage)} {one.repeat}</th>"
        f"<td>{checks or escape_text(one.why or one.state)}{judged}</td>"
        f"<td class=quiet>{escape_text(cost)}<br>{format_count(one.attempts, 'attempt')}</td><td>{files}</td></tr>"
    )


def list_costs(one: TrialLine) -> list[tuple[str, float | None]]:
    cost = one.cost
    return [
        ("tokens", cost.tokens),
        ("calls", cost.tool_calls),
        ("steps", cost.steps),
        ("seconds", None if cost.wall_s is None else round(cost.wall_s, 1)),
        ("USD", cost.usd),
    ]
