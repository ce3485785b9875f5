"""Curves over time on a logarithmic axis, one per system, named at their ends."""

import math

from .svg import line, page, short, text

LEFT, RIGHT, TOP, BOTTOM = 80, 700, 84, 384
HEIGHT = 430

Points = list[tuple[float, float]]


def decades(curves: dict[str, Points]) -> tuple[int, int]:
    values = [y for points in curves.values() for _, y in points if y > 0] or [1.0]
    low = math.floor(math.log10(min(values)))
    return low, max(math.ceil(math.log10(max(values))), low + 1)


def spread_out(wanted: dict[str, float], gap: float = 16) -> dict[str, float]:
    """Heights of the names, moved apart where they would lie on each other."""
    placed: dict[str, float] = {}
    last = -math.inf
    for name, y in sorted(wanted.items(), key=lambda item: item[1]):
        last = max(y, last + gap)
        placed[name] = last
    return placed


def draw(title: str, subtitle: str, unit: str, curves: dict[str, Points]) -> str:
    low, high = decades(curves)
    end = max(x for points in curves.values() for x, _ in points)

    def at(x: float, y: float) -> tuple[float, float]:
        part = (math.log10(max(y, 10.0 ** low)) - low) / (high - low)
        return LEFT + (RIGHT - LEFT) * x / end, BOTTOM - (BOTTOM - TOP) * part

    parts = [text(LEFT, BOTTOM + 36, f"{unit}, logarithmic, over {short(end)} s", "quiet")]
    for power in range(low, high + 1):
        _, y = at(0, 10.0 ** power)
        parts += [line(LEFT, y, RIGHT, y, "grid"),
                  text(LEFT - 10, y + 4, short(10.0 ** power), "quiet", "end")]
    names = spread_out({name: at(*points[-1])[1] for name, points in curves.items()})
    for name, points in curves.items():
        ours = name == "twtasks"
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in points))
        parts += [f'<g class="{"ours" if ours else "theirs"}">',
                  f'<polyline points="{path}" class="line curve{"" if ours else " thin"}"/>',
                  text(RIGHT + 12, names[name] + 4, name, "bold" if ours else "quiet"), "</g>"]
    return page(title, subtitle, HEIGHT, parts)
