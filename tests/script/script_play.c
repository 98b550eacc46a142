#include "script.h"

#include "script_show.h"

#include "base/check.h"
#include "stack/tcp.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define PEER_IP      (SIM_PEERS + 5)
#define PEER_PORT    40000u
#define PEER_ISS     0xfffff000u /* so that every script crosses the wrap of sequence numbers */
#define PEER_TS      0xffffff00u /* likewise of time stamps */
#define PORT_FRAMES  2048u
#define FLOWS_MAX    16u
#define TURN_NS      1000u
#define NS_A_MS      1000000u
#define IP_TCP_BYTES 40u
#define END_SECONDS  600u /* after so long nothing of a script is left */

/* One port of the peer. */
struct flow {
	uint16_t port;
	struct conn *conn;
	uint32_t iss;     /* of the stack */
	uint32_t syn;     /* the peer's last SYN, relative: its text starts behind it */
	uint32_t high;    /* the end of what the stack sent; talked: it sent any */
	uint32_t read;    /* bytes of the peer's stream */
	uint32_t written; /* bytes of ours */
	uint32_t ts_base; /* the first TSval of the stack */
	uint32_t ts_seen; /* its last */
	uint32_t ts_sent; /* the peer's last */
	bool talked, peer_ts, stack_ts;
};

struct player {
	const struct script *script;
	const struct script_step *step; /* being played: for messages */
	struct sim_stack *ss;
	struct flow flows[FLOWS_MAX];
	uint32_t flow_count;
	struct flow *flow; /* that speaks now */
	uint64_t start_ns;
	uint32_t opened, gone;
	bool reading, failed;
	char *error;
};

const char *const script_states[] = {"CLOSED",     "SYN-RECEIVED", "ESTABLISHED",
				     "FIN-WAIT-1", "FIN-WAIT-2",   "CLOSE-WAIT",
				     "CLOSING",    "LAST-ACK",     "TIME-WAIT"};
static_assert(sizeof script_states / sizeof *script_states == SCRIPT_STATES &&
		      CONN_TIME_WAIT == SCRIPT_STATES - 1,
	      "one name for each of enum conn_state");

/* Each stream is a fixed text, so that a byte in the wrong place is seen. */
static uint8_t
text_at(uint32_t offset, uint32_t side)
{
	return (uint8_t)(offset * 31 + (offset >> 8) * 7 + side * 101);
}

/* The first thing that differs; false. */
static bool __attribute__((format(printf, 2, 3))) differs(struct player *p, const char *format, ...)
{
	const struct script_step *st = p->step;
	va_list args;
	int n;

	if (p->failed)
		return false;
	p->failed = true;
	n = snprintf(p->error, SCRIPT_ERROR_BYTES, "%s:%u: ", st->at.file, st->at.line);
	va_start(args, format);
	n += vsnprintf(p->error + n, SCRIPT_ERROR_BYTES - (uint32_t)n, format, args);
	va_end(args);
	if ((uint32_t)n >= SCRIPT_ERROR_BYTES)
		return false;
	n += snprintf(p->error + n, SCRIPT_ERROR_BYTES - (uint32_t)n, " (%.6f s into the script",
		      (double)(p->ss->now_ns - p->start_ns) / 1e9);
	if ((uint32_t)n < SCRIPT_ERROR_BYTES)
		snprintf(p->error + n, SCRIPT_ERROR_BYTES - (uint32_t)n,
			 st->via.line != 0 ? ", used at line %u)" : ")", st->via.line);
	return false;
}

static bool
expect(struct player *p, const char *what, uint64_t want, uint64_t got)
{
	if (want == got)
		return true;
	return differs(p, "expected %s %" PRIu64 ", got %" PRIu64, what, want, got);
}

/* ---- the user ---- */

static struct flow *
flow_of(struct player *p, uint16_t port)
{
	for (uint32_t i = 0; i < p->flow_count; i++)
		if (p->flows[i].port == port)
			return &p->flows[i];
	ensure(p->flow_count < FLOWS_MAX);
	p->flows[p->flow_count] = (struct flow){.port = port};
	return &p->flows[p->flow_count++];
}

