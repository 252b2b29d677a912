"""A reader of the frame that shares no code with its writer."""

import re
import unicodedata
from hashlib import sha256

from msgspec import Struct

FIRST = re.compile(
    r"=== transcript ([0-9a-f]{16}) begins: (\d+) turns?(, prompts only)?; "
    r'a line that begins with "\|" quotes it, the others are ours ==='
)
LAST = re.compile(r"=== transcript ([0-9a-f]{16}) ends ===")
SPEAKS = (
    r"(?:the person (?:writes|gives a command|runs a command|writes while the agent works"
    r"|refuses a call and says|accepts a plan))"
)
TIME = r"(?:, \d{4}-\d\d-\d\d \d\d:\d\d)?"
TURN = re.compile(
    rf"\[turn (\d+)\] (?:nobody speaks{TIME}|(another session, next in the same conversation: )?{SPEAKS}{TIME}"
    r"(?:, \d+ images?)?:)"
)
FOLDED = re.compile(r"\[turns (\d+)-(\d+)\] folded: (.+)")
GAP = re.compile(r"\.\.\. \d+ (?:characters left out|lines as in turn \d+)")
ITEM = re.compile(r"- (.+)")
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
SIGNS = re.compile(r"[A-Za-z0-9 ,;:()'+-]+")
OUR_WORDS = frozenset(
    """
    a after again agent agent's all an and announcing answer answered anything are asked before begin bodies branch
    branches build by call calls changed checks cleared closing code command commands commit commits context
    conversation created deleted diffs done edit edits else ended ends everything exit failed failure failures
    file files first fit folded followed for format from handed hardly in interrupted is it last line lines lint
    list lists long looked made mid-work middles model's more named no nothing of ok older one ones only or others
    out outputs page pages part passed person plan plans pr printed prompt prompts pull push question questions
    read reads refusal refused refuses replies reply reported request requests reset restore result revert rule
    says search searches sent service short shortened skill skills stopped sub-agent sub-agents summarised templates
    test that the their then times to to-do tokens tool tools turn turns types undone unknown used waiting was well
    were what while why with words work writes
    """.split()
)
"""All that our lines are made of."""
ROLES = re.compile(
    r"<\||\|>|<｜|｜>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|</?transcript>|</?system>|</?assistant>"
    r"|</?think(?:ing)?>|</?tool_call>|</?function_calls>|(?m:^\|? *(?:human|assistant|system|user) ?(?<! ):)",
    re.IGNORECASE,
)


class Read(Struct):
    """What stands in a frame."""

    turns: list[int]
    quotes: str
    """All that is quoted."""
    ours: list[str]


def read(text: str) -> Read:
    """The frame of a rendered text; whatever is wrong with it fails the test."""
    lines = text.split("\n")
    assert lines == text.splitlines(), "something else than a newline ends a line"
    first, last = FIRST.fullmatch(lines[0]), LAST.fullmatch(lines[-1])
    assert first, lines[0]
    assert last, lines[-1]
    inside = lines[1:-1]
    assert first[1] == last[1] == sha256("\n".join(inside).encode()).hexdigest()[:16]
    assert not [line for line in inside if re.search(r"={3,} *transcript", line)]
    ours = [line for line in inside if not line.startswith("|")]
    assert not [line for line in inside if line.startswith("|") and line != "|" and line[1] != " "]
    assert not [line for line in ours if not is_ours(line)]
    assert not [char for char in set(text) if is_unseen(char)]
    assert not ROLES.findall(text)
    turns = [int(found[1]) for line in ours if (found := TURN.fullmatch(line))]
    assert turns == sorted(set(turns))
    return Read(turns=turns, quotes="\n".join(line[2:] for line in inside if line.startswith("|")), ours=ours)


def is_ours(line: str) -> bool:
    """Whether it is a line that only we write: a few forms, a few words, numbers."""
    if TURN.fullmatch(line) or GAP.fullmatch(line):
        return True
    said = ITEM.fullmatch(line) or FOLDED.fullmatch(line)
    if said is None or not SIGNS.fullmatch(line.removeprefix("[").replace("]", "", 1)):
        return False
    return not set(WORD.findall(said[said.re.groups])) - OUR_WORDS


def is_unseen(char: str) -> bool:
    """Whether a reader would not see it as what it is."""
    return char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
