/*
 * udp_io.c - datagrams: passes received ones to the service, keeps a backlog of them, and sends
 * replies in place or in fresh frames.
 *
 * A reply goes to the MAC from which the request came, without a lookup in the shared neighbour
 * table. Only for a datagram that is no reply the next hop is resolved (udp_resolve).
 */
#include "reasm.h"

#include "base/hash.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"
#include "wire/ipv6_wire.h"
#include "wire/udp_wire.h"

#define L4_AT          (ETH_HEADER_BYTES + IPV4_HEADER_BYTES)
#define L4_AT6         (ETH_HEADER_BYTES + IPV6_HEADER_BYTES)
#define UDP_PAYLOAD_AT (L4_AT + UDP_HEADER_BYTES)

#define TEMPLATE_AT ETH_MAC_BYTES /* offset in a frame, after the destination MAC */

/* A source may keep UDP_BACKLOG_SHARE times as many datagrams as places are free: four fifths of
 * the backlog if it is the only one (dynamic thresholds). */
#define UDP_BACKLOG_SHARE 4u
/* Places of the backlog, the last ones, for sources without a datagram in it. */
#define UDP_BACKLOG_RESERVE BURST_MAX
/* Far sources, which can be forged, may have 1/UDP_BACKLOG_FAR_PART of the backlog. */
#define UDP_BACKLOG_FAR_PART 2u
/* Most reassembled datagrams that a source may keep. */
#define UDP_BACKLOG_REASSEMBLED (REASM_CONTEXTS / 4)

static_assert(L4_AT6 + IPV6_EXT_BYTES_MAX + UDP_HEADER_BYTES < ROUTE_MTU_MIN,
	      "behind the longest headers there is room for a reply");
static_assert(TEMPLATE_AT + UDP4_TEMPLATE_BYTES == L4_AT + offsetof(struct udp_header, len),
	      "the template ends behind the ports");

void
udp_template_make(struct net *net)
{
	uint8_t frame[L4_AT + UDP_HEADER_BYTES] = {0};

	eth_emit(frame, net->port->mac, net->port->mac, ETH_TYPE_IPV4);
	ipv4_emit(frame + ETH_HEADER_BYTES, net->ipv4, 0, IPV4_UDP, 0);
	udp_emit(frame + L4_AT, net->cfg.udp_port, 0, 0);
	memcpy(net->udp4_template, frame + TEMPLATE_AT, sizeof net->udp4_template);
	net->udp4_pseudo_sum = inet_sum_pseudo(net->ipv4, 0, IPV4_UDP, 0);
}

static inline void
datagram_fill(struct datagram *d, const struct classified *in, uint32_t i, const uint8_t *udp,
	      uint32_t udp_len)
{
	const struct l3_info l3 = in->l3[i];
	uint8_t *frame = in->rx.data[i];
	const uint32_t ports = be32_get(*(const struct be32 *)(const void *)udp);

	memcpy(d->from.mac, ((const struct eth_header *)frame)->src, ETH_MAC_BYTES);
	d->from.our_port = (uint16_t)ports;
	d->from.port = (uint16_t)(ports >> 16);
	d->from.ip = l3.src_ip;
	d->from.local = l3.local;
	d->payload.data = udp + UDP_HEADER_BYTES;
	d->payload.len = udp_len - UDP_HEADER_BYTES;
	d->frame = in->rx.frame[i];
	d->start = frame;
	d->l4_offset = l3.l4_offset;
	d->answered = false;
	d->kept = DATAGRAM_NEW;
}

/* Sets how many datagrams the service may read in this turn, if there is a backlog. Each needs a
 * transmit credit for its reply in place; those received in this turn have one. Half of the
 * remaining slots are reserved for replies in fresh frames. */
static __attribute__((noinline)) void
datagrams_expose(struct net *net)
{
	const uint32_t fresh = net->datagram_count - net->backlog_count;
	const uint32_t taken = net->out.count + net->tx_credits + TX_QUEUE_RESERVE;
	const uint32_t room = taken < TX_QUEUE_MAX ? (TX_QUEUE_MAX - taken) / 2 : 0;
	const uint32_t more = room < BURST_MAX ? room : BURST_MAX;
	uint32_t shown = fresh + more;

	if (shown > net->datagram_count)
		shown = net->datagram_count;
	net->tx_credits += shown - fresh;
	net->datagrams_withheld = net->datagram_count - shown;
}

