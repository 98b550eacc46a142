/*
 * tcp_fast_path.c - the fast path: header prediction (Van Jacobson) for input, and replies of one
 * segment for output.
 *
 * Input: the next in-order segment of an open connection, which acknowledges all that was sent or
 * nothing new. Output: queued data that fits into one segment and all windows while nothing is in
 * flight. Everything else is refused before any state has changed, and takes the slow path
 * (tcp_in.c, tcp_out.c).
 *
 * Invariant: a segment that qualifies has the same effect on both paths. struct fast_path_rule
 * switches the fast path off; tests/sim/test_fast_path compares frames, times and counters.
 */
#include "tcp_fast_path.h"
#include "tcp_options.h"

#include "net/neigh_table.h"
#include "net/tx_queue.h"
#include "tcp_ack.h"
#include "wire/eth_wire.h"
#include "wire/ipv4_wire.h"

#define TCP_AT            (ETH_HEADER_BYTES + IPV4_HEADER_BYTES)
#define HEADER_TIMESTAMPS (TCP_HEADER_BYTES + TCP_TIMESTAMPS_BYTES)

/* Data offset and flags of a segment, in memory order; PSH is ignored. */
#define OFFSET_ACK(bytes) ((uint16_t)(TCP_ACK << 8 | (bytes) / 4 << 4))
#define OFFSET_MASK       ((uint16_t) ~(TCP_PSH << 8))

/* The options of a segment with timestamps, in memory order (RFC 7323 appendix A): NOP, NOP, kind
 * 8, length 10. */
#define TIMESTAMPS_LAYOUT 0x0a080101u

void
fast_path_init(struct tcp *t)
{
	const uint32_t disorder =
		CONN_DISORDER | CONN_PERSIST | CONN_RECOVERY | CONN_LOSS | CONN_QUICKACK;

	t->fast_path_in = (struct fast_path_rule){
		.mask = CONN_OPENED | CONN_CLOSE | CONN_PEER_FIN | CONN_EOF | CONN_WANT_WRITE |
			CONN_ECN | disorder,
		.want = CONN_OPENED,
	};
	t->fast_path_out = (struct fast_path_rule){
		.mask = CONN_SEND_SYN | CONN_CLOSE | CONN_WINDOW_PROBE | CONN_KEEPALIVE_PROBE |
			CONN_DSACK | CONN_PEER_FIN | CONN_PMTU_REDUCED | CONN_PMTU_BLACK_HOLE |
			CONN_TLP_DUE | CONN_ECT | CONN_ECE | CONN_CWR | disorder,
		.want = 0,
	};
}

/* ---- in ---- */

struct fast_seg {
	uint32_t seq, ack, ts_value;
	uint16_t window;
	struct view payload;
};

/* True if the segment belongs to c, has only ACK and PSH set and the negotiated timestamps, which
 * are not old, begins at rcv_nxt and lies inside the window. */
static inline __attribute__((always_inline)) bool
is_next(const struct conn *c, const struct l3_info *l3, const uint8_t *p, bool timestamps,
	struct fast_seg *seg)
{
	const struct tcp_header *h = (const struct tcp_header *)p;
	const uint32_t header = timestamps ? HEADER_TIMESTAMPS : TCP_HEADER_BYTES;

	if (unlikely(load_u32(p) != c->ports || !ip_addr_equal(&l3->src_ip, &c->peer_ip) ||
		     l3->local != c->local))
		return false;
	if (unlikely((load_u16(&h->data_offset) & OFFSET_MASK) != OFFSET_ACK(header) ||
		     l3->l4_len < header))
		return false;
	seg->seq = be32_get(h->seq);
	seg->ack = be32_get(h->ack);
	seg->window = be16_get(h->window);
	seg->payload = (struct view){p + header, l3->l4_len - header};
	seg->ts_value = 0;
	if (timestamps) {
		if (unlikely(load_u32(p + TCP_HEADER_BYTES) != TIMESTAMPS_LAYOUT))
			return false;
		seg->ts_value = __builtin_bswap32(load_u32(p + TCP_HEADER_BYTES + 4));
		if (unlikely(seq_before(seg->ts_value, c->ts_recent)))
			return false;
	}
	return seg->seq == c->rcv_nxt && seg->payload.len <= c->rcv_edge - c->rcv_nxt;
}

/* True if ack covers all data in flight and that is one range sent once. */
static inline bool
is_all_acked(const struct conn *c, uint32_t ack)
{
	const struct sent_range *range = &c->scoreboard.first;

	return c->scoreboard.count == 1 && range->end == ack && range->flags == 0 &&
	       c->snd_max == ack && !cwnd_is_limiting(c);
}

