"""What a template brought into a prompt, by how it begins and whom it speaks to, and what the template is called."""

import re
from collections.abc import Iterator
from functools import lru_cache

from assay.types import Prompt

SLASH = re.compile(r"\s*/([a-zA-Z][\w:.-]*)(?=\s|\Z)")
SKILL_NAME = re.compile(r"\s*\$([a-z]\w*[:-][\w:-]+)(?=\s|\Z)")
PROMPT_FILE = re.compile(
    r"\s*@?[\w./~-]{0,200}\b(?:prompts|commands|skills|agents|workflows)/([\w./-]{1,200})(?=\s|\Z)"
)
MENTION = re.compile(r"\[\$([\w:.-]{1,80})\]\([^)\n]{1,400}\)")
BEGINNINGS = (SLASH, SKILL_NAME, PROMPT_FILE)
"""A template that is called by name: what stands behind it is the person's argument."""
PLAN = re.compile(r"\s*(?:please )?implement (?:the following|this) plan:", re.IGNORECASE)
FRONT_MATTER = re.compile(r"\s*---[ \t]*\r?\n(?:[\w-]+[ \t]*:[^\n]*\n|[ \t]+[^\n]*\n|\r?\n)+?---[ \t]*(?:\r?\n|\Z)")
SKILL = re.compile(r"\s*(?:Base directory for this skill:|# AGENTS\.md instructions|ACTIVATION-NOTICE:)")
PLACEHOLDER = re.compile(r"\$ARGUMENTS\b|\{\{\s*[\w.-]{1,40}\s*\}\}|\$\{input:\w{1,40}\}")
ADDRESSES_AGENT = re.compile(
    r"""You\ \**MUST\b | ^\W*(?:YOUR\ |your\ )?(?:ROLE|Role)\W*: | ^\W*You\ are\ (?:a|an|the|now|Dr)\b
      | ^\#{1,4}\ (?:Outline|Instructions?|Your\ [Tt]ask|Task|Steps|Workflow|Rules|Inputs?|Arguments|Process|Persona)\b
      | adopt\ the\ following\ (?:agent\ )?persona | fully\ embody\ this\ agent | FOLLOW\ THIS\ COMMAND""",
    re.VERBOSE | re.MULTILINE,
)
ARGUMENT = re.compile(
    r"^#{1,4} (?:User Input|Arguments|User Request)[^\n]{0,40}\n\s*```\w*\n(?P<fenced>[^`]*(?:`(?!``)[^`]*)*)```"
    r"|^ARGUMENTS:[ \t]*(?P<line>[^\n]+)",
    re.MULTILINE,
)
HEADING = re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE)
MARKED = re.compile(r"\s{0,20}(?:#{1,6}\s|[-*•]\s|\d{1,3}[.)]\s|\*\*|\|)")
FENCED = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
LOOKED_AT = 1_500
SHORTEST = 200
NAMES = (
    (re.compile(r"typed after `/([\w:.-]{1,60})`"), ""),
    (re.compile(r"\bhooks\.before_(\w{1,40})"), ""),
    (re.compile(r"/setup-plan\.(?:sh|ps1)\b"), "plan"),
    (re.compile(r"--require-tasks\b"), "implement"),
    (re.compile(r"/check-prerequisites\.(?:sh|ps1)\b"), "tasks"),
    (re.compile(r"You are updating the project constitution\b"), "constitution"),
    (re.compile(r"\A\s*---\s*\n(?:[^\n]*\n){0,8}?name:[ \t]*[\"']?([\w:.-]{1,60})"), ""),
    (re.compile(r"\ABase directory for this skill: \S*?([\w.-]+)/?\s"), ""),
)
"""How templates whose text was put into the prompt name themselves; the steps of spec-kit by what they run."""


def find_template_spans(text: str) -> Iterator[tuple[int, int]]:
    """What a slash command, skill, plan or prompt file brought: from where to where."""
    called = next((found for pattern in BEGINNINGS if (found := pattern.match(text))), None)
    if called:
        yield 0, called.end()
    elif PLAN.match(text):
        yield 0, len(text)
    elif is_template(text):
        yield from leave_arguments(text)
    else:
        yield from (found.span() for found in MENTION.finditer(text))


@lru_cache(1024)
def is_template(text: str) -> bool:
    """Whether the whole text was written beforehand to steer an agent."""
    head = text[:LOOKED_AT]
    if FRONT_MATTER.match(head) or SKILL.match(head):
        return True
    is_prepared = len(text) >= SHORTEST and (len(HEADING.findall(text)) >= 2 or count_marked(text) >= 4)
    return is_prepared and bool(PLACEHOLDER.search(text) or ADDRESSES_AGENT.search(head))


def leave_arguments(text: str) -> Iterator[tuple[int, int]]:
    """A template's spans around the arguments that were given to it."""
    at = 0
    for found in ARGUMENT.finditer(text):
        name = "fenced" if found["fenced"] is not None else "line"
        if found[name].strip() and not PLACEHOLDER.search(found[name]):
            yield at, found.start(name)
            at = found.end(name)
    yield at, len(text)


@lru_cache(4096)
def name_template(prompt: Prompt) -> str:
    """What the template in a prompt is called; nothing where there is none, or it has no name."""
    text = prompt.text
    if prompt.kind in ("plan", "shell"):
        return ""
    if called := next((found for pattern in BEGINNINGS if (found := pattern.match(text))), None):
        return strip_file(called[1])
    if is_template(text):
        for pattern, name in NAMES:
            if found := pattern.search(text[: 4 * LOOKED_AT]):
                return name or strip_file(found[1])
        return ""
    mentioned = MENTION.match(text.lstrip())
    return mentioned[1] if mentioned else ""


def is_plan(prompt: Prompt) -> bool:
    """Whether a prompt is a plan to be carried out."""
    return prompt.kind == "plan" or (prompt.kind == "typed" and PLAN.match(prompt.text) is not None)


def strip_file(name: str) -> str:
    """A template's name without its folders and the ending of its file."""
    folders, _, last = name.rstrip("/").rpartition("/")
    if last.upper() == "SKILL.MD":
        last = folders.rpartition("/")[2] or last
    return re.sub(r"(?:\.prompt)?\.(?:md|mdc|txt|toml)\Z", "", last)


def count_marked(text: str) -> int:
    """Lines that are marked up: headings, lists, bold beginnings."""
    return sum(MARKED.match(line) is not None for _, line in list_lines(text))


def list_lines(text: str) -> list[tuple[int, str]]:
    """The lines of a text with their ends, each with its place."""
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        found.append((at, line))
        at += len(line)
    return found
