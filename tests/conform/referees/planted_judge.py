"""Finds out whether the referees of a planted fault catch it.

A referee catches a fault by a test that fails with the fault, and that the appliance without it passes or does not have. The
program with the fault must serve before that: it passes control.py, on the servers that the tests of a row ask, or before a
file or an intruder. A run that its limit cut proves nothing by the tests that it did not reach.
"""

import pathlib
import subprocess
import tempfile

import apt_source
import client_suites
import memcached_t
import planted
from libraries import Library

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
NOTHING = Library("nothing", 0, None, lambda at, host, port: ["true"])
LEAST_S, TIMES_CLEAN = 120, 10  # a fault may hang a run: limit by its time without


class NoControl(Exception):
    """Why a program with a fault proves nothing: it does not serve."""


def caught(clean, said, cut):
    """The tests that hold in clean and do not in said, and findings that are in said alone: outcomes by the tests' names."""
    lost = {test for test, held in clean.items() if held and not said.get(test, cut)}
    return sorted(lost | {test for test, held in said.items() if not held and test not in clean})


class Judge:
    """Asks referees of programs with a fault; what each says of the appliance without one is asked once."""

    def __init__(self, folder, build, memcached):
        self.folder, self.build, self.memcached, self.clean = folder, build, memcached, {}

    def ask(self, made, name):
        """True if the referee catches the fault of the programs in the folder made."""
        if name in client_suites.rows():
            return self.row(made / "app/clockoo", name)
        if name.endswith(".t") or name == "testapp":
            return self.file(made / "app/clockoo", name)
        return self.intruder(made, name)

    def once(self, name, asked):
        if name not in self.clean:
            self.clean[name] = asked()
        return self.clean[name]

    def row(self, program, name):
        library, at = client_suites.rows()[name], self.folder / "clients" / name.replace(" ", "-")
        try:
            client_suites.installed(library, at)
        except (client_suites.libraries.CannotInstall, OSError) as why:
            raise memcached_t.CannotJudge(str(why)) from None
        return self.library(library, at, program, name)

    def library(self, library, at, program, name):
        clean = self.once(name, lambda: client_suites.run(library, at, self.build / "app/clockoo", self.memcached, control=True))
        if not any(clean.outcomes.values()):
            raise memcached_t.CannotJudge(f"passes nothing of the appliance: {(clean.text.strip().splitlines() or ['no word'])[-1]}")
        said = client_suites.run(library, at, program, self.memcached, max(LEAST_S, TIMES_CLEAN * clean.seconds), control=True)
        if not said.serves:
            raise NoControl((said.text.strip().splitlines() or ["no word"])[-1])
        return bool(caught(clean.outcomes, said.outcomes, said.cut))

    def file(self, program, name):
        """A file of memcached's tests starts servers itself: the control is asked before it, of one more."""
        tarball = apt_source.fetch_source(self.folder / "bookworm", "bookworm", "memcached")
        source = memcached_t.build(tarball, self.folder / f"memcached-{tarball.name.split('_')[1].split('.orig')[0]}")
        clean = self.once(name, lambda: memcached_t.run_all(source, self.build / "app/clockoo", {name})[name])
        control = client_suites.run(NOTHING, self.folder, program, self.memcached, control=True)
        if not control.serves:
            raise NoControl((control.text.strip().splitlines() or ["no word"])[-1])
        silent_s = max(LEAST_S, TIMES_CLEAN * clean["seconds"])
        said = memcached_t.run_all(source, program, {name}, {name: silent_s})[name]
        return bool(caught(clean["results"], said["results"], said["ended"]))

    def intruder(self, made, name):
        """True if the clients beside an intruder are harmed."""
        clean, text = self.once(name, lambda: self.intrude(self.build, name))
        if "skipped" in text or clean != 0:
            raise memcached_t.CannotJudge(f"of the appliance without a fault: {(text.strip().splitlines() or ['no word'])[0]}")
        status, text = self.intrude(made, name)
        if status is None:
            raise NoControl((text.strip().splitlines() or ["no word"])[-1])
        return status != 0

    def intrude(self, build, name):
        """Returns (status, or None if the control failed; text)."""
        with tempfile.NamedTemporaryFile("r", prefix="control-") as passed:
            control = " && ".join(f'{HERE / "control.py"} "${host}" "$CLOCKOO_PORT"' for host in ("CLOCKOO_HOST", "CLOCKOO_HOST6"))
            command = f"{control} && echo passed >{passed.name} && {HERE.parent}/run_intruders '{name}'"
            words = [ROOT / "tools/run", "--build", build, "--no-build", "-q", "--exec", command]
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
            return done.returncode if passed.read() else None, done.stdout
