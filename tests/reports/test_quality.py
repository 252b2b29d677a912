"""Quality as it is shown: what was not scored is never drawn as 0, and nothing hostile gets through."""

import io
import json

import msgspec
import pytest
from rich.console import Console, RenderableType

from assay.reports import quality as shown
from assay.reports.json import encode_json
from assay.reports.quality import (
    explain_dimension,
    find_weakest,
    render_bar,
    render_document,
    render_list,
    render_quality,
)
from assay.scores.profiles import load_profile
from assay.scores.quality import ChunkJudgement, QualityJudge, score_quality
from assay.scores.quality_means import build_group
from assay.types import Citation
from assay.types.quality import Dimension, Qualities, Quality

HOSTILE = "\x1b[31mred\x1b[0m <script>x</script> | [link](https://x.y) `code`"
PROFILE = load_profile("enhanced")
JUDGE = QualityJudge(name="offline", versions={"quality": "0123456789abcdef"})


def made(**scores: float | None) -> Quality:
    said = {
        name: Dimension(
            score=score,
            label=None,
            evidence=[] if score is None else [Citation(turn=2, quote=f"{name} shows it")],
            rationale="" if score is None else f"Why {name}.",
            ungraded="nothing seen" if score is None else "",
        )
        for name, score in scores.items()
    }
    return score_quality("abc123", PROFILE, [ChunkJudgement(dimensions=said, own_tokens=1)], JUDGE)


FULL = made(
    goal_achievement=2, tool_efficiency=0.8, process_adherence=0.35, context_efficiency=0.6, error_handling=None,
    output_quality=0.95,
)  # fmt: skip


def drawn(what: RenderableType, width: int = 160) -> str:
    out = io.StringIO()
    Console(file=out, width=width, no_color=True).print(what)
    return out.getvalue()


def test_the_table_shows_score_label_weight_reason_and_evidence() -> None:
    text = drawn(render_quality([FULL], PROFILE, {"abc123": "the blue scarf"}))
    lines = text.splitlines()
    assert "the blue scarf" in lines[0]
    # (.2 + .16 + .07 + .09 + .0475) / .9
    assert "0.63 from 90% of the weight; not scored: error handling" in lines[1]
    goal = next(line for line in lines if line.startswith("goal achievement"))
    assert ("2 of 3" in goal, "complete" in goal, "× 0.30" in goal) == (True, True, True)
    assert goal.count(shown.FULL) == round(shown.BAR * 2 / 3)
    assert "Why tool_efficiency." in text
    assert "turn 2  “tool_efficiency shows it”" in text
    assert "judged by offline in one piece" in text


def test_a_long_quote_stays_behind_its_turn() -> None:
    said = Dimension(score=0.5, label=None, evidence=[Citation(turn=2, quote="loom/" * 20)], rationale="Why.")
    found = score_quality("x", PROFILE, [ChunkJudgement(dimensions={"tool_efficiency": said}, own_tokens=1)], JUDGE)
    lines = drawn(render_quality([found], PROFILE), width=60).splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("    turn 2  “loom/"))
    assert lines[first + 1].startswith(" " * 12 + "om/loom/")


def test_what_was_not_scored_has_no_bar_and_says_why() -> None:
    lines = drawn(render_quality([FULL], PROFILE)).splitlines()
    row = next(line for line in lines if line.startswith("error handling "))
    assert shown.FULL not in row
    assert shown.EMPTY not in row
    assert "0.00" not in row
    assert any("error handling: ungraded: nothing seen" in line for line in lines)


def document_of(*qualities: Quality) -> Qualities:
    return Qualities(qualities=list(qualities), summary=build_group("all", qualities, PROFILE))


def test_too_little_scored_has_no_overall_quality() -> None:
    found = made(output_quality=0.9)
    assert "no overall quality" in drawn(render_quality([found], PROFILE))
    assert json.loads(encode_json(document_of(found)))["qualities"][0]["overall_quality"] is None
    assert "no overall quality" in render_document([found], PROFILE).decode()


