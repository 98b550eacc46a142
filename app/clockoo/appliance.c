/*
 * appliance.c - builds every part of the program in order, runs the cores, and undoes it in
 * reverse.
 */
#include "appliance.h"
#include "process/signals.h"
#include "start/address_check.h"
#include "admin/admin.h"
#include "base/time_units.h"
#include "capture/capture_service.h"
#include "control/control.h"
#include "dpdk/eal.h"
#include "monitor/dpdk_rows.h"
#include "dpdk/lcore_run.h"
#include "fleet/fleet.h"
#include "fleet/front_cores.h"
#include "monitor/http_server.h"
#include "tls/tls_conns.h"
#include "access/tls_cores.h"
#include "start/policy.h"
#include "serve/serve_policy.h"
#include "start/sizes.h"
#include "net/neigh_table.h"
#include "tcp/conn_sources.h"
#include "net/pmtu_reports.h"
#include "image/store_image.h"
#include "version.h"
#include "start/worker.h"
#include "process/start_pages.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

/* The version that clients get begins with memcached's number. libmemcached takes a major version
 * of 0 for none, and other clients require one that has meta commands. */
#define WIRE_VERSION "1.6.45-clockoo-" CLOCKOO_VERSION

/* Reads the fleet of a front, and waits for the first lookups of its servers' names. */
static bool
front_prepare(struct appliance *a, struct error *err)
{
	if (!fleet_begin(&a->fleet, &a->config, err))
		return false;
	if (a->fleet == NULL)
		return true;
	if (a->fleet->shared.cells != NULL && !a->fleet->look->config.shared)
		fprintf(stderr,
			"clockoo: front.items: copies are right if all writes come through this "
			"front; none is kept for the first %u s of a server that does not list its "
			"connections, or lists one of an earlier process\n",
			FRONT_QUIET_S);
	if (!fleet_start(a->fleet, err))
		return false;
	fleet_wait(a->fleet, FLEET_FIRST_S);
	return true;
}

/* Makes all checks that need no DPDK. */
static bool
prepare(struct appliance *a, struct error *err)
{
	struct sizes_asked asked;
	struct secrets secrets;
	uint64_t huge_files;

	if (!nic_prepare(&a->nic, &a->config, err))
		return config_error_permanent(&a->source, err);
	if (getrandom(&secrets, sizeof secrets, 0) != (ssize_t)sizeof secrets)
		return error_set(err, "no random numbers from the kernel");
	if (!front_prepare(a, err))
		return config_error_permanent(&a->source, err);
	if (!tls_cores_begin(&a->tls, &a->config, err))
		return config_error_permanent(&a->source, err);
	if (a->config.http.text[0] != '\0' && !http_is_built(err))
		return config_error_permanent(&a->source, err);
	if (!http_listen(&a->http_fd, &a->config.http, err))
		return false;
	if (!second_tier_open(&a->flash, &a->config, err))
		return false;
	asked.front = a->fleet != NULL ? &a->fleet->look->config : NULL;
	asked.flash_bytes = a->flash.used ? a->flash.file.bytes : 0;
	sizes_compute(&a->sizes, &a->config, &a->nic.profile, &asked, &secrets);
	huge_files = kept_huge_bytes_needed(&a->config) +
		     tier_start_huge_bytes(&a->config, &a->sizes.flash.plan, true).needed;
	return nic_check_resources(&a->nic, &a->config, a->sizes.block_bytes + huge_files,
				   a->sizes.frames, err) &&
	       second_tier_open_state(&a->flash, a, err) && saved_begin(&a->saved, a, err) &&
	       kept_open(&a->kept, a, err);
}

/* Returns the resident memory of the program, its libraries and DPDK. Measured while frames and
 * rings are the only other memory of the process. */
static uint64_t
program_bytes(const struct appliance *a)
{
	const uint64_t resident = host_resident_bytes();
	const uint64_t ours = a->sizes.pool_bytes + nic_all_ring_bytes(&a->nic, &a->config) +
			      a->kept.file.populated;

	return resident > ours ? resident - ours : 0;
}

/* Without TLS its rows are still shown, as 0. */
static const struct counter_name no_tls_names[TLS_COUNTER_COUNT] = {TLS_COUNTERS(COUNTER_NAME)};
static const struct counter no_tls[TLS_COUNTER_COUNT];

const struct counter_name http_counter_names[HTTP_COUNTER_COUNT] = {HTTP_COUNTERS(COUNTER_NAME)};

