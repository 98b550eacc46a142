/*
 * Values that leave as loans to the port (tcp/lending.h). Goal: the device reads the bytes that
 * were lent, although values are replaced, deleted, evicted and flushed, and connections reset,
 * while frames wait in the device. Clients get complete values, and nothing stays held.
 * Method: a whole core; a device that stalls at random, reads a loan when it sends the frame, and
 * checks that its bytes are those of the call (mem_port.c); clients that check every byte.
 */
#include "sim_client.h"
#include "sim_rng.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define READERS    12u
#define KEYS       40u
#define VALUE_MIN  1400u
#define VALUE_MAX  300000u
#define ANSWER_MAX (VALUE_MAX + 64u)
#define MEMORY_MB  8u /* less than all values need, so sets evict */
#define STEP_NS    20000u
#define STALL_NS   400000u /* the longest stall */
#define LOANS_MAX  (64ull << 20)
#define SEEDS      rounds(4u, 2u)
#define RUN_NS     (NS_PER_S / 16)

static uint32_t caps = PORT_TX_IP_CKSUM | PORT_TX_TCP_CKSUM | PORT_TX_LOANS;

struct reader {
	struct sim_client base;
	uint32_t key, got;
	bool asks;
	uint8_t answer[ANSWER_MAX];
};

struct world {
	struct sim_service sim;
	struct sim_clients clients;
	struct sim_rng rng;
	uint32_t versions, hits, misses, resets, flushes;
	uint64_t lent_max;
	bool over_ipv6;
	struct reader reader[READERS];
};

static struct mem_port *
device(const struct world *w)
{
	return w->sim.sc->cores[0].port;
}

static uint64_t
lent(const struct world *w)
{
	return sim_service_stack_count(&w->sim, TCP_TX_LENT);
}

/* ---- values ---- */

/* Returns byte `at` of a value. Two values differ in nearly all bytes. */
static uint8_t
byte_of(uint32_t key, uint32_t version, uint32_t at)
{
	const uint64_t x =
		((uint64_t)key << 40 ^ (uint64_t)version << 20 ^ at) * 0x9e3779b97f4a7c15;

	return (uint8_t)(x >> 56);
}

static struct view
key_of(uint32_t key, char name[8])
{
	return (struct view){(const uint8_t *)name, (uint32_t)snprintf(name, 8, "k%u", key)};
}

/* Stores a new version, if there is memory. The item's flags contain its number. */
static void
store_value(struct world *w, uint32_t key)
{
	static uint8_t bytes[VALUE_MAX];
	struct store_core *sc = store_core_of(w->sim.sc->store, 0);
	const uint32_t len =
		VALUE_MIN + sim_below(&w->rng, sim_below(&w->rng, VALUE_MAX - VALUE_MIN));
	const uint32_t version = ++w->versions;
	struct fill f;
	char name[8];
	const struct view k = key_of(key, name);

	if (store_begin(sc, &f, k, store_hash(sc, k), len, version, 0) != STORE_OK)
		return;
	for (uint32_t i = 0; i < len; i++)
		bytes[i] = byte_of(key, version, i);
	store_fill(sc, &f, bytes, len);
	check_eq(store_finish(sc, &f, STORE_SET, 0), STORE_OK);
}

static void
disturb(struct world *w)
{
	struct store_core *sc = store_core_of(w->sim.sc->store, 0);
	const uint32_t key = sim_below(&w->rng, KEYS);
	char name[8];
	const struct view k = key_of(key, name);

	if (sim_chance(&w->rng, 20))
		store_delete(sc, k, store_hash(sc, k));
	else if (sim_chance(&w->rng, 5))
		w->flushes += store_flush(sc, 0) == STORE_OK;
	else if (sim_chance(&w->rng, 300))
		store_value(w, key);
}

/* ---- clients ---- */

static void
check_answer(struct world *w, const struct reader *r)
{
	const char *text = (const char *)r->answer;
	uint32_t key, version, len;
	uint32_t head;

	if (memcmp(text, "END\r\n", 5) == 0) {
		w->misses++;
		return;
	}
	check_eq(sscanf(text, "VALUE k%u %u %u\r\n", &key, &version, &len), 3);
	head = (uint32_t)(strchr(text, '\n') + 1 - text);
	check_eq(key, r->key);
	check_eq(r->got, head + len + 7);
	for (uint32_t i = 0; i < len; i++)
		if (r->answer[head + i] != byte_of(key, version, i))
			fail_msg("byte %u of k%u, version %u, is torn", i, key, version);
	check_bytes(text + head + len, "\r\nEND\r\n", 7);
	w->hits++;
}

static void
ask(struct world *w, struct reader *r)
{
	char line[32];

	r->key = sim_below(&w->rng, KEYS);
	r->got = 0;
	r->asks = true;
	sim_service_say(&w->sim, r->base.conn, line,
			(uint32_t)snprintf(line, sizeof line, "get k%u\r\n", r->key));
}

