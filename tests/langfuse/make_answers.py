"""Answers of a server as they look, written by hand; `test_standin.py` compares their shapes with recorded ones."""

from typing import Any

NOON = "2026-11-10T12:00:00.000Z"
Answer = dict[str, Any]


def observation(**more: Any) -> Answer:
    """A row of `v2/observations` with every group of fields, names that no specification has among them."""
    core = {"id": "0b5e", "traceId": "7ace", "startTime": NOON, "endTime": NOON, "projectId": "proj1"}
    core |= {"parentObservationId": "9a7e", "type": "TOOL"}
    basic = {"name": "Tool: Bash", "level": "DEFAULT", "statusMessage": "", "version": "", "environment": "default"}
    basic |= {"bookmarked": False, "public": False, "userId": "", "sessionId": "s1", "isRootObservation": False}
    time = {"completionStartTime": None, "createdAt": NOON, "updatedAt": NOON}
    texts = {"input": '{"command": "pytest -q"}', "output": "3 passed", "metadata": {"scope.name": "langfuse-sdk"}}
    model = {"model": "", "internalModelId": "", "modelParameters": {}}
    usage = {"usageDetails": {}, "inputUsage": 0, "outputUsage": 0, "totalUsage": 0, "costDetails": {}}
    usage |= {"inputCost": None, "outputCost": None, "totalCost": 0}
    usage |= {"usagePricingTierId": None, "usagePricingTierName": None}
    rest = {"promptId": "", "promptName": "", "promptVersion": None, "latency": None, "timeToFirstToken": None}
    rest |= {"traceName": "Claude Code - Turn 1", "release": "", "tags": ["claude-code"]}
    rest |= {"modelId": None, "inputPrice": None, "outputPrice": None, "totalPrice": None}
    return core | basic | time | texts | model | usage | rest | more


def score(**more: Any) -> Answer:
    """A row of `v3/scores` with details and subject."""
    plain = {"id": "5c0e", "projectId": "proj1", "name": "tool_efficiency", "source": "API", "timestamp": NOON}
    plain |= {"environment": "default", "createdAt": NOON, "updatedAt": NOON, "comment": None, "configId": None}
    plain |= {"metadata": {}, "authorUserId": None, "queueId": None, "subject": {"kind": "session", "id": "s1"}}
    return plain | {"dataType": "NUMERIC", "value": 0.5} | more


def config(**more: Any) -> Answer:
    """A score config."""
    plain = {"id": "c0f1", "name": "tool_efficiency", "isArchived": False, "description": None, "createdAt": NOON}
    plain |= {"updatedAt": NOON, "projectId": "proj1", "maxValue": 1, "minValue": 0, "dataType": "NUMERIC"}
    return plain | {"categories": None} | more


STEPS = [{"label": "failed", "value": 0}, {"label": "complete", "value": 1}]
LABELLED = {"dataType": "CATEGORICAL", "minValue": None, "maxValue": None, "categories": STEPS}
ORGANIZATION = {"id": "org1", "name": "weavers"}

HEALTH: Answer = {"status": "OK", "version": "4.16.0"}
PROJECTS: Answer = {"data": [{"id": "proj1", "name": "loom", "organization": ORGANIZATION, "metadata": {}}]}
CONFIGS: Answer = {
    "data": [
        config(),
        config(id="c0f2", isArchived=True, description="old"),
        config(id="c0f3", name="goal", **LABELLED),
    ],
    "meta": {"page": 1, "limit": 50, "totalItems": 3, "totalPages": 1},
}
OBSERVATIONS: Answer = {
    "data": [
        observation(),
        observation(id="0b5f", type="GENERATION", model="claude-sonnet-4-5", usageDetails={"input": 10, "total": 10}),
        observation(id="9a7e", type="SPAN", parentObservationId=None, isRootObservation=True),
    ],
    "meta": {},
}
SCORES: Answer = {
    "data": [
        score(),
        score(id="5c0f", name="crushed", dataType="BOOLEAN", value=True, comment="It landed."),
        score(id="5c10", name="goal", dataType="CATEGORICAL", value="complete", configId="c0f3", metadata={"a": [1]}),
    ],
    "meta": {"limit": 50},
}
