/*
 * A front with copies before one server that delays its answers on demand. Goal: however many
 * clients request a key at once, one get reaches the server; of their writes, one set at a time
 * does. A get that is sent after a write has begun returns that write's value. Copies answer from
 * then on, but not after a write, a miss or a flush, nor when the front starts. Method: a whole
 * core with a front, a thousand clients and a model server on one stack; the server counts its
 * requests.
 */
#include "sim_front.h"
#include "sim_memcached.h"
#include "sim_service.h"

#include "index/item_simple.h"
#include "store/store_state.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS      1000u
#define SLOTS        1100u
#define RECEIVED_MAX 256u
#define STEP_NS      100000u
#define MS           1000000ull
#define TIMEOUT_NS   (200 * MS)
#define TTL_S        2u
#define COPY_NS      (500 * MS)
#define OTHERS       "VALUE key0 0 6\r\nothers\r\nEND\r\n"
#define QUIET_S      FRONT_QUIET_S

struct client {
	struct conn *conn;
	bool open;
	char received[RECEIVED_MAX];
	uint32_t received_len;
};

struct world {
	struct sim_service sim;
	struct sim_one_front one;
	struct front_stats stats;
	struct client client[CLIENTS];
	struct client *of_slot[SLOTS];
	struct sim_memcached server;
	uint64_t stall_ns; /* pause between a turn's clock and its frames */
};

/* ---- the world ---- */

static uint64_t
clock_ns(const void *arg)
{
	const struct world *w = arg;

	return w->sim.sc->now_ns + w->stall_ns;
}

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;
	struct client *cl = w->of_slot[conn_slot(c)];

	if (cl != NULL) {
		cl->open = true;
		return;
	}
	sim_memcached_opened(&w->server, c);
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;

	sim_memcached_gone(&w->server, c);
}

static void
turn(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->sim.ss->stack) != NULL)
		;
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct client *cl = &w->client[i];

		for (struct view v = cl->open ? conn_peek(cl->conn) : (struct view){NULL, 0};
		     v.len > 0; v = conn_peek(cl->conn)) {
			check(cl->received_len + v.len < RECEIVED_MAX);
			memcpy(cl->received + cl->received_len, v.data, v.len);
			cl->received_len += v.len;
			conn_advance(w->sim.ss->stack, cl->conn, v.len);
		}
	}
	sim_memcached_turn(&w->server);
}

static void
run(struct world *w, uint64_t for_ns)
{
	sim_service_run(&w->sim, for_ns, STEP_NS);
}

static void
front_attach(struct world *w, uint32_t quiet_s, uint64_t copy_ns)
{
	const struct front_settings settings = {
		.conns_max = SLOTS,
		.misses_on_failure = true,
		.timeout_ns = TIMEOUT_NS,
		.connect_timeout_ns = TIMEOUT_NS,
		.retry_timeout_ns = TIMEOUT_NS,
		.failure_limit = 2,
		.answer_bytes_max = 1u << 20,
		.ttl_s = TTL_S,
		.quiet_s = quiet_s,
		.copy_ns = copy_ns,
		.clock_ns = clock_ns,
		.clock_arg = w,
		.stats = &w->stats,
	};

	sim_one_front_create(&w->one, &w->sim, &settings, FRONT_ITEMS_MEMORY);
}

/* Creates a world. list: what the server lists of connections when the front starts. copy_ns: life
 * of a copy in shared mode, or 0. */
static struct world *
world_create_as(uint32_t clients, uint32_t quiet_s, uint64_t copy_ns,
		const struct sim_memcached *list)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {w, on_opened, on_gone, NULL};

	check_ptr(w);
	o.cores.stack.tcp.conns_max = SLOTS;
	o.cores.stack.tcp.active_reserve = 3;
	o.cores.stack.tcp.chunks = 16 * CLIENTS; /* waiting clients may use an eighth of them */
	o.clients.tcp.conns_max = SLOTS;
	o.clients.tcp.port = SIM_PORT;
	sim_service_create(&w->sim, &o, &user, turn);
	front_attach(w, quiet_s, copy_ns);
	w->server = *list;
	w->server.stack = w->sim.ss->stack;
	strcpy(w->server.value[0], "first");
	for (uint32_t i = 0; i < clients; i++) {
		w->client[i].conn = sim_service_connect(&w->sim);
		w->of_slot[conn_slot(w->client[i].conn)] = &w->client[i];
		if (i % 16 == 15)
			run(w, MS);
	}
	run(w, 50 * MS);
	check_eq(front_lane_info(w->one.front, 0).state, LANE_UP);
	return w;
}

static struct world *
world_create_listing(uint32_t clients, uint32_t quiet_s, const struct sim_memcached *list)
{
	return world_create_as(clients, quiet_s, 0, list);
}

static struct world *
world_create(uint32_t clients, uint32_t quiet_s)
{
	static const struct sim_memcached lists_nothing;

	return world_create_listing(clients, quiet_s, &lists_nothing);
}

