/*
 * Streams over a bad network. Goal: although frames are lost, duplicated, delayed and cut, every
 * stream arrives complete and in order, or its connection ends for a reason that is counted. In the
 * end nothing is held: no connection, no chunk, no frame, no byte lent to the queue. Method: seeded
 * simulations of an echo service and several clients; a failing seed is named and reproduces.
 */
#include "sim_peer.h"
#include "sim_stack.h"
#include "sim_wire.h"

#include "support/test.h"

#define SEEDS       300u
#define CLIENTS_MAX 6u
#define STREAM_MAX  60000u
#define STEPS_MAX   400000u
#define END_NS      (400ull * 1000000000)
#define FRAMES      1024u
#define TEXT_PERIOD 65536u

static uint8_t text[TEXT_PERIOD + STREAM_MAX];

struct world {
	uint64_t seed;
	struct sim_rng rng;
	struct sim_stack *ss;
	struct mem_port *peer_port;
	struct sim_wire *wire;
	struct sim_peers *peers;
	struct conn *conn[64]; /* by slot */
	uint32_t echoed[64];   /* bytes of that connection's stream */
	uint32_t start[64];    /* offset of the stream in the text */
	uint32_t opened, gone, lent, released, aborted;
	uint32_t abort_permille;
	bool stalls;
	uint64_t stalled_until_ns[CLIENTS_MAX];
	bool busy;  /* the service has more to do at once */
	bool quiet; /* no event is left: a peer may wait for a lost RST */
};

#define expect(w, cond)                                                                            \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail_msg("seed %llu, line %d: %s", (unsigned long long)(w)->seed,          \
				 __LINE__, #cond);                                                 \
	} while (0)

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	expect(w, w->conn[conn_slot(c)] == NULL);
	w->conn[conn_slot(c)] = c;
	w->echoed[conn_slot(c)] = 0;
	w->opened++;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;

	expect(w, w->conn[conn_slot(c)] == c);
	w->conn[conn_slot(c)] = NULL;
	w->gone++;
}

static void
on_release(const void *arg)
{
	struct world *w = (struct world *)(uintptr_t)arg;

	w->released++;
}

/* Returns the position of the bytes in the text. The first two bytes of every stream, which arrive
 * one by one, name that position; for them it returns NULL. */
static const uint8_t *
in_text(struct world *w, struct conn *c, const uint8_t *bytes)
{
	const uint32_t slot = conn_slot(c), at = w->echoed[slot];

	if (at >= 2)
		return text + w->start[slot] + at;
	w->start[slot] = at == 0 ? (uint32_t)bytes[0] << 8 : w->start[slot] | bytes[0];
	return NULL;
}

/* Echoes n bytes in one of three ways. False: no room now. */
static bool
echo(struct world *w, struct conn *c, struct view v, uint32_t n)
{
	struct stack *s = w->ss->stack;
	const uint8_t *same;
	uint8_t *to;

	if (!conn_writable(s, c, 1))
		return false;
	same = in_text(w, c, v.data);
	expect(w, same == NULL || memcmp(same, v.data, n) == 0);
	if (same != NULL && sim_chance(&w->rng, 300) &&
	    conn_write_external(s, c, same, n, on_release, w)) {
		w->lent++;
	} else {
		to = conn_reserve(s, c, n);
		expect(w, to != NULL);
		memcpy(to, v.data, n);
		conn_commit(s, c, n);
	}
	conn_advance(s, c, n);
	w->echoed[conn_slot(c)] += n;
	return true;
}

static void
serve_one(struct world *w, struct conn *c)
{
	struct stack *s = w->ss->stack;
	const uint32_t quota = 1 + sim_below(&w->rng, 8);

	if (sim_chance(&w->rng, w->abort_permille)) {
		w->aborted++;
		conn_abort(s, c);
		return;
	}
	for (uint32_t i = 0; i < quota; i++) {
		const struct view v = conn_peek(c);
		uint32_t n = v.len < CONN_RESERVE_MAX ? v.len : CONN_RESERVE_MAX;

		if (v.len == 0)
			break;
		if (n > 2 && sim_chance(&w->rng, 200))
			n = 2 + sim_below(&w->rng, n - 2);
		if (w->echoed[conn_slot(c)] < 2)
			n = 1;
		if (!echo(w, c, v, n))
			return; /* the connection becomes ready when there is room */
	}
	if (conn_eof(c)) {
		conn_close(s, c);
	} else if (conn_peek(c).len > 0) {
		conn_requeue(s, c);
		w->busy = true;
	}
}

