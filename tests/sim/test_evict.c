/*
 * Clients that do not read, and clients that do not fill a hole. Goal: while memory is short they
 * are reset, and no others; while memory is ample they may stay. Good clients beside a thousand of
 * them lose nothing. The values that they request are never held in chunks or frames. Method: a
 * whole core, and a stack as its clients, on a lossless cable; for holes hand-made segments.
 */
#include "sim_frame.h"
#include "sim_service.h"

#include "base/time_units.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENTS 1024u
#define BAD     rounds(1000u, 300u) /* fewer with sanitizers: a tenth of the time */
#define CHUNKS  rounds(4096u, 1200u)
#define GOOD    10u
#define STEP_NS 200000u /* longest time between two turns */

enum role { ROLE_NONE, ROLE_GOOD, ROLE_BAD, ROLE_SLOW };

struct client {
	struct conn *conn;
	enum role role;
	uint32_t asked, answered; /* requests of a good client */
	uint32_t got;             /* bytes of the current answer */
};

struct world {
	struct sim_service sim;
	struct client client[CLIENTS]; /* by slot */
	const char *bad_asks;
	uint32_t times;
	uint32_t opened, gone_good, gone_bad, gone_slow;
	uint64_t slowest_ns, asked_ns[CLIENTS];
};

#define GOOD_ASKS    "get small\r\n"
#define GOOD_ANSWER  "VALUE small 0 5\r\nhello\r\nEND\r\n"
#define GOOD_ANSWERS (sizeof GOOD_ANSWER - 1)

static void
say(struct world *w, struct conn *c, const void *bytes, uint32_t len)
{
	sim_service_say(&w->sim, c, bytes, len);
}

static void
ask(struct world *w, struct client *cl)
{
	say(w, cl->conn, GOOD_ASKS, sizeof GOOD_ASKS - 1);
	w->asked_ns[conn_slot(cl->conn)] = w->sim.ss->now_ns;
	cl->asked++;
}

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;
	struct client *cl = &w->client[conn_slot(c)];

	w->opened++;
	if (cl->role == ROLE_GOOD) {
		ask(w, cl);
		return;
	}
	for (uint32_t i = 0; i < w->times; i++)
		say(w, c, w->bad_asks, (uint32_t)strlen(w->bad_asks));
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;
	struct client *cl = &w->client[conn_slot(c)];

	w->gone_good += cl->role == ROLE_GOOD;
	w->gone_bad += cl->role == ROLE_BAD;
	w->gone_slow += cl->role == ROLE_SLOW;
	*cl = (struct client){0};
}

static void
listen_to(struct world *w, struct client *cl)
{
	for (struct view v = conn_peek(cl->conn); v.len > 0; v = conn_peek(cl->conn)) {
		for (uint32_t i = 0; i < v.len; i++)
			check_eq(v.data[i], GOOD_ANSWER[(cl->got + i) % GOOD_ANSWERS]);
		cl->got += v.len;
		conn_advance(w->sim.ss->stack, cl->conn, v.len);
	}
	if (cl->got / GOOD_ANSWERS < cl->asked)
		return;
	if (w->sim.ss->now_ns - w->asked_ns[conn_slot(cl->conn)] > w->slowest_ns)
		w->slowest_ns = w->sim.ss->now_ns - w->asked_ns[conn_slot(cl->conn)];
	cl->answered++;
	ask(w, cl);
}

static void
serve(void *arg)
{
	struct world *w = arg;
	struct conn *c;

	while ((c = stack_pop_ready(w->sim.ss->stack)) != NULL)
		if (w->client[conn_slot(c)].role == ROLE_GOOD)
			listen_to(w, &w->client[conn_slot(c)]);
}

static struct world *
world_create(uint32_t chunks, uint32_t memory_mb)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {w, on_opened, on_gone, NULL};

	check_ptr(w);
	o.cores.stack.tcp.chunks = chunks;
	o.cores.memory_bytes = (size_t)memory_mb << 20;
	o.cable.delay_ns = 200000;
	sim_service_create(&w->sim, &o, &user, serve);
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
	sim_service_run(&w->sim, for_ns, STEP_NS);
}

