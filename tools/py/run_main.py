"""The program behind the shell script tools/run, whose --help says what it does.

Order of events: build as the calling user; without root, become root of a user namespace; borrow from the machine,
and register first how each thing is given back; start the appliance; show that it answers; run CMD or live figures.
"""

import argparse
import contextlib
import ctypes
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time
import types

import appliance
import build_tree
import lendings
import mc_proxy
import netns
import progress
import rings
import run_flash
import run_front
import run_load
import run_zones
import session
from progress import Failed, say

DIED_STATUS = 99
IN_USERNS = "CLOCKOO_IN_USERNS"
PORTS = ("af_packet", "tap", "user")
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
EXEC_POLL_S = 0.05
CLIENT_END_S = 2.0


class Stopped(BaseException):
    """SIGINT, SIGTERM or SIGHUP."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def adopt_orphans():
    """Makes processes that CMD leaves running our children, so that we can end them and wait for them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def bury_orphans():
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _on_signal(number, frame):
    raise Stopped(number)


def parse(argv):
    p = argparse.ArgumentParser(prog="tools/run", add_help=False)
    p.add_argument("--exec", dest="command")
    p.add_argument("--port", choices=PORTS)
    p.add_argument("--cores", type=int)
    p.add_argument("--appliances", type=int, default=1)
    p.add_argument("--load", action="store_true")
    p.add_argument("--front", type=int)
    p.add_argument("--flash")
    p.add_argument("--fleet", nargs="?", const="")
    p.add_argument("--no-huge", action="store_true")
    p.add_argument("--no-udp", action="store_true")
    p.add_argument("--server-args", default="")
    p.add_argument("--dpdk")
    p.add_argument("--build", type=pathlib.Path)
    p.add_argument("--no-build", action="store_true")
    p.add_argument("-q", "--quiet", action="store_true")
    # argparse treats a value that begins with a dash as an option, unless `=` joins them.
    glued = []
    for word in argv:
        if glued and glued[-1] in ("--exec", "--server-args"):
            glued[-1] += "=" + word
        else:
            glued.append(word)
    args = p.parse_args(glued)
    if args.dpdk is not None:
        build_tree.use_dpdk(args.dpdk)
    args.build = (args.build or build_tree.default_folder()).absolute()
    if args.cores is not None and not 1 <= args.cores <= 64:
        p.error("--cores: 1 to 64")
    if not 1 <= args.appliances <= netns.APPLIANCES_MAX:
        p.error(f"--appliances: 1 to {netns.APPLIANCES_MAX}")
    if args.appliances > 1 and (args.port == "tap" or args.command is None):
        p.error("--appliances: needs --exec, and no tap")
    if args.load and (args.port == "tap" or args.command is not None):
        p.error("--load: needs no --exec, and no tap")
    if args.front is not None and not 1 <= args.front <= run_front.SERVERS_MAX:
        p.error(f"--front: 1 to {run_front.SERVERS_MAX} servers")
    if args.front and args.port == "tap":
        p.error("--front: needs no tap")
    if args.front and args.appliances > 1 and args.no_udp:
        p.error("--front: two fronts notify each other of writes over UDP")
    if args.flash is not None and not run_flash.SIZE.fullmatch(args.flash):
        p.error("--flash: a size, as 2G")
    if args.flash is not None and (args.port == "tap" or args.appliances > 1 or args.front):
        p.error("--flash: needs one appliance, no front and no tap")
    if args.fleet is not None:
        if args.command is not None or args.load or args.front or args.flash or args.appliances > 1:
            p.error("--fleet: stands alone")
        args.port = "user"
    args.load |= args.flash is not None and args.command is None
    args.load |= args.front is not None and args.command is None  # a front shows its use under load
    progress.quiet = args.quiet and args.command is not None
    return args


def server_command(args, wire, name, profiles, more=()):
    words = [str(args.build / "app" / "clockoo"), "--config", "none", *wire.options(), "-p", str(wire.tcp_port),
             "-U", "0" if args.no_udp else str(wire.tcp_port), "--file-prefix", name, "--data-dir", str(profiles),
             "--probe", "off"]  # no other host is on this wire
    cpus = sorted(os.sched_getaffinity(0))
    if args.cores is None:
        pass  # the port is the default, or that of --server-args
    elif args.cores > len(cpus):
        pairs = (f"{i}@{cpus[i % len(cpus)]}" for i in range(args.cores))
        words += ["--lcores", ",".join(pairs)]
    else:
        words += ["--cores", str(args.cores)]
    # The client shares these CPUs. With --yield an idle core sleeps, and the kernel lets a thread that
    # has slept run at once when it wakes (lib/dpdk/README.md).
    words += ["--yield"]
    if args.command is None:
        words += ["--live"]
    return words + list(more) + shlex.split(args.server_args)


