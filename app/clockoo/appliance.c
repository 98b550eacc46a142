/*
 * appliance.c - checks, builds and runs the parts of the program, and stops them in reverse.
 */
#include "appliance.h"
#include "admin/admin.h"
#include "base/time_units.h"
#include "capture/capture_service.h"
#include "fleet/kernel_servers.h"
#include "dpdk/lcore_run.h"
#include "monitor/dpdk_rows.h"
#include "net/neigh_table.h"
#include "net/pmtu_reports.h"
#include "process/signals.h"
#include "process/start_pages.h"
#include "serve/serve_policy.h"
#include "start/address_check.h"
#include "start/core_build.h"
#include "start/policy.h"
#include "start/ready_line.h"
#include "image/store_image.h"
#include "tcp/conn_sources.h"
#include "version.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

/* Clients get this version. It begins with memcached's number: libmemcached reads a major version
 * of 0 as none, and other clients require a memcached that has meta commands. */
#define WIRE_VERSION "1.6.45-clockoo-" CLOCKOO_VERSION

/* ---- before DPDK runs ---- */

/* Reads the files that the configuration names, so that a faulty one ends the start. */
static bool
read_settings(struct appliance *a, struct error *err)
{
	struct config *c = &a->settings.config;

	return (nic_prepare(&a->nic, c, err) && fleet_prepare(&a->fleet, c, err) &&
		tls_cores_begin(&a->tls, c, err) && tls_servers_begin(&a->tls_servers, c, err) &&
		(c->http.text[0] == '\0' || http_is_built(err))) ||
	       config_error_permanent(&a->settings.source, err);
}

static bool
compute_sizes(struct appliance *a, struct error *err)
{
	const struct sizes_asked asked = {
		.front = a->fleet != NULL ? &a->fleet->spec->config : NULL,
		.flash_bytes = a->flash.used ? a->flash.file.bytes : 0,
	};
	struct secrets secrets;

	if (getrandom(&secrets, sizeof secrets, 0) != (ssize_t)sizeof secrets)
		return error_set(err, "no random numbers from the kernel");
	sizes_compute(&a->sizes, &a->settings.config, &a->nic.profile, &asked, &secrets);
	return true;
}

static bool
check_machine(const struct appliance *a, struct error *err)
{
	const struct config *c = &a->settings.config;
	const uint64_t files = arena_huge_bytes_needed(c) +
			       tier_start_huge_bytes(c, &a->sizes.flash.plan, true).needed;

	return nic_check_resources(&a->nic, c, a->sizes.block_bytes + files, a->sizes.frames, err);
}

static bool
open_tier(struct appliance *a, struct error *err)
{
	const struct tier_needs needs = {&a->settings.config, &a->process, &a->sizes.flash,
					 &a->arena, &a->save};

	return second_tier_open(&a->flash, &needs, err);
}

/* Opens the items that a previous process left. The store takes the hash seed of those it may get:
 * a saved file's before the tier's. A store in a memory file has its own seed. */
static bool
open_items(struct appliance *a, struct error *err)
{
	const struct config *c = &a->settings.config;
	const struct memory_save_needs save = {c, &a->process, &a->arena};
	const struct arena_file_needs arena = {c, &a->process, &a->sizes.store,
					       (int)a->nic.machine.placement.node};

	if (!second_tier_open_state(&a->flash, err) || !memory_save_begin(&a->save, &save, err))
		return false;
	second_tier_seed(&a->flash, &a->sizes.store.seed);
	memory_save_seed(&a->save, &a->sizes.store.seed);
	return arena_file_open(&a->arena, &arena, err);
}

/* ---- DPDK, memory and cores ---- */

/* Returns the resident memory of the program, its libraries and DPDK. Must be called while frames
 * and rings are the only other memory of the process. */
static uint64_t
program_bytes(const struct appliance *a)
{
	const uint64_t resident = host_resident_bytes();
	const uint64_t ours = a->sizes.pool_bytes +
			      nic_all_ring_bytes(&a->nic, &a->settings.config) +
			      a->arena.file.populated;

	return resident > ours ? resident - ours : 0;
}

