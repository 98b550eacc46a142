/*
 * tcp_cookie.c - SYN cookies (D. J. Bernstein 1996; RFC 4987 section 3.6), and the SYNs that an
 * overloaded core defers.
 *
 * Cookie: while the half-open table is full, a SYN is answered and no state is kept. The SYN-ACK's
 * sequence number is a keyed hash of the flow, the peer's sequence number, an MSS index and the
 * time; its low bits are the MSS index. A blind guess is right once in 2^28. With timestamps, the
 * low bits of ours carry the peer's window scale, SACK-permitted and ECN, and return in its echo.
 * Without timestamps these options are not used. A spoofed source costs one frame out for one frame
 * in.
 *
 * Deferral: a core that keeps up answers every SYN. An overloaded core answers SYN_ANSWERS_MIN in
 * SYN_INTERVAL_NS, and beyond that only retransmissions (syn_history.h), so that a real client is
 * served a second later. A SYN for which the SYN history has no room is answered at once: recording
 * it would cost as much and help no client.
 *
 * Bounds: the only state is the time of the last cookie; COOKIE_LIFE_NS later no cookie is
 *         accepted. In SYN_INTERVAL_NS at most syn_history_budget() entries are written.
 */
#include "tcp.h"
#include "tcp_options.h"

#include "base/hash.h"

#define COOKIE_SHIFT   36u /* length of a time step: 69 s */
#define COOKIE_STEPS   2u  /* the current step and the previous one are accepted */
#define COOKIE_LIFE_NS ((uint64_t)COOKIE_STEPS << COOKIE_SHIFT)
#define COOKIE_BITS    3u /* index of the MSS */

/* Limits of answers to first SYNs in an interval: at least 20,000 a second under any load, at most
 * what a link can deliver. The interval is short so that the minimum is not sent in bursts. */
#define SYN_INTERVAL_NS 1000000ull
#define SYN_ANSWERS_MIN 20u
#define SYN_ANSWERS_MAX (1u << 16)
#define SYN_UNUSED_NS   (10 * NS_PER_MS) /* seldom is a turn or a sleep longer; 200 answers */
/* For this long after an overload the core stays at the minimum, since each attempt to answer more
 * delays established connections. */
#define SYN_HOLD_NS 4000000000ull
/* Mean frames a turn below which the core keeps up with its port. Bursts grow as 1 / (1 - load): at
 * 2 million frames a second to 4 at a load of 85 %, to 64 at 99 %. */
#define BURST_LIGHT_LOAD 4u

/* Low bits of our timestamp: the peer's window scale, SACK, and ECN. */
#define COOKIE_SCALE    0xfu
#define COOKIE_NO_SCALE 0xfu /* RFC 7323 section 2.3: no scale is above 14 */
#define COOKIE_SACK     0x10u
#define COOKIE_ECN      0x20u
#define COOKIE_TS_MASK  0x3fu

/* Common values: small, RFC 9293's default, IPv6's minimum, tunnels, Ethernet, jumbo frames. */
static const uint16_t cookie_mss[1u << COOKIE_BITS] = {CONN_MSS_MIN, 256,  536,  1220,
						       1400,         1440, 1460, 8960};

static uint32_t
cookie_make(const struct tcp *t, const struct arrival *a, uint32_t peer_iss, uint64_t step,
	    uint32_t choice)
{
	struct {
		uint32_t flow[FLOW_KEY_WORDS];
		uint32_t peer_iss, choice;
		uint64_t step;
	} in = {.peer_iss = peer_iss, .choice = choice, .step = step};
	uint32_t out;

	flow_key(in.flow, flow_of_arrival(a));
	out = (uint32_t)prf_bytes(&in, sizeof in, &t->cfg.secret);
	return (out << COOKIE_BITS) | choice;
}

static uint32_t
choose_mss(const struct tcp_options *opt)
{
	const uint16_t mss = opt->seen & TCP_HAS_MSS ? opt->mss : TCP_MSS_DEFAULT;
	uint32_t choice = 0;

	while (choice + 1 < 1u << COOKIE_BITS && cookie_mss[choice + 1] <= mss)
		choice++;
	return choice;
}

/* Writes the timestamp that the connection would send, with the peer's options in its low bits. It
 * is never ahead of the clock, because later timestamps would then be older. */
