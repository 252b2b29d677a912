"""An evaluation in files: JSON for machines, JUnit for CI, Markdown for a pull request's comment."""

import re
from collections.abc import Iterable
from html import escape

from assay.reports.evaluated import (
    ARMS,
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
from assay.reports.markdown import escaped, rows, section
from assay.reports.safe import encoded, safe

MARKER = "<!-- assay:evaluation -->"
"""First line of a comment, so that the next one can take its place."""
SIGN = {True: "✓", False: "✗", None: "–"}
VERDICT = "may the candidate go in?"
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def machine(found: Evaluation) -> bytes:
    """The whole evaluation."""
    return encoded(found) + b"\n"


# --- JUnit ------------------------------------------------------------------------------------


def junit(found: Evaluation) -> bytes:
    """A case for the verdict and one for each task; a task fails where it is a hard regression."""
    broken: dict[str, list[str]] = {}
    for one in found.regressions:
        broken.setdefault(one.task, []).append(f"{one.kind}: {one.detail}")
    cases = [verdict_case(found), *(task_case(found, task, broken.get(task.task, [])) for task in ordered(found))]
    failures, skipped = (sum(f"<{name} " in case for case in cases) for name in ("failure", "skipped"))
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}"'
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}>\n<testsuite name="assay eval" {counts}>\n'
    return (head + "".join(cases) + "</testsuite>\n</testsuites>\n").encode("utf-8")


def verdict_case(found: Evaluation) -> str:
    said = "\n".join([found.verdict + headline(found), *figures(found), *found.reasons, *cautions(found)])
    inner = "" if found.exit_code == 0 else failure(found.verdict, [said])
    return case(VERDICT, f"{inner}<system-out>{xml(said)}</system-out>")


def task_case(found: Evaluation, one: TaskLine, wrong: list[str]) -> str:
    inner = failure(wrong[0], wrong) if wrong else ""
    if one.left_out and not wrong:
        inner = f'<skipped message="{xml(one.left_out)}"/>'
    said = [f"{plain(one.baseline)} → {plain(one.candidate)} ({number(one.delta)}), passed {passed(one)}"]
    said += [trial(cell) for cell in found.run.trials if cell.task == one.task]
    told = "\n".join(said)
    return case(one.task, f"{inner}<system-out>{xml(told)}</system-out>")


def failure(message: str, said: Iterable[str]) -> str:
    told = "\n".join(said)
    return f'<failure message="{xml(message)}">{xml(told)}</failure>'


def case(name: str, inner: str) -> str:
    return f'<testcase classname="assay.eval" name="{xml(name)}">{inner}</testcase>\n'


def trial(one: Cell) -> str:
    failed = "; ".join(f"{check.name}: {check.detail}" for check in one.checks if check.passed is False)
    return f"{SIGN[one.is_passed]} {one.stage} {one.repeat} {one.arm} {one.folder} {failed or one.why}".rstrip()


def xml(text: str) -> str:
    """Text as XML takes it."""
    return escape(NOT_XML.sub("\ufffd", safe(text)))


# --- Markdown ---------------------------------------------------------------------------------


def markdown(found: Evaluation) -> bytes:
    """A comment that fits a pull request; its first line is a mark by which it is found again."""
    parts = [
        MARKER,
        f"## Evaluation: {escaped(found.verdict)}",
        f"**{escaped(found.verdict)}** {escaped(headline(found))}.",
        "\n".join(f"- {escaped(line)}" for line in (*figures(found), *found.reasons, *cautions(found))),
        *section("Hard regressions", [f"- {escaped(f'{one.task}: {one.detail}')}" for one in found.regressions]),
        *section("Tasks", tasks(found)),
        *section("Run again", [f"- {escaped(suspect(one))}" for one in found.suspects]),
        *section("Configurations", [f"- {escaped(line)}" for line in configurations(found)]),
        *section("Notes", [f"- {escaped(line)}" for line in found.run.notes[:20]]),
        escaped(f"{spent(found)}; {found.run.sandbox}; rubric judged by {found.run.judge}."),
    ]
    return ("\n\n".join(part for part in parts if part) + "\n").encode("utf-8")


def tasks(found: Evaluation) -> list[str]:
    """Every task, those on which the sides differ first."""
    body = [
        [
            escaped(one.task),
            plain(one.baseline),
            plain(one.candidate),
            number(one.delta),
            passed(one),
            escaped(one.left_out) or " / ".join(signs(found, one.task)),
        ]
        for one in ordered(found)
    ]
    return rows(["task", "baseline", "candidate", "delta", "passed", "trials, baseline / candidate"], body)


def signs(found: Evaluation, task: str) -> list[str]:
    """A sign for each repeat of a task, for each side."""
    there = [one for one in found.run.trials if one.task == task and one.stage == "main"]
    return ["".join(SIGN[one.is_passed] for one in there if one.arm == arm) or "–" for arm in ARMS]
