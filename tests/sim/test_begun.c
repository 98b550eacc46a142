/*
 * Values that arrive slowly. Goal: unfinished values take no more than their share of memory,
 * however slowly they are sent, and a client that sends steadily gets its value stored.
 * Method: a whole core, and a stack as its clients, on a lossless cable.
 */
#include "sim_client.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS 128u
#define STEP_NS 100000u /* longest time between two turns */
#define LARGE   1000000u

/* A client that sets one value after the other, as fast as possible or some bytes each tick. */
struct client {
	struct sim_client base;
	bool busy;
	uint32_t left;    /* bytes of the value still to send, line end included */
	uint32_t allowed; /* bytes of it that may be sent now */
	uint32_t stored;
	uint64_t asked_ns, slowest_ns;
	struct sim_waits *waits; /* NULL: not recorded */
	char answer[32];
	uint32_t answer_len;
};

struct world {
	struct sim_service sim;
	struct sim_clients clients;
	struct client client[CLIENTS];
	uint32_t count, keys;
};

static void
begin(struct world *w, struct client *cl, uint32_t len, uint32_t allowed)
{
	char line[64];
	const int n = snprintf(line, sizeof line, "set k%u 0 0 %u\r\n", w->keys++, len);

	sim_service_say(&w->sim, cl->base.conn, line, (uint32_t)n);
	cl->busy = true;
	cl->left = len + 2;
	cl->allowed = allowed;
	cl->asked_ns = w->sim.ss->now_ns;
}

static void
send_on(struct world *w, struct client *cl)
{
	cl->allowed -= sim_service_send_body(&w->sim, cl->base.conn, &cl->left, cl->allowed);
}

static void
listen_to(struct world *w, struct client *cl)
{
	sim_receive(w->sim.ss->stack, cl->base.conn, cl->answer, &cl->answer_len,
		    sizeof cl->answer - 1);
	if (cl->answer_len < 8)
		return;
	check_bytes(cl->answer, "STORED\r\n", 8);
	cl->answer_len = 0;
	cl->busy = false;
	if (cl->waits != NULL)
		sim_waits_add(cl->waits, w->sim.ss->now_ns - cl->asked_ns);
	cl->stored++;
	if (w->sim.ss->now_ns - cl->asked_ns > cl->slowest_ns)
		cl->slowest_ns = w->sim.ss->now_ns - cl->asked_ns;
}

static void
turn(void *arg, struct sim_client *base)
{
	struct client *cl = container_of(base, struct client, base);

	listen_to(arg, cl);
	send_on(arg, cl);
}

static struct world *
world_create(uint32_t memory_mb)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct sim_clients_user user = {w, turn, NULL, NULL};

	check_ptr(w);
	o.cores.memory_bytes = (size_t)memory_mb << 20;
	sim_clients_create(&w->clients, &w->sim, &o, &user);
	return w;
}

static void
world_destroy(struct world *w)
{
	sim_service_destroy(&w->sim);
	free(w);
}

static void
run(struct world *w, uint64_t for_ns)
{
	sim_service_run(&w->sim, for_ns, STEP_NS);
}

static struct client *
join(struct world *w, uint32_t count)
{
	struct client *first = &w->client[w->count];

	for (uint32_t i = 0; i < count; i++)
		sim_client_connect(&w->clients, &w->client[w->count++].base);
	run(w, 200000000);
	for (uint32_t i = 0; i < count; i++)
		check(first[i].base.open);
	return first;
}

static struct store_usage
usage(const struct world *w)
{
	struct store_usage use;

	store_usage_mt(w->sim.sc->store, &use);
	return use;
}

/* Fills the store with small items. */
static void
fill(struct world *w)
{
	for (uint32_t i = 0; i < 40000; i++) {
		char name[16];

		snprintf(name, sizeof name, "fill%u", i);
		if (i % 32 == 0)
			run(w, 2000);
		sim_service_set(&w->sim, name, 900); /* fails if there is no room at the moment */
	}
}

/* Sixty clients begin a megabyte each in a store of 16 MB, and send a segment every two seconds. A
 * good client sets 20 KB from time to time, another one a megabyte at 100 KB a second. */
