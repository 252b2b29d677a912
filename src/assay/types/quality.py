"""Quality: what a profile asks for, and what a judge says of it."""

from typing import Literal

from assay.types.session import Citation
from assay.types.value import Document, Row, Value

ScaleKind = Literal["numeric", "categorical"]
MissingRule = Literal[
    "reweigh",  # the weights of what was scored are taken as the whole
    "none",  # no overall quality where anything is missing
]
ChunkRule = Literal[
    "mean",  # of all chunks, by their own tokens
    "last",  # what the final chunk says
    "majority",  # what most chunks say; of equally many, the later
]


class Band(Value, frozen=True):
    """A part of 0 to 1, and what stands there; its upper end belongs to the next band."""

    low: float
    high: float
    label: str
    means: str


class Category(Value, frozen=True):
    """One of four steps, 0 the worst."""

    value: int
    label: str
    means: str


class Scale(Value, frozen=True):
    """A dimension as a profile asks for it."""

    name: str
    kind: ScaleKind
    weight: float
    asks: str
    """The question, in one sentence."""
    look_for: tuple[str, ...] = ()
    bands: tuple[Band, ...] = ()
    """Of a numeric one, the lowest first."""
    categories: tuple[Category, ...] = ()
    """Of a categorical one, the worst first."""
    signals: tuple[str, ...] = ()
    """What the offline judge scores it from; without any it leaves it ungraded."""
    across: ChunkRule | None = None
    """How chunks are put together; `None`: as the profile says."""

    def label(self, score: float) -> str | None:
        """The category, or the band in which a score stands."""
        if self.kind == "categorical":
            return next((one.label for one in self.categories if one.value == score), None)
        return next((one.label for one in reversed(self.bands) if one.low <= score), None)


class Profile(Value, frozen=True):
    """Dimensions, their weights, and how they add up."""

    name: str
    about: str
    dimensions: tuple[Scale, ...]
    missing: MissingRule = "reweigh"
    least: float = 0.5
    """Share of the weight that must be scored for an overall quality."""
    categorical: ChunkRule = "last"
    """How categories of several chunks are put together."""

    def scale(self, name: str) -> Scale | None:
        """The dimension of this name."""
        return next((one for one in self.dimensions if one.name == name), None)


class Dimension(Row, frozen=True):
    """What is said of one dimension; without a score, `ungraded` says why."""

    score: float | None
    """0 to 1, or the value of a category."""
    label: str | None
    """Of its band or category."""
    evidence: list[Citation]
    rationale: str
    ungraded: str = ""
    chunk_scores: list[float | None] = []
    """Of a session in several chunks, what each says, in order; null where it says nothing."""
    coverage: float | None = None
    """Of a session in several chunks, the share of its tokens that the score rests on."""


class Quality(Row, frozen=True):
    """How well a session was run, by one profile."""

    session: str
    profile: str
    profile_version: str
    dimensions: dict[str, Dimension]
    overall_quality: float | None
    """The weighted mean, not rounded; `None` where too little was scored."""
    computed_from: list[str]
    missing: list[str]
    chunks: int
    judge: str
    judge_versions: dict[str, str]
    fallback: str | None = None
    """Why another judge than the one that was asked for had to do."""


class DimensionMean(Row, frozen=True):
    """One dimension over several sessions, from 0 to 1; categories are 0, ⅓, ⅔ and 1."""

    name: str
    weight: float
    scored: int
    mean: float | None
    low: float | None
    high: float | None
    """Ends of the mean's 95 % interval, of chance alone; `None` for fewer than two."""
    pull: float | None
    """How much it takes from the overall quality: those of all dimensions and the mean quality add up to 1."""


class QualityGroup(Row, frozen=True):
    """How well several sessions were run."""

    name: str
    sessions: int
    scored: int
    """Those with an overall quality."""
    mean: float | None
    low: float | None
    high: float | None
    judges: list[str]
    """Who judged; what several say is not comparable."""
    dimensions: list[DimensionMean]


class Qualities(Document, frozen=True, kw_only=True, tag="quality"):
    """How well sessions were run, a quality each."""

    qualities: list[Quality]
    summary: QualityGroup
    """All of them as one."""
    by: str | None = None
    groups: list[QualityGroup] = []
    """By what was asked for with `--by`."""
