/*
 * nic.c - starts the port of a configuration: profile, host, placement, plan, EAL, device,
 * hand-over.
 */
#include "nic.h"
#include "dpdk/eal.h"
#include "topology/advice.h"
#include "nic_claim.h"
#include "nic_profile.h"
#include "paths.h"

#include <ctype.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MEMBER_POLL_MS    50u
#define SOCKET_PATH_BYTES 108u /* sizeof sun_path, by unix(7) */
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

/* Writes the port as an argument of EAL. The path of its socket becomes absolute: memif's driver
 * needs that, and vhost's driver removes the socket when the program may have left its directory
 * (-d). cfg keeps the path as written, which a reload compares. */
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

struct config
nic_other_config(const struct config *cfg)
{
	struct config other = *cfg;

	strcpy(other.pci[0] != '\0' ? other.pci : other.iface, cfg->bond_member);
	other.bond = CONFIG_BOND_NONE;
	return other;
}

/* Writes the bond's second NIC as an argument of EAL. The name of a virtual device ends with its
 * number. */
static bool
other_device_args(const struct nic *nic, const struct config *cfg, char device[DEVICE_BYTES],
		  struct error *err)
{
	const struct config other = nic_other_config(cfg);

	if (!eal_device_args(nic, &other, device, err))
		return false;
	if (!profile_is_pci(&nic->profile))
		device[strcspn(device, ",") - 1]++;
	return true;
}

const char *
nic_member_name(const struct config *cfg, uint32_t member)
{
	return member != 0 ? cfg->bond_member : cfg->pci[0] != '\0' ? cfg->pci : cfg->iface;
}

bool
nic_members_spread_alike(const struct steer_plan *plan, const struct profile *p,
			 const struct config *cfg, struct error *err)
{
	if (!config_has_bond(cfg) || plan->handover || plan->queues == 1 ||
	    p->spread == SPREAD_FANOUT ||
	    (p->spread == SPREAD_RSS && p->rss_key_by != RSS_KEY_BY_NONE && !p->reta_fixed))
		return true;
	return error_set(err,
			 "--bond: profile %s: its driver chooses where a flow goes, so that the "
			 "members would differ; give --steering software",
			 p->name);
}

bool
nic_prepare(struct nic *nic, struct config *cfg, struct error *err)
{
	struct port_caps expected;
	char device[DEVICE_BYTES];

	if (!nic_profile(&nic->profile, cfg, err))
		return false;
	host_probe(&nic->host, cfg);
	if (config_has_bond(cfg)) {
		const struct config other = nic_other_config(cfg);

		host_probe(&nic->other_host, &other);
	}
	steer_caps_max(&nic->profile, &expected);
	return choose_cores(nic, cfg, err) &&
	       steer_plan_make(&nic->plan, cfg, &nic->profile, &expected, err) &&
	       nic_members_spread_alike(&nic->plan, &nic->profile, cfg, err) &&
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
	return (plan->handover ? handover_bytes(cfg->cores, plan->queues) : 0) +
	       (config_has_bond(cfg) ? bond_bytes(cfg->cores) : 0) +
	       (config_shares_nic(cfg) ? kernel_port_bytes(cfg->mtu) : 0);
}

uint64_t
nic_kernel_ring_bytes(const struct profile *profile, const struct config *cfg, uint32_t queues)
{
	char device[DEVICE_BYTES];
	struct error err;

	if (!profile_device(profile, cfg, queues, device, &err))
		return 0;
	return profile_kernel_ring_bytes(device) * (config_has_bond(cfg) ? BOND_MEMBERS : 1);
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
	if (!host_check(&host, cfg, &nic->profile, bytes, err))
		return false;
	if (config_has_bond(cfg)) {
		const struct config other = nic_other_config(cfg);

		host = nic->other_host;
		host.nic_tool = paths_nic_tool();
		return host_check(&host, &other, &nic->profile, 0, err);
	}
	return true;
}

static uint64_t
clock_of_bond(const void *clock)
{
	return tsc_clock_ns(clock);
}

static void
create_bond(struct nic *nic, struct region *region, const struct config *cfg)
{
	struct bond_config how = {
		.mode = cfg->bond == CONFIG_BOND_BACKUP ? BOND_BACKUP : BOND_LACP,
		.fast = cfg->bond == CONFIG_BOND_LACP,
		.cores = cfg->cores,
		.now_ns = clock_of_bond,
		.clock = &nic->clock,
	};

	for (uint32_t i = 0; i < how.cores; i++) {
		how.lower[0][i] = &nic->device.ports[i].port;
		how.lower[1][i] = &nic->other.ports[i].port;
	}
	nic->bond = bond_create(region, &how);
}

