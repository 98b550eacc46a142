/*
 * nic.c - from a configuration to a started port: profile, host, placement, plan, EAL, device,
 * hand-over.
 */
#include "nic.h"
#include "dpdk/eal.h"
#include "topology/advice.h"
#include "nic_claim.h"
#include "nic_profile.h"
#include "paths.h"

#include <string.h>
#include <unistd.h>

#define SOCKET_PATH_BYTES 108u /* sun_path of unix(7) */
static_assert(SOCKET_PATH_BYTES <= sizeof(((struct config *)0)->socket), "a name fits");

static bool
choose_cores(struct nic *nic, struct config *cfg, struct error *err)
{
	bool good;

	if (!machine_read(&nic->machine, cfg, "/", err))
		return false;
	machine_add_isolated(&nic->machine, &nic->host.cpus);
	good = machine_place(&nic->machine, cfg, &nic->host.cpus, err);
	machine_close(&nic->machine);
	return good;
}

/* Writes the port in EAL's form, with an absolute path of its socket: memif's driver takes no
 * other, and with -d the program has left its directory when vhost's driver removes the socket.
 * cfg keeps the path as written, for a reload to compare. */
static bool
eal_device_args(const struct nic *nic, const struct config *cfg, char device[DEVICE_BYTES],
		struct error *err)
{
	struct config anchored = *cfg;
	char path[SOCKET_PATH_BYTES];

	if (cfg->socket[0] != '\0') {
		if (!paths_make_absolute(path, sizeof path, cfg->socket))
			return error_set(
				err, "--socket: %s: with its directory more than %zu characters",
				cfg->socket, sizeof path - 1);
		strcpy(anchored.socket, path);
	}
	return profile_device(&nic->profile, &anchored, nic->plan.queues, device, err);
}

bool
nic_prepare(struct nic *nic, struct config *cfg, struct error *err)
{
	struct port_caps expected;
	char device[DEVICE_BYTES];

	if (!nic_profile(&nic->profile, cfg, err))
		return false;
	host_probe(&nic->host, cfg);
	steer_caps_max(&nic->profile, &expected);
	return choose_cores(nic, cfg, err) &&
	       steer_plan_make(&nic->plan, cfg, &nic->profile, &expected, err) &&
	       eal_device_args(nic, cfg, device, err);
}

uint64_t
nic_pool_bytes(const struct nic *nic, const struct config *cfg, uint32_t frames)
{
	return device_pool_bytes(&nic->profile, cfg, frames);
}

uint64_t
nic_ring_bytes(const struct steer_plan *plan, const struct config *cfg)
{
	return plan->handover ? handover_bytes(cfg->cores, plan->queues) : 0;
}

uint64_t
nic_kernel_ring_bytes(const struct profile *profile, const struct config *cfg, uint32_t queues)
{
	char device[DEVICE_BYTES];
	struct error err;

	return profile_device(profile, cfg, queues, device, &err)
		       ? profile_kernel_ring_bytes(device)
		       : 0;
}

uint64_t
nic_all_ring_bytes(const struct nic *nic, const struct config *cfg)
{
	return nic_ring_bytes(&nic->plan, cfg) +
	       nic_kernel_ring_bytes(&nic->profile, cfg, nic->plan.queues);
}

bool
nic_check_resources(const struct nic *nic, const struct config *cfg, uint64_t block_bytes,
		    uint32_t frames, struct error *err)
{
	const uint64_t bytes = block_bytes + nic_ring_bytes(&nic->plan, cfg) +
			       nic_pool_bytes(nic, cfg, frames) + ((uint64_t)EAL_MB << 20);
	const uint32_t node = nic->machine.placement.node;
	const struct advice_reservation all =
		advice_reservation(&nic->machine.topology, cfg, node, bytes);
	struct host host = nic->host;

	host.nic_tool = paths_nic_tool();
	host.reserve_node = node;
	host.reserve_size = all.size;
	host.reserve_pages_all = all.pages;
	return host_check(&host, cfg, &nic->profile, bytes, err);
}

