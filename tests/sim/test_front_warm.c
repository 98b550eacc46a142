/*
 * Keys that a reload moves are handed over by their former servers. Goal: the hit ratio hardly
 * drops when a fleet grows or shrinks, and no client receives a value older than one whose write,
 * or a miss, it knows. Method: whole cores on a hub: a front, eight servers, clients with one
 * request each. Each key has one writer at a time, and its values are numbered. So the lowest
 * number that a get may return is known when the get is sent. A server that is cut off neither
 * sends nor receives. A failing seed is named; arguments are the number of seeds, and the name of
 * one test.
 */
#include "sim_core.h"
#include "sim_front.h"
#include "sim_rng.h"
#include "zeroed.h"

#include "base/time_units.h"
#include "front/front_control.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SERVERS    8u
#define FRONT      SERVERS
#define CLIENT     (SERVERS + 1)
#define STATIONS   (SERVERS + 2)
#define CLIENTS    12u
#define KEYS       4000u
#define FEW        300u /* keys of a history */
#define STEP_NS    100000u
#define TICK       50u /* steps between those of control */
#define MS         1000000ull
#define TIMEOUT_NS (40 * MS)
#define WARM_NS    (2 * NS_PER_S)
#define FRAMES     4096u
#define ZIPF       0.99
#define DIP_POINTS 0.5

static uint64_t seeds = 2; /* the first argument replaces it */

struct key {
	uint32_t last;  /* number of the last write that was sent; 0: none */
	uint32_t floor; /* the lowest number that a get sent now may return */
	bool written;   /* a write is in progress */
	bool unknown;   /* a write has failed, so its value may appear at any time */
};

enum { GET, SET, DELETE };

struct client {
	struct conn *conn;
	bool open, waits;
	uint32_t verb, in_len;
	struct key *key;
	uint32_t floor, last; /* the key's, when the request was sent */
	bool written;         /* the key was being written when the request was sent */
	char in[1600];
};

struct world {
	struct sim_cores *cores[SERVERS + 1];
	struct sim_stack *client_stack;
	struct mem_port *port[STATIONS];
	bool cut[STATIONS];
	struct front *front;
	struct front_exchange *exchange;
	struct front_warm *warm;
	struct front_stats stats;
	struct copies_shared shared;
	struct front_control control;
	struct front_config config[2];
	uint32_t config_now;
	struct region memory;
	uint64_t now_ns, steps;
	struct client client[CLIENTS];
	struct key key[KEYS];
	double share[KEYS]; /* share of the requests for the keys up to this one */
	uint32_t keys;
	uint32_t talkers; /* clients that send */
	struct sim_rng rng;
	uint64_t seed;
	uint32_t gets, hits; /* in the current second */
	uint32_t errors;
};

/* ---- clients ---- */

