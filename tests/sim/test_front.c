/*
 * A front before two model servers. Goal: every client receives the values of its keys' servers, in
 * the order of its requests, however replies are cut and requests mixed. A server that is silent,
 * down or wrong costs only the answers of its own keys, which become misses. No byte is wrong, and
 * in the end nothing is held. Method: a whole core with a front, clients and servers on one stack,
 * a cable; a key determines its value (sim_fleet.h). A failing seed is named.
 */
#include "sim_fleet.h"
#include "sim_front.h"
#include "sim_rng.h"
#include "sim_service.h"
#include "zeroed.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS    8u
#define SLOTS      64u
#define MUTES      40u
#define MUTE_GETS  32u
#define TEXT_MAX   (16u << 20)
#define ITEMS_MAX  4096u
#define STEP_NS    100000u
#define MS         1000000ull
#define TIMEOUT_NS (50 * MS)
#define RETRY_NS   (400 * MS)
#define CONNECT_NS (30 * MS)
#define NO_ANSWER  "SERVER_ERROR no answer in time\r\n"
#define REFUSED    "SERVER_ERROR the server of this key refuses the request\r\n"
#define SERVERS6   "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2"

/* An expected reply: a text, or instead[] if the server may fail. */
struct expected {
	uint32_t at, len;
	bool may_fail;
	/* The reply may also be an error. */
	bool error;
	uint32_t line; /* the number of the request line */
	char instead[40];
};

struct client {
	struct conn *conn;
	bool open, gone;
	struct sim_rng rng;
	uint32_t asked, requests; /* requests made so far, and to be made */
	uint32_t out_len, out_at, want_len, in_len, judged;
	uint32_t items, item;
	uint32_t received; /* values received of servers that may fail */
	uint32_t refused;  /* lines that ended with the refusal of their server */
	char *out, *want, *in;
	struct expected list[ITEMS_MAX];
};

struct world {
	struct sim_service sim;
	struct sim_fleet fleet;
	struct front *front;
	struct front_stats stats;
	struct front_exchange *servers;
	struct region memory;
	bool may_fail[FLEET_SERVERS];
	bool meta, gats;
	uint32_t big; /* as in key_draw() */
	struct client client[CLIENTS];
	struct client *of_slot[SLOTS];
	uint32_t mutes;
	bool is_mute[SLOTS]; /* a peer that sends requests and does not read */
};

/* ---- clients ---- */

static void
put(char *to, uint32_t *len, const void *bytes, uint32_t n)
{
	check(*len + n <= TEXT_MAX);
	memcpy(to + *len, bytes, n);
	*len += n;
}

/* Draws a key; one in `big` keys has a value of 100 KiB and more, 0: none. */
static uint32_t
key_draw(struct sim_rng *rng, uint32_t big, char *key)
{
	const bool is_big = big != 0 && sim_below(rng, big) == 0;

	return (uint32_t)sprintf(key, "%c%u", is_big ? 'b' : 's', sim_below(rng, 1000));
}

static struct expected *
expect_begin(struct world *w, struct client *cl, struct view key, const char *instead)
{
	struct expected *it = &cl->list[cl->items++];

	check(cl->items < ITEMS_MAX);
	*it = (struct expected){
		.at = cl->want_len,
		.line = cl->asked,
		.may_fail = key.len > 0 && w->may_fail[sim_front_server(w->servers, key)],
	};
	strcpy(it->instead, instead);
	return it;
}

static void
expect_end(struct client *cl, struct expected *it)
{
	it->len = cl->want_len - it->at;
}

static void
want_text(struct world *w, struct client *cl, const char *text)
{
	struct expected *it = expect_begin(w, cl, (struct view){NULL, 0}, "");

	put(cl->want, &cl->want_len, text, (uint32_t)strlen(text));
	expect_end(cl, it);
}

/* Expects either text, since the server of the key may fail. */
static void
want_either(struct world *w, struct client *cl, struct view key, const char *text,
	    const char *instead)
{
	struct expected *it = expect_begin(w, cl, key, instead);

	put(cl->want, &cl->want_len, text, (uint32_t)strlen(text));
	expect_end(cl, it);
}

