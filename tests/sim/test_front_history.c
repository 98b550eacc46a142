/*
 * The histories of keys behind a front with copies. Goal: the answers of each key are linearizable
 * (linear.h), however requests overlap, and although the server forgets, delays, and executes
 * requests after their connection has ended. Method: a whole core with a front, eight clients with
 * a pipeline each, a model server (sim_memcached.h) on the clients' stack. A request that is
 * answered with an error takes effect at any later time, or never. A failing seed is named;
 * arguments are the number of seeds, and the name of one test.
 *
 * In shared mode another client writes to the server. Goal: the value that a get returns was at the
 * server no earlier than a copy's life before the get, and no earlier than the last set through
 * this front.
 * Method: the server records which value it had when, and delays replies to executed requests.
 */
#include "sim_front.h"
#include "sim_memcached.h"
#include "sim_rng.h"
#include "sim_service.h"

#include "support/test.h"

#include "../stress/linear.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS      8u
#define SLOTS        32u
#define CALL_MAX     150u
#define RECEIVED_MAX 128u
#define STEP_NS      50000u
#define MS           1000000ull
#define TIMEOUT_NS   (20 * MS)
#define STEPS_MAX    200000u
#define NEVER        (UINT64_MAX / 2)
#define COPY_NS      (10 * MS)
#define NOTES_MAX    4000u

static uint64_t seeds = 20; /* the first argument replaces it */

struct client {
	struct conn *conn;
	bool gone;           /* the last write failed, so its effect is unknown */
	struct call *call;   /* the next call to be answered */
	struct call *behind; /* the call after that; NULL: none */
	uint32_t begun;
	char received[RECEIVED_MAX];
	uint32_t received_len;
};

/* A key has this value at its server from ns on. */
struct note {
	uint64_t ns;
	uint32_t key;
	char value[SIM_MEMCACHED_VALUE];
};

struct world {
	struct sim_service sim;
	struct sim_one_front one;
	struct client client[CLIENTS];
	struct client *of_slot[SLOTS];
	struct sim_memcached server;
	struct sim_rng rng;
	struct call call[CALL_MAX];
	bool tells_nothing[CALL_MAX];
	bool shows_cas[CALL_MAX]; /* the call is a gets */
	/* The cas received with this call's value; 0: none yet. */
	uint64_t cas_of[CALL_MAX];
	uint32_t calls;
	uint64_t tick;
	bool fails;
	/* A number drawn below 100 is a read if below `reads`, else a set if below `sets`. */
	uint32_t reads;
	uint32_t sets;
	uint32_t wait; /* turns for which the server still waits */

	/* Shared mode. */
	uint64_t copy_ns; /* 0: not in shared mode */
	uint32_t mute;    /* turns for which the server keeps its replies */
	uint32_t foreign; /* writes of other clients */
	uint64_t invoked_ns[CALL_MAX], returned_ns[CALL_MAX];
	struct note note[NOTES_MAX];
	uint32_t notes;
	/* The largest age of a value that a get returned, at the time of the get. */
	uint64_t oldest_ns;
};

/* ---- calls ---- */

static void
call_say(struct world *w, struct client *cl, const struct call *c)
{
	static const char *const verbs[] = {[CALL_GET] = "get",
					    [CALL_SET] = "set",
					    [CALL_ADD] = "add",
					    [CALL_DELETE] = "delete"};
	char text[100];
	int n;

	if (c->kind == CALL_FLUSH)
		n = sprintf(text, "flush_all\r\n");
	else if (c->len == 0)
		n = sprintf(text, "%s%s key%u\r\n", verbs[c->kind],
			    w->shows_cas[c - w->call] ? "s" : "", c->key);
	else
		n = sprintf(text, "%s key%u 0 0 %u\r\n%.*s\r\n", verbs[c->kind], c->key, c->len,
			    (int)c->len, c->bytes);
	sim_service_say(&w->sim, cl->conn, text, (uint32_t)n);
}

/* Begins a call. The second call of a pipeline has another key, so that a key has no more
 * concurrent calls than without pipelines. */
