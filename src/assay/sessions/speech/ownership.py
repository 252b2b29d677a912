"""Whose words a prompt holds: what the person typed, what they pasted, what a template brought, what the client wrote.

Found by form, in one pass for each form over what is still taken for typed: tags that clients write, templates by how
they begin, fences, lines of logs, diffs, reviews and terminals, chats, what is announced, documents. Every rule is
linear in the text, and the pieces joined are the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from assay.sessions.speech.templates import FENCED, HEADING, count_marked, find_template_spans, list_lines
from assay.types import Prompt, PromptKind

Owner = Literal["typed", "pasted", "template", "client"]
Span = tuple[int, int, Owner]
"""From where to where in a text, and whose that is."""


class Piece(Struct, frozen=True):
    """A part of a prompt, and whose words it is."""

    owner: Owner
    text: str


@lru_cache(4096)
def split_text(text: str, kind: PromptKind = "typed") -> tuple[Piece, ...]:
    """The pieces of a prompt of some kind; joined they are the text."""
    if kind == "plan":
        return merge_pieces([Piece("template", text)])
    if kind == "shell":
        return merge_pieces([Piece("pasted", text)])
    pieces = [Piece("typed", text)]
    for find in FINDERS:
        pieces = [part for piece in pieces for part in split_piece(piece, find)]
    return merge_pieces(pieces)


def split_prompt(prompt: Prompt) -> tuple[Piece, ...]:
    """The pieces of a prompt."""
    return split_text(prompt.text, prompt.kind)


def split_pasted(text: str) -> tuple[Piece, ...]:
    """A text by an agent, code, logs and quotes apart."""
    pieces = [Piece("typed", text)]
    for find in SHAPES:
        pieces = [part for piece in pieces for part in split_piece(piece, find)]
    return merge_pieces(pieces)


def split_piece(piece: Piece, find: Callable[[str], Iterable[Span]]) -> Iterator[Piece]:
    """A typed piece without what is found in it to be another's; any other piece as it is."""
    if piece.owner != "typed":
        yield piece
        return
    at = 0
    for start, end, owner in find(piece.text):
        if start > at:
            yield Piece("typed", piece.text[at:start])
        if end > max(at, start):
            yield Piece(owner, piece.text[max(at, start) : end])
        at = max(at, end)
    if at < len(piece.text):
        yield Piece("typed", piece.text[at:])


