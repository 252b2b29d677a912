"""OpenTelemetry of agents: what is sent becomes records that a store keeps.

- `otlp`: the body of a request, protobuf or JSON, to records;
- `messages`: OTLP's messages as JSON has them;
- `values`: attributes, times and ids, of either encoding.

Takes bytes, gives `TelemetryRecord`s of `assay.types`; imports types and errors alone, and `opentelemetry-proto` only
when a body is protobuf.
"""