static inline void
all_acked(struct tcp *t, struct conn *c, uint32_t ack)
{
	c->scoreboard.count = 0;
	rtt_measure(t, c, c->scoreboard.first.sent_us);
	sendq_drop_all(&c->tx, &t->pool, ack - c->snd_una);
	c->snd_una = c->snd_nxt = ack;
	c->tries = c->backoff = 0;
	timer_main_off(c);
	if (c->tx.bytes > 0)
		conn_schedule_output(t, c);
}

/* ecn: the connection must have CONN_ECN; otherwise it must not. */
static inline __attribute__((always_inline)) bool
take(struct tcp *t, const struct classified *in, uint32_t i, bool ecn)
{
	const struct fast_path_rule *rule = &t->fast_path_in;
	struct conn *c = t->matched[i];
	const struct l3_info *l3 = &in->l3[i];
	uint8_t *p = in->rx.data[i];
	struct fast_seg seg;
	bool acks, timestamps;

	if (unlikely(c == NULL || (c->flags & rule->mask) != (rule->want | (ecn ? CONN_ECN : 0)) ||
		     c->state != CONN_ESTABLISHED || c->rx_dropped ||
		     ((uintptr_t)c->rx.head | (uintptr_t)c->rx.ooo_blocks) != 0 ||
		     t->frames.left == 0))
		return false;
	timestamps = c->flags & CONN_TS;
	/* Two instances, so that the header length is a constant in each. */
	if (likely(timestamps) ? !is_next(c, l3, p + l3->l4_offset, true, &seg)
			       : !is_next(c, l3, p + l3->l4_offset, false, &seg))
		return false;
	acks = seg.ack != c->snd_una;
	if (unlikely(acks ? !is_all_acked(c, seg.ack) : seg.payload.len == 0))
		return false;
	if (ecn && !ecn_fast_path(t, c, p, seg.ack))
		return false;
	snd_wnd_update(t, c, seg.seq, seg.ack, seg.window);
	if (acks)
		all_acked(t, c, seg.ack);
	if (timestamps && !seq_after(seg.seq, c->last_ack_sent))
		c->ts_recent = seg.ts_value;
	c->last_rx_ns = t->net.now_ns;
	c->keepalive_tries = 0;
	memcpy(c->peer_mac, p + ETH_MAC_BYTES, sizeof c->peer_mac);
	if (likely(seg.payload.len > 0))
		rx_enqueue_first(t, c, in->rx.frame[i], p, seg.payload);
	else
		frame_defer_free(&t->net, in->rx.frame[i], p);
	return true;
}

FLAT bool
fast_path_input(struct tcp *t, const struct classified *in, uint32_t i)
{
	return take(t, in, i, false);
}

__attribute__((noinline)) bool
fast_path_input_ecn(struct tcp *t, const struct classified *in, uint32_t i)
{
	return take(t, in, i, true);
}

/* ---- out ---- */

void
fast_path_output_begin(struct tcp *t)
{
	t->neigh_generation = neigh_generation_mt(t->net.neigh);
	t->hop_tick = (uint32_t)(t->net.now_ns >> PMTU_TICK_SHIFT) | t->hop_cache_off;
}

static __attribute__((noinline)) bool
hop_resolve(struct tcp *t, struct conn *c)
{
	uint64_t until_ns;
	uint8_t mac[6];

	if (!next_hop_reachable(&t->net, conn_dest(c), mac, &until_ns))
		return false;
	c->hop = (struct conn_hop){
		.first = hop_header(t, mac),
		.generation = t->neigh_generation,
		.until = (uint32_t)(until_ns >> PMTU_TICK_SHIFT),
	};
	return true;
}

bool
conn_hop_valid(struct tcp *t, struct conn *c)
{
	if (likely(c->hop.generation == t->neigh_generation && t->hop_tick < c->hop.until))
		return true;
	return hop_resolve(t, c);
}

static inline uint16_t
be16_word(uint32_t v)
{
	return __builtin_bswap16((uint16_t)v);
}