static void
join(struct world *w, enum role role, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct conn *c = sim_service_connect(&w->sim);

		w->client[conn_slot(c)] = (struct client){.conn = c, .role = role};
		if (i % 32 == 31)
			run(w, 1000000);
	}
	run(w, 20000000);
}

/* Stores a value over a connection of its own. */
static void
store(struct world *w, const char *key, uint32_t len)
{
	struct conn *c = sim_service_connect(&w->sim);
	uint32_t left = len + 2;
	char head[64];

	w->times = 0;
	w->client[conn_slot(c)] = (struct client){.conn = c, .role = ROLE_BAD};
	run(w, 20000000);
	snprintf(head, sizeof head, "set %s 0 0 %u\r\n", key, len);
	say(w, c, head, (uint32_t)strlen(head));
	if (len == 5)
		say(w, c, "hello\r\n", left);
	for (uint32_t i = 0; len != 5 && left > 0 && i < 1000; i++) {
		sim_service_send_body(&w->sim, c, &left, 65536);
		run(w, 2000000);
	}
	run(w, 50000000);
	check_eq(conn_peek(c).len, 8); /* STORED */
	conn_abort(w->sim.ss->stack, c);
	run(w, 5000000);
	w->gone_bad = 0;
	w->opened = 0;
}

static uint32_t
answers(const struct world *w)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < CLIENTS; i++)
		sum += w->client[i].answered;
	return sum;
}

/* value_bytes chooses the scarce resource: chunks below 1024, otherwise pieces and pins. */
static void
good_clients_lose_nothing(uint32_t value_bytes, uint32_t times)
{
	struct world *w = world_create(CHUNKS, 64);
	struct stack_usage use;
	uint32_t before;

	store(w, "small", 5);
	store(w, "big", value_bytes);
	join(w, ROLE_GOOD, GOOD);
	check_eq(w->opened, GOOD);
	w->bad_asks = "get big\r\n";
	w->times = times;
	join(w, ROLE_BAD, BAD);
	check_eq(w->opened, GOOD + BAD);
	run(w, 5 * NS_PER_S);
	check_eq(w->gone_good, 0);
	check(sim_service_stack_count(&w->sim, TCP_MEMORY_PRESSURE) > 0);
	check(sim_service_stack_count(&w->sim, TCP_EVICTED_SLOW_READER) > 0);
	check(w->gone_bad > 0 &&
	      w->gone_bad <= sim_service_stack_count(&w->sim, TCP_EVICTED_SLOW_READER));
	stack_usage_mt(w->sim.sc->cores[0].core.stack, &use);
	check_eq(use.conns_open,
		 GOOD + BAD - sim_service_stack_count(&w->sim, TCP_EVICTED_SLOW_READER));
	before = answers(w);
	w->slowest_ns = 0;
	run(w, 2 * NS_PER_S);
	print_message("%u bad ones reset; slowest answer %.3f ms, %u answers a second\n",
		      w->gone_bad, (double)w->slowest_ns / 1e6, (answers(w) - before) / 2);
	check(w->slowest_ns < 20000000);
	check(answers(w) - before > 5000);
	check_eq(w->gone_good, 0);
	world_destroy(w);
}

TEST(good_clients_beside_a_thousand_who_do_not_read_chunks_lose_nothing)
{
	good_clients_lose_nothing(900, 300);
}

TEST(good_clients_beside_a_thousand_who_do_not_read_pinned_values_lose_nothing)
{
	good_clients_lose_nothing(8192, 100);
}

TEST(while_memory_is_ample_no_client_is_reset_for_not_reading)
{
	struct world *w = world_create(4096, 64);

	store(w, "small", 5);
	store(w, "big", 900);
	join(w, ROLE_GOOD, 1);
	w->bad_asks = "get big\r\n";
	w->times = 300;
	join(w, ROLE_BAD, 3);
	run(w, 60 * NS_PER_S);
	check_eq(w->gone_bad, 0);
	check_eq(sim_service_stack_count(&w->sim, TCP_MEMORY_PRESSURE), 0);
	check(sim_service_stack_count(&w->sim, TCP_WINDOW_PROBES) > 0);
	world_destroy(w);
}

