"""Shell commands are read off their syntax tree and concluded from exit code and output."""

import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.sessions.shell import conclude_runs, find_commit_ids, read_command
from assay.sessions.shell.runs import read_uncached
from assay.types import Run
from tests.sessions.shell_commands import BASH, POWERSHELL
from tests.tables import each_row


def shown(run: Run) -> str:
    return run.program + (f":{run.purpose}" if run.purpose else "") + ("!" if run.mutates else "")


def paths(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(path for run in runs for path in run.paths))


@each_row("row", BASH, ids=lambda row: row[0][:60])
def test_a_bash_command_is_what_the_table_says(row: tuple[Any, ...]) -> None:
    runs = read_command(row[0])
    assert " ".join(map(shown, runs)) == row[1]
    assert len(row) < 3 or paths(runs) == row[2]


@each_row("row", POWERSHELL, ids=lambda row: row[0][:60])
def test_a_powershell_command_is_what_the_table_says(row: tuple[Any, ...]) -> None:
    runs = read_command(row[0], "powershell")
    assert " ".join(map(shown, runs)) == row[1]
    assert len(row) < 3 or paths(runs) == row[2]


TOLD = [
    ("pytest", "exit"),
    ("cd api && pytest", "exit"),
    ("pytest && echo ok", "exit"),
    ("pytest && ruff check", "success success"),
    ("git add -A && git commit -m x", "exit"),
    ("npm test && git commit -m x && git push", "success success success"),
    ("pytest | tail -5", "output"),
    ("cat in.txt | pytest", "exit"),
    ("set -o pipefail; pytest | tail -5", "exit"),
    ("set -euo pipefail\nnpm run build | tee /tmp/log\nnpm test", "success success"),
    ("set -e\ncd api\npytest", "exit"),
    ("set -e; npm run lint; npm test", "success success"),
    ("pytest; ls", "output"),
    ("pytest && ruff check | tail", "exit output"),
    ("pytest && ruff check 2>&1 | tail", "exit output"),
    ("cd api && pytest 2>&1 | tail -3", "output"),
    ("set -o pipefail; pytest && ruff check 2>&1 | tail", "success success"),
    ("pytest && ruff check > /tmp/a 2>&1", "success success"),
    ("ls; pytest", "exit"),
    ("pytest\nruff check", "output exit"),
    ("pytest || true", "output"),
    ("pytest || exit 1", "exit"),
    ("pytest || exit 1; ruff check", "output exit"),
    ("pytest &", "output"),
    ("out=$(pytest)", "output"),
    ("echo $(pytest)", "output"),
    ("for f in a b; do pytest $f; done", "output"),
    ("if pytest; then git push; fi", "output output"),
    ("! pytest", "output"),
    ("(cd api && pytest)", "exit"),
    ("bash -c 'pytest'", "exit"),
    ("bash -c 'pytest; ls'", "output"),
    ("bash -c 'pytest' | tail", "output"),
    ("bash -o pipefail -c 'pytest | tail'", "exit"),
    ("timeout 30 pytest", "exit"),
    ("pytest; exit $?", "exit"),
    ("pytest; code=$?; ls; exit $code", "exit"),
    ("pytest | tail; exit ${PIPESTATUS[0]}", "exit"),
    ("find . -name 'test_*' -exec pytest {} \\;", "output"),
    ("git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"", "exit"),
]


@each_row(("command", "told"), TOLD)
def test_the_exit_code_speaks_only_for_whom_it_can(command: str, told: str) -> None:
    assert " ".join(run.told_by for run in read_command(command) if run.purpose) == told


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("dotnet test; if ($LASTEXITCODE -ne 0) { exit 1 }", "exit"),
        ("dotnet test; Get-Location", "output"),
        ("dotnet build && dotnet test", "success success"),
        ("npm test | Select-Object -Last 5", "output"),
        ("npm test; exit $LASTEXITCODE", "exit"),
    ],
)
def test_powershell_hands_statuses_on_in_its_own_way(command: str, told: str) -> None:
    assert " ".join(run.told_by for run in read_command(command, "powershell") if run.purpose) == told


