/*
 * core_build.c - builds the parts of a core, and registers its counters.
 */
#include "core_build.h"
#include "admin/admin.h"
#include "fleet/kernel_servers.h"
#include "tls/tls_conns.h"

/* Counters of a program without TLS: its rows are shown, too, as 0. */
static const struct counter_name no_tls_names[TLS_COUNTER_COUNT] = {TLS_COUNTERS(COUNTER_NAME)};
static const struct counter no_tls[TLS_COUNTER_COUNT];

static void
register_counters(const struct core_parts *p, uint32_t core, const struct core *c)
{
	const struct counter *stack = stack_counters(c->stack);
	const struct {
		enum telemetry_kind kind;
		struct telemetry_set set;
	} all[] = {
		{TELEMETRY_NET, {core, NET_COUNTER_COUNT, stack_counter_names, stack}},
		{TELEMETRY_STACK,
		 {core, STACK_COUNTER_COUNT - NET_COUNTER_COUNT,
		  stack_counter_names + NET_COUNTER_COUNT, stack + NET_COUNTER_COUNT}},
		{TELEMETRY_COUNTERS,
		 {core, SERVE_COUNTER_COUNT, serve_counter_names, serve_counters(c->serve)}},
		{TELEMETRY_COUNTERS,
		 {core, STORE_COUNTER_COUNT, store_counter_names, store_counters(c->store)}},
		{TELEMETRY_CORES, {core, CORE_COUNTER_COUNT, core_counter_names, c->counters}},
		{TELEMETRY_CORES,
		 {core, TURN_COUNTER_COUNT, turn_counter_names, c->times.counters}},
		{TELEMETRY_NET,
		 {core, PORT_COUNTER_COUNT, port_counter_names,
		  p->nic->device.ports[core].counters}},
	};

	for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++)
		ensure(telemetry_add_to(p->telemetry, all[i].kind, &all[i].set));
	if (p->tls == NULL && core == 0)
		ensure(telemetry_add_to(
			p->telemetry, TELEMETRY_STACK,
			&(struct telemetry_set){core, TLS_COUNTER_COUNT, no_tls_names, no_tls}));
	if (p->kernel->in != NULL && core == 0)
		ensure(telemetry_add_to(p->telemetry, TELEMETRY_NET,
					&(struct telemetry_set){core, KERNEL_THREAD_COUNTER_COUNT,
								kernel_thread_counter_names,
								p->kernel->counters}));
	if (p->nic->bond != NULL) {
		const struct telemetry_set member = {core, PORT_COUNTER_COUNT, port_counter_names,
						     p->nic->other.ports[core].counters};
		const struct telemetry_set bond = {core, BOND_COUNTER_COUNT, bond_counter_names,
						   bond_counters(p->nic->bond, core)};

		ensure(telemetry_add_to(p->telemetry, TELEMETRY_NET, &member));
		ensure(telemetry_add_to(p->telemetry, TELEMETRY_NET, &bond));
	}
	if (p->nic->handover != NULL)
		ensure(telemetry_add_to(
			p->telemetry, TELEMETRY_NET,
			&(struct telemetry_set){core, HANDOVER_COUNTER_COUNT,
						handover_counter_names,
						handover_counters(p->nic->handover, core)}));
}

/* Registers a core's counters of the second tier: its own, and those of the shards that it
 * maintains. */
