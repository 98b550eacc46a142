"""Build folders: set up once, rebuilt in place, one builder at a time."""

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import subprocess

from progress import Failed, run_ninja, run_step

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ["-Dbuildtype=release"]
# A warning stops developers, but not users, whose compiler may warn of more.
STRICT = "-Dwerror=true"
# Tests only check that benches run.
TESTED = [*RELEASE, STRICT, "-Dwhole_benches=false"]
COVERAGE = ["-Dbuildtype=debug", STRICT, "-Doptimization=1", "-Db_coverage=true",
            "-Dc_args=-fprofile-update=prefer-atomic"]
# With optimisation the tests take a quarter of the time, and with line numbers but no variables the build takes three
# fifths. Not STRICT: with sanitizers gcc 14 warns of impossible cases, as its manual says.
SANITIZE = ["-Dbuildtype=debug", "-Doptimization=1", "-Db_sanitize=address,undefined", "-Db_lundef=false",
            "-Dc_args=-g1"]


def default_folder():
    return pathlib.Path(os.environ.get("CLOCKOO_BUILD", ROOT / "build")).absolute()


def use_dpdk(folder):
    """Makes builds of this process and its children use the DPDK installed under folder. The default build
    folder is then that release's."""
    found = sorted(str(path.parent) for name in ("lib", "lib64") for path in pathlib.Path(folder).absolute().glob(
        f"{name}/**/pkgconfig/libdpdk.pc"))
    if not found:
        raise Failed(f"--dpdk {folder}: no lib/*/pkgconfig/libdpdk.pc is below it: name the folder that DPDK's "
                     "\"meson install\" was given as --prefix")
    os.environ["PKG_CONFIG_PATH"] = ":".join([*found, *os.environ.get("PKG_CONFIG_PATH", "").split(":")]).strip(":")
    release = subprocess.run(["pkg-config", "--modversion", "libdpdk"], check=True, capture_output=True, text=True)
    os.environ.setdefault("CLOCKOO_BUILD", str(ROOT / f"build-dpdk-{release.stdout.strip()}"))


def _checked(words, command, **popen_args):
    status, tail = (run_ninja if command[0] == "ninja" else run_step)(words, command, **popen_args)
    if status != 0:
        raise Failed("\n".join(tail + [f"failed: {' '.join(map(str, command))}"]))


def beside_default(suffix):
    """Returns a build folder for another purpose, beside the default one."""
    folder = default_folder()
    return folder.with_name(f"{folder.name}-{suffix}")


def test_targets(folder, suites, but=frozenset()):
    """Returns the targets that the tests of these meson suites need, except tests that are also in a suite of `but`."""
    def introspect(what):
        return json.loads(subprocess.run(["meson", "introspect", what, str(folder)], check=True,
                                         capture_output=True, text=True).stdout)

    def is_wanted(test):
        own = {name.rpartition(":")[2] for name in test["suite"]}
        return bool(suites & own) and not but & own

    wanted = {target for test in introspect("--tests") if is_wanted(test) for target in test["depends"]}
    return sorted(os.path.relpath(name, folder) for target in introspect("--targets")
                  if target["id"] in wanted for name in target["filename"])


def configure(folder, *options):
    """Changes options of a folder. "meson configure" does not know options that were added after the folder was
    set up, and "meson setup --reconfigure" leaves b_pgo as it was (meson 1.0.1)."""
    commands = (["meson", "configure", str(folder), *options],
                ["meson", "setup", "--reconfigure", *options, str(folder), str(ROOT)])
    for command in commands:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode == 0:
            return
    raise Failed(f"meson setup: {(done.stdout + done.stderr).strip()[-400:]}")


def _is_told(folder, option):
    """Returns True if the folder was set up or changed with this option."""
    words = option.removeprefix("-D").replace("=", " = ")
    return words in (folder / "meson-private/cmd_line.txt").read_text().splitlines()


def installed_packages():
    """Returns a line with name and version for each installed package of tools/packages. Empty if there is no
    dpkg."""
    rows = (line.split() for line in (ROOT / "tools/packages").read_text().splitlines() if not line.startswith("#"))
    names = sorted({row[1] for row in rows if row})
    with contextlib.suppress(OSError):
        found = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n", *names],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
        return "".join(f"{line}\n" for line in sorted(found.splitlines()) if line.startswith("installed "))
    return ""


def _look_again(folder, root, note, packages):
    """Makes meson search for packages again if others are installed than at its last search. By itself it keeps the
    versions that it found then."""
    if not note.exists() or note.read_text() != packages:
        _checked(f"looking for packages again for {folder.name}", ["meson", "configure", "--clearcache", str(folder)])
        _checked(f"setting up {folder.name}", ["meson", "setup", "--reconfigure", str(folder), str(root)])


def build(folder, options=RELEASE, targets=(), words="building", bench=True, compiler=None, root=ROOT):
    """Brings the targets (all, if none are named) in folder up to date. targets may be a function of the folder, called
    once it is set up. compiler: the value of CC for meson. root: other sources. bench: some targets are the load
    generator or a bench, which meson.build leaves out by default. A folder that was set up with them, or with STRICT,
    stays so."""
    folder = pathlib.Path(folder).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise Failed(f"{folder} is not writable for you: --build DIR or CLOCKOO_BUILD names another")
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        note, packages = folder / ".packages", installed_packages()
        try:
            if not (folder / "build.ninja").exists():
                shutil.rmtree(folder / "meson-private", ignore_errors=True)
                _checked(f"setting up {folder.name}",
                         ["meson", "setup", *options, f"-Dbench={str(bench).lower()}", str(folder), str(root)],
                         env={**os.environ, **({"CC": compiler} if compiler else {})})
            else:
                _look_again(folder, root, note, packages)
                wanted = ["-Dbench=true"] * bench + [STRICT] * (STRICT in options)
                missing = [option for option in wanted if not _is_told(folder, option)]
                if missing:
                    configure(folder, *missing)
            note.write_text(packages)
            if callable(targets):
                # The warnings of the last run of meson may be about other sources.
                _checked(f"setting up {folder.name}", ["ninja", "-C", str(folder), "build.ninja"])
                targets = targets(folder)
            _checked(f"{words} {folder.name}", ["ninja", "-C", str(folder), *targets])
        finally:
            _give_to_owner_of_checkout(folder)


def _give_to_owner_of_checkout(folder):
    """Gives files to the owner of the checkout, who could otherwise not rebuild them after sudo tools/run."""
    owner = ROOT.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        subprocess.run(["chown", "-R", f"{owner.st_uid}:{owner.st_gid}", str(folder)], check=False)
