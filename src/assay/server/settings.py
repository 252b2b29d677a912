"""How a server is run: where it listens, whose keys it asks for, and how much it takes at once."""

from ipaddress import ip_address

from msgspec import Struct

from assay.config import Config, Tenant


class Limits(Struct, frozen=True, kw_only=True):
    """How much anybody may send, how fast, and how long they may take for it."""

    body_bytes: int = 8 << 20
    """Of a request as it is sent."""
    unpacked_bytes: int = 32 << 20
    """Of the same, unpacked."""
    held_bytes: int = 128 << 20
    """Of all bodies that are in memory at once."""
    json_bytes: int = 64 << 10
    """Of a request to the API, where nobody has much to say."""
    waiting_records: int = 20_000
    """Records of one tenant that wait for the store."""
    headers_s: float = 10.0
    """Until the head of a request is there."""
    body_s: float = 15.0
    """From there until all of it is."""
    send_s: float = 30.0
    """For an answer to get on its way."""
    save_s: float = 30.0
    """For records to be stored."""
    leave_s: int = 10
    """For what was begun to end when the server is stopped."""
    key_rate: float = 100.0
    """Requests a second for each key, or for each address where none is needed."""
    key_burst: float = 300.0
    failure_rate: float = 0.2
    """Requests a second without a valid key from each address."""
    failure_burst: float = 20.0
    stranger_rate: float = 100.0
    """Keys a second that nobody has seen before, of all addresses: each costs a look into a store."""
    stranger_burst: float = 300.0
    connections: int = 512
    listeners: int = 32
    """Streams of events at once, of each tenant."""
    readers: int = 4
    """Reports that are reckoned at once."""


class ServerSettings(Struct, frozen=True, kw_only=True):
    """Where a server listens, and to whom."""

    store: str
    """The URL of the store of whoever needs no key; the other tenants' lie beside it."""
    host: str = "127.0.0.1"
    port: int = 4318
    """That of OTLP over HTTP."""
    hosts: tuple[str, ...] = ()
    """Names under which others know the server."""
    asks_here: bool = False
    """Those on this machine need a key, too."""
    runs: str = ""
    """The folder of evaluations that those on this machine may read; empty: none."""
    config: Config = Config()
    has_workers: bool = False
    """Others read, judge and tell what came in; else it is done before something is answered."""
    own_tenants: dict[str, Tenant] = {}
    """Those of the user's own file: what a cloned repository says of tenants deletes nothing."""
    limits: Limits = Limits()

    @property
    def needs_key(self) -> bool:
        """Whether anybody needs a key: all do, unless the server listens to this machine alone."""
        return self.asks_here or not is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether an address, or the name of one, can only be this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