static void
world_destroy(struct world *w)
{
	const struct core *core = &w->sim.sc->cores[0].core;

	w->server.waits = false;
	run(w, 2 * TIMEOUT_NS);
	check_eq(front_requests_open(w->one.front), 0);
	check_eq(backend_pending(core->serve), 0);
	sim_service_destroy(&w->sim);
	sim_one_front_destroy(&w->one);
	free(w);
}

static void
ask(struct world *w, uint32_t client, const char *request)
{
	w->client[client].received_len = 0;
	sim_service_say(&w->sim, w->client[client].conn, request, (uint32_t)strlen(request));
}

/* Sends a get of each client at once; none is answered yet. */
static void
all_ask(struct world *w, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		ask(w, i, "get key0\r\n");
	run(w, 20 * MS);
}

static void
received(struct world *w, uint32_t client, const char *text)
{
	struct client *cl = &w->client[client];

	cl->received[cl->received_len] = '\0';
	check_str(cl->received, text);
	cl->received_len = 0;
}

#define FIRST  "VALUE key0 0 5\r\nfirst\r\nEND\r\n"
#define SECOND "VALUE key0 0 6\r\nsecond\r\nEND\r\n"
#define MISS   "END\r\n"
#define LATE   "set key0 0 0 6\r\nsecond\r\n"

/* Checks what one client receives, and how often the server was asked for it. */
static void
one_receives(struct world *w, const char *request, const char *text, uint32_t gets)
{
	const uint32_t before = w->server.gets;

	ask(w, 0, request);
	run(w, 10 * MS);
	received(w, 0, text);
	check_eq(w->server.gets - before, gets);
}

/* Checks the counters: a thousand clients have followed one, and copies have answered a
 * thousand. Of all these requests a few samples are recorded. */
static void
copies_are_counted(struct world *w)
{
	uint64_t spared;

	for (uint32_t round = 0; round < 4; round++) {
		all_ask(w, 0, CLIENTS);
		for (uint32_t i = 0; i < CLIENTS; i++)
			received(w, i, FIRST);
	}
	spared = front_stats_sum_mt(&w->stats, 0, FRONT_SERVER_SPARED);

	check_eq(front_stats_sum_mt(&w->stats, 0, FRONT_SERVER_FILLS), 1);
	check_eq(front_stats_sum_mt(&w->stats, 0, FRONT_SERVER_JOINED), CLIENTS - 1);
	check(spared > 2 * CLIENTS && spared < 10 * CLIENTS);
}

/* ---- tests ---- */

