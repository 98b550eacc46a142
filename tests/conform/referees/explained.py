"""Where the appliance does not pass a test of somebody else that memcached passes, and why."""

# (version of the source, file, numbers of its tests as "1-3 5 9-", reason); "9-" is all from 9 on.
MEMCACHED = []


def _span(text, last):
    begin, dash, end = text.partition("-")
    return range(int(begin), (int(end or last) if dash else int(begin)) + 1)


def rows(version, name):
    return [row for row in MEMCACHED if row[1] == name and version in row[0]]


def numbers(version, name, last):
    """The explained numbers of one file with so many tests."""
    return {number for row in rows(version, name) for text in row[2].split() for number in _span(text, last)}


def sometimes(version, name):
    return set()
