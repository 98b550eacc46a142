/*
 * Events of a driver. Goal: a NIC that announces a reset in the middle of the requests of 1,000
 * connections is set up again with all that it had, no core calls it meanwhile, and nothing is lost
 * but time; a NIC that is gone ends the program with its own exit code.
 * Method: the control thread's port_watch and lib/dpdk over a NIC that forgets its set-up
 * (forgetful_nic.h), and compares the set-up before with that after. One thread is core 0 with its
 * clients, in simulated time; another is core 1, which only polls.
 */
#include "forgetful_nic.h"
#include "one_port.h"
#include "sim/sim_client.h"

#include "base/time_units.h"
#include "control/port_watch.h"
#include "net/neigh_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define CLIENTS     1000u
#define ROUNDS      2u /* a client's sets and gets before an event; as many around it, and after it */
#define CORES       2u
#define VALUE_BYTES 700u
#define VLAN        7u
#define STEP_NS     200000u
#define AWAY_NS     400000000ull    /* simulated time of a reset */
#define LIMIT_NS    (60 * NS_PER_S) /* simulated, for rounds of all clients */
#define LOOK_NS     1000000

struct client {
	struct sim_client base;
	uint32_t number, rounds, sent, read;
	bool waits; /* for the answer to its get */
	char answer[VALUE_BYTES + 64];
};

static struct one_port one;
static struct steer_plan plan;
static struct process process;
static struct port_watch watch;
static struct device_request request;
static struct nic_setup first; /* as set up by the start */
static struct neigh_table *neigh;
static uint64_t now_ns; /* of the control thread */
static void *neigh_memory;

/* ---- the port ---- */

SETUP(watch_begins)
{
	struct region region = {.base = calloc(1, neigh_table_bytes()),
				.size = neigh_table_bytes()};
	const struct port_watch_parts parts = {&process, &one.device, request, NULL, NULL};
	struct error err = {0};

	check_ptr(region.base);
	neigh_memory = region.base;
	neigh = neigh_table_create(&region);
	process = (struct process){0};
	one.device.abandoned = false;
	check(port_watch_begin(&watch, &parts, &err));
	watch.of.neigh = neigh;
	nic.has_reset = true;
	nic.refusals = 0;
	nic.violations = 0;
	memcpy(nic.mac_at_reset, sim_mac, sizeof sim_mac);
}

TEARDOWN(watch_ends)
{
	port_watch_end(&watch);
	free(neigh_memory);
}

static uint64_t
counted(enum port_watch_counter which)
{
	return counter_read(&watch.counters[which]);
}

/* Returns the events that were dealt with. */
static uint64_t
events(void)
{
	return counted(NIC_RESETS) + counted(NIC_RECOVERIES);
}

static void
is_set_up_as_at_first(void)
{
	const uint32_t pools = nic.now.pools;

	check_eq(pools, CORES);
	check_bytes(&nic.now, &first, sizeof first);
	check_eq(nic.violations, 0);
}

static void
announce(enum announcement what)
{
	nic_announce(what, one.device.name);
}

/* ---- the clients ---- */

struct world {
	struct sim_service sim;
	struct sim_clients clients;
	struct client client[CLIENTS];
	uint32_t opened, lost, wrong;
	uint32_t goal;       /* rounds that each client is to reach */
	uint64_t longest_ns; /* simulated time from the pause to the end of all rounds */
	void (*event)(void); /* called by the sim's thread in the middle of the requests */
};

static struct world world;

static void
ask(struct client *cl)
{
	char text[VALUE_BYTES + 96];
	uint32_t n = (uint32_t)sprintf(text, "set k%u 0 0 %u noreply\r\n", cl->number, VALUE_BYTES);

	memset(text + n, 'a' + (int)((cl->number + cl->rounds) % 26), VALUE_BYTES);
	n += VALUE_BYTES;
	n += (uint32_t)sprintf(text + n, "\r\nget k%u\r\n", cl->number);
	sim_service_say(&world.sim, cl->base.conn, text, n);
	cl->read = 0;
	cl->waits = true;
}

/* True if the whole answer is there and is what this client stored last. */
static bool
answer_is_right(const struct client *cl)
{
	const char *body = memchr(cl->answer, '\n', cl->read);

	if (body == NULL || cl->read != (uint32_t)(body + 1 - cl->answer) + VALUE_BYTES + 7)
		return false;
	for (uint32_t i = 1; i <= VALUE_BYTES; i++)
		if (body[i] != 'a' + (int)((cl->number + cl->rounds) % 26))
			return false;
	return memcmp(body + 1 + VALUE_BYTES, "\r\nEND\r\n", 7) == 0;
}

