"""Pools of made-up prose, code and tool output, sliced at random so that no two records are alike."""

import base64
import math
from random import Random

VERBS = (
    "add check drop fix move split merge rename cache parse render index retry guard trace batch flush "
    "quote escape validate refactor inline extract measure document simplify paginate throttle replay"
).split()
NOUNS = (
    "parser queue ledger widget invoice cursor socket buffer router planner token schema column migration "
    "session fixture worker shard bucket header payload gateway scheduler report form dialog sidebar lexer "
    "snapshot journal checkout tariff parcel booking roster sensor beacon quota region tenant branch"
).split()
ADJECTIVES = (
    "stale empty nested flaky slow broken missing duplicate optional partial remote local cached signed "
    "verbose pending frozen lazy strict shared hidden final"
).split()
GLUE = ("when the", "because the", "so that every", "before each", "after the", "unless some", "and the")
ASIDES = (
    "I will look at the tests first.", "That explains the timeout.", "Let me verify this with a small run.",
    "The change is limited to one module.", "Nothing else imports it.", "The old path stays for now.",
    "Could you also keep the log line?", "Please do not touch the public names.",
)  # fmt: skip
OTHER_TONGUES = (
    "この関数の戻り値を確認してください。",
    "请把这个模块拆成两个文件、并补充测试。", "Bitte prüfe die Größe der Tabelle.",
    "¿Por qué falla la comprobación de tipos?", "Проверь, почему сборка стала медленнее.", "✅ done → next: ✨ polish",
    "├── src\n│   ├── queue.py\n│   └── ledger.py\n└── tests", "이 오류를 고쳐 주세요.",
    "Vérifie l'encodage « utf-8 ».",
)  # fmt: skip
CODE = (
    "def {v}_{n}({m}: {T}, *, limit: int = {i}) -> {T} | None:",
    '    """{V} the {a} {n} and report what was left."""',
    "    if {m}.{n}_count > {i} and not {m}.is_{a}:",
    '        raise {T}Error(f"{a} {n}: {{{m}!r}} at {{offset}}")',
    "    return [{v}_{m}(item, depth={i}) for item in {m}.{n}s if item.{a}]",
    "",
    "class {T}{N}(Base{N}):",
    "    {n}_{m}: dict[str, list[{T}]] = field(default_factory=dict)",
    "export const {v}{N} = async ({m}: {T}): Promise<{N}> => {{",
    "  const {{ {n}, {m} }} = await {v}{T}(`/api/{n}s/${{{m}.id}}?limit={i}`);",
    "  if (!{n}?.{a}) return {{ kind: '{a}', {m}: null }};",
    "}};",
    "pub fn {v}_{n}(&mut self, {m}: &[u8]) -> Result<{T}, {N}Error> {{",
    '    let {m} = self.{n}s.get("{a}").ok_or({N}Error::{T}({i}))?;',
    "func (s *{T}) {V}{N}(ctx context.Context, {m} string) error {{",
    '\tif err := s.{n}.{V}(ctx, "{a}-{m}", {i}); err != nil {{',
    '\t\treturn fmt.Errorf("{v} {n}: %w", err)',
    "# {a} {n}s are {v}ed later, see {m}_{n}.py",
)
LOGS = (
    "tests/test_{n}.py::test_{v}_{a}_{m} PASSED                                    [ {i}%]",
    "tests/{m}/test_{n}.py::test_the_{a}_{n}_is_kept FAILED",
    "src/{n}/{m}.py:{i}:{j}: warning: {a} {n} is never {v}ed [{n}-{a}]",
    "  ✓ {m} > {v}s the {a} {n} ({i} ms)",
    "2026-03-{d} 1{e}:{d}:{j} INFO {n}.{m} {v} {a}={i} took {j}ms",
    "   Compiling {n}-{m} v0.{e}.{j} (/work/{n}/crates/{m})",
    "npm warn deprecated {n}-{m}@{e}.{j}.0: use {v}-{n} instead",
    " src/{n}/{m}.ts | {i} ++++++++++-----",
    "drwxr-xr-x  {e} dev dev  {i} Mar {d} 10:{j} {n}_{m}",
    '{{"level":"warn","{n}":"{m}","{a}":{i},"path":"C:\\\\{n}\\\\{m}.cs"}}',
    "src/{n}/{m}.go:{i}:\treturn s.{v}{N}(ctx, {m})",
)


