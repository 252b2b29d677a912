"""Serves a small model on loopback, as OpenAI's and as Anthropic's API: `small_model.py MODEL PORT [SCHEMA]`.

Its Messages endpoint has no way to ask for a schema, so one may be given for all that it says.
"""

import sys
import time

import xllamacpp


def serve(model: str, port: int, schema: str) -> None:
    given = xllamacpp.CommonParams()
    given.model.path = model
    given.n_ctx = 4096
    given.n_parallel = 1
    given.cpuparams.n_threads = 1  # other tests run beside it, and its threads wait for each other busily
    given.warmup = False
    given.hostnames = ["127.0.0.1"]
    given.port = port
    given.sampling.penalty_repeat = 1.3  # at temperature 0 a small model says the same for ever
    given.sampling.penalty_last_n = 256
    if schema:
        grammar = xllamacpp.json_schema_to_grammar(schema)
        kind = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
        given.sampling.grammar = xllamacpp.CommonGrammar(kind, grammar)
    server = xllamacpp.Server(given)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