CONCLUDED = [
    # nothing failed
    (
        "mise run test | tail -5",
        0,
        False,
        "test result: ok. 1711 passed; 0 failed; 3 ignored; finished in 5.20s",
        "passed",
    ),
    ("npm test | tail", 0, False, "  12 passing\n  0 failing", "passed"),
    ("npx playwright test | tail", 0, False, "  0 failed\n  4 passed (3s)", "passed"),
    ("pytest | tail -1", 0, False, "5 passed, 0 failed in 0.12s", "passed"),
    ("npm test | tail", 0, False, "Tests: 0 failed, 5 passed, 5 total", None),
    ("npm test | tail", 0, False, "Tests: 10 failed, 5 passed, 15 total", "failed"),
    ("pytest | tail -1", 0, False, "1 failed, 5 passed in 0.12s", "failed"),
    ("pytest", 0, False, "", "passed"),
    ("pytest", 1, True, "", "failed"),
    ("pytest", None, True, "", "failed"),
    ("pytest", None, False, "", None),
    ("pytest", None, False, "==== 10 passed, 1 skipped in 0.31s ====", "passed"),
    ("pytest && ruff check", 0, False, "", "passed passed"),
    ("pytest && ruff check", 1, True, "3 passed in 0.1s\nFound 2 errors.", "passed failed"),
    ("pytest && ruff check", 1, True, "1 failed, 3 passed in 0.1s", "failed None"),
    ("npm test && git commit -m x", 1, True, "", "None None"),
    ("pytest | tail -3", 0, False, "=== 3 failed, 10 passed in 2.11s ===", "failed"),
    ("pytest | tail -3", 0, False, "=== 10 passed in 2.11s (0:00:02) ===", "passed"),
    ("pytest -q | tail -3", 0, False, "13 passed in 0.02s", "passed"),
    ("pytest | tail -1", 0, False, "", None),
    ("pytest | tail -3", 0, False, "the report said 3 failed", None),
    ("pytest | tail -3", 0, False, "\x1b[31m=== \x1b[1m1 failed\x1b[0m, 2 passed in 0.10s ===\x1b[0m", "failed"),
    ("pytest | tail", 0, False, "= 1 failed in 0.1s =\n= 4 passed in 0.2s =", "passed"),
    ("python -m unittest | cat", 0, False, "Ran 3 tests in 0.001s\n\nFAILED (failures=1)", "failed"),
    ("python -m unittest | cat", 0, False, "Ran 3 tests in 0.001s\n\nOK", "passed"),
    ("npm test | tail", 0, False, "Test Suites: 1 failed, 2 passed, 3 total\nTests:       5 passed, 5 total", "failed"),
    ("npm test | tail", 0, False, "Test Suites: 2 passed, 2 total\nTests:       5 passed, 5 total", "passed"),
    ("npx vitest run | tail", 0, False, " Test Files  1 failed | 3 passed (4)\n      Tests  9 passed (9)", "failed"),
    ("npx vitest run | tail", 0, False, " Test Files  4 passed (4)\n      Tests  9 passed (9)", "passed"),
    ("npx mocha | tail", 0, False, "  3 passing (5ms)\n  1 failing", "failed"),
    ("npx mocha | tail", 0, False, "  3 passing (5ms)", "passed"),
    ("go test ./... | tail", 0, False, "ok  \tx/a\t0.01s\nFAIL\tx/b\t0.02s\nok  \tx/c\t0.01s\nFAIL", "failed"),
    ("go test ./... | tail", 0, False, "ok  \tx/a\t0.01s\nok  \tx/b\t(cached)", "passed"),
    ("cargo test | tail", 0, False, "test result: ok. 3 passed; 0 failed; 0 ignored", "passed"),
    ("cargo test | tail", 0, False, "test result: FAILED. 3 passed; 1 failed", "failed"),
    ("cargo test | tail", 0, False, "error[E0308]: mismatched types\nerror: could not compile `x`", "failed"),
    ("cargo build | tail", 0, False, "    Finished `dev` profile [unoptimized] target(s) in 0.1s", "passed"),
    ("bundle exec rspec | tail", 0, False, "5 examples, 0 failures", "passed"),
    ("bundle exec rspec | tail", 0, False, "5 examples, 2 failures", "failed"),
    ("vendor/bin/phpunit | tail", 0, False, "OK (3 tests, 9 assertions)", "passed"),
    ("vendor/bin/phpunit | tail", 0, False, "FAILURES!\nTests: 3, Assertions: 9, Failures: 1.", "failed"),
    ("dotnet test | tail", 0, False, "Passed!  - Failed:     0, Passed:     3", "passed"),
    ("dotnet test | tail", 0, False, "Failed!  - Failed:     1, Passed:     3", "failed"),
    ("mvn test | tail", 0, False, "[INFO] BUILD SUCCESS", "passed"),
    ("./gradlew test | tail", 0, False, "BUILD FAILED in 3s", "failed"),
    ("./gradlew build | tail", 0, False, "BUILD SUCCESSFUL in 3s", "passed"),
    ("node --test | tail", 0, False, "# pass 3\n# fail 0", "passed"),
    ("bats t | cat", 0, False, "ok 1 starts\nnot ok 2 stops", "failed"),
    ("ctest | tail", 0, False, "100% tests passed, 0 tests failed out of 3", "passed"),
    ("npx tsc --noEmit | head", 0, False, "src/a.ts(1,2): error TS2322: Type 'x'", "failed"),
    ("npx tsc --noEmit | head", 0, False, "", "passed"),
    ("npx tsc --noEmit | grep src/a", 0, False, "", None),
    ("npx eslint . | tail", 0, False, "✖ 3 problems (3 errors, 0 warnings)", "failed"),
    ("npx eslint . | tail", 0, False, "✖ 3 problems (0 errors, 3 warnings)", None),
    ("ruff check | tail", 0, False, "All checks passed!", "passed"),
    ("mypy src | tail", 0, False, "Success: no issues found in 3 source files", "passed"),
    ("mypy src | tail", 0, False, "Found 2 errors in 1 file (checked 3 source files)", "failed"),
    ("ruff check; mypy src; ls", 0, False, "All checks passed!\nFound 2 errors in 1 file", "passed failed"),
    ("mise run lint | tail", 0, False, "[lint:go] 0 issues.\n[lint:go] Finished in 3.34s", "passed"),
    ("mise run lint | tail", 0, False, "[lint:go] 0 issues.\n[lint] ERROR task failed", "failed"),
    ("mise run fmt && mise run lint", 1, True, "[lint] 2 issues:\n[lint] ERROR task failed", "None failed"),
    ("npx tsc --noEmit && npm run build", 1, True, "a.ts(1,2): error TS2322: no", "failed None"),
    ("npm run typecheck && npm run lint", 1, True, "a.ts(1,2): error TS2322: no", "failed None"),
    ("cargo fmt && cargo clippy && cargo test", 101, True, "error: could not compile `x`", "None None None"),
    ("golangci-lint run | tail", 0, False, "0 issues.", "passed"),
    ("make test | tail", 0, False, "make: *** [Makefile:3: test] Error 1", "failed"),
    ("pytest; echo $?", 0, False, "collected\n1", "failed"),
    ('pytest; echo "EXIT: $?"', 0, False, "odd words\nEXIT: 0", "passed"),
    ('pytest > /dev/null 2>&1; echo "exit code: $?"', 0, False, "exit code: 2", "failed"),
    ('pytest | tail -2; echo "EXIT=${PIPESTATUS[0]}"', 0, False, "words\nEXIT=1", "failed"),
    ('pytest | tail -2; echo "EXIT=$?"', 0, False, "words\nEXIT=0", None),
    ("pytest; echo done 0", 0, False, "done 0", None),
    ("git commit -m x; ls", 0, False, "[main 1a2b3c4] x\n 1 file changed", "passed"),
    ("git commit -m x; ls", 0, False, "On branch main\nnothing to commit, working tree clean", "failed"),
    ("git commit -m x", 1, True, "nothing to commit, working tree clean", "failed"),
    (
        "git add a && git commit -m x && git push",
        1,
        True,
        "[main 1a2b3c4] x\n ! [rejected] main -> main",
        "passed failed",
    ),
    ("git push 2>&1 | tail", 0, False, "   1a2b3c4..5d6e7f8  main -> main", "passed"),
    ("git push 2>&1 | tail", 0, False, "error: failed to push some refs to 'x'", "failed"),
    ("gh pr create --fill | cat", 0, False, "/bin/bash: line 1: gh: command not found", "failed"),
    ("gh pr create --fill || true", 0, False, "zsh: command not found: gh", "failed"),
    ("gh pr create --fill", 0, False, "the file was not found, so gh: not found it", "passed"),
    ("gh pr create --fill | cat", 0, False, "https://github.com/acme/shop/pull/12", "passed"),
    ("git reset --hard HEAD~1; ls", 0, False, "HEAD is now at 1a2b3c4 before", "passed"),
    ("git revert HEAD | cat", 0, False, "error: could not revert 1a2b3c4... x", "failed"),
    ("pytest a; pytest b; ls", 0, False, "= 1 failed in 0.1s =\n= 2 passed in 0.1s =", "None passed"),
    ("pytest a; pytest b; ls", 0, False, "= 1 passed in 0.1s =\n= 2 passed in 0.1s =", "passed passed"),
    # of alternatives the first failed if any did, and what passed is told once
    ("pytest || python -m pytest || true", 0, False, "No module named x\n= 2 passed in 0.1s =", "None passed"),
    ("pytest a || pytest b || true", 0, False, "= 1 failed in 0.1s =\n= 2 passed in 0.1s =", "failed passed"),
    ("pytest a || pytest b || true", 0, False, "= 1 failed in 0.1s =", "failed None"),
    ("pytest a || pytest b || pytest c || true", 0, False, "= 2 passed in 0.1s =", "None None passed"),
    ("npm test || pytest || true", 0, False, "= 2 passed in 0.1s =", "None passed"),
    ("pytest a || true", 0, False, "= 1 failed in 0.1s =", "failed"),
    ("pytest a; ruff check || pytest b", 0, False, "= 2 passed in 0.1s =\n= 1 failed in 0.1s =", "None None failed"),
    ("pytest x; pytest a || pytest b", 0, False, "= 1 passed in 0.1s =\n= 1 passed in 0.1s =", "passed passed passed"),
]


