"""The report of tools/bench papers: one HTML file with every figure, the claim about it, what was measured, and the
differences."""

import base64
import html

import papers_bench
import papers_rows
from papers_figures import FIGURES
from papers_points import Points
from progress import Failed, Step

NAME = "papers.html"
PARTS = {"memc3": "MemC3: compact and concurrent MemCache with dumber caching and smarter hashing (2013)",
         "intel": "Intel: Enhancing the scalability of memcached (2012)",
         "memtier": "Memcached and Redis by memtier (2016)", "thesis": "B. Fan's thesis (2013)", "beyond": "Beyond the papers"}
VERDICTS = {"ahead": "good", "level": "good", "as claimed": "good", "behind": "bad", "short of the claim": "bad", "not shown here": "none", "seen": "none"}
STYLE = """
:root { color-scheme: light; --line: #e2e5e9; --ink: #1f2933; --soft: #5a6572; --ours: #0b6fb8; }
* { box-sizing: border-box; }
body { margin: 0; background: #fbfbfa; color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main, header { max-width: 76rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 2rem; } h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 1rem; padding-bottom: .3rem; border-bottom: 2px solid var(--ours); }
h3 { font-size: 1.05rem; margin: 0 0 .2rem; } .source, .machine, .note { color: var(--soft); font-size: .88rem; margin: 0 0 .7rem; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; } a { color: var(--ours); }
.tiles { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.2rem 0; }
.tile { background: #fff; border: 1px solid var(--line); border-radius: .6rem; padding: .7rem 1rem; min-width: 9.5rem; flex: 1; }
.tile b { display: block; font-size: 1.45rem; } .tile span { color: var(--soft); font-size: .82rem; }
article { background: #fff; border: 1px solid var(--line); border-radius: .6rem; padding: 1.1rem; margin: 0 0 1.2rem;
  display: grid; grid-template-columns: minmax(0, 1.25fr) minmax(0, 1fr); gap: 1.2rem; align-items: start; }
article img { width: 100%; height: auto; display: block; } article p { margin: 0 0 .6rem; } article p b { color: var(--ours); }
table { width: 100%; border-collapse: collapse; background: #fff; font-size: .88rem; }
th, td { text-align: left; padding: .4rem .55rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td small { display: block; color: var(--soft); overflow-wrap: anywhere; }
.v { border-radius: 1rem; padding: .05rem .6rem; white-space: nowrap; font-size: .82rem; display: inline-block; }
.good { background: #e0f2e4; color: #14602a; } .bad { background: #fde4d8; color: #8a3009; } .none { background: #eceff2; color: #4b5661; }
ul.behind { padding-left: 1.2rem; } ul.behind li { margin-bottom: .5rem; overflow-wrap: anywhere; } footer { color: var(--soft); font-size: .85rem; padding: 2rem 0 3rem; }
@media (max-width: 760px) {
  article { grid-template-columns: minmax(0, 1fr); padding: .8rem; }
  table, tbody, tr, td { display: block; width: 100%; } thead { display: none; }
  tr { border: 1px solid var(--line); border-radius: .5rem; margin-bottom: .7rem; padding: .3rem .2rem; }
  td, td.n { border: 0; padding: .18rem .6rem; text-align: left; white-space: normal; }
  td[data-head]::before { content: attr(data-head) ": "; color: var(--soft); } td:empty { display: none; }
}
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>The papers, reproduced</title><style>{style}</style></head><body>
<header><h1>The papers, reproduced</h1>
<p>Every table and figure of the five documents that this cache stands on, beside their baselines and ours, measured in one run.</p>
<p class="machine">{machine}</p><nav>{links}</nav><div class="tiles">{tiles}</div></header>
<main>{parts}{behind}<footer>{footer}</footer></main></body></html>
"""


def words(value, digits=4):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.{digits}g}"
    return str(value)


def escaped(value):
    return html.escape(words(value))


def tile(value, text):
    return f'<div class="tile"><b>{escaped(value)}</b><span>{html.escape(text)}</span></div>'


TILES = {"factor_hits": "times chaining under a global lock, hits (paper: 12, six threads)", "factor_misses": "the same for misses (paper: 25)",
         "items_more_than_lru_chaining": "more items than chaining + LRU in the same memory (paper: 0.4)",
         "udp_sla_times_memcached": "times memcached within 1 ms, UDP", "bags_vs_memcached": "bags by memcached's own locks",
         "shared_written_lines_per_get": "lines shared and written a get, 16 modelled cores", "model_error_2_cores": "of the two real cores the model misses"}


def seen(figure, series, cells):
    """Returns a sentence or two about the measured points."""
    of = [cell for cell in cells if cell["figure"] == figure.name]
    if of:
        best, worst = max(of, key=lambda c: c["times"]), min(of, key=lambda c: c["times"])
        text = f"Ours by the best baseline: {words(worst['times'], 3)} times at {escaped(worst['x'])} ({html.escape(worst['baseline_series'])})"
        if best is not worst:
            text += f" to {words(best['times'], 3)} times at {escaped(best['x'])} ({html.escape(best['baseline_series'])})"
        behind = [cell for cell in of if cell["verdict"] == papers_rows.BEHIND]
        text += f"; a baseline is ahead at {len(behind)} of {len(of)} points." if behind else "; no baseline is ahead."
        for why in dict.fromkeys(papers_rows.why_behind(figure, cell) for cell in behind):
            text += f" Why: {html.escape(why)}"
        return text
    ends = []
    for name, points in list(series.items())[:8]:
        if name.startswith("paper"):
            continue
        least, most = min(p["y"] for p in points), max(p["y"] for p in points)
        ends.append(f"{html.escape(name)} {words(least, 3)}" + (f" to {words(most, 3)}" if most != least else ""))
    return "; ".join(ends) + (f" ({html.escape(figure.y)})." if figure.y else ".")


