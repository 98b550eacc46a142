#include "tcp_script.h"

#include "support/test.h"

#define PEER_IP   (SIM_PEERS + 5)
#define PEER_PORT 40000u
#define PEER_ISS  0xfffff000u /* so that every script crosses the wrap of sequence numbers */
#define TEXT_MAX  262144u

struct player {
	struct sim_stack *ss;
	struct conn *conn;
	struct script_step step; /* being played: for messages */
	const char *sentence;
	uint32_t iss; /* of the stack */
	uint32_t opened, gone;
	uint32_t read;    /* bytes of the peer's stream */
	uint32_t written; /* bytes of ours */
	uint16_t port;
	uint32_t last_window;
	uint32_t high; /* the end of what the stack sent to this port; talked: it sent any */
	bool talked;
	bool reading;
};

/* Each stream is a fixed text, so that a byte in the wrong place is seen. */
static uint8_t
text_at(uint32_t offset, uint32_t side)
{
	return (uint8_t)(offset * 31 + (offset >> 8) * 7 + side * 101);
}

#define expect(p, cond, got)                                                                       \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail_msg("%s\n  line %d: %s; got %lld", (p)->sentence, (p)->step.line,     \
				 #cond, (long long)(got));                                         \
	} while (0)

static void
on_opened(void *arg, struct conn *c)
{
	struct player *p = arg;

	p->opened++;
	p->conn = c;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct player *p = arg;

	p->gone++;
	if (p->conn == c)
		p->conn = NULL;
}

static void
read_text(struct player *p, uint32_t want)
{
	while (want > 0) {
		const struct view v = conn_peek(p->conn);
		const uint32_t n = v.len < want ? v.len : want;

		expect(p, n > 0, want);
		for (uint32_t i = 0; i < n; i++)
			expect(p, v.data[i] == text_at(p->read + i, 0), p->read + i);
		conn_advance(p->ss->stack, p->conn, n);
		p->read += n;
		want -= n;
	}
}

static void
serve(void *arg)
{
	struct player *p = arg;

	while (p->reading && p->conn != NULL && conn_peek(p->conn).len > 0)
		read_text(p, conn_peek(p->conn).len);
}

static void
send_in(struct player *p, const struct script_step *st)
{
	static uint8_t text[TEXT_MAX];
	struct sim_segment seg = {
		.src_ip = PEER_IP,
		.dst_ip = SIM_IP,
		.tcp =
			{
				.src_port = p->port,
				.dst_port = SIM_PORT,
				.seq = PEER_ISS + st->seq,
				.ack = st->flags & TCP_ACK ? p->iss + st->ack : 0,
				.window = (uint16_t)st->window,
				.flags = (uint8_t)st->flags,
				.payload = {text, st->len},
			},
	};

	if (st->mss != 0) {
		seg.tcp.opt.seen |= TCP_HAS_MSS;
		seg.tcp.opt.mss = st->mss;
	}
	if (st->wscale != 0) {
		seg.tcp.opt.seen |= TCP_HAS_WSCALE;
		seg.tcp.opt.wscale = st->wscale - 1;
	}
	for (uint32_t i = 0; i < st->len; i++)
		text[i] = text_at(st->seq - 1 + i, 0);
	check(sim_feed_segment(p->ss->port, sim_mac, sim_peer_mac, &seg));
}

/* The next TCP segment sent; false: none. */
static bool
next_out(struct player *p, struct sim_segment *seg)
{
	const uint8_t *frame;
	uint32_t len;

	while ((frame = mem_port_sent(p->ss->port, &len)) != NULL) {
		const bool tcp = sim_read_segment(seg, frame, len);

		if (tcp)
			return true;
		mem_port_done(p->ss->port); /* ARP */
	}
	return false;
}

static void
expect_out(struct player *p, const struct script_step *st)
{
	struct sim_segment seg;
	const struct tcp_seg *tcp = &seg.tcp;

	expect(p, next_out(p, &seg), 0);
	expect(p, tcp->flags == st->flags, tcp->flags);
	if (st->flags & TCP_SYN) {
		/* A flow that comes again starts above its old numbers. */
		expect(p, !p->talked || (int32_t)(tcp->seq - p->high) >= 0, tcp->seq - p->high);
		p->iss = tcp->seq;
		expect(p, tcp->opt.seen & TCP_HAS_MSS && tcp->opt.mss == SCRIPT_MSS, tcp->opt.mss);
	}
	expect(p, tcp->seq == p->iss + st->seq, tcp->seq - p->iss);
	if (st->flags & TCP_ACK)
		expect(p, tcp->ack == PEER_ISS + st->ack, tcp->ack - PEER_ISS);
	expect(p, tcp->payload.len == st->len, tcp->payload.len);
	for (uint32_t i = 0; i < st->len; i++)
		expect(p, tcp->payload.data[i] == text_at(st->seq - 1 + i, 1), i);
	p->last_window = tcp->window;
	if (!(tcp->flags & TCP_RST)) {
		p->talked = true;
		p->high = tcp->seq + tcp->payload.len + !!(tcp->flags & TCP_FIN);
	}
	mem_port_done(p->ss->port);
}