/* Makes the first table of addresses. Called after the port has started: only then is its MAC
 * known. */
static bool
begin_addresses(struct appliance *a, struct error *err)
{
	struct addr_list list;
	bool ok;

	if (!addr_list_read(&list, &a->settings.config, err))
		return config_error_permanent(&a->settings.source, err);
	ok = own_addrs_begin(&a->own, &list, nic_port(&a->nic, 0)->mac, &a->sizes.stack.net, err);
	addr_list_free(&list);
	return ok;
}

static bool
start_port(struct appliance *a, struct error *err)
{
	const struct config *c = &a->settings.config;
	struct stack_config early = a->sizes.stack;

	if (!nic_start(&a->nic, c, a->sizes.frames, err) || !begin_addresses(a, err))
		return false;
	own_addrs_join(&a->own, &a->nic.device, nic_other(&a->nic));
	a->process.clock = &a->nic.clock;
	a->process.control_cpu = a->nic.machine.placement.control_cpu;
	a->sizes.program_bytes = program_bytes(a);
	early.net.access = a->access.now.list;
	early.net.addrs = a->own.now.table;
	return address_check(&a->nic, c, a->own.now.table, err) &&
	       early_answers_begin(&a->early, &a->nic, c, &early, err);
}

/* Creates the tables that all cores' stacks share. */
static void
build_net(struct appliance *a, struct region *region)
{
	const struct config *c = &a->settings.config;
	struct stack_config *stack = &a->sizes.stack;

	a->neigh = neigh_table_create(region);
	if (a->settings.config.gateway6_auto)
		router_list_ask(neigh_routers(a->neigh));
	if (c->conns_per_source != 0)
		stack->tcp.sources = conn_sources_create(region, c->conns_max, c->conns_per_source,
							 stack->net.seed);
	kernel_thread_create(&a->kernel, region, c, nic_kernel_ring(&a->nic));
	if (c->cores > 1)
		stack->tcp.pmtu_reports = pmtu_reports_create(region);
	front_cores_create(&a->front_cores, region, c, &a->sizes.front, &stack->tcp, &a->nic);
}

static bool
build_store(struct appliance *a, struct region *region, struct error *err)
{
	const size_t from = region->used;

	a->store = a->arena.used ? arena_file_make_store(&a->arena, region, err)
				 : store_create(region, &a->sizes.store);
	huge_block_hide(&a->block, from, region->used);
	return a->store != NULL && second_tier_create(&a->flash, region, a->store, err);
}

/* Starts the store's clock and with it those of all cores. A kept store's clock continues: its
 * second STORE_CLOCK_START is earlier than the start of this process. */
static void
start_clock(struct appliance *a)
{
	const uint64_t arena_ns = arena_file_ahead_ns(&a->arena);
	const uint64_t ahead_ns = arena_ns != 0 ? arena_ns : tier_start_ahead_ns(&a->flash.from);

	a->process.begun_ns = process_now_ns(&a->process);
	a->process.start_ns = a->process.begun_ns - ahead_ns;
	a->wall = (struct wall_watch){a->process.start_ns,
				      (int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)ahead_ns};
}

/* Builds the parts that all cores' struct serve share. */
static void
build_shared(struct appliance *a, struct region *region)
{
	const struct config *c = &a->settings.config;
	const struct policy_facts facts = {c,         &a->process,       &a->nic,
					   &a->sizes, &a->arena.restart, a->inter};

	a->shared = serve_shared_create(region, a->store, c->cores, WIRE_VERSION);
	serve_shared_set_access(a->shared, a->access.now.list);
	serve_shared_set_addrs(a->shared, a->own.now.table);
	admin_shared_create(region, a->shared);
	admin_telemetry_set(a->shared, &a->telemetry);
	policy_set(a->shared, &a->users, &facts);
	memory_save_take(&a->save, a->store, a->shared);
}

