"""Rows and verdicts of tools/bench papers: claims of the papers beside what was measured here.

A verdict compares ours with the baseline that was measured in the same run. Where there is no baseline, or nothing of
ours, it compares with the paper's figure. Times within LEVEL of each other are level; counts are exact.
"""

import papers_claims
import papers_figures
from papers_points import COUNT, Points

LEVEL = 0.03  # relative difference of two times that count as level
AHEAD, SAME, BEHIND = "ahead", "level", "behind"
AS_CLAIMED, SHORT = "as claimed", "short of the claim"
NOT_SHOWN = "not shown here"


def times_better(ours, baseline, better):
    """Returns how many times as good ours is as the other, or None if that is no number."""
    over, under = (ours, baseline) if better == "more" else (baseline, ours)
    if over is None or under is None:
        return None
    if under == 0:
        return 1.0 if over == 0 else float("inf")
    return over / under


def judged(times, exact):
    margin = 0 if exact else LEVEL
    return AHEAD if times > 1 + margin else BEHIND if times < 1 - margin else SAME


def exact_of(points, *picks):
    """Returns True if all of these picks are counts."""
    found = []
    for pick in picks:
        while pick is not None and pick[0] == "/":
            found.append(exact_of(points, *pick[1:]))
            pick = None
        if pick is not None:
            one = points.find(pick)
            found.append(one is not None and one["kind"] == COUNT)
    return all(found)


def rounded(value):
    return float(f"{value:.4g}") if isinstance(value, float) and value == value and abs(value) != float("inf") else value


def holds(ours, paper, better):
    """Returns True if ours is within a twentieth of the paper's figure, or better."""
    times = times_better(ours, paper, better)
    return times is not None and times >= 0.95


def row_of(claim, points, reasons):
    ours, baseline = points.value(claim.ours), points.value(claim.baseline)
    row = {"name": claim.name, "part": claim.name.partition("_")[0], "source": claim.source, "claim": claim.claim,
           "paper": claim.paper, "baseline": rounded(baseline), "baseline_name": claim.against, "ours": rounded(ours),
           "unit": claim.unit, "better": claim.better, "kind": COUNT if exact_of(points, claim.ours, claim.baseline) else "time"}
    for name, pick in (("ours_spread", claim.ours), ("baseline_spread", claim.baseline)):
        if spread := points.spread(pick):
            row[name] = [rounded(v) for v in spread]
    lacking = [pick for pick, value in ((claim.ours, ours), (claim.baseline, baseline)) if pick is not None and value is None]
    if lacking:
        needs = next(filter(None, map(points.why_absent, lacking)), None) or claim.needs or "its part was not run"
        return row | {"verdict": NOT_SHOWN, "needs": needs}
    if claim.ours is not None and claim.baseline is not None:
        times = times_better(ours, baseline, claim.better)
        row |= {"times": rounded(times), "verdict": judged(times, row["kind"] == COUNT)}
        if row["verdict"] == BEHIND:
            row["why"] = reasons.get(claim.name) or figure_reason(claim) or overlap(row.get("ours_spread"), row.get("baseline_spread")) or papers_claims.NO_REASON
        return row
    seen = baseline if claim.ours is None else ours
    if isinstance(claim.paper, (int, float)):
        good = holds(seen, claim.paper, claim.better)
        return row | {"times": rounded(times_better(seen, claim.paper, claim.better)),
                      "verdict": AS_CLAIMED if good else SHORT,
                      **({} if good else {"why": reasons.get(claim.name) or papers_claims.NO_REASON})}
    return row | {"verdict": "seen"}


def figure_reason(claim):
    """Returns the figure's reason for that baseline, if the row belongs to a figure."""
    figure, series, _ = claim.baseline if claim.baseline[0] != "/" else claim.baseline[1]
    names = (series,) if isinstance(series, str) else series
    return why_of(papers_figures.FIGURES[figure], names[0]) if figure in papers_figures.FIGURES else None


def overlap(ours, baseline):
    """Returns the reason for a lead that no figure explains, if the rounds of both overlap; otherwise None."""
    if not ours or not baseline or ours[0] > baseline[1] or baseline[0] > ours[1]:
        return None
    return f"The rounds of both overlap, {ours[0]:.4g} to {ours[1]:.4g} of ours and {baseline[0]:.4g} to {baseline[1]:.4g}: no difference is shown."


