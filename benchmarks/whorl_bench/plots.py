"""Plots as SVG, written by hand: lines over a numeric axis, bars over names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 760, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 200, 34, 56
_COLOURS = ("#0b6e4f", "#c1440e", "#355c9b", "#8a5a00", "#7a3b8f", "#5f6b73", "#a8174b", "#2b8a9d")
_STYLE = "font-family:sans-serif;font-size:12px"
# Plots have a background, so that they are readable on dark pages, too.
_GROUND = "#ffffff"


@dataclass(frozen=True)
class Series:
    """A line, or the bars of one colour: values by the label of their point."""

    name: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class Chart:
    """The content of a plot. Values are on a logarithmic axis."""

    title: str
    unit: str
    axis: str
    labels: Sequence[str]
    series: Sequence[Series]

    def svg(self) -> str:
        """The drawing."""
        numbers = [number(label) for label in self.labels]
        known = [value for series in self.series for value in series.values.values() if value > 0]
        if not known:
            return _page(self.title, [])
        scale = _Scale.over(known)
        parts = [*_frame(self, scale), *_legend(self.series)]
        if len(self.labels) > 1 and all(one is not None and one > 0 for one in numbers):
            parts += _lines(self, scale, [one for one in numbers if one is not None])
        else:
            parts += _bars(self, scale)
        return _page(self.title, parts)


def number(label: str) -> float | None:
    """The number in a label such as `10,000`, `1M` or `30 min`."""
    text = label.split(" ")[0]
    if text.endswith(","):
        return None
    text = text.replace(",", "")
    factor = {"k": 1e3, "M": 1e6}.get(text[-1:], 1.0)
    try:
        return float(text.rstrip("kM")) * factor
    except ValueError:
        return None


@dataclass(frozen=True)
class _Scale:
    """The vertical axis, from one power of ten to another."""

    low: int
    high: int

    @classmethod
    def over(cls, values: Sequence[float]) -> _Scale:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return cls(low, max(high, low + 1))

    def y(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _page(title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" style="{_STYLE}">'
        f"<title>{escape(title)}</title>"
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="{_GROUND}"/>'
        f'<text x="{_LEFT}" y="20" font-weight="bold">{escape(title)}</text>'
    )
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def _frame(chart: Chart, scale: _Scale) -> list[str]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for power in range(scale.low, scale.high + 1):
        y = scale.y(10.0**power)
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#d5d9dc"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_written(10.0**power)}</text>')
    parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="#333"/>')
    middle = (_TOP + bottom) / 2
    parts.append(
        f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">{escape(chart.unit)}</text>'
    )
    parts.append(f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">{escape(chart.axis)}</text>')
    return parts


def _legend(series: Sequence[Series]) -> list[str]:
    parts = []
    for place, one in enumerate(series):
        y = _TOP + 12 + 18 * place
        parts.append(f'<rect x="{_WIDTH - _RIGHT + 14}" y="{y - 9}" width="10" height="10" fill="{_colour(place)}"/>')
        parts.append(f'<text x="{_WIDTH - _RIGHT + 30}" y="{y}">{escape(one.name)}</text>')
    return parts


def _lines(chart: Chart, scale: _Scale, numbers: Sequence[float]) -> list[str]:
    low, high = math.log10(min(numbers)), math.log10(max(numbers))
    span = max(high - low, 1e-9)
    room = _WIDTH - _LEFT - _RIGHT - 40
    xs = [_LEFT + 20 + (math.log10(one) - low) / span * room for one in numbers]
    parts = [_tick(x, label) for x, label in zip(xs, chart.labels, strict=True)]
    for place, series in enumerate(chart.series):
        known = [
            (x, scale.y(series.values[label]))
            for x, label in zip(xs, chart.labels, strict=True)
            if series.values.get(label, 0) > 0
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in known)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{_colour(place)}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_colour(place)}"/>' for x, y in known]
    return parts


def _bars(chart: Chart, scale: _Scale) -> list[str]:
    group = (_WIDTH - _LEFT - _RIGHT) / max(len(chart.labels), 1)
    width = group * 0.8 / max(len(chart.series), 1)
    bottom = _HEIGHT - _BOTTOM
    parts = []
    for at, label in enumerate(chart.labels):
        begin = _LEFT + at * group + group * 0.1
        parts.append(_tick(begin + group * 0.4, label))
        for place, series in enumerate(chart.series):
            value = series.values.get(label, 0)
            if value > 0:
                x, y = begin + place * width, scale.y(value)
                box = f'x="{x:.1f}" y="{y:.1f}" width="{width - 1:.1f}" height="{bottom - y:.1f}"'
                parts.append(f'<rect {box} fill="{_colour(place)}"><title>{_written(value)}</title></rect>')
    return parts


def _tick(x: float, label: str) -> str:
    return f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{escape(label)}</text>'


def _colour(place: int) -> str:
    return _COLOURS[place % len(_COLOURS)]


def _written(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