static void
expect_silence(struct player *p)
{
	struct sim_segment seg;

	expect(p, !next_out(p, &seg), seg.tcp.flags);
}

static void
write_text(struct player *p, uint32_t len)
{
	struct stack *s = p->ss->stack;

	while (len > 0) {
		const uint32_t n = len < CONN_RESERVE_MAX ? len : CONN_RESERVE_MAX;
		uint8_t *to;

		expect(p, conn_writable(s, p->conn, 1), n);
		to = conn_reserve(s, p->conn, n);
		for (uint32_t i = 0; i < n; i++)
			to[i] = text_at(p->written + i, 1);
		conn_commit(s, p->conn, n);
		p->written += n;
		len -= n;
	}
}

/* A step that needs no turn of the stack; false: it is another kind. */
static bool
look(struct player *p, const struct script_step *st)
{
	struct stack_usage use;

	switch (st->verb) {
	case DO_OUT:
		expect_out(p, st);
		return true;
	case DO_WINDOW:
		expect(p, p->last_window == st->len, p->last_window);
		return true;
	case DO_OPENED:
		expect(p, p->opened == st->len, p->opened);
		return true;
	case DO_GONE:
		expect(p, p->gone == st->len, p->gone);
		return true;
	case DO_EOF:
		expect(p, conn_eof(p->conn) == (bool)st->len, !st->len);
		return true;
	case DO_WANT:
		expect(p, conn_peek(p->conn).len == st->len, conn_peek(p->conn).len);
		return true;
	case DO_COUNTED:
		expect(p, sim_stack_count(p->ss, st->flags) == st->len,
		       sim_stack_count(p->ss, st->flags));
		return true;
	case DO_HELD:
		stack_usage_mt(p->ss->stack, &use);
		expect(p, use.rx_frames_held == st->len, use.rx_frames_held);
		return true;
	case DO_PORT:
		p->port = (uint16_t)st->len;
		p->talked = false;
		p->iss = 0;
		return true;
	default:
		return false;
	}
}

static void
act(struct player *p, const struct script_step *st)
{
	switch (st->verb) {
	case DO_IN:
		send_in(p, st);
		break;
	case DO_WAIT:
		sim_stack_run(p->ss, p->ss->now_ns + st->len * 1000000ull);
		return;
	case DO_READ:
		read_text(p, st->len);
		break;
	case DO_READING:
		p->reading = true;
		break;
	case DO_WRITE:
		write_text(p, st->len);
		break;
	case DO_CLOSE:
		conn_close(p->ss->stack, p->conn);
		break;
	case DO_ABORT:
		conn_abort(p->ss->stack, p->conn);
		break;
	case DO_DRAIN:
		stack_drain(p->ss->stack, p->ss->now_ns);
		break;
	default:
		fail_msg("%s: not a step", p->sentence);
	}
	p->ss->now_ns += 1000;
	sim_stack_turn(p->ss);
}

static void
script_run(void **state)
{
	const struct script *script = *state;
	const struct stack_config cfg = script->config != NULL ? script->config() : sim_config(1);
	struct player p = {.sentence = script->sentence, .port = PEER_PORT};
	const struct stack_user user = {.arg = &p, .opened = on_opened, .gone = on_gone};

	p.ss = sim_stack_create(&cfg, 2048, 0);
	p.ss->serve = serve;
	p.ss->arg = &p;
	stack_attach(p.ss->stack, &user);
	sim_stack_turn(p.ss);
	for (const struct script_step *st = script->steps; st->verb != DO_END; st++) {
		p.step = *st;
		if (look(&p, st))
			continue;
		expect_silence(&p);
		act(&p, st);
	}
	expect_silence(&p);
	sim_stack_destroy(p.ss);
}

int
script_run_all(const char *group, const struct script *scripts, size_t count)
{
	struct CMUnitTest tests[SCRIPTS_MAX];

	if (count > SCRIPTS_MAX)
		return 1;
	for (size_t i = 0; i < count; i++)
		tests[i] = (struct CMUnitTest){
			.name = scripts[i].sentence,
			.test_func = script_run,
			.initial_state = (void *)(uintptr_t)&scripts[i],
		};
	return _cmocka_run_group_tests(group, tests, count, NULL, NULL);
}