static void
call_begin(struct world *w, struct client *cl)
{
	const struct call *before = cl->call;
	const uint32_t n = w->calls++, what = sim_below(&w->rng, 100);
	struct call *c = &w->call[n];

	if (before == NULL)
		cl->call = c;
	else
		cl->behind = c;
	*c = (struct call){.invoked = ++w->tick,
			   .thread = (uint32_t)(cl - w->client) * 2 + cl->begun++ % 2,
			   .key = sim_below(&w->rng, 8) < 6 ? 0 : sim_below(&w->rng, 3),
			   .now_s = STORE_CLOCK_START,
			   .got_no_cas = true};
	w->invoked_ns[n] = w->sim.ss->now_ns;
	if (before != NULL)
		c->key = (before->key + 1 + sim_below(&w->rng, 2)) % 3;
	c->kind = what < 3          ? (before != NULL ? CALL_SET : CALL_FLUSH)
		  : what < w->reads ? CALL_GET
		  : what < w->sets  ? CALL_SET
		  : what < 92       ? CALL_ADD
				    : CALL_DELETE;
	if (c->kind == CALL_SET || c->kind == CALL_ADD)
		c->len = (uint32_t)snprintf(c->bytes, sizeof c->bytes, "v%u", n);
	w->shows_cas[n] = c->kind == CALL_GET && sim_below(&w->rng, 3) == 0;
	call_say(w, cl, c);
}

/* Ends a failed call: a read is dropped, and a write may take effect after all others. */
static void
call_failed(struct world *w, struct client *cl)
{
	struct call *c = cl->call;

	if (c->kind == CALL_GET) {
		w->tells_nothing[c - w->call] = true;
		return;
	}
	c->returned += NEVER;
	c->result = c->kind == CALL_DELETE ? STORE_NOT_FOUND : STORE_OK;
	cl->gone = true;
}

/* Checks that each value of a client has one cas, and no other value has that cas. */
static void
cas_check(struct world *w, const char *value, uint64_t cas)
{
	uint64_t *of;

	if (value[0] != 'v')
		return;
	of = &w->cas_of[strtoul(value + 1, NULL, 10)];
	check(cas != 0 && (*of == 0 || *of == cas));
	*of = cas;
}

static void
value_read(struct world *w, struct client *cl)
{
	struct call *c = cl->call;
	unsigned long long cas = 0;
	char key[8], value[32];
	unsigned len;

	if (w->shows_cas[c - w->call]) {
		check_eq(sscanf(cl->received, "VALUE %7s 0 %u %llu %31s", key, &len, &cas, value),
			 4);
		cas_check(w, value, cas);
	} else {
		check_eq(sscanf(cl->received, "VALUE %7s 0 %u %31s", key, &len, value), 3);
	}
	check_eq(key[3] - '0', c->key);
	check_eq(strlen(value), len);
	c->result = STORE_OK;
	c->got_len = len;
	memcpy(c->got, value, len);
}

static bool
ends_with(const struct client *cl, const char *text)
{
	const size_t len = strlen(text);

	return cl->received_len >= len &&
	       memcmp(cl->received + cl->received_len - len, text, len) == 0;
}

static void
received(struct world *w, struct client *cl)
{
	struct call *c = cl->call;
	const bool failed = strncmp(cl->received, "SERVER_ERROR", 12) == 0;

	cl->received[cl->received_len] = '\0';
	if (!ends_with(cl, c->kind == CALL_GET && !failed ? "END\r\n" : "\r\n"))
		return;
	c->returned = ++w->tick;
	w->returned_ns[c - w->call] = w->sim.ss->now_ns;
	if (failed)
		call_failed(w, cl);
	else if (strncmp(cl->received, "VALUE", 5) == 0)
		value_read(w, cl);
	else
		c->result = strcmp(cl->received, "NOT_STORED\r\n") == 0 ? STORE_NOT_STORED
			    : strcmp(cl->received, "NOT_FOUND\r\n") == 0 ||
					    strcmp(cl->received, "END\r\n") == 0
				    ? STORE_NOT_FOUND
				    : STORE_OK;
	cl->call = cl->behind;
	cl->behind = NULL;
	cl->received_len = 0;
}

/* ---- the world ---- */

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	if (w->of_slot[conn_slot(c)] == NULL)
		sim_memcached_opened(&w->server, c);
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;

	sim_memcached_gone(&w->server, c);
}

static void
client_turn(struct world *w, struct client *cl)
{
	for (struct view v = conn_peek(cl->conn); v.len > 0; v = conn_peek(cl->conn)) {
		for (uint32_t i = 0; i < v.len; i++) {
			check(cl->call != NULL && cl->received_len + 1 < RECEIVED_MAX);
			cl->received[cl->received_len++] = (char)v.data[i];
			received(w, cl);
		}
		conn_advance(w->sim.ss->stack, cl->conn, v.len);
	}
	if (cl->call != NULL || cl->gone || w->calls == CALL_MAX ||
	    sim_below(&w->rng, w->copy_ns != 0 ? 40 : 4) != 0)
		return;
	call_begin(w, cl);
	if (cl->call->kind != CALL_FLUSH && w->calls < CALL_MAX && sim_below(&w->rng, 2) == 0)
		call_begin(w, cl);
}