static struct key *
key_drawn(struct world *w)
{
	const double at = (double)sim_below(&w->rng, 1u << 30) / (double)(1u << 30);
	uint32_t low = 0, high = w->keys - 1;

	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (w->share[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return &w->key[low];
}

static void
say(struct world *w, struct client *cl, const char *text, uint32_t n)
{
	memcpy(conn_reserve(w->client_stack->stack, cl->conn, n), text, n);
	conn_commit(w->client_stack->stack, cl->conn, n);
}

static void
ask(struct world *w, struct client *cl, struct key *k, uint32_t verb)
{
	const uint32_t number = (uint32_t)(k - w->key);
	char text[100];
	int n;

	if (k->written)
		verb = GET;
	cl->key = k;
	cl->verb = verb;
	cl->floor = k->floor;
	cl->last = k->last;
	cl->written = k->written;
	k->written |= verb != GET;
	k->last += verb != GET;
	if (verb == SET)
		n = sprintf(text, "set key%u 0 %u 6\r\n%06u\r\n", number,
			    sim_below(&w->rng, 2) * 1000, k->last);
	else
		n = sprintf(text, "%s key%u\r\n", verb == GET ? "get" : "delete", number);
	say(w, cl, text, (uint32_t)n);
	cl->waits = true;
}

/* A client sets a key that it missed, as most clients do. */
static void
ask_next(struct world *w, struct client *cl)
{
	const uint32_t what = sim_below(&w->rng, 100);

	if (cl->key != NULL && cl->verb == GET && strcmp(cl->in, "END\r\n") == 0 &&
	    (w->keys > FEW || what < 50))
		ask(w, cl, cl->key, SET);
	else
		ask(w, cl, key_drawn(w),
		    what < 4                         ? SET
		    : what < (w->keys > FEW ? 5 : 7) ? DELETE
						     : GET);
}

static void
judge_value(struct world *w, const struct client *cl, const char *value)
{
	const uint32_t number = (uint32_t)strtoul(value, NULL, 10);

	w->hits++;
	if (!cl->key->unknown && (number < cl->floor || number > cl->key->last))
		fail_msg("seed %llu: key%u has number %u, which is below %u or above %u",
			 (unsigned long long)w->seed, (unsigned)(cl->key - w->key), number,
			 cl->floor, cl->key->last);
}

/* A miss is final unless another client has written meanwhile. */
static void
judge_miss(const struct client *cl)
{
	struct key *k = cl->key;

	if (k->last == cl->last && !k->written && !cl->written && k->floor <= k->last)
		k->floor = k->last + 1;
}

/* Judges an answer. False: it is incomplete. */
static bool
judge(struct world *w, struct client *cl)
{
	struct key *k = cl->key;

	cl->in[cl->in_len] = 0;
	if (cl->in_len < 2 || cl->in[cl->in_len - 1] != '\n' ||
	    (strncmp(cl->in, "VALUE ", 6) == 0 && strstr(cl->in, "\r\nEND\r\n") == NULL))
		return false;
	k->written &= cl->verb == GET;
	if (strncmp(cl->in, "SERVER_ERROR ", 13) == 0) {
		w->errors++;
		w->gets += cl->verb == GET;
		k->unknown |= cl->verb != GET;
		return true;
	}
	if (cl->verb != GET) {
		k->floor = cl->verb == SET ? k->last : k->last + 1;
		return true;
	}
	w->gets++;
	if (cl->in[0] == 'V')
		judge_value(w, cl, strchr(cl->in, '\n') + 1);
	else
		judge_miss(cl);
	return true;
}

static void
client_turn(struct world *w, struct client *cl)
{
	struct stack *s = w->client_stack->stack;

	sim_receive(s, cl->conn, cl->in, &cl->in_len, sizeof cl->in - 1);
	if (cl->waits && judge(w, cl)) {
		cl->waits = false;
		cl->in_len = 0;
	}
	if (cl->waits || cl >= w->client + w->talkers || !conn_writable(s, cl->conn, 1))
		return;
	conn_credit_return(s, 1);
	ask_next(w, cl);
}

static void
clients_turn(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->client_stack->stack) != NULL)
		;
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (w->client[i].open)
			client_turn(w, &w->client[i]);
}

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	for (uint32_t i = 0; i < CLIENTS; i++)
		w->client[i].open |= w->client[i].conn == c;
}

static void
on_gone(void *arg, struct conn *c)
{
	fail_msg("a client's connection ended");
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	fail_msg("a client's connection was refused");
}

/* ---- the world ---- */

static void
front_attach(struct world *w, bool copies)
{
	struct core *core = &w->cores[FRONT]->cores[0].core;
	const uint32_t room = front_control_room(&w->config[0]);
	struct front_settings settings = {
		.servers = room,
		.connections = 1,
		.conns_max = 128,
		.ttl_s = 1,
		.timeout_ns = TIMEOUT_NS,
		.connect_timeout_ns = TIMEOUT_NS,
		.retry_timeout_ns = 100 * MS,
		.failure_limit = 2,
		.gutter_ttl_s = 1,
		.answer_bytes_max = 4u << 20,
		.stats = &w->stats,
	};
	struct region region = zeroed_region(front_bytes(&settings));
	const size_t bytes = align_up(front_exchange_bytes(room), CACHE_LINE_BYTES);

	w->exchange = aligned_alloc(CACHE_LINE_BYTES, bytes);
	w->warm = calloc(1, sizeof *w->warm);
	check_ptr(w->exchange);
	check_ptr(w->warm);
	memset(w->exchange, 0, bytes);
	front_exchange_init(w->exchange, 1, room);
	w->exchange->warm = w->warm;
	front_control_init(&w->control, w->exchange, &w->config[0]);
	settings.fleet = w->exchange;
	settings.shared = w->shared = sim_front_shared(copies ? FRONT_ITEMS_MEMORY : 0);
	w->memory = region;
	w->front = front_create(&region, &settings, core->serve, core->stack, core->store);
}

static void
step(struct world *w)
{
	mem_port_hub(w->port, STATIONS, w->cut);
	w->now_ns += STEP_NS;
	for (uint32_t i = 0; i <= SERVERS; i++) {
		w->cores[i]->now_ns = w->now_ns;
		sim_cores_turn(w->cores[i]);
	}
	w->client_stack->now_ns = w->now_ns;
	sim_stack_turn(w->client_stack);
	if (w->steps++ % TICK == 0 || front_control_refuses(&w->control))
		front_control_step(&w->control, w->now_ns);
}

