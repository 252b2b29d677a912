"""Made-up source files whose lines know where they came from: Python, TypeScript and Go, every word invented.

A line carries its past: the numbers under which it was written, and what happened to it since. So a history made
of these lines knows the fate of each one, and no tracker has to be believed.
"""

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from random import Random
from typing import NamedTuple

MOVED, EDITED, WRAPPED, BACK = 1, 2, 4, 8
GONE, HAS_TWIN = "gone", "gone, but had a twin"
FATES = {MOVED: "moved", EDITED: "edited in place", WRAPPED: "re-wrapped", BACK: "deleted and re-added"}
LONGEST_PAST = 6
WORDS = 20_000
ALIKE, APART = 0.63, 0.5  # what an edited line keeps of itself; what a rewritten one may have in common

SYLLABLES = (
    "ba be bo da de dor fa fen fi ga gel gi ha hol ji ka kel ko la lin lo ma mer mi na nel no pa per po qua ra rin ro "
    "sa sel so ta tem to va vel vo wa wen xi ya yor za zem zu"
).split()
SUFFIX = {"py": ".py", "ts": ".ts", "go": ".go"}
UNIT = {"py": "    ", "ts": "  ", "go": "\t"}

OPENING = {
    "py": ("def {f}({a}: {T}, {b}: int = {i}) -> {U}:", "def {f}({a}, *, {b}=None):"),
    "ts": (
        "export function {f}({a}: {T}, {b}: number): {U} {{",
        "export const {f} = async ({a}: {T}): Promise<{U}> => {{",
    ),
    "go": ("func {f}({a} *{T}, {b} int) (*{U}, error) {{", "func (s *{T}) {f}({a} string) error {{"),
}
TEST_OPENING = {
    "py": ("def test_{f}({a}):",),
    "ts": ("test('{f} keeps the {a}', () => {{",),
    "go": ("func Test{f}(t *testing.T) {{",),
}
CLOSING = {"py": (), "ts": ("}",), "go": ("}",)}
TEST_CLOSING = {"py": (), "ts": ("});",), "go": ("}",)}
STATEMENTS = {
    "py": (
        "{a} = self.{b}.{c}({d}, limit={i})",
        "{a}, {b} = {c}({d}[{i}:]), {e}.get('{g}')",
        "{a}.append({T}({b}, {c}={i}))",
        "log.debug('{a} {b} %s', {c}.{d})",
        "assert {a}.{b}({c}) == {i}",
        "yield from {c}({d}.{e} for {d} in {a}.{b})",
        "# {a} {b} {c} before the {d} {e}",
        "{a}['{b}'] += {c} * {i} - len({d})",
        "self.{a} = {{{b}: {c} for {b}, {c} in {d}.{e}()}}",
        "with {a}.{b}({c}) as {d}, suppress({T}Error):\n    {d}.{e}({i})",
        "if {a}.{b} > {i} and not {c}:\n    return {d}.{e}",
        "for {a} in {b}.{c}():\n    {d}.{e}({a}, {i})",
        "if not {a}:\n    raise {T}Error(f'{b} {c}: {{{d}}}')",
    ),
    "ts": (
        "const {a} = await {b}.{c}({d}, {i});",
        "const {{ {a}, {b} }} = {c}({d} ?? '{e}');",
        "{a}.push(new {T}({b}, {c}));",
        "console.debug('{a} {b}', {c}.{d});",
        "expect({a}.{b}({c})).toBe({i});",
        "// {a} {b} {c} before the {d} {e}",
        "{a}.{b} = {c}.map(({d}) => {d}.{e} * {i});",
        "let {a}: {T}[] = [{b}, ...{c}.{d}];",
        "if (!{a}?.{b}) {{\n  return {c}.{d};\n}}",
        "for (const {a} of {b}.{c}()) {{\n  {d}.{e}({a}, {i});\n}}",
        "this.{a}.set('{b}', {c} + {i});",
    ),
    "go": (
        "{a} := {b}.{c}({d}, {i})",
        '{a}, {b} := {c}["{d}"], len({e})',
        "{a} = append({a}, {T}{{{b}: {c}, {d}: {i}}})",
        'log.Printf("{a} {b} %v", {c}.{d})',
        'require.Equal(t, {i}, {a}.{b}({c}), "{d} {e}")',
        "// {a} {b} {c} before the {d} {e}",
        "{a}.{b}[{c}] += {d} * {i}",
        "defer {a}.{b}({c}, {d})",
        "if {a}, err := {b}.{c}({d}); err != nil {{\n\treturn nil, err\n}}",
        "for _, {a} := range {b}.{c}() {{\n\t{d}.{e}({a}, {i})\n}}",
        'return nil, fmt.Errorf("{a} {b}: %w", {c}.{d})',
    ),
}
COMMON = {
    "py": (
        "return None", "return result", "result = []", "continue", "pass", "raise NotImplementedError",
        "if not result:\n    return None", "except KeyError:", "self.reset()", "return self",
    ),
    "ts": (
        "return null;", "return result;", "const result = [];", "continue;", "break;", "await this.reset();",
        "if (!result) {\n  return null;\n}", "return this;", "throw error;", "expect(result).toBeDefined();",
    ),
    "go": (
        "return nil, nil", "return err", "continue", "defer mu.Unlock()", "mu.Lock()", "t.Helper()", "t.Parallel()",
        "if err != nil {\n\treturn nil, err\n}", "if err != nil {\n\tt.Fatal(err)\n}", "require.NoError(t, err)",
    ),
}  # fmt: skip
"""What stands everywhere."""
COMMON_SHARE, COPIED_SHARE = 0.1, 0.12
HEADS = {
    "py": ("import logging", "from {a}.{b} import {T}, {c}", "from {d} import {e}", "log = logging.getLogger('{g}')"),
    "ts": ("import {{ {T}, {c} }} from './{a}/{b}';", "import type {{ {U} }} from '../{d}';"),
    "go": ("package {a}", 'import "example.test/{b}/{c}"', 'import "example.test/{d}/{e}"'),
}
WORD = re.compile(r"[a-z]{4,}")
NUMBER = re.compile(r"\b\d+\b")


