"""An evaluation as a page that needs nothing else: the task × repeat grid, each cell linked to its trial."""

import os
from collections.abc import Iterable
from html import escape
from pathlib import Path
from urllib.parse import quote

from assay.reports.evaluated import (
    ARMS,
    Arm,
    Cell,
    Evaluation,
    TaskLine,
    cautions,
    figures,
    headline,
    number,
    ordered,
    plain,
    spent,
)
from assay.reports.evaluation import configurations, passed, suspect
from assay.reports.safe import many, one_line, safe

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


def page(found: Evaluation, beside: Path) -> bytes:
    """The page; `beside` is the folder in which it will lie, from which trials are linked."""
    root = quote(Path(os.path.relpath(found.run.folder, beside)).as_posix())
    body = [
        f"<h1>{text(found.verdict)}<small>{text(headline(found))}</small></h1>",
        listed((*figures(found), *found.reasons, *cautions(found))),
        section("Hard regressions", [f"{one.task}: {one.kind}: {one.detail}" for one in found.regressions]),
        "<h2>Tasks and repeats</h2>",
        grid(found, root),
        section("Run again", map(suspect, found.suspects)),
        section("Planned", found.run.plan),
        section("Configurations", configurations(found)),
        section("Notes", found.run.notes),
        "<h2>Trials</h2>",
        *(detail(found, task, root) for task in ordered(found)),
        f"<p class=quiet>{text(f'{spent(found)}; {found.run.sandbox}; rubric judged by {found.run.judge}')}</p>",
    ]
    head = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{POLICY}"><meta name="viewport" content="width=device-width"><title>{text(found.verdict)}: '
        f"evaluation</title>\n<style>{STYLE}</style></head>\n<body>\n"
    )
    return (head + "\n".join(part for part in body if part) + "\n</body></html>\n").encode("utf-8", "replace")


def text(value: str) -> str:
    """Anything as harmless HTML."""
    return escape(safe(value))


def listed(said: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{text(one)}</li>' for one in said)}</ul>"


def section(title: str, said: Iterable[str]) -> str:
    """A heading and its lines; nothing where there are none."""
    there = list(said)
    return f"<h2>{text(title)}</h2>{listed(there)}" if there else ""


def grid(found: Evaluation, root: str) -> str:
    """A row for each task, those on which the sides differ first; a cell for each trial."""
    heads = "".join(
        f"<th>{name}</th>" for name in ("task", *ARMS, "delta", "passed", *(f"{arm} trials" for arm in ARMS))
    )
    lines = "".join(row(found, one, root) for one in ordered(found))
    return f"<div class=wide><table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"


def row(found: Evaluation, one: TaskLine, root: str) -> str:
    loses = one.is_discordant and (one.delta or 0) < 0
    kind = "differs" if loses else "gains" if one.is_discordant else ""
    numbers = "".join(
        f"<td class=n>{value}</td>" for value in (plain(one.baseline), plain(one.candidate), number(one.delta))
    )
    sides = "".join(f"<td class=cells>{marks(found, one.task, arm, root)}</td>" for arm in ARMS)
    why = f"<br><span class=quiet>{text(one.left_out)}</span>" if one.left_out else ""
    return f'<tr class="{kind}"><th>{text(one.task)}{why}</th>{numbers}<td class=n>{passed(one)}</td>{sides}</tr>'


def marks(found: Evaluation, task: str, arm: Arm, root: str) -> str:
    """One linked sign for each trial, those of the guard behind the others."""
    there = [one for one in found.run.trials if (one.task, one.arm) == (task, arm)]
    there.sort(key=lambda one: (one.stage != "main", one.repeat))
    return "".join(mark(one, root) for one in there)


def mark(one: Cell, root: str) -> str:
    sign, kind = SIGN[one.is_passed]
    target = one.transcripts[0] if one.transcripts else f"{one.folder}/"
    title = f"{one.task}, {one.arm}, {one.stage} {one.repeat}: {one.state}"
    return f'<a class={kind} href="{link(root, target)}" title="{text(one_line(title, 200))}">{sign}</a>'


def link(root: str, path: str) -> str:
    return escape(f"{root}/{quote(path)}")


def detail(found: Evaluation, task: TaskLine, root: str) -> str:
    """Every trial of a task: its checks, its cost, its files."""
    cells = [one for one in found.run.trials if one.task == task.task]
    lines = "".join(trial(one, root) for one in cells)
    is_open = " open" if task.is_discordant else ""
    return (
        f"<details{is_open}><summary>{text(task.task)}</summary><div class=wide><table>{lines}</table></div></details>"
    )


def trial(one: Cell, root: str) -> str:
    sign, kind = SIGN[one.is_passed]
    files = " ".join(
        f'<a href="{link(root, file)}">{text(file.removeprefix(f"{one.folder}/"))}</a>'
        for file in (*one.transcripts, *one.files)
    )
    checks = "<br>".join(
        f"<span class={SIGN[check.passed][1]}>{SIGN[check.passed][0]}</span> {text(check.name)} "
        f"<span class=quiet>{text(one_line(check.detail, 400))}</span>"
        for check in one.checks
    )
    judged = f"<br>rubric {plain(one.judge01)}: {text(one_line(one.rationale, 600))}" if one.judge01 is not None else ""
    cost = ", ".join(f"{name} {value:g}" for name, value in took(one) if value is not None)
    return (
        f"<tr><th class={kind}>{sign} {one.arm} {text(one.stage)} {one.repeat}</th>"
        f"<td>{checks or text(one.why or one.state)}{judged}</td>"
        f"<td class=quiet>{text(cost)}<br>{many(one.attempts, 'attempt')}</td><td>{files}</td></tr>"
    )


def took(one: Cell) -> list[tuple[str, float | None]]:
    cost = one.cost
    return [
        ("tokens", cost.tokens),
        ("calls", cost.tool_calls),
        ("steps", cost.steps),
        ("seconds", None if cost.wall_s is None else round(cost.wall_s, 1)),
        ("USD", cost.usd),
    ]