static void
run(struct world *w, uint64_t for_ns)
{
	for (const uint64_t end_ns = w->now_ns + for_ns; w->now_ns < end_ns;)
		step(w);
}

static void
stations_create(struct world *w)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x40};
	struct stack_config cfg = sim_config(5);
	const struct stack_user user = {w, on_opened, on_gone, on_failed};

	for (uint32_t i = 0; i <= SERVERS; i++) {
		const struct sim_station station = {.number = i,
						    .frames = FRAMES,
						    .links = i == FRONT ? 3 * 16 : 0,
						    .memory_bytes = 8u << 20,
						    .seed = 11};

		w->cores[i] = sim_station_create(&station, &w->port[i]);
	}
	cfg.net.ipv4 = sim_station_ip(CLIENT);
	cfg.tcp.port = 0;
	w->client_stack = sim_stack_create_as(&cfg, FRAMES, 0, mac);
	w->client_stack->serve = clients_turn;
	w->client_stack->arg = w;
	stack_attach(w->client_stack->stack, &user);
	w->port[CLIENT] = w->client_stack->port;
	w->now_ns = w->client_stack->now_ns;
}

static void
clients_connect(struct world *w)
{
	const struct conn_target to = {.ip = ip_addr_v4(sim_station_ip(FRONT)), .port = SIM_PORT};

	for (uint32_t i = 0; i < CLIENTS; i++) {
		w->client[i].conn = conn_connect(w->client_stack->stack, &to);
		check_ptr(w->client[i].conn);
	}
	for (uint32_t i = 0; i < CLIENTS; i++)
		while (!w->client[i].open)
			run(w, MS);
}

static void
shares_make(struct world *w, uint32_t keys, double exponent)
{
	double sum = 0;

	w->keys = keys;
	for (uint32_t i = 0; i < keys; i++)
		w->share[i] = sum += 1 / pow(i + 1, exponent);
	for (uint32_t i = 0; i < keys; i++)
		w->share[i] /= sum;
}

static struct world *
world_create(uint32_t servers, bool flushes, bool copies)
{
	struct world *w = calloc(1, sizeof *w);

	check_ptr(w);
	w->config[0] = (struct front_config){.hash = FRONT_HASH_MURMUR,
					     .server_connections = 1,
					     .server_failure_limit = 2,
					     .server_retry_timeout_ns = 100 * MS,
					     .gutter_ttl_s = 1,
					     .reload_flushes = flushes,
					     .warm_ns = WARM_NS};
	sim_station_servers(&w->config[0].servers, 0, servers);
	w->config[1] = w->config[0];
	stations_create(w);
	front_attach(w, copies);
	clients_connect(w);
	run(w, 10 * MS);
	return w;
}

static void
world_destroy(struct world *w)
{
	w->talkers = 0;
	run(w, 100 * MS);
	check_eq(front_requests_open(w->front), 0);
	check_eq(w->warm->gate & FRONT_WARM_ADDS, 0);
	for (uint32_t i = 0; i <= SERVERS; i++) {
		sim_cores_destroy(w->cores[i]);
		mem_port_destroy(w->port[i]);
	}
	sim_stack_destroy(w->client_stack);
	sim_front_shared_free(&w->shared);
	free(w->exchange);
	free(w->warm);
	zeroed_free(w->memory.base, w->memory.size);
	free(w);
}

static void
reload_begin(struct world *w, uint32_t servers)
{
	struct front_config *next = &w->config[w->config_now = !w->config_now];
	struct error err;

	sim_station_servers(&next->servers, 0, servers);
	check(front_control_reload(&w->control, next, w->now_ns, &err));
}

/* Begins a reload, and waits until its servers have their keys. */
static void
reload(struct world *w, uint32_t servers)
{
	reload_begin(w, servers);
	for (uint32_t i = 0; front_control_config(&w->control) != &w->config[w->config_now]; i++) {
		check(i < 60000);
		step(w);
	}
	run(w, 2 * MS);
}

static uint64_t
counted(const struct world *w, enum front_counter which)
{
	return counter_read(&front_counters(w->front)[which]);
}

/* ---- step by step ---- */

static void
send_text(struct world *w, uint32_t client, const char *text)
{
	struct client *cl = &w->client[client];

	check(conn_writable(w->client_stack->stack, cl->conn, 1));
	conn_credit_return(w->client_stack->stack, 1);
	cl->in_len = 0;
	memset(cl->in, 0, sizeof cl->in);
	say(w, cl, text, (uint32_t)strlen(text));
}

