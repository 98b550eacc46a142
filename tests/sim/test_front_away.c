/*
 * A front before servers that fail, leave, return and change. Goal: no client receives a value
 * older than one whose store or delete it knows, whichever server stood in meanwhile. A server that
 * fails costs only the answers of its own keys, and only until it is ejected. Method: whole cores
 * on a hub: a front, its servers, a gutter. A server that is cut off neither sends nor receives,
 * and has its values when it returns. The fleet's control is stepped as in the program. Clients
 * have keys of their own and one request at a time; a failed write may take effect at any later
 * time, or never. Every second run keeps copies. A failing seed is named; an argument is the number
 * of seeds.
 */
#include "sim_core.h"
#include "sim_front.h"
#include "sim_rng.h"
#include "zeroed.h"

#include "base/time_units.h"
#include "front/front_control.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

/* Stations behind the front: a, b, and for some tests the gutter or c, d. */
#define SERVERS    4u
#define FRONT      SERVERS
#define CLIENT     (SERVERS + 1)
#define STATIONS   (SERVERS + 2)
#define CLIENTS    4u
#define KEYS       12u
#define VERSIONS   8192u
#define STEP_NS    200000u
#define TICK       25u /* steps between those of control */
#define MS         1000000ull
#define TIMEOUT_NS (40 * MS)
#define RETRY_NS   (100 * MS)
#define TTL_S      2
#define QUIET_NS   (6 * NS_PER_S) /* longer than stand-ins keep items */
#define FRAMES     4096u

static uint64_t seeds = rounds(2, 1); /* the first argument replaces it */
/* The next front keeps copies; then a miss is final until a write. */
static bool copies;

enum fate { UNKNOWN, DONE, OVER }; /* OVER: a later write has taken effect */

struct key {
	uint32_t versions; /* 0: never written */
	uint8_t fate[VERSIONS];
};

struct client {
	struct conn *conn;
	bool open, waits;
	uint32_t number, in_len;
	uint32_t verb, key; /* of the pending request */
	char in[600];
	struct key keys[KEYS];
	uint32_t hits, misses, stored, errors;
};

struct world {
	struct sim_cores *cores[SERVERS + 1];
	struct sim_stack *client_stack;
	struct mem_port *port[STATIONS];
	bool cut[STATIONS];
	struct front *front;
	struct front_exchange *exchange;
	struct front_stats stats;
	struct copies_shared shared;
	struct front_control control;
	struct front_config config[3];
	struct region memory;
	uint64_t now_ns, steps;
	struct client client[CLIENTS];
	struct sim_rng rng;
	uint64_t seed;
	bool talks;
	uint32_t left, back; /* servers, as reported by control */
};

/* ---- clients ---- */

enum { GET, SET, DELETE };

static void
ask(struct world *w, struct client *cl)
{
	const uint32_t verb = sim_below(&w->rng, 10);
	char text[200];
	uint32_t n;

	cl->key = sim_below(&w->rng, KEYS);
	struct key *k = &cl->keys[cl->key];

	check(k->versions < VERSIONS);
	cl->verb = verb < 5 ? GET : verb < 9 ? SET : DELETE;
	if (cl->verb == GET)
		n = (uint32_t)sprintf(text, "get c%uk%u\r\n", cl->number, cl->key);
	else if (cl->verb == DELETE)
		n = (uint32_t)sprintf(text, "delete c%uk%u\r\n", cl->number, cl->key);
	else
		n = (uint32_t)sprintf(text, "set c%uk%u 0 %u 6\r\n%06u\r\n", cl->number, cl->key,
				      sim_below(&w->rng, 2) * 1000, k->versions++);
	memcpy(conn_reserve(w->client_stack->stack, cl->conn, n), text, n);
	conn_commit(w->client_stack->stack, cl->conn, n);
	cl->waits = true;
}

/* Records that a write took effect: all earlier ones are over, and if it was a delete it is over,
 * too. */
static void
done(struct key *k, uint32_t version)
{
	for (uint32_t i = 0; i < version; i++)
		if (k->fate[i] == DONE)
			k->fate[i] = OVER;
	if (version < k->versions)
		k->fate[version] = DONE;
}

