"""What a Langfuse server answers with: rows and pages of observations and scores, by either of its read APIs."""

import json
from typing import Any

Reply = tuple[int, dict[str, str], Any]


def is_wanted(row: dict[str, Any], query: dict[str, str]) -> bool:
    names = ("sessionId", "traceId", "type", "name", "environment", "userId")
    same = all(row.get(name) == query[name] for name in names if name in query)
    return same and query.get("fromStartTime", "") <= row["startTime"] < query.get("toStartTime", "9")


def build_page(rows: list[dict[str, Any]], query: dict[str, str]) -> Reply:
    page, limit = int(query.get("page", 1)), int(query.get("limit", 50))
    meta = {"page": page, "limit": limit, "totalItems": len(rows), "totalPages": max(-(-len(rows) // limit), 1)}
    return 200, {}, {"data": rows[(page - 1) * limit : page * limit], "meta": meta}


def build_v3_row(row: dict[str, Any]) -> dict[str, Any]:
    """An observation as the old endpoint gives it: texts parsed."""
    usage = {"unit": "TOKENS", "input": 0, "output": 0, "total": 0} | row["usageDetails"]
    prices = {"promptName": None, "promptVersion": None, "modelId": None, "inputPrice": None, "outputPrice": None}
    prices |= {"totalPrice": None, "calculatedInputCost": None, "calculatedOutputCost": None, "latency": None}
    prices |= {"calculatedTotalCost": None, "timeToFirstToken": None, "promptId": None, "completionStartTime": None}
    return row | prices | {"usage": usage, "input": parse_json(row["input"]), "output": parse_json(row["output"])}


def parse_json(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def find_fault(body: dict[str, Any]) -> str:
    if bool(body.get("traceId")) + bool(body.get("sessionId")) != 1:
        return "Provide exactly one of the following: traceId, sessionId or datasetRunId."
    if isinstance(body["value"], bool) or not body["name"]:
        return "Invalid input: expected number, received boolean"
    is_text = isinstance(body["value"], str)
    return (
        "Invalid input"
        if is_text != (body.get("dataType", "NUMERIC") == "CATEGORICAL") and body.get("dataType")
        else ""
    )


def is_allowed(body: dict[str, Any], config: dict[str, Any] | None) -> bool:
    if config is None or config["isArchived"] or body.get("dataType", config["dataType"]) != config["dataType"]:
        return False
    if config["dataType"] == "CATEGORICAL":
        return body["value"] in [category["label"] for category in config["categories"]]
    low, high = config["minValue"], config["maxValue"]
    return (low is None or body["value"] >= low) and (high is None or body["value"] <= high)


def is_score_wanted(row: dict[str, Any], query: dict[str, str]) -> bool:
    subject = {"sessionId": row["body"].get("sessionId"), "traceId": row["body"].get("traceId")}
    told = {"id": row["id"], "name": row["name"], **subject}
    return all(told[name] in query[name].split(",") for name in told if name in query)


def build_v3_score(row: dict[str, Any], groups: set[str]) -> dict[str, Any]:
    body, at = row["body"], row["timestamp"]
    value = bool(body["value"]) if row["dataType"] == "BOOLEAN" else body["value"]
    found = {"id": row["id"], "projectId": "proj1", "name": row["name"], "source": "API", "timestamp": at}
    found |= {
        "environment": body.get("environment", "default"),
        "createdAt": at,
        "updatedAt": at,
        "dataType": row["dataType"],
        "value": value,
    }
    if "details" in groups:
        found |= {"comment": body.get("comment"), "configId": body.get("configId"), "metadata": body["metadata"]}
    if "subject" in groups:
        kind = "session" if body.get("sessionId") else "trace"
        found["subject"] = {"kind": kind, "id": body.get("sessionId") or body["traceId"]}
    return found


def build_v2_score(row: dict[str, Any]) -> dict[str, Any]:
    """A score as v3 servers give it: a category is a number with a text beside it."""
    body = row["body"]
    found = build_v3_score(row, {"details"}) | {"sessionId": body.get("sessionId"), "traceId": body.get("traceId")}
    if row["dataType"] == "CATEGORICAL":
        found |= {"value": 0.0, "stringValue": body["value"]}
    if row["dataType"] == "BOOLEAN":
        found |= {"value": body["value"], "stringValue": "True" if body["value"] else "False"}
    return found | {"authorUserId": None, "observationId": None, "queueId": None, "datasetRunId": None}