def figure_cells(figure, points):
    """Returns cells: the best of ours and the best baseline at each x of a figure that both have."""
    series = points.series(figure.name)
    if figure.better is None:
        return []
    best = max if figure.better == "more" else min

    def bests(names):
        found = {}
        for name in names:
            for p in series.get(name, []):
                if p["x"] not in found or best(found[p["x"]]["y"], p["y"]) != found[p["x"]]["y"]:
                    found[p["x"]] = p
        return found

    ours, others = bests(figure.ours_of(series)), bests(figure.bases_of(series))
    cells = []
    for x in ours:
        if x not in others:
            continue
        a, b = ours[x], others[x]
        times = times_better(a["y"], b["y"], figure.better)
        cells.append({"figure": figure.name, "x": x, "ours": rounded(a["y"]), "ours_series": a["series"],
                      "baseline": rounded(b["y"]), "baseline_series": b["series"], "times": rounded(times),
                      "spreads": (a.get("spread"), b.get("spread")),
                      "verdict": judged(times, a["kind"] == b["kind"] == COUNT)})
    return cells


def why_of(figure, baseline):
    """Returns the figure's reason why a baseline is ahead; None if it has none."""
    return next((text for words, text in figure.reasons.items() if words in baseline), figure.reasons.get(""))


def why_behind(figure, cell):
    return why_of(figure, cell["baseline_series"]) or overlap(*cell["spreads"]) or papers_claims.NO_REASON


def behind(rows, cells):
    """Returns the cells in which a baseline is ahead, by how much and why."""
    found = []
    for row in rows:
        if row["verdict"] == BEHIND:
            found.append({"cell": row["name"], "of": row["name"], "x": None, "baseline": row["baseline_name"], "by": rounded(1 / row["times"] if row["times"] else None),
                          "why": row["why"]})
    for cell in cells:
        if cell["verdict"] == BEHIND:
            found.append({"cell": f"{cell['figure']} at {cell['x']}", "of": cell["figure"], "x": cell["x"], "baseline": cell["baseline_series"],
                          "by": rounded(1 / cell["times"]) if cell["times"] else None, "why": why_behind(papers_figures.FIGURES[cell["figure"]], cell)})
    return found


def grouped(found):
    """Groups cells in which a baseline is ahead by figure, baseline and reason: [{cell, baseline, by, why}]."""
    groups = {}
    for cell in found:
        groups.setdefault((cell["of"], cell["baseline"], cell["why"]), []).append(cell)
    lines = []
    for (of, baseline, why), cells in groups.items():
        xs = [c["x"] for c in cells if c["x"] is not None]
        ends = [f"{x:.4g}" if isinstance(x, float) else f"{x}" for x in dict.fromkeys((xs[0], xs[-1]))] if xs else []
        where = f" at {ends[0]}" + (f" to {ends[1]} ({len(xs)} points)" if len(ends) > 1 else "") if xs else ""
        most = [c["by"] for c in cells if c["by"] is not None]
        lines.append({"cell": of + where, "baseline": baseline, "by": max(most) if most else None, "why": why})
    return lines


def found_of(points_list):
    """Computes rows, cells and named figures from the points."""
    points = Points(points_list)
    rows = [row_of(claim, points, papers_claims.REASONS) for claim in papers_claims.CLAIMS]
    cells = [cell for figure in papers_figures.FIGURES.values() for cell in figure_cells(figure, points)]
    worse = behind(rows, cells)
    compared = cells + [row for row in rows if row["verdict"] in (AHEAD, SAME, BEHIND)]
    unexplained = [cell for cell in worse if cell["why"] == papers_claims.NO_REASON]
    # In each cell ours leads, or the cell states by how much it does not, and why.
    found = {"rows": rows, "cells_compared": len(compared), "cells_behind": worse, "cells_unexplained": len(unexplained),
             "ours_best_everywhere": bool(compared) and not unexplained}
    for name, pick in papers_claims.NAMED.items():
        if (value := points.value(pick)) is not None:
            found[name] = round(value, 5)
    return found