/* Values are requested, not read, and stored anew: the old ones keep their memory until they are
 * unpinned. There are enough chunks and pieces. */
TEST(values_pinned_by_clients_that_do_not_read_do_not_take_the_memory)
{
	struct world *w = world_create(16384, 64);
	static char asks[1100];
	uint32_t len = (uint32_t)snprintf(asks, sizeof asks, "set p 0 0 1024\r\n");

	memset(asks + len, 'p', 1024);
	strcpy(asks + len + 1024, "\r\nget p\r\n");
	store(w, "small", 5);
	join(w, ROLE_GOOD, 1);
	w->bad_asks = asks;
	w->times = 12; /* the most replies that an initial window holds */
	join(w, ROLE_BAD, 240);
	for (uint32_t i = 0; i < CLIENTS; i++)
		for (uint32_t k = 12; k < 50 && w->client[i].role == ROLE_BAD; k++)
			say(w, w->client[i].conn, asks, (uint32_t)strlen(asks));
	run(w, NS_PER_S);
	check_eq(sim_service_stack_count(&w->sim, TCP_EVICTED_SLOW_READER), 0);
	run(w, 5 * NS_PER_S);
	check(sim_service_stack_count(&w->sim, TCP_EVICTED_SLOW_READER) > 0);
	print_message("%u of 240 reset\n",
		      (uint32_t)sim_service_stack_count(&w->sim, TCP_EVICTED_SLOW_READER));
	/* Only as many as necessary are reset; the others may stay. */
	check(sim_service_stack_count(&w->sim, TCP_EVICTED_SLOW_READER) < 240);
	check_eq(w->gone_good, 0);
	check_eq(sim_service_count(&w->sim, STORE_NO_MEMORY_COUNT), 0);
	world_destroy(w);
}

#define LARGE     60000u
#define SLOW      60u
#define SET_TURNS 200u /* a set that waits longer is refused */

struct sets {
	uint32_t refused, longest; /* in turns */
	uint64_t slowest_ns;       /* answer to a good client meanwhile */
};

/* Stores values of new keys directly, one a turn. */
static struct sets
set_large(struct world *w, uint32_t first, uint32_t count)
{
	struct sets sets = {0};

	w->slowest_ns = 0;
	for (uint32_t i = 0; i < count && sets.refused < 4; i++) {
		enum store_result r = STORE_NOT_YET;
		uint32_t waited = 0;
		char name[16];

		snprintf(name, sizeof name, "v%u", first + i);
		for (; waited < SET_TURNS && r == STORE_NOT_YET; waited++) {
			run(w, 1000);
			r = sim_service_set(&w->sim, name, LARGE);
		}
		sets.longest = waited > sets.longest ? waited : sets.longest;
		sets.refused += r != STORE_OK;
	}
	sets.slowest_ns = w->slowest_ns;
	return sets;
}

/* Sixty clients request a value of their own and do not read it: more than the class of such values
 * keeps in reserve. They may stay, since they hold little. */
TEST(sixty_clients_that_do_not_read_delay_no_sets)
{
	struct world *w = world_create(4096, 64);
	struct sets before, with;
	char asks[32];

	store(w, "small", 5);
	join(w, ROLE_GOOD, GOOD);
	check_eq(set_large(w, 0, 1500).refused, 0);
	before = set_large(w, 1500, 1500);
	w->bad_asks = asks;
	w->times = 1;
	for (uint32_t i = 0; i < SLOW; i++) {
		snprintf(asks, sizeof asks, "get v%u\r\n", 2900 + i);
		join(w, ROLE_BAD, 1);
	}
	with = set_large(w, 3000, 3000);
	print_message("sets wait %u turns at most, %u beside %u who do not read; slowest answer "
		      "%.3f and %.3f ms; %u refused, %u reset\n",
		      before.longest, with.longest, SLOW, (double)before.slowest_ns / 1e6,
		      (double)with.slowest_ns / 1e6, with.refused, w->gone_bad);
	check_eq(before.refused, 0);
	check_eq(with.refused, 0);
	check(with.longest <= before.longest + before.longest / 2);
	check(with.slowest_ns <= before.slowest_ns + before.slowest_ns / 2);
	check_eq(w->gone_bad + w->gone_good, 0);
	world_destroy(w);
}