def merge_pieces(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Neighbours of one owner as one piece, empty ones left out."""
    merged: list[list[str]] = []
    owners: list[Owner] = []
    for piece in pieces:
        if not piece.text:
            continue
        if owners and owners[-1] == piece.owner:
            merged[-1].append(piece.text)
        else:
            owners.append(piece.owner)
            merged.append([piece.text])
    return tuple(Piece(owner, "".join(parts)) for owner, parts in zip(owners, merged, strict=True))


# --- what clients write ---------------------------------------------------------------------------

CLIENT_TAGS = frozenset(
    """system-reminder local-command-stdout local-command-stderr local-command-caveat command-name command-message
    command-contents bash-stdout bash-stderr bash-notification task-notification agent-notification teammate-message
    cross-session-message agent-message subagent_notification user-prompt-submit-hook environment_context turn_aborted
    ide_opened_file ide_selection ide_diagnostics open_and_recently_viewed_files attached_files additional_data
    current_file recommended_plugins environment_details system_warning timestamp fork-boilerplate tick""".split()
)
TEMPLATE_TAGS = frozenset(
    """user_instructions instructions skill skill_content agent-activation rules user_rules custom_instructions
    always_applied_workspace_rules agent_requestable_workspace_rules""".split()
)
WRAPPER_TAGS = frozenset("user_query command-args user_input user_request task feedback user_message".split())
"""The person's words stand inside."""
TAG = re.compile(r"<(/?)([a-zA-Z][\w-]{0,40})\b[^<>\n]{0,200}>")
CLIENT_LINE = re.compile(
    r"""[ \t]*(?:
        \[SYSTEM\ NOTIFICATION
      | Unknown\ (?:skill|slash\ command|command):?\ \S+\s*$ | \(no\ content\)\s*$ | No\ response\ requested\.\s*$
      | Caveat:\ The\ messages\ below\ were\ generated
      | Another\ Claude\ session\ sent\ a\ message: | This\ came\ from\ another\ Claude\ session
      | (?:Stop|PreToolUse|PostToolUse|UserPromptSubmit)\ hook\ (?:feedback|error|blocking)
      | (?:Tool\ loaded|Warmup|Compacted)\.?\s*$ | (?:\#\ )?Context\ from\ my\ IDE\ setup:
      | \#\#\ My\ request\ for\ Codex:
    )""",
    re.VERBOSE,
)
CLIENT_MARK = re.compile(
    r"\[Image #\d{1,4}\]|\[Image: source: [^\]\n]{1,300}\]|\[Pasted text #\d{1,4}[^\]\n]{0,40}\]"
    r"|\[Request interrupted by user[^\]\n]{0,40}\]"
)
SUMMARY = "This session is being continued from a previous conversation"
IDE_CONTEXT = re.compile(r"\s*# (?:Context from my IDE|Files mentioned by the user)[^\n]*\n?")
IDE_REQUEST = "## My request for Codex:"


def find_client_words(text: str) -> Iterator[Span]:
    """What the client wrote around the person's words: tags, notes, the context of an editor."""
    if text.lstrip().startswith(SUMMARY):
        yield 0, len(text), "client"
        return
    if (context := IDE_CONTEXT.match(text)) and (at := text.find(IDE_REQUEST)) >= 0:
        request = at + len(IDE_REQUEST)
        if not text[request:].strip():  # a long prompt is handed over as a file, with its beginning for a name
            yield from ((0, context.end(), "client"), (context.end(), at, "pasted"), (at, len(text), "client"))
            return
        yield 0, request, "client"
        text = " " * request + text[request:]
    yield from find_tagged(text)


def find_tagged(text: str) -> Iterator[Span]:
    """Tags that clients write, with what stands in them; of those that wrap the person's words the tag alone."""
    unclosed: set[str] = set()
    at = 0
    while tag := TAG.search(text, at):
        at = tag.end()
        name = tag[2].lower()
        if name in WRAPPER_TAGS:
            yield tag.start(), at, "client"
        elif not tag[1] and name in CLIENT_TAGS | TEMPLATE_TAGS and name not in unclosed:
            closing = f"</{tag[2]}>"
            if (end := text.find(closing, at)) < 0:
                unclosed.add(name)
                continue
            yield tag.start(), end + len(closing), "client" if name in CLIENT_TAGS else "template"
            at = end + len(closing)


def find_client_lines(text: str) -> Iterator[Span]:
    """Lines that clients write into the conversation."""
    for start, line in list_lines(text):
        if CLIENT_LINE.match(line):
            yield start, start + len(line), "client"


def find_client_marks(text: str) -> Iterator[Span]:
    """What the client puts where a picture or a long paste was, or where it was stopped."""
    return ((found.start(), found.end(), "client") for found in CLIENT_MARK.finditer(text))


def find_template(text: str) -> Iterator[Span]:
    """What a slash command, skill, plan or prompt file brought; the person's argument inside is theirs."""
    return ((start, end, "template") for start, end in find_template_spans(text))


# --- what is pasted -------------------------------------------------------------------------------

TAGGED = re.compile(r"<([a-zA-Z][\w-]{0,40})\b[^<>]{0,200}>[^<]{80,}</\1>")
BARE_TAG = re.compile(r"</?[a-zA-Z][\w-]{0,40}\b[^<>]{0,200}/?>")
PASTED_LINE = re.compile(
    r"""^(?:
        >                                    # a quote
      | [+\-]{3}\s | @@\s | diff\s--git      # a diff
      | (?:\d{4}-\d\d-\d\d[T\s]|\[?\d\d:\d\d:\d\d)   # a log
      | at\s+[\w$.<>]+\s?\( | File\s"        # a stack trace
      | (?:\w+\.)*\w*(?:Error|Exception|Warning)(?::|\s*$|\s+at\s)   # what was raised
      | (?:error|warning|fatal)\s?[:\[] | (?:INFO|DEBUG|WARN|ERROR)\b | \[(?!redacted)[\w-]+:[\w:.-]+\]\s
      | (?:FAIL|PASS)\b[:\s] | (?:---|===)\s | ok\s{2,}\S
      | \$\s\S+ | \w+@[\w.-]+[:\s~%$] | [❯➜]\s   # a shell
      | [|│┃╭╰├└─━═⏺⎿●✓✗✘•]                  # what a terminal drew
    )""",
    re.VERBOSE,
)
CODE_LINE = re.compile(
    r"""^(?:
        [{}()\[\];,]+ | .*[;{}]
      | (?:def|class|func|fn|if|for)\b.*[:(] | (?:def|func|fn)\s\w+\(.* | (?:if|for)\s?\(.*
      | (?:const|let|var)\s[^=]*=.* | import\s.*\sfrom\s['"].* | from\s[\w.]+\simport\s.* | return\b.*\w\(.*
    )$""",
    re.VERBOSE,
)
"""Sentences begin with "if", "for", "let", "from" and "return" too."""
REVIEW_LINE = re.compile(
    r"(?:[-*] |\d{1,3}[.)] )? ?[*_(\[]{0,3}"
    r"(?:high|medium|low|critical|major|minor|nit|blocker|p[0-4])\b[*_ ]{0,3}[:)\]—-]",
    re.IGNORECASE,
)
SPEAKER = re.compile(
    r"[*_]{0,2}(?:user|human|assistant|claude|codex|chatgpt|gpt|gemini|copilot|cursor|ai|me|you)[*_]{0,2}\s?[:：]"
    r"|[\w .'-]{2,40} {1,4}\[?\d{1,2}:\d\d(?: ?[AaPp][Mm])?\]?\s?:?$|\[\d{1,2}:\d\d\] ",
    re.IGNORECASE,
)
LIST_ITEM = re.compile(r"\s*(?:[-*•]\s|\d{1,3}[.)]\s)")
SHELL_LINE = re.compile(r"\$\s\S+|\w+@[\w.-]+[:\s~%$]|[❯➜]\s")
PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*[,.:;!?]?")
INDENTED = re.compile(r"[ \t]{2,}\S")
NEAREST = 6
"""Lines between two that were pasted, at most: they were pasted with them."""
LONG_PASTE, LONG_HEAD = 300, 300
MANY_MARKS = 3
MANY_WORDS = 5


def is_pasted(line: str) -> bool:
    """Whether a line looks like a log, a diff, a terminal or code."""
    line = line.strip()
    return bool(PASTED_LINE.match(line) or (CODE_LINE.match(line) and not is_prose(line)))


def is_prose(line: str) -> bool:
    """Whether most of a line is plain words, as in a sentence that happens to end in a bracket."""
    words = line.split()
    plain = sum(PLAIN_WORD.fullmatch(word) is not None for word in words)
    return plain >= MANY_WORDS and plain >= len(words) * 0.6


def find_fences(text: str) -> Iterator[Span]:
    return ((found.start(), found.end(), "pasted") for found in FENCED.finditer(text))


def find_tagged_text(text: str) -> Iterator[Span]:
    return ((found.start(), found.end(), "pasted") for found in TAGGED.finditer(text))


def find_bare_tags(text: str) -> Iterator[Span]:
    return ((found.start(), found.end(), "pasted") for found in BARE_TAG.finditer(text))


def find_pasted_lines(text: str) -> Iterator[Span]:
    """Lines that look pasted, each by itself."""
    return ((at, at + len(line), "pasted") for at, line in list_lines(text) if is_pasted(line))


def find_pasted_blocks(text: str) -> Iterator[Span]:
    """Lines that look pasted, the few between them, what is indented behind them, paragraphs of reviews and shells."""
    lines = list_lines(text)
    marks = [is_pasted(line) for _, line in lines]
    last, is_review, is_shell = -1, False, False
    for n, (_, line) in enumerate(lines):
        said = line.strip()
        if not said:
            last, is_review, is_shell = -1, False, False
            continue
        is_review = is_review or REVIEW_LINE.match(said) is not None
        is_shell = is_shell or SHELL_LINE.match(said) is not None
        is_output = is_shell and n < len(lines) - 1 and not is_prose(said)
        if marks[n]:
            if last >= 0 and n - last <= NEAREST and not is_quote(lines[last][1]) and not is_quote(line):
                marks[last + 1 : n] = [True] * (n - last - 1)
            last = n
        elif is_indented(line, last == n - 1 >= 0) or ((is_review or is_output) and not said.endswith(("?", "？"))):
            marks[n] = True
            last = n
    return ((at, at + len(line), "pasted") for (at, line), mark in zip(lines, marks, strict=True) if mark)


def is_indented(line: str, is_behind: bool) -> bool:
    """Whether a line behind a pasted one is indented under it."""
    return is_behind and INDENTED.match(line) is not None


def is_quote(line: str) -> bool:
    return line.lstrip().startswith(">")


def find_chat(text: str) -> Iterator[Span]:
    """A conversation with others: from the first of two lines that name who speaks, to the end."""
    spoken = [at for at, line in list_lines(text) if SPEAKER.match(line.strip())]
    if len(spoken) > 1:
        yield spoken[0], len(text), "pasted"


def find_announced(text: str) -> Iterator[Span]:
    """A long text behind short words that announce it by a colon, or ask about it; a question behind it is typed."""
    lines = list_lines(text)
    first = next((n for n, (_, line) in enumerate(lines) if line.strip()), None)
    if first is None:
        return
    for n in range(first, min(first + 4, len(lines))):
        at, line = lines[n]
        start = at + len(line)
        rest = text[start:]
        if start > LONG_HEAD or len(rest.strip()) < LONG_PASTE:
            return
        if is_announcement(line, rest):
            end = find_closing_question(text, start)
            yield start, end, "pasted"
            return


def is_announcement(line: str, rest: str) -> bool:
    said = line.rstrip()
    if said.endswith((":", "：")):
        return not LIST_ITEM.match(rest.lstrip("\r\n")) and not HEADING.match(said)
    return said.endswith(("?", "？")) and rest[:1] in "\r\n" and count_marked(rest) >= MANY_MARKS


def find_closing_question(text: str, start: int) -> int:
    """Where a last paragraph of one line that asks something begins, else the end."""
    end = len(text.rstrip())
    at = text.rfind("\n", start, end) + 1
    is_alone = at > start and not text[text.rfind("\n", start, at - 1) + 1 : at].strip()
    return at if is_alone and end - at <= LONG_HEAD and text[:end].endswith(("?", "？")) else len(text)


def find_document(text: str) -> Iterator[Span]:
    """A document with headings, from the first of them on."""
    plain = FENCED.sub(lambda found: " " * len(found[0]), text)  # a comment in code looks like a heading
    headings = [found.start() for found in HEADING.finditer(plain)]
    if len(headings) >= MANY_MARKS and len(text) - headings[0] >= 2 * LONG_PASTE:
        yield headings[0], len(text), "pasted"


SHAPES = (find_fences, find_tagged_text, find_bare_tags, find_pasted_lines)
FINDERS = (
    find_client_words,
    find_client_lines,
    find_client_marks,
    find_template,
    find_announced,
    find_document,
    find_chat,
    find_fences,
    find_tagged_text,
    find_pasted_blocks,
    find_bare_tags,
)
