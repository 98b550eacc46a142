/*
 * tcp_mtu.c - how long a segment the path takes: what routers say (RFC 1191, RFC 8201), and what
 * their silence says (black holes, in the spirit of RFC 4821).
 *
 * Anybody can send an ICMP message: it is believed only if it quotes a sequence number that is on
 * its way (RFC 5927 section 4.1), and never below a floor. What is on its way is cut anew and sent
 * again at once; that it was lost says nothing about congestion, so the window stays.
 *
 * A router may drop long packets and not say so. The rule: when the first segment on its way has
 * timed out twice in a row, is longer than BLACK_HOLE_MSS, and the peer has not SACKed as much
 * behind it, segments fall to that length; after two more timeouts to the floor, if it is longer
 * than that; after two more they are full again, for then it was not their length. Once shorter
 * ones get through, full ones are tried again after BLACK_HOLE_RETRY_S; if those are lost again
 * too before BLACK_HOLE_PROOF of them were acknowledged, after MTU_LIFE_S, as after an ICMP message
 * (RFC 1191 section 6.3).
 */
#include "tcp.h"

#define MTU_FLOOR_V4        552u /* below it nothing works but attacks; RFC 879's 576 and a tunnel */
#define MTU_FLOOR_V6        1280u /* RFC 8200 section 5: every link takes that */
#define MTU_LIFE_S          600u
#define BLACK_HOLE_MSS      1024u /* RFC 4821 section 7.2 */
#define BLACK_HOLE_TIMEOUTS 2u    /* in a row, for each step */
#define BLACK_HOLE_RETRY_S  5u
#define BLACK_HOLE_PROOF    8u /* segments' worth */

static uint32_t
now_s(const struct stack *s)
{
	return (uint32_t)(s->now_ns / (1000 * NS_PER_MS));
}

static bool
is_v4(const struct conn *c)
{
	return ip_addr_is_v4(&c->peer_ip);
}

static uint32_t
header_bytes(const struct conn *c)
{
	return (is_v4(c) ? 20 : 40) + TCP_HEADER_BYTES;
}

static uint32_t
mss_floor(const struct conn *c)
{
	return (is_v4(c) ? MTU_FLOOR_V4 : MTU_FLOOR_V6) - header_bytes(c);
}

/* RFC 1191 section 7: a router that does not know its next hop's MTU says 0; the next lower one
 * that links have. */
static uint32_t
plateau_below(uint32_t mtu)
{
	static const uint16_t plateaus[] = {8166, 4352, 2002, 1492, 1006, MTU_FLOOR_V4};

	for (size_t i = 0; i < sizeof plateaus / sizeof plateaus[0]; i++)
		if (plateaus[i] < mtu)
			return plateaus[i];
	return MTU_FLOOR_V4;
}

static void
lower(struct stack *s, struct conn *c, uint32_t path_mss, uint32_t life_s)
{
	c->path_mss = (uint16_t)path_mss;
	c->mtu_at_s = now_s(s) + life_s;
	c->flags |= CONN_MTU_LOW;
	mss_update(c);
}

/* What was cut for the old length must be cut anew; a window below one segment would keep all of
 * it back. */
static void
raise(struct stack *s, struct conn *c)
{
	c->path_mss = (uint16_t)mss_ours(s, (uint8_t)c->local);
	c->flags &= ~(CONN_MTU_LOW | CONN_MTU_HOLE);
	mss_update(c);
	c->mtu_raised = c->snd_una;
	c->cwnd = max_u32(c->cwnd, c->mss);
	stack_count(s, TCP_MTU_RAISED);
}

bool
tcp_path_mtu(struct stack *s, struct flow flow, uint32_t seq, uint32_t mtu)
{
	struct conn *c = flow_find(s, flow);
	uint32_t path_mss;

	if (c == NULL || c->state < CONN_ESTABLISHED || c->state == CONN_TIME_WAIT ||
	    seq - c->snd_una >= c->snd_max - c->snd_una) {
		stack_count(s, TCP_MTU_STRAY);
		return false;
	}
	if (mtu == 0 && is_v4(c))
		mtu = plateau_below(c->path_mss + header_bytes(c));
	path_mss = mtu > header_bytes(c) ? mtu - header_bytes(c) : 0;
	/* RFC 8201 section 4: what says less than IPv6's least is not believed at all. */
	if (is_v4(c))
		path_mss = max_u32(path_mss, mss_floor(c));
	if (path_mss < mss_floor(c) || path_mss >= c->path_mss) {
		stack_count(s, TCP_MTU_NO_NEWS);
		return true;
	}
	stack_count(s, TCP_MTU_LOWERED);
	c->flags &= ~CONN_MTU_HOLE;
	lower(s, c, path_mss, MTU_LIFE_S);
	loss_path_shrank(s, c);
	return true;
}

static uint32_t
hole_life_s(const struct conn *c)
{
	return c->mtu_falls <= 1 ? BLACK_HOLE_RETRY_S : MTU_LIFE_S;
}

static void
fall(struct stack *s, struct conn *c, uint32_t path_mss)
{
	const uint32_t len =
		min_u32(min_u32(c->tx.bytes, c->snd_max - c->snd_una), (uint32_t)c->mss);

	if (len + conn_option_bytes(c) <= path_mss || c->sent.sacked >= len)
		return;
	if (!(c->flags & (CONN_MTU_HOLE | CONN_MTU_LOW)) &&
	    c->snd_una - c->mtu_raised >= BLACK_HOLE_PROOF * c->mss)
		c->mtu_falls = 0; /* full ones got through: the last time it was not their length */
	if (!(c->flags & CONN_MTU_HOLE)) {
		c->mtu_falls += c->mtu_falls < UINT8_MAX;
		stack_count(s, TCP_MTU_BLACK_HOLES);
	}
	c->flags |= CONN_MTU_HOLE;
	lower(s, c, path_mss, hole_life_s(c));
}

void
mtu_timeout(struct stack *s, struct conn *c)
{
	switch (c->tries) {
	case 1:
		c->flags &= ~CONN_MTU_HOLE; /* what was lost then has been acknowledged */
		return;
	case BLACK_HOLE_TIMEOUTS:
		fall(s, c, max_u32(BLACK_HOLE_MSS + conn_option_bytes(c), mss_floor(c)));
		return;
	case 2 * BLACK_HOLE_TIMEOUTS:
		fall(s, c, mss_floor(c));
		return;
	case 3 * BLACK_HOLE_TIMEOUTS:
		if (c->flags & CONN_MTU_HOLE)
			raise(s, c);
		return;
	default:
		return;
	}
}

void
mtu_look(struct stack *s, struct conn *c)
{
	if (c->tries > 0)
		return;
	if (c->flags & CONN_MTU_HOLE) {
		/* The first that got through: the time is counted from here. */
		c->flags &= ~CONN_MTU_HOLE;
		c->mtu_at_s = now_s(s) + hole_life_s(c);
	}
	if (now_s(s) >= c->mtu_at_s)
		raise(s, c);
}
