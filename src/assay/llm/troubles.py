"""What a service's failure means: ask later, never again, or nobody at all."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from assay.errors import ModelBusy, ModelError, ModelRefused, ModelUnavailable
from assay.llm.contract import Question

MOST_SAID = 200
LONGEST_ECHO = 16
"""Characters in a row that an error may share with the question before it is taken for an echo of it."""
CROWDED_S = 1.0
"""The least wait when a service has too many requests and does not say for how long."""
CROWDED = (429, 529)
LATER = (408, 409, 425)
NO_ACCESS = (401, 402, 403)
UNPAID = re.compile(
    r"credit balance|insufficient_quota|exceeded your current quota|billing_|spend limit", re.IGNORECASE
)
TOO_LONG = re.compile(
    r"too (long|large|many tokens)|context.{0,20}(length|window|size)|maximum context|exceed.{0,40}(context|tokens)",
    re.IGNORECASE,
)


def by_status(status: int, said: str, headers: Mapping[str, str], where: str, access: str) -> ModelError:
    """The error for an HTTP status; `access` says which variable holds the key."""
    told = f": {said}" if said else ""
    if UNPAID.search(said):
        return ModelUnavailable(f"{where} answers nobody on this account ({status}){told}")
    if status in NO_ACCESS:
        return ModelUnavailable(f"{where} does not let us in ({status}); {access}")
    if status == 404:
        return ModelUnavailable(f"{where} knows no such model or address (404){told}; check model.name and model.url")
    if status in CROWDED:
        wait_s = asked_wait(headers)
        return ModelBusy(f"{where} has too much to do ({status})", CROWDED_S if wait_s is None else wait_s)
    if status in LATER or status >= 500:
        return ModelBusy(f"{where} failed ({status}){told}", asked_wait(headers))
    if status == 413 or TOO_LONG.search(said):
        return ModelRefused(f"too long for {where} ({status}){told}")
    return ModelRefused(f"{where} does not take the request ({status}){told}")


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds for which a service asks to be left alone."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        try:
            wait_s = float(value) * unit_s
        except ValueError:
            continue
        if isfinite(wait_s):
            return max(0.0, wait_s)
    return until(headers.get("retry-after", ""))


def until(date: str) -> float | None:
    """Seconds until an HTTP date."""
    try:
        at = parsedate_to_datetime(date)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def one_line(text: str) -> str:
    """Foreign words for a message: one line, no control characters, never long."""
    plain = folded(text)
    return plain if len(plain) <= MOST_SAID else f"{plain[: MOST_SAID - 1]}…"


def folded(text: str) -> str:
    """The beginning of a text, with every gap as one space."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[: 20 * MOST_SAID]).split())


def quotable(text: str, question: Question | None, key: str) -> str:
    """A service's own words on what went wrong; nothing when they hold the key or echo the question."""
    if key and key in text:
        return ""
    said = folded(text)
    if question:
        asked = " ".join(f"{question.system} {question.material} {question.task} {question.guidance}".split())
        if any(said[i : i + LONGEST_ECHO] in asked for i in range(len(said) - LONGEST_ECHO + 1)):
            return ""
    return one_line(said)