class Line(NamedTuple):
    text: str
    past: tuple[tuple[int, int], ...]
    """Every number the line was written under, and what happened to it since, as bits."""

    def after(self, what: int, root: int = 0, text: str | None = None) -> "Line":
        """The line after something happened to it; under a new number where somebody wrote it anew."""
        past = tuple((one, marks | what) for one, marks in self.past[-LONGEST_PAST:])
        return Line(self.text if text is None else text, past + (((root, 0),) if root else ()))


class Block(NamedTuple):
    """A function, a paragraph, or the head of a file."""

    id: int
    name: str
    lines: tuple[Line, ...]


class File(NamedTuple):
    kind: str
    """`code` and `test` count; `docs`, `lock`, `vendored`, `generated`, `config` don't."""
    lang: str
    blocks: tuple[Block, ...]

    def text(self) -> bytes:
        parts = ("\n".join(line.text for line in block.lines) for block in self.blocks)
        gap = "\n\n" if self.kind in COUNTED or self.kind == "docs" else "\n"
        return (gap.join(parts) + "\n").encode()

    def with_block(self, block: Block) -> "File":
        return self._replace(blocks=tuple(block if one.id == block.id else one for one in self.blocks))

    def without(self, id: int) -> "File":
        return self._replace(blocks=tuple(one for one in self.blocks if one.id != id))

    def roots(self) -> Iterator[tuple[int, int]]:
        return (pair for block in self.blocks for line in block.lines for pair in line.past)


COUNTED = ("code", "test")


