#include "script_player.h"

#include "script_show.h"

/* ---- the peer ---- */

/* Returns the segment with the script's numbers converted to numbers of the wire. */
static struct script_seg
to_wire(struct player *p, const struct script_seg *st)
{
	struct script_flow *f = p->flow;
	struct script_seg seg = *st;
	struct script_options *o = &seg.opt;

	seg.src_port = f->port;
	seg.dst_port = p->to;
	seg.seq += PEER_ISS;
	seg.ack = seg.flags & FLAG_ACK ? seg.ack + f->iss : 0;
	for (uint32_t i = 0; i < o->sacks; i++) {
		o->sack[i][0] += f->iss;
		o->sack[i][1] += f->iss;
	}
	if (o->seen & OPT_TIMESTAMPS) {
		o->ts_value += PEER_TS;
		o->ts_echo += f->ts_base;
	} else if (!o->given && f->peer_ts && f->stack_ts) {
		const uint32_t ms = (uint32_t)((p->ss->now_ns - p->start_ns) / NS_A_MS);

		o->seen |= OPT_TIMESTAMPS;
		o->ts_value = seq_after(PEER_TS + ms, f->ts_sent) ? PEER_TS + ms : f->ts_sent;
		o->ts_echo = f->ts_seen;
	}
	if (o->seen & OPT_TIMESTAMPS && (!f->peer_ts || seq_after(o->ts_value, f->ts_sent)))
		f->ts_sent = o->ts_value;
	return seg;
}

static bool
feed(struct player *p, const uint8_t *frame, uint32_t len)
{
	uint8_t *to = mem_port_feed(p->ss->port, len, 0);

	ensure(to != NULL);
	memcpy(to, frame, len);
	return true;
}

void
peer_send(struct player *p, const struct script_step *st)
{
	struct script_flow *f = p->flow;
	uint8_t text[MEM_FRAME_BYTES], frame[MEM_FRAME_BYTES];
	struct script_seg next = st->seg;

	if (next.flags & FLAG_SYN) {
		f->syn = next.seq;
		f->peer_ts = false;
	}
	f->acked |= (next.flags & FLAG_ACK) != 0;
	for (uint32_t i = 0; i < st->times; i++) {
		const struct script_seg seg = to_wire(p, &next);
		const uint32_t first = next.seq - f->syn - !(next.flags & FLAG_SYN);

		for (uint32_t k = 0; k < seg.len; k++)
			text[k] = text_at(first + k, 0) ^ (seg.other_text ? 0xff : 0);
		feed(p, frame, script_frame_write(frame, &p->ends, &seg, text));
		next.seq += next.len;
	}
	if (next.flags & FLAG_SYN)
		f->peer_ts = next.opt.seen & OPT_TIMESTAMPS;
}

void
peer_send_ask(struct player *p)
{
	uint8_t frame[MEM_FRAME_BYTES];

	feed(p, frame, script_frame_ask(frame, &p->ends));
}

void
peer_send_icmp(struct player *p, const struct script_step *st)
{
	const struct script_seg quoted = {
		.src_port = SIM_PORT,
		.dst_port = p->flow->port,
		.seq = p->flow->iss + (uint32_t)st->seq,
		.len = p->script->mtu - p->header_bytes,
	};
	struct script_icmp what = {
		.router = p->ends.src,
		.type = (uint8_t)(st->which >> 8),
		.code = (uint8_t)st->which,
		.mtu = (uint32_t)st->number,
	};
	uint8_t frame[MEM_FRAME_BYTES];

	what.router.b[15] = ROUTER_BYTE;
	feed(p, frame, script_frame_icmp(frame, &p->ends, &what, &quoted));
}

/* ---- segments from the stack ---- */

/* Reads the next TCP segment; it stays until sent_done. False if none was sent. */
static bool
sent_next(struct player *p, struct script_seg *seg)
{
	struct script_ends ends;
	const uint8_t *frame;
	const char *wrong;
	uint32_t len;

	while ((frame = mem_port_sent(p->ss->port, &len)) != NULL) {
		const bool tcp = script_frame_read(seg, &ends, frame, len, &wrong);

		if (wrong != NULL)
			differs(p, "expected a whole frame, got %s", wrong);
		else if (tcp && !(ip_addr_equal(&ends.src, &p->ends.dst) &&
				  ip_addr_equal(&ends.dst, &p->ends.src)))
			differs(p, "expected a frame to the peer, got one to another address");
		if (tcp)
			return true;
		mem_port_done(p->ss->port); /* a neighbour solicitation */
	}
	return false;
}