static void
serve(void *arg)
{
	struct world *w = arg;
	struct conn *c;

	w->busy = false;
	for (uint32_t i = 0; i < CLIENTS_MAX && (c = stack_pop_ready(w->ss->stack)) != NULL; i++)
		serve_one(w, c);
}

static void
add_client(struct world *w, uint32_t i)
{
	const uint32_t len = 2 + sim_below(&w->rng, STREAM_MAX - 2);
	struct sim_peer *p =
		sim_peer_open(w->peers, SIM_PEERS + i, (uint16_t)(30000 + i), len, len);
	const uint32_t start = sim_below(&w->rng, TEXT_PERIOD);
	uint8_t head[2] = {(uint8_t)(start >> 8), (uint8_t)start};

	sim_peer_send(p, head, 2);
	sim_peer_send(p, text + start + 2, len - 2);
	p->close = true;
	p->cut = sim_chance(&w->rng, 300);
	p->mss = sim_chance(&w->rng, 300) ? (uint16_t)(100 + sim_below(&w->rng, 1360)) : p->mss;
	p->window = sim_chance(&w->rng, 300) ? 500 + sim_below(&w->rng, 5000) : p->window;
}

static void
world_create(struct world *w, uint64_t seed)
{
	struct stack_config cfg = sim_config(seed);
	const struct stack_user user = {.arg = w, .opened = on_opened, .gone = on_gone};
	struct sim_faults faults;

	*w = (struct world){.seed = seed, .rng = {seed}};
	faults = (struct sim_faults){
		.lose = sim_chance(&w->rng, 700) ? sim_below(&w->rng, 100) : 0,
		.twice = sim_below(&w->rng, 100),
		.late = sim_chance(&w->rng, 500) ? sim_below(&w->rng, 300) : 0,
		.delay_ns = 10000 + sim_below(&w->rng, 2000000),
		.jitter_ns = sim_below(&w->rng, 5000000),
	};
	cfg.tcp.chunks = sim_chance(&w->rng, 300) ? 2 : cfg.tcp.chunks;
	cfg.net.rx_frames_max = sim_chance(&w->rng, 300) ? 16 : cfg.net.rx_frames_max;
	w->stalls = sim_chance(&w->rng, 300);
	w->abort_permille = sim_chance(&w->rng, 100) ? 10 : 0;
	w->ss = sim_stack_create(&cfg, FRAMES, sim_chance(&w->rng, 500) ? PORT_TX_TCP_CKSUM : 0);
	w->ss->serve = serve;
	w->ss->arg = w;
	stack_attach(w->ss->stack, &user);
	w->peer_port = mem_port_create(sim_peer_mac, FRAMES, 0);
	w->wire = sim_wire_create(w->ss->port, w->peer_port, &faults, seed + 1);
	w->peers = sim_peers_create(w->peer_port, seed + 2);
	for (uint32_t i = 0; i < 1 + sim_below(&w->rng, CLIENTS_MAX); i++)
		add_client(w, i);
}

static void
world_destroy(struct world *w)
{
	sim_peers_destroy(w->peers);
	sim_wire_destroy(w->wire);
	mem_port_destroy(w->peer_port);
	sim_stack_destroy(w->ss);
}