def _fill(rng: Random, templates: tuple[str, ...], size: int) -> str:
    lines, total = [], 0
    while total < size:
        n, m, a, v = (rng.choice(words) for words in (NOUNS, NOUNS, ADJECTIVES, VERBS))
        line = rng.choice(templates).format(
            n=n, m=m, a=a, v=v, N=n.title(), T=m.title(), V=v.title(),
            i=rng.randrange(1, 4000), j=rng.randrange(10, 60), d=rng.randrange(10, 29), e=rng.randrange(0, 10),
        )  # fmt: skip
        lines.append(line)
        total += len(line) + 1
    return "\n".join(lines)


def _sentence(rng: Random) -> str:
    if rng.random() < 0.12:
        return rng.choice(ASIDES)
    first = f"{rng.choice(VERBS)} the {rng.choice(ADJECTIVES)} `{rng.choice(NOUNS)}_{rng.choice(NOUNS)}`"
    rest = f"{rng.choice(GLUE)} {rng.choice(NOUNS)} is {rng.choice(ADJECTIVES)}"
    return f"{first.capitalize()} {rest}" + rng.choice((".", ".", "?", ":", ";", ".\n\n- ", ".\n"))


def _prose(rng: Random, size: int, foreign: float) -> str:
    parts, total = [], 0
    while total < size:
        part = rng.choice(OTHER_TONGUES) if rng.random() < foreign else _sentence(rng)
        parts.append(part)
        total += len(part) + 1
    return " ".join(parts)


class Pool:
    """Text of five kinds; `take(kind, size)` cuts a piece of about that many characters."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        code = _fill(rng, CODE, 1_500_000)
        numbered = "\n".join(f"{n % 1900 + 1:6}→{line}" for n, line in enumerate(code.split("\n")))
        self.kinds = {
            "code": code,
            "numbered": numbered,
            "log": _fill(rng, LOGS, 1_000_000),
            "prose": _prose(rng, 1_000_000, 0.0),
            "mixed": _prose(rng, 200_000, 0.4),
            "base64": base64.b64encode(rng.randbytes(1_500_000)).decode(),
        }

    def take(self, kind: str, size: int) -> str:
        """A piece of `kind`; one larger than the pool is several pieces glued."""
        blob = self.kinds[kind]
        if size >= len(blob) // 2:
            half = len(blob) // 2 - 1
            return "".join(self.take(kind, min(half, size - at)) for at in range(0, size, half))
        start = self.rng.randrange(len(blob) - size)
        return blob[start : start + size]

    def talk(self, size: int) -> str:
        """Prose, now and then in another script."""
        return self.take("mixed" if self.rng.random() < 0.12 else "prose", size)

    def size(self, median: int, sigma: float, most: int) -> int:
        """A log-normal length, never above `most`."""
        return min(most, max(8, int(self.rng.lognormvariate(math.log(median), sigma))))

    def words(self, count: int, glue: str = "-") -> str:
        """A made-up name."""
        return glue.join(self.rng.choice(NOUNS) for _ in range(count))

    def path(self) -> str:
        """A source file, relative to its project."""
        rng = self.rng
        top, ending = rng.choice((("src", "py"), ("src", "ts"), ("crates", "rs"), ("internal", "go"), ("tests", "py")))
        return f"{top}/{rng.choice(NOUNS)}/{rng.choice(VERBS)}_{rng.choice(NOUNS)}.{ending}"