static void
cookie_timestamp_encode(const struct tcp *t, const struct arrival *a, struct tcp_seg *seg)
{
	struct tcp_options *opt = &seg->opt;
	const struct tcp_options *syn = &a->seg.opt;
	const uint32_t scale = syn->seen & TCP_HAS_WSCALE ? syn->wscale : COOKIE_NO_SCALE;
	const uint32_t sack = syn->seen & TCP_HAS_SACK_PERMITTED ? COOKIE_SACK : 0;
	const uint32_t ecn = ecn_syn_is_taken(t, a) ? COOKIE_ECN : 0;
	const uint32_t now = ts_clock(t) + flow_ts_offset(t, flow_of_arrival(a));

	opt->seen |= TCP_HAS_TIMESTAMPS | (syn->seen & (TCP_HAS_WSCALE | TCP_HAS_SACK_PERMITTED));
	seg->flags |= ecn != 0 ? TCP_ECE : 0;
	opt->ts_value = (now & ~COOKIE_TS_MASK) | ecn | sack | scale;
	if (seq_after(opt->ts_value, now))
		opt->ts_value -= COOKIE_TS_MASK + 1;
	opt->ts_echo = syn->ts_value;
	opt->wscale = (uint8_t)t->rcv_autotune.wscale;
}

/* Restores the options of the peer's SYN from its echo of our timestamp. */
static void
cookie_timestamp_decode(const struct arrival *a, struct tcp_options *syn)
{
	const uint32_t echo = a->seg.opt.ts_echo;

	syn->seen |= TCP_HAS_TIMESTAMPS;
	syn->ts_value = a->seg.opt.ts_value;
	if ((echo & COOKIE_SCALE) != COOKIE_NO_SCALE) {
		syn->seen |= TCP_HAS_WSCALE;
		syn->wscale = (uint8_t)min_u32(echo & COOKIE_SCALE, TCP_WSCALE_MAX);
	}
	if (echo & COOKIE_SACK)
		syn->seen |= TCP_HAS_SACK_PERMITTED;
}

/* True if turns of this interval took more frames than those of a core that keeps up. */
static bool
is_overloaded(const struct tcp *t, const struct syn_budget *r)
{
	const uint64_t frames = counter_read(&t->net.counters[RX_FRAMES]) - r->frames;

	return frames > BURST_MAX + BURST_LIGHT_LOAD * (t->turns - r->turns);
}

/* Begins a new interval: the limit doubles in each, and falls to the minimum for SYN_HOLD_NS after
 * an overload. */
static void
syn_budget_renew(struct tcp *t, struct syn_budget *r)
{
	const uint64_t lasts_ns = t->net.now_ns - r->since_ns;

	/* The mean of a long interval says nothing about the present load. */
	if (lasts_ns < 2 * SYN_INTERVAL_NS && is_overloaded(t, r)) {
		r->answers_max = SYN_ANSWERS_MIN;
		r->hold_ns = t->net.now_ns + SYN_HOLD_NS;
	}
	if (lasts_ns < SYN_INTERVAL_NS)
		return;
	if (t->net.now_ns >= r->hold_ns)
		r->answers_max = min_u32(2 * r->answers_max, SYN_ANSWERS_MAX);
	r->answers_max = max_u32(r->answers_max, SYN_ANSWERS_MIN);
	r->since_ns = t->net.now_ns;
	r->frames = counter_read(&t->net.counters[RX_FRAMES]);
	r->turns = t->turns;
	r->deferred = 0;
}

/* True if one more first SYN may be answered. Answers are spread evenly. A long turn has its SYNs
 * in one burst, so up to SYN_UNUSED_NS without answers are carried over. */
static bool
syn_answer_now(const struct tcp *t, struct syn_budget *r)
{
	const uint64_t now_ns = t->net.now_ns;

	if (r->answered_ns > now_ns)
		return false;
	if (now_ns - r->answered_ns > SYN_UNUSED_NS)
		r->answered_ns = now_ns - SYN_UNUSED_NS;
	r->answered_ns += SYN_INTERVAL_NS / max_u32(r->answers_max, SYN_ANSWERS_MIN);
	return true;
}

bool
syn_defer(struct tcp *t, const struct arrival *a)
{
	struct syn_budget *r = &t->syn_budget;
	uint32_t key[FLOW_KEY_WORDS + 1];

	syn_budget_renew(t, r);
	if (syn_answer_now(t, r))
		return false;
	if (r->deferred >= syn_history_budget(t->cfg.syn_lines, SYN_INTERVAL_NS))
		return false;
	flow_key(key, flow_of_arrival(a));
	key[FLOW_KEY_WORDS] = a->seg.seq;
	if (syn_seen_before(&t->syns, hash_bytes(key, sizeof key, t->net.cfg.seed), t->net.now_ns))
		return false;
	r->deferred++;
	tcp_count(t, TCP_SYNS_DEFERRED);
	return true;
}

