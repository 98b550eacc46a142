#include "sim_pair.h"

#include "base/check.h"

#include <stdlib.h>

#define PORT_FRAMES 8192u
#define TURN_NS     1000u
#define SETTLE_NS   1000000u

static struct sim_stack *
side_create(struct stack_config cfg, enum sim_side side)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, (uint8_t)(0x10 + side)};

	cfg.net.ipv4 = side == SIM_CLIENT ? SIM_CLIENT_IP : SIM_IP;
	cfg.tcp.port = side == SIM_CLIENT ? 0 : SIM_PORT;
	return sim_stack_create_as(&cfg, PORT_FRAMES, 0, mac);
}

static uint64_t
sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void
step(struct sim_pair *p, uint64_t until_ns)
{
	uint64_t next;

	sim_wire_turn(p->wire, p->now_ns);
	for (uint32_t i = 0; i < 2; i++) {
		p->side[i]->now_ns = p->now_ns;
		sim_stack_turn(p->side[i]);
	}
	sim_wire_turn(p->wire, p->now_ns);
	next = sooner(sim_wire_next(p->wire), sooner(stack_next_timer(p->side[0]->stack),
						     stack_next_timer(p->side[1]->stack)));
	p->now_ns = next > p->now_ns ? sooner(next, until_ns) : p->now_ns + TURN_NS;
}

void
sim_pair_run(struct sim_pair *p, uint64_t until_ns, bool (*done)(void *arg), void *arg)
{
	while (p->now_ns < until_ns && !(done != NULL && done(arg)))
		step(p, until_ns);
}

struct conn *
sim_pair_connect(struct sim_pair *p)
{
	const struct conn_target to = {.ip = ip_addr_v4(SIM_IP), .port = SIM_PORT};

	return conn_connect(p->side[SIM_CLIENT]->stack, &to);
}

static void
nobody(void *arg, struct conn *c)
{
}

static void
nobody_failed(void *arg, struct conn *c, enum conn_failure why)
{
}

/* Opens a connection and aborts it, so that both sides have resolved the other's MAC. */
static void
find_each_other(struct sim_pair *p)
{
	const struct stack_user user = {NULL, nobody, nobody, nobody_failed};
	struct conn *c;

	stack_attach(p->side[SIM_CLIENT]->stack, &user);
	stack_attach(p->side[SIM_SERVER]->stack, &user);
	c = sim_pair_connect(p);
	ensure(c != NULL);
	sim_pair_run(p, p->now_ns + SETTLE_NS, NULL, NULL);
	conn_abort(p->side[SIM_CLIENT]->stack, c);
	sim_pair_run(p, p->now_ns + SETTLE_NS, NULL, NULL);
}

struct sim_pair *
sim_pair_create(const struct stack_config cfg[2], const struct sim_faults *faults, uint64_t seed)
{
	const struct sim_faults perfect = {.delay_ns = TURN_NS, .flights = faults->flights};
	struct sim_pair *p = calloc(1, sizeof *p);

	ensure(p != NULL);
	for (uint32_t i = 0; i < 2; i++)
		p->side[i] = side_create(cfg[i], i);
	p->now_ns = p->side[0]->now_ns;
	p->wire = sim_wire_create(p->side[0]->port, p->side[1]->port, &perfect, seed);
	find_each_other(p);
	p->wire->faults = *faults;
	p->wire->rng.state = seed;
	return p;
}

void
sim_pair_destroy(struct sim_pair *p)
{
	sim_wire_destroy(p->wire);
	sim_stack_destroy(p->side[0]);
	sim_stack_destroy(p->side[1]);
	free(p);
}
