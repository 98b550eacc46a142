/*
 * A flood of flushes. Goal: twenty peers that pipeline sets and flush_all slow others down no more
 * than twenty that pipeline sets and mn; no set is refused; and no turn frees more flushed items
 * than it may. Method: a whole core, and a stack as all of its clients, on a lossless cable; a
 * clock that advances by the cost of each turn, frame and request, and of each bucket and item of
 * the walk that frees them. The waiting times of others are also given in turns of the core.
 */
#include "sim_service.h"

#include "support/sorted.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define ATTACKERS   20u
#define VICTIMS     3u
#define CLIENTS     (ATTACKERS + VICTIMS)
#define SAMPLES     rounds(900u, 600u)
#define WARM        60u /* not counted */
#define LARGE       20000u
#define BLOCK_MAX   16384u
#define SMALL       600u
#define BLOCK_SETS  16u
#define QUEUE_BYTES (1u << 18) /* requests that an attacker keeps queued */
#define STEPS_MAX   2000000u
#define CLIENT_RUNS 16u /* turns of the clients between two of the core */

#define TURN_NS    500u
#define FRAME_NS   90u
#define REQUEST_NS 190u
#define WALK_NS    300u
#define CABLE_NS   20000u
/* The most work of a turn: SWEEP_WORK_TURN, exceeded by the last slice of buckets, and
 * store_housekeeping's part. */
#define WALK_MAX 192u
/* An idle core sleeps this long between turns (lib/dpdk/lcore_run.c). */
#define NAP_NS 20000u
/* A victim waits this long between an answer and its next request. */
#define PAUSE_NS 1000000u

struct client {
	struct conn *conn;
	bool victim;
	uint32_t at;      /* position in the attackers' block */
	uint32_t left;    /* bytes of the request that are not queued yet */
	uint32_t got;     /* bytes of the answer */
	uint32_t round;   /* of a victim: number of its set and get */
	bool miss;        /* the item was flushed meanwhile */
	bool waits;       /* an answer is pending */
	uint64_t next_ns; /* time of its next request */
	uint64_t asked_ns, asked_turn;
};

struct spread {
	uint64_t ns[SAMPLES];
	uint64_t turns[SAMPLES];
};

struct world {
	struct sim_service sim;
	struct client client[CLIENTS]; /* by slot */
	uint32_t opened;
	char block[BLOCK_MAX];
	uint32_t block_len;
	char ask[LARGE + 128];
	uint32_t ask_len, answers; /* of all clients */
	uint64_t turns, walk_most;
	uint32_t samples;
	struct spread took;
};

struct result {
	uint64_t p99_ns, p99_turns, walk_most, flushed;
};

static uint64_t
walked(const struct world *w)
{
	return counter_read(&store_counters(w->sim.sc->cores[0].core.store)[STORE_SWEEP_WORK]);
}

static uint64_t
frames(const struct world *w)
{
	return sim_service_stack_count(&w->sim, RX_FRAMES) +
	       sim_service_stack_count(&w->sim, TX_FRAMES);
}

/* Returns the cost of the core's work so far, in ns. */
static uint64_t
worked_ns(const struct world *w)
{
	return FRAME_NS * frames(w) + REQUEST_NS * sim_service_count(&w->sim, REQ_TCP) +
	       WALK_NS * walked(w);
}

/* ---- clients ---- */

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	w->client[conn_slot(c)].conn = c;
	w->opened++;
}

static void
on_gone(void *arg, struct conn *c)
{
	fail_msg("a connection was ended");
}

/* Queues up to `most` bytes of a repeating text, from *at on. */
static uint32_t
say(struct world *w, struct client *cl, const char *text, uint32_t len, uint32_t most)
{
	struct stack *s = w->sim.ss->stack;
	uint32_t said = 0;

	while (said < most && conn_writable(s, cl->conn, 1)) {
		uint32_t n = len - cl->at;

		n = n < most - said ? n : most - said;
		n = n < CONN_RESERVE_MAX ? n : CONN_RESERVE_MAX;
		memcpy(conn_reserve(s, cl->conn, n), text + cl->at, n);
		conn_commit(s, cl->conn, n);
		cl->at = (cl->at + n) % len;
		said += n;
	}
	return said;
}