@each_row(("command", "code", "failed", "output", "outcome"), CONCLUDED)
def test_a_run_is_concluded_from_what_can_be_known(
    command: str, code: int | None, failed: bool, output: str, outcome: str | None
) -> None:
    concluded = conclude_runs(read_command(command), code, failed, output)
    assert " ".join(str(run.outcome) for run in concluded if run.purpose) == str(outcome)


def test_runs_without_a_purpose_have_no_outcome() -> None:
    runs = read_command("ls && cat a")
    assert conclude_runs(runs, 0, failed=False, output="") == runs


@each_row(
    ("output", "ids"),
    [
        ("[main 1a2b3c4] Add x\n 1 file changed", ("1a2b3c4",)),
        ("[main (root-commit) 1a2b3c4] Begin", ("1a2b3c4",)),
        ("[detached HEAD 1a2b3c4d5] Try", ("1a2b3c4d5",)),
        ("[feat/a-b_c.1 0a1b2c3] x\n[feat/a-b_c.1 4d5e6f7] y\n[feat/a-b_c.1 0a1b2c3] x", ("0a1b2c3", "4d5e6f7")),
        ("hook ok\n[main 1a2b3c4] after hooks", ("1a2b3c4",)),
        ("see [main 1a2b3c4] in the text", ()),
        ("[INFO 1234567] started", ()),
        ("[main 1234567] x\n 1 file changed, 2 insertions(+)", ("1234567",)),
        ("[main 1a2b3c4]", ()),
        ("[2024-01-02 1234567] request", ()),
        ("[worker deadbee] message without a digit", ()),
        ("1a2b3c4 Add x", ()),
        ("", ()),
    ],
)
def test_commit_ids_come_from_git_s_own_lines(output: str, ids: tuple[str, ...]) -> None:
    assert find_commit_ids(output) == ids