/* Fills the checksums of a finished header, or what the port's offload expects in their place. */
static inline void
put_cksums(const struct tcp *t, uint8_t *p, uint32_t src, uint32_t dst, uint32_t l4_len,
	   uint32_t ecn)
{
	const uint16_t ip_len = be16_word(IPV4_HEADER_BYTES + l4_len);
	const uint64_t pseudo = (uint64_t)src + dst + be16_word(IPV4_TCP) + be16_word(l4_len);
	struct ipv4_header *ip = (struct ipv4_header *)(p + ETH_HEADER_BYTES);
	struct tcp_header *tcp = (struct tcp_header *)(p + TCP_AT);

	if (unlikely(t->net.ip_ol_flags == 0))
		ip->cksum = inet_cksum(t->net.ip_sum_any + be16_word(IPV4_TCP) + ip_len + src +
				       dst + be16_word(ecn));
	if (likely(t->net.tcp_ol_flags != 0))
		tcp->cksum = inet_sum_field(pseudo);
	else
		tcp->cksum = inet_cksum(inet_sum(pseudo, p + TCP_AT, l4_len));
}

/* Writes Ethernet, IPv4 and TCP headers word by word, both checksums zero. Returns where the
 * payload goes. */
static inline __attribute__((always_inline)) uint8_t *
put_headers(struct tcp *t, struct conn *c, uint8_t *p, uint64_t first, uint32_t src,
	    const struct out_seg *what, bool timestamps)
{
	const uint32_t header = timestamps ? HEADER_TIMESTAMPS : TCP_HEADER_BYTES;
	uint8_t *tcp = p + TCP_AT;

	store_u64(p, first);
	/* The ECN field is in the last of these bytes. */
	store_u64(p + 8, t->net.fast.out_8 | (uint64_t)what->ecn << 56);
	store_u64(p + 16, t->net.fast.out_16 | be16_word(IPV4_HEADER_BYTES + header + what->len));
	store_u64(p + 24, (uint64_t)src << 16);
	store_u32(p + 30, load_u32(c->peer_ip.b + 12));
	store_u32(tcp, c->ports << 16 | c->ports >> 16);
	store_u32(tcp + 4, __builtin_bswap32(what->seq));
	store_u32(tcp + 8, __builtin_bswap32(c->rcv_nxt));
	store_u16(tcp + 12, (uint16_t)(header / 4 << 4 | what->flags << 8));
	store_u16(tcp + 14, __builtin_bswap16(advertise_window(t, c, what->flags)));
	store_u32(tcp + 16, 0);
	if (timestamps) {
		store_u32(tcp + TCP_HEADER_BYTES, TIMESTAMPS_LAYOUT);
		store_u32(tcp + TCP_HEADER_BYTES + 4, __builtin_bswap32(ts_now(t, c)));
		store_u32(tcp + TCP_HEADER_BYTES + 8, __builtin_bswap32(c->ts_recent));
	}
	return tcp + header;
}

/* The source of a segment: its address as it stands in the header, and its number. */
struct segment_source {
	uint32_t ip;
	uint16_t local;
};

static inline struct segment_source
segment_source_of(const struct tcp *t, const struct conn *c)
{
	return (struct segment_source){load_u32(t->net.ip[c->local].b + IP_ADDR_V4_BITS / 8),
				       c->local};
}

__attribute__((noinline)) bool
payload_lend(struct tcp *t, struct conn *c, uint32_t len)
{
	struct net *net = &t->net;
	const struct sendq_buf *buf = sendq_lendable(&c->tx, len);
	struct port_loan loan;

	if (buf == NULL || !lending_begin(&t->lending, buf->arg))
		return false;
	loan = (struct port_loan){
		.data = buf->data + c->tx.cursor_used,
		.len = len,
		.done = lending_end,
		.lender = &t->lending,
		.owner = buf->arg,
	};
	if (!net->port->ops->lend(net->port, net->frame_cache.frame[net->frame_cache.count - 1],
				  &loan)) {
		lending_end(&t->lending, buf->arg);
		return false;
	}
	sendq_skip(&c->tx, len);
	counter_add(&net->counters[TX_BYTES], len); /* net_tx() counts the frame's own */
	tcp_count(t, TCP_TX_LENT);
	return true;
}

/* Builds and queues the segment in the frame at p, which tx_queue_begin() returned. */
static inline __attribute__((always_inline)) void
segment(struct tcp *t, struct conn *c, uint8_t *p, uint64_t first, const struct out_seg *what,
	struct segment_source source, bool lends)
{
	const uint32_t src = source.ip;
	uint8_t *payload = likely(c->flags & CONN_TS)
				   ? put_headers(t, c, p, first, src, what, true)
				   : put_headers(t, c, p, first, src, what, false);
	const bool lent = lends && payload_lend(t, c, what->len);
	const uint32_t l4_len = (uint32_t)(payload - (p + TCP_AT)) + what->len;