static void
ask(struct world *w, struct client *cl)
{
	cl->round++;
	cl->got = 0;
	cl->miss = false;
	cl->waits = true;
	cl->asked_ns = w->sim.ss->now_ns;
	cl->asked_turn = w->turns;
	cl->left = w->ask_len - say(w, cl, w->ask, w->ask_len, w->ask_len);
}

/* Checks the next byte of a victim's answer: STORED, and then the value, or END if it was flushed
 * meanwhile. */
static void
judge(struct client *cl, uint8_t byte)
{
	static const char stored[] = "STORED\r\n", head[] = "VALUE victim 0 20000\r\n",
			  tail[] = "\r\nEND\r\n";
	const uint32_t at = cl->got - (uint32_t)(sizeof stored - 1);
	const uint32_t value = at - (uint32_t)(sizeof head - 1);

	if (cl->got < sizeof stored - 1) {
		check_eq(byte, stored[cl->got]);
		return;
	}
	if (at == 0)
		cl->miss = byte == 'E';
	if (cl->miss)
		check_eq(byte, tail[2 + at]);
	else if (at < sizeof head - 1)
		check_eq(byte, head[at]);
	else
		check_eq(byte, value < LARGE ? 'y' : tail[value - LARGE]);
}

static bool
answered(const struct client *cl)
{
	const uint32_t miss = sizeof "STORED\r\nEND\r\n" - 1;
	const uint32_t hit = miss + sizeof "VALUE victim 0 20000\r\n" - 1 + LARGE + 2;

	return cl->got == (cl->miss ? miss : hit);
}

static void
listen_to(struct world *w, struct client *cl)
{
	for (struct view v = conn_peek(cl->conn); v.len > 0; v = conn_peek(cl->conn)) {
		for (uint32_t i = 0; i < v.len && cl->victim; i++, cl->got++)
			judge(cl, v.data[i]);
		conn_advance(w->sim.ss->stack, cl->conn, v.len);
	}
	if (!cl->victim || !cl->waits || cl->left > 0 || !answered(cl))
		return;
	cl->waits = false;
	cl->next_ns = w->sim.ss->now_ns + PAUSE_NS;
	if (w->answers++ >= WARM && w->samples < SAMPLES) {
		w->took.ns[w->samples] = w->sim.ss->now_ns - cl->asked_ns;
		w->took.turns[w->samples++] = w->turns - cl->asked_turn;
	}
}

/* Reads all input and writes as much as there is room for, like a client's thread. */
static void
serve(void *arg)
{
	struct world *w = arg;
	struct conn *c;

	while ((c = stack_pop_ready(w->sim.ss->stack)) != NULL)
		listen_to(w, &w->client[conn_slot(c)]);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct client *cl = &w->client[i];

		if (cl->conn == NULL || w->opened < CLIENTS)
			continue;
		if (!cl->victim)
			say(w, cl, w->block, w->block_len, QUEUE_BYTES);
		else if (!cl->waits && w->sim.ss->now_ns >= cl->next_ns)
			ask(w, cl);
		else if (cl->left > 0)
			cl->left -= say(w, cl, w->ask, w->ask_len, cl->left);
	}
}

/* ---- the world ---- */

static void
write_texts(struct world *w, const char *command)
{
	int n;

	for (uint32_t i = 0; i < BLOCK_SETS; i++)
		w->block_len +=
			(uint32_t)snprintf(w->block + w->block_len, BLOCK_MAX - w->block_len,
					   "set a%u 0 0 %u noreply\r\n%0*u\r\n%s\r\n", i, SMALL,
					   (int)SMALL, i, command);
	check(w->block_len < BLOCK_MAX);
	n = snprintf(w->ask, sizeof w->ask, "set victim 0 0 %u\r\n", LARGE);
	memset(w->ask + n, 'y', LARGE);
	strcpy(w->ask + n + LARGE, "\r\nget victim\r\n");
	w->ask_len = (uint32_t)strlen(w->ask);
}