static void
on_opened(void *arg, struct conn *c)
{
	struct player *p = arg;
	struct flow *f;
	uint32_t ip;
	uint16_t port;

	conn_peer(c, &ip, &port);
	f = flow_of(p, port);
	f->conn = c;
	f->read = 0;
	f->written = 0;
	p->opened++;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct player *p = arg;

	p->gone++;
	for (uint32_t i = 0; i < p->flow_count; i++)
		if (p->flows[i].conn == c)
			p->flows[i].conn = NULL;
}

static bool
has_conn(struct player *p)
{
	return p->flow->conn != NULL || differs(p, "expected an open connection, got none");
}

static bool
read_text(struct player *p, struct flow *f, uint32_t want)
{
	while (want > 0) {
		const struct view v = conn_peek(f->conn);
		const uint32_t n = v.len < want ? v.len : want;

		if (n == 0)
			return differs(p, "expected %u bytes more to read, got none", want);
		for (uint32_t i = 0; i < n; i++)
			if (v.data[i] != text_at(f->read + i, 0))
				return differs(p, "expected the peer's byte %u, got another",
					       f->read + i);
		conn_advance(p->ss->stack, f->conn, n);
		f->read += n;
		want -= n;
	}
	return true;
}

static void
serve(void *arg)
{
	struct player *p = arg;

	if (!p->reading)
		return;
	for (uint32_t i = 0; i < p->flow_count; i++) {
		struct flow *f = &p->flows[i];

		while (!p->failed && f->conn != NULL && conn_peek(f->conn).len > 0)
			read_text(p, f, conn_peek(f->conn).len);
	}
}

static bool
write_text(struct player *p, uint32_t len)
{
	struct stack *s = p->ss->stack;
	struct flow *f = p->flow;

	while (len > 0) {
		const uint32_t n = len < CONN_RESERVE_MAX ? len : CONN_RESERVE_MAX;
		uint8_t *to;

		if (!conn_writable(s, f->conn, 1))
			return differs(p, "expected room to write %u bytes, got none", len);
		to = conn_reserve(s, f->conn, n);
		for (uint32_t i = 0; i < n; i++)
			to[i] = text_at(f->written + i, 1);
		conn_commit(s, f->conn, n);
		f->written += n;
		len -= n;
	}
	return true;
}

/* ---- the peer ---- */

