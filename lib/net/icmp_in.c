/*
 * icmp_in.c - ICMP and ICMPv6: answers echo requests in place (RFC 1122 section 3.2.2.6, RFC 4443
 * section 4.2). Errors go to icmp_error.c, neighbour discovery to nd_io.c, queries for groups to
 * mld_io.c. Other messages are counted.
 */
#include "access_list.h"
#include "icmp_error.h"
#include "ip_fragment.h"
#include "net_inside.h"
#include "reasm.h"
#include "base/hash.h"
#include "wire/eth_wire.h"
#include "wire/icmp6_wire.h"
#include "wire/icmp_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/mld_wire.h"
#include "wire/udp_wire.h"

#include <stddef.h>

/* Decides whether an echo request is answered. The access list applies to requests. It does not
 * apply to errors, since they come from routers, which are in no list of clients. */
static enum net_counter
check_echo(struct net *net, const struct ip_addr *src, uint32_t packet_len)
{
	if (unlikely(net->access != NULL) && !access_allows(net->access, src))
		return DROP_ICMP_DENIED;
	if (packet_len > net->port->mtu)
		return DROP_ICMP_SIZE;
	return rate_limit_allow(&net->echo_limit, net->now_ns, ECHO_REPLIES_MAX)
		       ? ICMP_ECHO_REPLIES
		       : DROP_ICMP_RATE_LIMIT;
}

/* ---- replies in fragments ---- */

/* Turns a complete request into its reply. Returns ICMP_ECHO_REPLIES, or the reason to drop it. */
static enum net_counter
echo_reply_make(const struct net *net, const struct reassembled *echo, struct ip_dest back)
{
	struct icmp_header *h = (struct icmp_header *)echo->bytes;
	const uint64_t pseudo =
		local_is_v4(back.local) ? 0 : ip_pseudo_sum(net, back, (uint16_t)echo->len);

	if (echo->len < ICMP_HEADER_BYTES)
		return DROP_ICMP_TRUNCATED;
	if (!inet_sum_good(inet_sum(pseudo, echo->bytes, echo->len)))
		return DROP_ICMP_CKSUM;
	if (h->type != (local_is_v4(back.local) ? ICMP_ECHO : ICMP6_ECHO) || h->code != 0)
		return DROP_ICMP_TYPE;
	if (local_is_v4(back.local)) {
		icmp_echo_to_reply(echo->bytes);
	} else {
		h->type = ICMP6_ECHO_REPLY;
		h->cksum = be16_of(0);
		h->cksum = udp_cksum(inet_sum(pseudo, echo->bytes, echo->len));
	}
	return ICMP_ECHO_REPLIES;
}

/* True if the limits allow a reply of this many frames. Every frame counts, so a long request gains
 * nothing. */
static bool
echo_fragments_allowed(struct net *net, uint32_t frames)
{
	return frames <= tx_queue_room(net) &&
	       rate_limit_take(&net->echo_fragment_limit, net->now_ns, frames,
			       ECHO_FRAGMENTS_MAX) &&
	       rate_limit_take(&net->echo_limit, net->now_ns, frames, ECHO_REPLIES_MAX);
}

/* Sends the reply in fragments of the route's size, to the MAC from which the last fragment
 * came. */
static enum net_counter
echo_answer(struct net *net, uint32_t rx_index, const struct reassembled *echo)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];
	const struct eth_header *eth = (const struct eth_header *)net->in->rx.data[rx_index];
	const struct ip_dest back = {&l3->src_ip, l3->local,
				     local_is_v4(l3->local) ? IPV4_ICMP : IPV6_ICMP};
	const uint32_t most = ip_fragment_bytes(net, back);
	const enum net_counter what = echo_reply_make(net, echo, back);

	if (what != ICMP_ECHO_REPLIES)
		return what;
	if (!echo_fragments_allowed(net, (echo->len + most - 1) / most))
		return DROP_ICMP_RATE_LIMIT;
	for (uint32_t at = 0; at < echo->len; at += most) {
		const uint32_t left = echo->len - at;
		const struct ip_fragment piece = {.data = echo->bytes + at,
						  .id = echo->id,
						  .at = at,
						  .len = left < most ? left : most,
						  .more = left > most};

		ensure(ip_send_fragment(net, eth->src, back, &piece));
	}
	return ICMP_ECHO_REPLIES;
}

/* True if the reply to a request in one packet is longer than the MTU of its route. */
static bool
is_long_for_route(const struct net *net, const struct l3_info *l3)
{
	return ip_header_bytes(l3->local) + l3->l4_len > route_mtu(net, &l3->src_ip);
}

/* Answers a request in one packet with a reply in fragments. */
static void
echo_in_fragments(struct net *net, uint32_t rx_index)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];
	uint8_t *p = net->in->rx.data[rx_index] + l3->l4_offset;
	/* The ID differs between requests and cannot be predicted (RFC 7739). */
	const uint32_t id =
		(uint32_t)hash_word(load_u32(p + offsetof(struct icmp_header, id)), net->cfg.seed);

	net_count(net, echo_answer(net, rx_index, &(struct reassembled){p, l3->l4_len, id}));
	rx_frame_drop(net, rx_index);
}

/* ---- messages in one packet ---- */

