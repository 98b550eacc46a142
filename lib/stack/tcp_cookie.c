/*
 * tcp_cookie.c - handshakes without state (SYN cookies, D. J. Bernstein 1996; RFC 4987 3.6).
 *
 * With the half-open table full a SYN is answered and forgotten: our sequence number holds all that
 * must be known when the peer acknowledges it. Only who received it can do that, so a forged source
 * costs a frame out for a frame in and nothing else.
 *
 * The number's low bits choose an MSS, the rest is a keyed function of the flow, the peer's number,
 * that choice and the time. A blind guess is right once in 2^28. Where the peer sends timestamps,
 * ours holds its window scale and whether it speaks SACK in its low bits, and comes back as its
 * echo; else neither is spoken.
 *
 * Beyond COOKIE_A_RATION a SYN is answered when it comes again (syn_memory.h): whoever means it is
 * served a second later, and a flood costs what it takes to receive it.
 *
 * Bounds: nothing is kept but when the last one went out; COOKIE_LIFE_NS later none is believed.
 */
#include "tcp.h"

#include "base/hash.h"

#define COOKIE_SHIFT   36u /* of a time step: 69 s */
#define COOKIE_STEPS   2u  /* this one and the one before */
#define COOKIE_LIFE_NS ((uint64_t)COOKIE_STEPS << COOKIE_SHIFT)
#define COOKIE_BITS    3u /* which MSS */

/* In our timestamp: the peer's window scale, and SACK. */
#define COOKIE_SCALE    0xfu
#define COOKIE_NO_SCALE 0xfu /* RFC 7323 section 2.3: no scale is above 14 */
#define COOKIE_SACK     0x10u
#define COOKIE_TS_MASK  0x1fu

/* What peers have: tiny ones, RFC 9293's default, IPv6's least, tunnels, Ethernet, jumbo frames. */
static const uint16_t cookie_mss[1u << COOKIE_BITS] = {CONN_MSS_MIN, 256,  536,  1220,
						       1400,         1440, 1460, 8960};

