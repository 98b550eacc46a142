/*
 * Long values that leave while they arrive (lib/front/FRONT.md). Goal: a client receives the
 * beginning of a value before its server has sent the rest. If the server or other clients fail, it
 * receives exactly the value, an error, or a reset, and never a short or wrong value. Method: a
 * whole core with a front, clients on a stack of their own, and a server there that sends as many
 * bytes as the test says and ends as the test chooses. A key determines its value. A failing seed
 * is named; an argument is the number of seeds.
 */
#include "sim_front.h"
#include "sim_rng.h"
#include "sim_service.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS    4u
#define SLOTS      32u
#define MANY       4096u
#define LONG       100000u
#define SHORT      900u
#define END_BYTES  7u  /* the line end behind a value, and END */
#define HEAD       19u /* bytes of the line before a long value */
#define STREAM_MAX (16u << 20)
#define STEP_NS    50000u
#define MS         1000000ull
#define TIMEOUT_NS (50 * MS)
#define NO_ANSWER  "SERVER_ERROR no answer in time\r\n"

static uint64_t seeds = rounds(8, 3); /* the first argument replaces it */

struct stream {
	char *bytes;
	uint32_t len, at; /* at: bytes sent (server) or judged (client) so far */
};

struct client {
	struct conn *conn;
	bool open, gone, mute; /* mute: it does not read */
	struct stream in, out;
	uint32_t asked, answered, errors, reply_at[MANY]; /* reply_at: offsets in `want` */
	struct stream want;
};

/* How the server ends amid its replies. */
enum ending { ENDS_NOT, ENDS_RESET, ENDS_CLOSED, ENDS_WRONG };

struct world {
	struct sim_service sim;
	struct sim_one_front one;
	struct sim_rng rng;
	struct client client[CLIENTS];
	struct client *of_slot[SLOTS];
	uint64_t seed;
	/* The server: its connection, what it received of a line, and its replies. */
	struct conn *server;
	struct stream said;
	char line[4096];
	uint32_t line_len, gets;
	uint32_t may_send;  /* bytes of its replies; UINT32_MAX: all */
	uint32_t each_turn; /* most bytes of them in a turn */
};

/* ---- values ---- */

static void
put(struct stream *s, const void *bytes, uint32_t len)
{
	check(s->len + len <= STREAM_MAX);
	memcpy(s->bytes + s->len, bytes, len);
	s->len += len;
}

static void
put_value(struct stream *s, const char *key)
{
	const uint32_t len = key[0] == 'b' ? LONG : SHORT, n = (uint32_t)atoi(key + 1);
	char head[64];

	put(s, head, (uint32_t)sprintf(head, "VALUE %s 0 %u\r\n", key, len));
	check(s->len + len <= STREAM_MAX);
	for (uint32_t i = 0; i < len; i++)
		s->bytes[s->len++] = (char)('a' + (n + i * 7 + i / 1000) % 26);
	put(s, "\r\n", 2);
}

/* ---- the server ---- */

static void
server_line(struct world *w)
{
	char *rest = w->line, *word = strtok_r(rest, " ", &rest);

	if (w->said.at == w->said.len && w->may_send == UINT32_MAX)
		w->said.at = w->said.len = 0;
	if (strcmp(word, "version") == 0) {
		put(&w->said, "VERSION 1.6.0\r\n", 15);
		return;
	}
	if (strcmp(word, "stats") == 0) {
		put(&w->said, "ERROR\r\n", 7);
		return;
	}
	check_str(word, "get");
	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		put_value(&w->said, word);
		w->gets++;
	}
	put(&w->said, "END\r\n", 5);
}

static void
server_read(struct world *w)
{
	for (struct view v = conn_peek(w->server); v.len > 0; v = conn_peek(w->server)) {
		for (uint32_t i = 0; i < v.len; i++) {
			check(w->line_len < sizeof w->line);
			w->line[w->line_len++] = (char)v.data[i];
			if (v.data[i] != '\n')
				continue;
			w->line[w->line_len - 2] = '\0';
			w->line_len = 0;
			server_line(w);
		}
		conn_advance(w->sim.ss->stack, w->server, v.len);
	}
}

static void
server_write(struct world *w)
{
	const uint32_t end = w->said.len < w->may_send ? w->said.len : w->may_send;
	uint32_t left = w->each_turn;

	while (w->said.at < end && left > 0 && conn_writable(w->sim.ss->stack, w->server, 1)) {
		uint32_t n = end - w->said.at < left ? end - w->said.at : left;

		n = n < 1400 ? n : 1400;
		sim_service_put(&w->sim, w->server, w->said.bytes + w->said.at, n);
		w->said.at += n;
		left -= n;
	}
}

