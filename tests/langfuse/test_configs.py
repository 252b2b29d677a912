"""Score configs are found or created once, and never overwritten."""

from collections.abc import Callable

import pytest

from assay.errors import BadInput
from assay.http import ServiceBusy
from assay.langfuse import WantedConfig, ensure_configs
from tests.langfuse.conftest import client_of
from tests.langfuse.contract import CheckedServer

Make = Callable[..., CheckedServer]
NUMBER = WantedConfig(name="tool_efficiency", data_type="NUMERIC", min_value=0, max_value=1, description="Tools")
LABELS = WantedConfig(name="goal_achievement", data_type="CATEGORICAL", categories=("missed", "part", "full"))
TRUTH = WantedConfig(name="crushed", data_type="BOOLEAN")


def test_configs_are_created_once(make: Make):
    standin = make()
    first = ensure_configs(client_of(standin), [NUMBER, LABELS, TRUTH])
    again = ensure_configs(client_of(standin), [NUMBER, LABELS, TRUTH])
    assert first.created == ("tool_efficiency", "goal_achievement", "crushed")
    assert again.created == ()
    assert again.ids == first.ids
    assert len(standin.configs) == 3
    assert standin.configs[1]["categories"] == [
        {"label": "missed", "value": 0},
        {"label": "part", "value": 1},
        {"label": "full", "value": 2},
    ]


OTHERS = {
    "another type": ({"dataType": "BOOLEAN"}, "it is BOOLEAN, wanted is NUMERIC (0 to 1)"),
    "another range": ({"dataType": "NUMERIC", "minValue": 0, "maxValue": 10}, "it is NUMERIC (0 to 10)"),
    "no range": ({"dataType": "NUMERIC"}, "it is NUMERIC (-∞ to ∞)"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_config_that_is_otherwise_is_reported_and_left_alone(make: Make, case):
    body, why = OTHERS[case]
    standin = make()
    standin.create_config({"name": "tool_efficiency", **body})
    before = [dict(one) for one in standin.configs]
    report = ensure_configs(client_of(standin), [NUMBER, TRUTH])
    assert report.mismatched[0].name == "tool_efficiency"
    assert why in report.mismatched[0].why
    assert "tool_efficiency" not in report.ids
    assert report.created == ("crushed",)
    assert standin.configs[:1] == before


@pytest.mark.parametrize("categories", [("missed", "full"), ("full", "part", "missed"), ("missed", "part", "whole")])
def test_other_categories_or_another_order_of_them_are_a_mismatch(make: Make, categories):
    standin = make()
    made = [{"label": label, "value": n} for n, label in enumerate(categories)]
    standin.create_config({"name": "goal_achievement", "dataType": "CATEGORICAL", "categories": made})
    assert [one.name for one in ensure_configs(client_of(standin), [LABELS]).mismatched] == ["goal_achievement"]


def test_the_oldest_active_match_wins_wherever_it_stands_in_the_list(make: Make):
    standin = make()
    body = {"name": "tool_efficiency", "dataType": "NUMERIC", "minValue": 0, "maxValue": 1}
    standin.create_config(body)
    standin.configs[0]["isArchived"] = True
    standin.create_config(body | {"maxValue": 5})
    standin.create_config(body)
    for n in range(230):
        standin.create_config({"name": f"other {n}", "dataType": "BOOLEAN"})
    standin.create_config(body)
    report = ensure_configs(client_of(standin), [NUMBER])
    assert report.ids == {"tool_efficiency": "cfg-2"}
    assert len(standin.list_queries("score-configs")) == 3


def test_an_archived_config_is_not_woken_up(make: Make):
    standin = make()
    ensure_configs(client_of(standin), [TRUTH])
    standin.configs[0]["isArchived"] = True
    assert ensure_configs(client_of(standin), [TRUTH]).ids == {"crushed": "cfg-1"}
    assert standin.configs[0]["isArchived"]


def test_of_two_that_create_the_same_the_later_takes_its_own_back(make: Make):
    standin = make()
    create = standin.create_config

    def and_somebody_else(body):
        create(body)  # a moment before us
        return create(body)

    standin.create_config = and_somebody_else
    report = ensure_configs(client_of(standin), [TRUTH])
    assert report.ids == {"crushed": "cfg-0"}
    assert [one["isArchived"] for one in standin.configs] == [False, True]


def test_a_dry_run_creates_nothing(make: Make):
    standin = make()
    report = ensure_configs(client_of(standin), [NUMBER, TRUTH], dry_run=True)
    assert report.missing == ("tool_efficiency", "crushed")
    assert standin.configs == []


def test_a_config_is_not_created_again_where_the_answer_was_lost(make: Make):
    standin = make()
    client = client_of(standin)
    standin.planned = [(200, {}, {"data": [], "meta": {"totalPages": 1}}), (502, {}, {"message": "Bad gateway"})]
    with pytest.raises(ServiceBusy, match="502 Bad gateway"):
        ensure_configs(client, [TRUTH])
    assert len([1 for method, *_ in standin.log if method == "POST"]) == 1


BAD = [
    WantedConfig(name="a" * 36, data_type="BOOLEAN"),
    WantedConfig(name="goal:achievement", data_type="BOOLEAN"),
    WantedConfig(name="", data_type="BOOLEAN"),
    WantedConfig(name="x", data_type="CATEGORICAL"),
    WantedConfig(name="x", data_type="CATEGORICAL", categories=("a", "a")),
    WantedConfig(name="x", data_type="CATEGORICAL", categories=("a",), min_value=0),
    WantedConfig(name="x", data_type="NUMERIC", min_value=1, max_value=1),
    WantedConfig(name="x", data_type="BOOLEAN", categories=("no", "yes")),
]


@pytest.mark.parametrize("config", BAD)
def test_what_langfuse_would_refuse_is_refused_before_anything_is_asked(make: Make, config):
    standin = make()
    client = client_of(standin)
    with pytest.raises(BadInput, match="score config"):
        ensure_configs(client, [config])
    assert len(standin.log) == 1
