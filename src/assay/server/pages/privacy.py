"""`/privacy`: what left, to whom, what may not, and what was done."""

import os
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency

from assay.config import Config
from assay.pipeline.egress import add_up_calls
from assay.pipeline.models import describe_model, needs_model
from assay.pipeline.scoring_run import Selection
from assay.server.access import Visitor
from assay.server.api.answers import AnyRequest
from assay.server.hall import Hall
from assay.server.pages.answers import answer_page, build_context
from assay.server.people import tells_people
from assay.server.tenants import HOME
from assay.server.threads import run_in_thread
from assay.web.pages.privacy import PrivacyShown, TenantRule, render_privacy

MOST_DEEDS = 200
WITHHELD = ("opted_out",)


@get("/privacy", include_in_schema=False)
@run_in_thread
def show_privacy(request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Any]:
    """Show what left and what stays."""
    store, config = hall.open_store(visitor), hall.settings.config
    report = hall.reports.read_report(visitor.tenant, store, Selection())
    listed = store.shipped.list_machines() if tells_people(hall, visitor, store) else []
    machines = [(one.name, one.sessions, one.shipped_at) for one in listed]
    shown = PrivacyShown(
        judge=config.judge,
        to=describe_model(config, os.environ).where if needs_model(config) else None,
        uses=add_up_calls(store.answers.list_calls()),
        rules=list_rules(hall, visitor, config),
        withheld={why: n for why, n in report.exclusions.items() if why in WITHHELD},
        deeds=store.keys.list_deeds(MOST_DEEDS)[::-1] if visitor.may("admin") else None,
        machines=machines,
    )
    context = build_context(hall, visitor)
    return answer_page(request, store, render_privacy(shown, context), context)


def list_rules(hall: Hall, visitor: Visitor, config: Config) -> list[TenantRule]:
    """What is set for tenants: all of them for those at home, for others their own."""
    own = hall.name_tenant(visitor)
    return [
        TenantRule(
            name=name,
            opt_out=one.opt_out,
            retention_days=one.retention_days,
            judges=one.judges,
            models=one.models,
            takes_words=one.words,
        )
        for name, one in sorted(config.tenants.items())
        if visitor.tenant == HOME or name == own
    ]


HANDLERS: list[Any] = [show_privacy]