TEST(a_thousand_ask_for_a_cold_key_and_one_get_is_sent)
{
	struct world *w = world_create(CLIENTS, 0);

	w->server.waits = true;
	all_ask(w, 0, CLIENTS);
	w->server.waits = false;
	run(w, 20 * MS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		received(w, i, FIRST);
	check_eq(w->server.gets, 1);
	all_ask(w, 0, CLIENTS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		received(w, i, FIRST);
	check_eq(w->server.gets, 1);
	copies_are_counted(w);
	world_destroy(w);
}

/* The server may still execute requests of an earlier process, so nothing is kept. */
TEST(nothing_is_kept_yet_and_a_get_is_shared)
{
	struct world *w = world_create(CLIENTS, QUIET_S);

	w->server.waits = true;
	all_ask(w, 0, CLIENTS / 2);
	all_ask(w, CLIENTS / 2, CLIENTS);
	w->server.waits = false;
	run(w, 20 * MS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		received(w, i, FIRST);
	check_eq(w->server.gets, 1);
	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key0 key1 key0 key0\r\n",
		     "VALUE key0 0 5\r\nfirst\r\nVALUE key0 0 5\r\nfirst\r\n" FIRST, 2);
	world_destroy(w);
}

/* Clients that request the key after the write has begun share a new get. */
TEST(a_get_after_a_write_returns_its_value)
{
	struct world *w = world_create(301, 0);

	w->server.waits = true;
	all_ask(w, 0, 100);
	ask(w, 300, "set key0 0 0 6\r\nsecond\r\n");
	run(w, 5 * MS);
	all_ask(w, 100, 300);
	w->server.waits = false;
	run(w, 30 * MS);
	received(w, 300, "STORED\r\n");
	for (uint32_t i = 100; i < 300; i++)
		received(w, i, SECOND);
	check(w->server.gets <= 2);
	world_destroy(w);
}

/* A get that fails also fails for the clients that share it, and for no others. */
TEST(the_successor_outlives_the_leader)
{
	struct world *w = world_create(101, 0);

	w->server.waits = true;
	all_ask(w, 0, 50);
	ask(w, 100, "set key0 0 0 6\r\nsecond\r\n");
	run(w, TIMEOUT_NS / 2);
	all_ask(w, 50, 100);
	run(w, TIMEOUT_NS / 2 + 5 * MS);
	w->server.waits = false;
	run(w, 40 * MS);
	received(w, 100, "SERVER_ERROR no answer in time\r\n");
	for (uint32_t i = 0; i < 50; i++)
		received(w, i, MISS);
	for (uint32_t i = 50; i < 100; i++)
		received(w, i, FIRST);
	/* The result of the set is unknown, so nothing of the key is kept. */
	check_eq(counter_read(&front_counters(w->one.front)[FRONT_WRITES_LOST]), 1);
	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key0\r\n", FIRST, 1);
	world_destroy(w);
}

/* Half of the clients that share a request close, including the first one. */
TEST(a_client_that_leaves_does_not_end_a_shared_request)
{
	struct world *w = world_create(60, 0);

	w->server.waits = true;
	all_ask(w, 0, 60);
	for (uint32_t i = 0; i < 60; i += 2) {
		conn_abort(w->sim.ss->stack, w->client[i].conn);
		w->client[i].open = false;
	}
	run(w, 5 * MS);
	w->server.waits = false;
	run(w, 20 * MS);
	for (uint32_t i = 1; i < 60; i += 2)
		received(w, i, FIRST);
	check_eq(w->server.gets, 1);
	world_destroy(w);
}

/* Sends a set of each client with its own value, flags and verb. */
static void
all_write(struct world *w, uint32_t first, uint32_t end)
{
	char line[40];

	for (uint32_t i = first; i < end; i++) {
		snprintf(line, sizeof line,
			 i % 3 != 2 ? "set key0 %u 0 5\r\nv%04u\r\n" : "ms key0 5 F%u\r\nv%04u\r\n",
			 i, i);
		ask(w, i, line);
	}
	run(w, 20 * MS);
}

static void
it_is_stored(struct world *w, uint32_t client)
{
	received(w, client, client % 3 != 2 ? "STORED\r\n" : "HD\r\n");
}

/* Two sets are sent: that of the first value, and then that of the last, for all others. */
TEST(a_thousand_write_a_key_and_one_set_is_sent_at_a_time)
{
	struct world *w = world_create(CLIENTS, 0);
	const char *last = w->server.value[0];
	char text[80];

	one_receives(w, "get key0\r\n", FIRST, 1);
	w->server.waits = true;
	all_write(w, 0, CLIENTS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		received(w, i, "");
	w->server.waits = false;
	run(w, 20 * MS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		it_is_stored(w, i);
	check_eq(w->server.sets_most, 1);
	check_eq(w->server.sets, 2);
	check_eq(counter_read(&front_counters(w->one.front)[FRONT_COMBINED]), CLIENTS - 2);
	sprintf(text, "VALUE key0 %lu 5\r\n%s\r\nEND\r\n", strtoul(last + 1, NULL, 10), last);
	one_receives(w, "get key0\r\n", text, 0);
	world_destroy(w);
}

/* A lost set does not fail the sets after it; a client that closes does not cancel the others'
 * value. */
TEST(the_next_set_outlives_the_first)
{
	struct world *w = world_create(51, 0);

	w->server.waits = true;
	all_write(w, 0, 1);
	run(w, TIMEOUT_NS / 2);
	all_write(w, 1, 51);
	for (uint32_t i = 1; i < 51; i += 2) {
		conn_abort(w->sim.ss->stack, w->client[i].conn);
		w->client[i].open = false;
	}
	run(w, TIMEOUT_NS / 2 + 5 * MS);
	w->server.waits = false;
	run(w, 40 * MS);
	received(w, 0, "SERVER_ERROR no answer in time\r\n");
	for (uint32_t i = 2; i < 51; i += 2)
		it_is_stored(w, i);
	check_eq(w->server.sets_most, 1);
	check_eq(w->server.value[0][0], 'v');
	world_destroy(w);
}

TEST(wrong_copies_are_dropped)
{
	struct world *w = world_create(1, 0);

	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key0\r\n", FIRST, 0);
	one_receives(w, "set key0 0 0 6\r\nsecond\r\n", "STORED\r\n", 0);
	one_receives(w, "get key0\r\n", SECOND, 0);
	one_receives(w, "delete key0\r\n", "DELETED\r\n", 0);
	one_receives(w, "get key0\r\n", MISS, 1);
	one_receives(w, "get key0\r\n", MISS, 0);
	one_receives(w, "mg key0 v\r\n", "EN\r\n", 0);
	one_receives(w, "set key0 0 0 5\r\nfirst\r\n", "STORED\r\n", 0);
	one_receives(w, "get key0\r\n", FIRST, 0);
	one_receives(w, "mg key0 v f\r\n", "VA 5 f0\r\nfirst\r\n", 0);
	one_receives(w, "set key0 0 1000 6\r\nsecond\r\n", "STORED\r\n", 0);
	one_receives(w, "get key0\r\n", SECOND, 0);
	one_receives(w, "mg key0 v f\r\n", "VA 6 f0\r\nsecond\r\n", 0);
	one_receives(w, "ms key0 5 T100\r\nthird\r\n", "HD\r\n", 0);
	one_receives(w, "get key0\r\n", "VALUE key0 0 5\r\nthird\r\nEND\r\n", 0);
	check_eq(counter_read(&front_counters(w->one.front)[FRONT_EXCHANGED]), 4);
	one_receives(w, "flush_all\r\n", "OK\r\n", 0);
	one_receives(w, "get key0\r\n", MISS, 1);
	one_receives(w, "get key0\r\n", MISS, 0);
	world_destroy(w);
}

/* A miss copy is no item, and the copies are no list of keys. */
TEST(miss_copies_are_not_shown_as_items)
{
	struct world *w = world_create(1, 0);

	one_receives(w, "get key0\r\n", FIRST, 1);
	ask(w, 0, "me key0\r\n");
	run(w, 10 * MS);
	check(memcmp(w->client[0].received, "ME key0 exp=", 12) == 0);
	one_receives(w, "get key1\r\n", MISS, 1);
	one_receives(w, "me key1\r\n", "EN\r\n", 0);
	one_receives(w, "lru_crawler metadump all\r\n", "ERROR metadump not allowed\r\n", 0);
	one_receives(w, "stats cachedump 1 10\r\n", "CLIENT_ERROR stats cachedump not allowed\r\n",
		     0);
	world_destroy(w);
}

/* A client whose set is refused must not get the old value. An add or a set that compares a cas
 * would not have replaced it, and deletes nothing. */
TEST(a_set_that_is_too_large_deletes)
{
	struct world *w = world_create(3, 0);

	one_receives(w, "get key0\r\n", FIRST, 1);
	ask(w, 2, "add key0 0 0 900000000\r\n");
	run(w, 10 * MS);
	received(w, 2, "SERVER_ERROR object too large for cache\r\n");
	one_receives(w, "get key0\r\n", FIRST, 0);
	ask(w, 1, "set key0 0 0 900000000\r\n");
	run(w, 10 * MS);
	received(w, 1, "SERVER_ERROR object too large for cache\r\n");
	one_receives(w, "get key0\r\n", MISS, 1);
	one_receives(w, "set key0 0 0 5\r\nfirst\r\n", "STORED\r\n", 0);
	one_receives(w, "get key0\r\n", FIRST, 0);
	world_destroy(w);
}

/* A copy made by get lacks its cas; one with a cas answers get and gets. Both verbs share a
 * leader. */
TEST(gets_have_copies_with_the_servers_cas)
{
	static const struct sim_memcached mended = {.version = "VERSION 1.6.45\r\n", .exp = -1};
	struct world *w = world_create_listing(100, 0, &mended);

	w->server.cas[0] = 7;
	w->server.waits = true;
	for (uint32_t i = 0; i < 100; i++)
		ask(w, i, i % 2 == 0 ? "gets key0\r\n" : "get key0\r\n");
	run(w, 20 * MS);
	w->server.waits = false;
	run(w, 20 * MS);
	for (uint32_t i = 0; i < 100; i++)
		received(w, i, i % 2 == 0 ? "VALUE key0 0 5 7\r\nfirst\r\nEND\r\n" : FIRST);
	check_eq(w->server.gets, 2);
	one_receives(w, "set key0 0 0 6\r\nsecond\r\n", "STORED\r\n", 0);
	one_receives(w, "get key0\r\n", SECOND, 0);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 6 8\r\nsecond\r\nEND\r\n", 1);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 6 8\r\nsecond\r\nEND\r\n", 0);
	one_receives(w, "get key0\r\n", SECOND, 0);
	one_receives(w, "delete key0\r\n", "DELETED\r\n", 0);
	one_receives(w, "gets key0\r\n", MISS, 1);
	one_receives(w, "gets key0\r\n", MISS, 0);
	one_receives(w, "set key0 0 0 5\r\nfirst\r\n", "STORED\r\n", 0);
	w->server.cas[0] = 1ull << 44; /* too large to be kept */
	one_receives(w, "gets key0\r\n", "VALUE key0 0 5 17592186044416\r\nfirst\r\nEND\r\n", 1);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 5 17592186044416\r\nfirst\r\nEND\r\n", 1);
	world_destroy(w);
}

/* A copy with less information is replaced, and its information stays in the new one. */
TEST(a_copy_is_replaced_by_one_with_more_information)
{
	static const struct sim_memcached mended = {.version = "VERSION 1.6.45\r\n", .exp = -1};
	struct world *w = world_create_listing(1, 0, &mended);

	w->server.cas[0] = 7;
	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "mg key0 v\r\n", "VA 5\r\nfirst\r\n", 1);
	one_receives(w, "mg key0 s v k\r\n", "VA 5 s5 kkey0\r\nfirst\r\n", 0);
	one_receives(w, "get key0\r\n", FIRST, 0);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 5 7\r\nfirst\r\nEND\r\n", 1);
	one_receives(w, "mg key0 v\r\n", "VA 5\r\nfirst\r\n", 1);
	one_receives(w, "mg key0 v c\r\n", "VA 5 c7\r\nfirst\r\n", 0);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 5 7\r\nfirst\r\nEND\r\n", 0);
	one_receives(w, "get key0\r\n", FIRST, 0);
	world_destroy(w);
}

/* Restarts the server as another process, with another value under the same cas number. */
static void
restart(struct world *w)
{
	sim_memcached_restart(&w->server);
	strcpy(w->server.value[0], "second");
	w->server.cas[0] = 1;
	run(w, 2 * TIMEOUT_NS);
}

TEST(a_copy_has_no_cas_of_before_a_restart_of_its_server)
{
	struct world *w = world_create(1, 0);

	one_receives(w, "set key0 0 0 5\r\nfirst\r\n", "STORED\r\n", 0);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 5 1\r\nfirst\r\nEND\r\n", 1);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 5 1\r\nfirst\r\nEND\r\n", 0);
	restart(w);
	one_receives(w, "get key0\r\n", FIRST, 0);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 6 1\r\nsecond\r\nEND\r\n", 1);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 6 1\r\nsecond\r\nEND\r\n", 0);
	one_receives(w, "cas key0 0 0 5 1\r\nfirst\r\n", "STORED\r\n", 0);
	one_receives(w, "cas key0 0 0 5 1\r\nfirst\r\n", "EXISTS\r\n", 0);
	world_destroy(w);
}