/* Returns the port of a core: the one with the kernel's copies if core 0 has it; else the bond if
 * there is one; else that of the core's queue. */
static struct port *
queue_port(struct nic *nic, uint32_t core)
{
	if (nic->kernel != NULL && core == 0)
		return kernel_port_as_port(nic->kernel);
	return nic->bond != NULL ? bond_port(nic->bond, core) : &nic->device.ports[core].port;
}

/* Makes the bond, the port with the kernel's copies, and the rings between queues and cores, as far
 * as the plan needs them. */
static bool
create_rings(struct nic *nic, const struct config *cfg, struct error *err)
{
	struct handover_config how = {
		.cores = cfg->cores,
		.queues = nic->plan.queues,
		.udp_first = cfg->udp_port_per_core ? (uint16_t)cfg->udp_port : 0,
	};
	struct region region = {0};

	if (nic_ring_bytes(&nic->plan, cfg) == 0)
		return true;
	if (!huge_block_alloc(&nic->rings, nic_ring_bytes(&nic->plan, cfg), cfg,
			      (int)nic->machine.placement.node, err))
		return false;
	region.base = nic->rings.base;
	region.size = nic->rings.bytes;
	if (config_has_bond(cfg))
		create_bond(nic, &region, cfg);
	if (config_shares_nic(cfg))
		nic->kernel = kernel_port_create(&region, &nic->device.ports[0].port, cfg->mtu);
	if (!nic->plan.handover)
		return true;
	for (uint32_t i = 0; i < how.cores; i++)
		how.lower[i] = queue_port(nic, i);
	nic->handover = handover_create(&region, &how);
	return true;
}

struct kernel_ring *
nic_kernel_ring(struct nic *nic)
{
	return nic->kernel != NULL ? kernel_port_ring(nic->kernel) : NULL;
}

struct port *
nic_port(struct nic *nic, uint32_t core)
{
	return nic->handover != NULL ? handover_port(nic->handover, core) : queue_port(nic, core);
}

/* Waits until one NIC of the bond has a link. The other one may have none. */
static bool
wait_for_member(struct nic *nic, const struct config *cfg, struct error *err)
{
	const struct timespec pause = {.tv_nsec = MEMBER_POLL_MS * 1000000};

	for (uint32_t ms = 0; ms < LINK_WAIT_MS; ms += MEMBER_POLL_MS) {
		if (device_link_mbps_mt(&nic->device) != 0 || device_link_mbps_mt(&nic->other) != 0)
			return true;
		nanosleep(&pause, NULL);
	}
	return error_set(err, "--bond: neither %s nor %s has a link after %u s: check the cables",
			 nic_member_name(cfg, 0), nic_member_name(cfg, 1), LINK_WAIT_MS / 1000);
}

/* Starts the bond's second NIC, which must be of the same kind as the first. */
static bool
start_other(struct nic *nic, const struct config *cfg, uint32_t frames, struct error *err)
{
	const struct device_request req = {cfg, &nic->profile, &nic->plan, frames, &nic->device};
	const struct port_caps *a = &nic->device.caps, *b = &nic->other.caps;

	if (strcmp(nic->device.driver, nic->other.driver) != 0 ||
	    a->rx_queues_max != b->rx_queues_max || a->rss_fields != b->rss_fields ||
	    a->rss_key_bytes != b->rss_key_bytes || a->reta_size != b->reta_size)
		return error_set(err, "--bond: %s (%s) and %s (%s) are not NICs of one kind",
				 nic_member_name(cfg, 0), nic->device.driver,
				 nic_member_name(cfg, 1), nic->other.driver);
	if (!device_start(&nic->other, &req, err))
		return false;
	if (!profile_is_pci(&nic->profile)) {
		snprintf(nic->device.iface, sizeof nic->device.iface, "%s",
			 nic_member_name(cfg, 0));
		snprintf(nic->other.iface, sizeof nic->other.iface, "%s", nic_member_name(cfg, 1));
	}
	return wait_for_member(nic, cfg, err);
}

/* Writes the name that DPDK gives the port, from EAL's argument. It has no options; a PCI address
 * has its domain and is in lower case. */