static void
turn(void *arg, struct sim_client *base)
{
	struct world *w = arg;
	struct reader *r = container_of(base, struct reader, base);

	if (sim_chance(&w->rng, 3)) {
		w->resets++;
		conn_abort(w->sim.ss->stack, base->conn);
		return;
	}
	sim_receive(w->sim.ss->stack, base->conn, r->answer, &r->got, ANSWER_MAX);
	if (r->got >= 5 && memcmp(r->answer + r->got - 5, "END\r\n", 5) == 0) {
		check_answer(w, r);
		r->asks = false;
	}
	if (!r->asks)
		ask(w, r);
}

static void
on_gone(void *arg, struct sim_client *base)
{
	container_of(base, struct reader, base)->asks = false;
}

/* ---- the world ---- */

static struct world *
world_create(uint64_t seed, uint64_t lent_bytes_max)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct sim_clients_user user = {w, turn, NULL, on_gone};

	check_ptr(w);
	w->rng.state = seed;
	w->lent_max = lent_bytes_max;
	o.cores.memory_bytes = (size_t)MEMORY_MB << 20;
	o.cores.caps = caps;
	o.cores.stack.tcp.lent_bytes_max = lent_bytes_max;
	o.cable.lose = 2;
	sim_clients_create(&w->clients, &w->sim, &o, &user);
	for (uint32_t k = 0; k < KEYS; k++)
		store_value(w, k);
	return w;
}

/* Runs for a time in pieces, between which values change and the device stalls or resumes. */
static void
run(struct world *w, uint64_t for_ns)
{
	const uint64_t end_ns = w->sim.ss->now_ns + for_ns;

	while (w->sim.ss->now_ns < end_ns) {
		for (uint32_t i = 0; i < READERS; i++)
			if (w->reader[i].base.conn == NULL)
				(w->over_ipv6 ? sim_client_connect6 : sim_client_connect)(
					&w->clients, &w->reader[i].base);
		device(w)->tx_gives =
			sim_chance(&w->rng, 500) ? sim_below(&w->rng, 30) : UINT32_MAX;
		for (uint64_t stall = sim_below(&w->rng, STALL_NS); stall > STEP_NS;
		     stall -= STEP_NS) {
			disturb(w);
			sim_service_run(&w->sim, STEP_NS, STEP_NS);
			check(stack_lent_bytes(w->sim.sc->cores[0].core.stack) <= w->lent_max);
		}
	}
}

/* Ends all connections, lets the device send what it has, and checks that nothing is held. */
static void
world_end(struct world *w)
{
	for (uint32_t i = 0; i < READERS; i++)
		if (w->reader[i].base.conn != NULL)
			conn_abort(w->sim.ss->stack, w->reader[i].base.conn);
	device(w)->tx_gives = UINT32_MAX;
	sim_service_run(&w->sim, 10 * NS_PER_MS, STEP_NS);
	check_eq(device(w)->loan_count, 0);
	check_eq(stack_lent_bytes(w->sim.sc->cores[0].core.stack), 0);
	sim_service_destroy(&w->sim);
	free(w);
}

/* ---- tests ---- */

TEST(no_value_is_torn_while_the_device_reads_it)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world *w = world_create(seed, LOANS_MAX);

		run(w, RUN_NS);
		print_message("seed %u: %u values whole, %u misses, %u resets, %u flushes, %u "
			      "versions, %u segments lent\n",
			      (uint32_t)seed, w->hits, w->misses, w->resets, w->flushes,
			      w->versions, (uint32_t)lent(w));
		check(w->hits > 100 && w->resets > 3 && w->versions > 100 && lent(w) > 1000);
		world_end(w);
	}
}

/* The device has few descriptors for loans, or little memory may be lent: the rest is copied. */
TEST(values_beyond_either_limit_are_copied)
{
	static const struct {
		uint64_t bytes;
		uint32_t loans;
	} limits[] = {{LOANS_MAX, 40}, {VALUE_MAX, UINT32_MAX}, {40000, UINT32_MAX}};

	for (uint32_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		struct world *w = world_create(i, limits[i].bytes);
		uint64_t segments;

		device(w)->loans_max = limits[i].loans;
		run(w, RUN_NS);
		segments = sim_service_stack_count(&w->sim, TCP_TX_SEGMENTS);
		check(w->hits > 100 && lent(w) > 0 && lent(w) < segments * 3 / 4);
		world_end(w);
	}
}

TEST(values_over_ipv6_are_lent_and_whole)
{
	struct world *w = world_create(1, LOANS_MAX);

	w->over_ipv6 = true;
	run(w, RUN_NS);
	print_message("%u values whole, %u segments lent\n", w->hits, (uint32_t)lent(w));
	check(w->hits > 100 && w->resets > 3 && lent(w) > 1000);
	world_end(w);
}

/* Without checksums by the port, the core computes them, and reads the data. */
TEST(a_port_that_fills_no_checksums_gets_no_loans)
{
	struct world *w;

	caps = PORT_TX_IP_CKSUM | PORT_TX_LOANS;
	w = world_create(1, LOANS_MAX);
	run(w, RUN_NS);
	check(w->hits > 100);
	check_eq(lent(w), 0);
	world_end(w);
}
