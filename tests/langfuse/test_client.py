"""Who is at the other end."""

from collections.abc import Callable

import pytest

from assay.errors import BadInput
from assay.http import AccessDenied, RemoteError
from assay.langfuse import connect, fetch_status
from tests.langfuse.conftest import HOST, client_of, environment
from tests.langfuse.contract import CheckedServer

Make = Callable[..., CheckedServer]
VERSIONS = [
    ("3.150.0", "v3", "ingestion"),
    ("4.16.0", "v4", "ingestion"),
    ("4.58.9", "v4", "ingestion"),
    ("4.59.0", "v4", "list"),
    ("5.0.0-rc.1", "v4", "list"),
    ("", "v4", "ingestion"),
]


@pytest.mark.parametrize(("version", "generation", "writes"), VERSIONS)
def test_the_version_tells_what_a_server_understands(make: Make, version, generation, writes):
    found = fetch_status(client_of(make(version)))
    assert (found.version, found.generation, found.writes) == (version, generation, writes)
    assert (found.host, found.project) == ("langfuse.example", "loom")


CLOUD = [
    ("https://cloud.langfuse.com", 30),
    ("https://us.cloud.langfuse.com", 30),
    ("https://langfuse.example", 0),
    ("https://cloud.langfuse.com.example", 0),
    ("https://notlangfuse.com", 0),
]


@pytest.mark.parametrize(("host", "per_minute"), CLOUD)
def test_the_free_plans_pace_is_kept_on_the_cloud_alone(make: Make, host, per_minute):
    assert fetch_status(client_of(make(), host)).per_minute == per_minute


def test_whoever_pays_may_go_faster(make: Make):
    client = client_of(make(), "https://cloud.langfuse.com", per_minute={"general": 1000})
    assert fetch_status(client).per_minute == 1000


@pytest.mark.parametrize("name", ["LANGFUSE_HOST", "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"])
def test_what_is_missing_in_the_environment_is_named(name):
    env = environment()
    del env[name]
    with pytest.raises(BadInput, match=f"no {name} in the environment") as caught:
        connect(env)
    assert not any(key in str(caught.value) for key in env.values())


def test_the_sdks_other_name_for_the_host_is_known(make: Make):
    standin = make()
    env = environment() | {"LANGFUSE_HOST": "", "LANGFUSE_BASE_URL": HOST}
    assert connect(env, transport=standin.build_transport()).host == "langfuse.example"


def test_wrong_keys_are_told_without_the_key(make: Make):
    standin = make()
    env = environment() | {"LANGFUSE_SECRET_KEY": "sk-lf-wrong"}
    client = connect(env, transport=standin.build_transport())
    with pytest.raises(AccessDenied, match=r"401 Invalid credentials.*check the keys") as caught:
        fetch_status(client)
    assert "sk-lf" not in str(caught.value)


def test_a_server_that_is_no_langfuse_is_told(make: Make):
    standin = make()
    standin.route = lambda *_: (404, {}, {"message": "Not Found"})
    with pytest.raises(RemoteError, match="does not seem to be a Langfuse server"):
        client_of(standin)
