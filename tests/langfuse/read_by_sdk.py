"""Run by a Python with the real `langfuse` SDK: reads what we wrote, writes a score of its own, tells both as JSON."""

import json
import os
import sys

from langfuse import Langfuse
from langfuse.api import ScoreConfig

host, session = sys.argv[1:]
sdk = Langfuse(
    public_key=os.environ["LANGFUSE_PUBLIC_KEY"],
    secret_key=os.environ["LANGFUSE_SECRET_KEY"],
    base_url=host,
    timeout=20,
)
api = sdk.api
read = api.scores_v3.get_many_v3 if hasattr(api, "scores_v3") else api.scores.get_many
scores = read(session_id=session, fields="details,subject").data
configs: list[ScoreConfig] = api.score_configs.get(limit=100).data
rows = api.observations.get_many(session_id=session, fields="core,basic,io", limit=1000).data
sdk.create_score(session_id=session, name="by_sdk", value=0.5, data_type="NUMERIC", score_id="sdk-1")
sdk.flush()
told = {
    "scores": {
        one.name: [one.value, one.comment, one.config_id, one.metadata, one.timestamp.isoformat(), one.subject.id]
        for one in scores
    },
    "rows": len(scores),
    "configs": {one.name: str(one.data_type.value) for one in configs},
    "observations": len(rows),
    "own": [one.value for one in read(id="sdk-1").data],
}
sys.stdout.write(json.dumps(told))