static void
register_counters(struct appliance *a, uint32_t core)
{
	const struct core *c = &a->cores[core];
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
		  a->nic.device.ports[core].counters}},
	};

	for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++)
		ensure(telemetry_add_to(&a->telemetry, all[i].kind, &all[i].set));
	if (a->tls == NULL && core == 0)
		ensure(telemetry_add_to(
			&a->telemetry, TELEMETRY_STACK,
			&(struct telemetry_set){core, TLS_COUNTER_COUNT, no_tls_names, no_tls}));
	if (core == 0)
		ensure(telemetry_add(&a->telemetry, &(struct telemetry_set){
							    core, HTTP_COUNTER_COUNT,
							    http_counter_names, a->http_counters}));
	if (a->nic.handover != NULL)
		ensure(telemetry_add_to(
			&a->telemetry, TELEMETRY_NET,
			&(struct telemetry_set){core, HANDOVER_COUNTER_COUNT,
						handover_counter_names,
						handover_counters(a->nic.handover, core)}));
}

/* Registers a core's counters of the tier: its own, and those of the shards that it maintains. */
static void
register_flash(struct appliance *a, uint32_t core)
{
	const struct flash_tier *t = a->flash.tier;
	const struct telemetry_set sets[] = {
		{core, FLASH_OFFER_COUNTERS_COUNT, flash_offer_counter_names,
		 t->core[core].counters},
		{core, FLASH_ASK_COUNTERS_COUNT, flash_ask_counter_names, t->core[core].asks},
	};

	for (uint32_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
		ensure(telemetry_add(&a->telemetry, &sets[i]));
	if (core == 0 && t->c.convert != NULL)
		ensure(telemetry_add(&a->telemetry,
				     &(struct telemetry_set){core, FLASH_CONVERT_COUNTERS_COUNT,
							     flash_convert_counter_names,
							     t->c.convert->counters}));
	for (uint32_t i = core; i < t->c.shard_count; i += t->c.cores)
		ensure(telemetry_add(&a->telemetry,
				     &(struct telemetry_set){core, FLASH_COUNTERS_COUNT,
							     flash_counter_names,
							     t->c.shards[i].counters}));
}

/* The moment at which all cores started, so that a second begins for all of them at once. */
struct start {
	uint64_t ns;
	int64_t unix_ns;
};

/* Returns the clock that times the stages of a turn; arg is the clock of worker.c's turns. */
static uint64_t
turn_clock_ns(const void *arg)
{
	return tsc_clock_ns(arg);
}

static void
build_front(struct appliance *a, uint32_t core, struct region *region, struct serve *serve,
	    struct stack *stack)
{
	struct front_settings settings = a->sizes.front;
	struct front *front;

	settings.fleet = a->fleet->exchange;
	settings.shared = a->fleet->shared;
	settings.stats = &a->fleet->stats;
	settings.core = core;
	if (settings.copy_ns != 0) {
		settings.clock_ns = turn_clock_ns;
		settings.clock_arg = &a->nic.clock;
	}
	front = front_create(region, &settings, serve, stack, store_core_of(a->store, core));
	ensure(telemetry_add(&a->telemetry,
			     &(struct telemetry_set){core, FRONT_COUNTER_COUNT, front_counter_names,
						     front_counters(front)}));
}

static void
build_core(struct appliance *a, uint32_t i, struct region *region, const struct start *start)
{
	struct serve_config serve_cfg = a->sizes.serve;
	struct stack_config stack_cfg = a->sizes.stack;
	struct port *port = nic_port(&a->nic, i);
	struct serve *serve;
	struct stack *stack;

	stack_cfg.net.access = a->access.now.list;
	stack_cfg.tcp.core = i;
	stack_cfg.tcp.cores = a->config.cores;
	stack = stack_create(region, &stack_cfg, port, a->neigh);
	serve_cfg.core = i;
	serve = serve_create(region, &serve_cfg, a->shared, stack);
	admin_create(region, serve);
	if (a->tls != NULL)
		tls_cores_build(a->tls, a, i, region, serve, stack);
	if (a->fleet != NULL)
		build_front(a, i, region, serve, stack);
	second_tier_attach(&a->flash, region, a, i, serve);
	core_init(&a->cores[i], port, stack, serve, store_core_of(a->store, i), start->ns,
		  start->unix_ns);
	core_cycles_set(&a->cores[i], tsc_cycles);
	a->cores[i].last_ns = a->process.begun_ns;
	a->workers[i] = (struct worker){
		.number = i,
		.core = &a->cores[i],
		.port = &a->nic.device.ports[i],
		.process = &a->process,
		.yield = a->config.yield,
		/* No queue wakes a core whose frames arrive at another core. */
		.adaptive = (a->config.poll == POLL_ADAPTIVE && a->nic.handover == NULL) ||
			    config_is_user(&a->config),
		.forwards_frames = a->nic.handover != NULL && i < a->nic.plan.queues,
	};
	register_counters(a, i);
	if (a->flash.used)
		register_flash(a, i);
}

/* Returns the start of the store's clock. The clock of a kept store continues, so its second
 * STORE_CLOCK_START lies before this process. */
static struct start
start_of(struct appliance *a)
{
	const uint64_t kept_ns = kept_ahead_ns(&a->kept);
	const uint64_t ahead_ns = kept_ns != 0 ? kept_ns : tier_start_ahead_ns(&a->flash.from);

	a->process.begun_ns = process_now_ns(&a->process);
	a->wall = (struct wall_watch){a->process.begun_ns - ahead_ns,
				      (int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)ahead_ns};
	a->process.start_ns = a->wall.start_ns;
	return (struct start){a->process.start_ns, a->wall.unix_ns};
}

static bool
build(struct appliance *a, struct error *err)
{
	struct start start;
	struct region region = {0};
	size_t store_at;

	if (!huge_block_alloc(&a->block, a->sizes.block_bytes, &a->config,
			      (int)a->nic.machine.placement.node, err))
		return false;
	region.base = a->block.base;
	region.size = a->block.bytes;
	a->neigh = neigh_table_create(&region);
	if (a->config.conns_per_source != 0)
		a->sizes.stack.tcp.sources =
			conn_sources_create(&region, a->config.conns_max,
					    a->config.conns_per_source, a->sizes.stack.net.seed);
	if (a->config.cores > 1)
		a->sizes.stack.tcp.pmtu_reports = pmtu_reports_create(&region);
	front_cores_create(a, &region);
	store_at = region.used;
	a->store = a->kept.used ? kept_make_store(&a->kept, &region, a, err)
				: store_create(&region, &a->sizes.store);
	huge_block_hide(&a->block, store_at, region.used);
	if (a->store == NULL || !second_tier_create(&a->flash, &region, a, err)) {
		second_tier_close(&a->flash);
		huge_block_free(&a->block);
		return false;
	}
	start = start_of(a);
	a->shared = serve_shared_create(&region, a->store, a->config.cores, WIRE_VERSION);
	serve_shared_set_access(a->shared, a->access.now.list);
	admin_shared_create(&region, a->shared);
	admin_telemetry_set(a->shared, &a->telemetry);
	policy_set(a);
	saved_take(&a->saved, a);
	a->cores = region_take(&region, a->config.cores * sizeof *a->cores, CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < a->config.cores; i++)
		build_core(a, i, &region, &start);
	return true;
}

static void
print_memory(const struct appliance *a)
{
	const struct sizes *z = &a->sizes;

	fprintf(stderr, "clockoo: %s; rings of %u and %u\n", a->nic.plan.words,
		a->nic.device.rx_ring, a->nic.device.tx_ring);
	fprintf(stderr,
		"clockoo: memory: store %zu MB, stack %zu KB and serve %zu KB per core, frames "
		"%llu "
		"MB\n",
		(z->store_bytes + z->file_bytes) >> 20, z->stack_bytes >> 10, z->serve_bytes >> 10,
		(unsigned long long)(z->pool_bytes >> 20));
}

/* Undoes what a start that fails early has opened. */
static void
stop_early(struct appliance *a)
{
	http_unlisten(a->http_fd, &a->config.http);
	nic_stop(&a->nic);
	kept_close(&a->kept);
}

bool
appliance_start(struct appliance *a, struct error *err)
{
	err->text[0] = '\0';
	a->flash.file.fd = -1;
	a->http_fd = -1;
	signals_block();
	signals_unblock_output();
	sched_getaffinity(0, sizeof a->process.all_cpus, &a->process.all_cpus);
	if (!prepare(a, err)) {
		http_unlisten(a->http_fd, &a->config.http);
		second_tier_close(&a->flash);
		return false;
	}
	if (!nic_start(&a->nic, &a->config, a->sizes.frames, err)) {
		http_unlisten(a->http_fd, &a->config.http);
		second_tier_close(&a->flash);
		kept_close(&a->kept);
		return false;
	}
	a->process.clock = &a->nic.clock;
	a->process.control_cpu = a->nic.machine.placement.control_cpu;
	a->sizes.program_bytes = program_bytes(a);
	if (!address_check(&a->nic, &a->config, &a->sizes.stack.net, err)) {
		second_tier_close(&a->flash);
		stop_early(a);
		return false;
	}
	if (!build(a, err)) {
		stop_early(a);
		return false;
	}
	serve_resident_set_mt(a->shared, host_resident_bytes());
	nic_warn(&a->nic, "clockoo");
	a->capture = capture_service_start(a);
	if (a->config.verbosity > 0)
		print_memory(a);
	return true;
}

/* " tcp 10.99.0.1:11211", " tcp [2001:db8::1]:11211" */
static void
print_address(const char *protocol, const struct ip_addr *ip, uint32_t port)
{
	const bool v4 = ip_addr_is_v4(ip);
	char text[IP_ADDR_TEXT_MAX + 1];

	if (port == 0)
		return;
	*ip_addr_text(text, ip) = '\0';
	printf(" %s %s%s%s:%u", protocol, v4 ? "" : "[", text, v4 ? "" : "]", port);
}

static void
print_ports(const struct config *c, const struct ip_addr *ip)
{
	print_address("tcp", ip, c->tcp_port);
	for (uint32_t i = 0; i < c->listeners.more_count; i++)
		print_address("tcp", ip, c->listeners.more_ports[i]);
	print_address("udp", ip, c->udp_port);
	print_address("tcp", ip, c->tls.plain_port);
}

static void
print_addresses(const struct config *c)
{
	const struct ip_addr ip4 = ip_addr_v4(c->ipv4);

	print_ports(c, &ip4);
	if (!ip_addr_is_zero(&c->ipv6))
		print_ports(c, &c->ipv6);
}

/* Prints the addresses of the host at which port user listens. */
static void
print_listeners(const struct config *c)
{
	for (uint32_t i = 0; i < c->listeners.count; i++) {
		const struct config_listener *l = &c->listeners.at[i];
		const uint32_t ours = l->plain ? c->tls.plain_port : c->tcp_port;
		const struct ip_addr ip = l->any && !l->ipv6 ? ip_addr_v4(0) : l->ip;

		print_address("tcp", &ip, l->port != 0 ? l->port : ours);
		if (!l->plain && c->udp_port != 0)
			print_address("udp", &ip, l->port != 0 ? l->port : c->udp_port);
	}
}

static void
print_ready(const struct appliance *a)
{
	const struct config *c = &a->config;
	/* --iface has a meaning only for a port of the kernel. */
	const char *const iface = profile_has_iface(&a->nic.profile) ? c->iface : "";

	printf("clockoo %s ready:", CLOCKOO_VERSION);
	if (config_is_user(c))
		print_listeners(c);
	else
		print_addresses(c);
	printf(", %u core%s, %u MB, %s%s%s\n", c->cores, c->cores == 1 ? "" : "s", c->memory_mb,
	       c->port,
	       c->pci[0] != '\0'  ? " at "
	       : iface[0] != '\0' ? " on "
				  : "",
	       c->pci[0] != '\0' ? c->pci : iface);
	fflush(stdout);
}

bool
appliance_run(struct appliance *a, struct error *err)
{
	void *args[CORES_MAX];
	pthread_t control;

	for (uint32_t i = 0; i < a->config.cores; i++)
		args[i] = &a->workers[i];
	kept_ready(&a->kept, a);
	if (!second_tier_start(&a->flash, a, err) || !http_start(&a->http, a, a->http_fd, err) ||
	    !dpdk_rows_begin(a, err) || !control_start(&control, a, err))
		return false;
	saved_start(&a->saved, a);
	start_pages_give_back();
	print_ready(a);
	background_ready(&a->background, &a->config);
	notify_send(&a->process.notify, "READY=1");
	if (!lcores_run(&a->config.lcores, worker_run, args, err))
		return false;
	pthread_join(control, NULL);
	kept_end_service(&a->kept);
	saved_join(&a->saved, a);
	second_tier_stop(&a->flash, a);
	kept_stop(&a->kept, a->store);
	saved_stop(&a->saved, a);
	return !a->front_refused || error_set(err, "%s", a->front_refusal);
}

static bool
print_counter(void *arg, const struct counter_name *name, uint64_t value)
{
	(void)arg;
	fprintf(stderr, "clockoo: %s %llu (%s)\n", name->symbol, (unsigned long long)value,
		name->words);
	return true;
}

void
appliance_stop(struct appliance *a)
{
	if (a->config.verbosity > 0)
		telemetry_each(&a->telemetry, print_counter, NULL);
	dpdk_rows_end();
	capture_service_destroy(a->capture);
	http_stop(a->http);
	http_unlisten(a->http_fd, &a->config.http);
	saved_give_back(&a->saved);
	nic_stop(&a->nic);
	second_tier_close(&a->flash);
	huge_block_free(&a->block);
	kept_close(&a->kept);
	access_end(&a->access);
	tls_cores_end(a->tls);
}