#define SAYS(w, want, ...)                                                                         \
	do {                                                                                       \
		char line_[160];                                                                   \
		snprintf(line_, sizeof line_, __VA_ARGS__);                                        \
		send_text(w, 0, line_);                                                            \
		run(w, 12 * MS);                                                                   \
		check_str((w)->client[0].in, want);                                                \
	} while (0)

/* Returns the server of a key in a fleet of this size. */
static uint32_t
server_of(const struct world *w, uint32_t servers, const char *key)
{
	struct front_config config = w->config[0];
	struct front_ring *ring = malloc(front_ring_bytes(SERVERS));
	struct front_fleet fleet;
	uint32_t server;

	sim_station_servers(&config.servers, 0, servers);
	fleet = front_config_fleet(&config);
	check_ptr(ring);
	check(front_ring_build(ring, &fleet, NULL));
	server = front_ring_server(ring, text_view(key));
	free(ring);
	return server;
}

/* Returns a key that moves from one of `was` servers to one of `is`. */
static const char *
moving_key(const struct world *w, uint32_t was, uint32_t is, uint32_t nth)
{
	static char text[4][16];
	struct front_ring *rings[2];
	uint32_t i = 0;

	for (uint32_t r = 0; r < 2; r++) {
		struct front_config config = w->config[0];
		struct front_fleet fleet;

		sim_station_servers(&config.servers, 0, r == 0 ? was : is);
		fleet = front_config_fleet(&config);
		rings[r] = malloc(front_ring_bytes(SERVERS));
		check_ptr(rings[r]);
		check(front_ring_build(rings[r], &fleet, NULL));
	}
	for (uint32_t left = nth + 1; left > 0; i++) {
		const struct view key = {(uint8_t *)text[nth],
					 (uint32_t)sprintf(text[nth], "moves%u", i)};

		left -= front_ring_server(rings[0], key) != front_ring_server(rings[1], key);
	}
	free(rings[0]);
	free(rings[1]);
	return text[nth];
}

TEST(a_key_is_handed_over_with_its_flags_and_life)
{
	struct world *w = world_create(2, false, false);
	const char *key = moving_key(w, 2, 3, 0), *lives = moving_key(w, 2, 3, 1);

	SAYS(w, "STORED\r\n", "set %s 7 0 3\r\nabc\r\n", key);
	SAYS(w, "STORED\r\n", "set %s 0 500 0\r\n\r\n", lives);
	reload(w, 3);
	SAYS(w, "EN\r\n", "mg absent\r\n");
	SAYS(w, "HD f7 t-1\r\n", "mg %s f t\r\n", key);
	SAYS(w, "HD t499\r\n", "mg %s t\r\n", lives);
	check_eq(counted(w, FRONT_HANDED_OVER), 2);
	check_eq(front_stats_sum_mt(&w->stats, 2, FRONT_SERVER_HANDED_IN), 2);
	check_eq(front_stats_sum_mt(&w->stats, 2, FRONT_SERVER_HANDED_OUT), 0);
	check_eq(front_stats_sum_mt(&w->stats, 0, FRONT_SERVER_HANDED_OUT) +
			 front_stats_sum_mt(&w->stats, 1, FRONT_SERVER_HANDED_OUT),
		 2);
	SAYS(w, "NOT_STORED\r\n", "add %s 0 0 1\r\nx\r\n", key);
	world_destroy(w);
}

/* The key's new server answers with a cas of its own. */
TEST(a_handed_over_key_may_be_compared)
{
	struct world *w = world_create(2, false, false);
	const char *key = moving_key(w, 2, 3, 0);
	unsigned long long cas;
	char line[60];

	for (uint32_t i = 0; i < 9; i++)
		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n%u\r\n", key, i);
	reload(w, 3);
	snprintf(line, sizeof line, "gets %s\r\n", key);
	send_text(w, 0, line);
	run(w, 12 * MS);
	check_eq(sscanf(w->client[0].in, "VALUE %*s 0 1 %llu", &cas), 1);
	SAYS(w, "EXISTS\r\n", "cas %s 0 0 1 %llu\r\nx\r\n", key, cas + 1);
	SAYS(w, "STORED\r\n", "cas %s 0 0 1 %llu\r\nx\r\n", key, cas);
	world_destroy(w);
}

static uint32_t
settled(const struct world *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < FRONT_WARM_WORDS; i++)
		n += (w->warm->word[i] & FRONT_WARM_SETTLED) != 0;
	return n;
}

