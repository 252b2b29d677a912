"""A public-style git history, made up from a seed: `python -m benchmarks.history OUT --commits 600 --seed 1`.

Modules in three languages, people, bots and agents; branches that are merged, squashed, rebased or forgotten; reverts,
renames, re-indents, symbol renames, moved blocks, rewrites, documents, lock files and vendored code. The same
arguments give the same commit ids. It also knows which session wrote which lines and what became of each of them.
"""

import argparse
import heapq
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Mapping, Set
from pathlib import Path
from random import Random

from benchmarks.changes import Draft, Hands, Tree, counted, of_people
from benchmarks.chronicle import Branch, History, Session, combined
from benchmarks.fast_import import Author, Commit, Importer
from benchmarks.made_code import BACK, COUNTED, EDITED, FATES, GONE, HAS_TWIN, WRAPPED, Coder, File, Line, squeezed

BEGAN = 1_641_204_000.0  # 3 January 2022, 10:00 UTC
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
WINDOW_DAYS = 14
COMMITS_OF_A_SESSION = 2.3  # as its own and others' commits, squashes and merges turn out
LANDINGS = {"direct": 45.0, "merge": 25.0, "squash": 17.0, "rebase": 9.0, "never": 4.0}
TRAILER = "\n\nCo-Authored-By: Claude <noreply@anthropic.com>"
Actor = Generator[float, None, None]