TEST(crawling_values_take_no_more_than_their_share)
{
	struct world *w = world_create(16);
	struct client *good, *steady, *bad;
	uint64_t before, least = UINT64_MAX;

	fill(w);
	good = join(w, 1);
	steady = join(w, 1);
	bad = join(w, 60);
	before = usage(w).item_bytes;
	check(before > 13u << 20);
	begin(w, steady, LARGE, 10000);
	for (uint32_t i = 0; i < 60; i++)
		begin(w, &bad[i], LARGE, 1460);
	for (uint32_t tick = 0; tick < 200; tick++) {
		steady->allowed += 10000;
		for (uint32_t i = 0; i < 60; i++)
			bad[i].allowed += tick % 20 == 0 ? 1460 : 0;
		if (!good->busy)
			begin(w, good, 20000, UINT32_MAX);
		run(w, NS_PER_S / 10);
		least = usage(w).item_bytes < least ? usage(w).item_bytes : least;
	}
	print_message("items %.1f MB before, %.1f at least; %u reset, 20 KB within %.1f ms, 1 MB "
		      "within %.1f s\n",
		      (double)before / 1e6, (double)least / 1e6,
		      (uint32_t)sim_service_count(&w->sim, CONN_SLOW_BODY),
		      (double)good->slowest_ns / 1e6, (double)steady->slowest_ns / 1e9);
	check(least > before / 2);
	check(sim_service_count(&w->sim, CONN_SLOW_BODY) > 0);
	check(sim_service_count(&w->sim, BEGUN_WAITS) > 0);
	check(!good->base.gone && good->stored >= 190 && good->slowest_ns < 20000000);
	check(!steady->base.gone && steady->stored == 1);
	check_eq(sim_service_count(&w->sim, STORE_NO_MEMORY_COUNT), 0);
	world_destroy(w);
}

/* Three values fit, so none waits, and none is reset for being slow. */
TEST(a_lone_slow_value_is_not_reset)
{
	struct world *w = world_create(16);
	struct client *slow = join(w, 3);

	for (uint32_t i = 0; i < 3; i++)
		begin(w, &slow[i], LARGE, 1000);
	for (uint32_t s = 0; s < 100; s++) {
		for (uint32_t i = 0; i < 3; i++)
			slow[i].allowed += s < 60 ? 1000 : 50000;
		run(w, NS_PER_S);
	}
	for (uint32_t i = 0; i < 3; i++)
		check_eq(slow[i].stored, 1);
	check_eq(sim_service_count(&w->sim, CONN_SLOW_BODY), 0);
	world_destroy(w);
}

/* ---- slow sets of many beside those of others ---- */

/* The sets of the slow clients; all variants have the same volume. */
struct drip {
	uint32_t clients, len, bytes_per_tick;
	/* Bytes of each set that are sent at once; 0: no burst. */
	uint32_t burst;
	/* A send carries the bytes of this many ticks, and happens once in as many; 0: each
	 * tick. */
	uint32_t ticks;
};

#define TICK_NS   2000000u
#define ASK_TICKS 5u /* pause before a client's next set */

static void
rejoin(struct world *w, struct client *cl)
{
	*cl = (struct client){.base = cl->base};
	sim_client_connect(&w->clients, &cl->base);
}

/* Runs a tick of the slow clients; a client that was reset connects again at once. */
static void
drip_on(struct world *w, const struct drip *drip, struct client *many)
{
	const uint32_t ticks = drip->ticks != 0 ? drip->ticks : 1,
		       bytes = drip->bytes_per_tick * ticks;

	for (uint32_t i = 0; i < drip->clients; i++) {
		struct client *cl = &many[i];

		if (cl->base.gone)
			rejoin(w, cl);
		else if (cl->base.open && !cl->busy)
			begin(w, cl, drip->len, drip->burst != 0 ? drip->burst : bytes);
		else if (cl->allowed == 0 && w->sim.ss->now_ns / TICK_NS % ticks == 0)
			cl->allowed = bytes;
	}
}

/* The service that other clients got. */
struct beside {
	uint64_t p99_ns;       /* of sets of 60 KB */
	uint32_t large_stored; /* sets of a megabyte by another fast client */
	uint64_t large_slowest_ns;
	uint32_t resets;
};

static struct beside
beside(const struct drip *drip, uint32_t memory_mb)
{
	struct world *w = world_create(memory_mb);
	struct client *mid, *large, *many;
	struct beside r;

	fill(w);
	mid = join(w, 1);
	large = join(w, 1);
	many = join(w, drip->clients);
	mid->waits = calloc(1, sizeof *mid->waits);
	check_ptr(mid->waits);
	for (uint32_t tick = 0; tick < 2000; tick++) {
		drip_on(w, drip, many);
		if (tick >= 500 && tick % ASK_TICKS == 0) {
			if (!mid->busy)
				begin(w, mid, 60000, UINT32_MAX);
			if (!large->busy)
				begin(w, large, LARGE, UINT32_MAX);
		}
		run(w, TICK_NS);
	}
	print_message("%u of %u bytes, %u B/s each: 60 KB %u, slowest %.2f ms; 1 MB %u within "
		      "%.2f ms; %u reset\n",
		      drip->clients, drip->len, drip->bytes_per_tick * 500, mid->stored,
		      (double)mid->slowest_ns / 1e6, large->stored, (double)large->slowest_ns / 1e6,
		      (uint32_t)sim_service_count(&w->sim, CONN_SLOW_BODY));
	check(mid->stored > 100);
	r = (struct beside){sim_waits_percentile(mid->waits, 99), large->stored, large->slowest_ns,
			    (uint32_t)sim_service_count(&w->sim, CONN_SLOW_BODY)};
	check(!mid->base.gone && !large->base.gone);
	check_eq(sim_service_count(&w->sim, STORE_NO_MEMORY_COUNT), 0);
	free(mid->waits);
	world_destroy(w);
	return r;
}