TEST(what_was_written_since_is_not_brought_back)
{
	struct world *w = world_create(2, false, false);
	const char *gone = moving_key(w, 2, 3, 0), *set = moving_key(w, 2, 3, 1),
		   *touched = moving_key(w, 2, 3, 2);

	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", gone);
	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", set);
	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", touched);
	reload(w, 3);
	SAYS(w, "NOT_FOUND\r\n", "delete %s\r\n", gone);
	check_eq(settled(w), 1);
	SAYS(w, "END\r\n", "get %s\r\n", gone);
	SAYS(w, "STORED\r\n", "set %s 0 -1 1\r\n2\r\n", set);
	check_eq(settled(w), 2);
	SAYS(w, "END\r\n", "get %s\r\n", set);
	SAYS(w, "NOT_FOUND\r\n", "touch %s 1\r\n", touched);
	SAYS(w, "END\r\n", "get %s\r\n", touched);
	check_eq(counted(w, FRONT_HANDED_OVER), 0);
	world_destroy(w);
}

/* The former server does not answer in time, so the get is a miss. It stays one when the server
 * answers again. */
TEST(a_miss_is_final)
{
	for (uint32_t copies = 0; copies < 2; copies++) {
		struct world *w = world_create(1, false, copies == 1);
		const char *key = moving_key(w, 1, 8, 0), *other = moving_key(w, 1, 8, 1);

		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", other);
		reload(w, 8);
		w->cut[0] = true;
		send_text(w, 1, "get ");
		send_text(w, 1, other);
		send_text(w, 1, "\r\n");
		run(w, 8 * MS); /* the former server is slow by now */
		SAYS(w, "END\r\n", "get %s\r\n", key);
		run(w, 2 * TIMEOUT_NS);
		w->cut[0] = false;
		run(w, 500 * MS);
		SAYS(w, "END\r\n", "get %s\r\n", key);
		check_eq(counted(w, FRONT_HANDED_OVER), 0);
		world_destroy(w);
	}
}

/* Makes it look as if a second core were handing over a key of each word: its adds are not answered
 * yet. */
static void
adds_begin(struct world *w)
{
	for (uint32_t i = 0; i < FRONT_WARM_WORDS; i++)
		w->warm->word[i]++;
	w->warm->gate++;
}

static void
adds_end(struct world *w)
{
	for (uint32_t i = 0; i < FRONT_WARM_WORDS; i++)
		w->warm->word[i]--;
	w->warm->gate--;
}

TEST(writes_flushes_and_misses_wait_for_an_add_of_another_core)
{
	static const char *const lines[] = {"delete %s\r\n", "flush_all\r\n", "get %s\r\n"};
	static const char *const want[] = {"NOT_FOUND\r\n", "OK\r\n", "END\r\n"};
	char line[60];

	for (uint32_t i = 0; i < 3; i++) {
		struct world *w = world_create(2, false, false);
		const char *key = moving_key(w, 2, 3, 0);

		reload(w, 3);
		adds_begin(w);
		if (i == 2)
			for (uint32_t k = 0; k < FRONT_WARM_WORDS; k++)
				w->warm->word[k] |= FRONT_WARM_SETTLED;
		snprintf(line, sizeof line, lines[i], key);
		send_text(w, 0, line);
		run(w, 2 * MS);
		check_str(w->client[0].in, "");
		adds_end(w);
		run(w, 12 * MS);
		check_str(w->client[0].in, want[i]);
		world_destroy(w);
	}
}

/* A flush reaches both servers. A value that one had before is not added at the other
 * afterwards. */
TEST(nothing_is_handed_over_after_a_flush)
{
	struct world *w = world_create(2, false, false);
	const char *key = moving_key(w, 2, 3, 0), *later = moving_key(w, 2, 3, 1);

	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", later);
	reload(w, 3);
	SAYS(w, "OK\r\n", "flush_all 1000\r\n");
	SAYS(w, "END\r\n", "get %s\r\n", later);
	SAYS(w, "OK\r\n", "flush_all\r\n");
	SAYS(w, "END\r\n", "get %s\r\n", key);
	check_eq(counted(w, FRONT_HANDED_OVER), 0);
	world_destroy(w);
}

/* Keys return to a server that has lost them: while keys are still handed over, and later, when it
 * is flushed. */