static void
build_cores(struct appliance *a, struct region *region)
{
	const uint32_t count = a->settings.config.cores;
	const struct core_parts parts = {
		.config = &a->settings.config,
		.process = &a->process,
		.sizes = &a->sizes,
		.access = a->access.now.list,
		.addrs = a->own.now.table,
		.nic = &a->nic,
		.neigh = a->neigh,
		.store = a->store,
		.shared = a->shared,
		.tls = a->tls,
		.tls_servers = a->tls_servers,
		.kernel_servers = a->kernel_servers,
		.fleet = a->fleet,
		.flash = &a->flash,
		.kernel = &a->kernel,
		.telemetry = &a->telemetry,
		.unix_ns = a->wall.unix_ns,
	};
	const struct telemetry_set http = {0, HTTP_COUNTER_COUNT, http_counter_names,
					   a->http_counters};
	const struct telemetry_set port = {0, PORT_WATCH_COUNTER_COUNT, port_watch_counter_names,
					   a->port_watch.counters};

	a->cores = region_take(region, count * sizeof *a->cores, CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < count; i++)
		core_build(&parts, i, region, &a->cores[i], &a->workers[i]);
	ensure(telemetry_add(&a->telemetry, &http));
	ensure(telemetry_add_to(&a->telemetry, TELEMETRY_NET, &port));
}

static bool
build(struct appliance *a, struct error *err)
{
	struct region region = {0};

	if (!huge_block_alloc(&a->block, a->sizes.block_bytes, &a->settings.config,
			      (int)a->nic.machine.placement.node, err))
		return false;
	nic_lend(&a->nic, &a->settings.config, &a->block);
	region.base = a->block.base;
	region.size = a->block.bytes;
	build_net(a, &region);
	if (!build_store(a, &region, err))
		return false;
	if (!kernel_servers_begin(&a->kernel_servers,
				  a->fleet != NULL ? &a->fleet->spec->config : NULL,
				  &a->sizes.front, a->settings.config.cores, err))
		return false;
	start_clock(a);
	build_shared(a, &region);
	build_cores(a, &region);
	return true;
}

/* ---- start, run, stop ---- */

/* Undoes a failed start or a finished run, in reverse order. */
static void
close_all(struct appliance *a)
{
	early_answers_end(&a->early);
	kernel_thread_end(&a->kernel);
	kernel_servers_end(a->kernel_servers);
	http_alone_end(&a->http_alone);
	http_stop(a->http);
	http_unlisten(a->http_fd, &a->settings.config.http);
	port_watch_end(&a->port_watch);
	memory_save_give_back(&a->save);
	if (a->process.clock != NULL)
		nic_stop(&a->nic);
	second_tier_close(&a->flash);
	if (a->block.base != NULL)
		huge_block_free(&a->block);
	arena_file_close(&a->arena);
}

static bool
watch_port(struct appliance *a, struct error *err)
{
	const struct port_watch_parts parts = {
		.process = &a->process,
		.device = &a->nic.device,
		.request = {&a->settings.config, &a->nic.profile, &a->nic.plan, a->sizes.frames,
			    NULL},
		.neigh = a->neigh,
		.other = nic_other(&a->nic),
	};

	return port_watch_begin(&a->port_watch, &parts, err);
}

/* Opens telemetry.http, which answers probes from this moment. */
static bool
open_http(struct appliance *a, struct error *err)
{
	const struct config_http *config = &a->settings.config.http;

	if (!http_listen(&a->http_fd, config, err))
		return false;
	return http_start(&a->http, &(struct http_at){config, a->http_fd, a->http_counters}, err) &&
	       http_alone_begin(&a->http_alone, a->http, err);
}

bool
appliance_start(struct appliance *a, struct error *err)
{
	const struct config *c = &a->settings.config;

	err->text[0] = '\0';
	a->flash.file.fd = -1;
	a->http_fd = -1;
	signals_block();
	signals_unblock_output();
	sched_getaffinity(0, sizeof a->process.all_cpus, &a->process.all_cpus);
	if (!read_settings(a, err) || !open_http(a, err) || !open_tier(a, err) ||
	    !compute_sizes(a, err) || !check_machine(a, err) || !open_items(a, err) ||
	    !start_port(a, err) || !build(a, err) ||
	    !kernel_thread_attach(&a->kernel, c, a->nic.device.ports[0].port.mac, err) ||
	    !watch_port(a, err)) {
		close_all(a);
		return false;
	}
	serve_resident_set_mt(a->shared, host_resident_bytes());
	nic_warn(&a->nic, "clockoo");
	a->capture = capture_service_start(&(struct capture_from){c->file_prefix, c->port,
								  &a->nic.device, &a->nic.clock,
								  &a->wall, nic_other(&a->nic)});
	save_service_start(&a->saves, &a->save);
	if (c->verbosity > 0)
		ready_line_memory(&a->sizes, &a->nic);
	return true;
}

