"""The store knows what was promoted."""

from msgspec.structs import replace

from assay.stores import Store
from assay.types.promotions import NotedFile, NotedPromotion

CAREFUL = NotedPromotion(
    id="5ea1", name="careful", at="2026-10-05T09:00:00.000Z", project="/home/ada/shop", first_commit="f1", branch="b",
    agents=("claude-code",), commit="c0", url=None, config_sha256="c5", verdict="improved", gain=0.125, tasks=6,
    files=(NotedFile(path="CLAUDE.md", sha256="ab"), NotedFile(path="old.md", sha256=None)), seal="s",
)  # fmt: skip


def test_what_was_promoted_comes_back_by_time(store: Store):
    later, same = replace(CAREFUL, id="1", at="2026-11-01T09:00:00.000Z", url="u"), replace(CAREFUL, id="9", gain=None)
    assert store.promotions.list_promotions() == []
    assert [store.promotions.save_promotion(one) for one in (later, same, CAREFUL)] == [True] * 3
    assert store.promotions.list_promotions() == [CAREFUL, same, later]


def test_a_promotion_that_is_noted_stays_as_it_is(store: Store):
    store.promotions.save_promotion(CAREFUL)
    assert not store.promotions.save_promotion(replace(CAREFUL, name="other"))
    assert store.promotions.list_promotions() == [CAREFUL]