TEST(a_key_that_returns_has_no_old_value)
{
	for (uint32_t late = 0; late < 2; late++) {
		struct world *w = world_create(2, true, late == 1);
		const char *key = moving_key(w, 2, 3, 0), *kept = moving_key(w, 2, 3, 1);

		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", kept);
		reload(w, 3);
		if (late)
			run(w, WARM_NS + 100 * MS);
		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n2\r\n", key);
		reload(w, 2);
		run(w, late * 500 * MS);
		SAYS(w, "VA 1\r\n2\r\n", "mg %s v\r\n", key);
		SAYS(w, late ? "EN\r\n" : "VA 1\r\n1\r\n", "mg %s v\r\n", kept);
		world_destroy(w);
	}
}

/* A delete does not reach the former server, so it is flushed before it gets keys again. */
TEST(a_former_server_that_missed_a_write_is_flushed)
{
	struct world *w = world_create(2, true, false);
	const char *key = moving_key(w, 2, 3, 0);

	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
	reload(w, 3);
	w->cut[0] = w->cut[1] = true;
	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n2\r\n", key);
	run(w, TIMEOUT_NS + 5 * MS);
	w->cut[0] = w->cut[1] = false;
	run(w, 500 * MS);
	reload(w, 2);
	run(w, 500 * MS);
	SAYS(w, "VA 1\r\n2\r\n", "mg %s v\r\n", key);
	world_destroy(w);
}

/* ---- a second change within the time of the first ---- */

/* Some of the keys move once, some twice. */
TEST(keys_that_no_get_has_moved_outlive_a_second_change)
{
	struct world *w = world_create(2, false, false);

	for (uint32_t i = 0; i < 4; i++)
		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n%u\r\n", moving_key(w, 2, 3, i), i);
	reload(w, 3);
	reload(w, 6);
	for (uint32_t i = 0; i < 4; i++) {
		char value[10];

		snprintf(value, sizeof value, "VA 1\r\n%u\r\n", i);
		SAYS(w, value, "mg %s v\r\n", moving_key(w, 2, 3, i));
	}
	check_eq(counted(w, FRONT_HANDED_OVER), 4);
	world_destroy(w);
}

/* A server that is out of use misses a delete. When it is used again, the front does not ask it for
 * the key. */
TEST(key_deleted_between_two_changes_is_not_brought_back)
{
	struct world *w = world_create(2, false, false);
	const char *key = moving_key(w, 2, 3, 0);

	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
	reload(w, 3);
	w->cut[0] = w->cut[1] = true;
	SAYS(w, "NOT_FOUND\r\n", "delete %s\r\n", key);
	run(w, TIMEOUT_NS + 5 * MS);
	w->cut[0] = w->cut[1] = false;
	run(w, 500 * MS);
	reload(w, 6);
	check_eq(w->control.place[0].health, FRONT_HEALTH_LIVE);
	check_eq(w->control.place[1].health, FRONT_HEALTH_LIVE);
	SAYS(w, "EN\r\n", "mg %s\r\n", key);
	world_destroy(w);
}

/* The second change does not move the key, so its delete is not refused while writes of moved keys
 * are. A get at a server that is cut off keeps that refusal up. */
TEST(key_deleted_during_a_second_change_is_not_brought_back)
{
	struct world *w = world_create(2, false, false);
	const char *key = moving_key(w, 2, 3, 0);
	uint32_t other;
	char line[60], slow[20];

	for (uint32_t i = 0; server_of(w, 3, key) != server_of(w, 4, key); i++)
		key = moving_key(w, 2, 3, i);
	other = !server_of(w, 2, key);
	for (uint32_t i = 0; i == 0 || server_of(w, 3, slow) != other; i++)
		snprintf(slow, sizeof slow, "slow%u", i);
	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
	reload(w, 3);
	reload_begin(w, 4);
	while (!w->control.joined || w->control.place[3].health != FRONT_HEALTH_LIVE)
		step(w);
	w->cut[other] = true;
	snprintf(line, sizeof line, "get %s\r\n", slow);
	send_text(w, 1, line);
	while (!front_control_refuses(&w->control))
		step(w);
	run(w, MS);
	snprintf(line, sizeof line, "delete %s\r\n", key);
	send_text(w, 0, line);
	run(w, 5 * MS);
	check_str(w->client[0].in, "NOT_FOUND\r\n");
	check(front_control_refuses(&w->control));
	w->cut[other] = false;
	while (front_control_refuses(&w->control))
		step(w);
	check(w->control.chains);
	run(w, 2 * MS);
	SAYS(w, "EN\r\n", "mg %s\r\n", key);
	world_destroy(w);
}

/* No server is flushed: a write is followed by deletes at both former servers, so the old value is
 * not found. */