static bool
start_control(struct appliance *a, pthread_t *thread, struct error *err)
{
	a->control = (struct control){
		.settings = &a->settings,
		.process = &a->process,
		.nic = &a->nic,
		.neigh = a->neigh,
		.wall = &a->wall,
		.cores = a->cores,
		.store = a->store,
		.shared = a->shared,
		.telemetry = &a->telemetry,
		.users = &a->users,
		.access = &a->access,
		.own = &a->own,
		.tls = a->tls,
		.tls_servers = a->tls_servers,
		.fleet = a->fleet,
		.front_cores = &a->front_cores,
		.front = &a->sizes.front,
		.arena = &a->arena,
		.flash = &a->flash,
		.http = a->http,
		.http_alone = &a->http_alone,
		.capture = a->capture,
		.saves = &a->saves,
		.port = &a->port_watch,
	};
	return control_start(thread, &a->control, err);
}

static bool
start_monitors(struct appliance *a, struct error *err)
{
	const struct config *c = &a->settings.config;
	const struct stat_source rows = {&a->process, &a->telemetry, a->shared,      a->cores,
					 c->cores,    a->fleet,      &a->sizes.front};

	http_alone_end(&a->http_alone);
	return http_serve(a->http, &rows, err) &&
	       (!c->telemetry_dpdk || dpdk_rows_begin(&rows, err));
}

/* Runs the cores until the stop flag. The main thread is the first of them. */
static bool
run_cores(struct appliance *a, struct error *err)
{
	const struct config *c = &a->settings.config;
	void *args[CORES_MAX];

	for (uint32_t i = 0; i < c->cores; i++)
		args[i] = &a->workers[i];
	return lcores_run(&c->lcores, worker_run, args, err);
}

bool
appliance_run(struct appliance *a, struct error *err)
{
	pthread_t control;

	arena_file_ready(&a->arena);
	if (!second_tier_start(&a->flash, err) || !start_monitors(a, err) ||
	    !kernel_thread_start(&a->kernel, &a->process, err) ||
	    !kernel_servers_start(a->kernel_servers, &a->process, err))
		return false;
	early_answers_end(&a->early);
	if (!nic_listen(&a->nic, err) || !start_control(a, &control, err))
		return false;
	memory_save_start(&a->save);
	start_pages_give_back();
	ready_line_print(&a->settings.config, &a->nic);
	background_ready(&a->background, &a->settings.config);
	notify_send(&a->process.notify, "READY=1");
	if (!run_cores(a, err))
		return false;
	pthread_join(control, NULL);
	kernel_thread_end(&a->kernel);
	kernel_servers_end(a->kernel_servers);
	a->kernel_servers = NULL;
	arena_file_end_service(&a->arena);
	save_service_end(&a->saves);
	memory_save_join(&a->save);
	second_tier_stop(&a->flash);
	arena_file_stop(&a->arena, a->store);
	memory_save_stop(&a->save);
	if (port_watch_has_ended(&a->port_watch)) {
		*err = a->port_watch.end;
		return false;
	}
	return !a->front_cores.refused || error_set(err, "%s", a->front_cores.refusal);
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
	if (a->settings.config.verbosity > 0)
		telemetry_each(&a->telemetry, print_counter, NULL);
	dpdk_rows_end();
	capture_service_destroy(a->capture);
	tls_servers_end(a->tls_servers);
	close_all(a);
	access_end(&a->access);
	own_addrs_end(&a->own);
	tls_cores_end(a->tls);
}