static void
want_value(struct world *w, struct client *cl, struct view key, bool cas)
{
	static char value[FLEET_VALUE_MAX];
	const int len = sim_fleet_value(sim_front_server(w->servers, key), key, value);
	struct expected *it;
	char head[300];
	int n;

	if (len < 0)
		return;
	it = expect_begin(w, cl, key, "");
	n = snprintf(head, sizeof head, "VALUE %.*s %u %d", (int)key.len, key.data,
		     sim_fleet_flags(key), len);
	if (cas)
		n += snprintf(head + n, sizeof head - (size_t)n, " %llu",
			      (unsigned long long)sim_fleet_cas(key));
	put(cl->want, &cl->want_len, head, (uint32_t)n);
	put(cl->want, &cl->want_len, "\r\n", 2);
	put(cl->want, &cl->want_len, value, (uint32_t)len);
	put(cl->want, &cl->want_len, "\r\n", 2);
	expect_end(cl, it);
}

static void
ask_get(struct world *w, struct client *cl)
{
	const bool cas = sim_below(&cl->rng, 4) == 0;
	const bool touch = w->gats && sim_below(&cl->rng, 8) == 0;
	const uint32_t n = 1 + (sim_below(&cl->rng, 3) == 0 ? sim_below(&cl->rng, 100) : 0);
	char key[16], verb[20];
	int len = touch ? sprintf(verb, cas ? "gats 77" : "gat 77")
			: sprintf(verb, cas ? "gets" : "get");

	put(cl->out, &cl->out_len, verb, (uint32_t)len);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t key_len = key_draw(&cl->rng, w->big, key);

		put(cl->out, &cl->out_len, " ", 1);
		put(cl->out, &cl->out_len, key, key_len);
		want_value(w, cl, (struct view){(uint8_t *)key, key_len}, cas);
	}
	put(cl->out, &cl->out_len, "\r\n", 2);
	want_text(w, cl, "END\r\n");
}

static void
ask_meta(struct world *w, struct client *cl)
{
	static char value[FLEET_VALUE_MAX];
	const bool rare = w->meta && sim_below(&cl->rng, 2) == 0;
	const bool writes = rare && sim_below(&cl->rng, 2) == 0;
	const bool shows = sim_below(&cl->rng, 4) != 0;
	char key[16], line[200], head[200], miss[32];
	const struct view k = {(uint8_t *)key, key_draw(&cl->rng, w->big, key)};
	const int len = sim_fleet_value(sim_front_server(w->servers, k), k, value);
	const uint32_t number = (uint32_t)strtoul(key + 1, NULL, 10);
	struct expected *it;
	int n;

	n = snprintf(line, sizeof line, "mg %.*s%s s c k f%s O7\r\n", (int)k.len, key,
		     shows ? " v" : "",
		     writes ? " t h l N30 R60"
		     : rare ? " t h l"
			    : "");
	put(cl->out, &cl->out_len, line, (uint32_t)n);
	snprintf(miss, sizeof miss, "EN k%.*s O7\r\n", (int)k.len, key);
	if (len < 0) {
		want_either(w, cl, k, miss, miss);
		cl->list[cl->items - 1].error = writes;
		return;
	}
	it = expect_begin(w, cl, k, miss);
	it->error = writes;
	n = shows ? snprintf(head, sizeof head, "VA %d", len) : snprintf(head, sizeof head, "HD");
	n += snprintf(head + n, sizeof head - (size_t)n, " s%d c%llu k%.*s f%u", len,
		      (unsigned long long)sim_fleet_cas(k), (int)k.len, key, sim_fleet_flags(k));
	if (rare)
		n += snprintf(head + n, sizeof head - (size_t)n, " t%u h1 l%u", 1000 + number,
			      number);
	n += snprintf(head + n, sizeof head - (size_t)n, " O7%s\r\n",
		      w->meta && number % 11 == 1 ? " W" : "");
	put(cl->want, &cl->want_len, head, (uint32_t)n);
	if (shows) {
		put(cl->want, &cl->want_len, value, (uint32_t)len);
		put(cl->want, &cl->want_len, "\r\n", 2);
	}
	expect_end(cl, it);
}

static void
ask(struct world *w, struct client *cl)
{
	if (sim_below(&cl->rng, 3) == 0)
		ask_meta(w, cl);
	else
		ask_get(w, cl);
	cl->asked++;
}

