/*
 * Values that are begun and come slowly. Goal: what is begun takes its share of memory and no more,
 * however slowly it is sent, and who sends steadily gets his value stored.
 * Method: a whole core, and a stack as its clients, on a perfect cable.
 */
#include "sim_core.h"
#include "sim_wire.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define CLIENT_IP (SIM_PEERS + 1)
#define CLIENTS   64u
#define SECOND_NS 1000000000ull
#define STEP_NS   100000u /* between two turns, at most */
#define LARGE     1000000u

/* One that sets values, one after the other: as fast as it can, or some bytes each tick. */
struct client {
	struct conn *conn;
	bool open, busy, gone;
	uint32_t left;    /* bytes of its value still to be sent, their end included */
	uint32_t allowed; /* of them, now */
	uint32_t stored;
	uint64_t asked_ns, slowest_ns;
	char answer[32];
	uint32_t answer_len;
};

struct world {
	struct sim_cores *sc;
	struct sim_stack *ss; /* the clients' */
	struct sim_wire *wire;
	struct client client[CLIENTS];
	struct client *of_slot[CLIENTS];
	uint32_t count, keys;
};

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	w->of_slot[conn_slot(c)]->open = true;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;

	w->of_slot[conn_slot(c)]->open = false;
	w->of_slot[conn_slot(c)]->gone = true;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	fail_msg("a connection was not opened: %d", (int)why);
}

static void
put(struct world *w, struct client *cl, const void *bytes, uint32_t len)
{
	memcpy(conn_reserve(w->ss->stack, cl->conn, len), bytes, len);
	conn_commit(w->ss->stack, cl->conn, len);
}

static void
begin(struct world *w, struct client *cl, uint32_t len, uint32_t allowed)
{
	char line[64];
	const int n = snprintf(line, sizeof line, "set k%u 0 0 %u\r\n", w->keys++, len);

	check(conn_writable(w->ss->stack, cl->conn, 1));
	put(w, cl, line, (uint32_t)n);
	cl->busy = true;
	cl->left = len + 2;
	cl->allowed = allowed;
	cl->asked_ns = w->ss->now_ns;
}

static void
send_on(struct world *w, struct client *cl)
{
	static uint8_t bytes[1460];

	memset(bytes, 'v', sizeof bytes);
	while (cl->left > 0 && cl->allowed > 0 && conn_writable(w->ss->stack, cl->conn, 1)) {
		uint32_t n = cl->left > 2 ? cl->left - 2 : cl->left;

		n = n < cl->allowed ? n : cl->allowed;
		n = n < sizeof bytes ? n : (uint32_t)sizeof bytes;
		put(w, cl, cl->left > 2 ? (const void *)bytes : "\r\n", n);
		cl->left -= n;
		cl->allowed -= n;
	}
}

static void
listen_to(struct world *w, struct client *cl)
{
	for (struct view v = conn_peek(cl->conn); v.len > 0; v = conn_peek(cl->conn)) {
		check(cl->answer_len + v.len < sizeof cl->answer);
		memcpy(cl->answer + cl->answer_len, v.data, v.len);
		cl->answer_len += v.len;
		conn_advance(w->ss->stack, cl->conn, v.len);
	}
	if (cl->answer_len < 8)
		return;
	check_bytes(cl->answer, "STORED\r\n", 8);
	cl->answer_len = 0;
	cl->busy = false;
	cl->stored++;
	if (w->ss->now_ns - cl->asked_ns > cl->slowest_ns)
		cl->slowest_ns = w->ss->now_ns - cl->asked_ns;
}

static void
serve(void *arg)
{
	struct world *w = arg;

	while (stack_pop_ready(w->ss->stack) != NULL)
		;
	for (uint32_t i = 0; i < w->count; i++) {
		struct client *cl = &w->client[i];

		if (!cl->open)
			continue;
		listen_to(w, cl);
		send_on(w, cl);
	}
}

static struct world *
world_create(uint32_t memory_mb)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_cores_options o = sim_cores_defaults(3);
	const struct sim_faults none = {.delay_ns = 50000};
	const struct stack_user user = {w, on_opened, on_gone, on_failed};
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
	struct stack_config cfg = sim_config(4);

	check_ptr(w);
	o.stack.tcp.conns_max = 1024;
	o.stack.tcp.chunks = 4096;
	o.memory_bytes = (size_t)memory_mb << 20;
	o.stack.net.rx_frames_max = 2048;
	o.frames = 4096;
	w->sc = sim_cores_create(&o);
	cfg.net.ipv4 = CLIENT_IP;
	cfg.tcp.port = 0;
	cfg.tcp.conns_max = CLIENTS;
	cfg.tcp.chunks = 16384;
	cfg.net.rx_frames_max = 4096;
	w->ss = sim_stack_create_as(&cfg, 8192, 0, mac);
	w->ss->serve = serve;
	w->ss->arg = w;
	stack_attach(w->ss->stack, &user);
	w->wire = sim_wire_create(w->ss->port, w->sc->cores[0].port, &none, 1);
	return w;
}

static void
world_destroy(struct world *w)
{
	sim_wire_destroy(w->wire);
	sim_stack_destroy(w->ss);
	sim_cores_destroy(w->sc);
	free(w);
}

