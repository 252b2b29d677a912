"""Power by tasks and repeats, as an SVG that needs nothing but a browser: one panel for each true gain."""

from collections.abc import Mapping

Power = Mapping[tuple[int, int, float], float]
"""Percent, by tasks, repeats and true gain."""
WIDE, HIGH, LEFT, TOP, GAP = 200, 180, 46, 40, 26
COLOURS = ("#b8642c", "#2c6fb8", "#2f8f5b", "#7a4fb0")
FLOOR = 80


def drawn(power: Power) -> str:
    """The whole picture."""
    gains = sorted({gain for _, _, gain in power})
    wide = LEFT + len(gains) * (WIDE + GAP) + 10
    panels = [panel(power, gain, LEFT + place * (WIDE + GAP)) for place, gain in enumerate(gains)]
    body = "\n".join([*panels, legend(power), words(LEFT, HIGH + TOP + 58, "tasks in the suite; dashed: 80 %")])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {HIGH + TOP + 70}" font-family="sans-serif" '
        f'font-size="11" role="img" aria-label="Power of rule tested by tasks and repeats">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def panel(power: Power, gain: float, left: int) -> str:
    """One true gain: a line for each number of repeats."""
    tasks = sorted({one for one, _, _ in power})
    places = {one: left + WIDE * place / (len(tasks) - 1) for place, one in enumerate(tasks)}
    parts = [words(left, TOP - 8, f"+{100 * gain:.0f} points", weight="bold")]
    for level in (0, 20, 40, 60, FLOOR, 100):
        dash = ' stroke-dasharray="4 3"' if level == FLOOR else ""
        tone = "#666" if level == FLOOR else "#e2e2e2"
        y = height(level)
        parts.append(f'<line x1="{left}" x2="{left + WIDE}" y1="{y:.1f}" y2="{y:.1f}" stroke="{tone}"{dash}/>')
        parts.append(words(left - 6, y + 4, str(level), anchor="end") if left == LEFT else "")
    parts += [words(places[one], HIGH + TOP + 16, str(one), anchor="middle") for one in tasks]
    for colour, repeats in zip(COLOURS, counts(power), strict=False):
        dots = [(places[one], height(power[one, repeats, gain])) for one in tasks if (one, repeats, gain) in power]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in dots]
    return "\n".join(filter(None, parts))


def counts(power: Power) -> list[int]:
    """All numbers of repeats."""
    return sorted({repeats for _, repeats, _ in power})


def height(percent: float) -> float:
    """Where a percentage stands."""
    return TOP + HIGH * (1 - percent / 100)


def legend(power: Power) -> str:
    """Which colour is which."""
    named = zip(COLOURS, counts(power), strict=False)
    return "\n".join(
        words(LEFT + place * 100, HIGH + TOP + 38, f"● {repeats} repeats", colour)
        for place, (colour, repeats) in enumerate(named)
    )


def words(x: float, y: float, text: str, fill: str = "#333", *, anchor: str = "start", weight: str = "normal") -> str:
    """A piece of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}">{text}</text>'
