#!/usr/bin/python3 -B
"""A file of lib with one rule broken: of who is let in, or of addresses (tests/support/one_edit.py)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from one_edit import main

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

if __name__ == "__main__":
    main(MUTANTS, sys.argv[1:])
