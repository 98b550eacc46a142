/*
 * net_inside.h - the functions that the files of this room share.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_NET_INSIDE_H
#define CLOCKOO_NET_INSIDE_H

#include "net_core.h"

/* ---- tx_queue.c ---- */

/* Empties the deferred-free list: into the frame cache as long as it has room, then to the port. */
void frames_release(struct net *net);
void frame_cache_refill(struct net *net);
/* Sends the frame that was begun, on the link of a local address. */
void tx_queue_commit(struct net *net, uint16_t local, uint32_t len, uint32_t ol_flags);
/* Sends a copy of a frame unchanged, with its tag if it has one. The queue must have room. */
void tx_queue_push_copy(struct net *net, const uint8_t *data, uint32_t len);
/* Sends a received frame on the link of its local address. */
void tx_queue_send_rx(struct net *net, uint32_t rx_index, uint32_t len, uint32_t ol_flags);
void tx_queue_send_rx_frame(struct net *net, struct frame *f, uint8_t *start, uint32_t len,
			    uint32_t ol_flags, uint16_t local);
void rx_frame_drop(struct net *net, uint32_t rx_index);

/* A received packet that is answered in place. */
struct ip_request {
	uint8_t *frame;
	const struct ip_addr *src;
	uint32_t l4_offset; /* offset in frame */
	uint16_t local;
};

/* Returns the sum of the pseudo header for a local address and dst, in either direction. */
static inline uint64_t
ip_pseudo_sum(const struct net *net, struct ip_dest dest, uint16_t l4_len)
{
	if (likely(dest.local == LOCAL_V4))
		return inet_sum_pseudo(net->ipv4, ip_addr_v4_get(dest.dst), dest.protocol, l4_len);
	if (local_is_v4(dest.local))
		return inet_sum_pseudo(ip_addr_v4_get(&net->ip[dest.local]),
				       ip_addr_v4_get(dest.dst), dest.protocol, l4_len);
	return inet_sum_pseudo6(net->ip[dest.local].b, dest.dst->b, dest.protocol, l4_len);
}

/* ip_out.c: writes headers back to the sender, without options, before the l4_len bytes of L4,
 * which move if there were options. Returns the place of these bytes. */
uint8_t *ip_reply_in_place(struct net *net, struct ip_request from, uint32_t l4_len,
			   uint8_t protocol);

/* Returns the link of a local address. */
static inline uint32_t
link_of_local(const struct net *net, uint32_t local)
{
	return net->addrs->state[local].link;
}

/* True if ip is on the link, or a gateway there. */
bool route_uses(const struct net *net, const struct ip_addr *ip, uint32_t link);
/* Returns the neighbour table's key for an address: the same link-local address may be on every
 * link. */
struct ip_addr neigh_key(const struct net *net, const struct ip_addr *ip, uint32_t link);
/* True: no more replies to this station now. */
bool neigh_rate_limited(struct net *net, const uint8_t mac[6]);
/* Handles a packet that another station (mac) has sent from our address. */
void neigh_conflict(struct net *net, uint16_t local, const uint8_t mac[6]);
/* Send requests and announcements from a local address, on its link. False: no room. */
bool arp_send_request(struct net *net, uint16_t local, const struct ip_addr *ip);
bool nd_send_router_solicit(struct net *net);
bool nd_send_solicit(struct net *net, uint16_t local, const struct ip_addr *ip);
bool nd_send_unsolicited(struct net *net, uint16_t local);

/* ---- mld_io.c ---- */

/* Restarts the reports of all groups, if the walk through them was interrupted. */
void mld_announce_begin(struct net *net);
/* Reports some joined and left groups. True: all are reported, and the next call begins again. */
bool mld_announce(struct net *net);
/* Forgets pending queries, which the announcement of the new table answers. */
void mld_addrs_changed(struct net *net);
/* Answers queries. Called from net->mld.due_ns on. */
void mld_tick(struct net *net);

/* Input handlers. Each takes ownership of the frame, which is sent back or freed. */
void arp_input(struct net *net, uint32_t rx_index);
void icmp_input(struct net *net, uint32_t rx_index);
void icmp6_input(struct net *net, uint32_t rx_index);
void nd_input(struct net *net, uint32_t rx_index);
void mld_input(struct net *net, uint32_t rx_index);
void fragment_input(struct net *net, uint32_t rx_index);
void echo_fragment_input(struct net *net, uint32_t rx_index);
void udp_template_make(struct net *net);
void udp_input(struct net *net, const struct classified *in);
void udp_release(struct net *net);
void neigh_tick(struct net *net);

#endif
