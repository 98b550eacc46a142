"""The referee of tools/bench store: libCacheSim's Python package, which others wrote, beside our models.

It is installed into an environment of its own under the folder of builds. Where it cannot be had, its
figures are left out, with the reason.
"""

import json
import pathlib
import subprocess
import sys

MODELS = ("lru", "fifo", "s3fifo", "sieve")  # algorithms that are the same on both sides
APART = 0.002  # share of all gets; a model that differs by more is named
PACKAGES = ("libcachesim==0.3.5", "numpy==2.4.6")  # libcachesim, and those of its requirements that it imports
INSTALL_S, RUN_S = 300, 600
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tests/bench/store/referee.py"


class Apart:
    """Differences between our models and the referee's. most: the greatest one."""

    def __init__(self):
        self.most, self._compared, self._named = 0, 0, []

    def compare(self, what, ours, told):
        for who in [who for who in MODELS if who in ours and who in told]:
            apart = abs(ours[who] - told[who])
            self.most, self._compared = max(self.most, apart), self._compared + 1
            if apart > APART:
                self._named.append(f"{what}, {who}: {100 * ours[who]:.2f} %, libCacheSim {100 * told[who]:.2f} %")

    def show(self, words):
        """Prints the differences found since the last call."""
        print(f"\nFigures of {words} that libCacheSim's own differ from by more than {100 * APART:.1f} points: "
              f"{len(self._named)} of {self._compared}")
        for line in self._named:
            print(f"  {line}")
        self._compared, self._named = 0, []


class Referee:
    """The package, if it can be had. reason: why it cannot; None if it can, or before that is known."""

    def __init__(self, folder):
        self.folder, self._ready, self.reason = pathlib.Path(folder), False, None

    def rows(self, **args):
        """Returns {policy: figure}, empty without the referee."""
        if not self.is_ready():
            return {}
        words = [word for name, value in args.items() for word in (f"--{name}", str(value))]
        out = self._run(RUN_S, self.python(), "-B", str(SCRIPT), *words)
        if out is None:
            return {}
        return {row.pop("who"): row.popitem()[1] for row in map(json.loads, out.splitlines())}

    def python(self):
        return str(self.folder / "bin/python")

    def is_ready(self):
        """Installs the package if necessary. True if it runs here."""
        if not self._ready and self.reason is None:
            self._ready = self._is_installed() or (
                self._run(INSTALL_S, sys.executable, "-m", "venv", str(self.folder)) is not None
                and self._run(INSTALL_S, self.python(), "-m", "pip", "--disable-pip-version-check", "-q",
                              "install", "--no-deps", *PACKAGES) is not None)
        return self._ready

    def _is_installed(self):
        version = PACKAGES[0].partition("==")[2]
        try:
            done = subprocess.run((self.python(), "-c", "import libcachesim; print(libcachesim.__version__)"),
                                  capture_output=True, text=True, timeout=RUN_S)
        except OSError:
            return False
        return done.stdout.strip() == version

    def _run(self, seconds, *command):
        """Returns a command's output; if it fails None, and sets the reason."""
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", timeout=seconds)
        except (OSError, subprocess.TimeoutExpired) as fault:
            self.reason = str(fault)
            return None
        if done.returncode != 0:
            lines = (done.stderr.strip() or done.stdout.strip() or "failed").splitlines()
            self.reason = lines[-1][:100]
            return None
        return done.stdout
