/*
 * bench_missed.c - measures the cost of a key without a copy for a front's core: instructions,
 * frames and requests towards its servers.
 *
 * It prints CPU time, too, which other work disturbs. The front, its servers (one core with as
 * many connections) and clients are on a hub in memory. Every byte of every reply is compared.
 * Instructions are counted by callgrind, in the front's turns alone:
 *
 *   valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no bench_missed CASE
 *
 * CASE is lines (of 100 keys), pipelined (50 gets), singles; crowd (two lines of more clients
 * than have places for all of their keys); mix (pipelines of 8 gets, Zipf 1.01 over many keys,
 * with 64 copies: hits and missed keys in each). For comparison there are hits, singles of more
 * clients that copies answer; and alone, the same without a front, which is the limit of a hit's
 * cost.
 */
#include "sim/sim_core.h"
#include "sim/sim_front.h"
#include "sim/sim_rng.h"

#include "base/check.h"
#include "base/time_units.h"
#include "load/zipf.h"

#ifdef HAVE_CALLGRIND
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION ((void)0)
#define CALLGRIND_TOGGLE_COLLECT        ((void)0)
#endif

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEP_NS      4000u
#define FRAMES       4096u
#define CLIENTS      8u
#define CROWD        50u
#define KEYS         1000u
#define KEYS_MANY    20000u
#define ZIPF_S       1.01
#define KEY_STEP     37u
#define SERVERS      2u
#define VALUE_MIN    24u
#define VALUE_SPREAD 17u
#define WARM_STEPS   200u
#define STEPS_MAX    1000000u
#define STEPS        400u
#define REPLY_MAX    16384u
#define REQUEST_MAX  2048u
#define OFFLOADS     (PORT_TX_IP_CKSUM | PORT_TX_UDP_CKSUM | PORT_TX_TCP_CKSUM)

enum station { FRONT, SERVER, CLIENT, STATIONS };

struct shape {
	const char *name;
	uint32_t lines, keys, clients, stored;
	uint32_t copies;
	bool alone, zipf;
};

static const struct shape shapes[] = {
	{.name = "lines", .lines = 1, .keys = 100, .clients = CLIENTS, .stored = KEYS},
	{.name = "pipelined", .lines = 50, .keys = 1, .clients = CLIENTS, .stored = KEYS},
	{.name = "singles", .lines = 1, .keys = 1, .clients = CLIENTS, .stored = KEYS},
	{.name = "crowd", .lines = 2, .keys = 100, .clients = CROWD, .stored = KEYS},
	{.name = "mix",
	 .lines = 8,
	 .keys = 1,
	 .clients = CROWD,
	 .stored = KEYS_MANY,
	 .copies = 64,
	 .zipf = true},
	{.name = "hits",
	 .lines = 1,
	 .keys = 1,
	 .clients = CROWD,
	 .stored = KEYS,
	 .copies = 2 * KEYS},
	{.name = "alone", .lines = 1, .keys = 1, .clients = CROWD, .stored = KEYS, .alone = true},
};

struct client {
	struct conn *conn;
	bool open;
	char reply[REPLY_MAX];
	uint32_t reply_len, had;
	uint64_t keys;
};

struct world {
	const struct shape *shape;
	struct sim_cores *cores[2];
	struct sim_stack *clients;
	struct mem_port *port[STATIONS];
	struct front *front;
	struct client client[CROWD];
	struct sim_rng rng;
	struct load_rng draws;
	struct zipf zipf;
	uint32_t stored;
	uint64_t frames;   /* from the front to its servers */
	uint64_t front_ns; /* CPU time of its turns */
};

/* ---- clients ---- */

static uint32_t
value_len(uint32_t key)
{
	return VALUE_MIN + key % VALUE_SPREAD;
}

static uint32_t
put_value(char *at, uint32_t key)
{
	memset(at, 'a' + (int)(key % 26), value_len(key));
	return value_len(key);
}

static void
send_bytes(struct world *w, struct client *c, const char *bytes, uint32_t len)
{
	ensure(conn_writable(w->clients->stack, c->conn, 1) && len <= CONN_RESERVE_MAX);
	memcpy(conn_reserve(w->clients->stack, c->conn, len), bytes, len);
	conn_commit(w->clients->stack, c->conn, len);
}

