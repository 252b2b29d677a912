"""The parts of a Claude Code record that are read; everything else is skipped while decoding."""

from msgspec import Raw, Struct

NO_RAW = Raw()


class CacheCreation(Struct, gc=False):
    ephemeral_1h_input_tokens: int | None = None


class TokenUsage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None


class InnerBlock(Struct, gc=False):
    """A block inside a tool result."""

    type: str = ""
    text: str = ""


class MessageBlock(Struct, gc=False):
    """A block of a message: text, image, tool_use or tool_result."""

    tool_use_id: str = ""
    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Raw = NO_RAW
    content: str | list[InnerBlock] | None = None
    is_error: bool | None = None


class ClaudeMessage(Struct, gc=False):
    model: str | None = None
    id: str | None = None
    content: str | list[MessageBlock] | None = None
    usage: TokenUsage | None = None


class PatchHunk(Struct, gc=False):
    lines: list[str] = []


class ToolOutcome(Struct, gc=False):
    """`toolUseResult` where it is an object."""

    type: str | None = None
    filePath: str | None = None  # noqa: N815
    content: Raw = NO_RAW
    structuredPatch: list[PatchHunk] | None = None  # noqa: N815
    agentId: str | None = None  # noqa: N815
    interrupted: bool | None = None
    backgroundTaskId: str | None = None  # noqa: N815
    returnCodeInterpretation: str | None = None  # noqa: N815
    gitOperation: Raw = NO_RAW  # noqa: N815


class Origin(Struct, gc=False):
    kind: str = ""


class CompactMetadata(Struct, gc=False):
    trigger: str = ""


class Attachment(Struct, gc=False):
    type: str = ""
    commandMode: str | None = None  # noqa: N815
    prompt: str | list[InnerBlock] | None = None


class Echo(Struct, gc=False):
    """A sub-agent's record repeated inside a progress record of its parent."""

    type: str = ""
    uuid: str = ""
    timestamp: str = ""
    message: ClaudeMessage | None = None
    toolUseResult: ToolOutcome | str | list[Raw] | None = None  # noqa: N815


class ProgressState(Struct, gc=False):
    type: str = ""
    agentId: str = ""  # noqa: N815
    message: Echo | None = None


class Record(Struct, gc=False):
    """A line; its fields stand in the order in which the client writes them, because decoding is faster so."""

    isSidechain: bool | None = None  # noqa: N815
    cwd: str | None = None
    sessionId: str | None = None  # noqa: N815
    version: str | None = None
    gitBranch: str | None = None  # noqa: N815
    agentId: str | None = None  # noqa: N815
    type: str = ""
    message: ClaudeMessage | None = None
    uuid: str | None = None
    timestamp: str | None = None
    toolUseResult: ToolOutcome | str | list[Raw] | None = None  # noqa: N815
    data: ProgressState | None = None
    isMeta: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    isApiErrorMessage: bool | None = None  # noqa: N815
    error: Raw = NO_RAW
    origin: Origin | None = None
    promptSource: str | None = None  # noqa: N815
    toolDenialKind: str | None = None  # noqa: N815
    entrypoint: str | None = None
    operation: str | None = None
    content: Raw = NO_RAW
    subtype: str | None = None
    attachment: Attachment | None = None
    compactMetadata: CompactMetadata | None = None  # noqa: N815
    aiTitle: str | None = None  # noqa: N815
    customTitle: str | None = None  # noqa: N815
    prUrl: str | None = None  # noqa: N815
