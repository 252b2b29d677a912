"""Pages that look closer: quality, habits, rework, two sides, evaluations, judges, privacy."""

import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.config import Config, Tenant
from assay.pipeline.scoring_run import Selection
from assay.scores.quality_means import find_share
from assay.scores.survival import measure_survival
from assay.server import qualities
from assay.server.api.reports import find_profile
from assay.server.qualities import QualityShelf, judge_one, name_look
from assay.web.context import PageContext
from assay.web.frame import render_page
from assay.web.pages.evaluations import EvaluationRow, render_evaluations
from assay.web.pages.rework import ReworkShown, render_rework
from tests.reports.test_evaluation import found as make_evaluation
from tests.server.serving import ELSEWHERE, Asked, add_key, serve
from tests.server.test_pages import HTML, log_in

EMPTY = {
    "/audit": "No sessions to look at yet", "/advise": "No session counts yet", "/quality": "No sessions yet",
    "/rework": "No lines could be followed yet", "/compare": "Which two?", "/evaluations": "No folder of evaluations",
    "/team": "No session counts here yet", "/judges": "Not measured on your sessions yet",
    "/privacy": "No model was ever asked",
}  # fmt: skip


@pytest.fixture
def asked(own_examples: str) -> Any:
    with serve(own_examples) as found:
        yield found


def read(asked: Asked, path: str) -> str:
    reply = asked.get(path, headers=HTML)
    assert reply.status_code == 200
    return reply.text


@pytest.mark.parametrize("path", EMPTY)
def test_a_page_of_an_empty_store_says_what_to_do(tmp_path: Path, path: str):
    with serve(f"sqlite:///{tmp_path / 'assay.db'}") as empty:
        text = read(empty, path)
        assert EMPTY[path] in text
        assert "<code>" in text or "/audit" in text


@pytest.mark.parametrize("path", ["/advise", "/quality", "/rework", "/team", "/compare?at=30d"])
def test_a_window_without_sessions_says_so_and_a_wrong_one_is_refused(asked: Asked, path: str):
    mark = "&" if "?" in path else "?"
    assert re.search(
        r"window|No lines|No session counts", read(asked, f"{path}{mark}since=2020-01-01&until=2020-01-02")
    )
    assert asked.get(f"{path}{mark}since=yesterdayish", headers=HTML).status_code == 400


# --- quality and habits -------------------------------------------------------------------------


def test_quality_shows_the_numbers_of_the_command(asked: Asked):
    text = read(asked, "/quality")
    ids = [one["id"] for one in asked.get("/api/v1/sessions").json()["sessions"]]
    told = [asked.get(f"/api/v1/quality/{one}").json()["qualities"][0] for one in ids]
    known = [one["overall_quality"] for one in told if one["overall_quality"] is not None]
    assert known
    assert len(re.findall(r'href="/sessions/\w+"', text.partition('id="worst"')[2])) == len(ids)
    lowest = f"{min(known):.2f}"
    assert re.search(r'<td class="number"[^>]*>([\d.–]+)', text.partition('id="worst"')[2])[1] == lowest


def test_the_worst_of_a_dimension_stand_first(asked: Asked):
    text = read(asked, "/quality?sort=tool_efficiency")
    assert "by tool efficiency" in text
    hall = asked.server.hall
    shares = []
    profile = find_profile("enhanced")
    for name in re.findall(r'href="/sessions/(\w+)"', text.partition('id="worst"')[2]):
        store = hall.stores.find("")
        quality = judge_one(store, hall.settings.config, profile, hall.reports.find_told("", store, name))
        share = find_share(quality, "tool_efficiency", profile)
        shares.append(2.0 if share is None else share)
    assert len(set(shares)) > 1
    assert shares == sorted(shares)


