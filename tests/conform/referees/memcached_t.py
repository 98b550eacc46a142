"""memcached's own tests as referees: t/*.t and testapp of Debian's source, against memcached built from that source
and against the appliance. A file starts its servers, or, if it needs no words for them, asks one that runs: external.

A test is identified by its file and its number in that file. Both programs run the same files with the same clock: the
tests' debugtime, which only a debug build of memcached has, becomes a sleep for the appliance, a second longer than
asked: an item ends within the second of its expiry.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from concurrent import futures

AS_MEMCACHED = pathlib.Path(__file__).resolve().parent / "as_memcached"
AT_ONCE = 3  # tests that mostly sleep
FILE_S = 1200  # limit of a file that hangs; the longest takes five minutes on a loaded machine
SILENT_S = 300  # a file that prints nothing for so long hangs: the longest silence is a start on a loaded machine
TLS_FILES = re.compile(r"^ssl_")
# Files that judge the source tree or the proxy, not a server.
NO_SERVER = {"whitespace.t", "proxy.t"}
LINE = re.compile(r"^(not )?ok (\d+)", re.M)
MOVE_TIME = re.compile(r"(sub mem_move_time \{.*?)print \$sock \"debugtime[^\n]*\n.*?\n\}", re.S)
START = ("for (1..80) {", "for (1..1200) {")  # of 0.25 s: a loaded machine needs over 20 s for gigabytes
# memcached refuses a dump after another command in a pipeline, and the appliance answers it, so later answers would be
# shifted.
PIPELINED = (r'"mg foo v\r\nlru_crawler metadump all\r\n"', r'"mg foo v\r\nmg foo v\r\n"')
# memcached's tests run the program with -h at each connection that they make; the wrapper has the answer in a file.
WRAPPER = '#!/bin/sh\n[ "$*" != -h ] || exec cat {home}/help\nexec {home}/as_memcached "$@"\n'
# A file that starts servers only in this way can use a running one instead.
STARTS = re.compile(r"new_memcached\(([^)]*)\)")
READY_S = 300  # generous: a loaded machine
LIBRARIES = {"event.h": "libevent-dev", "openssl/ssl.h": "libssl-dev"}


class CannotJudge(Exception):
    """Why a referee cannot run here."""


def build(tarball, folder):
    """Builds memcached-debug, testapp and the needs of t/ in folder, once."""
    if (folder / "testapp").exists():
        return folder
    for header, package in LIBRARIES.items():
        if not pathlib.Path("/usr/include", header).exists():
            raise CannotJudge(f"memcached's tests need {package}")
    begun = folder.with_name(folder.name + ".begun")
    shutil.rmtree(begun, ignore_errors=True)
    begun.mkdir(parents=True)
    subprocess.run(["tar", "xf", str(tarball), "-C", str(begun)], check=True)
    source = next(begun.iterdir())
    for command in (["./configure", "--enable-tls", "--enable-extstore"], ["make", "-j2", "memcached-debug", "timedrun", "sizes", "testapp"]):
        done = subprocess.run(command, cwd=source, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotJudge(f"{' '.join(command)}: {(done.stderr.strip() or 'failed').splitlines()[-1]}")
    source.rename(folder)
    shutil.rmtree(begun)
    return folder


def bench_of(source, program):
    """Makes a folder in which the tests find memcached-debug: memcached's, or the appliance under that name."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="referee-"))
    shutil.copytree(source / "t", home / "t")
    for name in ("timedrun", "sizes", "testapp", "memcached-debug"):
        shutil.copy(source / name, home / name)
    if program is not None:
        shutil.copy(AS_MEMCACHED, home / "as_memcached")
        (home / "help").write_text(subprocess.run([AS_MEMCACHED, "-h"], env={**os.environ, "CLOCKOO_PROGRAM": str(program)}, capture_output=True,
                                                  text=True, check=True).stdout)
        (home / "memcached-debug").write_text(WRAPPER.format(home=home))
        library = home / "t/lib/MemcachedTest.pm"
        text = library.read_text().replace(*START)
        crawler = home / "t/lru-crawler.t"
        crawler.write_text(crawler.read_text().replace(*PIPELINED))
        library.write_text(MOVE_TIME.sub(r"\1select undef, undef, undef, $move + 1.2;\n}", text))
    for file in home.rglob("*"):
        file.chmod(file.stat().st_mode & ~0o007)  # a file of passwords that anybody may read is refused
    return home


