"""The judge card: what was measured of the judge that is built in, as it stands in the package."""

from assay.pipeline.judgement import find_judge
from assay.reports.judges import BASE_RATE, format_ends
from assay.scores.card import build_card
from scripts.site_pages.markdown import render_table, show_code

OFFLINE = "offline"
HEAD = """# Judge card

How good the judge is that is built in, `offline`, measured on sessions of people whose repositories it had not
seen. `assay judges` prints the same, and after `assay audit 40` also how well it does on your own sessions: nothing
here promises that. [Judges](../concepts/judges.md) says how it was measured and what judges that ask a model are
held to; [the score](../concepts/score.md) what these errors do to the number.
"""


def render_card() -> str:
    """The page."""
    card = build_card(OFFLINE, find_judge(OFFLINE).versions(), [])
    measured = card.measured
    assert measured
    figures = [
        (
            one.name,
            f"**{one.value:.2f}**",
            format_ends(one),
            one.says,
            ", ".join(f"{name} {value:.2f}" for name, value in one.baselines.items()),
        )
        for one in measured.figures
    ]
    bands = [
        (f"{one.low:.1f} to {one.high:.1f}", str(one.n), f"{one.mean:.2f}", f"{one.share:.2f}")
        for one in measured.reliability
    ]
    same = "" if card.is_measured_version else "\n**Tables or phrases have changed since it was measured.**\n"
    landed = 100 * (measured.goals - measured.failures) / measured.goals
    about = (
        f"On {measured.goals} labelled goals ({measured.failures} not completed) of {measured.repositories} "
        f"repositories, each left out of every fit in turn; {measured.measured_at}.\n{same}"
    )
    note = (
        f"Chances are told for a base rate of {BASE_RATE} in 100 completed goals, that of strangers; "
        f"among these labels {landed:.0f} in 100 were, so more came true than was told.\n"
    )
    versions = [(job, show_code(version)) for job, version in sorted(card.versions.items())]
    parts = [HEAD, "## What was measured\n", about]
    parts.append(render_table(("figure", "value", "95 %", "what it is", "what simple rules reach"), figures))
    parts.append("## How often a chance came true\n")
    parts += [render_table(("chance told", "goals", "told on average", "came true"), bands), note]
    return "\n".join([*parts, "## Its version\n", render_table(("job", "version"), versions)])
