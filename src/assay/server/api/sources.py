"""`/api/v1/sources`: what transcripts, telemetry and Langfuse tell of the same conversations."""

from litestar import Response, get
from litestar.di import NamedDependency

from assay.pipeline import privacy
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.sources_compared import SourceComparison, compare_sources, redact_comparison
from assay.server.access import Visitor
from assay.server.api.answers import READS, TAGGED, AnyRequest, answer
from assay.server.hall import Hall
from assay.server.threads import run_in_thread


@get("/api/v1/sources", responses=READS, response_headers=TAGGED)
@run_in_thread
def tell_sources(
    request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[SourceComparison]:
    """Tell how complete each source is, and where those of the latest conversations disagree."""
    store, config = hall.open_store(visitor), hall.settings.config
    with hall.reports.take_place():
        rules = privacy.build_rules(config, pick_report_time(config))
        return answer(request, store, redact_comparison(compare_sources(store, None), rules))


HANDLERS = [tell_sources]
