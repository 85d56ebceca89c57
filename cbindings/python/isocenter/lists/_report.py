"""A page about an image in Bq/ml: one HTML file, which needs nothing beside it."""
import base64
import html

import numpy

from .. import _png
from ..images import dicom_geometry
from ..raw import upright
from . import _series_page

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --mark: #d9730d; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; font-weight: 600; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; font-weight: 600; }
table { border-collapse: collapse; margin-bottom: 1rem; }
th, td { text-align: left; vertical-align: top; padding: .15rem 1.5rem .15rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { font-weight: 500; opacity: .7; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
main { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-end; } figure { margin: 0; } figcaption { font-size: .85rem; opacity: .75; }
img { image-rendering: pixelated; display: block; } li { color: var(--mark); } pre { white-space: pre-wrap; overflow-wrap: anywhere; }
"""
#: Of the values above 0, which is black.
_PERCENTILE = 99.8
#: Width of the widest picture, pixels of the page.
_WIDE = 300


def numbers(made):
    """Names and values of each frame."""
    rows = []
    for f, name in zip(made.found, made.names):
        trues = f.counted - f.randoms - f.scatter
        part = lambda v: f"{v:,.0f} ({100 * v / f.counted:.1f} %)" if f.counted else "none"
        last = f.history[-1] if f.history else None
        rows.append({
            "time": f"{f.duration:g} s of {name}" if name.startswith("gate") else f"{f.start:g} to {f.start + f.duration:g} s",
            "prompts": f"{f.prompts:,}", "delays": f"{f.delays:,}", "prompts in the lattice": f"{f.counted:,}",
            "dropped": ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in f.dropped._asdict().items() if n and name != "events") or "none",
            "randoms": part(f.randoms), "scatter": part(f.scatter),
            "scatter's scale": f"{f.scale:.3f} +- {f.scale_error:.3f}, by {f.tails:,.0f} counts of tails" if f.scale_error else "none",
            "trues": part(trues), "sensitivity": f"{f.sensitivity:.4g} counts a voxel a Bq/ml", "passes": f"{len(f.history)}"
            + (f", the last changed the image by {last.change:.2g}" if last and last.change else ""),
            "log-likelihood": (f"{last.log_likelihood:.8g}" + (f", less {last.penalty:.5g} of the prior" if f.strength else "")) if last else "",
            **({"alive": f"{100 * f.alive:.4g} %"} if any(of.alive != 1 for of in made.found) else {}),
            **({"restored": f"times {f.restored:.4f}, for the counts that the prior takes"} if f.strength else {})})
    return rows


def write(path, made, command=""):
    rows, title = numbers(made), f"{made.scanner or 'PET'}: activity in {made.unit}"
    page = ['<!DOCTYPE html>', '<html lang="en">', '<meta charset="utf-8">', f"<title>{html.escape(title)}</title>",
            # Nothing is fetched, and nothing runs, whatever a file's names hold.
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">",
            '<meta name="viewport" content="width=device-width">', f"<style>{_STYLE}</style>", f"<h1>{html.escape(title)}</h1>"]
    if made.doubts:
        page += ["<ul>", *(f"<li>{html.escape(words)}" for words in made.doubts), "</ul>"]
    page += ["<main>", *_pictures(made), "</main>", *_series_page.lines(made), "<h2>Counts</h2>", "<table>"]
    page += [f"<tr><th>{name}" + "".join(f'<td class="number">{html.escape(row[name])}' for row in rows) for name in rows[0]]
    page += ["</table>", "<h2>Settings</h2>", "<table>", f"<tr><th>isotope<td>{html.escape(made.isotope.name or 'not named')}"]
    page += [f"<tr><th>{html.escape(name)}<td>{html.escape(value)}" for name, value in made.settings.items() if value]
    page += ["</table>"]
    if command:
        page += ["<h2>Command</h2>", f"<pre>{html.escape(command)}</pre>"]
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("\n".join(page) + "\n</html>\n")


def _pictures(made):
    """Three slices through the middle of the activity, the mean of all frames, as radiologists look at them."""
    there = [k for k, f in enumerate(made.found) if f.duration]
    image = made.image if made.image.ndim == 3 else numpy.average(made.image[there], axis=0, weights=[made.found[k].duration for k in there])
    seen = image[image > 0]
    black = float(numpy.percentile(seen, _PERCENTILE)) if seen.size else 1.0
    total = image.sum(dtype=float)
    at = [int(round((image.sum(axis=tuple({0, 1, 2} - {axis}), dtype=float) @ numpy.arange(n)) / total)) if total else n // 2
          for axis, n in enumerate(image.shape)]
    axes = numpy.array(dicom_geometry(image.shape, made.voxel, position=made.position)["ImageOrientationPatient"]).reshape(2, 3)
    axes = numpy.stack([*axes, numpy.cross(*axes)])  # where x, y and z go
    widest = max(n * side for n, side in zip(image.shape[::-1], made.voxel))
    for across, name in ((2, "transverse"), (1, "coronal"), (0, "sagittal")):
        plane = image.take(at[2 - across], axis=2 - across)
        column, row = [k for k in (0, 1, 2) if k != across]
        affine = numpy.eye(4)
        affine[:3, 0], affine[:3, 1] = axes[column], axes[row]
        plane = upright(plane, affine)
        grey = (255 * (1 - numpy.clip(plane / black, 0, 1))).round().astype(numpy.uint8)
        wide = _WIDE * grey.shape[1] * made.voxel[column] / widest
        place = made.centre[across] + (at[2 - across] - (image.shape[2 - across] - 1) / 2) * made.voxel[across]
        caption = f"{name}, {'xyz'[across]} = {place:.1f} mm; white 0, black {black:,.4g} {made.unit}"
        data = base64.b64encode(_png.encode(grey)).decode()
        yield f'<figure><img alt="{name} slice" style="width:{wide:.0f}px" src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>'
