"""`/advise`: prompts and habits."""

from functools import partial
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from assay.pipeline.lookup import read_turns
from assay.pipeline.quality import Subject, judge_offline
from assay.scores import profiles
from assay.scores.advice import PROFILE, build_advice
from assay.scores.prism import select_counted
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.reports import InProject, Since, Until, build_selection
from assay.server.hall import Hall
from assay.server.pages.answers import answer_page, build_context
from assay.server.qualities import MOST
from assay.server.reading import SessionFilter
from assay.server.threads import run_in_thread
from assay.types import Session
from assay.types.quality import Quality
from assay.web.pages.advise import AdviceShown, render_advise


@get("/advise", include_in_schema=False)
@run_in_thread
def show_advise(
    request: AnyRequest,
    hall: NamedDependency[Hall],
    visitor: NamedDependency[Visitor],
    since: Since = "",
    until: Until = "",
    project: InProject = "",
) -> Response[Any]:
    """Show which habits go with not landing, and what to tell the agent."""
    store, config, profile = hall.open_store(visitor), hall.settings.config, profiles.load_profile(PROFILE)
    wanted = SessionFilter(selection=build_selection(hall, since, until, project))
    rows = hall.reports.page_sessions(visitor.tenant, store, wanted, (), MOST)
    counted = select_counted([one for _, one in rows[:MOST]])

    def look(one: Session) -> Quality:
        return judge_offline(Subject(session=one, read=partial(read_turns, store, config, one)), profile, config)

    qualities = hall.qualities.look(visitor.tenant, f"habits {PROFILE}", counted, look, hall.reports)
    found = build_advice(counted, {one.session: one for one in qualities}, profile)
    shown = AdviceShown(found=found, looked=len(qualities), wanted=len(counted), is_all=len(rows) <= MOST)
    window = {"since": since, "until": until, "project": project}
    context = build_context(hall, visitor, window)
    return answer_page(request, store, render_advise(shown, window, context), context)


HANDLERS: list[Any] = [show_advise]