/* A begun value holds all of its memory. The clients begin more values than fit, and send none. In
 * the end a client that sends its value finds room. */
TEST(values_begun_and_not_sent_do_not_keep_the_memory)
{
	struct world *w = world_create(4096, 16);
	static const uint8_t bytes[1000];
	struct conn *slow = NULL;

	store(w, "small", 5);
	join(w, ROLE_GOOD, 1);
	w->bad_asks = "set slow 0 0 100000\r\nx";
	w->times = 1;
	join(w, ROLE_SLOW, 1);
	for (uint32_t i = 0; i < CLIENTS && slow == NULL; i++)
		slow = w->client[i].role == ROLE_SLOW ? w->client[i].conn : NULL;
	w->bad_asks = "set lazy 0 0 1000000\r\nx";
	join(w, ROLE_BAD, 40);
	for (uint32_t s = 0; s < 6; s++) {
		check_eq(w->gone_slow, 0);
		/* The slow client makes progress. */
		for (uint32_t i = 0; i < 5 && conn_writable(w->sim.ss->stack, slow, 1); i++)
			say(w, slow, bytes, sizeof bytes);
		run(w, NS_PER_S);
	}
	check_eq(w->gone_slow, 0);
	check(sim_service_count(&w->sim, CONN_SLOW_BODY) > 0);
	/* By now the clients of all other unfinished values have been reset. */
	run(w, 40 * NS_PER_S);
	store(w, "late", 900000);
	check_eq(w->gone_good, 0);
	world_destroy(w);
}

TEST(while_memory_is_ample_a_value_may_be_sent_as_slowly_as_one_likes)
{
	struct world *w = world_create(4096, 64);

	store(w, "small", 5);
	w->bad_asks = "set lazy 0 0 1000000\r\nx";
	w->times = 1;
	join(w, ROLE_BAD, 10);
	run(w, 10 * NS_PER_S);
	check_eq(sim_service_count(&w->sim, CONN_SLOW_BODY), 0);
	check_eq(w->gone_bad, 0);
	world_destroy(w);
}

/* A client requests a megabyte a hundred times at once and hardly reads. */
TEST(a_hundred_megabytes_for_a_slow_client_hold_neither_chunks_nor_frames)
{
	struct world *w = world_create(4096, 64);
	struct stack_usage use;
	char line[600] = "get";
	uint32_t most = 0, frames = 0;

	store(w, "m", 1u << 20);
	for (uint32_t i = 0; i < 100; i++)
		strcat(line, " m");
	strcat(line, "\r\n");
	w->bad_asks = line;
	w->times = 1;
	join(w, ROLE_BAD, 1);
	for (uint32_t i = 0; i < 200; i++) {
		struct client *cl = NULL;

		run(w, 10000000);
		stack_usage_mt(w->sim.sc->cores[0].core.stack, &use);
		most = use.chunks_used > most ? use.chunks_used : most;
		if (mem_port_held(w->sim.sc->cores[0].port) > frames)
			frames = mem_port_held(w->sim.sc->cores[0].port);
		for (uint32_t k = 0; k < CLIENTS && cl == NULL; k++)
			cl = w->client[k].conn != NULL ? &w->client[k] : NULL;
		check_ptr(cl);
		if (conn_peek(cl->conn).len > 0)
			conn_advance(w->sim.ss->stack, cl->conn, conn_peek(cl->conn).len);
	}
	print_message("at most %u chunks of %u and %u frames held\n", most, use.chunks, frames);
	check(most <= CONN_SENDQ_BYTES / CHUNK_BYTES);
	/* Beside the frame cache only frames in flight are held. */
	check(frames <= FRAME_CACHE_MAX + BURST_MAX);
	check_eq(w->gone_bad, 0);
	world_destroy(w);
}