/* Stores the next key through the front. */
static void
store_next(struct world *w, struct client *c)
{
	char request[256];
	const uint32_t key = w->stored++;
	uint32_t n = (uint32_t)sprintf(request, "set k%05u 0 0 %u\r\n", key, value_len(key));

	n += put_value(request + n, key);
	memcpy(request + n, "\r\n", 2);
	c->reply_len = (uint32_t)sprintf(c->reply, "STORED\r\n");
	send_bytes(w, c, request, n + 2);
}

/* Returns a key that was not requested before, except for drawn ones. */
static uint32_t
key_behind(struct world *w, uint32_t key)
{
	return w->shape->zipf ? zipf_draw(&w->zipf, &w->draws) - 1 : (key + KEY_STEP) % KEYS;
}

static void
ask_next(struct world *w, struct client *c)
{
	char request[REQUEST_MAX];
	uint32_t n = 0, key = sim_below(&w->rng, KEYS);

	c->reply_len = 0;
	for (uint32_t i = 0; i < w->shape->lines; i++) {
		n += (uint32_t)sprintf(request + n, "get");
		for (uint32_t k = 0; k < w->shape->keys; k++) {
			key = key_behind(w, key);
			n += (uint32_t)sprintf(request + n, " k%05u", key);
			c->reply_len +=
				(uint32_t)sprintf(c->reply + c->reply_len, "VALUE k%05u 0 %u\r\n",
						  key, value_len(key));
			c->reply_len += put_value(c->reply + c->reply_len, key);
			c->reply_len += (uint32_t)sprintf(c->reply + c->reply_len, "\r\n");
			c->keys++;
		}
		n += (uint32_t)sprintf(request + n, "\r\n");
		c->reply_len += (uint32_t)sprintf(c->reply + c->reply_len, "END\r\n");
	}
	ensure(n <= REQUEST_MAX && c->reply_len <= REPLY_MAX);
	send_bytes(w, c, request, n);
}

static void
client_turn(struct world *w, struct client *c)
{
	for (struct view v = conn_peek(c->conn); v.len > 0; v = conn_peek(c->conn)) {
		ensure(c->had + v.len <= c->reply_len &&
		       memcmp(c->reply + c->had, v.data, v.len) == 0);
		c->had += v.len;
		conn_advance(w->clients->stack, c->conn, v.len);
	}
	if (c->had != c->reply_len)
		return;
	c->had = 0;
	if (w->stored < w->shape->stored)
		store_next(w, c);
	else
		ask_next(w, c);
}

static void
clients_turn(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->clients->stack) != NULL)
		;
	for (uint32_t i = 0; i < w->shape->clients; i++)
		if (w->client[i].open)
			client_turn(w, &w->client[i]);
}

static void
on_opened(void *arg, struct conn *conn)
{
	struct world *w = arg;

	for (uint32_t i = 0; i < w->shape->clients; i++)
		w->client[i].open |= w->client[i].conn == conn;
}

static void
on_gone(void *arg, struct conn *conn)
{
	ensure(false);
}

static void
on_failed(void *arg, struct conn *conn, enum conn_failure why)
{
	ensure(false);
}

/* ---- the world ---- */

static struct sim_cores *
cores_create(struct world *w, enum station i)
{
	const struct sim_station station = {.number = i,
					    .frames = FRAMES,
					    .caps = OFFLOADS,
					    .links = i == FRONT ? 3 * SERVERS : 0,
					    .memory_bytes = 16u << 20,
					    .seed = 11};

	return sim_station_create(&station, &w->port[i]);
}

static void
front_make(struct world *w)
{
	static const struct front_server names[SERVERS] = {{"server1", 1}, {"server2", 1}};
	const struct front_address at = {.ip = ip_addr_v4(sim_station_ip(SERVER)),
					 .port = SIM_PORT};
	const struct front_address addresses[SERVERS] = {at, at};
	struct core *core = &w->cores[FRONT]->cores[0].core;
	struct front_settings settings = {
		.servers = SERVERS,
		.connections = 1,
		.conns_max = 64,
		.misses_on_failure = true,
		.timeout_ns = 1000000000ull,
		.connect_timeout_ns = 1000000000ull,
		.retry_timeout_ns = 1000000000ull,
		.ttl_s = 1,
		.copy_ns = 1000000000ull, /* shared mode's default */
		.failure_limit = 2,
		.answer_bytes_max = 4u << 20,
	};
	struct region region = {.size = front_bytes(&settings)};

	settings.shared = sim_front_shared(w->shape->copies);
	settings.fleet = sim_front_fleet(names, addresses, SERVERS);
	region.base = calloc(1, region.size);
	ensure(region.base != NULL);
	w->front = front_create(&region, &settings, core->serve, core->stack, core->store);
}

