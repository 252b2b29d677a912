"""Transcripts on their way into Langfuse: redacted, and without those whose tenants say that nothing leaves."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from assay.config import Config
from assay.langfuse import Delivery, TraceUpload, UploadedSession, build_traces, upload_sessions
from assay.pipeline import privacy
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.scoring_run import Selection
from assay.stores import Store
from assay.types import Stream, StreamSummary

PULLED = "langfuse"
NO_TIMES = "it has no turn with a time"


def list_uploadable(store: Store, roots: Sequence[str] | None, choice: Selection) -> list[StreamSummary]:
    """The conversations that can be sent: those that were not pulled from Langfuse."""
    found = store.transcripts.list_streams(roots, choice.since, choice.until, choice.project)
    return [one for one in found if one.agent != PULLED]


def select_leaving(visible: privacy.VisibleStream) -> Stream:
    """What of a stream may leave: the turns that nobody withholds, with the client's versions redacted too.

    Versions are whatever a record says.
    """
    stream = visible.stream
    versions = tuple(visible.redactor.text(one) for one in stream.about.versions)
    heard = tuple(turn for turn, owner in zip(stream.turns, visible.owners, strict=True) if not owner.withheld)
    return replace(stream, about=replace(stream.about, versions=versions), turns=heard)


def upload_streams(
    delivery: Delivery, streams: Sequence[StreamSummary], config: Config, environment: str
) -> list[UploadedSession]:
    """Send conversations as sessions of the same ids; gives what became of each, those that stay here too."""
    kept_back: list[UploadedSession] = []

    def list_traces() -> Iterator[tuple[str, Sequence[TraceUpload]]]:
        rules = privacy.build_rules(config, pick_report_time(config))
        for one in streams:
            visible = privacy.redact_stream(delivery.store.transcripts.load_stream(one.agent, one.id), rules)
            traces = [] if visible.withheld else build_traces(select_leaving(visible), environment)
            if traces:
                yield one.id, traces
            else:
                why = f"nothing of its tenant leaves: {visible.withheld}" if visible.withheld else NO_TIMES
                kept_back.append(UploadedSession(session=one.id, traces=0, why=why))

    return [*upload_sessions(delivery, list_traces()), *kept_back]