/* Compares the input with a text. 1: complete; 0: incomplete; -1: different. */
static int
compare(struct client *cl, const char *text, uint32_t len)
{
	const uint32_t here = cl->in_len - cl->judged;

	if (memcmp(cl->in + cl->judged, text, here < len ? here : len) != 0)
		return -1;
	if (here < len)
		return 0;
	cl->judged += len;
	return 1;
}

/* Checks for a refusal, which may end a line at any key of the failing server. Returns as
 * compare(). */
static int
refused(struct client *cl)
{
	const uint32_t line = cl->list[cl->item].line;
	const int c = compare(cl, REFUSED, sizeof REFUSED - 1);

	if (c <= 0)
		return c;
	cl->refused++;
	while (cl->item + 1 < cl->items && cl->list[cl->item + 1].line == line)
		cl->item++;
	return c;
}

static void
judge(struct client *cl, bool may_be_refused)
{
	while (cl->item < cl->items) {
		const struct expected *it = &cl->list[cl->item];
		int c = cl->judged < cl->in_len ? compare(cl, cl->want + it->at, it->len) : 0;

		cl->received += c == 1 && it->may_fail;
		if (c < 0 && it->may_fail)
			c = compare(cl, it->instead, (uint32_t)strlen(it->instead));
		if (c < 0 && it->may_fail && it->error)
			c = compare(cl, NO_ANSWER, sizeof NO_ANSWER - 1);
		if (c < 0 && may_be_refused)
			c = refused(cl);
		if (c == 0)
			return;
		if (c < 0)
			fail_msg("wanted \"%.80s\", received \"%.80s\"", cl->want + it->at,
				 cl->in + cl->judged);
		cl->item++;
	}
	check_eq(cl->judged, cl->in_len);
}

static void
client_turn(struct world *w, struct client *cl)
{
	struct stack *s = w->sim.ss->stack;

	for (struct view v = conn_peek(cl->conn); v.len > 0; v = conn_peek(cl->conn)) {
		put(cl->in, &cl->in_len, v.data, v.len);
		conn_advance(s, cl->conn, v.len);
	}
	judge(cl, w->may_fail[1]);
	if (cl->items - cl->item < 300 && cl->asked < cl->requests && sim_below(&cl->rng, 2))
		ask(w, cl);
	while (cl->out_at < cl->out_len && conn_writable(s, cl->conn, 1)) {
		uint32_t n = cl->out_len - cl->out_at;

		n = n < CONN_RESERVE_MAX ? n : CONN_RESERVE_MAX;
		n = sim_below(&cl->rng, 3) == 0 ? 1 + sim_below(&cl->rng, n) : n;
		memcpy(conn_reserve(s, cl->conn, n), cl->out + cl->out_at, n);
		conn_commit(s, cl->conn, n);
		cl->out_at += n;
	}
}

static void
client_clear(struct client *cl)
{
	cl->asked = cl->requests = cl->out_len = cl->out_at = cl->want_len = cl->in_len = 0;
	cl->judged = cl->items = cl->item = cl->received = 0;
}

/* ---- peers that do not read ---- */

/* Sends gets of values of 100 KiB and more, of both servers. */
static void
mute_ask(struct world *w, struct conn *c)
{
	for (uint32_t i = 0; i < MUTE_GETS; i++) {
		char line[32];
		const int n = snprintf(line, sizeof line, "get b%u\r\n", (w->mutes * 7 + i) % 1000);

		sim_service_say(&w->sim, c, line, (uint32_t)n);
	}
	w->mutes++;
}

/* ---- the world ---- */

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	if (w->of_slot[conn_slot(c)] != NULL)
		w->of_slot[conn_slot(c)]->open = true;
	else if (w->is_mute[conn_slot(c)])
		mute_ask(w, c);
	else
		sim_fleet_opened(&w->fleet, c);
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;
	struct client *cl = w->of_slot[conn_slot(c)];

	if (w->is_mute[conn_slot(c)]) {
		w->is_mute[conn_slot(c)] = false;
		return;
	}
	if (cl == NULL) {
		sim_fleet_gone(&w->fleet, c);
		return;
	}
	cl->open = false;
	cl->gone = true;
	cl->conn = NULL;
	w->of_slot[conn_slot(c)] = NULL;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	fail_msg("a client was refused");
}

