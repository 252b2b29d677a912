"""The tally of a lake's sessions, and all else that a report counts, by sums of columns.

What comes out is to the last bit what `scores.tally` counts of the same sessions one by one: counts are whole numbers,
and of what is no whole number the values themselves are handed on.
"""

from collections.abc import Iterator
from typing import Any

from assay.lake.query import LakeChoice, LakeReader
from assay.scores.breakdown import NOTHING, PERIODS, WAYS
from assay.scores.prism import Counts, JudgeCounts
from assay.scores.survival import Age
from assay.scores.tally import ALL, CHECKS, OFFLINE, Tally

CHOSEN = "chosen"
SMALL_COLUMNS = (
    "id began_at agent day project branch model intent language tenant person machine judge judged_by judge_status "
    "goal_complete crushed rework rework_detail exclusion steps lost_at lost_why obstacle advice fallback is_drawable "
    "is_answered chance grade turns tokens cost_usd active_s went_on"
).split()
"""All that is counted; the words of sessions are not."""
PERIOD_NAMES = {
    "day": "strftime(day, '%Y-%m-%d')",
    "week": "strftime(day - (isodow(day) - 1)::INTEGER, '%Y-%m-%d')",
    "month": "strftime(day, '%Y-%m')",
}
COUNTED = (
    "count(crushed), count(*) FILTER (crushed), count(*) FILTER (crushed AND rework = 'open'), "
    "count(*) FILTER (crushed AND rework = 'unknown')"
)
TOTALS = {
    "sessions": "count(*)",
    "small": "count(*) FILTER (judge_status = 'trivial' AND goal_complete IS NOT NULL)",
    "small_crushed": "count(*) FILTER (judge_status = 'trivial' AND goal_complete AND rework <> 'yes')",
    "turns": "coalesce(sum(turns) FILTER (crushed IS NOT NULL AND tokens IS NOT NULL), 0)",
    "tokens": "coalesce(sum(tokens) FILTER (crushed IS NOT NULL), 0)",
    "crushed_tokens": "coalesce(sum(tokens) FILTER (crushed), 0)",
    "priced_crushed": "count(cost_usd) FILTER (crushed)",
    "went_on": "coalesce(sum(went_on), 0)",
}


