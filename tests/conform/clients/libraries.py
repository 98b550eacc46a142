"""Client libraries that others wrote: how each is fetched, in a fixed version, and which tests judge a server by it.

A row's tests are those in its package, or if it has none, our round trips in the files of this folder. Fetched files
lie in a folder of the row, and none is committed.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Callable, NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools/py"))

import apt_source  # noqa: E402  (the path above comes first)

PYTHON = "/usr/bin/python3"
INSTALL_S = 600
RUN_S = 900  # generous: only what hangs is ended

# Outcomes as runners print them: a test's name and whether it held.
OURS = r"^(?P<held>ok|not ok) - (?P<name>.+)$"
PYTEST = r"^(?P<held>PASSED|FAILED|ERROR) (?P<name>\S+)"
GO_TEST = r"^\s*--- (?P<held>PASS|FAIL): (?P<name>\S+)"
TAP = r"^(?P<held>ok|not ok) \d+ (?P<name>.+)$"
CARGO = r"^test (?P<name>\S+) \.\.\. (?P<held>ok|FAILED)$"
MEMCCAPABLE = r"^(?P<name>(?:ascii|binary) .+?)\s+\[(?P<held>pass|FAIL)\]"

PYPI = ["pymemcache==4.0.0", "python-memcached==1.62", "python-binary-memcached==0.31.4"]
MORE_PYPI = ["aiomcache==0.8.2", "emcache==1.3.3", "meta-memcache==4.3.0"]
PYTEST_TOOLS = ["pytest==8.4.2", "mock==5.2.0", "trustme==1.2.1"]
GOMEMCACHE = "github.com/bradfitz/gomemcache@v0.0.0-20260422231931-4d751bb6e37c"
NPM = ["memjs@1.3.2", "memcached@2.2.2"]
MOCHA = ["mocha@10.8.2", "should@13.2.3"]
MAVEN = ["net.spy:spymemcached:2.12.3", "com.googlecode.xmemcached:xmemcached:2.4.8",
         "org.slf4j:slf4j-api:1.7.36"]
CRATE = "memcache@=0.21.0"


class CannotInstall(Exception):
    """Why a library cannot be installed here."""


class Library(NamedTuple):
    name: str  # name and version
    ours: int  # round trips of ours, or 0 where the package's own tests run
    install: Callable  # called with a folder
    command: Callable  # called with that folder, a host and a port; returns the command of the tests
    outcome: str = OURS
    ports: tuple = (("-p", "11211"),)  # words for each server that the tests look for
    env: dict = {}
    tls: bool = False  # the servers speak TLS
    run_s: int = RUN_S  # a run is ended after this time; tests without an outcome by then are named


def step(folder, *command, limit_s=INSTALL_S, **env):
    if shutil.which(command[0]) is None:
        raise CannotInstall(f"no {command[0]} on this machine")
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=limit_s, env={**os.environ, **env}, check=False)
    except subprocess.TimeoutExpired:
        raise CannotInstall(f"{' '.join(command[:3])}: not done in {limit_s} s") from None
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise CannotInstall(f"{' '.join(command[:3])}: {lines[-1] if lines else 'failed'}")
    return done.stdout


def pip(folder, *words):
    step(folder, "pip", "--disable-pip-version-check", "-q", *words)


def install_pypi(*packages):
    return lambda folder: pip(folder, "install", "--target", "packages", *packages)


def own_tests_of_sdist(package, *needed):
    """Returns an installer: the package's source of PyPI in folder/source, and the packages that its tests need."""
    def install(folder):
        install_pypi(*needed, *PYTEST_TOOLS)(folder)
        pip(folder, "download", "--no-deps", "--no-binary", package.partition("==")[0], "-d", "sdist", package)
        (folder / "source").mkdir()
        step(folder, "tar", "xf", str(next((folder / "sdist").iterdir())), "-C", "source", "--strip-components=1")
    return install