static void
turn(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->sim.ss->stack) != NULL)
		;
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (w->client[i].open)
			client_turn(w, &w->client[i]);
	sim_fleet_turn(&w->fleet);
}

static void
front_attach(struct world *w, uint64_t timeout_ns, uint64_t answer_bytes_max)
{
	const struct front_settings settings = {
		.conns_max = SLOTS,
		.timeout_ns = timeout_ns,
		.connect_timeout_ns = CONNECT_NS,
		.retry_timeout_ns = RETRY_NS,
		.answer_bytes_max = answer_bytes_max,
	};

	w->front = sim_front_two(&w->sim, settings, &w->stats, &w->servers, &w->memory);
}

static struct world *
world_create_of(bool meta, uint64_t timeout_ns, uint64_t answer_bytes_max)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {w, on_opened, on_gone, on_failed};

	check_ptr(w);
	o.cores.memory_bytes = 16u << 20; /* less than the answers of a test */
	o.cores.stack.tcp.conns_max = SLOTS;
	o.cores.stack.tcp.active_reserve = 6;
	o.clients.tcp.conns_max = SLOTS;
	o.clients.tcp.port = SIM_PORT;
	/* Unread data of one client takes no frames of others. */
	o.clients.net.rx_frames_max = 16384;
	o.client_frames = 20000;
	sim_front_two_addresses(&o);
	sim_service_create(&w->sim, &o, &user, turn);
	sim_fleet_create(&w->fleet, w->sim.ss->stack);
	w->meta = meta;
	for (uint32_t i = 0; i < FLEET_SERVERS; i++)
		w->fleet.server[i].meta = meta;
	for (uint32_t i = 0; i < CLIENTS; i++) {
		w->client[i].out = zeroed_memory(TEXT_MAX);
		w->client[i].want = zeroed_memory(TEXT_MAX);
		w->client[i].in = zeroed_memory(TEXT_MAX);
	}
	front_attach(w, timeout_ns, answer_bytes_max);
	return w;
}

static struct world *
world_create(bool meta, uint64_t timeout_ns)
{
	return world_create_of(meta, timeout_ns, 4u << 20);
}

static void
world_destroy(struct world *w)
{
	sim_service_destroy(&w->sim);
	sim_fleet_destroy(&w->fleet);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		zeroed_free(w->client[i].out, TEXT_MAX);
		zeroed_free(w->client[i].want, TEXT_MAX);
		zeroed_free(w->client[i].in, TEXT_MAX);
	}
	sim_front_fleet_free(w->servers);
	zeroed_free(w->memory.base, w->memory.size);
	free(w);
}

static void
run(struct world *w, uint64_t for_ns)
{
	sim_service_run(&w->sim, for_ns, STEP_NS);
}

static void
client_open(struct world *w, uint32_t i)
{
	struct client *cl = &w->client[i];

	cl->conn = sim_service_connect(&w->sim);
	cl->gone = false;
	w->of_slot[conn_slot(cl->conn)] = cl;
}

static void
clients_open(struct world *w, uint64_t seed)
{
	for (uint32_t i = 0; i < CLIENTS; i++) {
		client_clear(&w->client[i]);
		w->client[i].rng.state = seed * CLIENTS + i;
		client_open(w, i);
	}
}

/* Sends new requests until all clients have received all replies. */
static void
clients_talk(struct world *w, uint32_t requests, uint64_t limit_ns)
{
	const uint64_t end_ns = w->sim.ss->now_ns + limit_ns;
	uint32_t done = 0;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		check(w->client[i].open || !w->client[i].gone);
		client_clear(&w->client[i]);
		w->client[i].requests = requests;
	}
	while (done < CLIENTS) {
		if (w->sim.ss->now_ns >= end_ns)
			fail_msg("not all have expected all");
		run(w, MS);
		done = 0;
		for (uint32_t i = 0; i < CLIENTS; i++)
			done += w->client[i].asked == requests &&
				w->client[i].item == w->client[i].items;
	}
}

static uint64_t
count(const struct world *w, enum front_counter which)
{
	return counter_read(&front_counters(w->front)[which]);
}

static uint64_t
of_server(const struct world *w, uint32_t server, enum front_server_count which)
{
	return front_stats_sum_mt(&w->stats, server, which);
}