/* Connections beyond VERSIONS_OPENED_MAX are numbered from 0 again. */
TEST(copies_of_the_first_connection_do_not_count_for_a_later_one)
{
	struct world *w = world_create(1, 0);

	atomic_store(&w->one.shared.versions->opened, 0);
	one_receives(w, "set key0 0 0 5\r\nfirst\r\n", "STORED\r\n", 0);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 5 1\r\nfirst\r\nEND\r\n", 1);
	atomic_store(&w->one.shared.versions->opened, VERSIONS_OPENED_MAX - 1);
	restart(w);
	check_eq(atomic_load(&w->one.shared.versions->opened), 0);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 6 1\r\nsecond\r\nEND\r\n", 1);
	one_receives(w, "gets key0\r\n", "VALUE key0 0 6 1\r\nsecond\r\nEND\r\n", 0);
	world_destroy(w);
}

/* At the server the item expires ttl_s after its second, which may have been about to end. */
TEST(a_copy_expires_before_the_item_at_its_server)
{
	struct world *w = world_create(1, 0);
	const struct serve *serve = w->sim.sc->cores[0].core.serve;
	char line[60];

	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "set key0 0 3 6\r\nsecond\r\n", "STORED\r\n", 0);
	one_receives(w, "get key0\r\n", SECOND, 0);
	run(w, 900 * MS);
	one_receives(w, "get key0\r\n", SECOND, 0);
	run(w, 1100 * MS);
	one_receives(w, "get key0\r\n", SECOND, 1);
	one_receives(w, "set key0 0 1 5\r\nfirst\r\n", "STORED\r\n", 0);
	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "set key0 0 -1 6\r\nsecond\r\n", "STORED\r\n", 0);
	one_receives(w, "get key0\r\n", SECOND, 1);
	snprintf(line, sizeof line, "set key0 0 %lld 5\r\nfirst\r\n",
		 (long long)serve_unix_s(serve) + 100);
	one_receives(w, line, "STORED\r\n", 0);
	one_receives(w, "get key0\r\n", FIRST, 1);
	check_eq(counter_read(&front_counters(w->one.front)[FRONT_EXCHANGED]), 1);
	world_destroy(w);
}