static void
judge_value(struct world *w, struct client *cl, const char *value)
{
	struct key *k = &cl->keys[cl->key];
	const uint32_t version = (uint32_t)strtoul(value, NULL, 10);

	cl->hits++;
	if (version >= k->versions || k->fate[version] == OVER)
		fail_msg("seed %llu: client %u key %u has version %u of %u, which is old",
			 (unsigned long long)w->seed, cl->number, cl->key, version, k->versions);
}

/* Judges an answer. False: it is incomplete. */
static bool
judge(struct world *w, struct client *cl)
{
	struct key *k = &cl->keys[cl->key];
	const char *in = cl->in;

	cl->in[cl->in_len] = 0;
	if (cl->in_len < 2 || cl->in[cl->in_len - 1] != '\n')
		return false;
	if (strncmp(in, "VALUE ", 6) == 0) {
		if (strstr(in, "\r\nEND\r\n") == NULL)
			return false;
		judge_value(w, cl, strchr(in, '\n') + 1);
	} else if (strcmp(in, "END\r\n") == 0) {
		cl->misses++;
		if (copies)
			done(k, k->versions);
	} else if (strcmp(in, "STORED\r\n") == 0) {
		done(k, k->versions - 1);
		cl->stored++;
	} else if (strcmp(in, "DELETED\r\n") == 0 || strcmp(in, "NOT_FOUND\r\n") == 0) {
		done(k, k->versions);
	} else {
		check(strncmp(in, "SERVER_ERROR ", 13) == 0);
		cl->errors++;
	}
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
	if (!cl->waits && w->talks && conn_writable(s, cl->conn, 1)) {
		conn_credit_return(s, 1);
		ask(w, cl);
	}
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
	struct world *w = arg;

	for (uint32_t i = 0; i < CLIENTS; i++)
		if (w->client[i].conn == c)
			w->client[i].open = false;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	fail_msg("refused");
}

/* ---- the world ---- */

static struct sim_cores *
cores_create(struct world *w, uint32_t i)
{
	const struct sim_station station = {.number = i,
					    .frames = FRAMES,
					    .links = i == FRONT ? 3 * 16 : 0,
					    .memory_bytes = 8u << 20,
					    .seed = 11};

	return sim_station_create(&station, &w->port[i]);
}

static void
on_health(void *arg, const struct front_host *host, enum front_health health,
	  enum front_failure why)
{
	struct world *w = arg;

	w->left += health == FRONT_HEALTH_AWAY;
	w->back += health == FRONT_HEALTH_LIVE;
}

static void
front_attach(struct world *w)
{
	struct core *core = &w->cores[FRONT]->cores[0].core;
	const uint32_t room = front_control_room(&w->config[0]);
	struct front_settings settings = {
		.servers = room,
		.connections = 1,
		.conns_max = 64,
		.misses_on_failure = !copies,
		.ttl_s = 1,
		.timeout_ns = TIMEOUT_NS,
		.connect_timeout_ns = TIMEOUT_NS,
		.retry_timeout_ns = RETRY_NS,
		.failure_limit = 2,
		.gutter_ttl_s = TTL_S,
		.answer_bytes_max = 4u << 20,
		.stats = &w->stats,
	};
	struct region region = zeroed_region(front_bytes(&settings));
	const size_t bytes = align_up(front_exchange_bytes(room), CACHE_LINE_BYTES);

	w->exchange = aligned_alloc(CACHE_LINE_BYTES, bytes);
	check_ptr(w->exchange);
	memset(w->exchange, 0, bytes);
	front_exchange_init(w->exchange, 1, room);
	w->control.tell = on_health;
	w->control.arg = w;
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
	if (w->steps++ % TICK == 0)
		front_control_step(&w->control, w->now_ns);
}

static void
run(struct world *w, uint64_t for_ns)
{
	for (const uint64_t end_ns = w->now_ns + for_ns; w->now_ns < end_ns;)
		step(w);
}