/* ---- the stack alone ---- */

#define HOLERS 40u
/* The limits of sim_config(). The reserve has a frame for each connection. */
#define RAW_CONNS  64u
#define RAW_FRAMES 512u
#define GREEDY     8u

struct raw {
	struct sim_stack *ss;
	struct conn *last;
	uint32_t opened, gone;
	uint32_t peer_next[RAW_CONNS], our_next[RAW_CONNS]; /* sequence numbers */
};

static void
raw_opened(void *arg, struct conn *c)
{
	struct raw *r = arg;

	r->opened++;
	r->last = c;
}

static void
raw_gone(void *arg, struct conn *c)
{
	struct raw *r = arg;

	r->gone++;
}

static uint32_t
drain_sent(struct raw *r, uint16_t port, struct sim_segment *seg)
{
	struct sim_segment one;
	const uint8_t *frame;
	uint32_t len, resets = 0;

	while ((frame = mem_port_sent(r->ss->port, &len)) != NULL) {
		if (sim_read_segment(&one, frame, len) && one.tcp.dst_port == port) {
			resets += (one.tcp.flags & TCP_RST) != 0;
			if (seg != NULL)
				*seg = one;
		}
		mem_port_done(r->ss->port);
	}
	return resets;
}

static void
feed(struct raw *r, uint32_t i, uint8_t flags, uint32_t ahead, uint32_t len)
{
	static const uint8_t text[1460];
	const struct sim_segment seg = {
		.src_ip = SIM_PEERS + 5,
		.dst_ip = SIM_IP,
		.tcp = {.src_port = (uint16_t)(3000 + i),
			.dst_port = SIM_PORT,
			.seq = r->peer_next[i] + ahead,
			.ack = r->our_next[i],
			.window = 60000,
			.flags = flags,
			.payload = {text, len}},
	};

	check(sim_feed_segment(r->ss->port, sim_mac, sim_peer_mac, &seg));
	r->ss->now_ns += 1000;
	sim_stack_turn(r->ss);
}

static void
raw_open(struct raw *r, uint32_t i)
{
	struct sim_segment answer = {0};

	r->peer_next[i] = 1000;
	feed(r, i, TCP_SYN, 0, 0);
	drain_sent(r, (uint16_t)(3000 + i), &answer);
	check_eq(answer.tcp.flags, TCP_SYN | TCP_ACK);
	r->peer_next[i]++;
	r->our_next[i] = answer.tcp.seq + 1;
	feed(r, i, TCP_ACK, 0, 0);
}

static struct raw *
raw_create(void)
{
	struct raw *r = calloc(1, sizeof *r);
	const struct stack_user user = {.arg = r, .opened = raw_opened, .gone = raw_gone};
	struct stack_config cfg = sim_config(9);

	check_ptr(r);
	cfg.tcp.keepalive_idle_ns = 0;
	r->ss = sim_stack_create(&cfg, 2048, 0);
	stack_attach(r->ss->stack, &user);
	sim_stack_turn(r->ss);
	return r;
}

static void
raw_destroy(struct raw *r)
{
	sim_stack_destroy(r->ss);
	free(r);
}

