#include "script_player.h"

#include "kernel/kernel_lane.h"
#include "net/access_list.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *const script_states[] = {"CLOSED",     "SYN-SENT",   "SYN-RECEIVED", "ESTABLISHED",
				     "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT",   "CLOSING",
				     "LAST-ACK",   "TIME-WAIT"};
static_assert(sizeof script_states / sizeof *script_states == SCRIPT_STATES &&
		      CONN_TIME_WAIT == SCRIPT_STATES - 1,
	      "one name for each of enum conn_state");

bool
differs(struct player *p, const char *format, ...)
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

bool
expect(struct player *p, const char *what, uint64_t want, uint64_t got)
{
	if (want == got)
		return true;
	return differs(p, "expected %s %" PRIu64 ", got %" PRIu64, what, want, got);
}

/* ---- the user ---- */

static struct script_flow *
flow_of(struct player *p, uint16_t port)
{
	for (uint32_t i = 0; i < p->flow_count; i++)
		if (p->flows[i].port == port)
			return &p->flows[i];
	ensure(p->flow_count < FLOWS_MAX);
	p->flows[p->flow_count] = (struct script_flow){.port = port};
	return &p->flows[p->flow_count++];
}

static void
on_opened(void *arg, struct conn *c)
{
	struct player *p = arg;
	struct script_flow *f;
	struct ip_addr ip;
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

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	struct player *p = arg;

	p->refused++;
	for (uint32_t i = 0; i < p->flow_count; i++)
		if (p->flows[i].conn == c)
			p->flows[i].conn = NULL;
}

static bool
connect_peer(struct player *p, bool refused)
{
	const struct conn_target to = {
		.ip = p->ends.src,
		.port = p->flow->port,
		.local_port = SIM_PORT,
	};
	struct conn *c;

	peer_send_ask(p);
	sim_stack_turn(p->ss);
	c = conn_connect(p->ss->stack, &to);
	if (c != NULL && p->flow->conn == NULL)
		p->flow->conn = c;
	return (c == NULL) == refused ||
	       differs(p, "expected connect to be %s", refused ? "refused" : "taken");
}

static bool
has_conn(struct player *p)
{
	return p->flow->conn != NULL || differs(p, "expected an open connection, got none");
}

static bool
read_text(struct player *p, struct script_flow *f, uint32_t want)
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
		struct script_flow *f = &p->flows[i];

		while (!p->failed && f->conn != NULL && conn_peek(f->conn).len > 0)
			read_text(p, f, conn_peek(f->conn).len);
	}
}