/* Checks that the counters of the servers add up to those of the front. */
static void
check_counts(const struct world *w)
{
	uint64_t requests = 0, failed = 0, ends = 0;

	for (uint32_t i = 0; i < FLEET_SERVERS; i++) {
		const uint64_t up = front_lane_info(w->front, i).state == LANE_UP;

		check_eq(of_server(w, i, FRONT_SERVER_TAKEN), of_server(w, i, FRONT_SERVER_FREED));
		check(of_server(w, i, FRONT_SERVER_KEYS) >= of_server(w, i, FRONT_SERVER_REQUESTS));
		check_eq(of_server(w, i, FRONT_SERVER_OPENED),
			 of_server(w, i, FRONT_SERVER_ENDED) + up);
		requests += of_server(w, i, FRONT_SERVER_REQUESTS);
		failed += of_server(w, i, FRONT_SERVER_FAILED);
		ends += of_server(w, i, FRONT_SERVER_ERR) + of_server(w, i, FRONT_SERVER_EOF) +
			of_server(w, i, FRONT_SERVER_TIMEDOUT);
	}
	check_eq(requests, count(w, FRONT_REQUESTED));
	check_eq(failed, count(w, FRONT_FAILED));
	check_eq(ends, count(w, FRONT_CONNECT_FAILED) + count(w, FRONT_SERVER_CLOSED) +
			       count(w, FRONT_SERVER_LATE) + count(w, FRONT_SERVER_BROKEN) +
			       count(w, FRONT_LOGIN_REFUSED));
}

static void
check_nothing_held(struct world *w)
{
	const struct core *core = &w->sim.sc->cores[0].core;
	struct stack_usage use;

	run(w, 100 * MS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (w->client[i].conn != NULL)
			conn_close_detach(w->sim.ss->stack, w->client[i].conn);
	run(w, 2 * NS_PER_S);
	check_eq(front_requests_open(w->front), 0);
	check_eq(backend_pending(core->serve), 0);
	for (uint32_t i = 0; i < FLEET_SERVERS; i++)
		check_eq(front_lane_info(w->front, i).batches, 0);
	check_counts(w);
	stack_usage_mt(core->stack, &use);
	check_eq(use.conns_open, 0);
	check_eq(use.chunks_used, 0);
	check_eq(use.rx_frames_held, 0);
}

/* ---- tests ---- */

TEST(every_client_receives_the_values_of_the_servers)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct world *w = world_create(seed % 2 == 0, TIMEOUT_NS);

		w->gats = true;
		w->big = 200;
		run(w, 50 * MS);
		for (uint32_t i = 0; i < FLEET_SERVERS; i++) {
			check_eq(front_lane_info(w->front, i).state, LANE_UP);
			check_eq(front_lane_info(w->front, i).meta, w->meta);
		}
		clients_open(w, seed);
		clients_talk(w, 100, 10 * NS_PER_S);
		check(count(w, FRONT_HITS) > 1000 && count(w, FRONT_MISSES) > 200);
		check_eq(count(w, FRONT_CONNECTED), FLEET_SERVERS);
		check(front_stats_trip_us_mt(&w->stats, 0, 50) > 0);
		check(front_stats_trip_us_mt(&w->stats, 0, 99) < TIMEOUT_NS / 1000);
		check_nothing_held(w);
		world_destroy(w);
	}
}

TEST(clients_receive_the_values_however_replies_are_cut)
{
	static const struct {
		uint32_t pieces[FLEET_SERVERS];
		uint32_t requests;
	} rows[] = {{{1, 1}, 3}, {{1, 0}, 3}, {{3, 7}, 6}, {{100, 700}, 40}, {{0, 1461}, 40}};

	for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
		struct world *w = world_create(i % 2 == 0, 100 * NS_PER_S);

		for (uint32_t k = 0; k < FLEET_SERVERS; k++)
			w->fleet.server[k].piece = rows[i / 2].pieces[k];
		clients_open(w, i);
		w->sim.wire->faults.delay_ns = 1000;
		clients_talk(w, rows[i / 2].requests, 100 * NS_PER_S);
		check_eq(count(w, FRONT_CONNECTED), FLEET_SERVERS);
		check_nothing_held(w);
		world_destroy(w);
	}
}

/* ---- servers that fail ---- */

static const char long_line[2200] = {[0 ... 2198] = 'x'};

