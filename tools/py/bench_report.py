"""Writes a report of a run of tools/bench: an HTML file with its tables, and its charts as files beside it."""

import html

import bench_plot
from progress import Failed

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>tools/bench {what}</title></head><body>
<h1>tools/bench {what}</h1>
<p>{machine}</p>
<pre>{tables}</pre>
{charts}
</body></html>
"""


def write(folder, what, figures, tables, machine):
    """Writes DIR/WHAT.html and an SVG for each chart."""
    pictures = [f'<img src="{name}.svg" alt="{name}">' for name in bench_plot.plot(figures, folder)]
    words = ", ".join(f"{name}: {value}" for name, value in machine.items())
    try:
        (folder / f"{what}.html").write_text(PAGE.format(what=what, machine=html.escape(words),
                                                         tables=html.escape(tables), charts="\n".join(pictures)))
    except OSError as error:
        raise Failed(f"--report: {error}") from error
