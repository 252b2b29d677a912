"""The audit page: one session at a time, blind, three answers, and the interval that shrinks."""

import re
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser

from assay.scores.audit import LEAST, MOST_STEPS, step_answers, trace_answers
from assay.stores import open_store
from assay.web.pages.audit import build_shrinking_chart, shorten
from tests.server.serving import ELSEWHERE, Asked, add_key, run_server, serve
from tests.server.test_pages import FOREIGN, FORM, HTML, log_in
from tests.web.browsing import DESKTOP, LOOKS, PHONE, visit

SESSION = re.compile(r'name="session" value="([^"]+)"')
JUDGED = ("crushed", "confidence", "chance of", "evidence", "goal completed")
"""Words of a judge's verdict on a session."""


def post(asked: Asked, path: str, **data: str) -> Any:
    reply = asked.ask("POST", path, data=data, headers=FORM, follow_redirects=False)
    assert (reply.status_code, reply.headers.get("location")) == (303, "/audit")
    return reply


def read_shown(asked: Asked) -> str:
    """The session that is asked about."""
    return SESSION.findall(asked.get("/audit", headers=HTML).text)[0]


def read_case(text: str) -> str:
    """The card of the session, without the frame."""
    return text.partition('class="card case"')[2].partition("</section>")[0]


def test_without_sessions_it_says_what_to_do(tmp_path):
    with serve(f"sqlite:///{tmp_path / 'assay.db'}") as asked:
        text = asked.get("/audit", headers=HTML).text
    assert "No sessions to look at yet" in text
    assert "<code>assay score</code>" in text


def test_it_asks_how_many_then_about_one_after_the_other(own_examples: str):
    with serve(own_examples) as asked:
        assert "Ask me about 40" in asked.get("/audit", headers=HTML).text
        post(asked, "/audit/draw", wanted="5")
        seen = []
        for verdict in ("landed", "not", "unclear"):
            seen.append(read_shown(asked))
            post(asked, "/audit/answers", session=seen[-1], verdict=verdict)
        text = asked.get("/audit", headers=HTML).text
    assert len(set(seen)) == 3
    assert "4 of 5" in text
    assert "3 answered" in text
    assert "The interval, answer by answer" in text


def test_it_asks_in_the_order_of_the_command_and_the_api(own_examples: str):
    with serve(own_examples) as asked:
        post(asked, "/audit/draw", wanted="5")
        waiting = asked.get("/api/v1/audit").json()["waiting"]
        assert read_shown(asked) == waiting[0]
        post(asked, "/audit/answers", session=waiting[0], verdict="landed")
        assert read_shown(asked) == waiting[1]


def test_nothing_of_the_judge_stands_beside_a_session_that_waits(own_examples: str):
    with serve(own_examples) as asked:
        post(asked, "/audit/draw", wanted="20")
        while "Did it land?" in (text := asked.get("/audit", headers=HTML).text):
            case = read_case(text).lower()
            assert not [word for word in JUDGED if word in case]
            assert f"/sessions/{read_shown(asked)}" not in text
            post(asked, "/audit/answers", session=read_shown(asked), verdict="unclear")


def test_back_takes_the_last_answer_back_and_a_form_sent_twice_changes_nothing(own_examples: str):
    with serve(own_examples) as asked:
        post(asked, "/audit/draw", wanted="5")
        first = read_shown(asked)
        post(asked, "/audit/answers", session=first, verdict="landed")
        post(asked, "/audit/answers", session=first, verdict="not")
        assert asked.get("/api/v1/audit").json()["audit"]["landed"] == 1
        post(asked, "/audit/back", session=first)
        assert read_shown(asked) == first
        post(asked, "/audit/back", session=first)
        assert read_shown(asked) == first


def test_a_session_that_was_not_drawn_can_not_be_answered(own_examples: str):
    with serve(own_examples) as asked:
        post(asked, "/audit/draw", wanted="1")
        other = next(
            one["id"] for one in asked.get("/api/v1/sessions").json()["sessions"] if one["id"] != read_shown(asked)
        )
        post(asked, "/audit/answers", session=other, verdict="landed")
        assert asked.get("/api/v1/audit").json()["audit"] is None


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("path", ["/audit/draw", "/audit/answers", "/audit/back"])
def test_no_other_site_can_answer(own_examples: str, name: str, path: str):
    with serve(own_examples) as asked:
        data = {"wanted": "5", "session": "abcd1234", "verdict": "landed"}
        reply = asked.ask("POST", path, data=data, headers={**FORM, **FOREIGN[name]})
        assert reply.status_code == 403
    with closing(open_store(own_examples)) as store:
        assert store.corrections.load_draw() is None