/* Returns beside() after a check against a control: the same volume in short sets. */
static struct beside
beside_as_without(const struct drip *drip, uint32_t memory_mb)
{
	const struct drip harmless = {drip->clients, 4000, drip->bytes_per_tick, 0, 0};
	const uint64_t without_ns = beside(&harmless, memory_mb).p99_ns;
	const struct beside r = beside(drip, memory_mb);

	print_message("p99 %.2f ms, %.2f without\n", (double)r.p99_ns / 1e6,
		      (double)without_ns / 1e6);
	check(r.p99_ns <= without_ns + without_ns / 2);
	return r;
}

/* The slow clients send 46 KB/s, which is just fast enough not to be reset with a megabyte, or one
 * byte a tick. */
TEST(slow_values_do_not_delay_others)
{
	static const struct drip slow[] = {
		{20, LARGE, 92, 0, 0}, {60, LARGE, 92, 0, 0},  {100, LARGE, 1, 0, 0},
		{60, 64000, 92, 0, 0}, {100, 64000, 92, 0, 0}, {60, 64000, 1, 0, 0},
	};

	for (uint32_t i = 0; i < sizeof slow / sizeof slow[0]; i++) {
		const struct beside r = beside_as_without(&slow[i], 16);

		check(r.large_stored >= 250 && r.large_slowest_ns < 3 * NS_PER_S / 10);
	}
}

/* The clients send their first bytes at once, so their values are proven. Sixteen of a megabyte
 * fill the quota of a store of 64 MB, and sixty of 64 KB that of 16 MB. Some then send just fast
 * enough not to be demoted, or not to be reset. Those that send in bursts pause too long between
 * them. */
TEST(values_that_begin_fast_and_slow_down_do_not_delay_others)
{
	static const struct {
		struct drip drip;
		uint32_t memory_mb, large_least;
		bool may_be_reset;
	} fast[] = {
		{{20, LARGE, 128, 8192, 0}, 64, 250, true},
		{{20, LARGE, 128, 65536, 0}, 64, 250, true},
		{{60, LARGE, 128, 8192, 0}, 64, 1, true},
		{{60, 64000, 128, 8192, 0}, 16, 100, true},
		{{20, LARGE, 2200, 8192, 0}, 64, 1, false},
		{{60, LARGE, 220, 8192, 0}, 64, 0, false},
		/* Bursts come in one tick: those of forty clients, 7,500 frames, would fill the
		 * port. */
		{{20, LARGE, 2200, 8192, 125}, 64, 1, true},
		{{60, LARGE, 220, 8192, 125}, 64, 0, true},
	};

	for (uint32_t i = 0; i < sizeof fast / sizeof fast[0]; i++) {
		const struct beside r = beside_as_without(&fast[i].drip, fast[i].memory_mb);

		check(r.large_stored >= fast[i].large_least);
		check(fast[i].may_be_reset || r.resets == 0);
	}
}

/* The store has 8 MB. Slow sets of less than a quarter of the quota end once a second. A proven
 * value that does not fit beside them is begun before later slow ones. */
TEST(slow_values_do_not_overtake_a_large_one)
{
	struct drip slow = {1, 250000, 92, 0, 0};
	struct world *w = world_create(8);
	struct client *large, *many;

	fill(w);
	large = join(w, 1);
	many = join(w, 10);
	for (uint32_t tick = 0; tick < 8000; tick++) {
		slow.clients = tick < 4500 ? 1 + tick / 500 : 10;
		drip_on(w, &slow, many);
		if (tick == 5000)
			begin(w, large, LARGE, UINT32_MAX);
		run(w, TICK_NS);
	}
	print_message("1 MB %u within %.2f s\n", large->stored, (double)large->slowest_ns / 1e9);
	check(!large->base.gone && large->stored == 1);
	world_destroy(w);
}