TEST(a_connection_with_a_stale_hole_is_reset_when_frames_run_short)
{
	struct raw *r = raw_create();
	const uint32_t good = HOLERS;

	for (uint32_t i = 0; i <= HOLERS; i++)
		raw_open(r, i);
	for (uint32_t k = 0; k < 16; k++)
		for (uint32_t i = 0; i < HOLERS; i++)
			feed(r, i, TCP_ACK, 10 + 2000 * k, 1000);
	check(sim_stack_count(r->ss, TCP_MEMORY_PRESSURE) > 0);
	drain_sent(r, 0, NULL);
	/* The connection fills a little of its hole in time, so it does not count as stalled. */
	for (uint32_t second = 0; second < 6; second++) {
		sim_stack_run(r->ss, r->ss->now_ns + NS_PER_S);
		feed(r, good, TCP_ACK | TCP_PSH, 0, 100);
		r->peer_next[good] += 100;
		conn_advance(r->ss->stack, r->last, 100);
		drain_sent(r, 0, NULL);
	}
	check(sim_stack_count(r->ss, TCP_EVICTED_SLOW_WRITER) > 0);
	check_eq(sim_stack_count(r->ss, TCP_EVICTED_SLOW_READER), 0);
	check_eq(r->gone, sim_stack_count(r->ss, TCP_EVICTED_SLOW_WRITER));
	check(r->gone < HOLERS); /* no more than necessary */
	raw_destroy(r);
}

/* Applies memory pressure in each turn, as the service does. */
static void
press(void *arg)
{
	stack_memory_pressure(arg, 16);
}

TEST(under_memory_pressure_stalled_connections_are_reset_and_others_not)
{
	struct raw *r = raw_create();
	struct conn *still, *moves;
	struct stack *s = r->ss->stack;

	raw_open(r, 0);
	still = r->last;
	raw_open(r, 1);
	moves = r->last;
	for (uint32_t i = 0; i < 2; i++) {
		struct conn *c = i == 0 ? still : moves;

		check(conn_writable(s, c, 1));
		memset(conn_reserve(s, c, 1900), 'x', 1900);
		conn_commit(s, c, 1900);
	}
	r->ss->serve = press;
	r->ss->arg = s;
	for (uint32_t i = 0; i < 45; i++) {
		sim_stack_run(r->ss, r->ss->now_ns + NS_PER_S / 10);
		/* This peer acknowledges 40 bytes at a time: it is slow, but makes progress. */
		r->our_next[1] += 40;
		feed(r, 1, TCP_ACK, 0, 0);
		drain_sent(r, 0, NULL);
		check(i < 40 || r->gone == 1);
	}
	check_eq(sim_stack_count(r->ss, TCP_EVICTED_SLOW_READER), 1);
	check_eq(conn_slot(moves), 1);
	check(conn_writable(s, moves, 1)); /* it is open */
	raw_destroy(r);
}

static void
queue(struct raw *r, struct conn *c, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++) {
		check(conn_writable(r->ss->stack, c, 1));
		memset(conn_reserve(r->ss->stack, c, 1900), 'x', 1900);
		conn_commit(r->ss->stack, c, 1900);
	}
}

/* Runs a tenth of a second, in which some of the sent bytes are acknowledged. */
static void
crawl(struct raw *r, uint32_t conns, uint32_t bytes)
{
	sim_stack_run(r->ss, r->ss->now_ns + NS_PER_S / 10);
	for (uint32_t i = 0; i < conns; i++) {
		r->our_next[i] += bytes;
		feed(r, i, TCP_ACK, 0, 0);
	}
	drain_sent(r, 0, NULL);
}

/* A peer that acknowledges a segment from time to time makes progress, and could hold the rest for
 * hours. */
TEST(a_client_that_reads_crumbs_is_reset_for_the_bytes_it_holds)
{
	struct raw *r = raw_create();
	struct conn *kept;

	raw_open(r, 0);
	kept = r->last;
	queue(r, kept, 2);
	raw_open(r, 1);
	queue(r, r->last, 12);
	r->ss->serve = press;
	r->ss->arg = r->ss->stack;
	for (uint32_t i = 0; i < 45; i++)
		crawl(r, 2, 40);
	check_eq(sim_stack_count(r->ss, TCP_EVICTED_SLOW_READER), 1);
	check_eq(r->gone, 1);
	check(conn_writable(r->ss->stack, kept, 1)); /* it is open */
	raw_destroy(r);
}

/* If the rule asked for a constant fraction of the remaining bytes, the end of a large value could
 * hold all of it. */