/* Creates a front with that many servers, and the next ones as the gutter. */
static struct world *
world_create(uint32_t servers, uint32_t gutter, bool ejects)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x30};
	struct world *w = calloc(1, sizeof *w);
	struct stack_config cfg = sim_config(5);
	const struct stack_user user = {w, on_opened, on_gone, on_failed};
	const struct conn_target to = {.ip = ip_addr_v4(sim_station_ip(FRONT)), .port = SIM_PORT};

	check_ptr(w);
	w->config[0] = (struct front_config){.hash = FRONT_HASH_MURMUR,
					     .server_connections = 1,
					     .server_failure_limit = 2,
					     .server_retry_timeout_ns = RETRY_NS,
					     .auto_eject_hosts = ejects,
					     .gutter_ttl_s = TTL_S,
					     .reload_flushes = true};
	sim_station_servers(&w->config[0].servers, 0, servers);
	sim_station_servers(&w->config[0].gutter, servers, gutter);
	for (uint32_t i = 1; i < 3; i++)
		w->config[i] = w->config[0];
	for (uint32_t i = 0; i <= SERVERS; i++)
		w->cores[i] = cores_create(w, i);
	cfg.net.ipv4 = sim_station_ip(CLIENT);
	cfg.tcp.port = 0;
	w->client_stack = sim_stack_create_as(&cfg, FRAMES, 0, mac);
	w->client_stack->serve = clients_turn;
	w->client_stack->arg = w;
	stack_attach(w->client_stack->stack, &user);
	w->port[CLIENT] = w->client_stack->port;
	w->now_ns = w->client_stack->now_ns;
	front_attach(w);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		w->client[i].number = i;
		w->client[i].conn = conn_connect(w->client_stack->stack, &to);
		check_ptr(w->client[i].conn);
	}
	for (uint32_t i = 0; i < CLIENTS; i++)
		while (!w->client[i].open)
			run(w, MS);
	return w;
}

static void
world_destroy(struct world *w)
{
	for (uint32_t i = 0; i <= SERVERS; i++) {
		sim_cores_destroy(w->cores[i]);
		mem_port_destroy(w->port[i]);
	}
	sim_stack_destroy(w->client_stack);
	sim_front_shared_free(&w->shared);
	free(w->exchange);
	zeroed_free(w->memory.base, w->memory.size);
	free(w);
}

/* Runs requests until the server has this health. */
static void
until(struct world *w, uint32_t server, enum front_health health)
{
	for (uint32_t i = 0; w->control.place[server].health != health; i++) {
		if (i == 60)
			fail_msg("server %u is %d, not %d", server,
				 (int)w->control.place[server].health, (int)health);
		run(w, 100 * MS);
	}
}

static void
send_text(struct world *w, struct client *cl, const char *text)
{
	const uint32_t n = (uint32_t)strlen(text);

	check(cl->open && !w->talks);
	cl->in_len = 0;
	memset(cl->in, 0, sizeof cl->in);
	check(conn_writable(w->client_stack->stack, cl->conn, 1));
	conn_credit_return(w->client_stack->stack, 1);
	memcpy(conn_reserve(w->client_stack->stack, cl->conn, n), text, n);
	conn_commit(w->client_stack->stack, cl->conn, n);
}

/* Sends a text as client 0, and returns its answer. */
static const char *
says(struct world *w, const char *text)
{
	send_text(w, &w->client[0], text);
	run(w, 2 * TIMEOUT_NS + 20 * MS);
	return w->client[0].in;
}

/* Returns a key of the server while no stand-in has it. */
static const char *
key_of(struct world *w, uint32_t server)
{
	static char text[16];

	for (uint32_t i = 0;; i++) {
		const struct view key = {(uint8_t *)text, (uint32_t)sprintf(text, "key%u", i)};

		if (front_ring_server(front_exchange_turn_mt(w->exchange)->ring, key) == server)
			return text;
	}
}

#define SAYS(w, want, ...)                                                                         \
	do {                                                                                       \
		char line_[100];                                                                   \
		snprintf(line_, sizeof line_, __VA_ARGS__);                                        \
		check_str(says(w, line_), want);                                                   \
	} while (0)

#define NO_ANSWER "SERVER_ERROR no answer in time\r\n"

/* ---- one server, step by step ---- */

/* Cuts the server off and sends requests until it has failed often enough. */
static void
cut_off(struct world *w, uint32_t server, enum front_health health)
{
	char line[40];

	w->cut[server] = true;
	snprintf(line, sizeof line, "get %s\r\n", key_of(w, server));
	for (uint32_t i = 0; i < 4; i++)
		says(w, line);
	until(w, server, health);
}

