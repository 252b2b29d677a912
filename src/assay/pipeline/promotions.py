"""Did a promoted configuration move real sessions? Those of its project and agents, before and since it was merged.

A promotion is in effect from the commit on with which the default branch has its files, which git tells; where the
repository is not here, from when it was promoted. Its window ends where the files changed again, and where another
promotion for the same agents came before or after: nobody could tell one's effect from the other's.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from assay.clock import parse_time
from assay.errors import BadInput
from assay.git import GitTimeout
from assay.git.repo import Repo
from assay.pipeline.repositories import KnownRepository, Repositories
from assay.pipeline.scoring_run import is_in_project
from assay.pipeline.sides import find_moment
from assay.scores.breakdown import name_project
from assay.scores.comparison import ScoreComparison, compare_groups
from assay.scores.promotion import DID_NOT_HELP, WINDOW, PromotionOutcome, PromotionReview, decide_promotion
from assay.types import Session
from assay.types.promotions import NotedPromotion

Redact = Callable[[str], str]
MOST_COMMITS = 2_000
"""Commits to a configuration's files that are looked at."""
SLACK = timedelta(hours=1)
"""Clocks of two machines may lie so far apart."""
UNKNOWN_MERGE = "its repository is not here, so nobody can tell when it was merged: taken from when it was promoted"


class Landing(Struct, frozen=True, kw_only=True):
    """When the default branch had a promotion's files."""

    is_merged: bool | None = None
    began: datetime | None = None
    ended: datetime | None = None


class PromotedWork(Struct, frozen=True, kw_only=True):
    """A promotion, when it was in effect, and the sessions it concerns."""

    noted: NotedPromotion
    landing: Landing
    sessions: Sequence[Session]


def pick_promotions(noted: Sequence[NotedPromotion], name: str) -> list[NotedPromotion]:
    """The promotions that a name means, all for none; the newest first."""
    if not noted:
        raise BadInput(
            "nothing was promoted into what this store knows: `assay eval promote RUN --yes` notes it; for a change "
            "of your own give --before-after DAY"
        )
    newest = list(noted)[::-1]
    found = [one for one in newest if name in ("", one.name) or (name and one.id.startswith(name))]
    if not found:
        there = ", ".join(dict.fromkeys(one.name for one in newest))
        raise BadInput(f"{name!r} is no promotion that this store knows; there are: {there}")
    return found


def review_promotions(
    noted: Sequence[NotedPromotion], sessions: Sequence[Session], now: datetime, redact: Redact
) -> list[PromotionOutcome]:
    """What became of each promotion; all that the store knows are given, for they bound each other."""
    with Repositories([]) as places:
        finder = PromotionFinder(places, sessions, redact)
        works = [finder.find_work(one) for one in noted]
    return [review_work(one, works, now, redact) for one in works]


def build_review(outcomes: Iterable[PromotionOutcome]) -> PromotionReview:
    found = list(outcomes)
    named = dict.fromkeys(one.promotion.name for one in found if one.did_not_help)
    return PromotionReview(promotions=found, did_not_help=[*named])


class PromotionFinder:
    """Finds what belongs to promotions; every repository is opened once."""

    def __init__(self, places: Repositories, sessions: Sequence[Session], redact: Redact) -> None:
        self.places, self.sessions, self.redact = places, sessions, redact

    def find_work(self, noted: NotedPromotion) -> PromotedWork:
        mine = [one for one in self.sessions if self.is_of(one, noted)]
        folders = dict.fromkeys([noted.project, *(name_project(one) for one in mine)])
        return PromotedWork(noted=noted, landing=self.find_landing(noted, folders), sessions=mine)

    def is_of(self, session: Session, noted: NotedPromotion) -> bool:
        """Whether a session is of a promotion's agents, and of its repository, in whichever clone."""
        if noted.agents and session.agent not in noted.agents:
            return False
        folders = (session.project, name_project(session))
        tops = (noted.project, self.redact(noted.project))
        if any(is_in_project(folder, top) for folder in folders for top in tops if folder):
            return True
        found = self.find_place(name_project(session)) if noted.first_commit and not session.machine else None
        return found is not None and found.root == noted.first_commit

    def find_place(self, folder: str) -> KnownRepository | None:
        """The repository around a folder, if it can be read."""
        if folder not in self.places.by_folder:
            self.places.by_folder[folder] = self.places.find_around(folder)
        found = self.places.by_folder[folder]
        return None if isinstance(found, str) else found

    def find_landing(self, noted: NotedPromotion, folders: Iterable[str]) -> Landing:
        """When the files of a promotion were on the default branch: of several clones, the one that knows most."""
        found = Landing()
        for folder in folders:
            place = self.find_place(folder)
            if place is None or (noted.first_commit and place.root != noted.first_commit):
                continue
            try:
                landing = read_landing(place.repo, noted)
            except GitTimeout:
                continue
            if landing.is_merged:
                return landing
            found = landing
        return found


