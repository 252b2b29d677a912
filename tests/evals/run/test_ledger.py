"""What was written down when a trial ended is what counts: no record is edited, added or swapped unnoticed."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InvalidRun
from assay.evals.running import ledger, recorded_run, run_folder
from assay.evals.running.recorded_run import RunEnd
from assay.evals.running.trial import TrialRecord, format_json
from tests.evals.run.make import config, ran, task

pytestmark = pytest.mark.long

SPENDS = """echo blue > scarf.txt; echo '{"tokens": 100, "steps": 2}' > "$ASSAY_RESULT_DIR/cost.json" """


@pytest.fixture
def ended(tmp_path):
    """A run of two tasks, and how to go on with it."""
    for name in ("hem", "knit"):
        task(tmp_path / "tasks", name)
    arms = (config(tmp_path, SPENDS, "a"), config(tmp_path, f"{SPENDS} ", "b"))

    def on():
        return ran(tmp_path, arms)

    assert len(on().trials) == 4
    return tmp_path / "run", on


def first(run, pattern="trials/*/*-baseline-*"):
    return min(run.glob(f"{pattern}/{run_folder.TRIAL}"))


def loaded(run):
    recorded_run.write_result(run, RunEnd(planned=4, usd=0.0, stopped="", sandbox="none"))
    return recorded_run.load_run(run)


def edit_cost(run):
    file = first(run)
    file.write_text(file.read_text().replace('"tokens": 100', '"tokens": 400'))


def swap(run):
    one, other = first(run), first(run, "trials/*/*-candidate-*")
    one_was = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(one_was)


def spoil(run):
    first(run).write_text("{")


def strike(run):
    lines = (run / ledger.NAME).read_text().splitlines(keepends=True)
    (run / ledger.NAME).write_text("".join(lines[:1] + lines[2:]))


def cut(run):
    lines = (run / ledger.NAME).read_text().splitlines(keepends=True)
    (run / ledger.NAME).write_text("".join(lines[:-1]))


def without(run):
    (run / ledger.NAME).unlink()


def decide_anew(run):
    held = json.loads((run / run_folder.LOCK).read_bytes())
    (run / run_folder.LOCK).write_bytes(format_json(held | {"more": {"alpha": "0.5"}}))


def lose_an_attempt(run):
    made = first(run).parent / "attempt-09"
    made.mkdir()
    (made / run_folder.FAILURE).write_text('{"why": "made up", "at": "now"}')


@pytest.mark.parametrize("spoiled", [edit_cost, swap, spoil, strike, cut, without, lose_an_attempt])
def test_a_run_does_not_go_on_with_records_that_were_changed(ended, spoiled):
    run, on = ended
    before = sorted(run.rglob("attempt-*"))
    spoiled(run)
    with pytest.raises(InvalidRun, match=r"trial\.json|failure\.json|ledger\.jsonl"):
        on()
    assert sorted(run.rglob("attempt-*")) == sorted({*before, *run.rglob("attempt-09")}), "something was run"


def test_what_was_decided_before_the_first_trial_is_on_the_list_too(ended):
    run, _ = ended
    decide_anew(run)
    with pytest.raises(InvalidRun, match=r"line 1 or lock\.json"):
        ledger.load_entries(run)


def test_a_trial_that_is_gone_is_run_again_and_is_in_doubt(ended):
    run, on = ended
    first(run).unlink()
    assert loaded(run).altered == (f"trials/hem/{first_name(run)}/trial.json",)
    again = on()
    assert sorted(trial.lost for trial in again.trials) == [0, 0, 0, 1]
    assert loaded(run).altered == ()
    record = msgspec.json.decode(first(run).read_bytes(), type=TrialRecord)
    hidden = msgspec.structs.replace(record, trial=msgspec.structs.replace(record.trial, lost=0))
    assert recorded_run.list_altered(run, [hidden]) == [f"{record.trial.folder}: lost attempts are missing"]


def first_name(run):
    return min(folder.name for folder in run.glob("trials/hem/*-baseline-*"))


def test_killed_between_the_list_and_the_record_it_goes_on(ended):
    run, on = ended
    ledger.add_entry(run, first(run), b"never written")
    first(run).unlink()
    assert len(on().trials) == 4
    assert loaded(run).altered == ()


@pytest.mark.parametrize("torn", [b"{", b'{"file":"trials/hem', b"\xff"])
def test_killed_in_the_middle_of_a_line_it_goes_on(ended, torn):
    run, on = ended
    with (run / ledger.NAME).open("ab") as file:
        file.write(torn)
    assert len(ledger.load_entries(run)) == 4
    first(run).unlink()
    assert len(on().trials) == 4
    assert len(ledger.load_entries(run)) == 5


def test_a_cost_that_is_not_what_the_files_tell_is_found(ended):
    run, _ = ended
    whole = loaded(run)
    assert recorded_run.list_misstated(whole) == ()
    record = whole.records[0]
    for name, value in (("tokens", 25), ("wall_s", 0.001), ("tool_calls", 7)):
        cost = msgspec.structs.replace(record.trial.cost, **{name: value})
        forged = msgspec.structs.replace(record, trial=msgspec.structs.replace(record.trial, cost=cost))
        (why,) = recorded_run.list_misstated(msgspec.structs.replace(whole, records=(forged,)))
        assert name in why


@pytest.mark.parametrize("name", ["cost.json", "ended.json"])
def test_what_costs_are_counted_from_is_evidence(ended, name):
    run, _ = ended
    (first(run).parent / "attempt-01" / name).write_text("{}")
    assert any(path.endswith(name) for path in loaded(run).altered)


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=8), st.data())
def test_no_line_can_be_changed_unnoticed(tmp_path_factory, contents, data):
    run = tmp_path_factory.mktemp("run")
    (run / run_folder.LOCK).write_text("{}")
    for number, content in enumerate(contents):
        ledger.add_entry(run, run / f"trials/t/{number}/trial.json", content)
    lines = (run / ledger.NAME).read_bytes().splitlines(keepends=True)
    assert [one.sha256 for one in ledger.load_entries(run)] == [ledger.hash_bytes(content) for content in contents]
    which = data.draw(st.integers(0, len(lines) - 1))
    odd = lines[which].replace(b'"sha256":"', b'"sha256":"0', 1)
    (run / ledger.NAME).write_bytes(b"".join([*lines[:which], odd, *lines[which + 1 :]]))
    if which < len(lines) - 1:
        with pytest.raises(InvalidRun, match=r"ledger\.jsonl"):
            ledger.load_entries(run)
    else:  # the last line: its record does not fit it
        assert ledger.load_entries(run)[-1].sha256 != ledger.hash_bytes(contents[-1])