static void
listen_to(struct client *cl)
{
	struct view v;

	while ((v = conn_peek(cl->base.conn)).len > 0) {
		if (cl->read + v.len > sizeof cl->answer) {
			world.wrong++;
			v.len = (uint32_t)sizeof cl->answer - cl->read;
		}
		memcpy(cl->answer + cl->read, v.data, v.len);
		cl->read += v.len;
		conn_advance(world.sim.ss->stack, cl->base.conn, v.len);
	}
	if (cl->read < 7 || memcmp(cl->answer + cl->read - 5, "END\r\n", 5) != 0)
		return;
	world.wrong += !answer_is_right(cl);
	cl->waits = false;
	cl->rounds++;
}

static void
turn(void *arg, struct sim_client *base)
{
	struct client *cl = container_of(base, struct client, base);

	if (cl->waits)
		listen_to(cl);
	if (!cl->waits && cl->rounds < world.goal)
		ask(cl);
}

static void
on_opened(void *arg, struct sim_client *base)
{
	world.opened++;
}

static void
on_gone(void *arg, struct sim_client *base)
{
	world.lost++;
}

static bool
all_have(uint32_t rounds)
{
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (world.client[i].rounds < rounds && !world.client[i].base.gone)
			return false;
	return true;
}

/* ---- the core between them ---- */

static struct port *
below(void)
{
	return &one.device.ports[0].port;
}

static void
through_rx(struct port *port, struct burst *b, uint32_t count)
{
	nic_take_frames();
	below()->ops->rx(below(), b, count);
}

static uint32_t
through_tx(struct port *port, const struct burst *b)
{
	return below()->ops->tx(below(), b);
}

static void
through_alloc(struct port *port, struct burst *b, uint32_t count)
{
	below()->ops->alloc(below(), b, count);
}

static void
through_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	below()->ops->drop(below(), frames, count);
}

static const struct port_ops through_nic = {
	.rx = through_rx,
	.tx = through_tx,
	.alloc = through_alloc,
	.drop = through_drop,
};

/* Makes the core's port that of the NIC, and the cable the NIC's. */
static void
plug(void)
{
	nic_plug(world.sim.sc->cores[0].port, &first);
	nic.wire->port.ops = &through_nic;
}

/* A step of the clients and the cable, and of the core unless it is paused. */
static void
step(bool with_core)
{
	struct sim_service *s = &world.sim;

	sim_wire_turn(s->wire, s->ss->now_ns);
	sim_stack_turn(s->ss);
	s->sc->now_ns = s->ss->now_ns;
	if (with_core)
		sim_cores_turn(s->sc);
	sim_wire_turn(s->wire, s->ss->now_ns);
	s->ss->now_ns += STEP_NS;
}

/* Steps until all clients have done this many rounds; true if they did within limit_ns. */
static bool
run_until(uint32_t rounds, uint64_t limit_ns)
{
	const uint64_t end_ns = world.sim.ss->now_ns + limit_ns;

	world.goal = rounds;
	while (!all_have(rounds) && world.sim.ss->now_ns < end_ns)
		step(true);
	return all_have(rounds);
}

/* Core 0 and its clients. The driver announces its event while every client has a request on its
 * way, and the core turns on until the order to pause is there. */
static void *
run_core(void *arg)
{
	const uint32_t begun = world.goal;
	bool *good = arg;
	uint64_t left_ns;

	*good = run_until(begun + ROUNDS, LIMIT_NS);
	world.goal = begun + 2 * ROUNDS;
	step(true);
	step(true);
	world.event();
	while (!process_is_interrupted(&process) && events() == 0)
		step(true);
	process_wait_paused(&process);
	left_ns = world.sim.ss->now_ns;
	while (world.sim.ss->now_ns < left_ns + AWAY_NS)
		step(false);
	/* Clients that were done before the pause have rounds to do after it. */
	*good = run_until(begun + 3 * ROUNDS, LIMIT_NS) && *good;
	world.longest_ns = world.sim.ss->now_ns - left_ns;
	return NULL;
}

/* Core 1 has no frames. */
static void *
run_idle_core(void *arg)
{
	struct port *port = &one.device.ports[1].port;
	struct burst b;

	while (!process_is_interrupted(&process) || process_wait_paused(&process)) {
		port->ops->rx(port, &b, BURST_MAX);
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS / 10}, NULL);
	}
	return NULL;
}