PIECES = st.sampled_from([
    "git commit -m x", "&&", "||", "|", ";", "&", "(", ")", "{", "}", "$(", "`", '"', "'", "<<EOF\n", "\nEOF\n", "> f",
    "if", "then", "fi", "for x in", "do", "done", "bash -c", "sudo", "xargs", "python -c", "\\", "\n", "\0", "\ud800",
])  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=25).map(" ".join)), st.sampled_from(["bash", "powershell"]))
def test_any_text_is_read_without_raising_and_always_alike(text: str, dialect: Any) -> None:
    assert read_command(text, dialect) == read_uncached(text, dialect)


@given(st.lists(PIECES, max_size=25).map(" ".join), st.text(), st.sampled_from([None, 0, 1]), st.booleans())
def test_any_output_is_concluded_without_raising(text: str, output: str, code: int | None, failed: bool) -> None:
    runs = read_command(text)
    assert len(conclude_runs(runs, code, failed, output)) == len(runs)


HOSTILE = [
    "(",
    "$(",
    '"',
    "`",
    "a && ",
    "a | ",
    "a; ",
    "bash -c ",
    "sudo ",
    "x",
    "<",
    "<<a ",
    "a=(",
    "[[ ",
    "if ",
    "eval ",
]


@pytest.mark.long
@each_row("piece", HOSTILE)
def test_a_megabyte_of_nonsense_takes_no_more_than_seconds(piece: str) -> None:
    began = time.process_time()
    read_command(piece * (1_000_000 // len(piece)))
    assert time.process_time() - began < 8


def test_a_long_document_does_not_hide_what_follows_it() -> None:
    command = "cat > a.py <<'EOF'\n" + "x = 1\n" * 30_000 + "EOF\ngit add a.py && git commit -m x"
    assert [shown(run) for run in read_command(command)] == ["cat!", "git!", "git:commit!"]


@pytest.mark.long
@each_row("piece", ["1 failed ", "x", "0 tests, ", "\n", "1 error\n", "[a] ", "error: \n", "\x1b[31m"])
def test_a_megabyte_of_output_is_concluded_within_seconds(piece: str) -> None:
    began = time.process_time()
    conclude_runs(
        read_command("npm test | tail; npm run lint | tail; make | tail"), 0, failed=False, output=piece * 200_000
    )
    assert time.process_time() - began < 8
