/*
 * front_cores.c - makes the tables that a front's cores share, asks the plan for the core of a
 * reply, and refuses a port that brings replies to some cores only.
 */
#include "front_cores.h"
#include "fleet.h"
#include "steer/steer_flow.h"
#include "tcp/conn.h"
#include "tcp/pending_connects.h"

#include <stdio.h>

/* Returns the most connections that all cores together open at a time. */
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
front_cores_create(struct front_cores *c, struct region *region, const struct config *cfg,
		   struct front_settings *front, struct tcp_config *tcp, const struct nic *nic)
{
	if (!is_needed(cfg, front))
		return;
	tcp->connects = pending_connects_create(region, opens_max(cfg, front));
	front->ports = front_ports_create(region, cfg->cores, front->servers);
	front->core_of = front_cores_core_of;
	front->core_of_arg = nic;
	c->ports = front->ports;
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
front_cores_check(struct front_cores *c, const struct fleet *fleet, uint64_t up_ns)
{
	const bool starts = up_ns < FRONT_CORES_START_NS;
	char words[FRONT_UNREACHED_BYTES];
	struct front_unreached which;
	const struct front_host *host;

	if (c->ports == NULL || c->refusal[0] != '\0' ||
	    !front_ports_unreached_mt(c->ports, &which))
		return true;
	host = fleet->control.place[which.server].host;
	if (host == NULL) /* a reload has removed the server since */
		return true;
	front_ports_words(&which, words);
	snprintf(c->refusal, sizeof c->refusal,
		 "--front-servers: replies of %s:%u reach cores %s: use --steering software",
		 host->host, host->port, words);
	if (!starts)
		fprintf(stderr, "clockoo: %s\n", c->refusal);
	c->refused = starts;
	return !starts;
}

const char *
front_cores_words(const struct steer_plan *plan, uint32_t cores)
{
	if (!steer_knows_cores(plan, cores, false))
		return "local ports are tried until replies come to the core that asks";
	return "local ports are those whose replies come to the core that asks";
}
