/*
 * kernel_io.h - decides which received frames are the kernel's, and which of its frames may leave.
 * The rules are in lib/kernel/README.md.
 *
 * Shape: net->kernel is the core's lane. If it is NULL nothing of this file is called.
 * Owner: the kernel gets copies; the caller frees the frame.
 * Thread: core-local.
 * Errors: are counted as KERNEL_*.
 */
#ifndef CLOCKOO_KERNEL_IO_H
#define CLOCKOO_KERNEL_IO_H

#include "net_inside.h"
#include "kernel/kernel_lane.h"

/* Declares a port that the transport listens on; 0: none. */
void kernel_declare_tcp(struct net *net, uint16_t port);

/* Offers received frame i, or counts the reason not to. */
void kernel_offer(struct net *net, const struct classified *in, uint32_t i);

/* Offers a frame that classify.c refused, if it is for the kernel. False: it is not, and the caller
 * counts the reason of the refusal. */
bool kernel_offer_refused(struct net *net, const struct classified *in, uint32_t i,
			  enum net_counter reason);

/* Offers a fragment to our address, unless it is certainly for the cache. True: it is for the
 * kernel only. */
bool kernel_offer_fragment(struct net *net, const struct classified *in, uint32_t i,
			   uint8_t protocol);

/* Offers a segment that belongs to no connection, unless its destination port is the cache's. l3:
 * its row of the burst. True: it is for the kernel. */
bool kernel_offer_segment(struct net *net, const struct l3_info *l3, uint16_t port);

/* Offers SYNs to ports of the kernel, and removes them from in->tcp, so that a flood of them needs
 * no lookups of connections. Called while the lane is flooded. */
void kernel_take_syns(struct net *net, struct classified *in);

/* Offers ARP, neighbour discovery and ICMP that concerns the kernel. True: the frame is for the
 * kernel only. */
bool kernel_offer_other(struct net *net, uint32_t rx_index, enum other_kind kind);

/* Sends at most KERNEL_SLICE frames of the kernel. */
void kernel_tick(struct net *net);

#endif