def read_landing(repo: Repo, noted: NotedPromotion) -> Landing:
    """From and until when the default branch of a repository had the files of a promotion."""
    ids, times = repo.chain
    at = dict(zip(ids, times, strict=True))
    paths = [f":(top,literal){one.path}" for one in noted.files]
    told = repo.list_revisions("--first-parent", f"--max-count={MOST_COMMITS}", str(repo.tip), "--", *paths)
    promoted_at = parse_time(noted.at)
    earliest = (promoted_at - SLACK).timestamp() if promoted_at else 0.0
    touching = [one for one in reversed(told) if at.get(one, 0.0) >= earliest]
    has = {one: has_files(repo, one, noted) for one in touching}
    first = next((n for n, one in enumerate(touching) if has[one]), None)
    if first is None:
        return Landing(is_merged=False)
    last = next((one for one in touching[first:] if not has[one]), None)
    return Landing(
        is_merged=True,
        began=datetime.fromtimestamp(at[touching[first]], UTC),
        ended=None if last is None else datetime.fromtimestamp(at[last], UTC),
    )


def has_files(repo: Repo, commit: str, noted: NotedPromotion) -> bool:
    """Whether a commit has every file of a promotion exactly as it was promoted."""
    for file in noted.files:
        content = repo.read_file(commit, file.path)
        if (None if content is None else sha256(content).hexdigest()) != file.sha256:
            return False
    return True


# --- what is said of it ---------------------------------------------------------------------------


def review_work(work: PromotedWork, works: Sequence[PromotedWork], now: datetime, redact: Redact) -> PromotionOutcome:
    """What became of one promotion, beside the others."""
    began = find_beginning(work)
    says = [UNKNOWN_MERGE] if work.landing.is_merged is None else []
    found = None if began is None else compare_around(work, began, works, now, says)
    verdict = decide_promotion(found)
    return PromotionOutcome(
        promotion=redact_promotion(work.noted, redact),
        is_merged=work.landing.is_merged,
        in_effect=None if began is None else began.isoformat(),
        changed=None if work.landing.ended is None else work.landing.ended.isoformat(),
        verdict=verdict,
        did_not_help=verdict in DID_NOT_HELP,
        says=tuple(says),
        comparison=found,
    )


def find_beginning(work: PromotedWork) -> datetime | None:
    """From when on a promotion is in effect; `None` for one that is not merged."""
    return parse_time(work.noted.at) if work.landing.is_merged is None else work.landing.began


def compare_around(
    work: PromotedWork, began: datetime, works: Sequence[PromotedWork], now: datetime, says: list[str]
) -> ScoreComparison:
    """The sessions in the windows before and since a promotion; what cuts a window short is added to `says`."""
    zone = now.tzinfo or UTC
    first, last = began - WINDOW, min(began + WINDOW, now)
    if work.landing.ended and work.landing.ended < last:
        last = work.landing.ended
        says.append(f"its files were changed again on {format_day(last, now)}; later sessions are left out")
    for other in works:
        at = find_beginning(other)
        if other is work or at is None or not are_rivals(work.noted, other.noted):
            continue
        if first < at <= began:
            first = at
            says.append(f"sessions before {format_day(at, now)} are left out: another promotion went in then")
        elif began < at < last:
            last = at
            says.append(f"sessions from {format_day(at, now)} on are left out: another promotion went in then")

    def select(start: datetime, end: datetime) -> list[Session]:
        return [one for one in work.sessions if (at := find_moment(one, zone)) and start <= at < end]

    day = format_day(began, now)
    return compare_groups((f"before {day}", select(first, began)), (f"since {day}", select(began, last)), zone)


def are_rivals(one: NotedPromotion, other: NotedPromotion) -> bool:
    """Whether two promotions concern the same sessions."""
    is_same = one.first_commit == other.first_commit if one.first_commit else one.project == other.project
    return is_same and (not one.agents or not other.agents or bool({*one.agents} & {*other.agents}))


def format_day(at: datetime, now: datetime) -> str:
    return at.astimezone(now.tzinfo or UTC).strftime("%Y-%m-%d")


def redact_promotion(noted: NotedPromotion, redact: Redact) -> NotedPromotion:
    """A promotion as it may be shown: names that people gave may hold anything."""
    return replace(
        noted,
        name=redact(noted.name),
        project=redact(noted.project),
        branch=redact(noted.branch),
        url=None if noted.url is None else redact(noted.url),
        files=tuple(replace(one, path=redact(one.path)) for one in noted.files),
    )