/* Records changes of the server's values. */
static void
note_values(void *arg)
{
	struct world *w = arg;

	for (uint32_t key = 0; key < SIM_MEMCACHED_KEYS; key++) {
		uint32_t last = w->notes;

		while (last > 0 && w->note[last - 1].key != key)
			last--;
		if (last > 0 && strcmp(w->note[last - 1].value, w->server.value[key]) == 0)
			continue;
		check(w->notes < NOTES_MAX);
		w->note[w->notes].ns = w->sim.ss->now_ns;
		w->note[w->notes].key = key;
		strcpy(w->note[w->notes++].value, w->server.value[key]);
	}
}

/* Writes as another client. Replies are delayed for up to a copy's life. */
static void
others_turn(struct world *w)
{
	struct sim_memcached *s = &w->server;

	if (sim_below(&w->rng, 20) == 0)
		sprintf(s->value[sim_below(&w->rng, 2)], "x%u", w->foreign++);
	if (!s->mute && sim_below(&w->rng, 20) == 0)
		w->mute = sim_below(&w->rng, COPY_NS / STEP_NS);
	s->mute = w->mute > 0;
	w->mute -= w->mute > 0;
	note_values(w);
}

/* Runs the server, whose waits are mostly short. */
static void
server_turn(struct world *w)
{
	struct sim_memcached *s = &w->server;

	if (!s->waits && sim_below(&w->rng, 3) == 0)
		w->wait = w->fails && sim_below(&w->rng, 60) == 0 ? 2 * TIMEOUT_NS / STEP_NS
								  : sim_below(&w->rng, 20);
	s->waits = w->wait > 0;
	w->wait -= w->wait > 0;
	if (sim_below(&w->rng, 100) == 0)
		s->value[sim_below(&w->rng, 3)][0] = '\0';
	if (sim_below(&w->rng, 50) == 0)
		sim_memcached_late(s);
	if (w->copy_ns != 0)
		others_turn(w);
	sim_memcached_turn(s);
}

static void
turn(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->sim.ss->stack) != NULL)
		;
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (w->client[i].conn != NULL)
			client_turn(w, &w->client[i]);
	server_turn(w);
}

static void
front_attach(struct world *w)
{
	const struct front_settings settings = {
		.conns_max = SLOTS,
		.timeout_ns = TIMEOUT_NS,
		.connect_timeout_ns = TIMEOUT_NS,
		.retry_timeout_ns = MS,
		.failure_limit = 100,
		.answer_bytes_max = 1u << 20,
		.ttl_s = 1000,
		.copy_ns = w->copy_ns,
	};

	sim_one_front_create(&w->one, &w->sim, &settings, FRONT_ITEMS_MEMORY);
}

static struct world *
world_create(uint64_t seed, uint64_t copy_ns)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {w, on_opened, on_gone, NULL};

	check_ptr(w);
	o.cores.memory_bytes = 16u << 20;
	o.cores.stack.tcp.conns_max = SLOTS;
	o.cores.stack.tcp.active_reserve = 3;
	o.clients.tcp.conns_max = SLOTS;
	o.clients.tcp.port = SIM_PORT;
	o.cable.delay_ns = 10000;
	w->rng.state = seed;
	w->fails = seed % 2 == 0;
	/* The outcome of lost writes can become known. */
	w->server.lists = seed % 4 == 0 ? SIM_LISTS : SIM_LISTS_NOT;
	w->reads = seed % 3 == 0 ? 30 : 65;
	w->sets = seed % 3 == 0 ? 65 : 85;
	w->copy_ns = copy_ns;
	if (copy_ns != 0) {
		o.cable.lose = seed % 4 == 0 ? 10 : 0;
		w->server.executed = note_values;
		w->server.arg = w;
	}
	sim_service_create(&w->sim, &o, &user, turn);
	w->server.stack = w->sim.ss->stack;
	front_attach(w);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct conn *c = sim_service_connect(&w->sim);

		w->of_slot[conn_slot(c)] = &w->client[i];
		w->client[i].conn = c;
	}
	return w;
}

static void
world_destroy(struct world *w)
{
	sim_service_destroy(&w->sim);
	sim_one_front_destroy(&w->one);
	free(w);
}

