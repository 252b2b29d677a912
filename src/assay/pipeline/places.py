"""Where the streams of sessions are kept, as far as that may be seen."""

from contextlib import closing

from assay.config import Config
from assay.pipeline import privacy
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.pool import Pool
from assay.pipeline.scan import establish_facts
from assay.reports.json import TranscriptPlace, build_place
from assay.stores import Store
from assay.types import Session


def list_places(store: Store, config: Config, session: Session) -> list[TranscriptPlace]:
    """Where each stream of a session is kept."""
    rules = privacy.build_rules(config, pick_report_time(config))
    with closing(Pool(1)) as pool:
        for stream in session.streams:  # whose the words are is known by the facts
            establish_facts(store, pool, None, stream)
    return [
        build_place(privacy.redact_summary(one, rules))
        for stream in session.streams
        for one in store.transcripts.list_streams(None, prefix=stream)
        if (one.agent, one.id) == (session.agent, stream)
    ]