/* Converts numbers of the wire to numbers of the script, and learns the stack's initial numbers. */
static void
from_wire(struct player *p, struct script_seg *seg)
{
	struct script_flow *f = p->flow;
	struct script_options *o = &seg->opt;

	if (seg->flags & FLAG_SYN) {
		f->iss = seg->seq;
		f->stack_ts = o->seen & OPT_TIMESTAMPS;
		f->ts_base = f->stack_ts && !f->talked ? o->ts_value : f->ts_base;
	}
	if (o->seen & OPT_TIMESTAMPS) {
		f->ts_seen = o->ts_value;
		o->ts_value -= f->ts_base;
		/* RFC 7323 section 3.2: without ACK the echo is zero, not a number of the peer's */
		o->ts_echo -= seg->flags & FLAG_ACK ? PEER_TS : 0;
	}
	for (uint32_t i = 0; i < o->sacks; i++) {
		o->sack[i][0] -= PEER_ISS;
		o->sack[i][1] -= PEER_ISS;
	}
	if (!(seg->flags & FLAG_RST)) {
		f->talked = true;
		f->high = seg->seq + seg->len + !!(seg->flags & FLAG_FIN);
	}
	seg->seq -= f->iss;
	seg->ack -= seg->flags & FLAG_ACK ? PEER_ISS : seg->ack;
}

static bool
same_options(const struct script_options *want, const struct script_options *got)
{
	if (!want->given)
		return true;
	if (want->seen != got->seen || want->mss != got->mss || want->wscale != got->wscale ||
	    want->sacks != got->sacks)
		return false;
	if (!want->any_value && want->ts_value != got->ts_value)
		return false;
	if (!want->any_echo && want->ts_echo != got->ts_echo)
		return false;
	return memcmp(want->sack, got->sack, want->sacks * sizeof *want->sack) == 0;
}

static bool
same_text(const struct script_seg *got)
{
	for (uint32_t i = 0; i < got->len; i++)
		if (got->text[i] != text_at(got->seq - 1 + i, 1))
			return false;
	return true;
}

/* Checks a SYN: it has the MSS of our MTU, and a flow that is opened again starts above its old
 * numbers if the peer has acknowledged any of these. */
static bool
check_syn(struct player *p, const struct script_seg *want, const struct script_seg *got)
{
	const struct script_flow *f = p->flow;

	if (f->talked && f->acked && seq_before(got->seq, f->high))
		return differs(p, "expected a SYN above the flow's old numbers, got one %u below",
			       f->high - got->seq);
	if (want->opt.given)
		return true;
	if (!(got->opt.seen & OPT_MSS))
		return differs(p, "expected a SYN with MSS, got one without");
	return expect(p, "mss", p->script->mtu - p->header_bytes, got->opt.mss);
}

static bool
expect_out(struct player *p, const struct script_seg *want)
{
	char wanted[SHOW_BYTES], sent[SHOW_BYTES];
	struct script_seg got;

	script_show(wanted, want, want);
	if (!sent_next(p, &got))
		return differs(p, "expected out %s, got silence", wanted);
	if (got.flags & FLAG_SYN && !check_syn(p, want, &got))
		return false;
	from_wire(p, &got);
	script_show(sent, &got, want);
	if (got.dst_port != p->flow->port || got.src_port != p->to)
		return differs(p, "expected out from %u to %u, got %u to %u", p->to, p->flow->port,
			       got.src_port, got.dst_port);
	if (got.flags != want->flags || got.ecn != want->ecn || got.seq != want->seq ||
	    got.len != want->len || got.ack != want->ack ||
	    (want->window_given && got.window != want->window) ||
	    !same_options(&want->opt, &got.opt))
		return differs(p, "expected out %s, got out %s", wanted, sent);
	if (!same_text(&got))
		return differs(p, "expected the text of out %s, got other bytes", wanted);
	mem_port_done(p->ss->port);
	return !p->failed;
}

bool
peer_expect(struct player *p, const struct script_step *st)
{
	struct script_seg want = st->seg;

	for (uint32_t i = 0; i < st->times; i++) {
		if (!expect_out(p, &want))
			return false;
		want.seq += want.len;
	}
	return true;
}

bool
peer_expect_silence(struct player *p)
{
	char sent[SHOW_BYTES];
	struct script_seg got;

	if (!sent_next(p, &got))
		return !p->failed;
	from_wire(p, &got);
	script_show(sent, &got, NULL);
	return differs(p, "expected silence before this, got out %s", sent);
}
