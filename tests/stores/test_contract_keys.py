"""The store knows keys by their hashes alone, and its audit log is only ever added to."""

from collections.abc import Callable
from contextlib import closing
from hashlib import blake2b

import pytest

from assay.errors import BadInput, StoreError
from assay.stores import Store, has_store, list_tenants, open_store, to_tenant_url
from assay.types import AccessKey, AuditDraw, Deed, PersonCorrection, PersonVerdict, TelemetryRecord

MONDAY, TUESDAY = "2026-11-09T09:00:00Z", "2026-11-10T09:00:00Z"


def add_key(store: Store, id: str = "aa11", hashed: str = "", at: str = MONDAY) -> AccessKey:
    key = AccessKey(id=id, name="loom", scope="ingest", made_at=at)
    store.keys.save_key(key, hashed or f"{id}ffff", Deed(at=at, who="ada", kind="key_made", about=id))
    return key


def test_a_key_is_found_by_its_hash_and_by_nothing_else(store: Store):
    key = add_key(store)
    assert store.keys.find_key("aa11ffff") == key
    assert [store.keys.find_key(one) for one in ("aa11", "", "aa11fff", "AA11FFFF", "' OR 1=1 --")] == [None] * 5


def test_keys_are_listed_the_oldest_first(store: Store):
    late, early = add_key(store, "bb22", at=TUESDAY), add_key(store, "aa11")
    assert store.keys.list_keys() == [early, late]


def test_a_key_that_is_there_is_not_made_again_and_nothing_is_noted(store: Store):
    add_key(store)
    with pytest.raises(StoreError, match="already"):
        add_key(store)
    assert len(store.keys.list_deeds()) == 1


def test_a_key_is_revoked_once_and_stays_listed(store: Store):
    add_key(store)
    deed = Deed(at=TUESDAY, who="ada", kind="key_revoked", about="aa11")
    assert [store.keys.revoke_key(one, deed) for one in ("aa11", "aa11", "nobody")] == [True, False, False]
    found = store.keys.find_key("aa11ffff")
    assert found
    assert found.revoked_at == TUESDAY
    assert [one.kind for one in store.keys.list_deeds()] == ["key_made", "key_revoked"]


def test_the_last_use_of_a_key_is_known(store: Store):
    add_key(store)
    store.keys.save_uses({"aa11": TUESDAY, "nobody": MONDAY})
    store.keys.save_uses({})
    assert [one.used_at for one in store.keys.list_keys()] == [TUESDAY]


def test_the_last_deeds_are_listed_in_their_order(store: Store):
    for n in range(5):
        store.keys.save_deed(Deed(at=MONDAY, who="retention", kind="words_deleted", about=f"s{n}", count=n))
    assert [(one.about, one.count) for one in store.keys.list_deeds(2)] == [("s3", 3), ("s4", 4)]


@pytest.mark.parametrize("change", ["UPDATE deeds SET who = 'nobody'", "DELETE FROM deeds"])
def test_the_database_refuses_to_change_the_audit_log(store: Store, change: str):
    store.keys.save_deed(Deed(at=MONDAY, who="ada", kind="words_deleted", about="s1"))
    with pytest.raises(StoreError, match="only added to"), store.database.writing() as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql(change)
    assert [one.who for one in store.keys.list_deeds()] == ["ada"]


def test_what_is_flushed_is_there(store: Store):
    add_key(store)
    store.flush()
    assert len(store.keys.list_keys()) == 1


# --- tenants ----------------------------------------------------------------------------------


def test_what_one_tenant_keeps_is_in_no_other_tenants_store(fresh_url: Callable[[str], str]):
    main = fresh_url("main")
    names = [f"{blake2b(main.encode(), digest_size=6).hexdigest()}-{n}" for n in range(2)]
    first, second = (to_tenant_url(main, name) for name in names)
    assert not has_store(first)
    with closing(open_store(first)) as one, closing(open_store(second)) as other:
        add_key(one)
        assert other.keys.find_key("aa11ffff") is None
        assert other.keys.list_keys() == other.keys.list_deeds() == []
        assert not other.keys.revoke_key("aa11", Deed(at=MONDAY, who="eve", kind="key_revoked", about="aa11"))
        assert one.keys.list_keys()[0].revoked_at is None
    assert set(names) <= set(list_tenants(main))


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "A", "a b", "-a", "a" * 41, "a\n", "a'b", "a.b", "ä"])
def test_no_tenant_is_called_so(fresh_url: Callable[[str], str], name: str):
    with pytest.raises(BadInput, match="a tenant's name has"):
        to_tenant_url(fresh_url("main"), name)


# --- seals and states -------------------------------------------------------------------------


def test_a_store_has_one_secret_and_no_other_store_has_it(fresh_url: Callable[[str], str]):
    with closing(open_store(fresh_url("a"))) as one, closing(open_store(fresh_url("b"))) as other:
        found = one.keys.load_secret()
        assert len(found) == 32
        assert one.keys.load_secret() == found
        assert other.keys.load_secret() != found
    with closing(open_store(fresh_url("a"))) as again:
        assert again.keys.load_secret() == found


CHANGES: dict[str, Callable[[Store], object]] = {
    "a correction": lambda store: store.corrections.save_correction(PersonCorrection(kind="rename", turn="a", at="1")),
    "a verdict": lambda store: store.corrections.save_verdicts([PersonVerdict(turn="a", verdict="landed", at="1")]),
    "a draw": lambda store: store.corrections.save_draw(AuditDraw(seed="s", wanted=3)),
    "a record": lambda store: store.telemetry.save_records(
        [TelemetryRecord(id="0" * 32, agent="claude-code", conversation="c")]
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_state_is_another_one_after_what_a_report_could_tell(store: Store, name: str):
    before = store.read_state()
    assert store.read_state() == before
    CHANGES[name](store)
    assert store.read_state() != before
