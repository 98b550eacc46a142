/*
 * Readers of large values that read slowly but make progress. Goal: however fast a crowd of them
 * reads, it pins no more than its share of memory: sets and gets of others are answered as without
 * it, and others' items stay. A fast reader is not reset.
 * Method: a whole core, and a stack as its clients, on a cable of 40 Gbit/s; the same run without
 * the readers is the control.
 */
#include "sim_rng.h"
#include "sim_client.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS_MAX 256u
#define MS_NS       1000000ull
#define STEP_NS     100000u /* longest time between two turns */
#define TICK_NS     (10 * MS_NS)
#define LARGE       1000000u
#define SMALL       20000u
#define HONEST      10u
#define OTHERS      150u /* items of SMALL bytes that are stored once */
/* At this rate sixteen simultaneous uploads, a tenth of the memory, take only 0.4 ms. */
#define CABLE_RATE 5000000000u
#define AGAIN_NS   (50 * MS_NS) /* wait before a client connects again after a reset */

enum role { ROLE_HONEST, ROLE_READER };
enum verb { VERB_NONE, VERB_SET, VERB_GET };

struct client {
	struct sim_client base;
	enum role role;
	uint32_t number;
	enum verb verb;
	bool of_others;     /* the request is for an item of OTHERS */
	uint32_t left;      /* bytes of the value still to send, line end included */
	uint32_t got, want; /* bytes of the answer */
	char head[8];       /* the first bytes of the answer */
	uint64_t asked_ns, next_ns;
	/* Bytes a second that the client reads; 0: unlimited. */
	uint64_t rate;
	uint32_t done, resets;
};

struct world {
	struct sim_service sim;
	struct sim_rng rng;
	struct sim_clients clients;
	struct client client[CLIENTS_MAX];
	uint32_t count;
	struct sim_waits sets, gets;
	uint32_t hits, misses, refused;
	bool measures;
};

static void
on_gone(void *arg, struct sim_client *base)
{
	const struct world *w = arg;
	struct client *cl = container_of(base, struct client, base);

	cl->verb = VERB_NONE;
	cl->left = 0;
	cl->resets++;
	cl->next_ns = w->sim.ss->now_ns + AGAIN_NS;
}

/* ---- requests ---- */

static void
ask_get(struct world *w, struct client *cl, const char *name, uint32_t len)
{
	char line[64];
	int n = snprintf(line, sizeof line, "get %s\r\n", name);

	sim_service_say(&w->sim, cl->base.conn, line, (uint32_t)n);
	n = snprintf(line, sizeof line, "VALUE %s 0 %u\r\n", name, len);
	cl->want = (uint32_t)n + len + 7;
	cl->verb = VERB_GET;
}

static void
ask_set(struct world *w, struct client *cl, const char *name, uint32_t len)
{
	char line[64];
	const int n = snprintf(line, sizeof line, "set %s 0 0 %u\r\n", name, len);

	sim_service_say(&w->sim, cl->base.conn, line, (uint32_t)n);
	cl->left = len + 2;
	cl->want = 8;
	cl->verb = VERB_SET;
}

/* Sends the next request; a reader sets its value, gets it, and so on. */
static void
ask(struct world *w, struct client *cl, enum verb last)
{
	char name[16];

	cl->got = 0;
	cl->asked_ns = w->sim.ss->now_ns;
	if (cl->role == ROLE_READER) {
		snprintf(name, sizeof name, "p%u", cl->number);
		if (last == VERB_SET)
			ask_get(w, cl, name, LARGE);
		else
			ask_set(w, cl, name, LARGE);
		return;
	}
	cl->of_others = sim_below(&w->rng, 3) == 0;
	snprintf(name, sizeof name, "%c%u", cl->of_others ? 'o' : 'h',
		 sim_below(&w->rng, cl->of_others ? OTHERS : 4));
	if (cl->of_others || sim_below(&w->rng, 2) == 0)
		ask_get(w, cl, name, SMALL);
	else
		ask_set(w, cl, name, SMALL);
}

/* ---- answers ---- */

static void
answered(struct world *w, struct client *cl)
{
	const enum verb verb = cl->verb;
	const uint64_t now_ns = w->sim.ss->now_ns;

	cl->verb = VERB_NONE;
	cl->done++;
	w->refused += cl->head[0] == 'S' && cl->head[1] == 'E';
	if (cl->role == ROLE_READER) {
		/* A value that was evicted meanwhile is stored again. */
		ask(w, cl, cl->head[0] == 'E' ? VERB_GET : verb);
		return;
	}
	cl->next_ns = now_ns + MS_NS;
	if (!w->measures)
		return;
	sim_waits_add(verb == VERB_SET ? &w->sets : &w->gets, now_ns - cl->asked_ns);
	if (cl->of_others) {
		w->hits += cl->head[0] == 'V';
		w->misses += cl->head[0] == 'E';
	}
}

/* Returns how many bytes the client may have read by now. */
static uint32_t
may_read(const struct world *w, const struct client *cl)
{
	if (cl->rate == 0 || cl->verb == VERB_SET)
		return UINT32_MAX;
	return (uint32_t)((w->sim.ss->now_ns - cl->asked_ns) * cl->rate / NS_PER_S);
}