static bool
all_ended(const struct world *w)
{
	for (uint32_t i = 0; i < w->peers->count; i++)
		if (w->peers->peer[i].state <= PEER_OPEN)
			return w->quiet;
	return true;
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Makes a client stop reading for a while. Its window closes, and it may not announce the
 * reopening. */
static void
stall_someone(struct world *w)
{
	const uint32_t i = sim_below(&w->rng, w->peers->count);
	struct sim_peer *p = &w->peers->peer[i];

	if (p->window != 0 && sim_chance(&w->rng, 20)) {
		p->window = 0;
		w->stalled_until_ns[i] = w->ss->now_ns + sim_below(&w->rng, 2000000000);
	} else if (p->window == 0 && w->stalled_until_ns[i] <= w->ss->now_ns) {
		p->window = 500 + sim_below(&w->rng, 60000);
	} else {
		return;
	}
	p->ack_due = sim_chance(&w->rng, 500);
}

/* Runs a turn of all parts, then advances the clock to the next event. */
static void
world_step(struct world *w)
{
	uint64_t *now = &w->ss->now_ns;
	uint64_t next;

	sim_wire_turn(w->wire, *now);
	sim_stack_turn(w->ss);
	if (w->stalls)
		stall_someone(w);
	sim_peers_turn(w->peers, *now);
	sim_wire_turn(w->wire, *now);
	next = earlier(sim_wire_next(w->wire), stack_next_timer(w->ss->stack));
	next = earlier(next, sim_peers_next(w->peers));
	w->quiet = !w->busy && next == UINT64_MAX;
	if (!w->quiet)
		*now = w->busy || next <= *now ? *now + 2000 : next;
}

static uint64_t
reasons(const struct world *w)
{
	return sim_stack_count(w->ss, TCP_ABORTED) + sim_stack_count(w->ss, TCP_TIMEOUT) +
	       sim_stack_count(w->ss, TCP_TIMEOUT_SYN) +
	       sim_stack_count(w->ss, TCP_TIMEOUT_FIN_WAIT) +
	       sim_stack_count(w->ss, TCP_TIMEOUT_KEEPALIVE) +
	       sim_stack_count(w->ss, TCP_RESET_DATA_AFTER_CLOSE) +
	       sim_stack_count(w->ss, TCP_EVICTED_SLOW_READER) +
	       sim_stack_count(w->ss, TCP_EVICTED_SLOW_WRITER);
}

/* Returns how many streams arrived whole. */
static uint32_t
check_streams(struct world *w)
{
	uint32_t whole = 0;

	for (uint32_t i = 0; i < w->peers->count; i++) {
		const struct sim_peer *p = &w->peers->peer[i];

		expect(w, p->in_len <= p->out_len);
		expect(w, memcmp(p->in, p->out, p->in_len) == 0);
		expect(w, p->state != PEER_DONE || p->in_len == p->out_len);
		whole += p->state == PEER_DONE;
	}
	expect(w, w->peers->count - whole <= reasons(w));
	return whole;
}

static void
check_nothing_held(struct world *w)
{
	struct stack_usage use;

	/* No peer answers any more: every timer fires and gives up in the end. */
	for (uint32_t i = 0; i < 200; i++) {
		uint32_t len;

		sim_stack_run(w->ss, w->ss->now_ns + 10ull * 1000000000);
		while (mem_port_sent(w->ss->port, &len) != NULL)
			mem_port_done(w->ss->port);
	}
	stack_usage_mt(w->ss->stack, &use);
	expect(w, use.conns == 0);
	expect(w, use.chunks_used == 0);
	expect(w, use.rx_frames_held == 0);
	expect(w, w->opened == w->gone);
	expect(w, w->lent == w->released);
	expect(w, w->aborted == sim_stack_count(w->ss, TCP_ABORTED));
	expect(w, mem_port_held(w->ss->port) <= FRAME_CACHE_MAX); /* the frame cache */
}

/* Counters that the network and the small pools must provoke. */
static const uint32_t provoked[] = {
	TCP_RETRANSMITS,
	TCP_FAST_RECOVERIES,
	TCP_TIMEOUTS_RETRANSMIT,
	TCP_OUT_OF_ORDER,
	TCP_DROP_DATA_DUPLICATE,
	TCP_DROP_OUT_OF_WINDOW,
	TCP_DROP_RX_FRAMES_MAX,
	TCP_DROP_OOO_FULL,
	TCP_WINDOW_PROBES,
	TCP_WRITE_BLOCKED_MEMORY,
	TCP_ABORTED,
};
#define PROVOKED_COUNT (sizeof provoked / sizeof *provoked)

static uint32_t
play(uint64_t seed, uint32_t *streams, uint64_t counted[PROVOKED_COUNT])
{
	static struct world w;
	uint32_t whole;

	world_create(&w, seed);
	for (uint32_t i = 0; i < STEPS_MAX && w.ss->now_ns < END_NS && !all_ended(&w); i++)
		world_step(&w);
	expect(&w, all_ended(&w));
	whole = check_streams(&w);
	check_nothing_held(&w);
	*streams += w.peers->count;
	for (uint32_t i = 0; i < PROVOKED_COUNT; i++)
		counted[i] += sim_stack_count(w.ss, provoked[i]);
	world_destroy(&w);
	return whole;
}

TEST(every_stream_arrives_whole_or_ends_for_a_reason)
{
	uint64_t counted[PROVOKED_COUNT] = {0};
	uint32_t streams = 0, whole = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		whole += play(seed, &streams, counted);
	for (uint32_t i = 0; i < PROVOKED_COUNT; i++)
		if (counted[i] == 0)
			fail_msg("%s: never", stack_counter_names[provoked[i]].symbol);
	/* Most streams must be complete in spite of the reasons above. */
	check(whole * 10 > streams * 9);
	print_message("%u streams, %u whole\n", streams, whole);
}

int
main(void)
{
	for (uint32_t i = 0; i < sizeof text; i++)
		text[i] = (uint8_t)(i * 2654435761u >> 13);
	return tests_run(NULL, NULL);
}
