/*
 * A thousand addresses of both families under load. Goal: a reload that removes half of them and
 * adds as many loses nothing on the others, resets every connection to a removed one, and serves
 * the new ones. Method: a client with a connection to each address sends requests all the time,
 * while the table is exchanged several times; every answer is counted for its address.
 */
#include "support/test.h"
#include "sim_frame.h"
#include "sim_service.h"

#include "net/net_core.h"
#include "serve/serve_policy.h"
#include "tcp/tcp_counters.h"
#include "wire/ipv6_wire.h"

#include <stdlib.h>

#define SHARED 500u /* addresses that stay */
#define MOVING 500u /* addresses that each reload replaces */
#define ROUNDS 4u
#define ALL    (SHARED + MOVING)
#define MS     1000000ull

static const char ask[] = "get x\r\n", answer[] = "END\r\n";

/* A connection of the client, to one address. */
struct line {
	struct conn *conn;
	bool open, moving;
	uint32_t asked, answered;
};

struct world {
	struct sim_service s;
	struct line line[ALL], *of_slot[2 * ALL];
	uint32_t opened, gone_moving, gone_shared, failed;
	void *memory[ROUNDS + 1];
	uint32_t tables;
	const struct local_addrs *table;
};

/* Returns address number i: even ones are of IPv4. */
static struct local_addr
address(uint32_t i)
{
	const uint32_t ip = 0x0a140000 + i; /* 10.20.0.0 and up: behind the appliance */

	return i % 2 == 0 ? (struct local_addr){ip_addr_v4(ip), 128, 0}
			  : (struct local_addr){sim_ip6(ip), 128, 0};
}

static uint32_t
number_of(uint32_t line, uint32_t round)
{
	return line < SHARED ? line : line + round * MOVING;
}

/* Makes the table of a round after the last one. */
static void
table_make(struct world *w, uint32_t round)
{
	static struct local_addr addr[2 + ALL];
	struct local_addrs_spec spec = {.ipv6 = true, .seed = 5, .addr = addr, .count = 2 + ALL};
	struct region region = {0};

	memcpy(spec.mac, sim_mac, sizeof spec.mac);
	addr[0] = (struct local_addr){ip_addr_v4(SIM_IP), 96 + SIM_PREFIX, 0};
	addr[1] = (struct local_addr){sim_ip6(SIM_IP), 64, 0};
	for (uint32_t i = 0; i < ALL; i++)
		addr[2 + i] = address(number_of(i, round));
	region.size = local_addrs_bytes(&spec, w->table);
	region.base = w->memory[w->tables++] = malloc(region.size);
	w->table = local_addrs_make(&region, &spec, w->table);
}

static void
on_opened(void *arg, struct conn *c)
{
	struct world *w = arg;

	w->of_slot[conn_slot(c)]->open = true;
	w->opened++;
}

static void
on_gone(void *arg, struct conn *c)
{
	struct world *w = arg;
	struct line *line = w->of_slot[conn_slot(c)];

	line->conn = NULL;
	line->open = false;
	*(line->moving ? &w->gone_moving : &w->gone_shared) += 1;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	struct world *w = arg;

	w->of_slot[conn_slot(c)]->conn = NULL;
	w->failed++;
}

static void
read_all(struct world *w, struct line *line)
{
	struct view got;

	for (got = conn_peek(line->conn); got.len != 0; got = conn_peek(line->conn)) {
		check(got.len % (sizeof answer - 1) == 0);
		check_bytes(got.data, (const uint8_t *)answer, sizeof answer - 1);
		line->answered += got.len / (sizeof answer - 1);
		conn_advance(w->s.ss->stack, line->conn, got.len);
	}
}

/* Sends a request on every open connection that has its answer. */
static void
client_turn(void *arg)
{
	struct world *w = arg;
	struct stack *stack = w->s.ss->stack;

	while (stack_pop_ready(stack) != NULL)
		;
	for (uint32_t i = 0; i < ALL; i++) {
		struct line *line = &w->line[i];

		if (!line->open)
			continue;
		read_all(w, line);
		if (line->asked != line->answered || !conn_writable(stack, line->conn, 1))
			continue;
		memcpy(conn_reserve(stack, line->conn, sizeof ask - 1), ask, sizeof ask - 1);
		conn_commit(stack, line->conn, sizeof ask - 1);
		line->asked++;
	}
}

