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
    # Cores go on with the MAC of a neighbour that was replaced, and no update reaches them.
    "REPLACED_STAYS": ("net/neigh_table.c", "if (due && blind)", "if (false)"),
    # An address is ours on every link.
    "ANY_LINK": ("net/local_addrs.c", "local < LOCALS_MAX && a->state[local].link == link", "local < LOCALS_MAX"),
    # A new address gets the number of one that leaves, whose connections are not reset yet.
    "NUMBER_GIVEN_TWICE": ("net/local_addrs.c", "|| !m->was->state[local].live", "|| true"),
    # A reply leaves from the first address, or in the first VLAN.
    "FIRST_ANSWERS": ("net/ip_out.c", "likely(local == LOCAL_V4) ? net->ipv4", "true ? net->ipv4"),
    "FIRST_VLAN": ("net/tx_queue.c", "link[link_of_local(net, local)]", "link[LINK_FIRST]"),
    # Behind a narrow network there is no route, although a wider one goes on.
    "WIDER_ENDS": ("net/routes.c", "nest->depth != 0 ? nest->route[nest->depth - 1] : NULL", "NULL"),
    # Without an IPv4 address 0.0.0.0 is ours.
    "UNSPECIFIED_IS_OURS": ("net/net.c", "(is_live || net->many4) &&", ""),
    # An echo reply has the port's MTU: of a request in one packet, in fragments.
    "ECHO_HAS_PORT_MTU": ("net/icmp_in.c", "> route_mtu(net, &l3->src_ip)", "> net->port->mtu"),
    "PIECES_HAVE_PORT_MTU": ("net/ip_fragment.c", "route_mtu(net, dest.dst)", "net->port->mtu"),
    # A datagram has the port's MTU: in a fresh frame, in its request's.
    "FRESH_HAS_PORT_MTU": ("net/udp_io.c", "route_mtu(net, &to->ip)", "net->port->mtu"),
    "REPLY_HAS_PORT_MTU": ("net/net.c", "least != 0 && least < net->port->mtu", "false"),
}

if __name__ == "__main__":
    main(MUTANTS, sys.argv[1:])