static void
listen_to(struct world *w, struct client *cl)
{
	const uint32_t may = may_read(w, cl);

	for (struct view v = conn_peek(cl->base.conn); v.len > 0 && cl->got < may;
	     v = conn_peek(cl->base.conn)) {
		const uint32_t n = v.len < may - cl->got ? v.len : may - cl->got;

		for (uint32_t i = 0; i < n && cl->got + i < sizeof cl->head; i++)
			cl->head[cl->got + i] = (char)v.data[i];
		cl->got += n;
		if (cl->got >= 5 && memcmp(cl->head, "END\r\n", 5) == 0)
			cl->want = 5;
		conn_advance(w->sim.ss->stack, cl->base.conn, n);
	}
	if (cl->verb == VERB_NONE || cl->got < cl->want)
		return;
	check_eq(cl->got, cl->want);
	answered(w, cl);
}

static void
turn(void *arg, struct sim_client *base)
{
	struct world *w = arg;
	struct client *cl = container_of(base, struct client, base);

	listen_to(w, cl);
	if (cl->verb == VERB_NONE && w->sim.ss->now_ns >= cl->next_ns)
		ask(w, cl, VERB_NONE);
	sim_service_send_body(&w->sim, base->conn, &cl->left, UINT32_MAX);
}

/* ---- the world ---- */

static struct world *
world_create(uint32_t memory_mb)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct sim_clients_user user = {w, turn, NULL, on_gone};

	check_ptr(w);
	w->rng.state = 1;
	o.cores.memory_bytes = (size_t)memory_mb << 20;
	o.cable.rate = CABLE_RATE;
	o.cable.queue_ns = NS_PER_S;
	o.clients.tcp.conns_max = CLIENTS_MAX;
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
	for (uint64_t ns = 0; ns < for_ns; ns += TICK_NS) {
		for (uint32_t i = 0; i < w->count; i++)
			if (w->client[i].base.conn == NULL &&
			    w->sim.ss->now_ns >= w->client[i].next_ns)
				sim_client_connect(&w->clients, &w->client[i].base);
		sim_service_run(&w->sim, TICK_NS, STEP_NS);
	}
}

static struct client *
join(struct world *w, enum role role, uint32_t count, uint64_t rate)
{
	struct client *first = &w->client[w->count];

	for (uint32_t i = 0; i < count; i++, w->count++)
		w->client[w->count] =
			(struct client){.role = role, .number = w->count, .rate = rate};
	return first;
}

static void
fill(struct world *w)
{
	for (uint32_t i = 0; i < OTHERS; i++) {
		char name[16];

		snprintf(name, sizeof name, "o%u", i);
		check_eq(sim_service_set(&w->sim, name, SMALL), STORE_OK);
		run(w, TICK_NS);
	}
}

static uint32_t
p99_us(struct sim_waits *waits)
{
	check(waits->count > 1000);
	return (uint32_t)(sim_waits_percentile(waits, 99) / 1000);
}

/* ---- tests ---- */

#define MEMORY_MB 64u
#define CROWD     100u

struct result {
	uint32_t set_us, get_us; /* p99 */
	uint32_t hits, good_resets, good_done;
	uint64_t evicted;
};

/* Runs five seconds of honest clients and one that reads a megabyte a second, beside a crowd whose
 * members read `rate` bytes a second each. */
static struct result
honest_beside(uint32_t crowd, uint64_t rate)
{
	struct world *w = world_create(MEMORY_MB);
	struct client *good;
	struct result r;

	join(w, ROLE_HONEST, HONEST, 0);
	fill(w);
	good = join(w, ROLE_READER, 1, 1000000);
	join(w, ROLE_READER, crowd, rate);
	w->measures = true;
	run(w, 5 * NS_PER_S);
	r = (struct result){
		.set_us = p99_us(&w->sets),
		.get_us = p99_us(&w->gets),
		.hits = w->hits,
		.good_resets = good->resets,
		.good_done = good->done,
		.evicted = sim_service_stack_count(&w->sim, TCP_EVICTED_SLOW_READER),
	};
	print_message("%u readers of %u KB/s: p99 of sets %u us, of gets %u us; others %u hits, %u "
		      "misses; %u reset; who reads 1 MB/s: %u answers, %u resets\n",
		      crowd, (uint32_t)(rate / 1000), r.set_us, r.get_us, r.hits, w->misses,
		      (uint32_t)r.evicted, r.good_done, r.good_resets);
	check_eq(w->refused, 0);
	world_destroy(w);
	return r;
}

TEST(a_crowd_of_slow_readers_pins_no_more_than_its_share)
{
	static const uint64_t rates[] = {34000, 40000, 300000};
	const struct result alone = honest_beside(0, 0);

	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		const struct result beside = honest_beside(CROWD, rates[i]);

		check(beside.set_us <= alone.set_us + alone.set_us / 2);
		check(beside.get_us <= alone.get_us + alone.get_us / 2);
		check(beside.hits >= alone.hits - alone.hits / 4);
		check_eq(beside.good_resets, 0);
		check(beside.good_done >= 3);
		check(beside.evicted > 0 || rates[i] > 250000);
	}
}