static void
create_world(void)
{
	const struct sim_clients_user user = {&world, turn, on_opened, on_gone};
	struct sim_service_options o = sim_service_defaults();

	o.cores.memory_bytes = 64u << 20;
	o.client_frames = 16384;
	sim_clients_create(&world.clients, &world.sim, &o, &user);
	world.sim.sc->pauses = true;
	plug();
	for (uint32_t i = 0; i < CLIENTS; i++) {
		world.client[i].number = i;
		sim_client_connect(&world.clients, &world.client[i].base);
		if (i % 32 == 31)
			step(true);
	}
	for (uint32_t i = 0; i < 100000 && world.opened < CLIENTS; i++)
		step(true);
	check_eq(world.opened, CLIENTS);
}

static void
destroy_world(void)
{
	nic.wire->port.ops = nic.wire_ops;
	nic_plug(NULL, &first);
	sim_service_destroy(&world.sim);
}

/* Runs port_watch once, which does not end the program. */
static void
run_on(uint64_t at_ns)
{
	port_watch_run(&watch, at_ns);
	check(!port_watch_has_ended(&watch));
}

/* Runs port_watch as the control thread does, until the cores have the port again. Its clock
 * advances by a second each time, so that the test does not wait between attempts at a reset. */
static void
watch_until_back(uint64_t count)
{
	while (events() < count) {
		run_on(now_ns);
		now_ns += NS_PER_S;
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
}

/* Runs 1,000 clients through an event. */
static void
goes_on_through(void (*event)(void))
{
	pthread_t core, idle;
	bool good = false;

	world.event = event;
	check_eq(pthread_create(&core, NULL, run_core, &good), 0);
	check_eq(pthread_create(&idle, NULL, run_idle_core, NULL), 0);
	watch_until_back(1);
	pthread_join(core, NULL);
	process_stop(&process);
	pthread_join(idle, NULL);
	check(good);
	check_eq(world.lost, 0);
	check_eq(world.wrong, 0);
	check_eq(sim_service_stack_count(&world.sim, TCP_ABORTED), 0);
	check_eq(sim_service_stack_count(&world.sim, TCP_TIMEOUT), 0);
	check(counted(NIC_AWAY_NS) > 0);
	is_set_up_as_at_first();
	print_message("%u connections went on; all answered %.0f ms after a pause of %.0f ms\n",
		      CLIENTS, (double)(world.longest_ns - AWAY_NS) / 1e6, (double)AWAY_NS / 1e6);
}

static void
announce_reset(void)
{
	announce(ANNOUNCE_RESET);
}

static void
announce_recovery(void)
{
	announce(ANNOUNCE_RECOVERING);
	/* A driver need not keep groups and rules (rte_ethdev.h). */
	nic.now.groups = 0;
	nic.now.rules = 0;
	memset(nic.now.rule, 0, sizeof nic.now.rule);
	announce(ANNOUNCE_RECOVERED);
}

TEST(a_reset_amid_1000_connections_costs_time_only)
{
	goes_on_through(announce_reset);
	check_eq(counted(NIC_RESETS), 1);
	check_eq(nic.resets, 1);
	nic.resets = 0;
}

TEST(a_driver_without_a_reset_is_stopped_and_set_up_again)
{
	nic.has_reset = false;
	goes_on_through(announce_reset);
	check_eq(counted(NIC_RESETS), 1);
	check_eq(nic.resets, 0);
}

TEST(a_reset_that_is_refused_is_tried_again)
{
	nic.refusals = 3;
	goes_on_through(announce_reset);
	check_eq(counted(NIC_RESETS), 1);
	check_eq(counted(NIC_RESETS_FAILED), 3);
}

TEST(a_recovery_by_the_driver_costs_time_only)
{
	goes_on_through(announce_recovery);
	check_eq(counted(NIC_RECOVERIES), 1);
	check_eq(counted(NIC_RESETS), 0);
}

/* ---- one thread, no cores that run ---- */

/* Cores that have paused; process_resume finds them gone. */
static void *
pause_as_core(void *arg)
{
	while (!process_is_interrupted(&process))
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	process_wait_paused(&process);
	return NULL;
}

static void
with_cores(void (*test)(void))
{
	pthread_t core[CORES];

	for (uint32_t i = 0; i < CORES; i++)
		check_eq(pthread_create(&core[i], NULL, pause_as_core, NULL), 0);
	test();
	process_stop(&process);
	for (uint32_t i = 0; i < CORES; i++)
		pthread_join(core[i], NULL);
}

static void
reset_with_another_mac(void)
{
	nic.mac_at_reset[5] ^= 0x55;
	announce(ANNOUNCE_RESET);
	watch_until_back(1);
	is_set_up_as_at_first();
}

TEST(a_reset_keeps_the_mac_that_peers_know)
{
	with_cores(reset_with_another_mac);
}

static void
recover_twice(void)
{
	announce(ANNOUNCE_RECOVERING);
	announce(ANNOUNCE_RECOVERED);
	announce(ANNOUNCE_RECOVERING);
	for (uint32_t i = 0; i < 3; i++)
		run_on(now_ns);
	check(port_watch_is_away(&watch));
	check(!device_link_up_mt(&one.device));
	check_eq(counted(NIC_RECOVERIES), 0);
	announce(ANNOUNCE_RESET);
	run_on(now_ns);
	check_eq(counted(NIC_RESETS), 0);
	announce(ANNOUNCE_RECOVERED);
	watch_until_back(1);
	check_eq(counted(NIC_RESETS), 1);
	check(device_link_up_mt(&one.device));
	is_set_up_as_at_first();
}

TEST(a_port_under_recovery_is_not_touched_before_its_last_result)
{
	with_cores(recover_twice);
}

static void
ends_the_program(const char *why)
{
	port_watch_run(&watch, now_ns);
	check(port_watch_has_ended(&watch));
	check_eq(watch.end.code, ERROR_PORT);
	check_str(watch.end.text, why);
	check(one.device.abandoned);
	now_ns += NS_PER_S;
}

TEST(a_removal_ends_the_program)
{
	announce(ANNOUNCE_REMOVED);
	ends_the_program("--port ring: the device was removed");
}

TEST(a_removal_that_the_bus_announces_ends_the_program)
{
	announce(ANNOUNCE_REMOVED_BY_BUS);
	ends_the_program("--port ring: the device was removed");
}

TEST(a_failed_recovery_ends_the_program)
{
	announce(ANNOUNCE_RECOVERING);
	announce(ANNOUNCE_RECOVERY_FAILED);
	ends_the_program("--port ring: its driver could not recover the device");
}

static void
away_for_too_long(void)
{
	announce(ANNOUNCE_RECOVERING);
	run_on(now_ns);
	run_on(now_ns + PORT_AWAY_MAX_NS - 1);
	now_ns += PORT_AWAY_MAX_NS;
	ends_the_program("--port ring: its driver did not recover it");
	device_leave(&one.device, false);
}

TEST(a_port_that_is_away_for_too_long_ends_the_program)
{
	with_cores(away_for_too_long);
}

TEST(counters_that_begin_anew_are_added_up)
{
	struct device_losses losses;

	nic.missed = 10;
	nic.tx_errors = 7;
	device_losses(&one.device, &losses);
	nic.missed = 3;
	nic.tx_errors = 9;
	device_losses(&one.device, &losses);
	check_eq(losses.missed, 13);
	check_eq(losses.tx_errors, 9);
	device_leave(&one.device, true);
	nic.missed = 90;
	device_losses(&one.device, &losses);
	check_eq(losses.missed, 13);
	device_leave(&one.device, false);
}

static void
start(void)
{
	struct error err = {0};

	one_port_start_eal(&one, "ring", "0@0", "test_port_watch");
	if (!profile_load(&one.profile, PROFILE_DIR "/ixgbe.yaml", "ixgbe", &err))
		fail_msg("%s", err.text);
	one.config.cores = one.config.queues = CORES;
	check(config_set(&one.config, "udp-port", "11211", &err));
	one.config.udp_port_per_core = true;
	one.config.vlan = VLAN;
	memcpy(nic.now.mac, sim_mac, sizeof nic.now.mac);
	request = (struct device_request){&one.config, &one.profile, &plan, 4096, NULL};
	if (!device_find(&one.device, &one.profile, &err) ||
	    !steer_plan_make(&plan, &one.config, &one.profile, &one.device.caps, &err) ||
	    !device_start(&one.device, &request, &err))
		fail_msg("%s", err.text);
	first = nic.now;
	create_world();
	check_eq(first.vlan, VLAN);
	check(first.rules >= 2 && first.groups >= 2 && first.reta[1] != first.reta[0]);
}

static void
stop(void)
{
	destroy_world();
	device_stop(&one.device);
	eal_stop();
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		tests_filter(argv[1]);
	return tests_run(start, stop);
}
