"""The team page: groups with their intervals, nobody told apart unless that was switched on, nobody ranked."""

import re
from typing import Any

import pytest
from msgspec.structs import replace

from assay.config import Config, Tenant, merge_tenant
from assay.pipeline.scoring_run import Selection
from assay.scores.breakdown import Slice
from assay.scores.prism import Counts, score_counts
from assay.web.context import PageContext
from assay.web.frame import render_page
from assay.web.pages.team import FEWEST, render_team, split_groups
from tests.server.serving import serve
from tests.server.test_pages import HTML


def make_slice(name: str, crushed: int, counted: int) -> Slice:
    return Slice(name=name, score=score_counts([Counts(counted=counted, crushed=crushed)]), p_value=None)


def show(report: Any, **more: Any) -> str:
    context = PageContext()
    return render_page(render_team(report, {}, context, **more), context).decode()


@pytest.fixture
def report(own_examples: str) -> Any:
    with serve(own_examples) as asked:
        hall = asked.server.hall

        yield hall.reports.read_report("", hall.stores.find(""), Selection())


def with_people(report: Any, *people: Slice) -> Any:
    return replace(report, slices=report.slices | {"person": list(people)})


PEOPLE = [make_slice(name, n, 10) for n, name in enumerate(["Zoe", "ada", "Bob", "Cy", "Dee"], 1)]


def test_groups_of_few_sessions_are_left_out_and_counted():
    shown, few = split_groups([make_slice("a", 3, FEWEST), make_slice("b", 1, FEWEST - 1), make_slice("c", 0, 0)])
    assert [one.name for one in shown] == ["a"]
    assert [one.name for one in few] == ["b"]


def test_people_are_not_told_apart_unless_it_is_switched_on(report: Any):
    told = with_people(report, *PEOPLE)
    assert not [one.name for one in PEOPLE if one.name in show(told)]
    assert "people = true" in show(told)
    assert not [one.name for one in PEOPLE if one.name not in show(told, has_people=True)]


def test_people_stand_by_name_and_never_by_score(report: Any):
    told = show(with_people(report, *PEOPLE), has_people=True)
    places = [told.index(f">{name}<") for name in ("ada", "Bob", "Cy", "Dee", "Zoe")]
    assert places == sorted(places)


def test_a_person_with_few_sessions_is_not_shown(report: Any):
    told = show(with_people(report, *PEOPLE, make_slice("Eve", 1, FEWEST - 1)), has_people=True)
    assert "Eve" not in told
    assert f"1 with fewer than {FEWEST} counted sessions not shown" in told


def test_fewer_than_five_people_are_no_group(report: Any):
    told = show(with_people(report, *PEOPLE[:4]), has_people=True)
    assert not [one.name for one in PEOPLE if f">{one.name}<" in told]


def test_only_the_own_file_of_whoever_runs_the_server_switches_it_on(own_examples: str):
    switched = {"own": Tenant(people=True)}
    with serve(own_examples, config=Config(tenants=switched)) as asked:
        assert "people = true" in asked.get("/team", headers=HTML).text
    with serve(own_examples, own_tenants=switched) as asked:
        assert "people = true" not in asked.get("/team", headers=HTML).text


def test_of_two_files_both_must_say_so():
    assert merge_tenant(Tenant(people=True), Tenant(people=True)).people
    assert not merge_tenant(Tenant(people=True), Tenant()).people


def test_every_number_leads_to_its_sessions(own_examples: str):
    with serve(own_examples) as asked:
        text = asked.get("/team", headers=HTML).text
        links = re.findall(r'href="(/sessions\?by_[^"]+)"', text)
        assert links
        for link in links:
            assert asked.get(link.replace("&amp;", "&"), headers=HTML).status_code == 200