static void
server_end(struct world *w, enum ending how)
{
	struct conn *c = w->server;

	if (c == NULL)
		return;
	if (how == ENDS_WRONG) { /* behind the last value */
		const uint32_t end = w->said.len > END_BYTES ? w->said.len - END_BYTES : 0;
		const uint32_t from = end > w->said.at ? end : w->said.at;

		memset(w->said.bytes + from, 'X', w->said.len - from);
		w->may_send = UINT32_MAX;
		return;
	}
	w->server = NULL;
	if (how == ENDS_RESET)
		conn_abort(w->sim.ss->stack, c);
	else
		conn_close_detach(w->sim.ss->stack, c);
}

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	if (w->of_slot[conn_slot(c)] != NULL) {
		w->of_slot[conn_slot(c)]->open = true;
		return;
	}
	w->server = c;
	w->said.len = w->said.at = w->line_len = 0;
	w->may_send = w->each_turn = UINT32_MAX;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;
	struct client *cl = w->of_slot[conn_slot(c)];

	if (w->server == c)
		w->server = NULL;
	if (cl == NULL || cl->conn != c)
		return;
	cl->gone = true;
	cl->conn = NULL;
	w->of_slot[conn_slot(c)] = NULL;
}

/* ---- clients ---- */

/* Asks for keys in one line. */
static void
client_get(struct client *cl, const char *keys)
{
	char line[64], *rest = line, *key;

	check(cl->asked < MANY);
	cl->reply_at[cl->asked++] = cl->want.len;
	put(&cl->out, line, (uint32_t)sprintf(line, "get %s\r\n", keys));
	sprintf(line, "%s", keys);
	while ((key = strtok_r(rest, " ", &rest)) != NULL)
		put_value(&cl->want, key);
	put(&cl->want, "END\r\n", 5);
}

/* Judges what has been received: whole replies, each of them right or an error, and the begin of
 * the next one. */
static void
client_judge(struct world *w, struct client *cl)
{
	while (cl->in.at < cl->in.len && cl->answered < cl->asked) {
		const char *in = cl->in.bytes + cl->in.at;
		const uint32_t here = cl->in.len - cl->in.at, from = cl->reply_at[cl->answered];
		const uint32_t next = cl->answered + 1;
		const uint32_t len = (next < cl->asked ? cl->reply_at[next] : cl->want.len) - from;
		const bool error = in[0] == 'S';
		const char *want = error ? NO_ANSWER : cl->want.bytes + from;
		const uint32_t all = error ? (uint32_t)strlen(NO_ANSWER) : len;

		if (memcmp(in, want, here < all ? here : all) != 0)
			fail_msg("seed %llu: client %u: reply %u is wrong",
				 (unsigned long long)w->seed, (uint32_t)(cl - w->client),
				 cl->answered);
		if (here < all)
			return;
		cl->in.at += all;
		cl->answered++;
		cl->errors += error;
	}
	check_eq(cl->in.at, cl->in.len);
}

static void
client_turn(struct world *w, struct client *cl)
{
	if (cl->conn == NULL || !cl->open)
		return;
	if (cl->out.len > 0)
		sim_service_say(&w->sim, cl->conn, cl->out.bytes, cl->out.len);
	cl->out.len = 0;
	if (cl->mute)
		return;
	for (struct view v = conn_peek(cl->conn); v.len > 0; v = conn_peek(cl->conn)) {
		put(&cl->in, v.data, v.len);
		conn_advance(w->sim.ss->stack, cl->conn, v.len);
	}
	client_judge(w, cl);
}

static void
client_open(struct world *w, struct client *cl)
{
	cl->conn = sim_service_connect(&w->sim);
	cl->open = cl->gone = cl->mute = false;
	cl->asked = cl->answered = cl->errors = 0;
	cl->in.len = cl->in.at = cl->out.len = cl->want.len = 0;
	w->of_slot[conn_slot(cl->conn)] = cl;
}

/* ---- the world ---- */

static void
turn(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->sim.ss->stack) != NULL)
		;
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_turn(w, &w->client[i]);
	if (w->server == NULL)
		return;
	server_read(w);
	server_write(w);
	if (conn_eof(w->server))
		server_end(w, ENDS_CLOSED);
}