def become_namespace_root(argv):
    """Runs this program again as root of a user namespace, with a /run of its own."""
    if shutil.which("unshare") is None:
        raise Failed("without root this needs unshare (package util-linux)")
    os.environ[IN_USERNS] = "1"
    script = 'mount -t tmpfs -o mode=755 tmpfs /run && exec "$@"'
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--mount", "--net", "sh", "-c",
                          script, "sh", sys.executable, "-B", os.path.abspath(__file__), *argv])


def choose_port(args):
    """Sets args.port: network namespaces as root, else those of a user namespace, else port user. Prints the choice
    and its reason. Returns True if a user namespace must be made. Called before the build."""
    if args.port == "user" or IN_USERNS in os.environ:
        args.port = args.port or "af_packet"
        return False
    whose, why = netns.rights()
    if whose is not None:
        if whose == "user":
            say(f"everything happens inside a user namespace: {why}")
        args.port = args.port or "af_packet"
        return whose == "user"
    if args.port is not None:
        raise Failed(f"--port {args.port} needs network namespaces ({why}): run it as root, or take --port user")
    if args.front and args.appliances > 1:
        raise Failed(f"two fronts need network namespaces: {why}")
    say(f"no network namespaces here ({why}): port user, at {netns.UserWire().host}")
    args.port = "user"
    return False


def prepare(argv, args):
    """Builds, and gains the rights. Returns only as root of some namespace, or for port user."""
    userns = IN_USERNS in os.environ
    become_root = choose_port(args)
    programs = ["app/clockoo"] + ["tests/load/clockoo-load"] * args.load
    if not userns and not args.no_build:
        build_tree.build(args.build, targets=programs, bench=args.load)
    for name in programs:
        if not (args.build / name).exists():
            raise Failed(f"there is no {name} in {args.build}")
    if become_root:
        become_namespace_root(argv)
    if args.port == "user" and not os.access("/run", os.W_OK):
        lendings.keep_in_tmp()
    os.environ.pop(IN_USERNS, None)
    return userns


def run_command(args, wire, server, second):
    """Runs CMD in the client's namespace and returns its status. Raises Died if the first appliance dies before CMD
    ends; the second one may die, because CMD may kill it."""
    env = dict(os.environ, CLOCKOO_HOST=wire.host, CLOCKOO_HOST6=wire.host6,
               CLOCKOO_IFACE=wire.peer, CLOCKOO_PORT_KIND=wire.port, CLOCKOO_PORT=str(wire.tcp_port),
               CLOCKOO_UDP_PORT=str(wire.tcp_port), CLOCKOO_PID=str(server.pid))
    if second is not None:
        env |= {"CLOCKOO_HOST_2": second[0].host, "CLOCKOO_PID_2": str(second[1].pid)}
    # CMD has our process group and terminal: Ctrl-C reaches it as if it ran alone.
    child = subprocess.Popen([*netns.inside(wire.client), "sh", "-c", args.command], env=env)
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = child.wait(EXEC_POLL_S)
                server.check_alive()
                return status if status >= 0 else 128 - status
            server.check_alive()
    except BaseException:
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(CLIENT_END_S)
        raise


def show(wire, server, userns, load):
    """Shows how to use the appliance, then live figures until Ctrl-C. load: makes a run_load.Load, or None."""
    session.show_demo(wire, wire.tcp_port)
    session.show_commands(wire, wire.tcp_port, userns)
    running = [server] if load is None else [server, load()]
    watch(server, running)


def watch(server, running, seconds=None):
    """Prints live figures for that many seconds, or until Ctrl-C."""
    say("\nLive figures, one line a second: left of the bar for that second, right of it since the start. "
        "Ctrl-C ends it.\n")
    server.on_line = lambda line: print(line, flush=True)
    end = time.monotonic() + seconds if seconds else None
    while end is None or time.monotonic() < end:
        time.sleep(0.2)
        for one in running:
            one.check_alive()


def front_phase(args, bed, copies, seconds, prove=None):
    """Runs a front with its load, and prints each server's share of it. copies: value of --front-items, or None."""
    with contextlib.ExitStack() as undo:
        more = bed.fleet.options() + (["--front-items", copies] if copies else [])
        server, _ = appliance.start(server_command(args, bed.wire, bed.ledger.name, bed.profiles, more),
                                    bed.wire, bed.ledger, args.no_huge or args.port == "user")
        undo.callback(server.stop)
        session.first_reply(bed.wire, bed.wire.tcp_port, server)
        if prove is not None:
            prove()
        if copies not in (None, "0"):
            run_front.await_copies(lambda text: bed.fleet.ask(bed.wire.host, bed.wire.tcp_port, text))
        load = run_load.Load(args.build, bed.wire, f"{bed.ledger.name}-3", bed.profiles, bed.wire.tcp_port, run_front.HOT,
                             run_front.KEYS)
        undo.callback(load.stop)
        level = run_front.Level(bed.fleet, bed.wire.tcp_port, lambda line: print(line, flush=True))
        undo.callback(level.stop)
        level.start()
        watch(server, [server, load], seconds)


