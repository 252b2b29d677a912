"""Sessions found by what was said in them."""

from contextlib import closing
from pathlib import Path

from assay.config import Config
from assay.pipeline.inputs import find_transcripts
from assay.pipeline.pool import ignore_progress
from assay.pipeline.privacy import PrivacyRules, find_prompts
from assay.pipeline.scan import scan
from assay.stores import open_store
from assay.testing.claude_code import build_prompt, build_reply, write_lines


def test_of_prompts_of_one_moment_each_is_found(tmp_path: Path):
    said = [build_prompt(1, "Mend the wombat"), build_reply(2, "Done"), build_prompt(1, "Then the numbat", uuid="x")]
    write_lines(tmp_path / "in" / "s.jsonl", *said)
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as store:
        scan(store, find_transcripts([tmp_path / "in"], Config()), 1, ignore_progress)
        [one] = store.transcripts.list_streams(None)
        kept = store.transcripts.load_stream(one.agent, one.id)
    found = "".join(find_prompts(kept, ["wombat", "numbat"], PrivacyRules()).values())
    assert ("wombat" in found, "numbat" in found) == (True, True)
