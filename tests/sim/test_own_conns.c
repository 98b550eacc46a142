/*
 * Connections that we open beside those of peers. Goal: they find slots however many peers connect,
 * and stay open however short memory is. Method: two stacks on a cable; the one under test has few
 * slots, or few chunks.
 */
#include "sim_pair.h"

#include "base/time_units.h"
#include "support/test.h"

#define CONNS  8u
#define NOBODY (SIM_PEERS + 77)

struct side {
	uint32_t opened, gone, failed;
};

static void
on_opened(void *arg, struct conn *c)
{
	((struct side *)arg)->opened++;
}

static void
on_gone(void *arg, struct conn *c)
{
	((struct side *)arg)->gone++;
}

static void
on_failed(void *arg, struct conn *c, enum conn_failure why)
{
	((struct side *)arg)->failed++;
}

/* Creates a pair; cfg is for the side under test, and the other one has ample slots and chunks. */
static struct sim_pair *
pair_create(const struct stack_config *cfg, enum sim_side which, struct side sides[2])
{
	const struct sim_faults none = {.delay_ns = 100000};
	struct stack_config both[2] = {sim_config(1), sim_config(2)};
	struct sim_pair *p;

	both[which] = *cfg;
	p = sim_pair_create(both, &none, 3);
	for (uint32_t i = 0; i < 2; i++) {
		const struct stack_user user = {&sides[i], on_opened, on_gone, on_failed};

		sides[i] = (struct side){0};
		stack_attach(p->side[i]->stack, &user);
	}
	return p;
}

static struct conn *
open_own(struct sim_pair *p)
{
	const struct conn_target to = {.ip = ip_addr_v4(NOBODY), .port = SIM_PORT};

	return conn_connect(p->side[SIM_SERVER]->stack, &to);
}

/* Three of eight slots are reserved. before: how many connections we open before the peers do. */
TEST(peers_leave_slots_for_our_own_connections)
{
	for (uint32_t before = 0; before <= 3; before++) {
		struct stack_config cfg = sim_config(4);
		struct side sides[2];
		struct sim_pair *p;

		cfg.tcp.conns_max = 8;
		cfg.tcp.active_reserve = 3;
		p = pair_create(&cfg, SIM_SERVER, sides);
		for (uint32_t i = 0; i < before; i++)
			check_ptr(open_own(p));
		for (uint32_t i = 0; i < 2 * CONNS; i++)
			check_ptr(sim_pair_connect(p));
		sim_pair_run(p, p->now_ns + NS_PER_S, NULL, NULL);
		check_eq(sides[SIM_SERVER].opened, 5);
		for (uint32_t i = before; i < 3; i++)
			check_ptr(open_own(p));
		check_null(open_own(p));
		sim_pair_destroy(p);
	}
}

/* No data is acknowledged, for which a peer's connection would be reset while chunks are short. */
TEST(memory_pressure_leaves_our_own_connections_alone)
{
	static const uint8_t bytes[CONN_RESERVE_MAX];
	struct stack_config cfg = sim_config(4);
	struct conn *conns[CONNS];
	struct side sides[2];
	struct sim_pair *p;
	struct stack *s;

	cfg.tcp.chunks = 16;
	p = pair_create(&cfg, SIM_CLIENT, sides);
	s = p->side[SIM_CLIENT]->stack;
	for (uint32_t i = 0; i < CONNS; i++)
		check_ptr(conns[i] = sim_pair_connect(p));
	sim_pair_run(p, p->now_ns + NS_PER_S / 100, NULL, NULL);
	check_eq(sides[SIM_CLIENT].opened, CONNS);
	p->wire->faults.lose = 1000;
	for (uint32_t i = 0; i < CONNS; i++) {
		check(conn_writable(s, conns[i], 1));
		memcpy(conn_reserve(s, conns[i], sizeof bytes), bytes, sizeof bytes);
		conn_commit(s, conns[i], sizeof bytes);
		check_eq(conn_unacknowledged(conns[i]), sizeof bytes);
	}
	sim_pair_run(p, p->now_ns + 20 * NS_PER_S, NULL, NULL);
	check(sim_stack_count(p->side[SIM_CLIENT], TCP_MEMORY_PRESSURE) > 0);
	check_eq(sides[SIM_CLIENT].gone, 0);
	sim_pair_destroy(p);
}