static bool
write_text(struct player *p, uint32_t len)
{
	struct stack *s = p->ss->stack;
	struct script_flow *f = p->flow;

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

/* ---- steps ---- */

static bool
expect_state(struct player *p, uint32_t want)
{
	const struct flow flow = {&p->ends.src, p->flow->port, SIM_PORT, (uint8_t)p->script->local};
	const struct conn *c = flow_find(stack_tcp(p->ss->stack), flow);
	const uint32_t got = c != NULL ? c->state : CONN_CLOSED;

	return want == got ||
	       differs(p, "expected state %s, got %s", script_states[want], script_states[got]);
}

/* Runs a step that needs no turn of the stack. */
static bool
look(struct player *p, const struct script_step *st)
{
	struct stack_usage use;

	switch (st->verb) {
	case DO_OUT:
		return peer_expect(p, st);
	case DO_SILENCE:
		return peer_expect_silence(p);
	case DO_FROM:
		p->flow = flow_of(p, (uint16_t)st->number);
		return true;
	case DO_TO:
		p->to = (uint16_t)st->number;
		return true;
	case DO_OPENED:
		return expect(p, "opened", st->number, p->opened);
	case DO_GONE:
		return expect(p, "gone", st->number, p->gone);
	case DO_FAILED:
		return expect(p, "failed", st->number, p->refused);
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

/* Runs a step while our process is paused: time passes, and frames arrive. */
static bool
act_paused(struct player *p, const struct script_step *st)
{
	if (st->verb == DO_WAIT)
		p->ss->now_ns += st->number;
	else if (st->verb == DO_IN)
		peer_send(p, st);
	else if (st->verb == DO_ICMP)
		peer_send_icmp(p, st);
	else
		return differs(p, "expected wait, in, icmp or resume after pause");
	return !p->failed;
}

static bool
resume(struct player *p)
{
	const struct mem_ring *rx = &p->ss->port->rx;

	if (p->paused_ns == 0)
		return differs(p, "expected a pause before resume");
	stack_paused(p->ss->stack, p->paused_ns, p->ss->now_ns);
	p->paused_ns = 0;
	do {
		sim_stack_turn(p->ss);
		p->ss->now_ns += TURN_NS;
	} while (rx->head != rx->tail && !p->failed);
	return !p->failed;
}

/* Denies all peers: none is in the only network that is allowed. */
static void
deny_all(struct player *p)
{
	static const struct access_net nobody = {
		.ip = {.b = {0x20, 0x01, 0x0d, 0xb8, 0xff}}, .prefix_len = 40, .allow = true};
	struct region region = {.size = access_list_bytes(&nobody, 1)};
	uint32_t from = 0;

	ensure(p->access == NULL);
	p->access = malloc(region.size);
	ensure(p->access != NULL);
	region.base = p->access;
	stack_access_set(p->ss->stack, access_list_make(&region, &nobody, 1));
	do
		from = stack_access_enforce(p->ss->stack, from);
	while (from != 0);
}

/* Replaces the table of our addresses by one that has only another address. */
static void
move_away(struct player *p)
{
	const struct local_addr other = {ip_addr_v4(SIM_IP + 99), IP_ADDR_V4_BITS + SIM_PREFIX, 0};
	const struct local_addrs *was = stack_net(p->ss->stack)->addrs;
	struct local_addrs_spec spec = {.ipv6 = true, .addr = &other, .count = 1};
	struct region region = {.size = local_addrs_bytes(&spec, was)};
	uint32_t from = 0;

	ensure(p->addrs == NULL);
	p->addrs = malloc(region.size);
	ensure(p->addrs != NULL);
	region.base = p->addrs;
	spec.mac[0] = 2;
	stack_addrs_set(p->ss->stack, local_addrs_make(&region, &spec, was));
	do
		from = stack_access_enforce(p->ss->stack, from);
	while (from != 0);
}

static bool
act(struct player *p, const struct script_step *st)
{
	struct stack *s = p->ss->stack;

	if (st->verb >= DO_READ && st->verb <= DO_ABORT && st->verb != DO_READING &&
	    st->verb != DO_CONNECT && !has_conn(p))
		return false;
	if (st->verb == DO_RESUME)
		return resume(p);
	if (p->paused_ns != 0)
		return act_paused(p, st);
	if (st->verb == DO_PAUSE) {
		p->paused_ns = p->ss->now_ns;
		return true;
	}
	if (st->verb == DO_WAIT) {
		sim_stack_run(p->ss, p->ss->now_ns + st->number);
		return !p->failed;
	}
	if (st->verb == DO_IN)
		peer_send(p, st);
	else if (st->verb == DO_ICMP)
		peer_send_icmp(p, st);
	else if (st->verb == DO_READ)
		read_text(p, p->flow, (uint32_t)st->number);
	else if (st->verb == DO_READING)
		p->reading = true;
	else if (st->verb == DO_WRITE)
		write_text(p, (uint32_t)st->number);
	else if (st->verb == DO_CONNECT)
		connect_peer(p, st->number != 0);
	else if (st->verb == DO_CLOSE)
		conn_close(s, p->flow->conn);
	else if (st->verb == DO_LEAVE)
		conn_close_detach(s, p->flow->conn);
	else if (st->verb == DO_ABORT)
		conn_abort(s, p->flow->conn);
	else if (st->verb == DO_DENY)
		deny_all(p);
	else if (st->verb == DO_MOVE)
		move_away(p);
	else if (st->verb == DO_REFUSE || st->verb == DO_SILENT)
		stack_refuse(s, st->verb == DO_REFUSE ? REFUSE_RESET : REFUSE_SILENT);
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
	       (verb >= DO_READ && verb <= DO_RESUME);
}

static bool
play_steps(struct player *p)
{
	const struct script_steps *steps = &p->script->steps;

	for (uint32_t i = 0; i < steps->count; i++) {
		p->step = &steps->step[i];
		if (acts(p->step->verb)) {
			if (!peer_expect_silence(p) || !act(p, p->step))
				return false;
		} else if (!look(p, p->step)) {
			return false;
		}
	}
	return peer_expect_silence(p) &&
	       (p->paused_ns == 0 || differs(p, "expected resume after pause"));
}

/* Stops the stack while the peer is silent, and checks that it holds nothing in the end. */
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

/* Returns the addresses of the peer and of us. Ours are 2001:db8::1, and the link-local one made of
 * sim_mac (RFC 4291 appendix A). The peer's end in 5. */
static struct script_ends
ends_of(const struct script *script)
{
	static const struct ip_addr global = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
	static const struct ip_addr link = {{0xfe, 0x80, [11] = 0xff, [12] = 0xfe, [15] = 1}};
	struct script_ends ends = {.dst = script->local == LOCAL_LINK6 ? link : global};

	if (script->local == LOCAL_V4)
		return (struct script_ends){ip_addr_v4(PEER_IP), ip_addr_v4(SIM_IP)};
	memcpy(ends.src.b, ends.dst.b, 8);
	ends.src.b[15] = 5;
	return ends;
}

void
script_to_ipv6(struct script *script)
{
	script->local = LOCAL_GLOBAL6;
	script->mtu += 20;
}

/* Makes the lane to a kernel that takes nothing from it. */
static struct kernel_lane *
create_lane(void **memory, uint32_t mtu)
{
	struct region region = {.size = kernel_lane_bytes(mtu, true)};

	region.base = *memory = malloc(region.size);
	ensure(*memory != NULL);
	return kernel_lane_create(&region, mtu, true);
}

bool
script_play(const struct script *script, char error[SCRIPT_ERROR_BYTES])
{
	const struct script_step begin = {.at = script->at};
	struct player p = {.script = script, .error = error, .step = &begin};
	const struct stack_user user = {
		.arg = &p, .opened = on_opened, .gone = on_gone, .failed = on_failed};
	struct stack_config cfg = script->stack;
	void *lane = NULL;
	bool good;

	p.to = SIM_PORT;
	if (script->kernel)
		cfg.net.kernel = create_lane(&lane, script->mtu);
	p.ends = ends_of(script);
	p.header_bytes = script->local == LOCAL_V4 ? 40 : 60;
	p.flow = flow_of(&p, PEER_PORT);
	if (script->local == LOCAL_GLOBAL6) {
		cfg.net.ipv6 = p.ends.dst;
		cfg.net.prefix6_len = 64;
	}
	p.ss = sim_stack_create(&cfg, PORT_FRAMES, script->caps);
	p.ss->port->port.mtu = (uint16_t)script->mtu;
	p.ss->serve = serve;
	p.ss->arg = &p;
	p.start_ns = p.ss->now_ns;
	stack_attach(p.ss->stack, &user);
	sim_stack_turn(p.ss);
	good = play_steps(&p) && nothing_stays(&p);
	sim_stack_destroy(p.ss);
	free(p.access);
	free(p.addrs);
	free(lane);
	return good;
}