TEST(values_of_before_an_absence_are_not_served_after_it)
{
	for (uint32_t gutter = 0; gutter < 2; gutter++) {
		struct world *w = world_create(2, gutter, true);
		const char *key = key_of(w, 0);

		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
		cut_off(w, 0, FRONT_HEALTH_AWAY);
		key = key_of(w, 0);
		SAYS(w, "END\r\n", "get %s\r\n", key);
		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n2\r\n", key);
		w->cut[0] = false;
		until(w, 0, FRONT_HEALTH_LIVE);
		SAYS(w, "END\r\n", "get %s\r\n", key);
		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n3\r\n", key);
		/* The stand-in still has the second value: until that expires there are misses. */
		cut_off(w, 0, FRONT_HEALTH_DOWN);
		SAYS(w, "END\r\n", "get %s\r\n", key);
		SAYS(w, NO_ANSWER, "set %s 0 0 1\r\n4\r\n", key);
		until(w, 0, FRONT_HEALTH_AWAY);
		SAYS(w, "END\r\n", "get %s\r\n", key);
		w->cut[0] = false;
		until(w, 0, FRONT_HEALTH_LIVE);
		SAYS(w, "END\r\n", "get %s\r\n", key);
		check_eq(front_stats_sum_mt(&w->stats, 0, FRONT_SERVER_EJECTED), 2);
		check(front_stats_sum_mt(&w->stats, 0, FRONT_SERVER_LEFT_AT_S) > 0);
		check_eq(front_stats_sum_mt(&w->stats, 1, FRONT_SERVER_EJECTED), 0);
		world_destroy(w);
	}
}

/* The stand-in's time to live applies whether or not the request names one. */
TEST(values_stored_by_a_stand_in_live_for_gutter_ttl)
{
	static const char *const writes[] = {
		"set %s 0 0 1\r\n1\r\n", "set %s 0 1000 1\r\n1\r\n", "ms %s 1\r\n1\r\n",
		"ms %s 1 T700\r\n1\r\n", "ma %s N0 J1 q\r\nmn\r\n",  "mg %s N0 v\r\n",
	};
	struct world *w = world_create(2, 1, true);
	char line[60];

	cut_off(w, 0, FRONT_HEALTH_AWAY);
	for (uint32_t i = 0; i < sizeof writes / sizeof *writes; i++) {
		const char *key = key_of(w, 0);

		snprintf(line, sizeof line, writes[i], key);
		says(w, line);
		check(strncmp(says(w, (snprintf(line, sizeof line, "mg %s t\r\n", key), line)),
			      "HD t", 4) == 0);
		if (i % 2 == 0)
			SAYS(w, "TOUCHED\r\n", "touch %s 0\r\n", key);
		run(w, (TTL_S + 1) * NS_PER_S);
		SAYS(w, "EN\r\n", "mg %s\r\n", key);
	}
	world_destroy(w);
}

TEST(a_server_that_missed_a_flush_is_flushed_first)
{
	for (uint32_t ejects = 0; ejects < 2; ejects++) {
		struct world *w = world_create(2, 1, ejects);
		const char *key = key_of(w, 0);

		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
		cut_off(w, 0, ejects ? FRONT_HEALTH_AWAY : FRONT_HEALTH_DOWN);
		SAYS(w, ejects ? "OK\r\n" : NO_ANSWER, "flush_all\r\n");
		key = key_of(w, 0);
		w->cut[0] = false;
		until(w, 0, FRONT_HEALTH_LIVE);
		SAYS(w, "END\r\n", "get %s\r\n", key);
		SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n2\r\n", key);
		run(w, NS_PER_S);
		SAYS(w, "VA 1\r\n2\r\n", "mg %s v\r\n", key); /* once */
		world_destroy(w);
	}
}

/* The flush itself is the first request to notice, since its connection seems good. */
TEST(a_server_that_fails_during_a_flush_is_flushed_again)
{
	struct world *w = world_create(2, 0, false);
	const char *key;

	key = key_of(w, 1);
	SAYS(w, "STORED\r\n", "set %s 0 0 1\r\n1\r\n", key);
	w->cut[1] = true;
	SAYS(w, NO_ANSWER, "flush_all\r\n");
	w->cut[1] = false;
	run(w, 2 * NS_PER_S);
	until(w, 1, FRONT_HEALTH_LIVE);
	SAYS(w, "END\r\n", "get %s\r\n", key_of(w, 1));
	world_destroy(w);
}