/* Makes the rings between queues and cores, where the plan needs them. */
static bool
create_handover(struct nic *nic, const struct config *cfg, struct error *err)
{
	struct handover_config how = {
		.cores = cfg->cores,
		.queues = nic->plan.queues,
		.udp_first = cfg->udp_port_per_core ? (uint16_t)cfg->udp_port : 0,
	};
	struct region region = {0};

	if (!nic->plan.handover)
		return true;
	if (!huge_block_alloc(&nic->rings, nic_ring_bytes(&nic->plan, cfg), cfg,
			      (int)nic->machine.placement.node, err))
		return false;
	for (uint32_t i = 0; i < how.cores; i++)
		how.lower[i] = &nic->device.ports[i].port;
	region.base = nic->rings.base;
	region.size = nic->rings.bytes;
	nic->handover = handover_create(&region, &how);
	return true;
}

struct port *
nic_port(struct nic *nic, uint32_t core)
{
	return nic->handover != NULL ? handover_port(nic->handover, core)
				     : &nic->device.ports[core].port;
}

static bool
bring_up(struct nic *nic, const struct config *cfg, uint32_t frames, struct error *err)
{
	const struct device_request req = {cfg, &nic->profile, &nic->plan, frames};

	if (nic->user != NULL && !cable_open(&nic->cable, cfg->cores, err))
		return false;
	return device_find(&nic->device, &nic->profile, err) &&
	       nic_profile_of_driver(&nic->profile, cfg, nic->device.driver, err) &&
	       steer_plan_make(&nic->plan, cfg, &nic->profile, &nic->device.caps, err) &&
	       device_start(&nic->device, &req, err) && create_handover(nic, cfg, err);
}

/* Starts the thread of port user, and the cable between it and the cores. */
static bool
start_user(struct nic *nic, struct error *err)
{
	if (nic->user == NULL)
		return true;
	cable_plug(&nic->cable, nic->device.ports);
	return user_net_start(nic->user, &nic->cable, err);
}

/* Closes the sockets of the host, first of all: the next process may need them. */
static void
end_user(struct nic *nic)
{
	if (nic->user == NULL)
		return;
	user_net_close(nic->user);
	nic->user = NULL;
}

void
nic_warn(const struct nic *nic, const char *program)
{
	const struct rule_report *rules = &nic->device.rules;

	if (nic->removed_stale_socket)
		fprintf(stderr,
			"%s: --socket: removed the stale socket of a program that crashed\n",
			program);
	if (nic->plan.fallback)
		fprintf(stderr, "%s: steering: %s\n", program, nic->plan.words);
	if (rules->refused != 0)
		fprintf(stderr, "%s: steering: %s (%u of %u rules refused)\n", program,
			rules->first, rules->refused, rules->refused + rules->made);
}

bool
nic_start(struct nic *nic, const struct config *cfg, uint32_t frames, struct error *err)
{
	const uint32_t pool_mb = (uint32_t)(nic_pool_bytes(nic, cfg, frames) >> 20) + EAL_MB;
	char device[DEVICE_BYTES];
	struct eal_args args;

	err->text[0] = '\0';
	if (!nic_claim(cfg, &nic->profile, &nic->claim, err))
		return false;
	if (!name_claim_prefix(cfg->file_prefix, &nic->prefix, err) ||
	    !eal_device_args(nic, cfg, device, err))
		return false;
	nic->removed_stale_socket = host_has_stale_socket(&nic->host, &nic->profile);
	if (nic->removed_stale_socket && !host_remove_stale_socket(cfg, err))
		return false;
	if (config_is_user(cfg) && !user_net_open(&nic->user, cfg, err))
		return false;
	tsc_clock_begin(&nic->clock);
	eal_args_make(&args, cfg, &nic->profile, device, pool_mb);
	if (!eal_start(&args, cfg->verbosity >= 2, err)) {
		end_user(nic);
		return false;
	}
	if (!bring_up(nic, cfg, frames, err) || !start_user(nic, err)) {
		end_user(nic);
		eal_stop();
		return false;
	}
	tsc_clock_finish(&nic->clock);
	return true;
}

bool
nic_listen(struct nic *nic, struct error *err)
{
	return nic->user == NULL || user_net_listen(nic->user, err);
}

void
nic_stop(struct nic *nic)
{
	const bool has_cable = nic->user != NULL;

	end_user(nic);
	device_stop(&nic->device);
	if (has_cable)
		cable_close(&nic->cable);
	if (nic->claim != NAME_CLAIM_NONE)
		close(nic->claim);
	if (nic->handover != NULL)
		huge_block_free(&nic->rings);
	if (!nic->device.abandoned) /* EAL would call the driver, too */
		eal_stop();
	close(nic->prefix);
}
