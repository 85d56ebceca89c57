"""As much of SVG as the figures need: lines, arrows, shapes, pictures and text on white, with y downwards."""
import math
import sys
from base64 import b64encode
from html import escape
from pathlib import Path

INK, FAINT, PAPER = "#222222", "#9aa5b1", "#eef3f9"
BLUE, RED, GREEN, ORANGE = "#1f5fa8", "#c0392b", "#2e7d32", "#b8860b"


class Figure:
    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.parts = width, height, title, []

    def add(self, name, content="", **attributes):
        written = "".join(f' {key.replace("_", "-")}="{_number(value)}"' for key, value in attributes.items() if value is not None)
        self.parts.append(f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>")

    def line(self, a, b, color=INK, width=1.5, dash=None):
        self.add("line", x1=a[0], y1=a[1], x2=b[0], y2=b[1], stroke=color, stroke_width=width, stroke_dasharray=dash)

    def lines(self, points, color=INK, width=1.5, fill="none", dash=None):
        self.add("polyline", points=" ".join(f"{_number(x)},{_number(y)}" for x, y in points), stroke=color, stroke_width=width,
                 fill=fill, stroke_dasharray=dash)

    def polygon(self, points, color=INK, width=1.0, fill="none"):
        self.lines([*points, points[0]], color, width, fill)

    def arrow(self, a, b, color=INK, width=1.8, dash=None):
        length = math.dist(a, b)
        u = (b[0] - a[0]) / length, (b[1] - a[1]) / length
        neck = b[0] - 9 * u[0], b[1] - 9 * u[1]
        self.line(a, neck, color, width, dash)
        self.polygon([b, (neck[0] - 4 * u[1], neck[1] + 4 * u[0]), (neck[0] + 4 * u[1], neck[1] - 4 * u[0])], color, 0.5, color)

    def arc(self, centre, radius, start, end, color=INK, width=1.8):
        """An arrow along a circle; angles in radians, counter-clockwise as seen."""
        steps = 40
        angles = [start + (end - start) * k / steps for k in range(steps + 1)]
        points = [(centre[0] + radius * math.cos(a), centre[1] - radius * math.sin(a)) for a in angles]
        self.lines(points[:-4], color, width)
        self.arrow(points[-6], points[-1], color, width)

    def rect(self, x, y, width, height, color=FAINT, fill="none", line=1.0):
        self.add("rect", x=x, y=y, width=width, height=height, stroke=color, stroke_width=line, fill=fill)

    def dot(self, at, radius=4.0, color=RED):
        self.add("circle", cx=at[0], cy=at[1], r=radius, fill=color)

    def circle(self, centre, radius, color=INK, width=1.5, dash=None):
        self.add("circle", cx=centre[0], cy=centre[1], r=radius, fill="none", stroke=color, stroke_width=width, stroke_dasharray=dash)

    def image(self, at, width, height, png):
        self.add("image", x=at[0], y=at[1], width=width, height=height, image_rendering="pixelated",
                 href="data:image/png;base64," + b64encode(png).decode())

    def text(self, at, words, color=INK, size=14, anchor="start", weight=None):
        self.add("text", escape(words), x=at[0], y=at[1], fill=color, font_size=size, text_anchor=anchor, font_weight=weight)

    def write(self, path):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
                f'height="{self.height}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">')
        parts = [head, f"<title>{escape(self.title)}</title>", f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>']
        path.write_text("\n".join([*parts, *self.parts, "</svg>", ""]), encoding="utf-8")


def write_all(figures):
    """Into the folder that the command line names, or beside this file: `figures` are functions by name."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, figure in figures.items():
        figure().write(folder / f"{name}.svg")


def _number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