TEST(nothing_is_kept_for_a_while)
{
	struct world *w = world_create(1, 2);

	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key0\r\n", FIRST, 1);
	run(w, 3000 * MS);
	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key0\r\n", FIRST, 0);
	world_destroy(w);
}

static struct world *
world_of(const char *version)
{
	const struct sim_memcached server = {.version = version};

	return world_create_listing(1, 0, &server);
}

/* Checks whether a copy answers at once, and after front.ttl, by what a server of this version
 * reports of its item. */
static void
lives(const char *version, int32_t exp, bool at_once, bool later)
{
	struct world *w = world_of(version);

	w->server.exp = exp;
	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key0\r\n", FIRST, at_once ? 0 : 1);
	run(w, (TTL_S + 1) * 1000 * MS);
	one_receives(w, "get key0\r\n", FIRST, later ? 0 : 1);
	check_eq(counter_read(&front_counters(w->one.front)[FRONT_SERVER_BROKEN]), 0);
	world_destroy(w);
}

/* Shows an item with 1 s to live as -1, as one without expiry. */
#define REVERSED "VERSION 1.6.18\r\n"
#define MENDED   "VERSION 1.6.45\r\n"

TEST(a_copy_does_not_outlive_its_item)
{
	lives(REVERSED, -100, true, true);
	lives(REVERSED, -3, true, false);
	lives(REVERSED, -1, true, false);
	lives(MENDED, 100, true, true);
	lives(MENDED, 3, true, false);
	lives(MENDED, 1, false, false);
	lives(MENDED, -1, true, true);
}

