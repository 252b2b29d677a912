"""Lines of ours and lines of the transcript, so that nobody takes one for the other.

Every line that quotes the transcript begins with `| `; every other line is one of ours, of few words and numbers.
The first and the last line carry a hash of all between, which nothing that stands between can know.
Of a quoted text nothing is unseen, and nothing but `\\n` ends a line or a role; the ranges are spelled out because the
tables of `unicodedata` differ from one Python to the next.
"""

import re
from collections.abc import Iterable
from hashlib import sha256

PREFIX = "| "
OPEN = '=== transcript {} begins: {}; a line that begins with "|" quotes it, the others are ours ==='
CLOSE = "=== transcript {} ends ==="
GAP = "... {} characters left out"
HASH_LENGTH = 16
WORTH_CUTTING = 40
SPARE = 200
"""Characters before and behind a cut of which some may be dropped when a text is defused."""
QUIET = re.compile(r"- ([0-9]+) commands?: ended well")
BLANK = re.compile(r"\n(?:[ \t]*\n){2,}")

ENDS_OF_LINES = re.compile("\r\n|[\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"  # colours and the cursor
    r"|(?:\x1b[\]P^_X]|[\x9d\x90\x9e\x9f\x98])[^\x07\x1b\x9c\n]{0,500}(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|\x1b[ -/]{0,8}[0-~]"
)
UNSEEN = re.compile(
    "[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Zero-width, direction marks, fillers, selectors, tags: what a reader does not see, a judge does not read."""
NO_TEXT = re.compile("[\x7f-\x9f\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff\U000f0000-\U0010ffff]")
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}
"""Drawn, not obeyed."""
COMBINING_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
FLOOD = re.compile(f"([{COMBINING_MARKS}]{{3}})[{COMBINING_MARKS}]+")
TOKENS = re.compile(
    r"<(?=[|｜]|/?(?:s|bos|eos|pad|unk|mask|cls|sep|sys|SYS|think|thinking|tool_call|tool_response|function_calls?"
    r"|(?:start|end)_of_(?:turn|text|image)|endoftext|repo_?name|file_sep|filename|gh_stars|empty_output"
    r"|(?:issue|jupyter)_\w{1,20}|(?:antml:)?(?:invoke|parameter|function_results)|transcript|system|assistant|user|human"
    r"|instructions?|0x[0-9A-Fa-f]{2})\b)"
    r"|[|｜](?=>)"
    r"|\[(?=/?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT)|IMG\w{0,6}|THINK|REF)\])"
    r"|<<(?=/?SYS>>)"
)
"""What tokenizers and servers take for a role, a turn or a tool when it stands in plain text."""
ROLES = re.compile(r"\b(human|assistant|system|user|developer|tool)(?=[*_]{0,3}[:：])", re.IGNORECASE)
"""Wherever they stand, so that a part of a line looks the same alone."""
FENCES = re.compile(
    r"\b(begin(?:s|ning)?|end(?:s|ed)?|start(?:s|ed)?|stop|close[sd]?)([ _-]{1,8})"
    r"(?=(?:(?:of|the|this|all|user|untrusted|quoted)[ _-]{1,8}){0,4}"
    r"(?:transcript|data|input|frame|session|context)\b)",
    re.IGNORECASE,
)
OURS = re.compile(r"(===+[ \t]*)(?=transcript\b)|\[(?=turns? \d)", re.IGNORECASE)


def render_frame(what: str, body: Iterable[str]) -> str:
    """The body between the first and the last line of the frame."""
    inside = "\n".join(merge_quiet_lines(body))
    mark = sha256(inside.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]
    return "\n".join([OPEN.format(mark, what), *([inside] if inside else []), CLOSE.format(mark)])


def merge_quiet_lines(lines: Iterable[str]) -> list[str]:
    """The lines, with quiet commands that follow each other as one line, which never takes more room."""
    found: list[str] = []
    for line in lines:
        before, now = QUIET.fullmatch(found[-1]) if found else None, QUIET.fullmatch(line)
        if before and now:
            found[-1] = format_quiet(int(before[1]) + int(now[1]))
        else:
            found.append(line)
    return found


def format_quiet(n: int) -> str:
    """The line for commands that ended well, checked nothing and changed nothing."""
    return f"- {n} {'command' if n == 1 else 'commands'}: ended well"


def quote_text(text: str, head: int, tail: int = 0) -> list[str]:
    """A text behind the prefix: its first `head` and last `tail` characters, and how much lies between."""
    text = text.strip()
    left = len(text) - head - tail
    if left <= WORTH_CUTTING:
        return prefix_lines(text)
    start = prefix_lines(text[:head]) if head else []
    end = prefix_lines(text[len(text) - tail :]) if tail else []
    return [*start, GAP.format(left), *end]


def prefix_lines(text: str) -> list[str]:
    """Each line of a text behind the prefix; several blank ones are one."""
    lines = BLANK.sub("\n\n", sanitize_text(text)).split("\n")
    return [(PREFIX + line).rstrip() for line in lines]


def format_one_line(text: str, most: int) -> str:
    """A text on one line, cut to a length, without the prefix."""
    flat = " ".join(sanitize_text(text[: most + SPARE].strip()).split())
    is_cut = len(flat) > most or len(text.strip()) > most + SPARE
    return flat[:most].rstrip() + "…" if is_cut else flat


def quote_names(texts: Iterable[str], most: int) -> list[str]:
    """Short texts behind the prefix, a line each."""
    return [PREFIX + (format_one_line(text, most) or "(nameless)") for text in texts]


def sanitize_text(text: str) -> str:
    """A text as it may stand inside the frame, without the prefix; sanitized twice, it is the same."""
    if not text.isascii():
        text = FLOOD.sub(r"\1", UNSEEN.sub("", text))
    text = ENDS_OF_LINES.sub("\n", text)
    if not text.isprintable():
        text = NO_TEXT.sub("\ufffd", ESCAPES.sub("", text)).translate(CONTROLS)
    text = TOKENS.sub(lambda found: f"{found[0]} ", text)
    text = ROLES.sub(r"\1 ", text)
    text = FENCES.sub(r"\1·", text)
    return OURS.sub(lambda found: "= " if found[1] else "(", text)
