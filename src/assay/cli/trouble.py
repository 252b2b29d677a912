"""What went wrong, as it leaves: redacted, and harmless to a terminal."""

import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType

from assay.cli.settings import load_settings
from assay.config import Config, Redaction, Tenant
from assay.errors import AssayError
from assay.pipeline import privacy
from assay.reports.format import sanitize_text
from assay.sessions.redaction import RedactionOptions, Redactor

STRICTEST = Config(redaction=Redaction(email=True, home=True, hosts=True), tenants={"": Tenant(opt_out=True)})


def report_error(message: str) -> None:
    """Print an error of the person's in one line."""
    print(
        f"assay: {sanitize_text(Redactor(build_redaction(load_settings_or(Config()))).text(message))}", file=sys.stderr
    )


def report_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of a bug of ours, without the secrets that a message may quote.

    Where somebody's words are withheld, nobody can tell whose a message quotes: there it is left out.
    """
    config = load_settings_or(STRICTEST)
    if any(one.opt_out or one.retention_days is not None for one in config.tenants.values()):
        lines = [*traceback.format_tb(trace), f"{kind.__qualname__}: (its message may quote words that are withheld)\n"]
    else:
        lines = traceback.format_exception(kind, error, trace)
    print(sanitize_text(Redactor(build_redaction(config)).text("".join(lines))), file=sys.stderr, end="")


def load_settings_or(otherwise: Config) -> Config:
    """The settings that hold, if they can be read."""
    try:
        return load_settings()
    except AssayError:
        return otherwise


def build_redaction(config: Config) -> RedactionOptions:
    """What is redacted under these settings."""
    return privacy.build_rules(config, datetime.now(UTC)).options