def test_of_many_sessions_some_are_looked_at_and_the_others_later(asked: Asked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(qualities, "LOOKING_S", -1.0)
    first = read(asked, "/quality")
    assert "No sessions yet" not in first
    until = time.monotonic() + 30
    while "so far" in (text := read(asked, "/quality")):
        assert time.monotonic() < until
        time.sleep(0.1)
    assert "Worst first" in text


def test_what_was_found_is_kept_without_words_until_the_session_changes(asked: Asked):
    read(asked, "/quality")
    shelf: QualityShelf = asked.server.hall.qualities
    kept = [found for _, found in shelf.kept.values()]
    assert kept
    assert not [one for found in kept for one in found.dimensions.values() if one.evidence]
    report = asked.server.hall.reports
    session = report.find_told("", asked.server.hall.stores.find(""), kept[0].session)
    assert name_look("", "x", session) == name_look("", "x", session)
    assert name_look("", "x", session) != name_look("", "x", replace(session, title="another"))
    assert name_look("", "x", session) != name_look("other", "x", session)


def test_habits_are_told_as_the_command_tells_them(asked: Asked):
    text = read(asked, "/advise")
    assert "counted sessions landed" in text
    assert "Of habits nothing can be said" in text  # the examples are fewer than twenty
    assert "What ended the" in text


# --- lines --------------------------------------------------------------------------------------


def test_the_curve_and_who_replaced_the_lines(asked: Asked):

    hall = asked.server.hall
    report = hall.reports.read_report("", hall.stores.find(""), Selection())
    one = report.sessions[0]
    fate = {"state": "yes", "share": 0.75, "lines": 40, "gone": 30, "commit": "abcdef0123456789", "session": "1a2b3c4d"}
    gone = replace(one, facts={**one.facts, "rework": fate | {"by": "session 1a2b3c4d", "at": one.ended_at}})
    survival = measure_survival([(2.0, True, 30), (20.0, False, 10)])
    context = PageContext()
    shown = ReworkShown(report=replace(report, survival=survival), replaced=[gone])
    text = render_page(render_rework(shown, {}, context), context).decode()
    assert "30 of 40 lines are gone" in text
    assert "<polyline" in text
    assert "30 of 40 (75 %)" in text
    assert "<code>abcdef0123</code>" in text
    assert 'href="/sessions/1a2b3c4d"' in text


# --- two sides ----------------------------------------------------------------------------------


def test_two_sides_are_compared_in_the_words_of_the_command(asked: Asked):
    text = read(asked, "/compare?a=agent:claude-code&b=agent:codex")
    assert "agent claude-code" in text
    assert "95 % interval" in text
    assert "none of it is tested" in text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("a=agent:nobody&b=agent:codex", "no session is of it"),
        ("a=agent:codex", "Name both sides"),
        ("at=whenever", "give a day"),
        ("a=agent:codex&b=agent:codex", "are the same sessions"),
    ],
)
def test_what_can_not_be_compared_is_told_and_what_can_be_named(asked: Asked, query: str, said: str):
    text = read(asked, f"/compare?{query}")
    assert said in text
    assert "What can be named" in text


# --- evaluations --------------------------------------------------------------------------------


def test_a_folder_without_runs_and_a_name_that_is_none(own_examples: str, tmp_path: Path):
    (tmp_path / "runs").mkdir()
    with serve(own_examples, runs=str(tmp_path / "runs")) as asked:
        assert "No evaluation yet" in read(asked, "/evaluations")
        for name in ("nothing", "..%2f..%2fetc", "%3Cscript%3E"):
            assert asked.get(f"/evaluations/{name}", headers=HTML).status_code == 404


def test_a_run_that_can_not_be_read_is_counted(own_examples: str, tmp_path: Path):
    folder = tmp_path / "runs" / "broken"
    folder.mkdir(parents=True)
    (folder / "comparison.json").write_text(json.dumps({"verdict": "improved"}))
    with serve(own_examples, runs=str(tmp_path / "runs")) as asked:
        assert "1 run left out" in read(asked, "/evaluations")
        assert asked.get("/evaluations/broken", headers=HTML).status_code == 404
    shutil.rmtree(folder)


def test_evaluations_of_the_servers_own_disk_are_not_shown_to_other_tenants(own_examples: str, tmp_path: Path):
    (tmp_path / "runs").mkdir()
    with serve(own_examples, address=ELSEWHERE, host="0.0.0.0", runs=str(tmp_path / "runs")) as far:
        log_in(far, add_key(own_examples, "looms", "read"))
        assert "Evaluations are not shown to you" in read(far, "/evaluations")


def test_the_list_has_verdict_gain_and_why():
    one = make_evaluation()
    row = EvaluationRow(name="r-1", ended_at="2026-11-01T00:00:00+00:00", found=one)  # type: ignore[arg-type]
    context = PageContext()
    text = render_page(render_evaluations([row], 0, "runs", context), context).decode()
    assert 'href="/evaluations/r-1"' in text
    assert "regressed" in text
    assert "there is at least one hard regression" in text


# --- judges and privacy -------------------------------------------------------------------------


def test_the_card_of_the_offline_judge(asked: Asked):
    text = read(asked, "/judges")
    assert "offline · judges here" in text
    assert "labelled goals" in text
    assert "Begin one" in text


def test_privacy_names_rules_and_to_whom_words_go(own_examples: str):
    rules = {"looms": Tenant(projects=("/looms",), opt_out=True, retention_days=30.0, models=("tiny",))}
    with serve(own_examples, config=Config(tenants=rules)) as asked:
        text = read(asked, "/privacy")
        assert "nothing leaves" in text
        assert "opted out" in text
        assert "30 days" in text
        assert "tiny" in text
    with serve(own_examples, config=Config(judge="anthropic", tenants=rules)) as asked:
        assert "api.anthropic.com" in read(asked, "/privacy")


def test_the_log_is_for_admins_and_rules_of_others_for_nobody(own_examples: str):
    rules = {"looms": Tenant(opt_out=True), "mills": Tenant(opt_out=True)}
    with serve(own_examples, address=ELSEWHERE, host="0.0.0.0", config=Config(tenants=rules)) as far:
        log_in(far, add_key(own_examples, "looms", "read"))
        text = read(far, "/privacy")
        assert "scope admin" in text
        assert "mills" not in text
        assert "looms" in text
        log_in(far, add_key(own_examples, "looms", "admin"))
        assert "key made" in read(far, "/privacy")
