#!/usr/bin/python3 -B
"""admission_mutants.py MUTANT LIB OUT - a file of lib, one rule of who is let in, or of addresses, broken.
admission_mutants.py --caught PROGRAM - PROGRAM, built with it, must fail.

A text must be in its file exactly once, or the build fails: a mutant follows the code it breaks.
"""

import pathlib
import subprocess
import sys

MUTANTS = {
    # network.deny is no matter to datagrams.
    "UDP_UNASKED": ("net/classify.c", "ip.protocol == IPV4_UDP && source_denied(net, &in->l3[i])", "false"),
    # The widest of several matching networks decides.
    "WIDEST_DECIDES": ("net/access_list.c", "(int)one->prefix_len - (int)other->prefix_len",
                       "(int)other->prefix_len - (int)one->prefix_len"),
    # A reload is for connections that are there, or for those to come.
    "OLD_LIST_STAYS": ("serve/serve_auth.c", "\tstack_access_set(sv->stack, sv->access);\n", ""),
    "CONNECTIONS_STAY": ("serve/serve_auth.c", "stack_access_enforce(sv->stack, sv->access_slot)", "0"),
    # A user's role is asked for in text alone.
    "BINARY_HAS_NO_ROLE": ("serve/serve_auth.c", "req->verb == MC_BAD || mc_req_role(req)",
                           "req->verb == MC_BAD || (req->flags & MC_BINARY) != 0 || mc_req_role(req)"),
    # A predecessor's packets keep its successor from starting.
    "OWN_MAC_HAS_IT": ("net/addr_probe.c", "|| eth_mac_equal(mac, p->port->mac))", ")"),
    # Another host that probes for the address at the same time gets it, and so do we.
    "PROBE_UNHEARD": ("net/addr_probe.c", "arp.sender_ip == 0 && arp.op != ARP_REQUEST", "arp.sender_ip == 0"),
    # A packet against each packet.
    "DEFENDED_EACH_TIME": ("net/neigh_table.c", "age(last, now_ns) >= NEIGH_DEFEND_NS", "true"),
}


def write(mutant, lib, out):
    name, old, new = MUTANTS[mutant]
    text = pathlib.Path(lib, name).read_text()
    if text.count(old) != 1:
        sys.exit(f"{mutant}: {name} has this {text.count(old)} times, not once:\n{old}")
    pathlib.Path(out).write_text(text.replace(old, new))


def caught(command):
    done = subprocess.run(command, capture_output=True, errors="replace")
    print((done.stdout + done.stderr)[-600:])
    return done.returncode != 0


if __name__ == "__main__":
    if sys.argv[1] == "--caught":
        sys.exit(0 if caught(sys.argv[2:]) else "the mutant was not caught")
    write(*sys.argv[1:])