def ends_by_itself(child, said, silent_s):
    """True if child ended; False once it has printed nothing for silent_s, or has run for FILE_S."""
    end = time.monotonic() + FILE_S
    size, heard = 0, time.monotonic()
    while time.monotonic() < min(end, heard + silent_s):
        try:
            child.wait(1)
            return True
        except subprocess.TimeoutExpired:
            if os.fstat(said.fileno()).st_size != size:
                size, heard = os.fstat(said.fileno()).st_size, time.monotonic()
    return False


@contextlib.contextmanager
def running(home, program):
    """Runs a server for one file. Yields the environment that names the server."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    env = dict(os.environ, LC_ALL="C", **({"CLOCKOO_PROGRAM": str(program)} if program is not None else {}))
    with subprocess.Popen([home / "memcached-debug", "-u", "root", "-p", str(port), "-U", "0"], cwd=home, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env) as child:
        end = time.monotonic() + READY_S
        while child.poll() is None and time.monotonic() < end:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield {"T_MEMD_USE_DAEMON": f"127.0.0.1:{port}"}
        child.kill()


def run_one(home, words, program, tls, silent_s, **more_env):
    """Returns what one file says, {number: whether it held}, a number as text, and its last line if it had to be ended."""
    env = dict(os.environ, LC_ALL="C", **more_env)
    if program is not None:
        env["CLOCKOO_PROGRAM"] = str(program)
    if tls:
        env["SSL_TEST"] = "1"
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen(words, cwd=home, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.DEVNULL, env=env,
                              start_new_session=True) as child:
            ended = not ends_by_itself(child, said, silent_s)
            if ended:
                os.killpg(child.pid, signal.SIGKILL)
        said.seek(0)
        text = said.read()
    end_servers(home)
    last = (text.splitlines() or ["no line"])[-1] if ended else None
    return {number: not bad for bad, number in LINE.findall(text)}, last


def end_servers(home):
    """Ends servers that a killed test has left, which are found by their folder."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.readlink(entry / "cwd") == str(home) and "perl" not in (entry / "comm").read_text():
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue


def names(source, only=None):
    """Returns the files that judge a server. only: a set of names, or None for all."""
    found = ["testapp", *sorted(file.name for file in (source / "t").glob("*.t"))]
    return [name for name in found if name not in NO_SERVER and not name.startswith("proxy") and (only is None or name in only)]


def external_names(source, only=None):
    """Returns the files that start servers without options."""
    found = [name for name in names(source, only) if name != "testapp" and not TLS_FILES.match(name)]
    starts = {name: STARTS.findall((source / "t" / name).read_text()) for name in found}
    return [name for name in found if starts[name] and not any(starts[name])]


def run_all(source, program=None, only=None, silences=None, external=False):
    """Returns what all files say, for memcached or, with a program, for the appliance. silences: seconds without a line
    after which a file is ended, where that is not SILENT_S. external: each file asks a server that runs."""
    def run_file(name):
        began = time.monotonic()
        home = bench_of(source, program)
        words = ["./testapp"] if name == "testapp" else ["perl", f"t/{name}"]
        with running(home, program) if external else contextlib.nullcontext({}) as where:
            results, last = run_one(home, words, program, bool(TLS_FILES.match(name)), (silences or {}).get(name, SILENT_S), **where)
        shutil.rmtree(home, ignore_errors=True)
        seconds = round(time.monotonic() - began, 1)
        if last is not None:
            print(f"ended - {name}, asked of {'memcached' if program is None else 'the appliance'}, after {seconds:.0f} s, behind: {last}", flush=True)
        return name, {"results": results, "seconds": seconds, "ended": last is not None}

    with futures.ThreadPoolExecutor(AT_ONCE) as several:
        return dict(several.map(run_file, external_names(source, only) if external else names(source, only)))
