"""Rows beside those of clients/libraries.py: libmemcached's own tests, and judges of TLS.

A judge of TLS examines a server whose certificate the run makes. A finding counts only if it is in the appliance's TLS
and not in memcached's.
"""

import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2] / "tools/py"), str(HERE.parent / "clients")]

import apt_source  # noqa: E402  (the paths above come first)
from libraries import OURS, PYTHON, CannotInstall, Library, install_pypi, needs, step  # noqa: E402

BUILD_S = 3600
ONE_TEST_S, ALL_TESTS_S = 900, 3600  # generous: only what hangs is ended
EACH_TEST = """for test in $("$0" --list-test-names-only); do
    timeout -k 5 $LIMIT "$0" "$test" >said 2>&1
    case $? in 0) echo "ok - $test" ;; 124 | 137) echo "cut - $test" ;; *) echo "not ok - $test"; tail -n 20 said ;; esac
done"""
# The network of a run has no route out, and a test of libmemcached expects no answer from 192.0.2.1 (RFC 5737).
SILENT_ROUTE = "ip link add silent type dummy && ip link set silent up && ip address add 192.0.2.2/24 dev silent && ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev silent; "


def install_libmemcached(folder):
    """Builds libmemcached and its tests, changed to start all servers on ports instead of Unix sockets."""
    for program in ("cmake", "bison", "flex", "make", "c++"):
        if shutil.which(program) is None:
            raise CannotInstall(f"no {program} on this machine")
    try:
        tarball = apt_source.fetch_source(folder, apt_source.release(), "libmemcached")
    except apt_source.Missing as why:
        raise CannotInstall(str(why)) from None
    (folder / "source").mkdir()
    step(folder, "tar", "xf", str(tarball), "-C", "source", "--strip-components=1")
    for name, old, new in (("random.cpp", '? "-p" : "-s"', '? "-p" : "-p"'), ("MemcachedCluster.cpp", '{"-s", random_', '{"-p", random_')):
        file = folder / "source/test/lib" / name
        file.write_text(file.read_text().replace(old, new))
    step(folder, "cmake", "-S", "source", "-B", "made", "-DBUILD_TESTING=ON", "-DENABLE_MEMASLAP=OFF", "-DMEMCACHED_BINARY=/usr/bin/memcached",
         "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS=-O0")
    step(folder, "make", "-C", "made", "-j2", "runtests", limit_s=BUILD_S)


def of_tls(name, install, *words):
    return Library(name, 0, install, lambda at, host, port: [PYTHON, "-B", *(str(HERE / word) if word.endswith(".py") else word for word in words), host, port],
                   OURS, tls=True)


ROWS = {
    "libmemcached": Library("libmemcached 1.1.4 (Debian's source)", 0, install_libmemcached,
                            lambda at, host, port: ["bash", "-c", SILENT_ROUTE + EACH_TEST, str(at / "made/test/runtests")], OURS, (),
                            {"MEMCACHED_BINARY": "memcached", "LIMIT": str(ONE_TEST_S)}, run_s=ALL_TESTS_S),
    "tlslite-ng": of_tls("tlslite-ng 0.8.2, rules of RFC 5246 and 8446 by us", install_pypi("tlslite-ng==0.8.2"), "tls_rules.py"),
    "sslyze": of_tls("sslyze 6.3.1", install_pypi("sslyze==6.3.1"), "tls_findings.py", "sslyze"),
    "sslscan": of_tls("sslscan of Debian", needs("sslscan"), "tls_findings.py", "sslscan"),
    "testssl": of_tls("testssl.sh of Debian", needs("testssl"), "tls_findings.py", "testssl"),
}