TEST(a_client_that_reads_less_and_less_is_reset)
{
	struct raw *r = raw_create();
	uint32_t left = 12 * 1900, tenths = 0;

	raw_open(r, 0);
	queue(r, r->last, 12);
	r->ss->serve = press;
	r->ss->arg = r->ss->stack;
	for (; tenths < 600 && r->gone == 0; tenths++) {
		const uint32_t bytes = left / 220; /* an eleventh in two seconds */

		crawl(r, 1, bytes);
		left -= bytes;
	}
	print_message("reset after %.1f s\n", tenths / 10.0);
	check(tenths > 40 && tenths < 150);
	check_eq(sim_stack_count(r->ss, TCP_EVICTED_SLOW_READER), 1);
	raw_destroy(r);
}

static void
press_hard(void *arg)
{
	stack_memory_pressure(arg, 4);
}

/* Two peers read, in two seconds, an eighth and a half of the bytes they hold. */
TEST(the_more_is_held_the_faster_a_reader_must_be)
{
	static const uint32_t per_tenth[2] = {12 * 1900 / 160, 12 * 1900 / 40};

	for (uint32_t hard = 0; hard < 2; hard++) {
		struct raw *r = raw_create();

		for (uint32_t i = 0; i < 2; i++) {
			raw_open(r, i);
			queue(r, r->last, 12);
		}
		r->ss->serve = hard ? press_hard : press;
		r->ss->arg = r->ss->stack;
		for (uint32_t i = 0; i < 35; i++) {
			sim_stack_run(r->ss, r->ss->now_ns + NS_PER_S / 10);
			for (uint32_t k = 0; k < 2; k++) {
				r->our_next[k] += per_tenth[k];
				feed(r, k, TCP_ACK, 0, 0);
			}
			drain_sent(r, 0, NULL);
		}
		check_eq(r->gone, hard);
		check(conn_writable(r->ss->stack, r->last, 1)); /* it is open */
		raw_destroy(r);
	}
}

/* Puts requests into frames, where they wait for room to answer. GREEDY connections hold more than
 * their share. */
static void
requests_wait(struct raw *r, uint32_t chunks)
{
	for (uint32_t i = 0; i < HOLERS; i++) {
		raw_open(r, i);
		queue(r, r->last, chunks);
	}
	for (uint32_t k = 0; k < 48; k++)
		for (uint32_t i = 0; i < (k < 2 ? HOLERS : GREEDY); i++) {
			feed(r, i, TCP_ACK | TCP_PSH, 0, 1400);
			r->peer_next[i] += 1400;
		}
	drain_sent(r, 0, NULL);
	check(sim_stack_count(r->ss, TCP_MEMORY_PRESSURE) > 0);
}

/* Readers whose requests wait in frames acknowledge `bytes` bytes a turn: some of them are reset as
 * slow readers, but not all. */
static void
some_are_reset(struct raw *r, uint32_t bytes)
{
	for (uint32_t i = 0; i < 42; i++)
		crawl(r, HOLERS, bytes);
	check(sim_stack_count(r->ss, TCP_EVICTED_SLOW_READER) > 0);
	check_eq(r->gone, sim_stack_count(r->ss, TCP_EVICTED_SLOW_READER));
	check(r->gone < HOLERS);
	raw_destroy(r);
}

/* Requests wait in frames: acknowledging queued bytes does not help to answer them. */
TEST(a_client_that_reads_crumbs_keeps_no_frames)
{
	struct raw *r = raw_create();

	requests_wait(r, 1);
	some_are_reset(r, 40);
}

/* Queued bytes are scarce, too, and the peer acknowledges enough of these. */
TEST(a_client_that_reads_in_time_and_asks_for_more_keeps_no_frames)
{
	struct raw *r = raw_create();

	requests_wait(r, 4);
	r->ss->serve = press;
	r->ss->arg = r->ss->stack;
	some_are_reset(r, 100);
}