/* Handles a message and returns the counter to count. */
static enum net_counter
check_icmp(struct net *net, const struct l3_info *l3, const uint8_t *p)
{
	const uint32_t len = l3->l4_len;
	const struct icmp_header *h = (const struct icmp_header *)p;

	if (len < ICMP_HEADER_BYTES)
		return DROP_ICMP_TRUNCATED;
	if (!inet_sum_good(inet_sum(0, p, len)))
		return DROP_ICMP_CKSUM;
	if (h->type == ICMP_UNREACHABLE || h->type == ICMP_TIME_EXCEEDED ||
	    h->type == ICMP_PARAMETER)
		return icmp_error(net, p, len, (uint8_t)link_of_local(net, l3->local));
	if (h->type != ICMP_ECHO || h->code != 0)
		return DROP_ICMP_TYPE;
	return check_echo(net, &l3->src_ip, IPV4_HEADER_BYTES + len);
}

static struct ip_request
request_of(const struct net *net, uint32_t rx_index)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];

	return (struct ip_request){net->in->rx.data[rx_index], &l3->src_ip, l3->l4_offset,
				   l3->local};
}

void
icmp_input(struct net *net, uint32_t rx_index)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];
	const uint8_t *p = net->in->rx.data[rx_index] + l3->l4_offset;
	const enum net_counter what = check_icmp(net, l3, p);

	if (what == ICMP_ECHO_REPLIES && unlikely(is_long_for_route(net, l3))) {
		echo_in_fragments(net, rx_index);
		return;
	}
	net_count(net, what);
	if (what != ICMP_ECHO_REPLIES) {
		rx_frame_drop(net, rx_index);
		return;
	}
	icmp_echo_to_reply(
		ip_reply_in_place(net, request_of(net, rx_index), l3->l4_len, IPV4_ICMP));
	tx_queue_send_rx(net, rx_index, ETH_HEADER_BYTES + IPV4_HEADER_BYTES + l3->l4_len,
			 net->ip_ol_flags);
}

static enum net_counter
check_icmp6(struct net *net, const struct l3_info *l3, const uint8_t *p)
{
	const struct icmp6_header *h = (const struct icmp6_header *)p;

	if (h->type < ICMP6_ECHO)
		return icmp6_error(net, p, l3->l4_len, (uint8_t)link_of_local(net, l3->local));
	if (h->type != ICMP6_ECHO || h->code != 0 || ip_addr_is_zero(&l3->src_ip))
		return DROP_ICMP_TYPE;
	return check_echo(net, &l3->src_ip, IPV6_HEADER_BYTES + l3->l4_len);
}

/* True if the checksum is good. It includes the pseudo header (RFC 4443 section 2.3), whose
 * destination may be a group. */
static bool
icmp6_cksum_good(const struct l3_info *l3, const uint8_t *frame)
{
	const struct ipv6_header *h = (const struct ipv6_header *)(frame + ETH_HEADER_BYTES);
	const uint64_t pseudo = inet_sum_pseudo6(h->src.b, h->dst.b, IPV6_ICMP, l3->l4_len);

	return inet_sum_good(inet_sum(pseudo, frame + l3->l4_offset, l3->l4_len));
}

static void
icmp6_echo(struct net *net, uint32_t rx_index)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];
	const struct ip_dest dest = {&l3->src_ip, l3->local, IPV6_ICMP};
	uint8_t *p = ip_reply_in_place(net, request_of(net, rx_index), l3->l4_len, IPV6_ICMP);
	struct icmp6_header *h = (struct icmp6_header *)p;

	h->type = ICMP6_ECHO_REPLY;
	h->cksum = be16_of(0);
	h->cksum = udp_cksum(inet_sum(ip_pseudo_sum(net, dest, l3->l4_len), p, l3->l4_len));
	tx_queue_send_rx(net, rx_index, ETH_HEADER_BYTES + IPV6_HEADER_BYTES + l3->l4_len, 0);
}

static bool
is_neigh_discovery(uint8_t type)
{
	return type >= ICMP6_ROUTER_SOLICIT && type <= ICMP6_REDIRECT;
}

void
icmp6_input(struct net *net, uint32_t rx_index)
{
	const struct l3_info *l3 = &net->in->l3[rx_index];
	const uint8_t *frame = net->in->rx.data[rx_index];
	enum net_counter what = DROP_ICMP_TRUNCATED;

	if (l3->l4_len >= ICMP6_HEADER_BYTES) {
		if (!icmp6_cksum_good(l3, frame)) {
			what = DROP_ICMP_CKSUM;
		} else if (is_neigh_discovery(frame[l3->l4_offset])) {
			nd_input(net, rx_index);
			return;
		} else if (frame[l3->l4_offset] == MLD_QUERY) {
			mld_input(net, rx_index);
			return;
		} else {
			what = check_icmp6(net, l3, frame + l3->l4_offset);
		}
	}
	if (what == ICMP_ECHO_REPLIES && unlikely(is_long_for_route(net, l3))) {
		echo_in_fragments(net, rx_index);
		return;
	}
	net_count(net, what);
	if (what == ICMP_ECHO_REPLIES)
		icmp6_echo(net, rx_index);
	else
		rx_frame_drop(net, rx_index);
}

/* ---- echo requests in fragments ---- */

void
echo_fragment_input(struct net *net, uint32_t rx_index)
{
	const struct reassembled echo = reasm_insert(net, net->echo_reasm, rx_index);

	if (echo.bytes != NULL) {
		net_count(net, echo_answer(net, rx_index, &echo));
		reasm_release(net->echo_reasm, NULL, 0);
	}
	rx_frame_drop(net, rx_index);
}