TEST(key_written_after_two_changes_is_deleted_where_it_was_before_both)
{
	struct world *w = world_create(2, false, false);
	const char *key = moving_key(w, 2, 3, 0);

	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
	reload(w, 3);
	reload(w, 6);
	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n2\r\n", key);
	reload(w, 2);
	SAYS(w, "VA 1\r\n2\r\n", "mg %s v\r\n", key);
	world_destroy(w);
}

/* After a change by which a server has left, and after a flush, only the last change counts. */
TEST(changes_are_chained_only_if_all_servers_stay_and_nothing_was_flushed)
{
	for (uint32_t flushed = 0; flushed < 2; flushed++) {
		struct world *w = world_create(flushed ? 2 : 3, false, false);
		const char *key = flushed ? moving_key(w, 2, 3, 0) : moving_key(w, 3, 2, 0);

		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
		reload(w, flushed ? 3 : 2);
		if (flushed)
			SAYS(w, "OK\r\n", "flush_all\r\n");
		reload(w, 6);
		check(!w->control.chains);
		SAYS(w, "EN\r\n", "mg %s\r\n", key);
		check_eq(counted(w, FRONT_HANDED_OVER), 0);
		world_destroy(w);
	}
}

/* An item with one second left could be stored with an expiry of 0, which means never. One of the
 * two items has one second left when it is requested, even if the servers' clocks advance a second
 * before. */
TEST(an_item_about_to_expire_is_not_handed_over)
{
	struct world *w = world_create(2, false, false);
	const char *keys[] = {moving_key(w, 2, 3, 0), moving_key(w, 2, 3, 1)};
	char line[60];

	for (uint32_t i = 0; i < 2; i++)
		SAYS(w, "STORED\r\n", "set %s 0 %u 1\r\n1\r\n", keys[i], i + 1);
	reload(w, 3);
	for (uint32_t i = 0; i < 2; i++) {
		snprintf(line, sizeof line, "mg %s t\r\n", keys[i]);
		send_text(w, 0, line);
		run(w, 12 * MS);
		check(w->client[0].in_len != 0);
		check(strstr(w->client[0].in, "t-1") == NULL);
	}
	world_destroy(w);
}

/* The server is cut off while it has an add, which it may still execute for all that the front
 * knows. */
TEST(a_write_behind_an_add_of_unknown_fate_fails)
{
	struct world *w = world_create(1, false, false);
	const char *key = moving_key(w, 1, 2, 0);
	char line[60];

	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
	reload(w, 2);
	snprintf(line, sizeof line, "get %s\r\n", key);
	send_text(w, 0, line);
	while (counted(w, FRONT_HANDED_OVER) == 0)
		step(w);
	w->cut[1] = true;
	run(w, 2 * TIMEOUT_NS);
	w->cut[1] = false;
	run(w, 500 * MS);
	check_eq(counted(w, FRONT_HANDED_UNKNOWN), 1);
	snprintf(line, sizeof line, "delete %s\r\n", key);
	send_text(w, 0, line);
	run(w, 2 * TIMEOUT_NS);
	check_str(w->client[0].in, "SERVER_ERROR no answer in time\r\n");
	run(w, WARM_NS);
	send_text(w, 0, line);
	run(w, 2 * TIMEOUT_NS);
	check_str(w->client[0].in, "NOT_FOUND\r\n");
	world_destroy(w);
}

/* A server returns to the list while it hands its keys over. */
TEST(a_server_that_departs_may_return)
{
	struct world *w = world_create(3, true, false);
	const char *key = moving_key(w, 3, 2, 0), *kept = moving_key(w, 3, 2, 1);

	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", kept);
	reload(w, 2);
	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n2\r\n", key);
	reload(w, 3);
	check_eq(w->control.place[2].health, FRONT_HEALTH_LIVE);
	SAYS(w, "VA 1\r\n2\r\n", "mg %s v\r\n", key);
	SAYS(w, "VA 1\r\n1\r\n", "mg %s v\r\n", kept);
	run(w, WARM_NS + 100 * MS);
	SAYS(w, "VA 1\r\n2\r\n", "mg %s v\r\n", key);
	world_destroy(w);
}

static uint32_t
role_shown(const struct world *w, uint32_t place)
{
	return front_exchange_turn_mt(w->exchange)->role[place];
}

