"""Runs programs of tools/bench papers and reads their rows."""

import json
import subprocess
import tempfile

from bench_figures import bar
from progress import Failed, Step

LIMIT_S = 3600


def json_rows(command, limit_s=LIMIT_S, note=None):
    """Runs a program. Returns the JSON objects that it prints, one a line; note(words) gets its lines of progress."""
    command = list(map(str, command))
    with tempfile.TemporaryFile("w+") as out:
        try:
            child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=subprocess.PIPE, text=True, errors="replace")
        except OSError as error:
            raise Failed(f"{command[0]}: {error}") from error
        with child:
            last = ""
            try:
                for line in child.stderr:
                    last = line.strip()[-200:] or last
                    if note is not None:
                        note(bar(last[:80]))
                child.wait(limit_s)
            except BaseException:
                child.kill()
                raise
        if child.returncode != 0:
            raise Failed(f"{' '.join(command)}: status {child.returncode}: {last}")
        out.seek(0)
        return [json.loads(line) for line in out if line.startswith("{")]


def paper_rows(program, quick, words, *options):
    """Runs a program of tests/bench/papers. Returns its points."""
    if not program.exists():
        raise Failed(f"{program.name} is not built")
    with Step(words) as step:
        def note(text):
            step.note = text

        return json_rows([program, *(("--quick",) if quick else ()), *options], note=note)