static void
port_name_of(char name[DEVICE_BYTES], const struct profile *p, const char *device)
{
	const bool is_pci = profile_is_pci(p);
	const bool has_domain = !is_pci || strchr(device, ':') != strrchr(device, ':');

	snprintf(name, DEVICE_BYTES, "%s%.*s", has_domain ? "" : "0000:", (int)strcspn(device, ","),
		 device);
	for (char *c = name; is_pci && *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
}

/* Finds the ports of both NICs of a bond, in the order of the configuration. */
static bool
find_devices(struct nic *nic, const struct config *cfg, struct error *err)
{
	char device[DEVICE_BYTES], first[DEVICE_BYTES], second[DEVICE_BYTES];

	if (!config_has_bond(cfg))
		return device_find(&nic->device, &nic->profile, err);
	if (!eal_device_args(nic, cfg, device, err))
		return false;
	port_name_of(first, &nic->profile, device);
	if (!other_device_args(nic, cfg, device, err))
		return false;
	port_name_of(second, &nic->profile, device);
	return device_find_named(&nic->device, &nic->profile, first, err) &&
	       device_find_named(&nic->other, &nic->profile, second, err);
}

static bool
bring_up(struct nic *nic, const struct config *cfg, uint32_t frames, struct error *err)
{
	const struct device_request req = {cfg, &nic->profile, &nic->plan, frames, NULL};

	if (nic->user != NULL && !cable_open(&nic->cable, cfg->cores, err))
		return false;
	return find_devices(nic, cfg, err) &&
	       nic_profile_of_driver(&nic->profile, cfg, nic->device.driver, err) &&
	       steer_plan_make(&nic->plan, cfg, &nic->profile, &nic->device.caps, err) &&
	       nic_members_spread_alike(&nic->plan, &nic->profile, cfg, err) &&
	       device_start(&nic->device, &req, err) &&
	       (!config_has_bond(cfg) || start_other(nic, cfg, frames, err)) &&
	       create_rings(nic, cfg, err);
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

/* Closes the host's sockets of port user. This comes first, since the next process may need
 * them. */
static void
end_user(struct nic *nic)
{
	if (nic->user == NULL)
		return;
	user_net_close(nic->user);
	nic->user = NULL;
}

void
nic_lend(struct nic *nic, const struct config *cfg, const struct huge_block *block)
{
	const struct device_request req = {cfg, &nic->profile, &nic->plan, 0, NULL};
	const struct device_memory memory = {block->base, block->bytes, block->page_bytes};
	const char *why = "values in a memory file are copied";

	/* Values in a memory file are not lent: the driver may still have frames when the file is
	 * finished for its next reader. */
	if (cfg->memory_file[0] == '\0')
		why = device_lend(&nic->device, &req, &memory);
	if (cfg->offloads != CONFIG_PROFILE_OFFLOADS && (cfg->offloads & OFFLOAD_TX_LOANS))
		nic->lends_not = why;
}

bool
nic_link_up(struct nic *nic)
{
	if (nic->bond == NULL)
		return device_link_up_mt(&nic->device);
	bond_link_mt(nic->bond, 0, device_link_mbps_mt(&nic->device));
	bond_link_mt(nic->bond, 1, device_link_mbps_mt(&nic->other));
	return bond_carries_mt(nic->bond);
}

void
nic_losses(struct nic *nic, struct device_losses *losses)
{
	struct device_losses other;

	device_losses(&nic->device, losses);
	if (nic->bond == NULL)
		return;
	device_losses(&nic->other, &other);
	losses->missed += other.missed;
	losses->no_buffer += other.no_buffer;
	losses->rx_errors += other.rx_errors;
	losses->tx_errors += other.tx_errors;
	losses->rx_frames += other.rx_frames;
	losses->tx_frames += other.tx_frames;
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
	if (nic->lends_not != NULL)
		fprintf(stderr, "%s: --offloads: no tx_loans: %s\n", program, nic->lends_not);
}

bool
nic_start(struct nic *nic, const struct config *cfg, uint32_t frames, struct error *err)
{
	const uint32_t pool_mb = (uint32_t)(nic_pool_bytes(nic, cfg, frames) >> 20) + EAL_MB;
	char device[DEVICE_BYTES], other[DEVICE_BYTES];
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
	if (config_has_bond(cfg)) {
		if (!other_device_args(nic, cfg, other, err))
			return false;
		eal_args_add_device(&args, &nic->profile, other);
	}
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
	if (nic->bond != NULL)
		device_stop(&nic->other);
	device_stop(&nic->device);
	if (has_cable)
		cable_close(&nic->cable);
	if (nic->claim != NAME_CLAIM_NONE)
		close(nic->claim);
	if (nic->rings.base != NULL)
		huge_block_free(&nic->rings);
	if (!nic->device.abandoned && !nic->other.abandoned) /* eal_stop() calls the drivers */
		eal_stop();
	close(nic->prefix);
}
