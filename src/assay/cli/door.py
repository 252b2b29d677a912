"""`assay statusline` as Claude Code runs it, again and again: nothing is imported that one line does not need.

What it says of the week and of the session was kept by the last look; a new one is begun in the background when that
is old. Whatever goes wrong, the line is shorter, and nothing is said of it: it stands above somebody's prompt.
"""

import json
import os
import sys
import time

KEPT, BEGUN, EARLIER = "glance.json", "glance-begun", "statusline-before"
OLD_S, PATIENCE_S, EARLIER_S = 60.0, 120.0, 2.0
MOST_READ = 1 << 20
UNITS = ((1_000_000, "M"), (1_000, "k"))


def print_line() -> None:
    """Print the line of whatever status line was there before, and ours."""
    told = sys.stdin.buffer.read(MOST_READ)
    folder = find_folder()
    lines = [*run_earlier(folder, told), build_line(load_json(told), load_json(read_file(f"{folder}/{KEPT}")))]
    try:
        os.write(1, "\n".join(filter(None, lines)).encode("utf-8", "replace") + b"\n")
        begin_look(folder)
    except OSError:  # the agent did not wait
        os._exit(0)


def find_folder() -> str:
    home = os.environ.get("HOME") or os.path.expanduser("~")
    return (os.environ.get("XDG_STATE_HOME") or f"{home}/.local/state") + "/assay"


def read_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(MOST_READ)
    except OSError:
        return b""


def load_json(text: bytes) -> dict[str, object]:
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def build_line(told: dict[str, object], kept: dict[str, object]) -> str:
    """Our line: the week, this session, what it took, and a word of advice where one is due."""
    parts = [describe_week(kept), describe_session(kept, told.get("session_id")), *describe_use(told)]
    until, coaching = kept.get("coached_until"), kept.get("coaching")
    if isinstance(coaching, str) and isinstance(until, int | float) and time.time() < until:
        parts.append(coaching)
    return " · ".join(filter(None, parts))


def describe_week(kept: dict[str, object]) -> str:
    value, low, high = kept.get("value"), kept.get("low"), kept.get("high")
    if not isinstance(value, int | float):
        return "assay: no score yet"
    spread = f" ({low:.0f} to {high:.0f})" if isinstance(low, int | float) and isinstance(high, int | float) else ""
    return f"assay {value:.0f}{spread} in 7 days, {kept.get('crushed')} of {kept.get('counted')}"


def describe_session(kept: dict[str, object], session: object) -> str:
    """How this conversation stands, as it was last seen."""
    sights = kept.get("sights")
    for one in sights if isinstance(sights, list) else ():
        row = one.get("row") if isinstance(one, dict) else None
        if not isinstance(row, dict) or not isinstance(session, str) or row.get("stream") != session:
            continue
        if isinstance(one.get("crushed"), bool):
            return "landed" if one["crushed"] else "did not land"
        chance = one.get("chance")
        likely = f", {chance:.0%} likely to land" if isinstance(chance, int | float) else ""
        return f"{row.get('state')}{likely}"
    return ""


def describe_use(told: dict[str, object]) -> list[str]:
    """Tokens and dollars, as the agent itself counts them."""
    window, cost = told.get("context_window"), told.get("cost")
    spent = cost.get("total_cost_usd") if isinstance(cost, dict) else None
    counts = [window.get(f"total_{name}_tokens") for name in ("input", "output")] if isinstance(window, dict) else []
    tokens = sum(one for one in counts if isinstance(one, int) and not isinstance(one, bool))
    found = [f"{format_tokens(tokens)} tokens"] if tokens else []
    return [*found, f"${spent:.2f}"] if isinstance(spent, int | float) else found


def format_tokens(count: int) -> str:
    unit = next(((size, sign) for size, sign in UNITS if count >= size), None)
    return f"{count / unit[0]:.1f}{unit[1]}" if unit else str(count)


# --- the line that was there, and the next look ---------------------------------------------------


def run_earlier(folder: str, told: bytes) -> list[str]:
    """What the status line says that was there before ours."""
    command = read_file(f"{folder}/{EARLIER}")
    if not command:
        return []
    import subprocess  # noqa: PLC0415  takes longer than all the rest

    try:
        done = subprocess.run(  # noqa: S602  it is the person's own command, from their own settings
            os.fsdecode(command), shell=True, input=told, capture_output=True, timeout=EARLIER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.decode("utf-8", "replace").rstrip("\n").split("\n")


def begin_look(folder: str) -> None:
    """Have the next line know more, where the last look is old and none is going on."""
    now = time.time()
    if find_age(f"{folder}/{KEPT}", now) < OLD_S or find_age(f"{folder}/{BEGUN}", now) < PATIENCE_S:
        return
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.close(os.open(f"{folder}/{BEGUN}", os.O_CREAT | os.O_WRONLY, 0o600))
    os.utime(f"{folder}/{BEGUN}")
    nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
    words = [sys.executable, "-m", "assay", "statusline", "--look"]
    os.posix_spawn(sys.executable, words, os.environ, file_actions=nothing, setsid=True)


def find_age(path: str, now: float) -> float:
    try:
        return now - os.stat(path).st_mtime
    except OSError:
        return float("inf")