def test_whoever_may_only_look_sees_no_buttons_and_can_not_answer(own_examples: str):
    with serve(own_examples, address=ELSEWHERE, host="0.0.0.0") as far:
        far.client.follow_redirects = False
        log_in(far, add_key(own_examples, "own", "admin"))
        post(far, "/audit/draw", wanted="5")
        log_in(far, add_key(own_examples, "own", "read"))
        text = far.get("/audit", headers=HTML).text
        assert "may look and not answer" in text
        assert 'action="/audit' not in text
        assert far.ask("POST", "/audit/draw", data={"wanted": "9"}, headers=FORM).status_code == 403


@pytest.mark.parametrize("data", [{}, {"wanted": "0"}, {"wanted": "x"}, {"wanted": "100001"}])
def test_a_wrong_number_is_refused_as_a_page(own_examples: str, data: dict[str, str]):
    with serve(own_examples) as asked:
        reply = asked.ask("POST", "/audit/draw", data=data, headers=FORM)
        assert reply.status_code == 400
        assert "<h1>" in reply.text


# --- the interval -------------------------------------------------------------------------------

SAID = st.lists(st.tuples(st.sampled_from([0.1, 0.4, 0.8]), st.booleans()), min_size=1, max_size=60)


@given(SAID, st.booleans())
def test_an_interval_holds_its_value_and_stays_within_the_scale(said: list[tuple[float, bool]], is_far: bool):
    chances = {0.1: 60, 0.4: 60, 0.8: 60}
    found = step_answers(said, chances, [], is_far=is_far)
    hair = 1e-9
    assert 0 <= found.low <= found.value + hair
    assert found.value - hair <= found.high <= 100
    assert found.is_corrected is is_far


def test_the_last_step_is_what_the_report_says(own_examples: str):
    with serve(own_examples) as asked:
        post(asked, "/audit/draw", wanted="100")
        turn = 0
        while "Did it land?" in asked.get("/audit", headers=HTML).text:
            post(asked, "/audit/answers", session=read_shown(asked), verdict=("landed", "not")[turn % 2])
            turn += 1
        told = asked.get("/api/v1/audit").json()["corrected"]
        queue = asked.server.hall.reports.read_queue("", asked.server.hall.stores.find(""))
        text = asked.get("/audit", headers=HTML).text
    steps = trace_answers(queue.answered, queue.chances)
    assert len(steps) == min(turn, MOST_STEPS)
    assert (steps[-1].value, steps[-1].low, steps[-1].high) == (told["value"], told["low"], told["high"])
    assert steps[-1].is_corrected
    assert all(one.is_corrected is (one.answers >= LEAST) for one in steps[:-1])
    assert "All that were wanted are answered" in text
    chart = build_shrinking_chart(steps, turn)
    assert [one.label for one in chart.points] == [str(one.answers) for one in steps]


def test_a_long_text_is_cut_in_its_middle_and_says_so():
    assert shorten("a" * 50, 100) == "a" * 50
    cut = shorten("a" * 500 + "z" * 500, 100)
    assert cut.startswith("a" * 50)
    assert cut.endswith("z" * 50)
    assert "900 characters" in cut


# --- in a browser -------------------------------------------------------------------------------


@pytest.mark.outside
@pytest.mark.parametrize(("size", "theme"), LOOKS, ids=lambda one: one if isinstance(one, str) else str(one[0]))
def test_a_person_answers_with_keys_alone(own_examples: str, browser: Browser, size: tuple[int, int], theme: str):
    with run_server(own_examples) as served, visit(browser, served.address, size, theme) as look:
        page = look.open("/audit")
        look.check()
        page.get_by_role("button", name="Ask me about 20").click()
        for key in ("l", "n", "u", "b", "l"):
            page.wait_for_selector(".question .answer")
            with page.expect_navigation():
                page.keyboard.press(key)
        assert page.get_by_text("3 answered").is_visible()
        look.check()


@pytest.mark.outside
def test_on_a_phone_the_answers_stay_in_sight(own_examples: str, browser: Browser):
    with run_server(own_examples) as served, visit(browser, served.address, PHONE) as look:
        page = look.open("/audit")
        page.get_by_role("button", name="Ask me about 20").click()
        page.wait_for_selector(".question .answer")
        assert page.get_by_role("button", name="Did not land").bounding_box()["y"] < PHONE[1]


@pytest.mark.outside
def test_it_works_without_script(own_examples: str, browser: Browser):
    with run_server(own_examples) as served, visit(browser, served.address, DESKTOP, java_script_enabled=False) as look:
        page = look.open("/audit")
        page.get_by_role("button", name="Ask me about 20").click()
        page.get_by_role("button", name="Landed", exact=False).first.click()
        assert page.get_by_text("1 answered").is_visible()
