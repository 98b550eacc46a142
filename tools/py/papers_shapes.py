"""The form of a figure of tools/bench papers, and the names of its sources."""

import dataclasses

MEMC3 = "MemC3 (NSDI 2013)"
INTEL = "Intel, Enhancing the Scalability of Memcached (2012)"
STUDY = "Memcached vs Redis, a memtier study (2016)"
THESIS = "B. Fan's thesis (2013)"
OURS = "Beyond the papers"
PAPER = "paper"  # prefix of the paper's own series, which are no baselines


@dataclasses.dataclass(frozen=True)
class Figure:
    """name: "part/figure" of its points. better: "more", "less", or None if nothing is compared. ours, bases: prefixes
    of the names of our series and of baselines; without bases all other series are baselines. paper: {legend: [(x,
    y)]}, as published."""
    name: str
    source: str
    title: str
    x: str
    y: str
    claimed: str
    differs: str
    better: str = None
    ours: tuple = ("ours",)
    bases: tuple = None
    bars: bool = False
    log_x: bool = False
    log_y: bool = False
    paper: dict = dataclasses.field(default_factory=dict)
    reasons: dict = dataclasses.field(default_factory=dict)

    def ours_of(self, series):
        return [name for name in series if name.startswith(self.ours)]

    def bases_of(self, series):
        return [name for name in series if not name.startswith((*self.ours, PAPER)) and
                (self.bases is None or name.startswith(self.bases))]