void
udp_input(struct net *net, const struct classified *in)
{
	const uint32_t count = in->udp_count;
	/* The position is after the backlog and the reassembled datagrams. */
	struct datagram *d = &net->datagrams[net->datagram_first + net->datagram_count];

	for (uint32_t n = 0; n < count; n++) {
		const uint32_t i = in->udp[n];
		const struct l3_info *l3 = &in->l3[i];

		datagram_fill(d++, in, i, in->rx.data[i] + l3->l4_offset, l3->l4_len);
	}
	net->datagram_count += count;
	if (net->datagram_count != net->backlog_count)
		counter_add(&net->counters[UDP_RECEIVED], net->datagram_count - net->backlog_count);
	if (unlikely(net->backlog_count != 0))
		datagrams_expose(net);
}

/* The reply to a reassembled datagram may be written into the frame of its last fragment. */
void
fragment_input(struct net *net, uint32_t rx_index)
{
	struct l3_info *l3 = &net->in->l3[rx_index];
	const uint8_t *udp = reasm_insert(net, net->reasm, rx_index).bytes;

	if (udp == NULL) {
		rx_frame_drop(net, rx_index);
		return;
	}
	l3->l4_offset = (uint16_t)(ETH_HEADER_BYTES + ip_header_bytes(l3->local));
	datagram_fill(&net->datagrams[net->datagram_first + net->datagram_count++], net->in,
		      rx_index, udp, be16_get(((const struct udp_header *)udp)->len));
}

/* Returns the cell of a source: an IPv4 address, or the /64 of an IPv6 address. */
static uint32_t
backlog_cell(const struct net *net, const struct ip_addr *ip)
{
	const uint64_t word =
		ip_addr_is_v4(ip) ? load_u32(ip->b + IP_ADDR_V4_BITS / 8) : load_u64(ip->b);

	return (uint32_t)(hash_word(word, net->cfg.seed) % UDP_SOURCES);
}

/* Returns the cell of a source's network: a /24, or the /56 of an IPv6 address. */
static uint32_t
backlog_network(const struct net *net, const struct ip_addr *ip)
{
	const uint64_t hash = ip_addr_is_v4(ip)
				      ? hash_bytes(ip->b + IP_ADDR_V4_BITS / 8, 3, net->cfg.seed)
				      : hash_bytes(ip->b, 7, net->cfg.seed);

	return (uint32_t)(hash % UDP_SOURCES);
}

static bool
is_reassembled(const struct net *net, const struct datagram *d)
{
	return net->reasm != NULL && reasm_holds(net->reasm, d);
}

static void
backlog_leave(struct net *net, const struct datagram *d)
{
	net->backlog_by_source[is_reassembled(net, d)][d->cell]--;
	net->backlog_far -= d->kept == DATAGRAM_KEPT_FAR;
}

/* True if the address is in a network that is read first, or if there are no such networks. */
static bool
source_is_near(const struct net *net, const struct ip_addr *ip)
{
	const struct udp_network *of = net->cfg.udp_networks;

	for (uint32_t i = 0; i < net->cfg.udp_network_count; i++)
		if (ip_addr_same_prefix(ip, &of[i].ip, of[i].prefix_len))
			return true;
	return net->cfg.udp_network_count == 0;
}

/* True if the datagram, whose fields are set, may be kept in addition to `kept` others. */
static bool
backlog_admits(const struct net *net, const struct datagram *d, bool reassembled, uint32_t kept)
{
	const bool is_near = d->kept == DATAGRAM_KEPT_NEAR;
	const uint32_t held = net->backlog_by_source[reassembled][d->cell],
		       used = is_near ? kept : net->backlog_far,
		       most = is_near ? UDP_BACKLOG_MAX : UDP_BACKLOG_MAX / UDP_BACKLOG_FAR_PART,
		       left = kept < UDP_BACKLOG_MAX && used < most ? most - used : 0;

	if (reassembled)
		return left > 0 && held < UDP_BACKLOG_REASSEMBLED;
	if (held == 0 || left <= UDP_BACKLOG_RESERVE)
		return held == 0 && left > 0;
	return held < UDP_BACKLOG_SHARE * (left - UDP_BACKLOG_RESERVE);
}

