/*
 * Clients of a front that read everything, and request more than their cable carries or than they
 * can read in time: each keeps several gets of large values in flight. Goal: an existing key is
 * never answered as a miss, no connection is reset, no value is fetched twice, and every client
 * gets its part.
 * Method: a whole core with a front, two servers and clients on one stack (sim_fleet.h). What is in
 * flight takes from a fifth of the timeout to five timeouts: by the rate of the cable, or by the
 * rate at which all clients together read, as threads of one process would.
 */
#include "sim_fleet.h"
#include "sim_front.h"
#include "sim_service.h"
#include "zeroed.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS      32u
#define DEPTH        8u
#define KEYS         64u
#define SLOTS        128u
#define MEMORY_BYTES (8u << 20)
#define ANSWER_PART  16u /* as in the program (app/clockoo/start/sizes.c) */
#define TIMEOUT_NS   NS_PER_S
#define FAST         1250000000ull /* bytes a second */
#define STEP_NS      50000u
#define READ_BYTES   8192u /* bytes that a client reads in its turn */
#define VALUE_MEAN   40000u

struct client {
	struct conn *conn;
	bool open;
	uint32_t asked, answered, line_len, left;
	uint64_t waits_ns[DEPTH];
	char line[80];
};

struct world {
	struct sim_service sim;
	struct sim_fleet fleet;
	struct front *front;
	struct front_stats stats;
	struct front_exchange *servers;
	struct region memory;
	struct client client[CLIENTS];
	struct client *of_slot[SLOTS];
	uint64_t rate, read,
		begin_ns; /* bytes a second of all clients; bytes read since begin_ns */
	uint32_t next;    /* client to read first */
	uint32_t hits, missed, refused, resets;
	uint64_t longest_ns;
	bool asks;
};

static void
answer_ends(struct world *w, struct client *cl)
{
	const uint64_t ns = w->sim.ss->now_ns - cl->waits_ns[cl->answered++ % DEPTH];

	w->longest_ns = ns > w->longest_ns ? ns : w->longest_ns;
	cl->line_len = 0;
}

/* Handles the first line of an answer, which has arrived whole. */
static void
line_received(struct world *w, struct client *cl)
{
	cl->line[cl->line_len] = '\0';
	if (strncmp(cl->line, "VALUE ", 6) == 0) {
		cl->left = (uint32_t)atoi(strrchr(cl->line, ' ')) + 2 + sizeof "END\r\n" - 1;
		w->hits++;
		return;
	}
	if (strcmp(cl->line, "END\r\n") == 0)
		w->missed++;
	else
		w->refused++;
	answer_ends(w, cl);
}

/* Reads this many bytes at most; returns how many it has read. */
static uint32_t
client_read(struct world *w, struct client *cl, uint32_t most)
{
	uint32_t done = 0;

	for (struct view v = conn_peek(cl->conn); v.len > 0 && done < most;
	     v = conn_peek(cl->conn)) {
		uint32_t n = 1;

		if (cl->left > 0) {
			n = v.len < cl->left ? v.len : cl->left;
			cl->left -= n;
			if (cl->left == 0)
				answer_ends(w, cl);
		} else {
			check(cl->line_len + 1 < sizeof cl->line);
			cl->line[cl->line_len++] = (char)v.data[0];
			if (v.data[0] == '\n')
				line_received(w, cl);
		}
		conn_advance(w->sim.ss->stack, cl->conn, n);
		done += n;
	}
	return done;
}

static void
client_ask(struct world *w, struct client *cl)
{
	char line[32];

	for (; w->asks && cl->asked - cl->answered < DEPTH; cl->asked++) {
		const uint32_t n = ((uint32_t)(cl - w->client) + cl->asked) * 31 % KEYS;

		cl->waits_ns[cl->asked % DEPTH] = w->sim.ss->now_ns;
		sim_service_say(&w->sim, cl->conn, line, (uint32_t)sprintf(line, "get m%u\r\n", n));
	}
}

/* Lets clients read in turn what their rate allows. */
static void
clients_read(struct world *w)
{
	const uint64_t may = (w->sim.ss->now_ns - w->begin_ns) * w->rate / NS_PER_S;

	for (uint32_t i = 0; i < CLIENTS && w->read < may; i++) {
		struct client *cl = &w->client[w->next++ % CLIENTS];

		if (cl->open)
			w->read += client_read(w, cl, READ_BYTES);
	}
	if (w->read < may) /* unused rate is not saved for later */
		w->read = may;
}

static void
turn(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->sim.ss->stack) != NULL)
		;
	clients_read(w);
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (w->client[i].open)
			client_ask(w, &w->client[i]);
	sim_fleet_turn(&w->fleet);
}

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	if (w->of_slot[conn_slot(c)] != NULL)
		w->of_slot[conn_slot(c)]->open = true;
	else
		sim_fleet_opened(&w->fleet, c);
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;
	struct client *cl = w->of_slot[conn_slot(c)];

	if (cl == NULL) {
		sim_fleet_gone(&w->fleet, c);
		return;
	}
	cl->open = false;
	cl->conn = NULL;
	w->of_slot[conn_slot(c)] = NULL;
	w->resets++;
}

