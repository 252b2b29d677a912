"""OTLP's messages as JSON has them, under the names that protobuf's classes have: both are walked in the same way.

Numbers of 64 bits come as numbers or as text, enumerations as numbers or names, and what is not there may be null.
"""

from typing import Any

from msgspec import Struct

Number = int | str | None


class JsonMessage(Struct, rename="camel", gc=False):
    """Any of the messages; what it does not know is left out."""


class JsonList(JsonMessage):
    values: list["JsonValue"] | None = None


class JsonTable(JsonMessage):
    values: list["JsonPair"] | None = None


class JsonValue(JsonMessage):
    """A value of one of these types."""

    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | str | float | None = None
    double_value: float | int | str | None = None
    array_value: JsonList | None = None
    kvlist_value: JsonTable | None = None
    bytes_value: str | None = None


class JsonPair(JsonMessage):
    key: str = ""
    value: JsonValue | None = None


class JsonResource(JsonMessage):
    attributes: list[JsonPair] | None = None


class JsonScope(JsonMessage):
    name: str | None = None


class JsonLogRecord(JsonMessage):
    time_unix_nano: Number = None
    observed_time_unix_nano: Number = None
    event_name: str | None = None
    body: JsonValue | None = None
    attributes: list[JsonPair] | None = None
    trace_id: str | None = None
    span_id: str | None = None


class JsonScopeLogs(JsonMessage):
    scope: JsonScope | None = None
    log_records: list[JsonLogRecord] | None = None


class JsonResourceLogs(JsonMessage):
    resource: JsonResource | None = None
    scope_logs: list[JsonScopeLogs] | None = None


class JsonLogs(JsonMessage):
    resource_logs: list[JsonResourceLogs] | None = None


class JsonSpanEvent(JsonMessage):
    name: str | None = None
    time_unix_nano: Number = None
    attributes: list[JsonPair] | None = None


class JsonSpanStatus(JsonMessage):
    code: Number = None
    message: str | None = None


class JsonSpan(JsonMessage):
    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    name: str | None = None
    start_time_unix_nano: Number = None
    end_time_unix_nano: Number = None
    attributes: list[JsonPair] | None = None
    events: list[JsonSpanEvent] | None = None
    status: JsonSpanStatus | None = None


class JsonScopeSpans(JsonMessage):
    scope: JsonScope | None = None
    spans: list[JsonSpan] | None = None


class JsonResourceSpans(JsonMessage):
    resource: JsonResource | None = None
    scope_spans: list[JsonScopeSpans] | None = None


class JsonTraces(JsonMessage):
    resource_spans: list[JsonResourceSpans] | None = None


class JsonPoint(JsonMessage):
    time_unix_nano: Number = None
    start_time_unix_nano: Number = None
    attributes: list[JsonPair] | None = None
    as_int: int | str | None = None
    as_double: float | int | str | None = None


class JsonPoints(JsonMessage):
    """The numbers of a sum or a gauge."""

    data_points: list[JsonPoint] | None = None
    aggregation_temporality: Number = None


class JsonMetric(JsonMessage):
    name: str | None = None
    sum: JsonPoints | None = None
    gauge: JsonPoints | None = None
    histogram: Any = None
    exponential_histogram: Any = None
    summary: Any = None


class JsonScopeMetrics(JsonMessage):
    scope: JsonScope | None = None
    metrics: list[JsonMetric] | None = None


class JsonResourceMetrics(JsonMessage):
    resource: JsonResource | None = None
    scope_metrics: list[JsonScopeMetrics] | None = None


class JsonMetrics(JsonMessage):
    resource_metrics: list[JsonResourceMetrics] | None = None