/* Keeps a datagram of this turn if its source is below its limit. False: it is dropped. */
static bool
backlog_add(struct net *net, struct datagram *d, uint32_t kept)
{
	const bool reassembled = is_reassembled(net, d);

	d->cell = (uint16_t)backlog_cell(net, &d->from.ip);
	d->network = (uint16_t)backlog_network(net, &d->from.ip);
	d->kept = source_is_near(net, &d->from.ip) ? DATAGRAM_KEPT_NEAR : DATAGRAM_KEPT_FAR;
	if (!backlog_admits(net, d, reassembled, kept)) {
		net_count(net, DROP_UDP_BACKLOG);
		frame_defer_free(net, d->frame, d->start);
		return false;
	}
	d->since_ns = net->now_ns;
	net->backlog_by_source[reassembled][d->cell]++;
	net->backlog_far += d->kept == DATAGRAM_KEPT_FAR;
	return true;
}

static bool
source_waits(const struct net *net, const struct datagram *d)
{
	return net->sources_waiting != NULL &&
	       (net->sources_waiting[d->cell / 64] >> d->cell % 64 & 1) != 0;
}

/* Ranks of kept datagrams: the oldest of a network, the oldest of a source, all others. Those of
 * far sources have RANK_FAR added, since they are read after those of near ones. */
enum { RANK_NETWORK, RANK_SOURCE, RANK_OTHER, RANK_FAR, RANKS = 2 * RANK_FAR };

/* Positions of kept datagrams for each rank, the oldest first. */
struct backlog_order {
	uint64_t sources[UDP_SOURCES / 64], networks[UDP_SOURCES / 64]; /* those seen so far */
	uint64_t moves[2 * UDP_BACKLOG_MAX / 64];
	uint32_t count[RANKS];
	uint16_t at[RANKS][BURST_MAX];
};

/* Sets the bit. True if it was clear. */
static bool
is_first(uint64_t *bits, uint32_t at)
{
	const uint64_t bit = 1ull << at % 64;
	const bool clear = (bits[at / 64] & bit) == 0;

	bits[at / 64] |= bit;
	return clear;
}

/* Ranks the kept datagrams from `first` on, except those whose sources wait. */
static void
backlog_rank(const struct net *net, struct backlog_order *o, uint32_t first)
{
	const struct datagram *d = &net->datagrams[net->datagram_first];

	for (uint32_t n = first; n < net->backlog_count; n++) {
		uint32_t rank = RANK_OTHER;

		if (source_waits(net, &d[n]))
			continue;
		if (is_first(o->sources, d[n].cell))
			rank = RANK_SOURCE;
		if (is_first(o->networks, d[n].network))
			rank = RANK_NETWORK;
		rank += d[n].kept == DATAGRAM_KEPT_FAR ? RANK_FAR : 0;
		if (o->count[rank] < BURST_MAX)
			o->at[rank][o->count[rank]++] = (uint16_t)n;
	}
}

/* Moves the BURST_MAX datagrams of the lowest ranks to the front. So networks take turns, and
 * sources within them. Datagrams of one source stay in order. */
static void
backlog_arrange(struct net *net)
{
	struct datagram *d = &net->datagrams[net->datagram_first];
	const uint32_t first = net->backlog_first_stays ? 1 : 0;
	struct backlog_order o = {0};
	struct datagram ahead[BURST_MAX];
	uint32_t count = 0, end = first;

	backlog_rank(net, &o, first);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		for (uint32_t i = 0; i < o.count[rank] && count < BURST_MAX; i++) {
			const uint32_t n = o.at[rank][i];

			ahead[count++] = d[n];
			is_first(o.moves, n);
			end = n >= end ? n + 1 : end;
		}
	for (uint32_t n = end; n-- > first;)
		if ((o.moves[n / 64] >> n % 64 & 1) == 0)
			d[--end] = d[n];
	memcpy(d + first, ahead, count * sizeof ahead[0]);
}

/* Keeps the datagrams after the first `read`, within the limits of the backlog and of sources. The
 * first of them is always kept, since it may be partly answered. */
static __attribute__((noinline)) void
backlog_update(struct net *net, uint32_t read)
{
	struct datagram *d = &net->datagrams[net->datagram_first];
	const uint32_t read_kept = read < net->backlog_count ? read : net->backlog_count;
	uint32_t kept = net->backlog_count - read_kept;

	for (uint32_t n = 0; n < read_kept; n++)
		backlog_leave(net, &d[n]);
	for (uint32_t n = read + kept; n < net->datagram_count; n++)
		if (backlog_add(net, &d[n], kept))
			d[read + kept++] = d[n];
	net->datagram_first += read;
	if (kept == 0 || net->datagram_first > UDP_BACKLOG_MAX) {
		memmove(net->datagrams, net->datagrams + net->datagram_first,
			kept * sizeof net->datagrams[0]);
		net->datagram_first = 0;
	}
	net->datagram_count = net->backlog_count = kept;
	net->datagrams_withheld = net->datagrams_unread = 0;
	if (kept > 1)
		backlog_arrange(net);
}