/* A flush at a date, or after a delay. */
TEST(nothing_is_kept_until_a_delayed_flush_is_over)
{
	struct world *w = world_create(1, 0);
	const struct serve *serve = w->sim.sc->cores[0].core.serve;
	char line[40];

	for (uint32_t date = 0; date < 2; date++) {
		const long long from_s = date == 1 ? serve_unix_s(serve) : 0;

		snprintf(line, sizeof line, "flush_all %lld\r\n", from_s + 1);
		one_receives(w, line, "OK\r\n", 0);
		one_receives(w, "set key0 0 0 5\r\nfirst\r\n", "STORED\r\n", 0);
		one_receives(w, "get key0\r\n", FIRST, 1);
		one_receives(w, "get key0\r\n", FIRST, 1);
		run(w, 5000 * MS);
		one_receives(w, "get key0\r\n", FIRST, 1);
		one_receives(w, "get key0\r\n", FIRST, 0);
	}
	world_destroy(w);
}

TEST(nothing_else_is_listed_and_copies_are_kept_at_once)
{
	static const struct sim_memcached ours = {.lists = SIM_LISTS};
	struct world *w = world_create_listing(1, QUIET_S, &ours);

	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key0\r\n", FIRST, 0);
	one_receives(w, "set key0 0 0 6\r\nsecond\r\n", "STORED\r\n", 0);
	one_receives(w, "get key0\r\n", SECOND, 0);
	check_eq(w->server.listed, 1);
	world_destroy(w);
}

/* Requests of an earlier process may be executed late, and a copy would be older than their
 * effect. */
TEST(nothing_is_kept_while_an_earlier_process_is_listed)
{
	static const struct sim_memcached both = {.lists = SIM_LISTS, .lists_former = true};
	struct world *w = world_create_listing(1, QUIET_S, &both);

	run(w, 10000 * MS);
	one_receives(w, "get key0\r\n", FIRST, 1);
	w->server.left.len = (uint32_t)strlen(LATE);
	memcpy(w->server.left.bytes, LATE, sizeof LATE);
	sim_memcached_late(&w->server);
	one_receives(w, "get key0\r\n", SECOND, 1);
	check(w->server.listed >= 10 && w->server.listed <= 20);
	w->server.lists_former = false;
	run(w, 1100 * MS);
	one_receives(w, "get key0\r\n", SECOND, 1);
	one_receives(w, "get key0\r\n", SECOND, 0);
	world_destroy(w);
}

/* Only the front can reset the connection; the server keeps it. */
TEST(a_connection_of_an_earlier_process_is_reset)
{
	static const struct sim_memcached both = {
		.lists = SIM_LISTS, .lists_former = true, .keeps_former = true};
	struct world *w = world_create_listing(1, QUIET_S, &both);

	run(w, 10000 * MS); /* one list a second */
	for (uint32_t listed = w->server.listed; w->server.listed == listed;)
		run(w, MS);
	w->server.waits = true;
	ask(w, 0, "get key1\r\n");
	run(w, 5 * MS);
	w->sim.wire->faults.lose = 1000;
	run(w, TIMEOUT_NS + 20 * MS); /* our RST is lost, and the next port differs */
	w->server.said.len = 0;
	w->server.waits = false;
	w->sim.wire->faults.lose = 0;
	run(w, 2000 * MS);
	w->client[0].received_len = 0;
	one_receives(w, "get key0\r\n", FIRST, 1);
	w->server.lists_former = false;
	run(w, 2000 * MS);
	check(w->server.former_port != 0 && w->server.former == NULL);
	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key0\r\n", FIRST, 0);
	world_destroy(w);
}

/* Without a usable list the front waits for a fixed time. */
TEST(a_useless_list_is_asked_for_once)
{
	static const struct sim_memcached others = {.lists = SIM_LISTS_OTHERS},
					  nonsense = {.lists = SIM_LISTS_NONSENSE};
	const struct sim_memcached *list[] = {&others, &nonsense};

	for (uint32_t i = 0; i < 2; i++) {
		struct world *w = world_create_listing(1, 3, list[i]);

		run(w, 1500 * MS);
		one_receives(w, "get key0\r\n", FIRST, 1);
		one_receives(w, "get key0\r\n", FIRST, 1);
		check_eq(w->server.listed, 1);
		run(w, 2500 * MS);
		one_receives(w, "get key0\r\n", FIRST, 1);
		one_receives(w, "get key0\r\n", FIRST, 0);
		world_destroy(w);
	}
}

/* A set whose connection has ended may be executed until the server no longer lists that
 * connection. */
