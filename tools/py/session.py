"""Proves that the appliance serves: runs a real client, prints its requests and the answers, and says how to
run that client."""

import os
import subprocess
import sys
import time

import appliance
import netns
from progress import say

REPLY_WAIT_S = 10.0

# Requests; what follows the line of a storage command is its data block.
DEMO = ["set greeting 0 60 15\r\nhello, newcomer", "get greeting", "set hits 0 0 2\r\n41",
        "incr hits 1", "gets hits", "get nobody", "delete hits", "version"]


def _nc(wire, port, text):
    command = [*netns.inside(wire.client), "nc", "-w", "3", wire.host, str(port)]
    done = subprocess.run(command, input=text, capture_output=True)
    return done.stdout


# Any byte counts as an answer, and so does the end of the connection: a server of the binary protocol closes on text,
# and one that requires a client certificate refuses ours.
PROBE = """
import socket, ssl, sys
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 3)
    if sys.argv[3] == "tls":
        s = context.wrap_socket(s)
    s.sendall(b"version\\r\\nquit\\r\\n")
    s.recv(4096)
except ssl.SSLError:
    pass
"""


def _answers(wire, port, how):
    command = [*netns.inside(wire.client), sys.executable, "-c", PROBE, wire.host, str(port), how]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def first_reply(wire, port, server):
    """Waits for one answer, and reports if there is none: a port can be up and deliver nothing."""
    end = time.monotonic() + REPLY_WAIT_S
    while time.monotonic() < end:
        server.check_alive()
        if _answers(wire, port, "tls" if server.has_tls else "plain"):
            return
        time.sleep(0.1)
    raise appliance.Died(f"the appliance says it is ready, but gave no answer within "
                         f"{REPLY_WAIT_S:.0f} s. Its last words:\n{server.last_words()}")


def show_demo(wire, port):
    say(f"\nA session (nc {wire.host} {port}):\n")
    text = "".join(request + "\r\n" for request in DEMO) + "quit\r\n"
    answers = iter(_nc(wire, port, text.encode()).decode(errors="replace").splitlines())
    for request in DEMO:
        for line in request.splitlines():
            say(f"  > {line}")
        for line in answers:
            say(f"  < {line}")
            if not request.startswith("get") or line == "END":
                break


def show_commands(wire, port, userns):
    if wire.client is None:
        inside = ""
    elif userns:
        # A process in the client's namespace, by which the user can enter it.
        holder = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *netns.inside(wire.client), "sleep", "infinity"],
            stdin=subprocess.DEVNULL, start_new_session=True)
        inside = f"nsenter -t {holder.pid} -U -n --preserve-credentials "
    else:
        inside = f"{'sudo ' if 'SUDO_USER' in os.environ else ''}ip netns exec {wire.client} "
    say(f"""
Talk to it from another terminal:

  {inside}nc {wire.host} {port}
  {inside}memccat --servers={wire.host}:{port} greeting
  {inside}/usr/bin/python3 -c \\
      'from pymemcache.client.base import Client; print(Client(("{wire.host}", {port})).stats())'""")
