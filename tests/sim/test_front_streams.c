/*
 * Pipelines of one key behind a front. Goal: all requests of a pipeline are under way at once, up
 * to 200. The server executes those of a client once each and in their order. A get returns the
 * value of its own client's last set, or a later one of another client. A connection that breaks
 * ends each of its requests with an error, and none is sent again. In lines of hundreds of keys all
 * keys are under way at once, and are answered in their order. Method: a whole core with a front,
 * clients with deep pipelines of one key or with long lines, a model server that waits and breaks
 * its connection. A value names its client and its number. A failing seed is named; an argument is
 * the number of seeds.
 */
#include "sim_front.h"
#include "sim_memcached.h"
#include "sim_rng.h"
#include "sim_service.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS    3u
#define SLOTS      32u
#define DEPTH      200u
#define ROUNDS     4u
#define GETS       500u
#define LONG_GETS  160u
#define GET_DIGITS 53 /* a get has 64 bytes: some end where a read buffer ends */
#define ANSWER_MAX 64u
#define STEP_NS    50000u
#define MS         1000000ull
#define TIMEOUT_NS (500 * MS)
#define STEPS_MAX  100000u

static uint64_t seeds = 20; /* the first argument replaces it */

struct request {
	bool gets;
	bool stored; /* the client received STORED for this set */
	uint32_t executed;
};

struct client {
	struct conn *conn;
	uint32_t number, made, answered, round;
	uint32_t last_executed; /* one more than the number of its last set that was executed */
	char line[ANSWER_MAX];
	uint32_t len;
	char out[DEPTH * ANSWER_MAX]; /* requests that are not sent yet, from out_at on */
	uint32_t out_at, out_len;
	/* Keys of lines of many keys: named, answered in their order, and different ones. */
	uint32_t keys, received, keys_apart;
	int digits;                      /* digits of the numbers in keys */
	char value[SIM_MEMCACHED_VALUE]; /* value of the get that is being read; empty: a miss */
	struct request request[ROUNDS * DEPTH];
	/* For each other client: one more than the last number that was read of its values. */
	uint32_t seen[CLIENTS];
};

struct world {
	struct sim_service sim;
	struct sim_one_front one;
	struct sim_memcached server;
	struct sim_rng rng;
	struct client client[CLIENTS];
	bool is_client[SLOTS];
	uint32_t clients, sets, errors, wait;
	bool fails;    /* the server breaks its connections */
	bool may_fail; /* error replies are expected */
	uint64_t seed;
};

/* ---- judging ---- */

static void
judge_that(const struct world *w, bool right, const char *what, const struct client *cl)
{
	if (!right)
		fail_msg("seed %llu: %s: client %u, answer %u: %s %s", (unsigned long long)w->seed,
			 what, cl->number, cl->answered, cl->line, cl->value);
}

/* Called after each request that the server has executed. */
static void
executed(void *arg)
{
	struct world *w = arg;
	uint32_t client, number;
	struct client *cl;

	if (w->server.sets == w->sets)
		return;
	w->sets = w->server.sets;
	check_eq(sscanf(w->server.value[0], "v%u.%u", &client, &number), 2);
	cl = &w->client[client];
	judge_that(w, cl->request[number].executed++ == 0, "a set is executed twice", cl);
	judge_that(w, cl->last_executed <= number, "sets are executed out of order", cl);
	cl->last_executed = number + 1;
}

/* Returns the number of the client's last set before this request that was stored, and one more;
 * 0: none. */
static uint32_t
stored_before(const struct client *cl, uint32_t number)
{
	while (number > 0 && !cl->request[number - 1].stored)
		number--;
	return number;
}

static void
judge_get(const struct world *w, struct client *cl)
{
	const uint32_t own = stored_before(cl, cl->answered);
	uint32_t client, number;

	if (cl->value[0] == '\0') {
		judge_that(w, own == 0, "a stored value is missed", cl);
		return;
	}
	check_eq(sscanf(cl->value, "v%u.%u", &client, &number), 2);
	if (client == cl->number) {
		judge_that(w, number < cl->answered, "a later value is read", cl);
		judge_that(w, number + 1 >= own, "an older value is read", cl);
		return;
	}
	judge_that(w, number + 1 >= cl->seen[client], "another's older value is read", cl);
	cl->seen[client] = number + 1;
}

