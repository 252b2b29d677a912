"""Every setting, with its default and what may stand for it."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class Boundaries(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where sessions begin, and when two are one."""

    commit: Annotated[
        Literal["confirm", "hard", "off"],
        Meta(description='"confirm", "hard" or "off"'),
    ] = "confirm"
    merge_minutes: Annotated[
        float,
        Meta(ge=0, le=10_080, description="a number of minutes, 0 to 10080 (a week)"),
    ] = 10.0
    merge_overlap: Annotated[
        float,
        Meta(gt=0, le=1, description="a share of files above 0 and up to 1"),
    ] = 0.5


class Outcome(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a goal counts as completed."""

    floors: Annotated[Literal["measured", "published"], Meta(description='"measured" or "published"')] = "measured"
    """Published: a floor for each intent, explicit evidence or silence above it, and any failure signal decides."""


class Rework(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When later work has replaced a session's lines, and where its commits are looked for."""

    days: Annotated[
        float,
        Meta(gt=0, le=365, description="a number of days above 0 and up to 365"),
    ] = 14.0
    min_lines: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="a number of lines, 1 or more"),
    ] = 10
    share: Annotated[
        float,
        Meta(gt=0, le=1, description="a share of lines above 0 and up to 1"),
    ] = 0.5
    repos: Annotated[tuple[str, ...], Meta(description="a list of folders with a git repository")] = ()
    """Looked at before the folder in which a session was run."""


class Model(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which model a judge asks, and how."""

    name: Annotated[str, Meta(description="a model's name as its service has it")] = ""
    """Empty: the backend's own choice."""
    url: Annotated[str, Meta(description="the address of an endpoint such as http://127.0.0.1:11434/v1")] = ""
    """Empty: the service's own."""
    tokens: Annotated[int, Meta(ge=500, le=1_000_000, description="a number of tokens, 500 to 1000000")] = 24_000
    """How much of a session a judge is shown."""
    votes: Annotated[int, Meta(ge=1, le=15, description="a number of votes, 1 to 15")] = 1
    """How often each session is asked about; most votes decide."""
    at_once: Annotated[int, Meta(ge=1, le=64, description="a number of calls at once, 1 to 64")] = 4
    timeout_s: Annotated[float, Meta(gt=0, le=3_600, description="seconds above 0 and up to 3600")] = 120.0
    """For one call."""
    tries: Annotated[int, Meta(ge=1, le=20, description="a number of tries, 1 to 20")] = 5
    """How often a busy service is asked the same."""
    max_cost: Annotated[Annotated[float, Meta(ge=0)] | None, Meta(description="a number of US dollars, 0 or more")] = (
        None
    )
    """Spent at most in one run; `None`: no limit."""
    input_usd: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="US dollars for a million input tokens, 0 or more")
    ] = None
    output_usd: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="US dollars for a million output tokens, 0 or more")
    ] = None
    """Prices of a model that is not in the price list."""


class Redaction(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is redacted beside secrets, which always are."""

    email: Annotated[bool, Meta(description="true or false")] = False
    home: Annotated[bool, Meta(description="true or false")] = False
    """Names of home directories."""
    hosts: Annotated[bool, Meta(description="true or false")] = False


class Eval(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an evaluation asks for before it calls a candidate better."""

    alpha: Annotated[float, Meta(ge=0.001, le=0.1, description="a chance from 0.001 to 0.1")] = 0.01
    """Rule `tested`, as the three below: how often luck alone may pass for a gain."""
    min_gain: Annotated[float, Meta(ge=0, le=1, description="a gain from 0 to 1")] = 0.02
    min_tasks: Annotated[int, Meta(ge=2, le=10_000, description="a number of tasks, 2 or more")] = 5
    min_repeats: Annotated[int, Meta(ge=2, le=1_000, description="a number of repeats, 2 or more")] = 3
    min_composite_gain: Annotated[float, Meta(ge=0, le=100, description="a gain from 0 to 100")] = 0.01
    """Rule `seed`, as the two below: what the net gain must exceed."""
    regression_composite_drop: Annotated[float, Meta(ge=0, le=1, description="a drop from 0 to 1")] = 0.05
    objective_drop_is_regression: Annotated[bool, Meta(description="true or false")] = True


class Tenant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose words these are, and what may become of them. A turn belongs to the first tenant that fits."""

    projects: tuple[str, ...] = ()
    """Folders; all below them belong to it."""
    attributes: dict[str, str] = {}
    """Resource attributes, all of which must be as given."""
    keys: tuple[str, ...] = ()
    """sha256 of the keys with which its telemetry comes in."""
    opt_out: bool = False
    """No judge sees a word, nothing but facts is told."""
    retention_days: Annotated[float, Meta(gt=0)] | None = None
    """Sessions that ended longer ago are treated as opted out."""
    judges: tuple[str, ...] | None = None
    """Backends that may judge; `None`: all."""
    models: tuple[str, ...] | None = None
    """Models that may be asked; `None`: all."""
    words: bool = False
    """A server takes words that other machines ship; else facts and judgements alone."""
    people: bool = False
    """A server tells people apart, on pages and in the API; only the file of whoever runs it says so."""


class Ship(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where `assay ship` sends what this machine has read, and as whose."""

    to: Annotated[str, Meta(description="the address of a server, such as https://assay.example")] = ""
    person: Annotated[str, Meta(max_length=80, description="a name of at most 80 characters")] = ""
    """Empty: `user.name` of git."""
    machine: Annotated[
        str, Meta(pattern=r"^[A-Za-z0-9._-]{0,40}$", description="at most 40 letters, digits, dots and dashes")
    ] = ""
    """Empty: a name that says nothing, made of a random value of the store."""
    words: Annotated[bool, Meta(description="true or false")] = False
    """Whether words go along, where the server takes them."""
    key_file: Annotated[str, Meta(description="the path of a file that holds the key, and nothing else")] = ""
    """Read where `ASSAY_KEY` is not set."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting."""

    paths: Annotated[tuple[str, ...], Meta(description="a list of transcripts or folders of them")] = ()
    """Read where a command is given none; empty: where the agents keep theirs."""
    store: Annotated[str, Meta(description="a file path, or a sqlite:/// or postgresql:// URL")] = ""
    timezone: Annotated[str, Meta(description="an IANA name such as Europe/Berlin")] = ""
    """Empty: the machine's own."""
    judge: Annotated[str, Meta(min_length=1, description="the name of a judge such as offline")] = "offline"
    fallback: Annotated[Literal["none", "offline"], Meta(description='"none" or "offline"')] = "none"
    """Who judges where the model of the judge can't be asked; `none`: nobody, and the command says so."""
    as_of: Annotated[str, Meta(description="a day (2026-11-01) or a time")] = ""
    """The present of the report; empty: now."""
    engine: Annotated[
        str,
        Meta(pattern=r"^(processes|ray(://[\w.\-:\[\]]+)?)$", description='"processes", "ray" or "ray://HOST:PORT"'),
    ] = "processes"
    """Where files are read and sessions judged: on this machine, or on a Ray cluster."""
    coach: Annotated[bool, Meta(description="true or false")] = False
    """After a session that did not land, one sentence in the status line, where your own history has shown it."""
    boundaries: Boundaries = Boundaries()
    outcome: Outcome = Outcome()
    rework: Rework = Rework()
    model: Model = Model()
    redaction: Redaction = Redaction()
    eval: Eval = Eval()
    ship: Ship = Ship()
    tenants: Annotated[
        dict[str, Tenant],
        Meta(description="tables [tenants.NAME]"),
    ] = {}