	if (what->retransmit)
		sendq_copy_at(&c->tx, what->seq - c->snd_una, payload, what->len);
	else if (what->len > 0 && !lent)
		sendq_copy_last(&c->tx, payload, what->len);
	ensure(IPV4_HEADER_BYTES + l4_len <= t->net.port->mtu);
	put_cksums(t, p, src, load_u32(c->peer_ip.b + 12), l4_len, what->ecn);
	tx_queue_push_begun(&t->net, source.local, TCP_AT + l4_len - (lent ? what->len : 0),
			    t->net.ip_ol_flags | t->net.tcp_ol_flags | (lent ? FRAME_HAS_LOAN : 0));
}

bool
fast_path_segment(struct tcp *t, struct conn *c, uint64_t first, struct out_seg what)
{
	uint8_t *p = tx_queue_begin(&t->net);

	if (p == NULL) {
		tcp_count(t, TCP_TX_NO_ROOM);
		return false;
	}
	segment(t, c, p, first, &what, segment_source_of(t, c), false);
	return true;
}

bool
fast_path_segment_lent(struct tcp *t, struct conn *c, uint64_t first, struct out_seg what)
{
	uint8_t *p = tx_queue_begin(&t->net);

	if (p == NULL) {
		tcp_count(t, TCP_TX_NO_ROOM);
		return false;
	}
	segment(t, c, p, first, &what, segment_source_of(t, c), true);
	return true;
}

/* The connections that an instance of the fast path is for. */
struct reply_kind {
	bool first; /* to our first address; else to another IPv4 address */
	bool ect;   /* CONN_ECT */
};

static inline __attribute__((always_inline)) bool
is_open_of_kind(const struct conn *c, struct reply_kind kind)
{
	/* The state and other_local share a byte, so the compiler compares them at once. */
	return kind.first ? c->state == CONN_ESTABLISHED && !c->other_local
			  : c->state == CONN_ESTABLISHED && local_is_v4(c->local);
}

/* True if the queued data fits into one segment and all windows, and nothing is in flight. */
static inline __attribute__((always_inline)) bool
is_one_segment_reply(const struct tcp *t, const struct conn *c, struct reply_kind kind)
{
	const struct fast_path_rule *rule = &t->fast_path_out;
	const uint32_t len = c->tx.bytes;

	return (c->flags & rule->mask) == (rule->want | (kind.ect ? CONN_ECT : 0)) &&
	       is_open_of_kind(c, kind) && c->rx.ooo_blocks == NULL && c->snd_una == c->snd_max &&
	       len > 0 && len <= c->mss && len <= c->snd_wnd && len <= c->cwnd &&
	       /* RFC 5681 section 4.1: after an RTO of idle time cwnd has to shrink first. */
	       (c->cwnd <= INITIAL_CWND_SEGS * c->mss ||
		t->net.now_us - c->scoreboard.first.sent_us <= c->rto_us);
}

static inline __attribute__((always_inline)) bool
reply(struct tcp *t, struct conn *c, struct reply_kind kind)
{
	const uint32_t len = c->tx.bytes, seq = c->snd_nxt;
	const struct out_seg what = {
		.seq = seq,
		.len = len,
		.flags = TCP_ACK | TCP_PSH,
		.ecn = kind.ect ? IP_ECN_ECT0 : IP_ECN_NOT_ECT,
	};

	if (unlikely(!is_one_segment_reply(t, c, kind) || !conn_hop_valid(t, c)))
		return false;
	segment(t, c, tx_queue_begun(&t->net), c->hop.first, &what,
		kind.first ? (struct segment_source){t->net.fast.ip, LOCAL_V4}
			   : segment_source_of(t, c),
		false);
	tcp_count(t, TCP_TX_SEGMENTS);
	if (unlikely(len > PMTU_SAMPLE_MIN) && pmtu_tick(t) != c->pmtu_sample_tick)
		pmtu_sample(t, c, seq + len, len);
	c->snd_nxt = c->snd_max = seq + len;
	scoreboard_add_first(&c->scoreboard, seq, seq + len, t->net.now_us);
	c->flags &= ~CONN_CWND_LIMITED;
	if (c->main_at_ns == NEVER)
		timer_flight_one(t, c);
	return true;
}

bool
fast_path_output(struct tcp *t, struct conn *c)
{
	return reply(t, c, (struct reply_kind){.first = true});
}

__attribute__((noinline)) bool
fast_path_output_other(struct tcp *t, struct conn *c)
{
	return reply(t, c, (struct reply_kind){!c->other_local, (c->flags & CONN_ECT) != 0});
}