static const struct {
	const char *name;
	enum fleet_mode mode;
	const char *says;
} faults[] = {
	{"silent", FLEET_SILENT, NULL},
	{"deaf", FLEET_DEAF, NULL},
	{"resets", FLEET_RESETS, NULL},
	{"closes", FLEET_CLOSES, NULL},
	{"refuses", FLEET_REFUSES, NULL},
	{"repeats", FLEET_REPEATS, NULL},
	{"another key", FLEET_SAYS, "VALUE nobody 0 5\r\nhello\r\nEND\r\n"},
	{"a status", FLEET_SAYS, "STORED\r\n"},
	{"an error", FLEET_SAYS, "SERVER_ERROR out of order\r\n"},
	{"an empty line", FLEET_SAYS, "\r\n"},
	{"a long line", FLEET_SAYS, long_line},
	{"no CR", FLEET_SAYS, "END\n"},
	{"two ends", FLEET_SAYS, "END\r\nEND\r\n"},
	{"meta", FLEET_SAYS, "VA 5 f0\r\nhello\r\n"},
	{"no number", FLEET_SAYS, "VALUE s1 0 99999999999999999999\r\n"},
};

static uint32_t
lines_refused(const struct world *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < CLIENTS; i++)
		n += w->client[i].refused;
	return n;
}

/* Keys of the failing server are missed, have their value, or are refused if the server answers
 * with an error. Keys of the other server have theirs, without delay. After its recovery the server
 * is used again. */
TEST(a_server_that_fails_costs_its_own_keys)
{
	for (size_t i = 0; i < 2 * sizeof faults / sizeof *faults; i++) {
		struct world *w = world_create(i % 2 == 0, TIMEOUT_NS);
		struct fleet_server *bad = &w->fleet.server[1];

		clients_open(w, i);
		clients_talk(w, 10, NS_PER_S);
		bad->mode = faults[i / 2].mode;
		bad->says = faults[i / 2].says;
		w->may_fail[1] = true;
		clients_talk(w, 60, 20 * NS_PER_S);
		if (count(w, FRONT_FAILED) + count(w, FRONT_SERVER_BROKEN) == 0)
			fail_msg("%s: nothing failed", faults[i / 2].name);
		if ((lines_refused(w) != 0) != (strstr(faults[i / 2].name, "an error") != NULL))
			fail_msg("%s: %u lines were refused", faults[i / 2].name, lines_refused(w));
		bad->mode = FLEET_OK;
		run(w, 2 * RETRY_NS);
		if (front_lane_info(w->front, 1).state != LANE_UP)
			fail_msg("%s: not up again", faults[i / 2].name);
		w->may_fail[1] = false;
		clients_talk(w, 30, NS_PER_S);
		check_nothing_held(w);
		world_destroy(w);
	}
}

/* ---- servers with users ---- */

#define LOGIN(word) "set clockoo-login 0 -1 10\r\nfront " word "\r\n"

static enum front_failure
why(const struct world *w, uint32_t server)
{
	return atomic_load_explicit(&w->servers->report[server].why, memory_order_relaxed);
}

/* The model answers nothing but an error before the login, and each client is judged. */
TEST(a_server_is_logged_in_to_before_any_request)
{
	for (uint32_t meta = 0; meta < 2; meta++) {
		struct world *w = world_create(meta, TIMEOUT_NS);

		w->fleet.server[0].login = LOGIN("word");
		run(w, STEP_NS); /* the front reads the first state */
		sim_front_login(w->servers, LOGIN("word"));
		run(w, 50 * MS);
		clients_open(w, meta);
		clients_talk(w, 30, 10 * NS_PER_S);
		check_eq(front_lane_info(w->front, 0).meta, meta);
		check_eq(w->fleet.server[0].logins, 1);
		check_nothing_held(w);
		world_destroy(w);
	}
}

