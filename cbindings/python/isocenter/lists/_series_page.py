"""Of a series on the page about it: a table of its frames, and the activity of the body over time."""
import html
import math

import numpy

#: Of the drawing, pixels of the page, and what is beside its axes.
_WIDE, _HIGH, _LEFT, _BELOW, _ABOVE, _RIGHT = 640, 280, 90, 40, 12, 20
#: Times above this, s, are told in min.
_MINUTES = 600.0


def lines(made):
    """Lines of HTML; none of one image."""
    if made.image.ndim != 4:
        return
    gates = made.names[0].startswith("gate")
    yield f"<h2>{'Gates' if gates else 'Frames'}</h2>"
    if not gates:
        yield from _curve(made)
    yield "<table>"
    yield f"<tr><th><th>from, s<th>{'time, s' if gates else 'to, s<th>measured, s'}<th>prompts<th>mean over the body, {html.escape(made.unit)}"
    for name, of in zip(made.names, made.found):
        span = [of.start, of.duration] if gates else [of.start, _end(of), of.duration]
        cells = [*(f"{v:.6g}" if math.isfinite(v) else "" for v in span), f"{of.prompts:,}", f"{of.mean:,.4g}" if math.isfinite(of.mean) else "none"]
        yield f"<tr><th>{html.escape(name)}" + "".join(f'<td class="number">{cell}' for cell in cells)
    yield "</table>"


def _end(of):
    return of.start + of.duration


def _curve(made):
    """An SVG: a line at each frame's mean for as long as the frame was, and one from middle to middle."""
    there = [of for of in made.found if of.duration and math.isfinite(of.mean)]
    if len(there) < 2:
        return
    last, most = max(_end(of) for of in there), max(of.mean for of in there)
    scale, unit = (60.0, "min") if last > _MINUTES else (1.0, "s")
    across, up = _ticks(last / scale), _ticks(most)
    x = lambda seconds: _LEFT + (_WIDE - _LEFT - _RIGHT) * seconds / scale / across[-1]
    y = lambda value: _HIGH - _BELOW - (_HIGH - _BELOW - _ABOVE) * max(value, 0) / up[-1]
    yield f'<svg role="img" aria-label="mean over the body of each frame" viewBox="0 0 {_WIDE} {_HIGH}" style="max-width:{_WIDE}px;width:100%;font:12px system-ui,sans-serif" fill="currentColor">'
    for tick in up:
        yield f'<line x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#8884"/><text x="{_LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:,.6g}</text>'
    for tick in across:
        yield f'<line x1="{x(tick * scale):.1f}" x2="{x(tick * scale):.1f}" y1="{y(0):.1f}" y2="{y(0) + 4:.1f}" stroke="currentColor"/>' \
              f'<text x="{x(tick * scale):.1f}" y="{y(0) + 18:.1f}" text-anchor="middle">{tick:.6g}</text>'
    middles = " ".join(f"{x(of.start + of.duration / 2):.1f},{y(of.mean):.1f}" for of in there)
    yield f'<polyline points="{middles}" fill="none" stroke="#d9730d" stroke-width="1"/>'
    for of in there:
        yield f'<line x1="{x(of.start):.1f}" x2="{x(_end(of)):.1f}" y1="{y(of.mean):.1f}" y2="{y(of.mean):.1f}" stroke="#d9730d" stroke-width="3"/>'
    yield f'<text x="{(_LEFT + _WIDE - _RIGHT) / 2:.0f}" y="{_HIGH - 4}" text-anchor="middle">time from the start of the scan, {unit}</text>'
    yield f'<text x="14" y="{(_HIGH - _BELOW) / 2:.0f}" text-anchor="middle" transform="rotate(-90 14 {(_HIGH - _BELOW) / 2:.0f})">mean over the body, {html.escape(made.unit)}</text>'
    yield "</svg>"


def _ticks(most):
    """From 0 to the most or above, 4 to 10 of them, at multiples of 1, 2 or 5."""
    if not most > 0:
        return numpy.array([0.0, 1.0])
    power = 10.0 ** math.floor(math.log10(most))
    step = next(power * part for part in (0.1, 0.2, 0.5, 1.0, 2.0) if most <= 9 * power * part)
    return step * numpy.arange(math.ceil(most / step - 1e-9) + 1)
