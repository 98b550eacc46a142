#!/usr/bin/python3 -B
"""A file of lib with one rule of the kernel's share broken (tests/support/one_edit.py)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from one_edit import main

IO = "net/kernel_io.c"
LANE = "kernel/kernel_lane.c"

MUTANTS = {
    # A segment to a port of the cache without a connection is the kernel's, which sends a RST.
    "SEGMENT_LEAKS": (IO, "if (kernel_port_is_ours(net->kernel, KERNEL_TCP, port))\n\t\treturn false;\n", ""),
    # Only the ports that the cache listens on are its own.
    "OWN_PORTS_LEAK": (LANE, "port = KERNEL_OWN_PORT_MIN; port <=", "port = UINT16_MAX; port <"),
    # All first fragments are the kernel's.
    "FRAGMENT_LEAKS": (IO, "return is_ours ? KERNEL_OWNER_CACHE :", "return"),
    # Later fragments of the kernel's packets are lost on the cache.
    "LATER_FRAGMENTS_LOST": (IO, "if (owner != KERNEL_OWNER_CACHE)", "if (facts.is_first && owner != KERNEL_OWNER_CACHE)"),
    # An error about a packet of the cache is the kernel's.
    "QUOTE_LEAKS": (IO, "quote_is_ours(net, &q, false, link)", "false"),
    # A port of the cache is the cache's at any address.
    "QUOTE_OF_ANYBODY": (IO, "\tif (!is_local(net, &q->src, link))\n\t\treturn false;\n", ""),
    # The kernel answers ARP for our address, too.
    "ANSWERS_TWICE": (IO, "|| arp.op != ARP_REPLY", "|| true"),
    # The kernel advertises our IPv6 addresses.
    "ADVERTISES_TWICE": (IO, "p->l4[0] == ICMP6_NEIGH_ADVERT", "false"),
    # A RST from a port of the cache leaves.
    "RST_LEAVES": (IO, "return names_our_port(net, p->protocol, p->l4);", "return false;"),
    # The kernel tells a client of the cache that its port is closed.
    "PORT_UNREACHABLE": (IO, "names_our_port(net, q.protocol, q.l4 + sizeof(struct be16))", "false"),
    # The rules of our VLAN hold in all.
    "EVERY_VLAN": (IO, "link_of_vlan[l.vlan]", "link_of_vlan[0]"),
    # Neighbours are learnt by the cache alone.
    "KERNEL_LEARNS_NONE": (IO, "bool both = kind == OTHER_ARP;\n", "bool both = false;\n"),
    # Frames to other stations reach the kernel.
    "PROMISCUOUS": (IO, "(eth_mac_is_group(eth->dst) || eth_mac_equal(eth->dst, net->port->mac))", "true"),
    # The tag that classification removed stays away.
    "TAG_LOST": (LANE, "\tif (f->tag != 0)\n\t\teth_vlan_insert", "\tif (false)\n\t\teth_vlan_insert"),
    # The access list of the cache is the kernel's as well.
    "DENIED_FOR_ALL": ("net/classify.c", "!udp_port_is_ours(net, be16_get(h->dst_port))", "false"),
    # A flood of SYNs takes the whole burst.
    "BULK_IS_ALL": (LANE, "(is_bulk && !rate_has_room", "(false && !rate_has_room"),
    # In a flood of SYNs those to the cache are the kernel's, too.
    "FLOOD_TAKES_ALL": (IO, "header_len <= l3->l4_len &&\n\t       !kernel_port_is_ours(net->kernel, KERNEL_TCP, be16_get(h->dst_port))",
                        "header_len <= l3->l4_len"),
    # The first segments of a burst are kept, whichever they are.
    "FLOOD_KEEPS_FIRST": (IO, "in->tcp[kept++] = (uint8_t)i;", "kept++;"),
    # A flood is not noticed, so each of its frames is looked up as a segment.
    "FLOOD_UNNOTICED": (LANE, "k->is_flooded = true;", ""),
    # Nothing limits the kernel's share but the ring.
    "NO_RATE": (LANE, "paid_ns - now_ns <= (burst - 1) * cost_ns", "true"),
    # The kernel's frames take a turn's every place.
    "NO_SLICE": (IO, "n < KERNEL_SLICE &&", "n < KERNEL_RING &&"),
}

if __name__ == "__main__":
    main(MUTANTS, sys.argv[1:])