/* The front has no login at first, then another's, at last the server's. */
TEST(a_refused_login_is_the_reason_of_its_server)
{
	struct world *w = world_create(true, TIMEOUT_NS);

	w->fleet.server[1].login = LOGIN("word");
	run(w, 50 * MS);
	check_eq(why(w, 1), FRONT_FAILURE_NO_LOGIN);
	sim_front_login(w->servers, LOGIN("beef"));
	run(w, 2 * RETRY_NS);
	check_eq(why(w, 1), FRONT_FAILURE_LOGIN);
	check_eq(front_lane_info(w->front, 0).state, LANE_UP);
	check_eq(front_lane_info(w->front, 1).meta, false);
	w->may_fail[1] = true;
	clients_open(w, 1);
	clients_talk(w, 20, 2 * NS_PER_S);
	check_eq(w->fleet.server[1].logins, 0);
	check(count(w, FRONT_LOGIN_REFUSED) > 1);
	sim_front_login(w->servers, LOGIN("word"));
	run(w, 2 * RETRY_NS);
	w->may_fail[1] = false;
	clients_talk(w, 20, NS_PER_S);
	check_nothing_held(w);
	world_destroy(w);
}

/* Half of the clients close in the middle of their conversations, again and again. */
TEST(clients_that_close_leave_nothing_behind)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct world *w = world_create(seed % 2 == 0, TIMEOUT_NS);
		struct sim_rng rng = {.state = seed};

		w->gats = true;
		w->fleet.server[1].piece = 2000;
		clients_open(w, seed);
		for (uint32_t round = 0; round < 40; round++) {
			for (uint32_t i = 0; i < CLIENTS; i++)
				w->client[i].requests += 5;
			run(w, sim_below(&rng, 5) * MS);
			for (uint32_t i = 0; i < CLIENTS; i += 2) {
				struct client *cl = &w->client[i];

				if (cl->conn == NULL || !cl->open)
					continue;
				if (sim_below(&rng, 2))
					conn_abort(w->sim.ss->stack, cl->conn);
				else
					conn_close_detach(w->sim.ss->stack, cl->conn);
				client_clear(cl);
				client_open(w, i);
			}
		}
		for (uint32_t i = 0; i < CLIENTS; i++)
			w->client[i].requests = 0;
		check_eq(count(w, FRONT_CONNECTED), FLEET_SERVERS);
		check(count(w, FRONT_HITS) > 100);
		check_nothing_held(w);
		world_destroy(w);
	}
}

/* The server's name has no address when the front starts, then one, then another. */
TEST(a_server_is_where_its_name_says)
{
	const struct front_address nowhere = {.port = SIM_PORT};
	const struct front_address first = {.ip = ip_addr_v4(SIM_PEERS + 1), .port = SIM_PORT};
	struct world *w = world_create(true, TIMEOUT_NS);
	struct front_address second = {.port = SIM_PORT};

	memcpy(second.ip.b, SERVERS6, IP_ADDR_BYTES);
	run(w, STEP_NS); /* the front reads the first state */
	sim_front_move(w->servers, 1, &nowhere);
	run(w, 50 * MS);
	check_eq(front_lane_info(w->front, 1).state, LANE_DOWN);
	w->may_fail[1] = true;
	clients_open(w, 1);
	clients_talk(w, 20, 2 * NS_PER_S);
	sim_front_move(w->servers, 1, &second);
	run(w, 50 * MS);
	w->may_fail[1] = false;
	clients_talk(w, 20, NS_PER_S);
	sim_front_move(w->servers, 1, &first);
	run(w, 50 * MS);
	check_eq(front_lane_info(w->front, 1).state, LANE_UP);
	check_nothing_held(w);
	world_destroy(w);
}

/* Servers close idle connections. Such an end fails no request; a connection that ends at once is a
 * failure. */
TEST(an_end_without_pending_requests_is_no_failure)
{
	for (uint64_t age_ms = 500; age_ms <= 2000; age_ms += 1500) {
		struct world *w = world_create(true, TIMEOUT_NS);

		run(w, age_ms * MS);
		for (uint32_t i = 0; i < FLEET_CONNS; i++)
			if (w->fleet.conn[i].conn != NULL)
				conn_close_detach(w->sim.ss->stack, w->fleet.conn[i].conn);
		run(w, 50 * MS);
		check_eq(count(w, FRONT_SERVER_CLOSED), FLEET_SERVERS);
		check_eq(count(w, FRONT_CONNECTED), 2 * FLEET_SERVERS);
		for (uint32_t i = 0; i < FLEET_SERVERS; i++)
			check_eq(front_lane_info(w->front, i).failures, age_ms < 1000);
		clients_open(w, age_ms);
		clients_talk(w, 10, NS_PER_S);
		check_eq(count(w, FRONT_FAILED), 0);
		for (uint32_t i = 0; i < FLEET_SERVERS; i++)
			check_eq(front_lane_info(w->front, i).failures, 0);
		check_nothing_held(w);
		world_destroy(w);
	}
}

