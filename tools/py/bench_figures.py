"""Shared by the parts of tools/bench: figures by name, tables, a progress bar."""

import statistics

BAR_CELLS = 20


class Figures:
    def __init__(self):
        self.figures = {}

    def keep(self, name, values, digits=3):
        """Keeps a figure: the median of its values, and their spread if there are several."""
        values = list(values)
        self.figures[name] = round(statistics.median(values), digits)
        if len(values) > 1:
            self.figures[f"{name}_spread"] = [round(min(values), digits),
                                              round(max(values), digits)]
        return self.figures[name]


def bar(text):
    """Returns a program's progress, "words 40 %", with a bar before the number."""
    words, _, percent = text.removesuffix(" %").rpartition(" ")
    if not text.endswith(" %") or not percent.isdigit():
        return text
    full = min(int(percent), 100) * BAR_CELLS // 100
    return f"{words} [{'#' * full}{'-' * (BAR_CELLS - full)}] {percent} %"


def table(title, heads, lines):
    cells = [list(map(str, heads))] + [list(map(str, line)) for line in lines]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    print(f"\n{title}\n")
    for row in cells:
        print("  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w)
                               for i, (c, w) in enumerate(zip(row, widths))))
    print(flush=True, end="")


def spread(values, digits=1):
    values = list(values)
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}..{max(values):.{digits}f})"