class LakeSums:
    """Sums of the sessions of a lake that are chosen."""

    def __init__(self, lake: LakeReader, choice: LakeChoice) -> None:
        self.lake = lake
        self.choice = choice
        where, values = choice.match()
        columns = ", ".join((*SMALL_COLUMNS, *CHECKS))
        chosen = f"SELECT {columns} FROM {lake.name_source('sessions')} WHERE {where}"
        self.lake.ask(f"CREATE OR REPLACE TABLE {CHOSEN} AS {chosen}", values)

    def ask(self, what: str, rest: str = "") -> list[tuple[Any, ...]]:
        return self.lake.ask(f"SELECT {what} FROM {CHOSEN} {rest}")

    def group(self, what: str, where: str = "true") -> dict[Any, int]:
        """How often which value of a column stands there."""
        return dict(self.ask(f"{what}, count(*)", f"WHERE {where} GROUP BY {what}"))

    def group_two(self, first: str, second: str, where: str) -> dict[str, dict[str, int]]:
        """The same of two columns, the second within the first."""
        found: dict[str, dict[str, int]] = {}
        for one, other, n in self.ask(f"{first}, {second}, count(*)", f"WHERE {where} GROUP BY ALL"):
            found.setdefault(one, {})[other] = n
        return found

    def tally(self) -> Tally:
        """The sessions in numbers; `drawn` is left to those who need it."""
        [totals] = self.ask(", ".join(TOTALS.values()))
        found = Tally()
        for name, total in zip(TOTALS, totals, strict=True):
            setattr(found, name, int(total))
        for steps, n in self.group("steps").items():
            for step in steps.split():
                found.left[step] = found.left.get(step, 0) + n
        found.losses = self.group_two("lost_at", "lost_why", "lost_at IS NOT NULL")
        found.exclusions = self.group("exclusion", "exclusion IS NOT NULL")
        found.obstacles = self.group_two("obstacle", "advice", "obstacle IS NOT NULL")
        found.judges = self.group("judge")
        who = f"CASE WHEN judge = '{OFFLINE}' THEN judge ELSE '' END"
        found.fallbacks = self.group_two(who, "fallback", "fallback IS NOT NULL AND judge_status <> 'opted_out'")
        found.unknown = self.group("rework_detail", "crushed AND rework = 'unknown'")
        found.drawable = self.group("judge", "is_drawable")
        found.chances = self.group("chance", "is_drawable")
        found.grades = self.group("grade", "crushed IS NOT NULL AND grade IS NOT NULL")
        self.count_checks(found)
        found.slices = {str(by): self.count_slices(self.name_way(by)) for by in WAYS}
        found.slices[ALL] = self.count_slices(f"'{ALL}'")
        found.times = self.find_middle("active_s", "crushed")
        found.costs = [cost for (cost,) in self.ask("cost_usd", "WHERE crushed IS NOT NULL AND cost_usd IS NOT NULL")]
        return found

    def count_checks(self, found: Tally) -> None:
        """How often each check of prompts applies, and holds."""
        sums = [f"count({check}), count(*) FILTER ({check})" for check in CHECKS]
        [row] = self.ask(", ".join(sums), "WHERE crushed IS NOT NULL")
        for n, check in enumerate(CHECKS):
            if row[2 * n]:
                found.asked[check], found.held[check] = row[2 * n], row[2 * n + 1]

    def name_way(self, by: str) -> str:
        """The name of the slice that a session stands in."""
        return f"coalesce({PERIOD_NAMES[by] if by in PERIODS else by}, '{NOTHING}')"

    def count_slices(self, name: str) -> dict[str, JudgeCounts]:
        """Sessions by slice and judge; a slice in which nothing counts has no judge."""
        found: dict[str, JudgeCounts] = {}
        for one, judge, counted, *others in self.ask(f"{name}, judged_by, {COUNTED}", "GROUP BY ALL"):
            place = found.setdefault(one, {})
            if counted:
                place[judge] = Counts(counted, *others)
        return found

    def find_middle(self, column: str, where: str) -> list[float]:
        """The one or two values in the middle: all that a median needs of them."""
        [(n,)] = self.ask(f"count({column})", f"WHERE {where}")
        order = f"WHERE {where} AND {column} IS NOT NULL ORDER BY {column}"
        return [value for (value,) in self.ask(column, f"{order} LIMIT {2 - n % 2} OFFSET {(n - 1) // 2}")] if n else []

    def list_drawn(self) -> list[str]:
        """Ids of the sessions that audits may draw and have not."""
        return [one for (one,) in self.ask("id", "WHERE is_drawable AND NOT is_answered")]

    def list_obstructed(self, kind: str) -> list[str]:
        """Ids of the sessions that one kind of reason held back, in order of time."""
        query = f"SELECT id FROM {CHOSEN} WHERE obstacle = ? ORDER BY began_at, id"
        return [one for (one,) in self.lake.ask(query, [kind])]

    def list_ages(self) -> Iterator[Age]:
        """The ages of their lines, those that are equal together."""
        where, values = self.choice.match()
        each = f"SELECT unnest(ages) AS age FROM {self.lake.name_source('sessions')} WHERE {where} AND len(ages) > 0"
        rows = self.lake.stream(f"SELECT age.days, age.removed, sum(age.lines) FROM ({each}) GROUP BY ALL", values)
        return ((days, removed, int(lines)) for days, removed, lines in rows)


def count_streams(lake: LakeReader, choice: LakeChoice) -> int:
    """How many streams the sessions that are wanted may stand in."""
    if not lake.files["streams"]:
        return 0
    where, values = choice.match()
    read, shipped = "count(*) FILTER (NOT is_shipped)", "count(DISTINCT (agent, id)) FILTER (is_shipped)"
    [(n,)] = lake.ask(f"SELECT {read} + {shipped} FROM {lake.name_source('streams')} WHERE {where}", values)
    return int(n)


def list_folders(lake: LakeReader, table: str) -> list[str]:
    """All folders that were worked in."""
    if not lake.files[table]:
        return []
    return sorted(one for (one,) in lake.ask(f"SELECT DISTINCT folder FROM {lake.name_source(table)}"))