/* Returns how long the clients took, beside peers that sent their requests settle_ns before. */
static uint64_t
talk_beside(uint32_t mutes, uint32_t big, uint64_t settle_ns)
{
	struct world *w = world_create(false, NS_PER_S);
	uint64_t begin_ns, took_ns;

	w->big = big;
	run(w, 50 * MS);
	for (uint32_t i = 0; i < mutes; i++) {
		struct conn *c = sim_service_connect(&w->sim);

		w->is_mute[conn_slot(c)] = true;
	}
	run(w, settle_ns);
	clients_open(w, 1);
	begin_ns = w->sim.ss->now_ns;
	clients_talk(w, 100, 10 * NS_PER_S);
	took_ns = w->sim.ss->now_ns - begin_ns;
	print_message("%u that do not read: %u ms\n", mutes, (uint32_t)(took_ns / MS));
	check_eq(count(w, FRONT_SERVER_LATE), 0);
	check_eq(count(w, FRONT_FAILED), 0);
	world_destroy(w);
	return took_ns;
}

/* No connection to a server is reset, either. Peers that have just sent requests, all at once, are
 * answered first. */
TEST(a_client_that_does_not_read_costs_others_no_answer)
{
	for (uint32_t big = 0; big <= 200; big += 200) {
		const uint64_t alone_ns = talk_beside(0, big, 0);

		for (uint32_t mutes = 5; mutes <= MUTES; mutes *= 2) {
			talk_beside(mutes, big, 10 * MS);
			check(talk_beside(mutes, big, 3 * NS_PER_S / 2) * 2 <= alone_ns * 3);
		}
	}
}

/* Memory suffices for a few of the values that eight clients request at once, pipelined to two
 * servers. Answers that have arrived wait for earlier ones, which wait for memory. */
TEST(no_value_is_missed_for_want_of_memory)
{
	for (uint64_t bytes = 64u << 10; bytes <= 512u << 10; bytes *= 2) {
		struct world *w = world_create_of(false, NS_PER_S, bytes);

		w->big = 30;
		run(w, 50 * MS);
		clients_open(w, bytes);
		clients_talk(w, 10, 20 * NS_PER_S);
		check_eq(count(w, FRONT_SERVER_LATE), 0);
		check_eq(count(w, FRONT_FAILED), 0);
		check(counter_read(
			      &serve_counters(w->sim.sc->cores[0].core.serve)[AWAITS_YIELDED]) > 0);
		check_nothing_held(w);
		world_destroy(w);
	}
}

/* The servers take several timeouts for the long values that eight clients request at once. Few of
 * these fail for that. A server is late, and all its requests fail, only if it takes longer than
 * slow ones may, or, at once, if it sends few bytes of an answer. */
TEST(a_slow_server_is_not_late)
{
	static const struct {
		uint32_t piece, rests, requests; /* of each client */
		uint64_t late_within_ns;         /* 0: the server is not late */
	} rows[] = {
		{100, 0, 5, 0},
		{75, 0, 5, 0},
		{12, 0, 10, 100 * NS_PER_S},
		{1, 100, 3, 4 * TIMEOUT_NS},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct world *w = world_create(i % 2 == 0, TIMEOUT_NS);
		const bool is_late = rows[i].late_within_ns != 0;

		w->big = 4;
		run(w, 50 * MS);
		for (uint32_t k = 0; k < FLEET_SERVERS; k++) {
			w->fleet.server[k].piece = rows[i].piece;
			w->fleet.server[k].rests = rows[i].rests;
			w->may_fail[k] = true;
		}
		clients_open(w, i);
		clients_talk(w, rows[i].requests,
			     is_late ? rows[i].late_within_ns : 100 * NS_PER_S);
		check_eq(count(w, FRONT_SERVER_LATE) != 0, is_late);
		check_eq(count(w, FRONT_FAILED) * 2 > count(w, FRONT_HITS), is_late);
		check(is_late || front_stats_trip_us_mt(&w->stats, 0, 99) > TIMEOUT_NS / 1000);
		check_nothing_held(w);
		world_destroy(w);
	}
}