static void
register_flash(const struct core_parts *p, uint32_t core)
{
	const struct flash_tier *t = p->flash->tier;
	const struct telemetry_set sets[] = {
		{core, FLASH_OFFER_COUNTERS_COUNT, flash_offer_counter_names,
		 t->core[core].counters},
		{core, FLASH_ASK_COUNTERS_COUNT, flash_ask_counter_names, t->core[core].asks},
	};

	for (uint32_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
		ensure(telemetry_add(p->telemetry, &sets[i]));
	if (core == 0 && t->c.convert != NULL)
		ensure(telemetry_add(p->telemetry,
				     &(struct telemetry_set){core, FLASH_CONVERT_COUNTERS_COUNT,
							     flash_convert_counter_names,
							     t->c.convert->counters}));
	for (uint32_t i = core; i < t->c.shard_count; i += t->c.cores)
		ensure(telemetry_add(p->telemetry,
				     &(struct telemetry_set){core, FLASH_COUNTERS_COUNT,
							     flash_counter_names,
							     t->c.shards[i].counters}));
}

/* Returns the time for the stages of a turn. arg is the clock that worker.c uses, too. */
static uint64_t
turn_clock_ns(const void *arg)
{
	return tsc_clock_ns(arg);
}

static void
build_front(const struct core_parts *p, uint32_t core, struct region *region, struct serve *serve,
	    struct stack *stack)
{
	struct front_settings settings = p->sizes->front;
	struct front *front;

	settings.fleet = p->fleet->exchange;
	settings.shared = p->fleet->shared;
	settings.stats = &p->fleet->stats;
	settings.core = core;
	if (settings.copy_ns != 0) {
		settings.clock_ns = turn_clock_ns;
		settings.clock_arg = p->process->clock;
	}
	front = front_create(region, &settings, serve, stack, store_core_of(p->store, core));
	if (p->tls_servers != NULL)
		tls_servers_build(p->tls_servers, region,
				  &(struct tls_place){core, &p->sizes->stack, stack, serve},
				  &settings, p->telemetry);
	if (p->kernel_servers != NULL)
		kernel_servers_build(p->kernel_servers, region, core, serve, stack, p->telemetry);
	ensure(telemetry_add(p->telemetry,
			     &(struct telemetry_set){core, FRONT_COUNTER_COUNT, front_counter_names,
						     front_counters(front)}));
}

void
core_build(const struct core_parts *p, uint32_t i, struct region *region, struct core *core,
	   struct worker *worker)
{
	const struct config *cfg = p->config;
	struct serve_config serve_cfg = p->sizes->serve;
	struct stack_config stack_cfg = p->sizes->stack;
	struct port *port = nic_port(p->nic, i);
	struct serve *serve;
	struct stack *stack;

	stack_cfg.net.access = p->access;
	stack_cfg.net.addrs = p->addrs;
	stack_cfg.net.kernel = p->kernel->lane[i]; /* NULL without a tap */
	stack_cfg.tcp.core = i;
	stack_cfg.tcp.cores = cfg->cores;
	stack = stack_create(region, &stack_cfg, port, p->neigh);
	serve_cfg.core = i;
	serve = serve_create(region, &serve_cfg, p->shared, stack);
	admin_create(region, serve);
	if (p->tls != NULL)
		tls_cores_build(p->tls, region,
				&(struct tls_place){i, &p->sizes->stack, stack, serve},
				p->telemetry);
	if (p->fleet != NULL)
		build_front(p, i, region, serve, stack);
	second_tier_attach(p->flash, region, i, serve);
	core_init(core, port, stack, serve, store_core_of(p->store, i), p->process->start_ns,
		  p->unix_ns);
	core_cycles_set(core, tsc_cycles);
	core->last_ns = p->process->begun_ns;
	*worker = (struct worker){
		.number = i,
		.core = core,
		.port = &p->nic->device.ports[i],
		.process = p->process,
		.yield = cfg->yield,
		/* A core may not sleep if its frames come from another core or from two queues: no
		 * queue would wake it. */
		.adaptive = (cfg->poll == POLL_ADAPTIVE && p->nic->handover == NULL &&
			     p->nic->bond == NULL) ||
			    config_is_user(cfg),
		.forwards_frames = p->nic->handover != NULL && i < p->nic->plan.queues,
	};
	register_counters(p, i, core);
	if (p->flash->used)
		register_flash(p, i);
}
