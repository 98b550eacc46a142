"""The referee of tools/bench store: libCacheSim's Python package, which others wrote, beside our models.

It is installed into an environment of its own under the folder of builds. Where it cannot be had, its
figures are left out, with the reason.
"""

import json
import pathlib
import subprocess
import sys

PACKAGES = ("libcachesim==0.3.5", "numpy==2.4.6")  # libcachesim, and all of its requirements that it imports
INSTALL_S, RUN_S = 300, 600
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tests/bench/store/referee.py"


class Referee:
    """reason: why there is none; None while it is not known, or if there is one."""

    def __init__(self, folder):
        self._folder, self._ready, self.reason = pathlib.Path(folder), False, None

    def rows(self, **args):
        """The figure of each policy, by its name; none where there is no referee."""
        if not self._is_ready():
            return {}
        words = [word for name, value in args.items() for word in (f"--{name}", str(value))]
        out = self._run(RUN_S, self._python(), "-B", str(SCRIPT), *words)
        if out is None:
            return {}
        return {row.pop("who"): row.popitem()[1] for row in map(json.loads, out.splitlines())}

    def _python(self):
        return str(self._folder / "bin/python")

    def _is_ready(self):
        if not self._ready and self.reason is None:
            self._ready = self._is_installed() or (
                self._run(INSTALL_S, sys.executable, "-m", "venv", str(self._folder)) is not None
                and self._run(INSTALL_S, self._python(), "-m", "pip", "--disable-pip-version-check", "-q",
                              "install", "--no-deps", *PACKAGES) is not None)
        return self._ready

    def _is_installed(self):
        version = PACKAGES[0].partition("==")[2]
        try:
            done = subprocess.run((self._python(), "-c", "import libcachesim; print(libcachesim.__version__)"),
                                  capture_output=True, text=True, timeout=RUN_S)
        except OSError:
            return False
        return done.stdout.strip() == version

    def _run(self, seconds, *command):
        """Returns what it prints; None, and the reason, if it fails."""
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