TEST(a_lost_write_ends_copies_until_its_server_is_done)
{
	static const struct sim_memcached ours = {.lists = SIM_LISTS};
	struct world *w = world_create_listing(1, QUIET_S, &ours);

	one_receives(w, "get key0\r\n", FIRST, 1);
	w->server.waits = true;
	ask(w, 0, LATE);
	run(w, TIMEOUT_NS + 20 * MS);
	received(w, 0, "SERVER_ERROR no answer in time\r\n");
	w->server.waits = false;
	run(w, 1000 * MS);
	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key0\r\n", FIRST, 1);
	check(w->server.listed > 3 && w->server.listed < 10);
	check_eq(front_stats_sum_mt(&w->stats, 0, FRONT_SERVER_UNKNOWN), 1);
	sim_memcached_late(&w->server);
	one_receives(w, "get key0\r\n", SECOND, 1);
	run(w, 2000 * MS);
	check_eq(front_stats_sum_mt(&w->stats, 0, FRONT_SERVER_SETTLED), 1);
	one_receives(w, "get key0\r\n", SECOND, 1);
	one_receives(w, "get key0\r\n", SECOND, 0);
	world_destroy(w);
}

static struct world *
world_shared(const char *version, int32_t exp)
{
	const struct sim_memcached server = {.version = version, .exp = exp};

	return world_create_as(1, 0, COPY_NS, &server);
}

/* A copy made after all copies were discarded is a value that the server had since then. */
TEST(copies_in_shared_mode_expire)
{
	struct world *w = world_shared(NULL, 0);

	run(w, COPY_NS);
	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key1\r\n", MISS, 1);
	one_receives(w, "set key2 0 0 5\r\nfirst\r\n", "STORED\r\n", 0);
	for (uint32_t key = 0; key < SIM_MEMCACHED_KEYS; key++)
		strcpy(w->server.value[key], "others");
	one_receives(w, "get key0\r\n", FIRST, 0);
	one_receives(w, "get key1\r\n", MISS, 0);
	run(w, COPY_NS);
	one_receives(w, "get key0\r\n", OTHERS, 1);
	one_receives(w, "get key1\r\n", "VALUE key1 0 6\r\nothers\r\nEND\r\n", 1);
	one_receives(w, "get key2\r\n", "VALUE key2 0 6\r\nothers\r\nEND\r\n", 1);
	world_destroy(w);
}

/* A get sent during a stall does not return a value from before the stall. */
TEST(a_turn_may_stall_before_it_takes_its_frames)
{
	struct world *w = world_shared(NULL, 0);

	run(w, COPY_NS);
	one_receives(w, "get key0\r\n", FIRST, 1);
	strcpy(w->server.value[0], "others");
	one_receives(w, "get key0\r\n", FIRST, 0);
	w->stall_ns = COPY_NS;
	one_receives(w, "get key0\r\n", OTHERS, 1);
	world_destroy(w);
}

/* A copy ends after front.ttl in any case. So a copy of an item that lives longer is kept without
 * an expiry, and plain gets of it take the fast path. */
TEST(only_an_expiry_that_is_soon_counts)
{
	static const struct {
		int32_t exp;
		bool simple, kept;
	} cases[] = {{-1, true, true}, {1000, true, true}, {2, true, true}, {1, false, false}};

	for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct world *w = world_shared(MENDED, cases[i].exp);
		struct store_core *store = w->sim.sc->cores[0].core.store;
		const struct view key = {.data = (const uint8_t *)"key0", .len = 4};
		const struct item *copy;

		one_receives(w, "get key0\r\n", FIRST, 1);
		copy = store_peek(store, key, store_hash(store, key));
		check_eq(copy != NULL, cases[i].kept);
		check_eq(copy != NULL && item_is_simple(copy), cases[i].simple);
		world_destroy(w);
	}
}

/* The value of an old leader may be as old as the leader. */
TEST(in_shared_mode_an_old_leader_is_not_followed)
{
	static const struct sim_memcached server;
	struct world *w = world_create_as(3, 0, TIMEOUT_NS / 2, &server);

	w->server.mute = true;
	ask(w, 0, "get key0\r\n");
	run(w, TIMEOUT_NS / 10);
	ask(w, 1, "get key0\r\n");
	run(w, TIMEOUT_NS / 10);
	strcpy(w->server.value[0], "others");
	run(w, TIMEOUT_NS * 6 / 10);
	ask(w, 2, "get key0\r\n");
	run(w, 10 * MS);
	w->server.mute = false;
	run(w, 10 * MS);
	received(w, 0, FIRST);
	received(w, 1, FIRST);
	received(w, 2, OTHERS);
	check_eq(w->server.gets, 2);
	world_destroy(w);
}

/* Uses up the generation numbers: each flush takes one, which a sweep frees. */
static void
numbers_use_up(struct world *w)
{
	struct store_core *store = w->sim.sc->cores[0].core.store;
	const struct view key = {.data = (const uint8_t *)"any", .len = 3};
	struct fill fill;

	do {
		check_eq(store_begin(store, &fill, key, store_hash(store, key), 0, 0, 0), STORE_OK);
		check_eq(store_finish(store, &fill, STORE_SET, 0), STORE_OK);
	} while (store_flush(store, 0) == STORE_OK);
}