static void
run(struct world *w, uint64_t for_ns)
{
	sim_service_run(&w->sim, for_ns, STEP_NS);
}

static uint64_t
count(const struct world *w, enum front_counter which)
{
	return counter_read(&front_counters(w->one.front)[which]);
}

/* Creates a front that may keep `copies` copies, from quiet_s after its start on, and has this much
 * memory for answers. */
static struct world *
world_create_of(uint64_t seed, uint32_t copies, uint32_t quiet_s, uint64_t answer_bytes_max)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {w, on_opened, on_gone, NULL};
	const struct front_settings settings = {
		.conns_max = SLOTS,
		.timeout_ns = TIMEOUT_NS,
		.connect_timeout_ns = TIMEOUT_NS,
		.retry_timeout_ns = MS,
		.failure_limit = 1000,
		.answer_bytes_max = answer_bytes_max,
		.ttl_s = 1000,
		.quiet_s = quiet_s,
		.speech = FRONT_SPEECH_TEXT,
	};

	check_ptr(w);
	o.cores.memory_bytes = 32u << 20;
	o.cores.stack.tcp.conns_max = SLOTS;
	o.cores.stack.tcp.active_reserve = 3;
	o.cores.stack.tcp.chunks = 16384;
	o.clients.tcp.conns_max = SLOTS;
	o.clients.tcp.chunks = 4096;
	o.clients.tcp.port = SIM_PORT;
	o.cable.delay_ns = 10000;
	w->seed = w->rng.state = seed;
	w->said.bytes = malloc(STREAM_MAX);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		w->client[i].in.bytes = malloc(STREAM_MAX);
		w->client[i].out.bytes = malloc(STREAM_MAX);
		w->client[i].want.bytes = malloc(STREAM_MAX);
	}
	sim_service_create(&w->sim, &o, &user, turn);
	sim_one_front_create(&w->one, &w->sim, &settings, copies);
	for (uint32_t i = 0; front_lane_info(w->one.front, 0).state != LANE_UP; i++) {
		check(i < 1000);
		run(w, MS);
	}
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_open(w, &w->client[i]);
	run(w, MS);
	return w;
}

static struct world *
world_create(uint64_t seed, uint32_t copies, uint32_t quiet_s)
{
	return world_create_of(seed, copies, quiet_s, 4u << 20);
}

static void
world_destroy(struct world *w)
{
	run(w, 100 * MS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (w->client[i].conn != NULL)
			conn_abort(w->sim.ss->stack, w->client[i].conn);
	run(w, NS_PER_S);
	check_eq(front_requests_open(w->one.front), 0);
	check_eq(backend_pending(w->sim.sc->cores[0].core.serve), 0);
	sim_service_destroy(&w->sim);
	sim_one_front_destroy(&w->one);
	free(w->said.bytes);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		free(w->client[i].in.bytes);
		free(w->client[i].out.bytes);
		free(w->client[i].want.bytes);
	}
	free(w);
}

/* ---- tests ---- */

TEST(a_value_leaves_while_it_arrives)
{
	struct world *w = world_create(1, 0, 0);
	struct client *cl = &w->client[0];

	w->may_send = 50000;
	client_get(cl, "b1");
	run(w, 10 * MS);
	check(cl->in.len > 50000 - FRONT_RELAY_STEP && cl->in.len < 50000);
	w->may_send = UINT32_MAX;
	run(w, 10 * MS);
	check_eq(cl->in.len, cl->want.len);
	check_eq(cl->answered, 1);
	check_eq(count(w, FRONT_RELAYED), 1);
	world_destroy(w);
}

/* The server also ends when it has sent the whole value, but not the line end after it. */
TEST(a_server_that_ends_amid_a_value_resets_its_client)
{
	static const uint32_t parts[] = {20000, 90000, LONG, LONG + 1};

	for (enum ending how = ENDS_NOT; how <= ENDS_WRONG; how++) {
		for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
			struct world *w = world_create(how * 10 + i, 0, 0);
			struct client *cl = &w->client[0];

			client_get(cl, "b1");
			for (uint32_t at = 10000; at <= parts[i]; at += 10000) {
				w->may_send = HEAD + at;
				run(w, MS);
			}
			w->may_send = HEAD + parts[i];
			run(w, MS);
			check(cl->in.len + FRONT_RELAY_STEP >= HEAD + parts[i]);
			if (how == ENDS_WRONG && parts[i] > LONG)
				w->said.bytes[w->said.at] = 'X';
			server_end(w, how);
			run(w, FRONT_SLOW_MAX * TIMEOUT_NS);
			check(cl->gone);
			check_eq(cl->answered, 0);
			check(cl->in.len < HEAD + LONG);
			check_eq(count(w, FRONT_RELAYS_LOST), 1);
			check(!w->client[1].gone);
			client_get(&w->client[1], "b2");
			run(w, 10 * MS);
			check_eq(w->client[1].answered, 1);
			check_eq(w->client[1].errors, 0);
			world_destroy(w);
		}
	}
}

