/*
 * front_cores.c - the tables that cores of a front share, the plan asked for a reply's core, and
 * the refusal of a port that brings replies to some cores only.
 */
#include "front_cores.h"
#include "fleet.h"
#include "steer/steer_flow.h"
#include "tcp/pending_connects.h"

#include <stdio.h>

/* Returns the connections that all cores together may be opening at once. */
static uint32_t
opens_max(const struct config *cfg, const struct front_settings *front)
{
	return cfg->cores * front->servers * front->connections;
}

static bool
is_needed(const struct config *cfg, const struct front_settings *front)
{
	return cfg->cores > 1 && front->servers != 0;
}

size_t
front_cores_bytes(const struct config *cfg, const struct front_settings *front)
{
	return is_needed(cfg, front) ? pending_connects_bytes(opens_max(cfg, front)) +
					       front_ports_bytes(cfg->cores, front->servers)
				     : 0;
}

void
front_cores_create(struct appliance *a, struct region *region)
{
	struct front_settings *front = &a->sizes.front;

	if (!is_needed(&a->config, front))
		return;
	a->sizes.stack.tcp.connects = pending_connects_create(region, opens_max(&a->config, front));
	front->ports = front_ports_create(region, a->config.cores, front->servers);
	front->core_of = front_cores_core_of;
	front->core_of_arg = &a->nic;
}

uint32_t
front_cores_core_of(const void *arg, const struct front_path *path)
{
	const struct nic *nic = arg;
	const struct steer_flow flow = {path->server, path->ours, path->server_port,
					path->our_port};
	const uint32_t core = steer_core_of_flow(&nic->plan, nic->device.cores, &flow);

	return core == STEER_CORE_UNKNOWN ? FRONT_CORE_UNKNOWN : core;
}

bool
front_cores_check(struct appliance *a, uint64_t now_ns)
{
	const struct front_ports *ports = a->sizes.front.ports;
	const bool starts = now_ns - a->process.begun_ns < FRONT_CORES_START_NS;
	char words[FRONT_UNREACHED_BYTES];
	struct front_unreached which;
	const struct front_host *host;

	if (ports == NULL || a->front_refusal[0] != '\0' ||
	    !front_ports_unreached_mt(ports, &which))
		return true;
	host = a->fleet->control.place[which.server].host;
	if (host == NULL) /* the server has left meanwhile */
		return true;
	front_ports_words(&which, words);
	snprintf(a->front_refusal, sizeof a->front_refusal,
		 "--front-servers: replies of %s:%u reach cores %s: use --steering software",
		 host->host, host->port, words);
	if (!starts)
		fprintf(stderr, "clockoo: %s\n", a->front_refusal);
	a->front_refused = starts;
	return !starts;
}

const char *
front_cores_words(const struct steer_plan *plan, uint32_t cores)
{
	if (!steer_knows_cores(plan, cores, false))
		return "local ports are tried until replies come to the core that asks";
	return "local ports are those whose replies come to the core that asks";
}