/* A second core stalls in the middle of a sweep. */
TEST(no_copy_answers_before_older_ones_have_ended)
{
	struct world *w = world_shared(NULL, 0);
	struct store *store = w->sim.sc->cores[0].core.store->store;
	const struct counter *waits = &front_counters(w->one.front)[FRONT_COPIES_WAITED];

	run(w, COPY_NS);
	spin_lock(&store->sweep.lock);
	numbers_use_up(w);
	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key0\r\n", FIRST, 0);
	strcpy(w->server.value[0], "others");
	check_eq(counter_read(waits), 0);
	run(w, COPY_NS);
	check(counter_read(waits) > 0);
	for (uint32_t i = 0; i < 2; i++)
		one_receives(w, "get key0\r\n", OTHERS, 1);
	spin_unlock(&store->sweep.lock);
	run(w, COPY_NS);
	one_receives(w, "get key0\r\n", OTHERS, 1);
	one_receives(w, "get key0\r\n", OTHERS, 0);
	world_destroy(w);
}

/* The numbers are used up, and clients flush: the first one waits, the second one's client
 * closes. */
TEST(a_flush_waits_for_a_free_generation)
{
	static const struct sim_memcached server;
	struct world *w = world_create_as(2, 0, 0, &server);
	struct store *store = w->sim.sc->cores[0].core.store->store;

	spin_lock(&store->sweep.lock);
	numbers_use_up(w);
	one_receives(w, "get key0\r\n", FIRST, 1);
	one_receives(w, "get key0\r\n", FIRST, 0);
	ask(w, 0, "flush_all\r\n");
	ask(w, 1, "flush_all\r\n");
	run(w, TIMEOUT_NS / 2);
	received(w, 0, "");
	check_eq(front_requests_open(w->one.front), 2);
	conn_abort(w->sim.ss->stack, w->client[1].conn);
	w->client[1].open = false;
	run(w, 10 * MS);
	check_eq(front_requests_open(w->one.front), 1);
	spin_unlock(&store->sweep.lock);
	run(w, 10 * MS);
	received(w, 0, "OK\r\n");
	one_receives(w, "get key0\r\n", MISS, 1);
	one_receives(w, "get key0\r\n", MISS, 0);
	check_eq(front_requests_open(w->one.front), 0);
	world_destroy(w);
}

static uint64_t
front_count_of(const struct world *w, enum front_counter which)
{
	return counter_read(&front_counters(w->one.front)[which]);
}

/* A get that arrives after the refusal does not share one that was requested earlier and is not
 * sent yet. */
TEST(a_get_after_a_refused_set_returns_no_former_value)
{
	struct world *w = world_create(3, 0);

	w->server.waits = true;
	conn_abort(w->sim.ss->stack, w->server.conn);
	run(w, 5 * MS);
	ask(w, 0, "get key0\r\n");
	run(w, 5 * MS);
	ask(w, 1, "set key0 0 0 900000000\r\n");
	run(w, 5 * MS);
	received(w, 1, "SERVER_ERROR object too large for cache\r\n");
	ask(w, 2, "get key0\r\n");
	run(w, 5 * MS);
	w->server.waits = false;
	run(w, 100 * MS);
	received(w, 2, MISS);
	one_receives(w, "get key0\r\n", MISS, 1);
	check_eq(front_count_of(w, FRONT_DROPS), 1);
	check_eq(front_count_of(w, FRONT_DROPS_FAILED), 0);
	/* The delete is lost with its connection. */
	w->server.waits = true;
	ask(w, 2, "set key0 0 0 900000000\r\n");
	run(w, 5 * MS);
	received(w, 2, "SERVER_ERROR object too large for cache\r\n");
	conn_abort(w->sim.ss->stack, w->server.conn);
	run(w, 5 * MS);
	check_eq(front_count_of(w, FRONT_DROPS), 2);
	check_eq(front_count_of(w, FRONT_DROPS_FAILED), 1);
	w->server.waits = false;
	run(w, 100 * MS);
	world_destroy(w);
}

/* A segment ends between `me k` and `get k`, and the second one comes later: the answer to the
 * first acknowledges only that one. */
TEST(me_is_answered_before_the_server_has_its_get)
{
	static const struct sim_memcached meta = {.version = "VERSION 1.6.45\r\n", .exp = -1};
	struct world *w = world_create_listing(1, 0, &meta);
	char gets[1024], *at = gets;

	w->sim.wire->faults.rate = 100000;
	w->sim.wire->faults.queue_ns = 1000 * MS;
	for (uint32_t i = 0; i < 4; i++)
		at += sprintf(at, "get key1.%0195u\r\n", i);
	ask(w, 0, gets);
	run(w, 150 * MS);
	received(w, 0, MISS MISS MISS MISS);
	check_eq(front_count_of(w, FRONT_FILLS), 4);
	check_eq(front_count_of(w, FRONT_SERVER_BROKEN), 0);
	check_eq(front_count_of(w, FRONT_FAILED), 0);
	world_destroy(w);
}
