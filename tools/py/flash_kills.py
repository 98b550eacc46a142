"""Kills the appliance, with a tier on a file, during the writes of four clients, and checks it by their
journal.

Lives, bed and journal are those of tools/bench restart. Memory is small, so that most of the journal's keys are
read from flash. Missing values do not count, since a cache may forget. Every fifth life ends by SIGTERM. Two
files in three have layout hash, every third one a log. With layout hash a kill waits until a log becomes a
column, and falls somewhere in that conversion.
"""

import random
import subprocess
import time

from progress import Step
from restart_bench import KILL_CORES, WRITES_S, RestartBed

KILLS, QUICK_KILLS, QUICK_KILLS_S = 200, 10, 25.0
LIVES_A_FILE = 20
MEMORY_MB, FLASH = 12, "256m"
KEYS = 1500  # keys of a writer: most are evicted before they are requested
STOP_EVERY = 5
STATE = "--flash-state"
LAYOUTS = ("hash", "hash", "log")  # layouts of the files, in turn
CROWD_BYTES = 900       # a value's length: short enough for a column
CONVERTS_S = 3          # the longest wait for a conversion
CONVERSION_S = 0.15     # about as long as a conversion takes


class FlashBed(RestartBed):
    """A bed whose flash file is on the disk of the builds. The memory that a killed process leaves is on the
    tmpfs."""

    def make(self, ledger):
        super().make(ledger)
        self.layout = LAYOUTS[0]
        self._device = self._programs / f"flash-kills-{ledger.name}"
        self._undo.callback(self._device.unlink, missing_ok=True)
        said = subprocess.run([self._programs / "app/clockoo", "--help"], capture_output=True, text=True).stdout
        self.keeps_state = STATE in said

    def keeping(self):
        return ["--flash-device", str(self._device), "--flash-size", FLASH, "--flash-admit", "all", "--keep-for", "always",
                "--flash-layout", self.layout, "--flash-compress",
                *([STATE, str(self._memory)] if self.keeps_state else [])]

    def forget(self):
        super().forget()
        self._device.unlink(missing_ok=True)


def life(bed, client, number, told):
    if number % LIVES_A_FILE == 0:
        bed.forget()
        bed.layout = LAYOUTS[number // LIVES_A_FILE % len(LAYOUTS)]
        client.ask("anew", KEYS, CROWD_BYTES)
    bed.start(MEMORY_MB, KILL_CORES)
    client.tell("write", number, 1)
    for name, value in client.row().items():
        told[name] = told.get(name, 0) + value


def await_kill(bed, watcher, rng):
    """Returns the stage of a conversion that was under way a moment ago, or None."""
    time.sleep(rng.uniform(*WRITES_S))
    if bed.layout != "hash":
        return None
    stage = watcher.ask("converts", CONVERTS_S)["stage"]
    time.sleep(rng.uniform(0, CONVERSION_S))
    return stage if stage != "idle" else None


def end_life(bed, client, stops):
    bed.end() if stops else bed.kill()
    client.tell("gone")
    return client.row()


def measure(programs, quick):
    """Kills appliances amid writes. Returns the figures."""
    rng, told, killed, number, amid = random.Random(2), {}, 0, 0, 0
    wanted, deadline = QUICK_KILLS if quick else KILLS, time.monotonic() + QUICK_KILLS_S
    with Step("flash: kills of the appliance amid writes") as step, FlashBed(programs) as bed, \
            bed.client(bed.client_ns, bed.wire.host) as client, bed.client(bed.client_ns, bed.wire.host) as watcher:
        while killed < wanted and not (quick and time.monotonic() > deadline):
            life(bed, client, number, told)
            stage = await_kill(bed, watcher, rng)
            number += 1
            stops = number % STOP_EVERY == 0
            sums = end_life(bed, client, stops)
            killed += not stops
            amid += stage is not None and not stops
            step.note = f"{killed} kills, {sums['acknowledged']} writes"
        life(bed, client, number, told)
        end_life(bed, client, False)
    return {"kills_real": killed, "kills_amid_conversion": amid, "kills_writes": sums["acknowledged"],
            "kills_checked": told["checked"], "kills_found_on_flash": told["from_flash"], "kills_with_state": bed.keeps_state,
            "wrong_values": told["wrong"], "resurrected": told["resurrected"]}
