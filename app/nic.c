#include "nic.h"
#include "dpdk/eal.h"
#include "layout/advice.h"
#include "nic_claim.h"
#include "nic_profile.h"
#include "paths.h"

#include <string.h>
#include <unistd.h>

#define SOCKET_PATH_BYTES 108u /* sun_path of unix(7) */
static_assert(SOCKET_PATH_BYTES <= sizeof(((struct config *)0)->socket), "a name fits");

static bool
choose_cores(struct nic *nic, struct config *cfg, struct fault *f)
{
	bool good;

	if (!machine_read(&nic->machine, cfg, "/", f))
		return false;
	machine_add_isolated(&nic->machine, &nic->host.cpus);
	good = machine_place(&nic->machine, cfg, &nic->host.cpus, f);
	machine_close(&nic->machine);
	return good;
}

/* EAL's words for the port. memif's driver takes no relative name for its socket, and -d leaves the
 * folder before vhost's removes its own. cfg itself keeps what was said, for reload to compare. */
static bool
words_for_eal(const struct nic *nic, const struct config *cfg, char device[DEVICE_BYTES],
	      struct fault *f)
{
	struct config anchored = *cfg;
	char path[SOCKET_PATH_BYTES];

	if (cfg->socket[0] != '\0') {
		if (!paths_make_absolute(path, sizeof path, cfg->socket))
			return fault_say(f,
					 "--socket: %s: with its folder more than %zu characters",
					 cfg->socket, sizeof path - 1);
		strcpy(anchored.socket, path);
	}
	return profile_device(&nic->profile, &anchored, nic->plan.queues, device, f);
}

bool
nic_judge(struct nic *nic, struct config *cfg, struct fault *f)
{
	struct port_caps promise;
	char device[DEVICE_BYTES];

	if (!nic_profile(&nic->profile, cfg, f))
		return false;
	host_look(&nic->host, cfg);
	steer_promise(&nic->profile, &promise);
	return choose_cores(nic, cfg, f) &&
	       steer_make(&nic->plan, cfg, &nic->profile, &promise, f) &&
	       words_for_eal(nic, cfg, device, f);
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

bool
nic_allows(const struct nic *nic, const struct config *cfg, uint64_t block_bytes, uint32_t frames,
	   struct fault *f)
{
	const uint64_t bytes = block_bytes + nic_ring_bytes(&nic->plan, cfg) +
			       nic_pool_bytes(nic, cfg, frames) + ((uint64_t)EAL_MB << 20);
	const uint32_t node = nic->machine.placement.node;
	const struct advice_reserve all = advice_reserve(&nic->machine.topology, cfg, node, bytes);
	struct host host = nic->host;

	host.nic_tool = paths_nic_tool();
	host.reserve_node = node;
	host.reserve_size = all.size;
	host.reserve_pages_all = all.pages;
	return host_allows(&host, cfg, &nic->profile, bytes, f);
}

/* Between queues and cores, where the plan wants it. */
static bool
take_handover(struct nic *nic, const struct config *cfg, struct fault *f)
{
	struct handover_config how = {
		.cores = cfg->cores,
		.queues = nic->plan.queues,
		.udp_first = cfg->udp_port_per_core ? (uint16_t)cfg->udp_port : 0,
	};
	struct region region = {0};

	if (!nic->plan.handover)
		return true;
	if (!huge_block_take(&nic->rings, nic_ring_bytes(&nic->plan, cfg), cfg,
			     (int)nic->machine.placement.node, f))
		return false;
	for (uint32_t i = 0; i < how.cores; i++)
		how.below[i] = &nic->device.ports[i].port;
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
bring_up(struct nic *nic, const struct config *cfg, uint32_t frames, struct fault *f)
{
	const struct device_request req = {cfg, &nic->profile, &nic->plan, frames};

	return device_find(&nic->device, &nic->profile, f) &&
	       nic_profile_of_driver(&nic->profile, cfg, nic->device.driver, f) &&
	       steer_make(&nic->plan, cfg, &nic->profile, &nic->device.caps, f) &&
	       device_start(&nic->device, &req, f) && take_handover(nic, cfg, f);
}

void
nic_warn(const struct nic *nic, const char *program)
{
	const struct rule_report *rules = &nic->device.rules;

	if (nic->made_way)
		fprintf(stderr, "%s: --socket: removed the one that a program that crashed left\n",
			program);
	if (nic->plan.fallback)
		fprintf(stderr, "%s: steering: %s\n", program, nic->plan.words);
	if (rules->refused != 0)
		fprintf(stderr, "%s: steering: %s (%u of %u rules refused)\n", program,
			rules->first, rules->refused, rules->refused + rules->made);
}

bool
nic_start(struct nic *nic, const struct config *cfg, uint32_t frames, struct fault *f)
{
	const uint32_t pool_mb = (uint32_t)(nic_pool_bytes(nic, cfg, frames) >> 20) + EAL_MB;
	char device[DEVICE_BYTES];
	struct eal_args args;

	f->text[0] = '\0';
	if (!nic_claim(cfg, &nic->profile, &nic->claim, f) ||
	    eal_claim_prefix(cfg->file_prefix, f) < 0 || !words_for_eal(nic, cfg, device, f))
		return false;
	nic->made_way = host_is_in_the_way(&nic->host, &nic->profile);
	if (nic->made_way && !host_make_way(cfg, f))
		return false;
	tsc_clock_begin(&nic->clock);
	eal_args_make(&args, cfg, &nic->profile, device, pool_mb);
	if (!eal_start(&args, cfg->verbosity >= 2, f))
		return false;
	if (!bring_up(nic, cfg, frames, f)) {
		eal_stop();
		return false;
	}
	tsc_clock_finish(&nic->clock);
	return true;
}

void
nic_stop(struct nic *nic)
{
	device_stop(&nic->device);
	if (nic->claim != NIC_CLAIM_NONE)
		close(nic->claim);
	if (nic->handover != NULL)
		huge_block_give(&nic->rings);
	eal_stop();
}