def serve_front(args, userns, undo, bed):
    def prove():
        session.show_demo(bed.wire, bed.wire.tcp_port)
        bed.fleet.show_where(bed.wire.tcp_port)
        session.show_commands(bed.wire, bed.wire.tcp_port, userns)

    if run_front.keeps_copies(str(args.build / "app" / "clockoo")):
        say(f"\nFirst without copies, for {run_front.WITHOUT_S} s: the server with the hot key limits the whole rate.")
        front_phase(args, bed, "0", run_front.WITHOUT_S, prove)
        say("\nNow the same load with copies: the front keeps the keys that are asked for most:")
        front_phase(args, bed, "auto", None)
    else:
        say("\nThis build keeps no copies: the server with the hot key limits the whole rate.")
        front_phase(args, bed, None, None, prove)
    return 0


def make_wire(name, port, number=1):
    return netns.UserWire(number) if port == "user" else netns.Wire(name, port, number)


def start_second(args, ledger, profiles, undo, fleet):
    wire = make_wire(ledger.name, args.port, 2)
    wire.make()
    more = fleet.options() + fleet.peer_options(wire, wire.tcp_port) if fleet else ()
    command = server_command(args, wire, f"{ledger.name}-2", profiles, more)
    server, _ = appliance.start(command, wire, ledger, args.no_huge or args.port == "user")
    undo.callback(server.stop)
    session.first_reply(wire, wire.tcp_port, server)
    return wire, server


def serve(args, userns, undo):
    adopt_orphans()
    undo.callback(bury_orphans)
    ledger = lendings.Ledger()
    undo.callback(ledger.close)
    wire = make_wire(ledger.name, args.port)
    undo.callback(netns.end_children)
    undo.callback(netns.end_processes, ledger.name)
    wire.make()
    profiles = build_tree.ROOT / "drivers-config"
    if userns:
        profiles = rings.that_fit(profiles, lendings.FOLDER / "drivers-config", args.cores or 1)
    fleet = run_front.Fleet(wire, args.front) if args.front else None
    if fleet is not None:
        undo.callback(fleet.stop)
        fleet.start(userns)
        if args.command is None:
            return serve_front(args, userns, undo, types.SimpleNamespace(
                wire=wire, ledger=ledger, profiles=profiles, fleet=fleet))
    flash = run_flash.Flash(args.build, ledger.name, args.flash, wire, wire.tcp_port) if args.flash else None
    if flash is not None:
        undo.callback(flash.remove)
    behind = fleet or flash
    more = behind.options() if behind else []
    if fleet and args.appliances > 1:
        netns.forward(wire)
        more += fleet.peer_options(wire, wire.tcp_port)
    command = server_command(args, wire, ledger.name, profiles, more)
    server, huge = appliance.start(command, wire, ledger, args.no_huge or args.port == "user")
    undo.callback(server.stop)
    if not huge and not args.no_huge and args.port != "user":
        say("no free hugepages: running on ordinary memory (--no-huge), which is slower")
    session.first_reply(wire, wire.tcp_port, server)
    second = start_second(args, ledger, profiles, undo, fleet) if args.appliances > 1 else None
    if args.command is not None:
        for one in (server, second[1] if second else server):
            one.on_line = lambda line: say(f"appliance: {line}")
        return run_command(args, wire, server, second)

    def load():
        if flash is not None:
            flash.prove()
        one = run_load.Load(args.build, wire, f"{ledger.name}-3", profiles, wire.tcp_port, flash=flash)
        undo.callback(one.stop)
        return one

    show(wire, server, userns, load if args.load else None)
    return 0


def show_fleet(args):
    if args.fleet and (why := mc_proxy.why_not(args.fleet)) is not None:
        raise Failed(f"--fleet: {why}")
    proxy = args.fleet or mc_proxy.built(args.build / "proxy")
    return run_zones.show(args.build / "app/clockoo", proxy)


@contextlib.contextmanager
def undoing():
    """An ExitStack whose unwinding no second Ctrl-C can cut short."""
    undo = contextlib.ExitStack()
    try:
        yield undo
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        undo.close()


def main(argv):
    args = parse(argv)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _on_signal)
    try:
        userns = prepare(argv, args)
        with undoing() as undo:
            if args.fleet is not None:
                return show_fleet(args)
            return serve(args, userns, undo)
    except Stopped as stopped:
        # Ctrl-C is how the live figures end: that is no failure.
        live = args.command is None and stopped.number == signal.SIGINT
        say("\nstopped; namespaces, hugepages and processes are given back")
        return 0 if live else 128 + stopped.number
    except appliance.Died as died:
        print(died, file=sys.stderr)
        return DIED_STATUS
    except Failed as failed:
        print(f"tools/run: {failed}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