static bool
is_over(const struct world *w)
{
	bool here = false;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		if (w->client[i].call != NULL)
			return false;
		here |= !w->client[i].gone;
	}
	return w->calls == CALL_MAX || !here;
}

static void
judge(const struct world *w, uint32_t key, uint64_t seed)
{
	struct linear *l = linear_new();

	if (!linear_judge_key(l, w->call, w->tells_nothing, w->calls, key))
		fail_msg("seed %llu: no order", (unsigned long long)seed);
	linear_free(l);
}

static void
run_all(struct world *w)
{
	for (uint32_t i = 0; !is_over(w); i++) {
		check(i < STEPS_MAX);
		sim_service_run(&w->sim, 2 * STEP_NS, STEP_NS);
	}
}

TEST(the_answers_of_each_key_are_linearizable)
{
	uint64_t kept = 0, joined = 0, combined = 0, lost = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = world_create(seed, 0);
		const struct counter *counters = front_counters(w->one.front);

		run_all(w);
		for (uint32_t key = 0; key < SIM_MEMCACHED_KEYS; key++)
			judge(w, key, seed);
		kept += counter_read(&counters[FRONT_EXCHANGED]);
		joined += counter_read(&counters[FRONT_JOINED]);
		combined += counter_read(&counters[FRONT_COMBINED]);
		lost += counter_read(&counters[FRONT_WRITES_LOST]);
		world_destroy(w);
	}
	check(kept > 0 && joined > 0 && combined > 0 && lost > 0);
}

/* Returns the oldest time from which a get may return a value: a copy's life ago, or the last set
 * through this front. */
static uint64_t
oldest_allowed(const struct world *w, uint32_t get)
{
	const struct call *c = &w->call[get];
	uint64_t from_ns = w->invoked_ns[get] > COPY_NS ? w->invoked_ns[get] - COPY_NS : 0;

	for (uint32_t i = 0; i < w->calls; i++) {
		const struct call *by = &w->call[i];
		const bool writes = by->kind != CALL_GET &&
				    (by->key == c->key || by->kind == CALL_FLUSH) &&
				    by->result == STORE_OK;

		if (writes && by->returned < c->invoked && w->invoked_ns[i] > from_ns)
			from_ns = w->invoked_ns[i];
	}
	return from_ns;
}

/* Returns until when the server last had the value that a get returned, before it returned; 0:
 * never. */
static uint64_t
had_until(const struct world *w, uint32_t get)
{
	const struct call *c = &w->call[get];
	char value[SIM_MEMCACHED_VALUE] = "";
	uint64_t until_ns = 0;
	bool has = true; /* empty at first */

	if (c->result == STORE_OK)
		snprintf(value, sizeof value, "%.*s", (int)c->got_len, c->got);
	for (uint32_t i = 0; i < w->notes && w->note[i].ns <= w->returned_ns[get]; i++) {
		const struct note *n = &w->note[i];

		if (n->key != c->key)
			continue;
		if (has)
			until_ns = n->ns;
		has = strcmp(n->value, value) == 0;
	}
	return has ? w->returned_ns[get] : until_ns;
}

static void
judge_age(struct world *w, uint32_t get, uint64_t seed)
{
	const uint64_t until_ns = had_until(w, get), asked_ns = w->invoked_ns[get];

	if (until_ns < oldest_allowed(w, get)) {
		call_print(stdout, &w->call[get]);
		fail_msg("seed %llu: asked at %llu us, it was there until %llu us",
			 (unsigned long long)seed, (unsigned long long)asked_ns / 1000,
			 (unsigned long long)until_ns / 1000);
	}
	if (until_ns < asked_ns && asked_ns - until_ns > w->oldest_ns)
		w->oldest_ns = asked_ns - until_ns;
}

TEST(no_get_returns_a_value_older_than_a_copys_life)
{
	uint64_t kept = 0, joined = 0, oldest_ns = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = world_create(seed, COPY_NS);
		const struct counter *counters = front_counters(w->one.front);

		run_all(w);
		for (uint32_t i = 0; i < w->calls; i++)
			if (w->call[i].kind == CALL_GET && !w->tells_nothing[i])
				judge_age(w, i, seed);
		kept += counter_read(&counters[FRONT_EXCHANGED]);
		joined += counter_read(&counters[FRONT_JOINED]);
		oldest_ns = w->oldest_ns > oldest_ns ? w->oldest_ns : oldest_ns;
		world_destroy(w);
	}
	check(kept > 0 && joined > 0);
	check(oldest_ns > COPY_NS / 2);
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