static struct world *
world_create(const char *command)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {w, on_opened, on_gone, NULL};

	check_ptr(w);
	write_texts(w, command);
	o.cores.stack.tcp.conns_max = 1056; /* as with `-c 1024` (app/clockoo/start/sizes.c) */
	o.cores.stack.net.rx_frames_max = 2048;
	o.cores.conn_requests_max = 20;
	o.cores.frames = 2048 + STACK_FRAMES_MAX + 1024;
	o.cable.delay_ns = CABLE_NS;
	sim_service_create(&w->sim, &o, &user, serve);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct conn *c = sim_service_connect(&w->sim);

		w->client[conn_slot(c)].victim = i >= ATTACKERS;
	}
	return w;
}

static void
world_destroy(struct world *w)
{
	sim_service_destroy(&w->sim);
	free(w);
}

/* Runs a turn of the core, and as many of the clients as they have frames for. */
static void
step(struct world *w)
{
	const uint64_t before_ns = worked_ns(w), before = walked(w);
	const struct mem_ring *ring = &w->sim.ss->port->rx;
	const uint64_t before_frames = frames(w);
	uint64_t now_ns = w->sim.sc->now_ns;

	sim_wire_turn(w->sim.wire, now_ns);
	sim_cores_turn(w->sim.sc);
	w->turns++;
	if (walked(w) - before > w->walk_most)
		w->walk_most = walked(w) - before;
	now_ns += TURN_NS + worked_ns(w) - before_ns;
	if (frames(w) == before_frames)
		now_ns += NAP_NS;
	w->sim.sc->now_ns = w->sim.ss->now_ns = now_ns;
	sim_wire_turn(w->sim.wire, now_ns);
	for (uint32_t i = 0; i == 0 || (i < CLIENT_RUNS && ring->head != ring->tail); i++)
		sim_stack_turn(w->sim.ss);
	sim_wire_turn(w->sim.wire, now_ns);
}

static struct result
beside(const char *command)
{
	struct world *w = world_create(command);
	struct result r;

	for (uint32_t i = 0; i < STEPS_MAX && w->samples < SAMPLES; i++)
		step(w);
	check_eq(w->samples, SAMPLES);
	check_eq(sim_service_count(&w->sim, STORE_NO_MEMORY_COUNT), 0);
	sort_u64(w->took.ns, SAMPLES);
	sort_u64(w->took.turns, SAMPLES);
	r = (struct result){
		.p99_ns = w->took.ns[SAMPLES * 99 / 100],
		.p99_turns = w->took.turns[SAMPLES * 99 / 100],
		.walk_most = w->walk_most,
		.flushed = sim_service_count(&w->sim, CMD_FLUSH),
	};
	print_message(
		"%-9s p50 %6.3f ms, p99 %6.3f ms, most %6.3f; in turns %4llu %4llu %4llu; "
		"%llu turns, %llu flushes, %llu requests, walk %llu a turn at most, %.1f mean\n",
		command, (double)w->took.ns[SAMPLES / 2] / 1e6, (double)r.p99_ns / 1e6,
		(double)w->took.ns[SAMPLES - 1] / 1e6,
		(unsigned long long)w->took.turns[SAMPLES / 2], (unsigned long long)r.p99_turns,
		(unsigned long long)w->took.turns[SAMPLES - 1], (unsigned long long)w->turns,
		(unsigned long long)r.flushed,
		(unsigned long long)sim_service_count(&w->sim, REQ_TCP),
		(unsigned long long)r.walk_most, (double)walked(w) / (double)w->turns);
	world_destroy(w);
	return r;
}

TEST(a_flood_of_flushes_slows_nobody_by_more_than_half)
{
	const struct result mn = beside("mn"), flush = beside("flush_all");

	check(flush.flushed > 1000);
	check(flush.walk_most <= WALK_MAX);
	check(flush.p99_turns * 2 <= mn.p99_turns * 3);
	check(flush.p99_ns * 2 <= mn.p99_ns * 3);
}