def test_the_json_has_a_quality_each_with_the_fields_of_the_design() -> None:
    document = json.loads(encode_json(document_of(FULL)))
    assert (document["kind"], document["schema_version"]) == ("quality", 1)
    (found,) = document["qualities"]
    assert {"session", "profile", "dimensions", "overall_quality", "chunks"} <= set(found)
    assert {"profile_version", "computed_from", "missing", "judge", "judge_versions"} <= set(found)
    goal = found["dimensions"]["goal_achievement"]
    assert (goal["score"], goal["label"]) == (2, "complete")
    assert goal["evidence"] == [{"turn": 2, "quote": "goal_achievement shows it"}]
    assert found["dimensions"]["error_handling"]["score"] is None
    assert found["overall_quality"] == pytest.approx((0.2 + 0.16 + 0.07 + 0.09 + 0.0475) / 0.9)
    assert json.loads(encode_json(document_of()))["qualities"] == []


def test_text_of_transcripts_is_harmless_everywhere() -> None:
    said = Dimension(score=0.5, label=None, evidence=[Citation(turn=1, quote=HOSTILE)], rationale=HOSTILE)
    found = score_quality("x", PROFILE, [ChunkJudgement(dimensions={"tool_efficiency": said}, own_tokens=1)], JUDGE)
    assert "\x1b" not in drawn(render_quality([found], PROFILE, {"x": HOSTILE}))
    page = render_document([found], PROFILE, {"x": HOSTILE}).decode()
    assert "\x1b" not in page
    assert "<script>" not in page
    assert "[link]" not in page
    assert "\\[link\\](https\\:" in page


def test_the_document_has_a_section_for_each_session() -> None:
    page = render_document([FULL, made(goal_achievement=0, tool_efficiency=0.5)], PROFILE).decode()
    assert page.startswith("# Quality by the profile enhanced\n")
    assert page.count("\n## abc123") == 2
    assert "| goal achievement | 2 of 3 | complete |" in page
    assert "| goal achievement | 0 of 3 | failed |" in page
    assert "- tool efficiency, turn 2: “tool\\_efficiency shows it”" in page


@pytest.mark.parametrize("value", [0.0, 0.39, 0.4, 0.69, 0.7, 1.0])
def test_a_bar_is_always_as_wide(value: float) -> None:
    found = render_bar(value)
    assert len(found.plain) == shown.BAR
    assert found.plain.count(shown.FULL) == round(value * shown.BAR)
    assert render_bar(None).plain.strip() == ""


def test_without_a_score_the_reason_comes_first_and_then_what_the_judge_said() -> None:
    said = Dimension(score=None, label=None, evidence=[], rationale="No tool was used.", ungraded="nothing seen")
    found = score_quality("x", PROFILE, [ChunkJudgement(dimensions={"tool_efficiency": said}, own_tokens=1)], JUDGE)
    assert explain_dimension(said) == "ungraded: nothing seen. No tool was used."
    assert explain_dimension(found.dimensions["output_quality"]).startswith("ungraded: ")


def test_where_one_reason_holds_for_all_it_is_told_once() -> None:
    found = made(**dict.fromkeys((one.name for one in PROFILE.dimensions), None))
    text = drawn(render_quality([found], PROFILE))
    assert "no overall quality: nothing seen" in text
    assert text.count("nothing seen") == 1


def test_who_stood_in_is_told_in_every_view() -> None:
    found = msgspec.structs.replace(FULL, fallback="no key")
    assert "judged by offline in one piece, for no key" in drawn(render_quality([found], PROFILE))
    assert "1 session judged offline, for no key" in drawn(render_list([found], PROFILE, {}, 80), 80)
    assert "judged by offline in one piece, for no key" in render_document([found], PROFILE).decode()


def test_the_weakest_dimension_has_the_least_of_what_it_could_have() -> None:
    assert (find_weakest(FULL, PROFILE) or ("",))[0] == "process_adherence"
    even = made(goal_achievement=0, error_handling=0, output_quality=0.0)
    assert (find_weakest(even, PROFILE) or ("",))[0] == "goal_achievement"
    assert find_weakest(made(), PROFILE) is None


def test_a_line_of_the_list_is_harmless_and_fits() -> None:
    lines = drawn(render_list([FULL], PROFILE, {"abc123": HOSTILE * 5}, 80), 80).splitlines()
    assert not [line for line in lines if "\x1b" in line or len(line) > 80]
    assert "process adherence 0.35" in lines[1]