/* Numbers of the script to numbers of the wire. */
static struct script_seg
to_wire(struct player *p, const struct script_seg *st)
{
	struct flow *f = p->flow;
	struct script_seg seg = *st;
	struct script_options *o = &seg.opt;

	seg.src_port = f->port;
	seg.dst_port = SIM_PORT;
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

static void
send_in(struct player *p, const struct script_step *st)
{
	const struct script_ends ends = {PEER_IP, SIM_IP};
	struct flow *f = p->flow;
	uint8_t text[MEM_FRAME_BYTES], frame[MEM_FRAME_BYTES];
	struct script_seg next = st->seg;

	if (next.flags & FLAG_SYN) {
		f->syn = next.seq;
		f->peer_ts = false;
	}
	for (uint32_t i = 0; i < st->times; i++) {
		const struct script_seg seg = to_wire(p, &next);
		const uint32_t first = next.seq - f->syn - !(next.flags & FLAG_SYN);

		for (uint32_t k = 0; k < seg.len; k++)
			text[k] = text_at(first + k, 0) ^ (seg.other_text ? 0xff : 0);
		feed(p, frame, script_frame_write(frame, &ends, &seg, text));
		next.seq += next.len;
	}
	if (next.flags & FLAG_SYN)
		f->peer_ts = next.opt.seen & OPT_TIMESTAMPS;
}

static void
send_icmp(struct player *p, const struct script_step *st)
{
	const struct script_ends ends = {PEER_IP, SIM_IP};
	const struct script_seg quoted = {
		.src_port = SIM_PORT,
		.dst_port = p->flow->port,
		.seq = p->flow->iss + (uint32_t)st->seq,
		.len = p->script->mtu - IP_TCP_BYTES,
	};
	uint8_t frame[MEM_FRAME_BYTES];

	feed(p, frame,
	     script_frame_icmp(frame, &ends, (uint8_t)(st->which >> 8), (uint8_t)st->which,
			       (uint16_t)st->number, &quoted));
}

/* ---- what the stack sent ---- */

/* The next TCP segment; it stays until sent_done. */
static bool
sent_next(struct player *p, struct script_seg *seg)
{
	const uint8_t *frame;
	const char *wrong;
	uint32_t len;

	while ((frame = mem_port_sent(p->ss->port, &len)) != NULL) {
		const bool tcp = script_frame_read(seg, frame, len, &wrong);

		if (wrong != NULL)
			differs(p, "expected a whole frame, got %s", wrong);
		if (tcp)
			return true;
		mem_port_done(p->ss->port); /* ARP */
	}
	return false;
}

/* Numbers of the wire to numbers of the script, learning where ours begin. */
static void
from_wire(struct player *p, struct script_seg *seg)
{
	struct flow *f = p->flow;
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

/* A SYN says the MSS of our MTU, and a flow that comes again starts above its old numbers. */
static bool
check_syn(struct player *p, const struct script_seg *want, const struct script_seg *got)
{
	const struct flow *f = p->flow;

	if (f->talked && seq_before(got->seq, f->high))
		return differs(p, "expected a SYN above the flow's old numbers, got one %u below",
			       f->high - got->seq);
	if (want->opt.given)
		return true;
	if (!(got->opt.seen & OPT_MSS))
		return differs(p, "expected a SYN with MSS, got one without");
	return expect(p, "mss", p->script->mtu - IP_TCP_BYTES, got->opt.mss);
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
	if (got.dst_port != p->flow->port || got.src_port != SIM_PORT)
		return differs(p, "expected out from %u to %u, got %u to %u", SIM_PORT,
			       p->flow->port, got.src_port, got.dst_port);
	if (got.flags != want->flags || got.seq != want->seq || got.len != want->len ||
	    got.ack != want->ack || (want->window_given && got.window != want->window) ||
	    !same_options(&want->opt, &got.opt))
		return differs(p, "expected out %s, got out %s", wanted, sent);
	if (!same_text(&got))
		return differs(p, "expected the text of out %s, got other bytes", wanted);
	mem_port_done(p->ss->port);
	return !p->failed;
}

static bool
expect_outs(struct player *p, const struct script_step *st)
{
	struct script_seg want = st->seg;

	for (uint32_t i = 0; i < st->times; i++) {
		if (!expect_out(p, &want))
			return false;
		want.seq += want.len;
	}
	return true;
}

static bool
expect_silence(struct player *p)
{
	char sent[SHOW_BYTES];
	struct script_seg got;

	if (!sent_next(p, &got))
		return !p->failed;
	from_wire(p, &got);
	script_show(sent, &got, NULL);
	return differs(p, "expected silence before this, got out %s", sent);
}

/* ---- steps ---- */

static bool
expect_state(struct player *p, uint32_t want)
{
	const struct conn *c = flow_find(p->ss->stack, PEER_IP, p->flow->port);
	const uint32_t got = c != NULL ? c->state : CONN_CLOSED;

	return want == got ||
	       differs(p, "expected state %s, got %s", script_states[want], script_states[got]);
}

/* A step that needs no turn of the stack. */
static bool
look(struct player *p, const struct script_step *st)
{
	struct stack_usage use;

	switch (st->verb) {
	case DO_OUT:
		return expect_outs(p, st);
	case DO_SILENCE:
		return expect_silence(p);
	case DO_FROM:
		p->flow = flow_of(p, (uint16_t)st->number);
		return true;
	case DO_OPENED:
		return expect(p, "opened", st->number, p->opened);
	case DO_GONE:
		return expect(p, "gone", st->number, p->gone);
	case DO_EOF:
		return has_conn(p) && expect(p, "eof", st->number, conn_eof(p->flow->conn));
	case DO_READABLE:
		return has_conn(p) &&
		       expect(p, "readable", st->number, conn_peek(p->flow->conn).len);
	case DO_STATE:
		return expect_state(p, st->which);
	case DO_COUNT:
		return expect(p, stack_counter_names[st->which].symbol, st->number,
			      sim_stack_count(p->ss, st->which));
	case DO_HELD:
		stack_usage_mt(p->ss->stack, &use);
		return expect(p, "held", st->number, use.rx_frames_held);
	default:
		return differs(p, "expected a verb that is played");
	}
}

static bool
act(struct player *p, const struct script_step *st)
{
	struct stack *s = p->ss->stack;

	if (st->verb >= DO_READ && st->verb <= DO_ABORT && st->verb != DO_READING && !has_conn(p))
		return false;
	if (st->verb == DO_WAIT) {
		sim_stack_run(p->ss, p->ss->now_ns + st->number);
		return !p->failed;
	}
	if (st->verb == DO_IN)
		send_in(p, st);
	else if (st->verb == DO_ICMP)
		send_icmp(p, st);
	else if (st->verb == DO_READ)
		read_text(p, p->flow, (uint32_t)st->number);
	else if (st->verb == DO_READING)
		p->reading = true;
	else if (st->verb == DO_WRITE)
		write_text(p, (uint32_t)st->number);
	else if (st->verb == DO_CLOSE)
		conn_close(s, p->flow->conn);
	else if (st->verb == DO_ABORT)
		conn_abort(s, p->flow->conn);
	else
		stack_drain(s, p->ss->now_ns);
	p->ss->now_ns += TURN_NS;
	sim_stack_turn(p->ss);
	return !p->failed;
}

static bool
acts(enum script_verb verb)
{
	return verb == DO_IN || verb == DO_ICMP || verb == DO_WAIT ||
	       (verb >= DO_READ && verb <= DO_DRAIN);
}

static bool
play_steps(struct player *p)
{
	const struct script_steps *steps = &p->script->steps;

	for (uint32_t i = 0; i < steps->count; i++) {
		p->step = &steps->step[i];
		if (acts(p->step->verb)) {
			if (!expect_silence(p) || !act(p, p->step))
				return false;
		} else if (!look(p, p->step)) {
			return false;
		}
	}
	return expect_silence(p);
}

/* The peer has fallen silent, the stack is told to stop: in the end it holds nothing. */
static bool
nothing_stays(struct player *p)
{
	struct stack_usage use;
	uint32_t len;

	for (uint32_t s = 0; s < END_SECONDS; s++) {
		stack_drain(p->ss->stack, p->ss->now_ns);
		sim_stack_run(p->ss, p->ss->now_ns + 1000ull * NS_A_MS);
		while (mem_port_sent(p->ss->port, &len) != NULL)
			mem_port_done(p->ss->port);
	}
	stack_usage_mt(p->ss->stack, &use);
	return expect(p, "connections in the end", 0, use.conns) &&
	       expect(p, "chunks in the end", 0, use.chunks_used) &&
	       expect(p, "frames in the end", 0, use.rx_frames_held);
}

bool
script_play(const struct script *script, char error[SCRIPT_ERROR_BYTES])
{
	const struct script_step begin = {.at = script->at};
	struct player p = {.script = script, .error = error, .step = &begin};
	const struct stack_user user = {.arg = &p, .opened = on_opened, .gone = on_gone};
	bool good;

	p.flow = flow_of(&p, PEER_PORT);
	p.ss = sim_stack_create(&script->stack, PORT_FRAMES, script->caps);
	p.ss->serve = serve;
	p.ss->arg = &p;
	p.start_ns = p.ss->now_ns;
	stack_attach(p.ss->stack, &user);
	sim_stack_turn(p.ss);
	good = play_steps(&p) && nothing_stays(&p);
	sim_stack_destroy(p.ss);
	return good;
}
