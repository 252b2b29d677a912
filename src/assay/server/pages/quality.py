"""`/quality`: how well sessions were run."""

import os
from functools import partial
from pathlib import Path
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from assay.pipeline.quality import pick_quality_model
from assay.scores import profiles
from assay.scores.quality_means import build_group
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.api.reports import build_selection, find_profile
from assay.server.hall import Hall
from assay.server.pages.answers import answer_page, build_context, read_given
from assay.server.qualities import MOST, judge_one
from assay.server.reading import SessionFilter
from assay.server.threads import run_in_thread
from assay.types.quality import Qualities
from assay.web.pages.quality import BINS, QualityShown, render_quality

WINDOW = ("since", "until", "project")
BANDS = {str(n) for n in range(BINS)}


@get("/quality", include_in_schema=False)
@run_in_thread
def show_quality(request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Any]:
    """Show how well sessions were run; a model is never asked anything new."""
    given = read_given(request, (*WINDOW, "profile", "sort", "band"))
    store, asked = hall.open_store(visitor), find_profile(given["profile"] or "enhanced")
    wanted = SessionFilter(selection=build_selection(hall, *(given[name] for name in WINDOW)))
    rows = [one for _, one in hall.reports.page_sessions(visitor.tenant, store, wanted, (), MOST)][:MOST]
    config = pick_quality_model(hall.settings.config)
    look = partial(judge_one, store, config, asked)
    found = hall.qualities.look(visitor.tenant, f"{config.judge} {asked.name}", rows, look, hall.reports)
    shown = QualityShown(
        found=Qualities(qualities=found, summary=build_group("all", found, asked)),
        profile=asked,
        titles={one.id: one.title for one in rows},
        wanted=len(rows),
        profiles=[one.name for one in profiles.list_profiles(profiles.list_folders(os.environ, Path.cwd()))],
    )
    checked = {
        "sort": given["sort"] if asked.scale(given["sort"]) else "",
        "band": given["band"] if given["band"] in BANDS else "",
    }
    context = build_context(hall, visitor, {name: given[name] for name in WINDOW})
    return answer_page(request, store, render_quality(shown, given | checked, context), context)


HANDLERS: list[Any] = [show_quality]
