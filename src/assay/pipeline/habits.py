"""How counted sessions were run, for advice: each by its signals alone, whoever judged how it ended."""

from collections.abc import Callable, Sequence
from functools import partial

from assay.config import Config
from assay.pipeline.lookup import read_turns
from assay.pipeline.quality import Subject, judge_offline
from assay.scores.prism import select_counted
from assay.stores import Store
from assay.types import Session
from assay.types.quality import Profile, Quality


def judge_habits(
    store: Store, config: Config, sessions: Sequence[Session], profile: Profile, progress: Callable[[int, int], None]
) -> dict[str, Quality]:
    """The quality of the sessions that count, by their ids."""
    counted = select_counted(sessions)
    found = {}
    for n, one in enumerate(counted):
        progress(n, len(counted))
        subject = Subject(session=one, read=partial(read_turns, store, config, one))
        found[one.id] = judge_offline(subject, profile, config)
    progress(len(counted), len(counted))
    return found