void
cookie_answer(struct tcp *t, const struct arrival *a)
{
	const uint32_t choice = choose_mss(&a->seg.opt);
	const uint64_t step = t->net.now_ns >> COOKIE_SHIFT;
	struct tcp_seg seg = {
		.flags = TCP_SYN | TCP_ACK,
		.seq = cookie_make(t, a, a->seg.seq, step, choice),
		.ack = a->seg.seq + 1,
		.window = (uint16_t)syn_window(t, a->l3->local),
		.opt = {.seen = TCP_HAS_MSS,
			.mss = (uint16_t)mss_of_route(t, &a->l3->src_ip, a->l3->local)},
	};

	if (a->seg.opt.seen & TCP_HAS_TIMESTAMPS && t->cfg.timestamps)
		cookie_timestamp_encode(t, a, &seg);

	if (!out_stateless(t, a, &seg))
		return;
	t->cookie_ns = t->net.now_ns;
	tcp_count(t, TCP_COOKIES_SENT);
}

static bool
is_cookie(const struct tcp *t, const struct arrival *a, uint32_t number)
{
	const uint64_t step = t->net.now_ns >> COOKIE_SHIFT;
	const uint32_t choice = number & ((1u << COOKIE_BITS) - 1);
	bool match = false;

	for (uint32_t i = 0; i < COOKIE_STEPS && i <= step; i++)
		match |= cookie_make(t, a, a->seg.seq - 1, step - i, choice) == number;
	return match;
}

/* Restores the state of SYN-RECEIVED as if the SYN had been kept. */
static void
cookie_restore(const struct tcp *t, struct conn *c, const struct arrival *a)
{
	struct tcp_seg syn = {
		.opt = {.seen = TCP_HAS_MSS,
			.mss = cookie_mss[(a->seg.ack - 1) & ((1u << COOKIE_BITS) - 1)]},
	};

	if (a->seg.opt.seen & TCP_HAS_TIMESTAMPS && t->cfg.timestamps)
		cookie_timestamp_decode(a, &syn.opt);
	process_syn_options(t, c, &syn);
	c->flags |=
		syn.opt.seen & TCP_HAS_TIMESTAMPS && a->seg.opt.ts_echo & COOKIE_ECN ? CONN_ECN : 0;
	c->iss = c->snd_una = c->snd_wl2 = a->seg.ack - 1;
	c->snd_nxt = c->snd_max = a->seg.ack;
	c->snd_wl1 = a->seg.seq - 1;
	c->rcv_nxt = c->last_ack_sent = a->seg.seq;
	c->rcv_edge = c->rcv_nxt + syn_window(t, c->local);
	memcpy(c->peer_mac, a->src_mac, sizeof c->peer_mac);
}

static bool
cookies_outstanding(const struct tcp *t)
{
	const uint64_t last_ns = t->cookie_ns;

	return last_ns != 0 && t->net.now_ns - last_ns <= COOKIE_LIFE_NS;
}

struct conn *
cookie_open(struct tcp *t, const struct arrival *a)
{
	struct conn *c;

	if (!cookies_outstanding(t))
		return NULL;
	if (a->seg.flags & TCP_SYN || a->seg.src_port == 0 || t->draining)
		return NULL;
	if (!is_cookie(t, a, a->seg.ack - 1)) {
		tcp_count(t, TCP_COOKIES_BAD);
		return NULL;
	}
	c = conn_open(t, flow_of_arrival(a));
	if (c == NULL)
		return NULL;
	cookie_restore(t, c, a);
	tcp_count(t, TCP_COOKIES_OPENED);
	return c;
}

/* True for a SYN outside the half-open connection's window: the peer has restarted, or the
 * half-open connection is spoofed. tcp_in.c handles a SYN inside the window. */
static bool
is_another_syn(const struct tcp *t, const struct conn *half_open, const struct tcp_seg *seg)
{
	const uint32_t window = max_u32(half_open->rcv_edge - half_open->rcv_nxt, 1);

	return (seg->flags & (TCP_ACK | TCP_SYN | TCP_RST | TCP_FIN)) == TCP_SYN &&
	       !(half_open->flags & CONN_ACTIVE) && !t->draining &&
	       seg->seq + 1 != half_open->rcv_nxt && seg->seq - half_open->rcv_nxt >= window;
}

struct conn *
cookie_replace_half_open(struct tcp *t, struct conn *half_open, const struct arrival *a)
{
	const uint8_t flags = a->seg.flags & (TCP_ACK | TCP_SYN | TCP_RST);
	struct conn *c;

	if (is_another_syn(t, half_open, &a->seg)) {
		if (!syn_defer(t, a))
			cookie_answer(t, a);
		return NULL;
	}
	if (flags != TCP_ACK || a->seg.ack == half_open->iss + 1 || !cookies_outstanding(t) ||
	    half_open->flags & CONN_ACTIVE || !is_cookie(t, a, a->seg.ack - 1))
		return half_open;
	conn_free(t, half_open);
	c = cookie_open(t, a);
	if (c == NULL)
		out_stateless_rst(t, a);
	return c;
}