/* Each value's last piece has another length. */
TEST(the_last_byte_of_a_value_waits_for_the_line_end)
{
	struct world *w = world_create(1, 0, 0);
	struct client *cl = &w->client[0];

	for (uint32_t i = 0; i < 40; i++) {
		const uint32_t from = w->said.len, had = cl->in.len;

		w->may_send = from + HEAD + 250 * i;
		client_get(cl, "b1");
		run(w, MS);
		w->may_send = from + HEAD + LONG;
		run(w, 2 * MS);
		check(cl->in.len > had && cl->in.len < had + HEAD + LONG);
		w->may_send = w->said.len;
		run(w, MS);
		check_eq(cl->answered, i + 1);
	}
	check_eq(count(w, FRONT_RELAYED), 40);
	world_destroy(w);
}

/* A value's first bytes arrive about when its server counts as late, once in the same turn. The
 * client has been sent none of them then, so its answer is an error. */
TEST(a_value_that_has_not_begun_to_leave_has_failed)
{
	uint32_t failed = 0;

	for (uint32_t i = 0; i < 12; i++) {
		struct world *w = world_create(i, 0, 0);
		struct client *cl = &w->client[0];

		w->may_send = 0;
		client_get(cl, "b1");
		run(w, TIMEOUT_NS - 5 * STEP_NS + i * STEP_NS);
		w->may_send = 12000;
		run(w, 5 * MS);
		check_eq(count(w, FRONT_SERVER_LATE), 1);
		if (count(w, FRONT_RELAYS_LOST) == 1 && !cl->gone) {
			check_eq(cl->errors, 1);
			failed++;
		}
		world_destroy(w);
	}
	check(failed > 0);
}

/* Values wait for earlier ones, which their client does not read. */
TEST(only_the_next_value_of_a_connection_leaves_early)
{
	struct world *w = world_create(1, 0, 0);
	struct client *cl = &w->client[0];

	client_get(cl, "s1"); /* the front then expects short values and asks for all */
	run(w, MS);
	cl->mute = true;
	w->each_turn = 3000;
	client_get(cl, "b1");
	client_get(cl, "b2");
	client_get(cl, "b3");
	client_get(cl, "b4");
	client_get(cl, "b5");
	run(w, 40 * MS);
	check_eq(w->gets, 6);
	check(count(w, FRONT_RELAYED) < 4);
	cl->mute = false;
	run(w, 40 * MS);
	check_eq(cl->answered, 6);
	check_eq(cl->errors, 0);
	world_destroy(w);
}

/* Checks that clients share one get. During quiet_s no copy is kept, so a later client's get is
 * sent as well. */
static void
clients_ask_for_a_key(uint32_t clients, uint32_t quiet_s)
{
	struct world *w = world_create(1, FRONT_ITEMS_MEMORY, quiet_s);

	w->each_turn = 3000;
	for (uint32_t i = 0; i < clients; i++)
		client_get(&w->client[i], "b1");
	run(w, 20 * MS);
	for (uint32_t i = 0; i < clients; i++) {
		check_eq(w->client[i].answered, 1);
		check_eq(w->client[i].errors, 0);
	}
	check_eq(w->gets, 1);
	check_eq(count(w, FRONT_RELAYED), 0);
	client_get(&w->client[2], "b1");
	run(w, 20 * MS);
	check_eq(w->client[2].answered, 1);
	check_eq(w->gets, quiet_s == 0 ? 1 : 2);
	check_eq(count(w, FRONT_RELAYED), quiet_s != 0);
	world_destroy(w);
}

TEST(a_value_that_is_kept_is_received_whole)
{
	clients_ask_for_a_key(1, 0);
	clients_ask_for_a_key(2, 0);
}

TEST(a_value_that_two_ask_for_is_received_whole)
{
	clients_ask_for_a_key(2, 1000);
}

