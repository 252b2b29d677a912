"""Things that a rollout writes twice, each time in another kind of record."""

from msgspec import Struct, field

KEPT = 24
"""The second writing follows the first at once; older ones need no remembering."""


class Echoes(Struct):
    """Lets through what is new, and stops what another channel said already."""

    heard: list[tuple[int, list[str]]] = field(default_factory=list)

    def is_new(self, key: int, channel: str) -> bool:
        """Whether this is not the echo of something that other channels, but not this one, have said."""
        for known, channels in self.heard:
            if known == key and channel not in channels:
                channels.append(channel)
                return False
        self.heard.append((key, [channel]))
        del self.heard[:-KEPT]
        return True