/* Reads a line of the answer to many keys, which have one value each. */
static void
keys_line_read(struct world *w, struct client *cl)
{
	const bool error = strncmp(cl->line, "SERVER_ERROR", 12) == 0;
	uint32_t key;

	judge_that(w, !error || w->may_fail, "an error", cl);
	w->errors += error;
	if (sscanf(cl->line, "VALUE key0.%u", &key) == 1)
		check_eq(key, cl->received++ % cl->keys_apart);
	else if (error || strcmp(cl->line, "END") == 0)
		cl->answered++;
	else
		check(strcmp(cl->line, "x") == 0);
}

static void
line_read(struct world *w, struct client *cl)
{
	struct request *r = &cl->request[cl->answered];
	const bool error = strncmp(cl->line, "SERVER_ERROR", 12) == 0;

	if (cl->line[0] == 'v') {
		strcpy(cl->value, cl->line);
		return;
	}
	if (strncmp(cl->line, "VALUE", 5) == 0)
		return;
	judge_that(w, cl->answered < cl->made, "an answer to no request", cl);
	judge_that(w, error || strcmp(cl->line, r->gets ? "END" : "STORED") == 0, "another answer",
		   cl);
	judge_that(w, !error || w->may_fail, "an error", cl);
	w->errors += error;
	r->stored = !r->gets && !error;
	if (r->gets && !error)
		judge_get(w, cl);
	cl->value[0] = '\0';
	cl->answered++;
}

/* ---- the world ---- */

static void
client_read(struct world *w, struct client *cl)
{
	for (struct view v = conn_peek(cl->conn); v.len > 0; v = conn_peek(cl->conn)) {
		for (uint32_t i = 0; i < v.len; i++) {
			check(cl->len < ANSWER_MAX);
			cl->line[cl->len++] = (char)v.data[i];
			if (v.data[i] != '\n')
				continue;
			cl->line[cl->len - 2] = '\0';
			cl->len = 0;
			if (cl->keys > 0)
				keys_line_read(w, cl);
			else
				line_read(w, cl);
		}
		conn_advance(w->sim.ss->stack, cl->conn, v.len);
	}
}

static void
client_send(struct world *w, struct client *cl)
{
	while (cl->out_at < cl->out_len && conn_writable(w->sim.ss->stack, cl->conn, 1)) {
		const uint32_t left = cl->out_len - cl->out_at,
			       n = left < CONN_RESERVE_MAX ? left : CONN_RESERVE_MAX;

		sim_service_say(&w->sim, cl->conn, cl->out + cl->out_at, n);
		cl->out_at += n;
	}
}

/* Composes a pipeline, which begins with a set. */
static void
client_say(struct world *w, struct client *cl, uint32_t gets_of_100)
{
	cl->out_at = cl->out_len = 0;
	for (uint32_t i = 0; i < DEPTH; i++) {
		const uint32_t n = cl->made++;
		char value[SIM_MEMCACHED_VALUE];

		cl->request[n].gets = i > 0 && sim_below(&w->rng, 100) < gets_of_100;
		sprintf(value, "v%u.%u", cl->number, n);
		if (cl->request[n].gets)
			cl->out_len += (uint32_t)sprintf(cl->out + cl->out_len, "get key0\r\n");
		else
			cl->out_len += (uint32_t)sprintf(cl->out + cl->out_len,
							 "set key0 0 0 %zu\r\n%s\r\n",
							 strlen(value), value);
	}
	cl->round++;
	client_send(w, cl);
}

/* Composes lines of `keys` keys each, of which `apart` in all are different. */
static void
client_say_lines(struct world *w, struct client *cl, uint32_t lines, uint32_t keys, uint32_t apart)
{
	cl->out_at = cl->out_len = 0;
	cl->keys_apart = apart;
	for (uint32_t i = 0; i < lines; i++) {
		cl->out_len += (uint32_t)sprintf(cl->out + cl->out_len, "get");
		for (uint32_t k = 0; k < keys; k++)
			cl->out_len += (uint32_t)sprintf(cl->out + cl->out_len, " key0.%0*u",
							 cl->digits, cl->keys++ % cl->keys_apart);
		cl->out_len += (uint32_t)sprintf(cl->out + cl->out_len, "\r\n");
	}
	client_send(w, cl);
}

static void
client_turn(struct world *w, struct client *cl)
{
	client_read(w, cl);
	client_send(w, cl);
}

static void
server_break(struct world *w)
{
	struct conn *c = w->server.conn;

	if (c == NULL)
		return;
	sim_memcached_gone(&w->server, c);
	w->server.left.len = 0;
	conn_abort(w->sim.ss->stack, c);
}