/* A second client requests a key whose value is on its way to the first one. */
TEST(a_value_that_has_begun_to_leave_is_not_shared)
{
	struct world *w = world_create(1, FRONT_ITEMS_MEMORY, 1000);

	w->may_send = 50000;
	client_get(&w->client[0], "b1");
	run(w, 5 * MS);
	check_eq(count(w, FRONT_RELAYED), 1);
	client_get(&w->client[1], "b1");
	run(w, 5 * MS);
	check_eq(w->gets, 2);
	server_end(w, ENDS_RESET);
	run(w, 10 * MS);
	check(w->client[0].gone && !w->client[1].gone);
	check_eq(w->client[1].errors, 1);
	world_destroy(w);
}

TEST(a_client_that_does_not_read_holds_up_no_lane)
{
	struct world *w = world_create(1, 0, 0);

	w->client[0].mute = true;
	client_get(&w->client[0], "b1");
	client_get(&w->client[1], "s1");
	client_get(&w->client[1], "b2");
	run(w, 20 * MS);
	check_eq(w->client[1].answered, 2);
	check_eq(w->client[1].errors, 0);
	run(w, 20 * TIMEOUT_NS);
	check_eq(count(w, FRONT_SERVER_LATE), 0);
	w->client[0].mute = false;
	run(w, 20 * MS);
	check_eq(w->client[0].answered, 1);
	check_eq(w->client[0].errors, 0);
	world_destroy(w);
}

/* In each timeout, sends enough bytes for the server not to be late. */
static void
server_goes_on(struct world *w, uint32_t timeouts)
{
	for (uint32_t i = 0; i < timeouts; i++) {
		w->may_send += FRONT_MOVES_BYTES + 1000;
		run(w, TIMEOUT_NS - 2 * MS);
	}
}

/* The client receives the long values as they arrive. */
TEST(a_long_value_may_take_as_many_timeouts_as_it_has_parts)
{
	struct world *w = world_create(1, 0, 0);

	w->may_send = w->said.len;
	client_get(&w->client[0], "b1 b2 b3 b4");
	server_goes_on(w, 4 * LONG / FRONT_MOVES_BYTES + 3);
	run(w, MS);
	check_eq(count(w, FRONT_SERVER_LATE), 0);
	check(!w->client[0].gone);
	check_eq(w->client[0].in.len, 4 * (HEAD + LONG + 2) + 5);
	world_destroy(w);
}

/* In each timeout, lets the server send as much as a lane needs to count as moving, until the
 * client has an answer or the limit is reached. Returns how long that took. */
static uint64_t
waits_for(struct world *w, const struct client *cl, uint64_t limit_ns)
{
	const uint64_t begin_ns = w->sim.ss->now_ns;

	for (uint32_t i = 0; cl->answered < cl->asked; i++) {
		if (w->sim.ss->now_ns - begin_ns > limit_ns)
			return limit_ns;
		if (i % (TIMEOUT_NS / STEP_NS / 2) == 0)
			w->may_send += FRONT_MOVES_BYTES;
		run(w, STEP_NS);
	}
	return w->sim.ss->now_ns - begin_ns;
}

/* The client's answer is behind long values of others, which take many timeouts. */
TEST(a_client_behind_slow_values_waits_no_longer_than_the_timeout)
{
	for (uint32_t before = 0; before < 10; before++) {
		struct world *w = world_create(before, 0, 0);
		uint64_t waited_ns;

		w->may_send = w->said.len;
		client_get(&w->client[0], "b1 b2 b3 b4");
		waits_for(w, &w->client[0], before * TIMEOUT_NS / 3 + STEP_NS);
		client_get(&w->client[1], "b5");
		waited_ns = waits_for(w, &w->client[1], 20 * TIMEOUT_NS);
		check_eq(w->client[1].errors, 1);
		check(waited_ns <= TIMEOUT_NS + 4 * STEP_NS);
		check_eq(count(w, FRONT_SERVER_LATE), 0);
		w->may_send = UINT32_MAX;
		run(w, 10 * MS);
		client_get(&w->client[1], "s2");
		run(w, 10 * MS);
		check_eq(w->client[0].errors, 0);
		check_eq(w->client[1].answered, 2);
		check_eq(w->client[1].errors, 1);
		world_destroy(w);
	}
}

/* The timeout of the second value has passed when the first one has arrived. */
TEST(a_value_behind_a_long_one_of_its_client_has_its_own_timeout)
{
	struct world *w = world_create(1, 0, 0);
	const uint32_t from = w->said.len;

	w->may_send = from + LONG / 2;
	client_get(&w->client[0], "b1 b2");
	run(w, TIMEOUT_NS - 5 * MS);
	w->may_send = from + HEAD + LONG + 2;
	run(w, TIMEOUT_NS - 5 * MS);
	w->may_send = UINT32_MAX;
	run(w, 10 * MS);
	check_eq(w->client[0].answered, 1);
	check_eq(w->client[0].errors, 0);
	world_destroy(w);
}

