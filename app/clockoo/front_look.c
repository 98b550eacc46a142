/*
 * front_look.c - reads the fleet and makes its plan, on the heap: some MB with many servers.
 */
#include "front_look.h"
#include "front/front_names.h"

#include <stdio.h>
#include <stdlib.h>

/* A front that asks itself would ask for ever. Of names nobody knows yet. */
static bool
is_own(const struct front_host *host, const struct config *cfg)
{
	const struct ip_addr v4 = ip_addr_v4(cfg->ipv4);
	struct ip_addr ip;

	return config_listens(cfg, host->port) && front_host_address(host->host, &ip) &&
	       (ip_addr_equal(&ip, &v4) || ip_addr_equal(&ip, &cfg->ipv6));
}

static bool
none_is_own(const struct front_servers *servers, const char *option, const struct config *cfg,
	    struct error *err)
{
	for (uint32_t i = 0; i < servers->count; i++)
		if (is_own(&servers->host[i], cfg))
			return error_set(err, "%s: %s:%u is the front itself", option,
					 servers->host[i].host, servers->host[i].port);
	return true;
}

/* What it tells itself it would take from itself. */
static bool
peers_are_others(const struct front_peers_list *peers, const struct config *cfg, struct error *err)
{
	const struct ip_addr v4 = ip_addr_v4(cfg->ipv4);

	for (uint32_t i = 0; i < peers->count; i++)
		if (ip_addr_equal(&peers->address[i].ip, &v4) ||
		    ip_addr_equal(&peers->address[i].ip, &cfg->ipv6))
			return error_set(err,
					 "--front-peers: number %u is the front itself; name "
					 "the others",
					 i + 1);
	return true;
}

static bool
fill(struct front_look *look, const struct config *cfg, struct error *err)
{
	if (!front_options_read(&look->config, cfg, err) ||
	    !none_is_own(&look->config.servers, "--front-servers", cfg, err) ||
	    !none_is_own(&look->config.gutter, "--front-gutter", cfg, err) ||
	    !peers_are_others(&look->config.peers, cfg, err))
		return false;
	look->ring = malloc(front_ring_bytes(look->config.servers.count));
	if (look->ring == NULL)
		return error_set(err, "--front-servers: no memory for a ring of %u servers",
				 look->config.servers.count);
	if (!front_plan_make(&look->plan, look->ring, &look->config, err))
		return false;
	look->plan.memory_bytes = (uint64_t)cfg->memory_mb << 20;
	return true;
}

bool
front_look_make(struct front_look **look, const struct config *cfg, struct error *err)
{
	*look = NULL;
	if (!config_has_front(cfg))
		return true;
	*look = calloc(1, sizeof **look);
	if (*look == NULL)
		return error_set(err, "--front-servers: no memory to read them");
	if (fill(*look, cfg, err))
		return true;
	front_look_free(*look);
	*look = NULL;
	return false;
}

static const char *
plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

void
front_look_size(const struct front_look *look, const struct config *cfg,
		char words[FRONT_LOOK_SIZE_BYTES])
{
	const uint32_t servers = look->plan.servers;
	const uint32_t each = look->config.server_connections * cfg->cores;

	snprintf(words, FRONT_LOOK_SIZE_BYTES,
		 "%u server%s, %u connection%s to each from %u core%s, %u in all", servers,
		 plural(servers), each, plural(each), cfg->cores, plural(cfg->cores),
		 servers * each);
}

void
front_look_free(struct front_look *look)
{
	if (look != NULL)
		free(look->ring);
	free(look);
}