static void
turn(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->sim.ss->stack) != NULL)
		;
	for (uint32_t i = 0; i < w->clients; i++)
		client_turn(w, &w->client[i]);
	if (w->fails && w->server.said.len > 0 && sim_below(&w->rng, 30) == 0)
		server_break(w);
	if (w->wait == 0 && sim_below(&w->rng, 10) == 0)
		w->wait = sim_below(&w->rng, 20);
	w->server.waits = w->wait > 0;
	w->wait -= w->wait > 0 && w->wait != UINT32_MAX;
	sim_memcached_turn(&w->server);
}

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	if (!w->is_client[conn_slot(c)])
		sim_memcached_opened(&w->server, c);
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;

	sim_memcached_gone(&w->server, c);
}

static void
front_attach(struct world *w, uint32_t copies)
{
	const struct front_settings settings = {
		.conns_max = SLOTS,
		.timeout_ns = TIMEOUT_NS,
		.connect_timeout_ns = TIMEOUT_NS,
		.retry_timeout_ns = MS,
		.failure_limit = 1000,
		.answer_bytes_max = 1u << 20,
		.ttl_s = 1000,
	};

	sim_one_front_create(&w->one, &w->sim, &settings, copies);
}

static struct world *
world_with(uint64_t seed, uint32_t clients, uint32_t copies)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {w, on_opened, on_gone, NULL};

	check_ptr(w);
	o.cores.memory_bytes = 16u << 20;
	o.cores.stack.tcp.conns_max = SLOTS;
	o.cores.stack.tcp.active_reserve = 3;
	o.cores.stack.tcp.chunks = 16384;
	o.clients.tcp.conns_max = SLOTS;
	o.clients.tcp.chunks = 1024;
	o.clients.tcp.port = SIM_PORT;
	o.cable.delay_ns = 10000;
	w->seed = w->rng.state = seed;
	w->clients = clients;
	sim_service_create(&w->sim, &o, &user, turn);
	w->server.stack = w->sim.ss->stack;
	w->server.executed = executed;
	w->server.arg = w;
	front_attach(w, copies);
	for (uint32_t i = 0; i < clients; i++) {
		struct conn *c = sim_service_connect(&w->sim);

		w->is_client[conn_slot(c)] = true;
		w->client[i].conn = c;
		w->client[i].number = i;
	}
	for (uint32_t i = 0; front_lane_info(w->one.front, 0).state != LANE_UP; i++) {
		check(i < STEPS_MAX);
		sim_service_run(&w->sim, STEP_NS, STEP_NS);
	}
	return w;
}

static struct world *
world_create(uint64_t seed, uint32_t clients)
{
	return world_with(seed, clients, FRONT_ITEMS_MEMORY);
}

static void
world_destroy(struct world *w)
{
	check_eq(front_requests_open(w->one.front), 0);
	sim_service_destroy(&w->sim);
	sim_one_front_destroy(&w->one);
	free(w);
}

/* Each client composes its next pipeline some time after the last one is answered. */
static void
run_all(struct world *w)
{
	bool over = false;

	for (uint32_t step = 0; !over; step++) {
		check(step < STEPS_MAX);
		over = true;
		for (uint32_t i = 0; i < w->clients; i++) {
			struct client *cl = &w->client[i];

			over &= cl->round == ROUNDS && cl->answered == cl->made;
			if (cl->answered == cl->made && cl->round < ROUNDS &&
			    sim_below(&w->rng, 10) == 0)
				client_say(w, cl, (uint32_t)(w->seed % 3) * 30);
		}
		sim_service_run(&w->sim, 2 * STEP_NS, STEP_NS);
	}
}

/* ---- tests ---- */

TEST(two_hundred_sets_of_a_key_are_under_way_at_once)
{
	struct world *w = world_create(1, 1);

	w->wait = UINT32_MAX;
	client_say(w, &w->client[0], 0);
	sim_service_run(&w->sim, 20 * MS, STEP_NS);
	check_eq(w->server.sets_most, DEPTH);
	check_eq(w->server.sets, 0);
	w->wait = 0;
	sim_service_run(&w->sim, 20 * MS, STEP_NS);
	check_eq(w->client[0].answered, DEPTH);
	world_destroy(w);
}

/* Checks that the server is asked for all keys of these lines before it answers any, so that they
 * take one round trip. */
