"""An evaluation in files: JSON for machines, JUnit for CI, Markdown for a pull request's comment."""

import re
from collections.abc import Iterable
from html import escape

from assay.reports.evaluation import (
    describe_cost,
    describe_suspect,
    describe_verdict,
    explain_composites,
    format_difference,
    format_number,
    format_passes,
    list_cautions,
    list_configurations,
    list_figures,
    sort_tasks,
)
from assay.reports.format import sanitize_text
from assay.reports.json import encode_json
from assay.reports.markdown import escape_markdown, render_heading, render_table
from assay.types.evals import ARMS, Evaluation, TaskResult, TrialLine

MARKER = "<!-- assay:evaluation -->"
"""First line of a comment, so that the next one can take its place."""
SIGN = {True: "✓", False: "✗", None: "–"}
VERDICT = "may the candidate go in?"
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def encode_evaluation(found: Evaluation) -> bytes:
    """An evaluation as one line of JSON."""
    return encode_json(found) + b"\n"


# --- JUnit ------------------------------------------------------------------------------------


def render_junit(found: Evaluation) -> bytes:
    """A case for the verdict and one for each task; a task fails where it is a hard regression."""
    broken: dict[str, list[str]] = {}
    for one in found.regressions:
        broken.setdefault(one.task, []).append(f"{one.kind}: {one.detail}")
    cases = [
        render_verdict_case(found),
        *(render_task_case(found, task, broken.get(task.task, [])) for task in sort_tasks(found)),
    ]
    failures, skipped = (sum(f"<{name} " in case for case in cases) for name in ("failure", "skipped"))
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}"'
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {counts}>\n<testsuite name="assay eval" {counts}>\n'
    return (head + "".join(cases) + "</testsuite>\n</testsuites>\n").encode("utf-8")


def render_verdict_case(found: Evaluation) -> str:
    said = "\n".join(
        [found.verdict + describe_verdict(found), *list_figures(found), *found.reasons, *list_cautions(found)]
    )
    inner = "" if found.exit_code == 0 else render_failure(found.verdict, [said])
    return render_case(VERDICT, f"{inner}<system-out>{escape_xml(said)}</system-out>")


def render_task_case(found: Evaluation, one: TaskResult, wrong: list[str]) -> str:
    inner = render_failure(wrong[0], wrong) if wrong else ""
    if one.left_out and not wrong:
        inner = f'<skipped message="{escape_xml(one.left_out)}"/>'
    scores = f"{format_number(one.baseline)} → {format_number(one.candidate)} ({format_difference(one.delta)})"
    said = [f"{scores}, passed {format_passes(one)}"]
    said += [describe_trial(cell) for cell in found.run.trials if cell.task == one.task]
    told = "\n".join(said)
    return render_case(one.task, f"{inner}<system-out>{escape_xml(told)}</system-out>")


def render_failure(message: str, said: Iterable[str]) -> str:
    told = "\n".join(said)
    return f'<failure message="{escape_xml(message)}">{escape_xml(told)}</failure>'


def render_case(name: str, inner: str) -> str:
    return f'<testcase classname="assay.eval" name="{escape_xml(name)}">{inner}</testcase>\n'


def describe_trial(one: TrialLine) -> str:
    failed = "; ".join(f"{check.name}: {check.detail}" for check in one.checks if check.passed is False)
    return f"{SIGN[one.is_passed]} {one.stage} {one.repeat} {one.arm} {one.folder} {failed or one.why}".rstrip()


def escape_xml(text: str) -> str:
    """Any text as XML takes it."""
    return escape(NOT_XML.sub("\ufffd", sanitize_text(text)))


# --- Markdown ---------------------------------------------------------------------------------


def render_markdown(found: Evaluation) -> bytes:
    """A comment that fits a pull request; its first line is a mark by which it is found again."""
    parts = [
        MARKER,
        f"## Evaluation: {escape_markdown(found.verdict)}",
        f"**{escape_markdown(found.verdict)}** {escape_markdown(describe_verdict(found))}.",
        "\n".join(
            f"- {escape_markdown(line)}" for line in (*list_figures(found), *found.reasons, *list_cautions(found))
        ),
        *render_heading(
            "Hard regressions", [f"- {escape_markdown(f'{one.task}: {one.detail}')}" for one in found.regressions]
        ),
        *render_heading("Tasks", list_task_rows(found)),
        *(escape_markdown(f"{line[:1].upper()}{line[1:]}.") for line in explain_composites(found)),
        *render_heading("Run again", [f"- {escape_markdown(describe_suspect(one))}" for one in found.suspects]),
        *render_heading("Configurations", [f"- {escape_markdown(line)}" for line in list_configurations(found)]),
        *render_heading("Notes", [f"- {escape_markdown(line)}" for line in found.run.notes[:20]]),
        escape_markdown(f"{describe_cost(found)}; {found.run.sandbox}; rubric judged by {found.run.judge}."),
    ]
    return ("\n\n".join(part for part in parts if part) + "\n").encode("utf-8")


def list_task_rows(found: Evaluation) -> list[str]:
    """Every task, those on which the sides differ first."""
    body = [
        [
            escape_markdown(one.task),
            format_number(one.baseline),
            format_number(one.candidate),
            format_difference(one.delta),
            format_passes(one),
            escape_markdown(one.left_out) or " / ".join(list_signs(found, one.task)),
        ]
        for one in sort_tasks(found)
    ]
    return render_table(["task", "baseline", "candidate", "delta", "passed", "trials, baseline / candidate"], body)


def list_signs(found: Evaluation, task: str) -> list[str]:
    """A sign for each repeat of a task, for each side."""
    there = [one for one in found.run.trials if one.task == task and one.stage == "main"]
    return ["".join(SIGN[one.is_passed] for one in there if one.arm == arm) or "–" for arm in ARMS]