static void
run(struct world *w, uint64_t for_ns)
{
	const uint64_t end_ns = w->ss->now_ns + for_ns;

	while (w->ss->now_ns < end_ns) {
		uint64_t *now = &w->ss->now_ns;
		const uint64_t wire = sim_wire_next(w->wire);
		uint64_t next;

		sim_wire_turn(w->wire, *now);
		sim_stack_turn(w->ss);
		w->sc->now_ns = *now;
		sim_cores_turn(w->sc);
		sim_wire_turn(w->wire, *now);
		next = wire < *now + STEP_NS ? wire : *now + STEP_NS;
		*now = next > *now ? next : *now + 2000;
	}
}

static struct client *
join(struct world *w, uint32_t count)
{
	const struct conn_target to = {.ip = ip_addr_v4(SIM_IP), .port = SIM_PORT};
	struct client *first = &w->client[w->count];

	for (uint32_t i = 0; i < count; i++) {
		struct client *cl = &w->client[w->count];

		cl->conn = conn_connect(w->ss->stack, &to);
		check_ptr(cl->conn);
		w->of_slot[conn_slot(cl->conn)] = cl;
		w->count++;
	}
	run(w, 200000000);
	for (uint32_t i = 0; i < count; i++)
		check(first[i].open);
	return first;
}

static uint64_t
served(const struct world *w, enum serve_counter which)
{
	return counter_read(&serve_counters(w->sc->cores[0].core.serve)[which]);
}

static struct store_usage
usage(const struct world *w)
{
	struct store_usage use;

	store_usage_mt(w->sc->store, &use);
	return use;
}

/* Fill the store with small items. */
static void
fill(struct world *w)
{
	struct store_core *sc = store_core_of(w->sc->store, 0);
	static const uint8_t bytes[900];

	for (uint32_t i = 0; i < 40000; i++) {
		char name[16];
		const struct view key = {(const uint8_t *)name,
					 (uint32_t)snprintf(name, sizeof name, "fill%u", i)};
		struct fill f;

		if (i % 32 == 0)
			run(w, 2000);
		if (store_begin(sc, &f, key, store_hash(sc, key), sizeof bytes, 0, 0) != STORE_OK)
			continue;
		store_fill(sc, &f, bytes, sizeof bytes);
		check_eq(store_finish(sc, &f, STORE_SET, 0), STORE_OK);
	}
}

/* Sixty begin a megabyte each into a store of 16, and send a segment each two seconds; a good one
 * sets 20 KB now and then, another a megabyte at 100 KB a second. */
static void
what_is_begun_and_crawls_takes_its_share_and_no_more(void **state)
{
	struct world *w = world_create(16);
	struct client *good, *steady, *bad;
	uint64_t before, least = UINT64_MAX;

	fill(w);
	good = join(w, 1);
	steady = join(w, 1);
	bad = join(w, 60);
	before = usage(w).item_bytes;
	check(before > 13u << 20);
	begin(w, steady, LARGE, 10000);
	for (uint32_t i = 0; i < 60; i++)
		begin(w, &bad[i], LARGE, 1460);
	for (uint32_t tick = 0; tick < 200; tick++) {
		steady->allowed += 10000;
		for (uint32_t i = 0; i < 60; i++)
			bad[i].allowed += tick % 20 == 0 ? 1460 : 0;
		if (!good->busy)
			begin(w, good, 20000, UINT32_MAX);
		run(w, SECOND_NS / 10);
		least = usage(w).item_bytes < least ? usage(w).item_bytes : least;
	}
	print_message("items %.1f MB before, %.1f at least; %u reset, 20 KB within %.1f ms, 1 MB "
		      "within %.1f s\n",
		      (double)before / 1e6, (double)least / 1e6,
		      (uint32_t)served(w, CONN_SLOW_BODY), (double)good->slowest_ns / 1e6,
		      (double)steady->slowest_ns / 1e9);
	check(least > before / 2);
	check(served(w, CONN_SLOW_BODY) > 0);
	check(served(w, BEGUN_WAITS) > 0);
	check(!good->gone && good->stored >= 190 && good->slowest_ns < 20000000);
	check(!steady->gone && steady->stored == 1);
	check_eq(served(w, STORE_NO_MEMORY_COUNT), 0);
	world_destroy(w);
}

/* Three fit: nobody waits, and nobody hurries them. */
static void
who_is_alone_may_be_as_slow_as_he_likes(void **state)
{
	struct world *w = world_create(16);
	struct client *slow = join(w, 3);

	for (uint32_t i = 0; i < 3; i++)
		begin(w, &slow[i], LARGE, 1000);
	for (uint32_t s = 0; s < 100; s++) {
		for (uint32_t i = 0; i < 3; i++)
			slow[i].allowed += s < 60 ? 1000 : 50000;
		run(w, SECOND_NS);
	}
	for (uint32_t i = 0; i < 3; i++)
		check_eq(slow[i].stored, 1);
	check_eq(served(w, CONN_SLOW_BODY), 0);
	world_destroy(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_begun_and_crawls_takes_its_share_and_no_more),
		cmocka_unit_test(who_is_alone_may_be_as_slow_as_he_likes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
