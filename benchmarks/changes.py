"""What people, bots and agents do to made-up files: one function for each kind of change, over a draft of a tree."""

import re
from collections import deque
from collections.abc import Callable
from random import Random

from benchmarks.made_code import BACK, COPIED_SHARE, COUNTED, EDITED, MOVED, SUFFIX, Block, Coder, File, reindented

HOT, WORKS = 60, 12
LARGE = 30
LANGUAGES = ("py", "ts", "go")
Tree = dict[str, File]


class Draft:
    """A tree and what a commit is about to change in it."""

    def __init__(self, tree: Tree, fixed: frozenset[str] = frozenset()) -> None:
        self.tree, self.fixed = tree, fixed
        self.changed: dict[str, File | None] = {}
        self.renamed: dict[str, str] = {}

    def get(self, path: str) -> File | None:
        return self.changed[path] if path in self.changed else self.tree.get(path)

    def put(self, path: str, file: File | None) -> None:
        self.changed[path] = file

    def may_go(self, path: str) -> bool:
        """Whether nobody else is at work on the file, so that it may be renamed or deleted."""
        return path not in self.fixed


class Hands:
    """Makes changes; knows which blocks are new, for new code is changed more often than old."""

    def __init__(self, rng: Random, coder: Coder, modules: int, heat: float) -> None:
        self.rng, self.coder, self.heat = rng, coder, heat
        self.modules = [(coder.word(), LANGUAGES[at % len(LANGUAGES)]) for at in range(modules)]
        self.hot: deque[int] = deque(maxlen=HOT)
        """Blocks that were written lately."""
        self.works: deque[list[int]] = deque(maxlen=WORKS)
        """The same by who wrote them: the blocks of one commit of an agent."""
        self.where: dict[int, str] = {}
        self.buried: deque[tuple[str, Block]] = deque(maxlen=12)
        self.paths: list[str] = []
        """Code and tests on the main branch, some of them gone."""

    # --- where ------------------------------------------------------------------------------

    def target(self, draft: Draft) -> tuple[str, File, Block] | None:
        """A function to change."""
        if self.hot and self.rng.random() < self.heat:
            found = self.find(draft, self.rng.choice(self.hot))
            if found:
                return found
        for _ in range(20):
            path = self.rng.choice(self.paths)
            file = draft.get(path)
            if file and len(file.blocks) > 1:
                return path, file, self.rng.choice(file.blocks[1:])
        return None

    def find(self, draft: Draft, id: int) -> tuple[str, File, Block] | None:
        path = self.where.get(id, "")
        file = draft.get(path)
        block = next((one for one in file.blocks if one.id == id), None) if file else None
        return (path, file, block) if file and block else None

    def work(self, draft: Draft) -> list[tuple[str, File, Block]]:
        """What an agent wrote lately, as far as it stands."""
        if not self.works:
            return []
        return [found for block in self.rng.choice(self.works) if (found := self.find(draft, block))]

    def new_path(self, module: str, lang: str, kind: str) -> str:
        name = self.coder.word(4)
        top = {"code": "src", "test": "tests"}[kind]
        stem = f"test_{name}" if kind == "test" and lang == "py" else name
        return f"{top}/{module}/{stem}{'_test' if kind == 'test' and lang == 'go' else ''}{SUFFIX[lang]}"

    def home(self, draft: Draft, kind: str) -> tuple[str, File]:
        """A file for new functions, made where need be."""
        for _ in range(12):
            path = self.rng.choice(self.paths) if self.paths else ""
            file = draft.get(path)
            if file and file.kind == kind and len(file.blocks) < LARGE and self.rng.random() < 0.8:
                return path, file
        module, lang = self.rng.choice(self.modules)
        path = self.new_path(module, lang, kind)
        self.paths.append(path)
        return path, File(kind, lang, (self.coder.head(lang),))

    # --- writing ----------------------------------------------------------------------------

    def add(self, draft: Draft, count: int = 1, kind: str = "code") -> str:
        path, file = self.home(draft, kind)
        for _ in range(count):
            block = self.function(file)
            at = self.rng.randint(1, len(file.blocks))
            file = file._replace(blocks=(*file.blocks[:at], block, *file.blocks[at:]))
            self.hot.append(block.id)
            self.where[block.id] = path
        draft.put(path, file)
        return f"Add {block.name}"

    def function(self, file: File) -> Block:
        """A new one, or a changed copy of one that stands in the file."""
        if len(file.blocks) > 1 and self.rng.random() < COPIED_SHARE:
            return self.coder.copy(self.rng.choice(file.blocks[1:]), file.lang)
        return self.coder.function(file.lang, file.kind == "test")

    def edit(self, draft: Draft) -> str:
        found = self.target(draft)
        if not found:
            return ""
        path, file, block = found
        share = self.rng.uniform(0.1, 0.6)
        lines = [self.coder.edited(line) if self.rng.random() < share else line for line in block.lines]
        draft.put(path, file.with_block(block._replace(lines=tuple(lines))))
        return f"Adjust {block.name}"

    def replace(self, draft: Draft, whole: bool = False) -> str:
        found = self.target(draft)
        if not found:
            return ""
        path, file, block = found
        draft.put(path, file.with_block(self.rewritten(file, block, 1.0 if whole else self.rng.uniform(0.2, 0.9))))
        return f"Rewrite {block.name}"

    def rewrite(self, draft: Draft) -> str:
        return self.replace(draft, whole=True)

    def rewritten(self, file: File, block: Block, share: float) -> Block:
        """A stretch of the body gives way to other statements; the first and the last line stay."""
        body = block.lines[1:-1] if file.lang != "py" else block.lines[1:]
        if not body:
            return block
        size = max(1, round(len(body) * share))
        at = self.rng.randint(0, len(body) - size)
        new = self.coder.unlike(file.lang, max(1, size + self.rng.randint(-2, 3)), body[at : at + size])
        tail = block.lines[1 + len(body) :]
        return block._replace(lines=(block.lines[0], *body[:at], *new, *body[at + size :], *tail))

    def delete(self, draft: Draft) -> str:
        found = self.target(draft)
        if not found or len(found[1].blocks) < 3:
            return ""
        path, file, block = found
        self.buried.append((path, block))
        draft.put(path, file.without(block.id))
        return f"Drop {block.name}"

    def bring_back(self, draft: Draft) -> str:
        """A function that was deleted comes back as it was."""
        path, block = self.buried.pop() if self.buried else ("", None)
        file = draft.get(path)
        if not file or not block or any(one.id == block.id for one in file.blocks):
            return ""
        lines = tuple(line.after(BACK, self.coder.number()) for line in block.lines)
        draft.put(path, file._replace(blocks=(*file.blocks, block._replace(lines=lines))))
        return f"Bring back {block.name}"

    def redo(self, draft: Draft) -> str:
        """Some or all of what an agent wrote lately is rewritten or dropped."""
        share, name = self.rng.uniform(0.3, 1.3), ""
        for _, _, block in self.work(draft):
            path, file, _ = self.find(draft, block.id) or ("", None, None)
            if file and self.rng.random() < share:
                drop = self.rng.random() < 0.3 and len(file.blocks) > 2
                draft.put(path, file.without(block.id) if drop else file.with_block(self.rewritten(file, block, 1.0)))
                name = block.name
        return f"Redo {name}"

    def refine(self, draft: Draft) -> str:
        """What an agent wrote lately is edited in place, line by line."""
        share, name = self.rng.uniform(0.1, 0.6), ""
        for _, _, block in self.work(draft):
            path, file, _ = self.find(draft, block.id) or ("", None, None)
            if file:
                lines = (self.coder.edited(line) if self.rng.random() < share else line for line in block.lines)
                draft.put(path, file.with_block(block._replace(lines=tuple(lines))))
                name = block.name
        return f"Refine {name}"

    # --- moving -----------------------------------------------------------------------------

    def carried(self, block: Block) -> Block:
        return block._replace(lines=tuple(line.after(MOVED, self.coder.number()) for line in block.lines))

    def move(self, draft: Draft) -> str:
        """A function changes its place in its file."""
        found = self.target(draft)
        if not found or len(found[1].blocks) < 4:
            return ""
        path, file, block = found
        rest = [one for one in file.blocks if one.id != block.id]
        at = 1 if file.blocks.index(block) > len(rest) // 2 else len(rest)
        draft.put(path, file._replace(blocks=(*rest[:at], self.carried(block), *rest[at:])))
        return f"Move {block.name} to its friends"

    def move_across(self, draft: Draft) -> str:
        """A function goes to another file of its language."""
        found = self.target(draft)
        if not found or len(found[1].blocks) < 3:
            return ""
        path, file, block = found
        for other in self.rng.sample(self.paths, min(20, len(self.paths))):
            there = draft.get(other)
            if there and other != path and (there.kind, there.lang) == (file.kind, file.lang):
                draft.put(path, file.without(block.id))
                draft.put(other, there._replace(blocks=(*there.blocks, self.carried(block))))
                self.where[block.id] = other
                return f"Move {block.name} to {other}"
        return ""

    def extract(self, draft: Draft) -> str:
        """Several functions go to a new file."""
        found = self.target(draft)
        if not found or len(found[1].blocks) < 5:
            return ""
        path, file, _ = found
        gone = file.blocks[-(len(file.blocks) // 2) :]
        new = self.new_path(path.split("/")[1], file.lang, file.kind)
        self.paths.append(new)
        draft.put(path, file._replace(blocks=file.blocks[: -len(gone)]))
        self.where.update({block.id: new for block in gone})
        moved = tuple(self.carried(block) for block in gone)
        draft.put(new, File(file.kind, file.lang, (self.coder.head(file.lang), *moved)))
        return f"Extract {new}"

    def rename(self, draft: Draft) -> str:
        found = self.target(draft)
        if not found or not draft.may_go(found[0]):
            return ""
        path, file, _ = found
        new = self.new_path(path.split("/")[1], file.lang, file.kind)
        self.paths.append(new)
        draft.put(path, None)
        draft.put(new, file)
        draft.renamed[path] = new
        self.where.update({block.id: new for block in file.blocks})
        return f"Rename {path} to {new}"

    def remove_file(self, draft: Draft) -> str:
        found = self.target(draft)
        if not found or not draft.may_go(found[0]) or len(found[1].blocks) > 6:
            return ""
        draft.put(found[0], None)
        return f"Remove {found[0]}"

    # --- form -------------------------------------------------------------------------------

    def reindent(self, draft: Draft) -> str:
        found = self.target(draft)
        if not found:
            return ""
        draft.put(found[0], reindented(found[1]))
        return f"Format {found[0]}"

    def rewrap(self, draft: Draft) -> str:
        found = self.target(draft)
        if not found:
            return ""
        path, file, block = found
        lines = [new for line in block.lines for new in self.coder.wrapped(line)]
        draft.put(path, file.with_block(block._replace(lines=tuple(lines))))
        return f"Wrap long lines of {block.name}"

    def rename_symbol(self, draft: Draft) -> str:
        """A word that several lines of a module use is called otherwise."""
        found = self.target(draft)
        if not found:
            return ""
        path, file, block = found
        words = re.findall(r"\b[a-z]{5,}\b", " ".join(line.text for line in block.lines))
        if not words:
            return ""
        old, new = self.rng.choice(words), self.coder.word(4)
        draft.put(path, file._replace(blocks=tuple(self.renamed(one, old, new) for one in file.blocks)))
        return f"Call {old} {new}"

    def renamed(self, block: Block, old: str, new: str) -> Block:
        word = re.compile(rf"\b{old}\b")
        lines = (
            line.after(EDITED, self.coder.number(), word.sub(new, line.text)) if word.search(line.text) else line
            for line in block.lines
        )
        return block._replace(lines=tuple(lines))

    # --- what doesn't count -----------------------------------------------------------------

    def prose(self, draft: Draft) -> str:
        name = f"docs/{self.rng.choice(self.modules)[0]}.md"
        texts = [" ".join(self.coder.word() for _ in range(9)) + "." for _ in range(self.rng.randint(2, 12))]
        file = draft.get(name) or File("docs", "md", (self.coder.block("", [f"# {name}"]),))
        kept = file.blocks[-12:] if self.rng.random() < 0.6 else file.blocks[:1]
        draft.put(name, file._replace(blocks=(*kept, self.coder.block("", texts))))
        return f"Document {name}"

    def lock(self, draft: Draft) -> str:
        name = self.rng.choice(("package-lock.json", "uv.lock", "go.sum"))
        texts = [f'  "{self.coder.word()}": "{self.rng.randrange(9)}.{self.rng.randrange(40)}.0",' for _ in range(25)]
        draft.put(name, File("lock", "", (self.coder.block("", ["{", *texts, "}"]),)))
        return f"Bump {self.coder.word()} to {self.rng.randrange(9)}.{self.rng.randrange(40)}"

    def config(self, draft: Draft) -> str:
        texts = [f"{self.coder.word()}: {self.rng.randrange(99)}" for _ in range(8)]
        draft.put(".github/workflows/check.yml", File("config", "", (self.coder.block("", texts),)))
        return "Tune the checks"

    def vendored(self, draft: Draft) -> str:
        made = self.coder.file("ts", "vendored", 5)
        draft.put(f"vendor/{self.rng.choice(self.modules)[0]}/index.ts", made)
        return "Update vendored code"

    def generated(self, draft: Draft) -> str:
        made = self.coder.file("py", "generated", 6)
        head = self.coder.block("", ["# Generated by the protocol buffer compiler.  DO NOT EDIT!"])
        draft.put(f"src/{self.modules[0][0]}/{self.modules[0][0]}_pb2.py", made._replace(blocks=(head, *made.blocks)))
        return "Generate again"


def of_people(hands: Hands) -> dict[Callable[[Draft], str], float]:
    """What people do, and how often."""
    return {
        hands.edit: 22, hands.add: 14, hands.replace: 9, hands.rewrite: 7, hands.redo: 16, hands.refine: 5,
        hands.delete: 5, hands.bring_back: 2, hands.move: 4, hands.move_across: 4, hands.extract: 1.5,
        hands.rename: 2.5, hands.remove_file: 0.7, hands.reindent: 3, hands.rewrap: 2, hands.rename_symbol: 3,
        hands.prose: 8, hands.config: 2, hands.vendored: 0.7, hands.generated: 1,
    }  # fmt: skip


def counted(file: File | None) -> bool:
    return file is not None and file.kind in COUNTED
