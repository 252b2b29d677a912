"""Stores as earlier versions left them: the tables of any migration, with rows in every one of them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config as AlembicConfig
from sqlalchemy import URL, Connection, Engine, MetaData, Table, create_engine, insert, select, types

from assay.config import Config
from assay.llm import ModelCall, QuestionResult
from assay.pipeline.inputs import find_transcripts
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, score_run
from assay.reports.json import encode_json
from assay.stores import (
    FILE_URL,
    Fate,
    JoinedSession,
    QuestionBatch,
    RemoteProject,
    Store,
    TableRows,
    WrittenRow,
    open_store,
)
from assay.stores.sql import engine, postgres
from assay.stores.sql.schema import TABLES
from assay.stores.sql.transfer import HANDED_ON
from assay.testing.claude_code import build_conversation, write_folder, write_lines
from assay.types import AuditDraw, PersonCorrection, PersonVerdict, Usage
from tests.stores.test_contract_promotions import CAREFUL

REVISIONS = sorted(path.name[:4] for path in (engine.MIGRATIONS / "versions").glob("[0-9]*.py"))
OFFLINE = Config(timezone="UTC", as_of="2026-04-01")
OTHERWISE = Config(timezone="UTC", as_of="2026-04-01", boundaries=OFFLINE.boundaries.__class__(commit="hard"))
AT = "2026-03-09T09:00:00+00:00"
Rows = dict[str, list[dict[str, Any]]]
"""The rows of every table, by the names of its columns."""


def tell(store: Store, config: Config = OFFLINE) -> bytes:
    """The report on all that a store holds."""
    with open_run(store, config, None, jobs=1) as run:
        return encode_json(score_run(run, remembers=False).report)


def fill_store(url: str, folder: Path) -> Rows:
    """Put something of everything into a store; its rows."""
    write_folder(folder, files=4, turns=3)
    write_lines(folder / "broken.jsonl", *build_conversation("broken", 1), b"{no json")
    past = build_conversation("0000-loom", 2)
    copied = [{**one, "sessionId": "zz-fork"} for one in past]
    write_lines(folder / "fork.jsonl", *copied, *build_conversation("zz-fork", 1, start=500))
    with closing(open_store(url)) as store:
        scan(store, find_transcripts([folder], OFFLINE), 1, ignore_progress, with_facts=True)
        tell(store)
        tell(store, OTHERWISE)
        tell(store)
        say_things(store)
        tell(store)
        rows = dump_rows(store)
    return {name: some or [invent_row(TABLES.tables[name])] for name, some in rows.items()}


def say_things(store: Store) -> None:
    """What people and models said, and what was written elsewhere."""
    [first, *_] = sorted(one.segment.id for one in store.sessions.list_segments(None))
    store.corrections.save_correction(PersonCorrection(kind="rename", turn=first, title="The blue one", at=AT))
    store.corrections.save_verdicts([PersonVerdict(turn=first, verdict="not", why="too short", at=AT, turns=3)])
    store.corrections.save_draw(AuditDraw(seed="5eed", wanted=40))
    store.sessions.save_last_report(b"{}")
    store.sessions.save_joined([JoinedSession(agent="codex", id="a", input="i", judged=b"{}")])
    store.rework.save_fates([Fate(agent="claude-code", id=first, is_told=True)])
    call = ModelCall(at=AT, model="m", usage=Usage(input=10), seconds=1.5, outcome="ok", cost_usd=0.25)
    store.answers.save_answer(
        QuestionResult(key="k", job="outcome", version="v", text="{}", calls=(call,)), "anthropic"
    )
    store.answers.save_batch(QuestionBatch(id="b", backend="anthropic", at=AT, keys=("k",)))
    here = RemoteProject(host="langfuse.example", project="loom")
    store.written.save_row(here, WrittenRow(id="one", digest="d", session="s"), AT)
    store.promotions.save_promotion(CAREFUL)


def dump_rows(store: Store) -> Rows:
    return {
        table.name: [dict(zip(table.columns, row, strict=True)) for portion in table.portions for row in portion]
        for table in store.dump_tables()
    }


def invent_row(table: Table) -> dict[str, Any]:
    """A row for a table that scoring leaves empty."""
    values: dict[type[Any], Any] = {types.LargeBinary: b"{}", types.Boolean: True, types.Integer: 7, types.Float: 0.5}
    return {
        column.name: next((value for kind, value in values.items() if isinstance(column.type, kind)), "x")
        for column in table.columns
    }


def build_engine(url: str) -> Engine:
    """An engine for a store that may be of any version."""
    if url.startswith(FILE_URL):
        return create_engine(URL.create("sqlite", database=url.removeprefix(FILE_URL)))
    address, tenant = postgres.split_tenant(url)
    made = postgres.build_engine(address, tenant)
    postgres.claim_schema(made, tenant)
    return made


def build_old_store(url: str, revision: str, rows: Mapping[str, Iterable[dict[str, Any]]]) -> Rows:
    """Make a store as it was after a migration, with what of the rows it could hold; which these are."""
    held: Rows = {}
    with open_engine(url) as made, made.begin() as connection:
        config = AlembicConfig()
        config.set_main_option("script_location", str(engine.MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        there = MetaData()
        there.reflect(connection)
        connection.execute(there.tables["generation"].delete())
        for name in [table.name for table in HANDED_ON if table.name in there.tables]:
            columns = there.tables[name].columns.keys()
            held[name] = [{key: row[key] for key in columns} for row in rows[name]]
            add_rows(connection, there.tables[name], held[name])
    return held


@contextmanager
def open_engine(url: str) -> Iterator[Engine]:
    """An engine that is done with at the end."""
    made = build_engine(url)
    try:
        yield made
    finally:
        made.dispose()


def add_rows(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def load_rows(url: str, names: Iterable[str]) -> Rows:
    """The rows of tables, whatever the version of their store."""
    with open_engine(url) as made, made.connect() as connection:
        there = MetaData()
        there.reflect(connection)
        return {
            name: [
                dict(row._mapping)
                for row in connection.execute(select(there.tables[name]).order_by(*there.tables[name].primary_key))
            ]
            for name in names
        }


def build_same_store(url: str, rows: Rows, names: Iterable[str]) -> None:
    """A store of this version with these rows of these tables: they came the usual way."""
    tables = {table.name: tuple(column.name for column in table.columns) for table in HANDED_ON}
    held = {name: [[tuple(row[key] for key in columns) for row in rows[name]]] for name, columns in tables.items()}
    known = set(names)
    with closing(open_store(url)) as store:
        store.load_tables(
            TableRows(name=name, columns=columns, portions=held[name] if name in known else [])
            for name, columns in tables.items()
        )