static uint32_t
cookie_number(const struct stack *s, const struct arrival *a, uint32_t peer_iss, uint64_t step,
	      uint32_t choice)
{
	struct {
		uint32_t flow[FLOW_KEY_WORDS];
		uint32_t peer_iss, choice;
		uint64_t step;
	} in = {.peer_iss = peer_iss, .choice = choice, .step = step};
	uint32_t out;

	flow_key(in.flow, flow_of_arrival(a));
	out = (uint32_t)prf_bytes(&in, sizeof in, &s->cfg.secret);
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

/* Our clock as its connection would tell it, with what the peer offers in place of its low bits;
 * not ahead of time, or what comes after would lie before it. */
static void
offer_by_timestamp(const struct stack *s, const struct arrival *a, struct tcp_options *opt)
{
	const struct tcp_options *syn = &a->seg.opt;
	const uint32_t scale = syn->seen & TCP_HAS_WSCALE ? syn->wscale : COOKIE_NO_SCALE;
	const uint32_t sack = syn->seen & TCP_HAS_SACK_PERMITTED ? COOKIE_SACK : 0;
	const uint32_t now = ts_clock(s) + flow_ts_offset(s, flow_of_arrival(a));

	opt->seen |= TCP_HAS_TIMESTAMPS | (syn->seen & (TCP_HAS_WSCALE | TCP_HAS_SACK_PERMITTED));
	opt->ts_value = (now & ~COOKIE_TS_MASK) | sack | scale;
	if (seq_after(opt->ts_value, now))
		opt->ts_value -= COOKIE_TS_MASK + 1;
	opt->ts_echo = syn->ts_value;
	opt->wscale = RX_WSCALE;
}

/* What the peer's SYN offered, from its echo of our timestamp. */
static void
recall_by_timestamp(const struct arrival *a, struct tcp_options *syn)
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

/*
 * An answer costs more than all else about a SYN, and a flood would have us send as many frames as
 * the port takes in. So new SYNs have a ration, and what goes beyond it must come again.
 */
bool
syn_put_off(struct stack *s, const struct arrival *a)
{
	uint32_t key[FLOW_KEY_WORDS + 1];

	if (s->cfg.syn_lines == 0 || ration_take(s, &s->tcp->cookies, COOKIE_A_RATION))
		return false;
	flow_key(key, flow_of_arrival(a));
	key[FLOW_KEY_WORDS] = a->seg.seq;
	if (syn_came_before(&s->tcp->syns, hash_bytes(key, sizeof key, s->cfg.seed), s->now_ns))
		return false;
	stack_count(s, TCP_SYNS_PUT_OFF);
	return true;
}

void
cookie_answer(struct stack *s, const struct arrival *a)
{
	const uint32_t choice = choose_mss(&a->seg.opt);
	const uint64_t step = s->now_ns >> COOKIE_SHIFT;
	struct tcp_seg seg = {
		.flags = TCP_SYN | TCP_ACK,
		.seq = cookie_number(s, a, a->seg.seq, step, choice),
		.ack = a->seg.seq + 1,
		.window = COOKIE_WINDOW,
		.opt = {.seen = TCP_HAS_MSS, .mss = (uint16_t)mss_ours(s, a->l3->local)},
	};

	if (a->seg.opt.seen & TCP_HAS_TIMESTAMPS && s->cfg.timestamps)
		offer_by_timestamp(s, a, &seg.opt);

	if (!out_stranger(s, a, &seg))
		return;
	s->tcp->cookie_ns = s->now_ns;
	stack_count(s, TCP_COOKIES_SENT);
}

static bool
is_cookie(const struct stack *s, const struct arrival *a, uint32_t number)
{
	const uint64_t step = s->now_ns >> COOKIE_SHIFT;
	const uint32_t choice = number & ((1u << COOKIE_BITS) - 1);
	bool match = false;

	for (uint32_t i = 0; i < COOKIE_STEPS && i <= step; i++)
		match |= cookie_number(s, a, a->seg.seq - 1, step - i, choice) == number;
	return match;
}

/* As it would stand in SYN-RECEIVED if the SYN had been kept. */
static void
restore(const struct stack *s, struct conn *c, const struct arrival *a)
{
	struct tcp_seg syn = {
		.opt = {.seen = TCP_HAS_MSS,
			.mss = cookie_mss[(a->seg.ack - 1) & ((1u << COOKIE_BITS) - 1)]},
	};

	if (a->seg.opt.seen & TCP_HAS_TIMESTAMPS && s->cfg.timestamps)
		recall_by_timestamp(a, &syn.opt);
	take_options(s, c, &syn);
	c->iss = c->snd_una = c->snd_wl2 = a->seg.ack - 1;
	c->snd_nxt = c->snd_max = a->seg.ack;
	c->snd_wl1 = a->seg.seq - 1;
	c->rcv_nxt = c->rcv_acked = a->seg.seq;
	c->rcv_edge = c->rcv_nxt + COOKIE_WINDOW;
	memcpy(c->peer_mac, a->src_mac, sizeof c->peer_mac);
}

static bool
may_be_out(const struct stack *s)
{
	const uint64_t last_ns = s->tcp->cookie_ns;

	return last_ns != 0 && s->now_ns - last_ns <= COOKIE_LIFE_NS;
}

struct conn *
cookie_redeem(struct stack *s, const struct arrival *a)
{
	const struct tcp *t = s->tcp;
	struct conn *c;

	if (!may_be_out(s))
		return NULL;
	if (a->seg.flags & TCP_SYN || a->seg.src_port == 0 || t->draining)
		return NULL;
	if (!is_cookie(s, a, a->seg.ack - 1)) {
		stack_count(s, TCP_COOKIES_BAD);
		return NULL;
	}
	c = conn_open(s, flow_of_arrival(a));
	if (c == NULL)
		return NULL;
	restore(s, c, a);
	stack_count(s, TCP_COOKIES_OPENED);
	return c;
}

struct conn *
cookie_instead(struct stack *s, struct conn *half_open, const struct arrival *a)
{
	const uint8_t flags = a->seg.flags & (TCP_ACK | TCP_SYN | TCP_RST);
	struct conn *c;

	if (flags != TCP_ACK || a->seg.ack == half_open->iss + 1 || !may_be_out(s) ||
	    half_open->flags & CONN_ACTIVE || !is_cookie(s, a, a->seg.ack - 1))
		return half_open;
	conn_free(s, half_open);
	c = cookie_redeem(s, a);
	if (c == NULL)
		out_reset_unknown(s, a);
	return c;
}