def install_binary_memcached(folder):
    """Installs the package and changes its tests from a Unix socket to TCP."""
    own_tests_of_sdist("python-binary-memcached==0.31.4", "python-binary-memcached==0.31.4")(folder)
    for file in (folder / "source/test").glob("*.py"):
        file.write_text(file.read_text().replace("/tmp/memcached.sock", "127.0.0.1:11211"))


def install_go_calls(folder):
    shutil.copy(HERE / "go_client.go", folder)
    step(folder, "go", "mod", "init", "client")
    step(folder, "go", "get", GOMEMCACHE)
    step(folder, "go", "build", "-o", "client", ".")


def install_go_tests(folder):
    (folder / "go.mod").write_text("module fetched\n")
    found = json.loads(step(folder, "go", "mod", "download", "-json", GOMEMCACHE))
    shutil.copytree(found["Dir"], folder / "source", copy_function=shutil.copy)
    for at in (folder / "source", *(folder / "source").rglob("*")):
        at.chmod(at.stat().st_mode | 0o600)
    step(folder / "source", "go", "test", "-c", "-o", "../tests", "./memcache")


def install_npm(*packages):
    def install(folder):
        (folder / "package.json").write_text('{"private": true}')
        step(folder, "npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *packages)
    return install


def install_js_calls(folder):
    shutil.copy(HERE / "js_clients.js", folder)
    install_npm(*NPM)(folder)


def install_java(folder):
    for artifact in MAVEN:
        step(folder, "mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}/jars")
    step(folder, "javac", "-cp", "jars/*", "-d", ".", str(HERE / "JavaClients.java"))


def install_crate(folder):
    """Builds the crate's tests without TLS, from a copy: cargo's own folder of the crate stays unchanged."""
    step(folder, "cargo", "init", "-q", "--vcs", "none", "--name", "fetched", ".")
    step(folder, "cargo", "add", "-q", CRATE, "--no-default-features")
    packages = json.loads(step(folder, "cargo", "metadata", "--format-version", "1"))["packages"]
    home = next(pathlib.Path(p["manifest_path"]).parent for p in packages if p["name"] == "memcache")
    shutil.copytree(home, folder / "source")
    with open(folder / "source/Cargo.toml", "a") as manifest:
        manifest.write("\n[workspace]\n")
    built = step(folder / "source", "cargo", "test", "-q", "--tests", "--no-run", "--features", "tokio", "--message-format=json")
    rows = [json.loads(line) for line in built.splitlines() if line.startswith("{")]
    tests = [row["executable"] for row in rows if row.get("executable") and row["target"]["kind"] == ["test"]]
    (folder / "programs").write_text("\n".join(tests))


def install_php_tests(folder):
    """Debian 13's source has its tests; Debian 12's archive has no source of this package any more."""
    needs("php", module=("php", "-r", "new Memcached();"))(folder)
    try:
        tarball = apt_source.fetch_source(folder, "trixie", "php-memcached")
    except apt_source.Missing as why:
        raise CannotInstall(str(why)) from None
    (folder / "source").mkdir()
    step(folder, "tar", "xf", str(tarball), "-C", "source", "--strip-components=1")


def needs(*programs, module=None):
    """Returns an installer for programs of Debian's packages, which tools/packages names."""
    def install(_folder):
        for program in programs:
            if shutil.which(program) is None:
                raise CannotInstall(f"no {program} on this machine")
        if module:
            step(".", *module)
    return install


def pytest(*words):
    def command(_folder, _host, _port):
        return ["sh", "-c", 'cd "$0/source" && exec "$@"', str(_folder), PYTHON, "-B", "-m", "pytest", "-c", "/dev/null", "--rootdir",
                ".", "-p", "no:cacheprovider", "-q", "-rA", "--tb=no", *words]
    return command


def crate_command(folder, _host, _port):
    return ["sh", "-c", "for program; do $program --test-threads=1; done", "tests", *(folder / "programs").read_text().split()]


CALLS = {
    "python": Library("pymemcache 4.0.0, python-memcached 1.62, python-binary-memcached 0.31.4", 3, install_pypi(*PYPI),
                      lambda at, host, port: [PYTHON, "-B", str(HERE / "py_clients.py"), host, port]),
    "python-more": Library("aiomcache 0.8.2, emcache 1.3.3, meta-memcache 4.3.0", 3, install_pypi(*MORE_PYPI),
                           lambda at, host, port: [PYTHON, "-B", str(HERE / "py_more_clients.py"), host, port]),
    "go": Library("gomemcache 4d751bb6e37c", 1, install_go_calls, lambda at, host, port: [str(at / "client"), f"{host}:{port}"]),
    "js": Library("memjs 1.3.2, memcached 2.2.2 of npm", 2, install_js_calls,
                  lambda at, host, port: ["node", str(at / "js_clients.js"), f"{host}:{port}"]),
    "java": Library("spymemcached 2.12.3, xmemcached 2.4.8", 4, install_java,
                    lambda at, host, port: ["java", "-cp", f"{at}/jars/*:{at}", "JavaClients", host, port]),
    "ruby": Library("Debian's ruby-dalli", 2, needs("ruby", module=("ruby", "-e", "require 'dalli'")),
                    lambda at, host, port: ["ruby", str(HERE / "dalli_client.rb"), f"{host}:{port}"]),
    "php": Library("Debian's php-memcached", 2, needs("php", module=("php", "-r", "new Memcached();")),
                   lambda at, host, port: ["php", str(HERE / "php_client.php"), host, port]),
}

OWN_TESTS = {
    "pymemcache": Library("pymemcache 4.0.0", 0, own_tests_of_sdist("pymemcache==4.0.0", "pymemcache==4.0.0"),
                          pytest("-o", "markers=unit integration benchmark", "--server=127.0.0.1", "-m", "integration",
                                 "pymemcache/test/test_integration.py"), PYTEST),
    "pylibmc": Library("pylibmc 1.6.3 (Debian's)", 0, own_tests_of_sdist("pylibmc==1.6.3"), pytest("tests"), PYTEST,
                       env={"MEMCACHED_HOST": "127.0.0.1"}),
    "python-binary-memcached": Library("python-binary-memcached 0.31.4", 0, install_binary_memcached, pytest("test"), PYTEST,
                                       env={"MEMCACHED_HOST": "127.0.0.1"}),
    "gomemcache": Library("gomemcache 4d751bb6e37c", 0, install_go_tests,
                          lambda at, host, port: [str(at / "tests"), "-test.v", "-test.timeout=300s"], GO_TEST),
    "memcached of npm": Library("memcached 2.2.2 of npm", 0, install_npm(NPM[1], *MOCHA),
                                lambda at, host, port: ["sh", "-c", 'cd "$0/node_modules/memcached" && exec ../.bin/mocha --exit --require should --timeout 30000 '
                                                        "--reporter tap test/*.test.js", str(at)], TAP,
                                tuple(("-p", str(port)) for port in (11211, 11212, 11213)), {"MEMCACHED__HOST": "127.0.0.1"}),
    "memcache of crates": Library("memcache 0.21.0 of crates", 0, install_crate, crate_command, CARGO,
                                  (*(("-p", str(port)) for port in range(12345, 12350)), ("-p", "22346", "-U", "22345"))),
    "php-memcached": Library("Debian's php-memcached, tests of 3.3.0", 0, install_php_tests,
                             lambda at, host, port: [PYTHON, "-B", str(HERE / "phpt.py"), str(next((at / "source").rglob("*.phpt")).parent)]),
    "memccapable": Library("memccapable of Debian's libmemcached-tools", 0, needs("memccapable"),
                            lambda at, host, port: ["memccapable", "-h", "127.0.0.1", "-p", "11211"], MEMCCAPABLE),
}
