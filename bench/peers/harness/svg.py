"""A chart of dots, as SVG that is readable by day and night: it has no ground of
its own, and its colours follow what the reader prefers."""

import dataclasses
import math
from html import escape

WIDTH = 860
NAMES = 140
LEFT = 250
RIGHT = 40
ROW = 26
TOP = 104
BOTTOM = 56
RADIUS = 5.5

STYLE = """
text { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif;
       font-size: 13px; fill: #1f2328; }
.title { font-size: 17px; font-weight: 600; } .bold { font-weight: 600; }
.curve, .hollow { fill: none; }
.quiet, .value { font-size: 12px; } .quiet { fill: #59636e; }
.grid { stroke: #818b98; stroke-opacity: 0.3; }
.line, .hollow { stroke-width: 2; } .thin { stroke-width: 1.2; }
.stem { stroke-width: 6; stroke-opacity: 0.25; }
.theirs .line, .theirs .hollow, .theirs .full, .theirs .stem { stroke: #67748a; }
.theirs .full { fill: #67748a; }
.ours .line, .ours .hollow, .ours .full, .ours .stem { stroke: #0a7a70; }
.ours .full { fill: #0a7a70; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .quiet { fill: #9198a1; }
.theirs .line, .theirs .hollow, .theirs .full, .theirs .stem { stroke: #94a2b8; }
.theirs .full { fill: #94a2b8; }
.ours .line, .ours .hollow, .ours .full, .ours .stem { stroke: #3fc8b7; }
.ours .full { fill: #3fc8b7; }
}
""".strip()


@dataclasses.dataclass
class Dot:
    """One value with its range; over: it is more than that."""

    value: float
    least: float
    most: float
    hollow: bool = False
    over: bool = False


@dataclasses.dataclass
class Row:
    label: str
    note: str
    dots: list[Dot]
    ours: bool = False
    joined: bool = False


@dataclasses.dataclass
class Chart:
    """legend: what a full and what a hollow dot are.  A linear axis begins at 0."""

    title: str
    subtitle: str
    unit: str
    rows: list[Row]
    legend: tuple[str, str] | None = None
    linear: bool = False


def short(value: float) -> str:
    """Three digits are enough."""
    if value >= 1000:
        digits = len(str(int(value))) - 3
        return f"{round(value, -digits):,.0f}"
    return f"{value:.3g}" if value >= 0.001 else "0"


class Scale:
    """Logarithmic: from the whole decade below the least to that above the most.
    Linear: from 0 to the whole step above the most."""

    def __init__(self, chart: Chart) -> None:
        values = [v for row in chart.rows for dot in row.dots
                  for v in (dot.value, dot.least, dot.most) if v > 0]
        self.linear = chart.linear
        most = max(values, default=10.0)
        self.low = math.floor(math.log10(min(values, default=1)))
        self.high = max(math.ceil(math.log10(most) + 0.12), self.low + 1)
        decade = 10.0 ** math.floor(math.log10(most))
        self.step = next(s * decade for s in (0.2, 0.25, 0.5, 1, 2) if 1.15 * most <= 6 * s * decade)
        self.end = self.step * math.ceil(1.15 * most / self.step)

    def ticks(self) -> list[float]:
        if self.linear:
            return [self.step * k for k in range(round(self.end / self.step) + 1)]
        return [10.0 ** power for power in range(self.low, self.high + 1)]

    def x(self, value: float) -> float:
        if self.linear:
            part = value / self.end
        elif value > 0:
            part = (math.log10(value) - self.low) / (self.high - self.low)
        else:
            part = 0.0
        return LEFT + max(0.0, min(1.0, part)) * (WIDTH - LEFT - RIGHT)


def text(x: float, y: float, content: str, classes: str = "", anchor: str = "start") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" '
            f'text-anchor="{anchor}">{escape(content)}</text>')


def line(x1: float, y1: float, x2: float, y2: float, classes: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{classes}"/>'


def axis(chart: Chart, scale: Scale, bottom: float) -> list[str]:
    parts = []
    for tick in scale.ticks():
        x = scale.x(tick)
        parts.append(line(x, TOP - 12, x, bottom, "grid"))
        parts.append(text(x, bottom + 18, short(tick), "quiet", "middle"))
    unit = chart.unit if chart.linear else f"{chart.unit}, logarithmic"
    parts.append(text(WIDTH - RIGHT, bottom + 40, unit, "quiet", "end"))
    return parts


def legend(chart: Chart) -> list[str]:
    if chart.legend is None:
        return []
    full, hollow = chart.legend
    at = LEFT + 30 + 7.0 * len(full)
    return ['<g class="theirs">', f'<circle cx="{LEFT + 6}" cy="76" r="5" class="full"/>',
            text(LEFT + 17, 80, full, "quiet"),
            f'<circle cx="{at + 6:.0f}" cy="76" r="5" class="hollow"/>',
            text(at + 17, 80, hollow, "quiet"), "</g>"]


def draw_dot(dot: Dot, scale: Scale, y: float) -> list[str]:
    x = scale.x(dot.value)
    parts = []
    if dot.most > dot.least:
        parts.append(line(scale.x(dot.least), y, scale.x(dot.most), y, "line thin"))
    if dot.over:
        parts.append(f'<path d="M{x - 5:.1f},{y - 6} l10,6 l-10,6 z" class="full"/>')
    else:
        kind = "hollow" if dot.hollow else "full"
        parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="{RADIUS}" class="{kind}"/>')
    return parts


def draw_row(row: Row, scale: Scale, y: float) -> list[str]:
    """The number stands to the right of the last dot, where nothing else is."""
    parts = [f'<g class="{"ours" if row.ours else "theirs"}">',
             text(NAMES, y + 4, row.label, "bold" if row.ours else "", "end"),
             text(NAMES + 10, y + 4, row.note, "quiet")]
    if scale.linear and row.dots:
        parts.append(line(LEFT, y, scale.x(row.dots[0].value), y, "stem"))
    if row.joined and len(row.dots) > 1:
        xs = sorted(scale.x(dot.value) for dot in row.dots)
        if xs[-1] - xs[0] > 2 * RADIUS:
            parts.append(line(xs[0] + RADIUS, y, xs[-1] - RADIUS, y, "line"))
    for dot in row.dots:
        parts += draw_dot(dot, scale, y)
    if row.dots:
        right = max(max(scale.x(dot.value), scale.x(dot.most)) for dot in row.dots)
        words = " – ".join(("over " if dot.over else "") + short(dot.value) for dot in row.dots)
        room = right + 12 + 7 * len(words) < WIDTH
        left = min(min(scale.x(dot.value), scale.x(dot.least)) for dot in row.dots)
        parts.append(text(right + 12 if room else left - 12, y + 4, words,
                          "value bold" if row.ours else "value", "start" if room else "end"))
    else:
        parts.append(text(LEFT + 6, y + 4, "not measured", "quiet"))
    parts.append("</g>")
    return parts


def draw(chart: Chart) -> str:
    bottom = TOP + ROW * len(chart.rows)
    scale = Scale(chart)
    parts = [*legend(chart), *axis(chart, scale, bottom)]
    for number, row in enumerate(chart.rows):
        parts += draw_row(row, scale, TOP + ROW * number + ROW // 2 - 6)
    return page(chart.title, chart.subtitle, bottom + BOTTOM, parts)


def page(title: str, subtitle: str, height: int, parts: list[str]) -> str:
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        text(24, 32, title, "title"), text(24, 54, subtitle, "quiet"), *parts, "</svg>"]) + "\n"