/* Sends segments of one turn; those that find no frame are sent again by the next call. */
static void
send_burst(struct raw *r, uint32_t i, uint32_t segments)
{
	static const uint8_t text[1400];
	struct sim_segment seg = {
		.src_ip = SIM_PEERS + 5,
		.dst_ip = SIM_IP,
		.tcp = {.src_port = (uint16_t)(3000 + i),
			.dst_port = SIM_PORT,
			.seq = r->peer_next[i],
			.ack = r->our_next[i],
			.window = 60000,
			.flags = TCP_ACK | TCP_PSH,
			.payload = {text, sizeof text}},
	};

	for (uint32_t k = 0; k < segments; k++, seg.tcp.seq += sizeof text)
		check(sim_feed_segment(r->ss->port, sim_mac, sim_peer_mac, &seg));
	sim_stack_turn(r->ss);
	r->ss->now_ns += 1000;
	seg.tcp.flags = 0;
	drain_sent(r, (uint16_t)(3000 + i), &seg);
	if (seg.tcp.flags & TCP_ACK)
		r->peer_next[i] = seg.tcp.ack;
}

/* New connections send data in one turn each, which the service does not read. They may borrow
 * frames for that turn, and keep more than one only while more than half of the reserve is left. */
static void
newcomers_leave_half(struct raw *r)
{
	struct stack_usage use;

	for (uint32_t i = HOLERS + 1; i < RAW_CONNS; i++) {
		uint32_t before;

		raw_open(r, i);
		before = r->peer_next[i];
		send_burst(r, i, 7);
		stack_usage_mt(r->ss->stack, &use);
		check(r->peer_next[i] - before >= 1400);
		check(r->peer_next[i] - before == 1400 ||
		      RAW_FRAMES - use.rx_frames_held > RAW_CONNS / 2);
	}
}

/* Many peers hold all frames that they can get, in bursts of `burst` segments. A request of three
 * segments in one turn is received whole. */
static void
requests_have_frames_beside(uint32_t burst)
{
	struct raw *r = raw_create();
	struct conn *readers[HOLERS];
	uint32_t before;

	for (uint32_t i = 0; i < HOLERS; i++) {
		raw_open(r, i);
		readers[i] = r->last;
	}
	raw_open(r, HOLERS);
	for (uint32_t k = 0; k < 64; k++)
		for (uint32_t i = 0; i < HOLERS; i++) {
			/* A service that was refused asks for room again in each turn. */
			check(!conn_writable(r->ss->stack, readers[i], UINT32_MAX));
			send_burst(r, i, burst);
		}
	before = r->peer_next[HOLERS];
	send_burst(r, HOLERS, 3);
	check_eq(r->peer_next[HOLERS] - before, 3 * 1400);
	newcomers_leave_half(r);
	raw_destroy(r);
}

TEST(requests_have_frames_beside_readers_that_repeat_dropped_segments)
{
	requests_have_frames_beside(1);
	requests_have_frames_beside(10);
}

/* After a reset the stack waits a while before it judges whether one was enough; no other
 * connection is reset meanwhile. */
TEST(under_memory_pressure_one_connection_is_reset_at_a_time)
{
	struct raw *r = raw_create();
	struct stack *s = r->ss->stack;

	for (uint32_t i = 0; i < 10; i++) {
		raw_open(r, i);
		check(conn_writable(s, r->last, 1));
		memset(conn_reserve(s, r->last, 1900), 'x', 1900);
		conn_commit(s, r->last, 1900);
	}
	r->ss->serve = press;
	r->ss->arg = s;
	for (uint32_t ms = 0; ms < 5000; ms++) {
		const uint32_t before = r->gone;

		for (uint32_t i = 0; i < 30; i++) { /* within one millisecond */
			r->ss->now_ns += 1000000 / 30;
			sim_stack_turn(r->ss);
		}
		drain_sent(r, 0, NULL);
		check(r->gone - before <= 1);
		if (ms == 2060)
			check(r->gone >= 2 && r->gone <= 5);
	}
	check_eq(r->gone, 10);
	raw_destroy(r);
}