class World:
    def __init__(self, repo: Path, seed: int, commits: int, days: float, sessions: int) -> None:
        self.rng = Random(seed)
        self.exact = commits <= 5000
        modules = 6 if self.exact else commits // 600
        self.coder = Coder(self.rng, self.exact)
        self.hands = Hands(self.rng, self.coder, modules, heat=0.6)
        self.importer = Importer(repo)
        self.gap = days * DAY / max(1, commits - COMMITS_OF_A_SESSION * sessions)
        """Between two commits of people and bots."""
        self.pace, self.most = 0.93 * days * DAY / sessions, sessions
        self.people = [self.person() for _ in range(6 + commits // 100)]
        self.bots = [Author(f"{name}[bot]", f"{name}[bot]@users.noreply.example", "bot") for name in ("bump", "fmt")]
        self.main = Branch("refs/heads/main", {}, {}, 0)
        self.open: list[Branch] = []
        self.renamed: dict[str, str] = {}
        self.sessions: list[Session] = []
        self.due: list[tuple[float, int]] = []
        """Sessions whose window is running: its end, and their place in the list."""
        self.resolved: set[int] = set()
        """Numbers of lines that went in the resolution of a merge."""
        self.journal: deque[tuple[int, str, dict[str, tuple[File | None, File | None]]]] = deque(maxlen=30)
        self.now, self.branches = BEGAN, 0

    def person(self) -> Author:
        name = f"{self.coder.word().title()} {self.coder.word(4).title()}"
        return Author(name, f"{name.split()[0].lower()}@example.test", "person")

    # --- commits ----------------------------------------------------------------------------

    def commit(self, branch: Branch, draft: Draft, author: Author, message: str, authored: float | None = None) -> int:
        """Put a draft on a branch; nothing happens when it changes nothing."""
        changed = {path: file for path, file in draft.changed.items() if file != branch.tree.get(path)}
        if not changed:
            return 0
        if branch is self.main:
            self.look_back()
        before = {path: branch.tree.get(path) for path in changed}
        files = {path: file.text() if file else None for path, file in changed.items()}
        parents = [branch.tip] if branch.tip else []
        mark = self.importer.commit(Commit(branch.ref, author, self.now, message, parents, files, authored))
        if branch is self.main:
            self.renamed.update(draft.renamed)
            self.journal.append((mark, message, {path: (before[path], file) for path, file in changed.items()}))
        else:
            known = {path: file for path, file in before.items() if file}
            branch.steps.append((known, changed, author, message, self.now))
            branch.touched.update(changed)
        self.apply(branch, changed)
        branch.tip = mark
        return mark

    @staticmethod
    def apply(branch: Branch, changed: Mapping[str, File | None]) -> None:
        for path, file in changed.items():
            if file is None:
                branch.tree.pop(path, None)
            else:
                branch.tree[path] = file

    def draft(self, branch: Branch) -> Draft:
        fixed = frozenset(path for one in self.open for path in one.touched)
        return Draft(branch.tree, fixed)

    # --- what everybody does ----------------------------------------------------------------

    def background(self) -> Actor:
        """People and bots on the main branch; now and then an agent begins."""
        changes = of_people(self.hands)
        while True:
            yield self.rng.expovariate(1 / self.gap)
            if self.rng.random() < 0.07:
                draft = self.draft(self.main)
                said = self.rng.choice((self.hands.lock, self.hands.lock, self.hands.reindent))(draft)
                if said:
                    self.commit(self.main, draft, self.rng.choice(self.bots), said)
                continue
            if self.rng.random() < 0.02 and self.revert():
                continue
            draft = self.draft(self.main)
            said = self.rng.choices(list(changes), list(changes.values()))[0](draft)
            if said:
                self.commit(self.main, draft, self.rng.choice(self.people), said)

    def revert(self) -> bool:
        """`git revert` of a recent commit whose files nobody touched since."""
        for mark, message, files in sorted(self.journal, key=lambda _: self.rng.random()):
            if any(self.main.tree.get(path) is not after for path, (_, after) in files.items()):
                continue
            if message.startswith("Revert") or not any(counted(after) for _, after in files.values()):
                continue
            draft = self.draft(self.main)
            for path, (before, after) in files.items():
                draft.put(path, self.restored(before, after))
            subject = message.split("\n")[0]
            text = f'Revert "{subject}"\n\nThis reverts commit {self.importer.id_of(mark)}.\n'
            for session in self.sessions:
                if mark in session.landed and self.now <= session.landed_at + WINDOW_DAYS * DAY:
                    session.is_reverted = True
            return bool(self.commit(self.main, draft, self.rng.choice(self.people), text))
        return False

    def restored(self, before: File | None, after: File | None) -> File | None:
        """The file as it was; lines that were gone come back under a new hand."""
        if before is None or after is None:
            return before
        here = {pair[0] for pair in after.roots()}

        def line(one: Line) -> Line:
            return one if one.past[-1][0] in here else one.after(BACK, self.coder.number())

        blocks = (block._replace(lines=tuple(map(line, block.lines))) for block in before.blocks)
        return before._replace(blocks=tuple(blocks))

    # --- agents -----------------------------------------------------------------------------

    def session(self) -> Actor:
        """One session, sometimes two that share their commits: a few commits, then they reach the main branch."""
        landing = self.rng.choices(list(LANDINGS), list(LANDINGS.values()))[0]
        branch = self.main if landing == "direct" else self.fork()
        began = self.now - self.rng.uniform(10, 60) * MINUTE
        group = [self.new_session(began, landing) for _ in range(2 if self.rng.random() < 0.05 else 1)]
        author, is_long = self.rng.choice(self.people), self.rng.random() < 0.03
        for _ in range(4 if is_long else self.rng.choice((1, 1, 1, 2, 2, 3))):
            self.work(group, branch, author, 10 if is_long else 0)
            yield self.rng.uniform(5, 90) * MINUTE
        if landing != "direct":
            if self.rng.random() < 0.25:
                draft = self.draft(branch)
                said = self.hands.edit(draft) if self.rng.random() < 0.5 else self.hands.replace(draft)
                self.commit(branch, draft, self.rng.choice(self.people), f"Review: {said}")
            yield self.rng.uniform(0.5, 60) * HOUR
            self.land(group, branch, author)
        for session in group:
            if session.landed:
                session.twins = self.twins() if self.exact else set()
                heapq.heappush(self.due, (session.landed_at + WINDOW_DAYS * DAY, session.number))

    def new_session(self, began: float, landing: str) -> Session:
        session = Session(f"{self.rng.getrandbits(128):032x}", len(self.sessions), began, landing=landing)
        self.sessions.append(session)
        return session

    def fork(self) -> Branch:
        self.branches += 1
        ref = f"refs/heads/agent/{self.coder.word()}-{self.branches}"
        branch = Branch(ref, dict(self.main.tree), dict(self.main.tree), self.main.tip, number=self.branches)
        self.open.append(branch)
        return branch

    def work(self, group: list[Session], branch: Branch, author: Author, size: int) -> None:
        """One commit of a session or two, at times with lines of a person in it."""
        draft, said = self.draft(branch), ""
        made: list[set[int]] = []
        for session in group:
            first, before = self.coder.numbers, set(session.counted)
            said = self.write(draft, size)
            self.own(session, draft, first)
            made.append(session.counted.keys() - before)
        if self.rng.random() < 0.2:
            self.hands.add(draft)
        mark = self.commit(branch, draft, author, said + (TRAILER if self.rng.random() < 0.7 else ""))
        for session, lines in zip(group, made, strict=True) if mark else ():
            session.noted.append(mark)
            session.made.append(lines)
            session.ended = self.now + MINUTE
            if branch is self.main:
                self.has_landed(session, mark, lines)

    def write(self, draft: Draft, size: int) -> str:
        dice, hands = self.rng.random, self.hands
        first = self.coder.numbers
        said = hands.add(draft, size or self.rng.choice((1, 1, 2, 2, 3, 4)))
        if dice() < 0.5:
            hands.add(draft, size or self.rng.choice((1, 2, 3)), "test")
        hands.works.append([block for block in hands.hot if block > first])
        for share, change in ((0.3, hands.edit), (0.2, hands.rewrite), (0.15, hands.prose), (0.04, hands.lock)):
            if dice() < share:
                change(draft)
        return said

    def own(self, session: Session, draft: Draft, first: int) -> None:
        """The lines written since number `first` are the session's; what it changed of its own is so no more."""
        for path, file in draft.changed.items():
            for line in (line for block in file.blocks for line in block.lines) if file else ():
                if line.past[-1][0] > first:
                    self.drop(session, {root for root, _ in line.past[:-1]})
                    session.lines.setdefault(path, {})[line.past[-1][0]] = line.text
                    if file and file.kind in COUNTED:
                        session.counted[line.past[-1][0]] = path
            old = draft.tree.get(path)
            if old:
                here = {root for root, _ in file.roots()} if file else set()
                self.drop(session, {root for root, _ in old.roots()} - here)

    @staticmethod
    def drop(session: Session, roots: set[int]) -> None:
        for root in session.counted.keys() & roots:
            del session.counted[root]
        session.reached &= session.counted.keys()
        for lines in session.lines.values():
            for root in lines.keys() & roots:
                del lines[root]

    def has_landed(self, session: Session, mark: int, lines: set[int]) -> None:
        """A commit holds these lines; what the session has taken back meanwhile is not among them."""
        session.landed.append(mark)
        session.landed_at = self.now
        session.steps.append(session.counted.keys() & lines)
        session.reached |= session.steps[-1]

    # --- landing ----------------------------------------------------------------------------

    def land(self, group: list[Session], branch: Branch, author: Author) -> None:
        self.open.remove(branch)
        landing = group[0].landing
        if landing == "never" or not branch.steps:
            return
        if landing == "merge":
            self.merge(branch, author)
            for session in group:
                for mark, lines in zip(session.noted, session.made, strict=True):
                    self.has_landed(session, mark, lines)
        elif landing == "squash":
            draft = self.draft(self.main)
            self.combine(draft, branch.base, branch.tree, branch.touched)
            subject, _, body = branch.steps[0][3].partition("\n")
            message = f"{subject} (#{branch.number})\n{body}"
            mark = self.commit(self.main, draft, author, message)
            files = filter(None, draft.changed.values())
            reached = {root for file in files for root, marks in file.roots() if not marks & (EDITED | WRAPPED)}
            for session in group if mark else ():
                session.pull = branch.number
                self.has_landed(session, mark, reached)
        else:
            self.rebase(group, branch)
        self.importer.forget(branch.ref)

    def merge(self, branch: Branch, author: Author) -> None:
        self.look_back()
        draft = self.draft(self.main)
        before = {root for path in branch.touched if (file := self.main.tree.get(path)) for root, _ in file.roots()}
        self.combine(draft, branch.base, branch.tree, branch.touched)
        self.note_resolved(branch, draft, before)
        files = {path: file.text() if file else None for path, file in draft.changed.items()}
        name = branch.ref.removeprefix("refs/heads/")
        commit = Commit(self.main.ref, author, self.now, f"Merge branch '{name}'", [self.main.tip, branch.tip], files)
        mark = self.importer.commit(commit)
        self.apply(self.main, draft.changed)
        self.main.tip = mark

    def note_resolved(self, branch: Branch, draft: Draft, before: set[int]) -> None:
        """Lines that neither side had deleted, and that the merge lost."""
        after = {root for file in draft.changed.values() if file for root, _ in file.roots()}
        base = {root for path in branch.touched if (file := branch.base.get(path)) for root, _ in file.roots()}
        theirs = {root for path in branch.touched if (file := branch.tree.get(path)) for root, _ in file.roots()}
        self.resolved |= (before - after) - (base - theirs)
        self.resolved |= (theirs - base) - after

    def rebase(self, group: list[Session], branch: Branch) -> None:
        """Each commit of the branch again on top of the main branch, under a new id."""
        for number, (before, changed, author, message, at) in enumerate(branch.steps):
            draft = self.draft(self.main)
            after = {**before, **{path: file for path, file in changed.items() if file}}
            self.combine(draft, before, after, set(changed))
            mark = self.commit(self.main, draft, author, message, authored=at)
            for session in group if mark and number < len(group[0].made) else ():
                self.has_landed(session, mark, session.made[number])

    def combine(self, draft: Draft, base: Tree, theirs: Tree, paths: set[str]) -> None:
        """Three-way merge by blocks; where both sides changed a block theirs stays."""
        for path in sorted(paths):
            here = path
            while here not in self.main.tree and here in self.renamed:
                here = self.renamed[here]
            ours, old, new = self.main.tree.get(here), base.get(path), theirs.get(path)
            if ours is None and old is not None:
                continue
            if ours is None or ours is old or new is None:
                draft.put(here, new)
            else:
                draft.put(here, combined(old, ours, new))

    # --- the end of windows -----------------------------------------------------------------

    def look_back(self) -> None:
        """Note what has become of the lines of sessions whose window has ended, before the main branch moves on."""
        while self.due and self.due[0][0] < self.now:
            session = self.sessions[heapq.heappop(self.due)[1]]
            if not self.exact:
                continue
            alive = {root: marks for line in self.lines() for root, marks in line.past}
            texts = session.twins | {squeezed(line.text) for line in self.lines()}
            wrote = {root: text for here in session.lines.values() for root, text in here.items()}
            session.fates = {root: self.fate(root, wrote[root], alive, texts) for root in sorted(session.reached)}

    def lines(self) -> Iterator[Line]:
        """All code and tests on the main branch."""
        counted_files = (file for file in self.main.tree.values() if file.kind in COUNTED)
        return (line for file in counted_files for block in file.blocks for line in block.lines)

    def twins(self) -> set[str]:
        """Lines that stand there more than once."""
        counts = Counter(squeezed(line.text) for line in self.lines())
        return {text for text, count in counts.items() if count > 1}

    def fate(self, root: int, text: str, alive: Mapping[int, int], texts: Set[str]) -> str:
        if root in alive:
            return next((name for bit, name in FATES.items() if alive[root] & bit), "kept")
        if root in self.resolved:
            return "lost in a merge"
        return HAS_TWIN if squeezed(text) in texts else GONE


def make(repo: Path, commits: int = 600, seed: int = 1, days: float = 0, sessions: int = 0) -> History:
    """Write the history; it ends with the commit that makes the number full."""
    world = World(repo, seed, commits, days or commits / 3, sessions or commits // 6)
    draft = Draft({})
    for module, lang in world.hands.modules:
        for kind in ("code", "code", "test"):
            path = world.hands.new_path(module, lang, kind)
            world.hands.paths.append(path)
            draft.put(path, world.coder.file(lang, kind, 6))
    world.commit(world.main, draft, world.people[0], "Begin")
    actors: list[tuple[float, int, Actor]] = []
    serial = 0
    heapq.heappush(actors, (BEGAN, 0, world.background()))
    next_session = BEGAN + DAY
    while world.importer.marks < commits:
        if next_session < actors[0][0] and len(world.sessions) < world.most:
            serial += 1
            heapq.heappush(actors, (next_session, serial, world.session()))
            next_session += world.rng.expovariate(1 / world.pace)
        world.now, number, actor = heapq.heappop(actors)
        wait = next(actor, None)
        if wait is not None:
            heapq.heappush(actors, (world.now + wait, number, actor))
    world.now += 1
    world.look_back()
    return History(repo, world.sessions, world.importer.close(), world.now, commits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--commits", type=int, default=600)
    parser.add_argument("--sessions", type=int, default=0, help="a sixth of the commits unless given")
    parser.add_argument("--days", type=float, default=0, help="three commits a day unless given")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.out.exists() and any(args.out.iterdir()):
        parser.error(f"{args.out} is not empty; name a new folder")
    began = time.perf_counter()
    history = make(args.out, args.commits, args.seed, args.days, args.sessions)
    print(f"{history.commits:,} commits, {len(history.sessions):,} sessions in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
