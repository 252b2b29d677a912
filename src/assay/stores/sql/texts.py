"""Text as both databases keep it: whole, and ordered by its code points."""

from sqlalchemy import Dialect, TypeDecorator
from sqlalchemy import Text as DatabaseText
from sqlalchemy.types import TypeEngine

ESCAPE, ESCAPED = "\ue000", {"\ue000": "\ue000e", "\x00": "\ue0000"}


class Text(TypeDecorator[str]):
    """Text that comes back as it was given, and is ordered by its code points, in every database.

    PostgreSQL takes no NUL, so that it is written there by two other characters; its order would be that of a language.
    """

    impl = DatabaseText
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(DatabaseText(collation="C" if dialect.name == "postgresql" else None))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return escape_text(value) if value and dialect.name == "postgresql" else value

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        if value and dialect.name == "postgresql" and ESCAPE in value:
            return value.replace(ESCAPED["\x00"], "\x00").replace(ESCAPED[ESCAPE], ESCAPE)
        return value


def escape_text(text: str) -> str:
    """A text without NUL, from which it can be had back."""
    if ESCAPE in text or "\x00" in text:
        return text.replace(ESCAPE, ESCAPED[ESCAPE]).replace("\x00", ESCAPED["\x00"])
    return text