void
udp_release(struct net *net)
{
	const struct datagram *d = &net->datagrams[net->datagram_first];
	const uint32_t rest = net->datagrams_withheld + net->datagrams_unread;
	const uint32_t read = net->datagram_count - rest;

	for (uint32_t n = 0; n < read; n++)
		if (!d[n].answered)
			frame_defer_free(net, d[n].frame, d[n].start);
	if (likely(net->backlog_count == 0 && rest == 0))
		net->datagram_count = 0;
	else
		backlog_update(net, read);
	net->tx_credits = 0;
	if (net->reasm != NULL)
		reasm_release(net->reasm, &net->datagrams[net->datagram_first],
			      net->datagram_count);
}

/* Returns the largest payload of one datagram from a local address that fits every route. */
static uint32_t
datagram_max(const struct net *net, uint16_t local)
{
	return net->datagram_max + IPV4_HEADER_BYTES - ip_header_bytes(local);
}

struct datagram *
stack_datagrams(struct stack *s, uint32_t *count)
{
	struct net *net = stack_net(s);

	*count = net->datagram_count - net->datagrams_withheld;
	return &net->datagrams[net->datagram_first];
}

void
stack_datagrams_defer(struct stack *s, uint32_t first)
{
	struct net *net = stack_net(s);
	const uint32_t shown = net->datagram_count - net->datagrams_withheld;

	ensure(first <= shown);
	net->datagrams_unread = shown - first;
}

uint32_t
stack_udp_source(const struct stack *s, const struct udp_peer *from)
{
	return backlog_cell((const struct net *)s, &from->ip);
}

void
stack_datagrams_pass_over(struct stack *s, const uint64_t *waiting, bool first_stays)
{
	struct net *net = stack_net(s);

	net->sources_waiting = waiting;
	net->backlog_first_stays = first_stays;
}

uint8_t *
udp_reply_buffer(struct stack *s, struct datagram *d, uint32_t *room)
{
	/* Options, extension headers and the longer IPv6 header take room in the frame; the reply
	 * moves to the front later. No route is looked up: this much fits the MTU of every route,
	 * and a longer reply goes into fresh frames. */
	const uint32_t at = d->l4_offset + UDP_HEADER_BYTES;

	*room = stack_net(s)->reply_max - (at - UDP_PAYLOAD_AT);
	return d->start + at;
}

/* Writes the header at h, for the payload_len bytes after it. */
static inline void
udp_finish(struct net *net, struct udp_header *h, const struct udp_peer *to, struct ip_dest dest,
	   uint32_t payload_len)
{
	const uint16_t udp_len = (uint16_t)(UDP_HEADER_BYTES + payload_len);
	uint64_t sum = ip_pseudo_sum(net, dest, udp_len);

	udp_emit((uint8_t *)h, to->our_port, to->port, udp_len);
	if (net->udp_ol_flags != 0) {
		h->cksum = inet_sum_field(sum);
		return;
	}
	sum = inet_sum_be16(inet_sum_be16(sum, to->our_port), to->port);
	sum = inet_sum_be16(sum, udp_len);
	h->cksum = udp_cksum(inet_sum(sum, (uint8_t *)h + UDP_HEADER_BYTES, payload_len));
}

/* Replies to a request with IP options, over IPv6, or to an address other than our first IPv4
 * address. */
static __attribute__((noinline)) void
reply_in_place_any(struct net *net, struct datagram *d, uint32_t payload_len)
{
	const struct ip_dest dest = {&d->from.ip, d->from.local, IPV6_UDP};
	const struct ip_request from = {d->start, &d->from.ip, d->l4_offset, d->from.local};
	const bool v4 = local_is_v4(d->from.local);
	const uint32_t udp_len = UDP_HEADER_BYTES + payload_len;
	uint8_t *at;

	ensure(payload_len <= datagram_max(net, d->from.local));
	at = ip_reply_in_place(net, from, udp_len, IPV6_UDP);
	udp_finish(net, (struct udp_header *)at, &d->from, dest, payload_len);
	tx_queue_send_rx_frame(net, d->frame, d->start, (v4 ? L4_AT : L4_AT6) + udp_len,
			       net->udp_ol_flags | (v4 ? net->ip_ol_flags : 0), d->from.local);
}