static void
lines_take_one_round_trip(uint32_t lines, uint32_t keys, uint32_t digits)
{
	struct world *w = world_create(1, 1);

	w->wait = UINT32_MAX;
	w->client[0].digits = digits;
	strcpy(w->server.value[0], "x");
	client_say_lines(w, &w->client[0], lines, keys, lines * keys);
	sim_service_run(&w->sim, 20 * MS, STEP_NS);
	check_eq(w->server.keys_most, lines * keys);
	check_eq(w->server.gets, 0);
	w->wait = 0;
	sim_service_run(&w->sim, 20 * MS, STEP_NS);
	check_eq(w->server.gets, lines * keys);
	check_eq(w->client[0].received, lines * keys);
	check_eq(w->client[0].answered, lines);
	world_destroy(w);
}

TEST(all_keys_of_a_line_are_under_way_at_once)
{
	lines_take_one_round_trip(1, GETS, 1);
}

TEST(all_keys_of_several_long_lines_are_under_way_at_once)
{
	lines_take_one_round_trip(2, GETS / 2, 1);
	lines_take_one_round_trip(GETS, 1, 1);
}

/* Some of these lines end where a read buffer ends. */
TEST(all_keys_of_lines_of_any_length_are_under_way_at_once)
{
	for (uint32_t digits = 1; digits <= 40; digits++)
		lines_take_one_round_trip(200, 1, digits);
}

/* A key that a line names twice gets one answer for both, or is requested again in its turn, amid
 * keys that have been requested. */
TEST(lines_that_repeat_keys_are_answered_in_their_order)
{
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = world_with(seed, 1, seed % 4 < 2 ? 0 : FRONT_ITEMS_MEMORY);
		const uint32_t keys = seed % 2 ? 1 : 200 + 50 * sim_below(&w->rng, 7),
			       lines = seed % 2 ? GETS : 2,
			       apart = 20 + sim_below(&w->rng, lines * keys);

		strcpy(w->server.value[0], "x");
		client_say_lines(w, &w->client[0], lines, keys, apart);
		for (uint32_t step = 0; w->client[0].answered < lines; step++) {
			check(step < STEPS_MAX);
			sim_service_run(&w->sim, 2 * STEP_NS, STEP_NS);
		}
		check_eq(w->client[0].received, lines * keys);
		world_destroy(w);
	}
}

TEST(a_connection_that_breaks_ends_all_of_them_and_none_is_sent_again)
{
	struct world *w = world_create(1, 1);

	w->wait = UINT32_MAX;
	client_say(w, &w->client[0], 0);
	sim_service_run(&w->sim, 20 * MS, STEP_NS);
	check_eq(w->server.sets_most, DEPTH);
	w->may_fail = true;
	server_break(w);
	w->wait = 0;
	sim_service_run(&w->sim, 200 * MS, STEP_NS);
	check_eq(w->client[0].answered, DEPTH);
	check_eq(w->errors, DEPTH);
	check_eq(w->server.sets, 0);
	world_destroy(w);
}

/* Most of the failed gets are no longer in a read buffer: they are answered from copies of their
 * bytes. */
TEST(a_connection_that_breaks_ends_all_gets_and_none_is_sent_again)
{
	struct world *w = world_create(1, 1);

	w->wait = UINT32_MAX;
	w->client[0].digits = GET_DIGITS;
	client_say_lines(w, &w->client[0], LONG_GETS, 1, LONG_GETS);
	sim_service_run(&w->sim, 20 * MS, STEP_NS);
	check_eq(w->server.keys_most, LONG_GETS);
	w->may_fail = true;
	server_break(w);
	w->wait = 0;
	sim_service_run(&w->sim, 200 * MS, STEP_NS);
	check_eq(w->client[0].answered, LONG_GETS);
	check_eq(w->errors, LONG_GETS);
	check_eq(w->server.gets, 0);
	world_destroy(w);
}

TEST(pipelines_of_one_key_keep_their_order)
{
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = world_create(seed, CLIENTS);

		run_all(w);
		world_destroy(w);
	}
}

TEST(pipelines_keep_their_order_while_connections_break)
{
	uint32_t errors = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = world_create(seed, CLIENTS);

		w->fails = w->may_fail = true;
		run_all(w);
		errors += w->errors;
		world_destroy(w);
	}
	check(errors > DEPTH);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		seeds = strtoul(argv[1], NULL, 10);
	if (argc > 2)
		tests_filter(argv[2]);
	return tests_run(NULL, NULL);
}