/* A server that is no longer in the list hands its keys over and leaves. */
TEST(a_server_is_drained_by_leaving_it_out)
{
	struct world *w = world_create(3, false, false);
	const char *key = moving_key(w, 3, 2, 0), *late = moving_key(w, 3, 2, 1);

	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", late);
	reload(w, 2);
	check_eq(w->control.place[2].health, FRONT_HEALTH_LIVE);
	check_eq(role_shown(w, 2), FRONT_ROLE_DRAINING);
	SAYS(w, "HD\r\n", "mg %s\r\n", key);
	run(w, WARM_NS + 100 * MS);
	check_eq(w->control.place[2].health, FRONT_HEALTH_VACANT);
	check_eq(role_shown(w, 2), FRONT_ROLE_SERVER);
	SAYS(w, "HD\r\n", "mg %s\r\n", key);
	SAYS(w, "EN\r\n", "mg %s\r\n", late);
	world_destroy(w);
}

/* ---- conversations ---- */

/* Runs a second. Returns its hits in percent. */
static double
second(struct world *w)
{
	w->gets = w->hits = 0;
	run(w, NS_PER_S);
	return 100.0 * w->hits / w->gets;
}

/* Runs a reload and the seconds after it. Returns the lowest percentage of hits. */
static double
worst_after(struct world *w, uint32_t servers)
{
	const uint64_t end_ns = w->now_ns + NS_PER_S;
	double worst, next;

	w->gets = w->hits = 0;
	reload(w, servers);
	run(w, end_ns > w->now_ns ? end_ns - w->now_ns : 0);
	worst = 100.0 * w->hits / w->gets;
	for (uint32_t i = 0; i < 3; i++) {
		next = second(w);
		worst = next < worst ? next : worst;
	}
	return worst;
}

/* Sets all keys. */
static void
fill(struct world *w)
{
	for (uint32_t i = 0; i < w->keys; i++) {
		struct client *cl = &w->client[i % CLIENTS];

		while (cl->waits)
			step(w);
		check(conn_writable(w->client_stack->stack, cl->conn, 1));
		conn_credit_return(w->client_stack->stack, 1);
		ask(w, cl, &w->key[i], SET);
	}
	run(w, 10 * MS);
}

/* Four servers, eight, six. The second change is made while keys of the first are handed over. */
TEST(hits_hardly_drop_when_a_fleet_grows_and_shrinks)
{
	static const uint32_t counts[] = {8, 6};
	struct world *w = world_create(4, true, false);

	w->config[0].warm_ns = w->config[1].warm_ns = 60 * NS_PER_S;
	shares_make(w, KEYS, ZIPF);
	w->rng.state = 7;
	fill(w);
	w->talkers = CLIENTS;
	second(w);
	for (uint32_t i = 0; i < 2; i++) {
		const double before = second(w), worst = worst_after(w, counts[i]);

		printf("%u servers: hits %.2f %% before, %.2f %% in the worst second, %llu keys "
		       "handed over, %llu gets a second\n",
		       counts[i], before, worst, (unsigned long long)counted(w, FRONT_HANDED_OVER),
		       (unsigned long long)w->gets);
		check(worst > before - DIP_POINTS);
	}
	check_eq(w->errors, 0);
	check_eq(counted(w, FRONT_HANDED_UNKNOWN), 0);
	world_destroy(w);
}

/* Fleets change at any time, servers are cut off, clients write and delete meanwhile. */
TEST(no_value_is_stale_while_keys_are_handed_over)
{
	uint64_t handed = 0, unknown = 0, chained = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = world_create(2 + (uint32_t)seed % 3, true, seed % 2 == 0);

		shares_make(w, FEW, 0);
		w->rng.state = w->seed = seed;
		w->talkers = CLIENTS;
		for (uint32_t round = 0; round < 8; round++) {
			const uint32_t who = sim_below(&w->rng, 4);

			reload(w, 1 + sim_below(&w->rng, 6));
			run(w, sim_below(&w->rng, 300) * MS);
			if (sim_below(&w->rng, 2) == 0) {
				reload(w, 6);
				chained += w->control.chains;
			}
			w->cut[who] = sim_below(&w->rng, 2) == 0;
			run(w, sim_below(&w->rng, 300) * MS);
			w->cut[who] = false;
			run(w, sim_below(&w->rng, 4) == 0 ? WARM_NS : 200 * MS);
		}
		handed += counted(w, FRONT_HANDED_OVER);
		unknown += counted(w, FRONT_HANDED_UNKNOWN);
		world_destroy(w);
	}
	check(handed > 50 * seeds);
	check(chained != 0);
	printf("%llu keys handed over, %llu of unknown fate; %llu changes were chained\n",
	       (unsigned long long)handed, (unsigned long long)unknown,
	       (unsigned long long)chained);
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
