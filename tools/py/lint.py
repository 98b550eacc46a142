"""tools/test lint and analyze: checks the tree with clang.

clang builds the programs, with warnings as errors. clang-tidy (.clang-tidy has the checks) then reads every .c file of
lib and app. Its static analyzer, which takes most of the time, reads only the named files. If they are more than
DEEP_FILES, it analyzes each less deeply, and takes no longer.
"""

import concurrent.futures
import json
import os
import re
import subprocess
import tempfile

import build_tree
from progress import Step

ROOT = build_tree.ROOT
OPTIONS = ["-Dbuildtype=debug", build_tree.STRICT]
PROGRAMS = ["app/clockoo", "tests/load/clockoo-load"]
FOLDERS = ("lib/", "app/", "tests/load/")
FINDING = re.compile(r"^(\S+?):(\d+):\d+: (?:warning|error): (.*)$", re.M)
NO_ANALYZER = "--checks=-clang-analyzer-*"
DEEP_NODES = 225_000  # states of a function that clang's analyzer visits by default; they determine its time
DEEP_FILES = 16
AT_ONCE = 8  # files per clang-tidy that does not analyze; its start takes half as long as a file


def _git_lines(*words):
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def all_sources():
    return {str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.c")}


def changed_files():
    """Returns the files that the last commit or uncommitted work changed."""
    return set(_git_lines("diff", "--name-only", "HEAD~1")) | set(
        _git_lines("ls-files", "--others", "--exclude-standard"))


def changed_sources():
    """Returns the .c files among changed_files(), and those that include one of its headers."""
    changed = changed_files()
    headers = {name.rpartition("/")[2] for name in changed if name.endswith(".h")}
    include = re.compile(r'^#include "(?:[^"]*/)?([^"/]+)"', re.M)
    return {name for name in all_sources()
            if name in changed or headers & set(include.findall((ROOT / name).read_text()))}


def _commands(folder):
    """Returns one compile command for each product file, since tests compile some of them again."""
    kept = {}
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        if path.startswith(FOLDERS) and entry["output"].startswith(FOLDERS):
            kept.setdefault(path, entry)
    return kept


def nodes_for(files):
    """Returns the analyzer's depth at which this many files take no longer than DEEP_FILES at full depth."""
    return DEEP_NODES if files <= DEEP_FILES else DEEP_NODES * DEEP_FILES // files


def _tidy(database, paths, nodes):
    """Returns the findings of clang-tidy in these files; with nodes, also those of the analyzer."""
    words = ["-analyzer-config", f"max-nodes={nodes}"]
    how = [f"--extra-arg={word}" for at in words for word in ("-Xclang", at)] if nodes else [NO_ANALYZER]
    done = subprocess.run(["clang-tidy", "-p", database, "--quiet", *how, *(str(ROOT / path) for path in paths)],
                          cwd=ROOT, capture_output=True, text=True)
    found = {f"{os.path.relpath(os.path.normpath(m[1]), ROOT)}:{m[2]}: {m[3]}"
             for m in FINDING.finditer(done.stdout)}
    if done.returncode != 0 and not found:
        found.add(f"{' '.join(paths)}: clang-tidy: {done.stderr.strip()[-200:]}")
    return found


def _batches(commands, analyzed):
    """Yields (files, whether they are analyzed). Files that take long come first, one by one."""
    rest = sorted(path for path in commands if path not in analyzed)
    return [([path], True) for path in sorted(commands) if path in analyzed] + [
        (rest[at:at + AT_ONCE], False) for at in range(0, len(rest), AT_ONCE)]


def check_tree(analyzed, nodes=DEEP_NODES):
    """Builds with clang and checks every file. Returns (number of files without a finding, findings)."""
    folder = build_tree.beside_default("clang")
    build_tree.build(folder, OPTIONS, compiler="clang", targets=PROGRAMS)
    commands = _commands(folder)
    found = set()
    with tempfile.TemporaryDirectory(prefix="clockoo-lint-") as database, \
            Step(f"clang-tidy over {len(commands)} files, the analyzer over {len(analyzed)}"), \
            concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        with open(f"{database}/compile_commands.json", "w") as out:
            json.dump(list(commands.values()), out)
        for findings in pool.map(lambda batch: _tidy(database, batch[0], nodes if batch[1] else 0),
                                 _batches(commands, analyzed)):
            found |= findings
    for finding in sorted(found):
        print(f"   not ok - {finding}", flush=True)
    return len(commands.keys() - {finding.partition(":")[0] for finding in found}), sorted(found)
