"""The rules as data: bounded, documented, lazy, and the same with every engine."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from re import _parser as parser

import pytest

from assay.sessions import redaction
from assay.sessions.redaction import RedactionOptions, Redactor, finder, rulebook
from assay.sessions.redaction.checks import CHECKS
from assay.sessions.redaction.finder import SecretFinder
from tests.sessions.redaction_secrets import SHAPES, placed, secrets
from tests.tables import each_row

ROOT = Path(__file__).parents[2]
INSTALLED = [name for name in finder.ENGINES if finder.import_engine(name)]
ALL = RedactionOptions(email=True, home=True, hosts=True)
RULES = [pytest.param(rule, id=f"{rule.kind}-{rule.rank}") for rule in rulebook.load_rules()]


def unbounded(pattern: object) -> bool:
    """Whether anything in a parsed pattern may repeat without end."""
    if isinstance(pattern, parser.SubPattern | list):
        return any(unbounded(one) for one in pattern)
    if isinstance(pattern, tuple):
        if len(pattern) == 2 and str(pattern[0]) in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least_most = pattern[1]
            return least_most[1] is parser.MAXREPEAT or unbounded(least_most[2])
        return any(unbounded(one) for one in pattern)
    return False


def test_an_endless_repetition_would_be_noticed():
    assert unbounded(parser.parse("a(?:b|[cd]+)"))
    assert not unbounded(parser.parse("a(?:b|[cd]{1,9})"))


@each_row("rule", RULES)
def test_every_repetition_has_an_end(rule: rulebook.RedactionRule):
    assert not unbounded(parser.parse(rule.build_pattern()))
    assert not unbounded(parser.parse(rulebook.fill_pieces(rule.each)))


@each_row("rule", RULES)
def test_a_rule_has_one_pattern_a_word_and_a_check_that_exists(rule: rulebook.RedactionRule):
    assert sum(map(bool, (rule.match, rule.after, rule.value))) == 1
    assert rule.words
    assert rule.check in CHECKS
    assert rule.pattern
    assert re.fullmatch("[a-z][a-z0-9-]*[a-z]", rule.kind)
    assert ("block" in rule.pattern.groupindex) == bool(rule.each)


def test_every_kind_has_a_shape_and_every_shape_a_kind():
    assert {rule.kind for rule in rulebook.load_rules() if not rule.option} == set(SHAPES)


def test_a_kind_says_what_it_is_once():
    said = [rule.kind for rule in rulebook.load_rules() if rule.what]
    assert sorted(said) == sorted({rule.kind for rule in rulebook.load_rules()})


def test_the_page_lists_every_kind():
    page = (ROOT / "docs/concepts/redaction.md").read_text("utf-8")
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| (.+) \|$", page, re.MULTILINE)
    assert listed == [(rule.kind, rule.what) for rule in rulebook.load_rules() if rule.what]


def test_the_page_counts_right():
    page = (ROOT / "docs/concepts/redaction.md").read_text("utf-8")
    kinds = {rule.kind for rule in rulebook.load_rules() if not rule.option}
    assert f"{len(kinds)} kinds" in page


# --- engines ----------------------------------------------------------------------------------


def test_the_fast_engine_is_installed_here():
    assert "re" in INSTALLED
    assert len(INSTALLED) > 1, "install hyperscan or google-re2 to compare engines"


@pytest.mark.long
@pytest.mark.parametrize("engine", INSTALLED[1:])
@pytest.mark.parametrize("options", [RedactionOptions(), ALL], ids=["secrets", "everything"])
def test_every_engine_finds_the_same(engine: str, options: RedactionOptions):
    first, other = SecretFinder(options, INSTALLED[0]), SecretFinder(options, engine)
    texts = [text for secret in secrets(3) for _, text, _ in placed(secret)]
    texts += ["TokenTOKENtoken=", "密码password=Xk29!qpz", "\ud800", "", "a" * 100, "://://@@.com.com::::"]
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        assert first.gate(raw) == other.gate(raw)
        assert first.find_spans(raw) == other.find_spans(raw)


@pytest.mark.parametrize("engine", INSTALLED)
def test_a_word_across_two_portions_is_found_once(engine: str, monkeypatch: pytest.MonkeyPatch):
    finder = SecretFinder(RedactionOptions(), engine)
    text = next(one for one in secrets(4) if one.kind == "github-token").text
    whole = f"{'a ' * 50}{text} {'b ' * 50}".encode()
    wanted = finder.find_spans(whole)
    assert len(wanted) == 1
    for size in range(90, 110):
        monkeypatch.setattr("assay.sessions.redaction.finder.PORTION", size)
        assert finder.find_spans(whole) == wanted


def test_an_engine_that_cannot_compile_makes_room_for_the_next():
    class Broken(Exception):
        pass

    class Library:
        HS_MODE_BLOCK = HS_FLAG_CASELESS = 0
        HyperscanError = Broken

        def Database(self, mode: int) -> None:  # noqa: N802
            raise Broken

    assert finder.build_hyperscan_gate(Library(), [finder.GateWord(b"x", caseless=False)]) is None  # type: ignore[arg-type]


def test_threads_do_not_disturb_each_other():
    texts = [f"{one.text} {n}" for n, one in enumerate(secrets(5))] * 3
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: Redactor().text(text), texts)) == [Redactor().text(text) for text in texts]


# --- cost -------------------------------------------------------------------------------------


def test_importing_it_reads_no_rule_and_loads_no_engine():
    code = (
        "import sys; from assay.sessions import redaction; from assay.sessions.redaction import rulebook;"
        "redaction.Redactor();"
        "print(sorted({'hyperscan', 're2'} & set(sys.modules)), rulebook.load_rules.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] 0"


def test_the_version_changes_with_a_rule(monkeypatch: pytest.MonkeyPatch):
    before = redaction.hash_rules()
    assert re.fullmatch("[0-9a-f]{12}", before)
    monkeypatch.setattr(rulebook, "read_files", lambda: {"keys": "[[x]]"})
    assert rulebook.hash_rules.__wrapped__() != before