/* A request for a key whose server changes fails at once meanwhile; others are served. */
TEST(keys_move_when_no_request_for_them_is_open)
{
	struct world *w = world_create(2, 0, false);
	struct client *waits = &w->client[1], *asks = &w->client[0];
	struct error err;
	char line[60];

	sim_station_servers(&w->config[1].servers, 1, 2); /* a is removed, c is added */
	w->cut[0] = true;
	snprintf(line, sizeof line, "delete %s\r\n", key_of(w, 0));
	send_text(w, waits, line);
	run(w, 2 * MS);
	check(front_control_reload(&w->control, &w->config[1], w->now_ns, &err));
	run(w, 6 * MS);
	snprintf(line, sizeof line, "set %s 0 0 1\r\n1\r\n", key_of(w, 0));
	send_text(w, asks, line);
	run(w, 2 * MS);
	check_str(asks->in, NO_ANSWER);
	run(w, 10 * MS);
	check_eq(waits->in_len, 0);
	while (waits->in_len == 0) {
		check(front_control_config(&w->control) == &w->config[0]);
		step(w);
	}
	check_str(waits->in, NO_ANSWER);
	run(w, 10 * MS);
	check(front_control_config(&w->control) == &w->config[1]);
	check_eq(w->control.place[0].health, FRONT_HEALTH_VACANT);
	run(w, 500 * MS); /* c is flushed */
	SAYS(w, "STORED\r\n", "%s", line);
	world_destroy(w);
}

/* ---- conversations ---- */

static void
talk_begin(struct world *w, uint64_t seed)
{
	w->seed = seed;
	w->rng.state = seed;
	w->talks = true;
}

/* Waits for all answers, and checks that nothing is held. */
static void
talk_end(struct world *w, uint32_t hits)
{
	uint32_t all = 0;

	w->talks = false;
	for (uint32_t i = 0; i < SERVERS; i++)
		w->cut[i] = false;
	run(w, 200 * MS);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		check(w->client[i].open && !w->client[i].waits);
		all += w->client[i].hits;
	}
	check(all > hits);
	check((counter_read(&front_counters(w->front)[FRONT_EXCHANGED]) > hits) ==
	      (w->shared.versions != NULL));
	check_eq(front_requests_open(w->front), 0);
	check_eq(backend_pending(w->cores[FRONT]->cores[0].core.serve), 0);
	world_destroy(w);
}

/* At a time one or two servers fail, some of them for long enough to be ejected. */
TEST(no_value_is_stale_while_servers_flap)
{
	for (uint64_t i = 0; i < 2 * seeds; i++) {
		struct world *w;

		copies = i / 2 % 2 == 1;
		w = world_create(3, i % 2, true);

		talk_begin(w, i);
		for (uint32_t round = 0; round < 12; round++) {
			const uint32_t who = sim_below(&w->rng, 3);

			w->cut[who] = true;
			w->cut[(who + 1) % 3] = sim_below(&w->rng, 4) == 0;
			run(w, sim_below(&w->rng, 1500) * MS);
			w->cut[who] = w->cut[(who + 1) % 3] = false;
			run(w, sim_below(&w->rng, 3500) * MS);
		}
		run(w, QUIET_NS);
		check(w->left > 0);
		for (uint32_t s = 0; s < 3; s++)
			check_eq(w->control.place[s].health, FRONT_HEALTH_LIVE);
		talk_end(w, 1000);
	}
}

/* Servers are added and removed while requests are pending, and while one server is cut off. */
TEST(no_value_is_stale_after_a_reload)
{
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w;

		copies = seed % 2 == 0;
		w = world_create(2, 0, true);
		talk_begin(w, seed);
		for (uint32_t round = 1; round <= 8; round++) {
			struct front_config *next = &w->config[round % 3];
			struct error err;

			sim_station_servers(&next->servers, sim_below(&w->rng, 2),
					    2 + sim_below(&w->rng, 2));
			w->cut[0] = sim_below(&w->rng, 3) == 0;
			run(w, sim_below(&w->rng, 300) * MS);
			check(front_control_reload(&w->control, next, w->now_ns, &err));
			for (uint32_t i = 0; front_control_config(&w->control) != next; i++) {
				check(i < 40);
				run(w, 50 * MS);
			}
			w->cut[0] = false;
			run(w, 600 * MS);
		}
		talk_end(w, 500);
	}
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		seeds = strtoul(argv[1], NULL, 10);
	return tests_run(NULL, NULL);
}
