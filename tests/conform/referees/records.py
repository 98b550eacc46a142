"""Records hold the last counts of each referee, in the folder of the builds; REFEREES.md is written from them.

If a run has only some rows, the table shows the last counts of the others. A row that has never run says so.
"""

import json

import client_suites
import explained
import planted

FILE = "records.json"
NOT_YET = ["—"] * 2
EXTERNAL = ", external"  # after a version: its files used a running server


def load(folder):
    file = folder / FILE
    return json.loads(file.read_text()) if file.exists() else {"memcached": {}, "rows": {}, "planted": {}}


def keep(folder, kind, name, value):
    """Writes a count at once, so that a run that is ended early keeps its counts."""
    records = load(folder)
    records[kind][name] = value
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(json.dumps(records, indent=1))


def keep_files(folder, version, theirs, ours):
    """Keeps what files of memcached's tests said of the appliance, and the totals over all that were ever asked."""
    file = folder / f"appliance-{version}.json"
    said = {**(json.loads(file.read_text()) if file.exists() else {}), **ours}
    file.write_text(json.dumps(said))
    keep(folder, "memcached", version, totals(theirs, said))


def row_lines(records):
    for name, library in client_suites.rows().items():
        held, good = records["rows"].get(name, NOT_YET)
        yield f"| {name} | {library.name} | {'calls of ours' if library.ours else 'its own'} | {held} | {good} |"


def table(folder):
    records = load(folder)
    lines = ["# Referees", "",
             "Written by `tools/test referees --write`: judges that others wrote, asked of Debian's memcached and of",
             "the appliance (port user). Where it does not pass what memcached passes, `referees/explained.py` says",
             "why; a difference without a reason fails. A dash: not asked when the table was written. Of memcached's",
             "t/*.t the appliance lacks above all binary-extstore.t, 40,000 tests of an extstore of 64 MB, for which",
             "the tier is too large.", "",
             "| referee | version | tests | memcached passes | of them the appliance |", "|---|---|---|---|---|"]
    for version in (f"{version}{kind}" for kind in ("", EXTERNAL) for version in explained.ALL):
        held, good = records["memcached"].get(version, NOT_YET)
        lines.append(f"| memcached's t/*.t and testapp | {version} | its own | {held} | {good} |")
    lines += row_lines(records)
    lines += ["", "nmap, hping3 and thc-ipv6 (`run_intruders`) judge the appliance alone: all clients beside them are answered.", "",
              "## Planted faults", "", "Each referee named here catches the fault: `run_referees --planted`. In brackets: not asked yet.", "",
              "| fault of the appliance | in | caught by |", "|---|---|---|"]
    for fault in planted.FAULTS:
        caught = records["planted"].get(fault.words, [])
        by = ", ".join(name if name in caught else f"({name})" for name in fault.caught_by)
        lines.append(f"| {fault.words} | `{fault.file}` | {by} |")
    return "\n".join(lines) + "\n"


def names_missing(text):
    """Rows and faults that a table does not have, so that it cannot be of another tree."""
    first = {line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")}
    return sorted({*client_suites.rows(), *(fault.words for fault in planted.FAULTS)} - first)


def totals(theirs, ours):
    """Returns [tests that memcached passes, those of them that the appliance passes], over all files."""
    held = good = 0
    for name, found in ours.items():
        passed = {number for number, is_good in theirs[name]["results"].items() if is_good}
        held += len(passed)
        good += sum(found["results"].get(number, False) for number in passed)
    return [held, good]