static void
world_make(struct world *w)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 0x30};
	const struct stack_user user = {w, on_opened, on_gone, on_failed};
	struct stack_config cfg = sim_config(5);

	w->cores[FRONT] = cores_create(w, FRONT);
	w->cores[SERVER] = cores_create(w, SERVER);
	cfg.net.ipv4 = sim_station_ip(CLIENT);
	cfg.tcp.port = 0;
	w->clients = sim_stack_create_as(&cfg, FRAMES, OFFLOADS, mac);
	w->clients->serve = clients_turn;
	w->clients->arg = w;
	stack_attach(w->clients->stack, &user);
	w->port[CLIENT] = w->clients->port;
	if (!w->shape->alone)
		front_make(w);
}

static void
front_turn(struct world *w, bool counted)
{
	const uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (counted)
		CALLGRIND_TOGGLE_COLLECT;
	sim_cores_turn(w->cores[FRONT]);
	if (counted)
		CALLGRIND_TOGGLE_COLLECT;
	w->front_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static void
step(struct world *w, bool counted)
{
	const struct mem_ring *server_rx = &w->port[SERVER]->rx;
	const uint32_t before = server_rx->tail;

	mem_port_hub(w->port, STATIONS, NULL);
	w->frames += server_rx->tail - before;
	w->clients->now_ns += STEP_NS;
	w->cores[FRONT]->now_ns = w->cores[SERVER]->now_ns = w->clients->now_ns;
	front_turn(w, counted);
	sim_cores_turn(w->cores[SERVER]);
	sim_stack_turn(w->clients);
}

static void
connect_all(struct world *w)
{
	const struct conn_target to = {.ip = ip_addr_v4(sim_station_ip(FRONT)), .port = SIM_PORT};

	for (uint32_t i = 0; i < w->shape->clients; i++)
		ensure((w->client[i].conn = conn_connect(w->clients->stack, &to)) != NULL);
}

static uint64_t
count_of(const struct world *w, enum front_counter which)
{
	return w->front != NULL ? counter_read(&front_counters(w->front)[which]) : 0;
}

static uint64_t
keys_asked(const struct world *w)
{
	uint64_t keys = 0;

	for (uint32_t i = 0; i < w->shape->clients; i++)
		keys += w->client[i].keys;
	return keys;
}

int
main(int argc, char **argv)
{
	static struct world w;
	uint64_t keys, requests, steps = argc > 2 ? strtoul(argv[2], NULL, 10) : STEPS;

	for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
		if (argc > 1 && strcmp(argv[1], shapes[i].name) == 0)
			w.shape = &shapes[i];
	if (w.shape == NULL) {
		fputs("usage: bench_missed lines|pipelined|singles|crowd|mix|hits|alone [STEPS]\n",
		      stderr);
		return 1;
	}
	zipf_init(&w.zipf, w.shape->stored, ZIPF_S);
	world_make(&w);
	for (uint32_t i = 0; i < 100; i++)
		step(&w, false);
	connect_all(&w);
	for (uint32_t i = 0, warm = 0; warm < (w.shape->copies != 0 ? 10 * WARM_STEPS : WARM_STEPS);
	     i++, warm += w.stored == w.shape->stored) {
		ensure(i < STEPS_MAX);
		step(&w, false);
	}
	keys = keys_asked(&w);
	requests = count_of(&w, FRONT_REQUESTED);
	w.frames = w.front_ns = 0;
	CALLGRIND_START_INSTRUMENTATION;
	for (uint64_t i = 0; i < steps; i++)
		step(&w, true);
	keys = keys_asked(&w) - keys;
	requests = count_of(&w, FRONT_REQUESTED) - requests;
	ensure(keys > 0);
	printf("{\"keys\": %llu, \"keys_a_request\": %.2f, \"frames_a_key\": %.4f, \"ns_a_key\": "
	       "%.1f}\n",
	       (unsigned long long)keys, requests == 0 ? 0 : (double)keys / (double)requests,
	       (double)w.frames / (double)keys, (double)w.front_ns / (double)keys);
	return 0;
}
