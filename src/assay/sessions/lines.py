"""Lines as numbers, as `types.lines` makes them: sources hash what they read, and stand left of this room."""

from assay.types.lines import hash_of, packed, packed_text, unpacked

__all__ = ["hash_of", "packed", "packed_text", "unpacked"]