/* Connects the lines from `from` on, some in each step: the SYNs of all would be a flood. */
static void
connect_lines(struct world *w, uint32_t from, uint32_t round)
{
	for (uint32_t i = from; i < ALL; i++) {
		struct line *line = &w->line[i];
		const struct conn_target to = {.ip = address(number_of(i, round)).ip,
					       .port = SIM_PORT};

		*line = (struct line){.moving = i >= SHARED};
		line->conn = conn_connect(w->s.ss->stack, &to);
		check(line->conn != NULL);
		w->of_slot[conn_slot(line->conn)] = line;
		if (i % 16 == 15)
			sim_service_run(&w->s, MS / 2, 20000);
	}
	sim_service_run(&w->s, 20 * MS, 20000);
}

static struct world *
world_create(void)
{
	struct world *w = calloc(1, sizeof *w);
	struct sim_service_options o = sim_service_defaults();
	const struct stack_user user = {
		.arg = w, .opened = on_opened, .gone = on_gone, .failed = on_failed};

	check(w != NULL);
	table_make(w, 0);
	o.cores.stack.tcp.conns_max = 2 * ALL;
	o.cores.stack.net.addrs = w->table;
	o.clients.tcp.conns_max = 2 * ALL;
	/* The addresses are behind the appliance's first, as behind a router. */
	o.clients.net.gateway = SIM_IP;
	o.clients.net.prefix6_len = 128;
	o.clients.net.gateway6 = ipv6_link_local(sim_mac);
	sim_service_create(&w->s, &o, &user, client_turn);
	serve_shared_set_addrs(w->s.sc->shared, w->table);
	return w;
}

static void
world_destroy(struct world *w)
{
	sim_service_destroy(&w->s);
	for (uint32_t i = 0; i <= ROUNDS; i++)
		free(w->memory[i]);
	free(w);
}

TEST(a_reload_of_half_of_a_thousand_loses_nothing_on_the_others)
{
	struct world *w = world_create();
	uint32_t answered[SHARED];

	sim_service_run(&w->s, 5 * MS, 20000);
	connect_lines(w, 0, 0);
	check_eq(w->opened, ALL);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		for (uint32_t i = 0; i < SHARED; i++)
			answered[i] = w->line[i].answered;
		table_make(w, round);
		check(serve_addrs_replace_mt(w->s.sc->shared, w->table));
		/* While some connections are still to be reset no other table is taken. */
		check(!serve_settled_mt(w->s.sc->shared));
		check(!serve_addrs_replace_mt(w->s.sc->shared, w->table));
		sim_service_run(&w->s, 20 * MS, 20000);
		check(serve_settled_mt(w->s.sc->shared));
		check_eq(w->gone_moving, round * MOVING);
		check_eq(sim_service_stack_count(&w->s, TCP_LEFT), round * MOVING);
		connect_lines(w, SHARED, round);
		check_eq(w->opened, ALL + round * MOVING);
		for (uint32_t i = 0; i < SHARED; i++)
			check(w->line[i].answered > answered[i]);
		for (uint32_t i = SHARED; i < ALL; i++)
			check(w->line[i].answered != 0);
	}
	check_eq(w->gone_shared, 0);
	check_eq(w->failed, 0);
	world_destroy(w);
}

TEST(an_address_that_left_answers_nothing_and_may_come_back)
{
	struct world *w = world_create();
	const struct conn_target to = {.ip = address(number_of(SHARED, 0)).ip, .port = SIM_PORT};

	sim_service_run(&w->s, 5 * MS, 20000);
	table_make(w, 1);
	check(serve_addrs_replace_mt(w->s.sc->shared, w->table));
	sim_service_run(&w->s, 5 * MS, 20000);
	w->line[0].conn = conn_connect(w->s.ss->stack, &to);
	w->of_slot[conn_slot(w->line[0].conn)] = &w->line[0];
	sim_service_run(&w->s, 500 * MS, 20000);
	check_eq(w->opened, 0);
	check(sim_service_stack_count(&w->s, DROP_IP_NOT_OURS) != 0);
	table_make(w, 0);
	check(serve_addrs_replace_mt(w->s.sc->shared, w->table));
	sim_service_run(&w->s, 2000 * MS, 20000);
	check_eq(w->opened, 1);
	check(w->line[0].answered != 0);
	world_destroy(w);
}