static void
front_attach(struct world *w)
{
	const struct front_settings settings = {
		.conns_max = SLOTS,
		.timeout_ns = TIMEOUT_NS,
		.connect_timeout_ns = 500 * NS_PER_MS,
		.retry_timeout_ns = NS_PER_S,
		.answer_bytes_max = MEMORY_BYTES / ANSWER_PART,
	};

	w->front = sim_front_two(&w->sim, settings, &w->stats, &w->servers, &w->memory);
}

static struct world *
world_create(uint64_t cable_rate, uint64_t read_rate)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {w, on_opened, on_gone, NULL};

	check_ptr(w);
	w->rate = read_rate;
	o.cores.memory_bytes = MEMORY_BYTES;
	o.cores.stack.tcp.conns_max = SLOTS;
	o.cores.stack.tcp.active_reserve = 6;
	o.cores.stack.tcp.chunks = 10240;
	o.cores.stack.net.rx_frames_max = 5120;
	o.cores.frames = 5120 + STACK_FRAMES_MAX + 1024;
	o.cable.delay_ns = 20000;
	o.cable.rate = cable_rate;
	o.cable.queue_ns = 10 * NS_PER_MS;
	o.clients.tcp.conns_max = SLOTS;
	o.clients.tcp.port = SIM_PORT;
	o.clients.tcp.chunks = 32768;
	o.clients.net.rx_frames_max = 65536;
	o.client_frames = 80000;
	sim_front_two_addresses(&o);
	sim_service_create(&w->sim, &o, &user, turn);
	sim_fleet_create(&w->fleet, w->sim.ss->stack);
	front_attach(w);
	return w;
}

static void
world_destroy(struct world *w)
{
	sim_service_destroy(&w->sim);
	sim_fleet_destroy(&w->fleet);
	sim_front_fleet_free(w->servers);
	zeroed_free(w->memory.base, w->memory.size);
	free(w);
}

/* Lets all clients send requests for for_ns, and then only read answers for rest_ns. */
static void
clients_run(struct world *w, uint64_t for_ns, uint64_t rest_ns)
{
	sim_service_run(&w->sim, 50 * NS_PER_MS, STEP_NS); /* the front connects */
	w->asks = true;
	w->begin_ns = w->sim.ss->now_ns;
	w->read = 0;
	for (uint32_t i = 0; i < CLIENTS; i++) {
		w->client[i].conn = sim_service_connect(&w->sim);
		w->of_slot[conn_slot(w->client[i].conn)] = &w->client[i];
	}
	sim_service_run(&w->sim, for_ns, STEP_NS);
	w->asks = false;
	sim_service_run(&w->sim, rest_ns, STEP_NS);
}

/* Checks clients whose answers in flight take this many tenths of the timeout, at the rate of the
 * cable or at that of reading. */
static void
clients_get_all(uint32_t tenths, bool by_cable)
{
	const uint64_t rate = 10ull * CLIENTS * DEPTH * VALUE_MEAN * NS_PER_S / TIMEOUT_NS / tenths,
		       flight_ns = tenths * TIMEOUT_NS / 10;
	struct world *w = world_create(by_cable ? rate : FAST, by_cable ? FAST : rate);
	uint32_t least = UINT32_MAX, most = 0;

	clients_run(w, TIMEOUT_NS + 2 * flight_ns, 3 * flight_ns);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		least = w->client[i].answered < least ? w->client[i].answered : least;
		most = w->client[i].answered > most ? w->client[i].answered : most;
		check_eq(w->client[i].answered, w->client[i].asked);
	}
	print_message("%u tenths by %s: %u hits, %u to %u of a client, longest %u ms, %u yielded\n",
		      tenths, by_cable ? "cable" : "reading", w->hits, least, most,
		      (uint32_t)(w->longest_ns / NS_PER_MS),
		      (uint32_t)sim_service_count(&w->sim, AWAITS_YIELDED));
	check_eq(w->missed + w->refused + w->resets, 0);
	check_eq(sim_service_count(&w->sim, AWAITS_EXPIRED), 0);
	/* Nearly all of what the rate allows arrives, and nothing twice. */
	check(w->hits * 2 >= (TIMEOUT_NS + 2 * flight_ns) * rate / NS_PER_S / VALUE_MEAN);
	check(counter_read(&front_counters(w->front)[FRONT_HITS]) <= w->hits * 11 / 10);
	check(least * 3 >= most * 2);
	world_destroy(w);
}

TEST(more_than_a_cable_takes_is_asked_for_no_sooner)
{
	clients_get_all(2, true);
	clients_get_all(4, true);
	clients_get_all(8, true);
}

TEST(more_than_clients_read_is_asked_for_no_sooner)
{
	clients_get_all(2, false);
	clients_get_all(8, false);
	clients_get_all(50, false);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		tests_filter(argv[1]);
	return tests_run(NULL, NULL);
}
