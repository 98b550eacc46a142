"""Judges what clients of several zones were answered. Each key has one writer, whose versions count up.

A write is acknowledged, or it is lost: it had an error or no answer, and may take place at any later time, in one
zone or in both. Of a read of a key that began after an acknowledged write had ended:

    stale    it returns an older version that was acknowledged too
    late     it returns an older version whose write was lost: promised to nobody, and counted
    missing  it finds nothing, and no delete can have taken place
    made up  it returns a version that nobody had begun to write
"""

import bisect
import collections

SET, DELETE = "set", "delete"
KINDS = "stale", "late", "missing", "made up"
Write = collections.namedtuple("Write", "kind began ended")  # ended: None of a lost one


class History:
    """The writes of one key, in the order of its writer. Version n is the n-th write, from 1."""

    def __init__(self):
        self.writes, self.reads = [], []

    def begin(self, kind, now):
        """The version of this write, which is lost until end() says otherwise."""
        self.writes.append(Write(kind, now, None))
        return len(self.writes)

    def end(self, version, now):
        self.writes[version - 1] = self.writes[version - 1]._replace(ended=now)

    def read(self, version, began, ended):
        """version: None of a miss"""
        self.reads.append((version, began, ended))

    def judge(self):
        """{kind: what no order of one register explains, a line each}"""
        found = {kind: [] for kind in KINDS}
        acknowledged = [(write.ended, number) for number, write in enumerate(self.writes, 1) if write.ended is not None]
        ends = [ended for ended, _ in acknowledged]
        for version, began, ended in self.reads:
            at = bisect.bisect_left(ends, began)
            newest = acknowledged[at - 1][1] if at else 0
            kind = self._kind_of(version, newest, ended)
            if kind is not None:
                found[kind].append(f"{'a miss' if version is None else f'version {version}'} at {began:.3f} s, after version {newest}")
        return found

    def _kind_of(self, version, newest, ended):
        if version is None:
            may_be_gone = newest == 0 or any(write.kind == DELETE and write.began < ended for write in self._since(newest))
            return None if may_be_gone or self._lost_delete_before(newest) else "missing"
        if not 0 < version <= len(self.writes) or self.writes[version - 1].began >= ended:
            return "made up"
        if version >= newest:
            return None
        return "late" if self.writes[version - 1].ended is None else "stale"

    def _since(self, version):
        """Returns the write of that version and all later ones."""
        return self.writes[version - 1:]

    def _lost_delete_before(self, version):
        return any(write.kind == DELETE and write.ended is None for write in self.writes[:version - 1])