def article(figure, series, cells, picture):
    data = base64.b64encode(picture.encode()).decode()
    return (f'<article id="{html.escape(figure.name)}"><img alt="{html.escape(figure.title)}" src="data:image/svg+xml;base64,{data}">'
            f"<div><h3>{html.escape(figure.title)}</h3><p class=\"source\">{html.escape(figure.source)}</p>"
            f"<p><b>Claimed.</b> {html.escape(figure.claimed)}</p><p><b>Seen here.</b> {seen(figure, series, cells)}</p>"
            f"<p><b>What differs.</b> {html.escape(figure.differs)}</p></div></article>")


def cell(head, text, number=False):
    return f'<td{" class=n" if number else ""} data-head="{head}">{text}</td>' if text else "<td></td>"


def table_row(row):
    times = f" {words(row['times'], 3)}x" if row.get("times") is not None and None not in (row["baseline"], row["ours"]) else ""
    why = row.get("why") or row.get("needs")
    verdict = f'<span class="v {VERDICTS[row["verdict"]]}">{html.escape(row["verdict"])}{times}</span>' + (f"<small>{html.escape(why)}</small>" if why else "")
    against = f"{escaped(row['baseline'])}<small>{html.escape(row['baseline_name'] or '')}</small>" if row["baseline"] is not None else ""
    return (f"<tr id=\"{row['name']}\"><td><b>{html.escape(row['claim'])}</b><small>{html.escape(row['source'])}; {row['name']}</small></td>" +
            cell("paper", escaped(row["paper"]), True) + cell("baseline here", against, True) + cell("ours", escaped(row["ours"]), True) +
            cell("unit", html.escape(row["unit"])) + cell("verdict", verdict) + "</tr>")


def rows_table(rows):
    heads = "".join(f"<th{' class=n' if head in ('paper', 'baseline here', 'ours') else ''}>{head}</th>"
                    for head in ("claim", "paper", "baseline here", "ours", "unit", "verdict"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(map(table_row, rows))}</tbody></table>"


def behind_list(found):
    if not found["cells_behind"]:
        return ""
    items = "".join(f"<li><b>{html.escape(str(c['cell']))}</b>: {html.escape(c['baseline'] or '')} leads up to {words(c['by'], 3)} times. {html.escape(c['why'])}</li>"
                    for c in papers_rows.grouped(found["cells_behind"]))
    return f'<h2 id="behind">Where a baseline is ahead</h2><ul class="behind">{items}</ul>'


def pictures(points):
    """Returns {figure: SVG} for figures that have points."""
    import papers_charts

    with Step("drawing") as step:
        found = {}
        for name, figure in FIGURES.items():
            series = points.series(name)
            if series:
                step.note = name
                found[name] = papers_charts.svg(figure, series)
        return found


def write(folder, figures, machine):
    """Writes papers.html into folder. Returns the names of its figures."""
    found = papers_bench.computed(figures)
    points = Points(papers_bench.points_of(figures))
    try:
        drawn = pictures(points)
    except ImportError as error:
        raise Failed(f"--report: python3-matplotlib is not installed: {error}") from error
    cells = [c for figure in FIGURES.values() for c in papers_rows.figure_cells(figure, points)]
    parts, links = [], []
    for part, title in PARTS.items():
        rows = [row for row in found["rows"] if row["part"] == part]
        articles = [article(FIGURES[name], points.series(name), cells, picture) for name, picture in drawn.items() if name.startswith(part + "/")]
        links.append(f'<a href="#{part}">{part}</a>')
        parts.append(f'<h2 id="{part}">{html.escape(title)}</h2>{"".join(articles)}{rows_table(rows)}')
    shown = [row for row in found["rows"] if row["verdict"] != papers_rows.NOT_SHOWN]
    tiles = [tile(f"{len(shown)} of {len(found['rows'])}", "rows measured here"),
             tile(f"{found['cells_compared'] - len(found['cells_behind'])} of {found['cells_compared']}", "cells in which no baseline is ahead"),
             *(tile(found[name], text) for name, text in TILES.items() if name in found)]
    page = PAGE.format(style=STYLE, machine=html.escape(", ".join(f"{name} {value}" for name, value in machine.items()) + (", --quick" if figures.get("quick") else "")),
                       links="".join(links) + ('<a href="#behind">where a baseline is ahead</a>' if found["cells_behind"] else ""), tiles="".join(tiles), behind=behind_list(found), parts="".join(parts),
                       footer="Written by tools/bench papers --report. Times are medians of rounds in which the systems took turns; the light band is their spread. "
                              "Counts are the same on any machine.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NAME).write_text(page)
    except OSError as error:
        raise Failed(f"--report: {error}") from error
    return list(drawn)