/* Writes the template's headers, addressed to the sender of the request in the frame. */
static inline void
udp4_headers(const struct net *net, const struct datagram *d, uint8_t *frame, uint16_t udp_len)
{
	struct ipv4_header *ip = (struct ipv4_header *)(frame + ETH_HEADER_BYTES);
	struct udp_header *udp = (struct udp_header *)(frame + L4_AT);
	const uint32_t dst = load_u32(d->from.ip.b + IP_ADDR_V4_BITS / 8);
	const struct be32 ports = be32_of((uint32_t)d->from.our_port << 16 | d->from.port);
	uint64_t sum;

	/* Copying eight bytes takes fewer instructions than six; the template then overwrites the
	 * last two. */
	store_u64(frame, load_u64(frame + ETH_MAC_BYTES));
	memcpy(frame + TEMPLATE_AT, net->udp4_template, UDP4_TEMPLATE_BYTES);
	ip->total_len = be16_of((uint16_t)(IPV4_HEADER_BYTES + udp_len));
	memcpy(ip->dst.b, &dst, sizeof dst);
	if (net->ip_ol_flags == 0) {
		sum = inet_sum_be16(net->ip_sum + dst, IPV4_UDP);
		ip->cksum = inet_cksum(inet_sum_be16(sum, IPV4_HEADER_BYTES + udp_len));
	}
	memcpy(&udp->src_port, ports.b, sizeof ports); /* both ports */
	udp->len = be16_of(udp_len);
	if (likely(net->udp_ol_flags != 0)) {
		udp->cksum = inet_sum_field(inet_sum_be16(net->udp4_pseudo_sum + dst, udp_len));
		return;
	}
	/* The length is in the sum twice: in the pseudo header and in the UDP header. */
	sum = net->udp4_pseudo_sum + dst + load_u32(ports.b);
	sum = inet_sum_be16(inet_sum_be16(sum, udp_len), udp_len);
	udp->cksum = udp_cksum(inet_sum(sum, udp + 1, udp_len - UDP_HEADER_BYTES));
}

void
udp_reply_in_place(struct stack *s, struct datagram *d, uint32_t payload_len)
{
	struct net *net = stack_net(s);
	const uint32_t udp_len = UDP_HEADER_BYTES + payload_len;

	ensure(!d->answered && payload_len <= net->datagram_max);
	d->answered = true;
	net_count(net, UDP_ANSWERED);
	if (unlikely(d->from.local != LOCAL_V4 || d->l4_offset != L4_AT)) {
		reply_in_place_any(net, d, payload_len);
		return;
	}
	udp4_headers(net, d, d->start, (uint16_t)udp_len);
	tx_queue_send_rx_frame(net, d->frame, d->start, L4_AT + udp_len,
			       net->ip_ol_flags | net->udp_ol_flags, LOCAL_V4);
}

bool
udp_resolve(struct stack *s, struct udp_peer *to)
{
	static const uint8_t unknown[ETH_MAC_BYTES];

	to->local = local_addr_select(stack_net(s), &to->ip);
	if (to->local == LOCAL_NONE)
		return false;
	next_hop_mac(stack_net(s), (struct ip_dest){&to->ip, to->local, IPV4_UDP}, unknown,
		     to->mac);
	return memcmp(to->mac, unknown, ETH_MAC_BYTES) != 0;
}

uint8_t *
udp_begin(struct stack *s, const struct udp_peer *to, uint32_t *room)
{
	struct net *net = stack_net(s);
	uint8_t *p;

	if (tx_queue_room(net) <= TX_QUEUE_RESERVE)
		return NULL;
	p = ip_begin(net, to->mac, (struct ip_dest){&to->ip, to->local, IPV4_UDP});
	if (p == NULL)
		return NULL;
	/* udp_commit() sets the length. */
	udp_emit(p, to->our_port, to->port, 0);
	*room = route_mtu(net, &to->ip) - ip_header_bytes(to->local) - UDP_HEADER_BYTES;
	return p + UDP_HEADER_BYTES;
}

void
udp_commit(struct stack *s, uint32_t payload_len)
{
	struct net *net = stack_net(s);
	struct udp_header *h;

	if (payload_len == 0)
		return;
	ensure(payload_len <= datagram_max(net, net->begun_local));
	h = (struct udp_header *)(tx_queue_begun(net) + ETH_HEADER_BYTES +
				  ip_header_bytes(net->begun_local));
	h->len = be16_of((uint16_t)(UDP_HEADER_BYTES + payload_len));
	ip_commit(net, UDP_HEADER_BYTES + payload_len, UDP_CKSUM_OFFSET);
	net_count(net, UDP_SENT);
}