/* The value becomes a copy, so it is sent only when it has arrived. Two clients request it. */
TEST(a_value_that_arrives_slowly_is_waited_for)
{
	struct world *w = world_create(1, FRONT_ITEMS_MEMORY, 0);

	w->may_send = w->said.len;
	client_get(&w->client[0], "b1");
	client_get(&w->client[1], "b1");
	check(waits_for(w, &w->client[0], 20 * TIMEOUT_NS) > 2 * TIMEOUT_NS);
	run(w, MS);
	check_eq(w->client[0].errors + w->client[1].errors, 0);
	check_eq(w->client[1].answered, 1);
	check_eq(w->gets, 1);
	world_destroy(w);
}

/* Begins values of others until one more finds no memory. Returns how many. */
static uint32_t
memory_take(struct store_core *store, struct fill *held, uint32_t most)
{
	const struct view key = {.data = (const uint8_t *)"held", .len = 4};
	uint32_t n = 0;

	while (store_begin(store, &held[n], key, store_hash(store, key), LONG, 0, 0) == STORE_OK)
		check(++n < most);
	return n;
}

/* The value waits for memory until its deadline has passed once. After that none of it arrives. */
TEST(a_server_that_stalls_behind_a_wait_for_memory_is_late)
{
	struct world *w = world_create(1, 0, 0);
	struct store_core *store = w->sim.sc->cores[0].core.store;
	const uint32_t from = w->said.len;
	struct fill held[400];
	uint32_t n;

	w->may_send = from;
	client_get(&w->client[0], "b1");
	run(w, TIMEOUT_NS - 5 * MS);
	n = memory_take(store, held, sizeof held / sizeof *held);
	w->may_send = from + HEAD + 1000;
	run(w, 10 * MS);
	while (n > 0)
		store_abandon(store, &held[--n]);
	check_eq(count(w, FRONT_SERVER_LATE), 0);
	run(w, 2 * TIMEOUT_NS);
	check_eq(count(w, FRONT_SERVER_LATE), 1);
	check_eq(count(w, FRONT_NO_MEMORY), 0);
	check(w->client[0].gone);
	world_destroy(w);
}

static void
clients_act(struct world *w)
{
	struct client *cl = &w->client[sim_below(&w->rng, CLIENTS)];
	char key[16];

	if (cl->conn == NULL || cl->answered == 30 || sim_below(&w->rng, 100) == 0) {
		if (cl->conn != NULL)
			conn_abort(w->sim.ss->stack, cl->conn);
		client_open(w, cl);
	}
	if (sim_below(&w->rng, 4) == 0)
		cl->mute = !cl->mute;
	for (uint32_t n = sim_below(&w->rng, 20); cl->asked < 30 && n > 0; n--) {
		sprintf(key, "%c%u", sim_below(&w->rng, 3) == 0 ? 'b' : 's', sim_below(&w->rng, 9));
		client_get(cl, key);
	}
}

/* Checks every byte that a client receives, while servers and clients end at any time. */
TEST(no_client_receives_a_wrong_byte)
{
	uint64_t relayed = 0, lost = 0, errors = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct world *w = world_create(seed, seed % 2 ? 0 : FRONT_ITEMS_MEMORY,
					       seed % 4 < 2 ? 1000 : 0);

		for (uint32_t i = 0; i < 150; i++) {
			clients_act(w);
			w->each_turn = 1u << sim_below(&w->rng, 15);
			run(w, (1 + sim_below(&w->rng, 20)) * MS / 10);
			if (w->said.at < w->said.len && sim_below(&w->rng, 6) == 0)
				server_end(w, (enum ending)(1 + sim_below(&w->rng, 3)));
		}
		for (uint32_t i = 0; i < CLIENTS; i++) {
			w->client[i].mute = false;
			errors += w->client[i].errors;
		}
		relayed += count(w, FRONT_RELAYED);
		lost += count(w, FRONT_RELAYS_LOST);
		world_destroy(w);
	}
	print_message("%u relayed, %u lost, %u errors\n", (uint32_t)relayed, (uint32_t)lost,
		      (uint32_t)errors);
	check(relayed > seeds && lost > seeds && errors > 0);
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