class Coder:
    """Writes code; `exact` makes sure that an edited line is like its old self and a rewritten one is not."""

    def __init__(self, rng: Random, exact: bool) -> None:
        self.rng, self.exact = rng, exact
        self.numbers = 0
        self.words = [[self.new_word(most) for _ in range(WORDS)] for most in (3, 4)]

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def word(self, most: int = 3) -> str:
        return self.words[most - 3][int(self.rng.random() * WORDS)]

    def new_word(self, most: int) -> str:
        return "".join(self.rng.choices(SYLLABLES, k=self.rng.randint(2, most)))

    def line(self, text: str) -> Line:
        return Line(text, ((self.number(), 0),))

    def block(self, name: str, texts: Iterable[str]) -> Block:
        return Block(self.number(), name, tuple(map(self.line, texts)))

    def fill(self, template: str) -> list[str]:
        words = {key: self.word() for key in "abcdefg"}
        types = {"T": self.word(4).title(), "U": self.word(4).title()}
        return template.format(**words, **types, i=self.rng.randrange(2, 4000)).split("\n")

    def statements(self, lang: str, count: int) -> list[str]:
        """About `count` lines of a body, sometimes with what everybody writes."""
        found: list[str] = []
        while len(found) < count:
            if self.rng.random() < COMMON_SHARE:
                found += self.rng.choice(COMMON[lang]).split("\n")
            else:
                found += self.fill(self.rng.choice(STATEMENTS[lang]))
        return [UNIT[lang] + text for text in found]

    def function(self, lang: str, is_test: bool = False, size: int = 0) -> Block:
        size = size or min(40, max(3, int(self.rng.lognormvariate(2.1, 0.5))))
        name = self.word(4)
        shown = name.title() if lang == "go" else name
        opening = self.rng.choice((TEST_OPENING if is_test else OPENING)[lang]).replace("{f}", shown)
        closing = (TEST_CLOSING if is_test else CLOSING)[lang]
        return self.block(shown, [*self.fill(opening), *self.statements(lang, size), *closing])

    def copy(self, block: Block, lang: str) -> Block:
        """Another function that was begun as a copy of one: half of its lines differ, in a word or altogether."""
        name = self.word(4)
        lines = [self.line(block.lines[0].text.replace(block.name, name))]
        for line in block.lines[1:]:
            dice = self.rng.random()
            if dice < 0.25:
                lines.append(self.line(self.edited(line).text))
            elif dice < 0.5 and line is not block.lines[-1]:
                lines += map(self.line, self.statements(lang, 1))
            else:
                lines.append(self.line(line.text))
        return Block(self.number(), name, tuple(lines))

    def head(self, lang: str) -> Block:
        return self.block("", [text for template in HEADS[lang] for text in self.fill(template)])

    def file(self, lang: str, kind: str, functions: int) -> File:
        blocks = (self.head(lang), *(self.function(lang, kind == "test") for _ in range(functions)))
        return File(kind, lang, blocks)

    def edited(self, line: Line) -> Line:
        """The line with a number or some words changed; itself where it holds neither."""
        spots = [*NUMBER.finditer(line.text), *WORD.finditer(line.text)]
        self.rng.shuffle(spots)
        most, text = self.rng.choice((1, 1, 2, 3)), line.text
        for spot in sorted(spots[:most], key=re.Match.start, reverse=True):
            new = str(self.rng.randrange(2, 4000)) if spot[0].isdigit() else self.word()
            changed = text[: spot.start()] + new + text[spot.end() :]
            if not self.exact or alike(changed, line.text) >= ALIKE:
                text = changed
        return line if text == line.text else line.after(EDITED, self.number(), text)

    def unlike(self, lang: str, count: int, old: Iterable[Line]) -> list[Line]:
        """New statements that have little in common with the old lines."""
        before = [line.text for line in old]
        made: list[str] = []
        for _ in range(200):
            new = self.statements(lang, 1)
            if not self.exact or all(alike(a, b, APART) < APART for a in new for b in before if len(a.strip()) > 3):
                made += new
            if len(made) >= count:
                break
        return [self.line(text) for text in made]

    def wrapped(self, line: Line) -> list[Line]:
        """The line over three, broken at its last brackets; itself where it has none."""
        found = re.fullmatch(r"(\s*)(.*\()([^()]{6,})(\).*)", line.text)
        if not found:
            return [line]
        lead, start, inside, end = found.groups()
        texts = [lead + start, f"{lead}    {inside}", lead + end]
        first, *rest = texts
        return [line.after(WRAPPED, self.number(), first), *map(self.line, rest)]


def alike(one: str, other: str, floor: float = 0.0) -> float:
    """How much two lines have in common; 0 when it is surely less than `floor`."""
    both = SequenceMatcher(None, one.strip(), other.strip(), autojunk=False)
    if both.real_quick_ratio() < floor or both.quick_ratio() < floor:
        return 0.0
    return both.ratio()


def squeezed(text: str) -> str:
    return "".join(text.split())


def reindented(file: File) -> File:
    """The same with leading white space halved or doubled, as a formatter leaves it."""
    wide = any(line.text.startswith("        ") for block in file.blocks for line in block.lines)

    def text(old: str) -> str:
        body = old.lstrip()
        lead = old[: len(old) - len(body)]
        return (lead[: len(lead) // 2] if wide and len(lead) > 1 else lead * 2) + body

    blocks = (
        block._replace(lines=tuple(line._replace(text=text(line.text)) for line in block.lines))
        for block in file.blocks
    )
    return file._replace(blocks=tuple(blocks))
