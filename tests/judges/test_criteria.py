"""What sessions are measured by: one file for every judge."""

import subprocess
import sys
from typing import get_args

import pytest

from assay.judges import criteria
from assay.judges.criteria import FLOORS, GROUNDS, NOT_ASKED, grade_checks, select_checks
from assay.judges.model.replies import ChecksReply
from assay.scores.measures import PILLARS, TENTHS
from assay.types import Intent
from tests.judges.test_versions import SOURCE
from tests.tables import each_row

INTENTS: tuple[Intent, ...] = get_args(Intent)
ALL_HOLD = dict.fromkeys(NOT_ASKED, True)


def test_every_intent_has_a_criterion_a_floor_and_something_that_can_show_it() -> None:
    known = criteria.load_criteria().intents
    assert set(known) == set(INTENTS) == set(FLOORS)
    assert all(one.means and one.criterion.endswith(".") and one.explicit.endswith(".") for one in known.values())
    assert all(0.5 <= floor < 1 for floor in FLOORS.values())
    assert {intent for intent in INTENTS if "person" not in GROUNDS[intent]} == {"refactor"}


def test_words_of_the_agent_settle_only_what_asked_for_words() -> None:
    assert {intent for intent in INTENTS if "reply" in GROUNDS[intent]} == {"question", "investigation", "review"}


def test_the_seven_checks_are_those_that_reports_and_replies_know() -> None:
    pillars = {check: pillar for pillar, checks in PILLARS.items() for check in checks}
    assert {name: one.pillar for name, one in criteria.load_criteria().checks.items()} == pillars
    assert list(NOT_ASKED) == list(ChecksReply.__struct_fields__) == list(pillars)


@each_row("intent", INTENTS)
def test_a_check_that_says_nothing_for_the_intent_is_none_whatever_was_answered(intent: Intent) -> None:
    asked = select_checks(intent, ALL_HOLD)
    assert {name for name, value in asked.items() if value is None} == {
        name for name, intents in NOT_ASKED.items() if intent in intents
    }
    assert grade_checks(asked) == "A+"


def test_grades_fall_with_the_share_and_reports_know_them_all() -> None:
    shares = list(criteria.load_criteria().grades.values())
    assert shares == sorted(shares, reverse=True)
    assert {*criteria.load_criteria().grades, criteria.LOWEST} == set(TENTHS)
    assert grade_checks({}) is None
    assert grade_checks(dict.fromkeys(NOT_ASKED, False)) == "F"


ASK = """
import sys
from assay import resources
read = resources.read_resource
known = read("assay.judges", "criteria.toml").decode()
assert sys.argv[1] in known, "nothing to change"
changed = known.replace(sys.argv[1], sys.argv[2], 1).encode()
resources.read_resource = lambda package, name: changed if name == "criteria.toml" else read(package, name)
from assay.judges import criteria
print(criteria.hash_criteria("rubric"), criteria.hash_criteria("outcome"))
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("The question was answered", "The question was solved", set()),
        ("asks for the cause", "wants the cause", set()),
        ("floor = 0.75", "floor = 0.70", {"outcome"}),
        ('"A-" = 0.8', '"A-" = 0.79', {"rubric"}),
        ('not_asked = ["question"]', 'not_asked = ["question", "plan"]', {"rubric"}),
    ],
)
def test_the_offline_judge_changes_with_the_numbers_and_not_with_the_sentences(
    old: str, new: str, changed: set[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASK, old, new], cwd=SOURCE.parent, capture_output=True, text=True, check=True
    )
    after = dict(zip(("rubric", "outcome"), done.stdout.split(), strict=True))
    assert {job for job in after if criteria.hash_criteria(job) != after[job]} == changed
