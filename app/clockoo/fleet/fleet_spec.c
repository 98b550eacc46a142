/*
 * fleet_spec.c - reads the fleet's configuration and makes its plan. Both are on the heap, since
 * many servers need some MB.
 */
#include "fleet_spec.h"
#include "front/front_names.h"
#include "front/front_servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static bool
is_loopback(const struct ip_addr *ip)
{
	static const struct ip_addr loopback6 = {{[15] = 1}};

	return ip_addr_is_v4(ip) ? ip_addr_v4_get(ip) >> 24 == 127 : ip_addr_equal(ip, &loopback6);
}

/* True if the server is this front itself: it would send requests to itself without end. False for
 * a name, whose address is not known yet. */
static bool
is_own(const struct front_host *host, const struct config *cfg)
{
	const struct ip_addr v4 = ip_addr_v4(cfg->ipv4);
	struct ip_addr ip;

	if (host->port == 0 || !config_listens(cfg, host->port) ||
	    !front_host_address(host->host, &ip))
		return false;
	/* port user listens at addresses of the kernel */
	if (host->by_kernel && config_is_user(cfg) && is_loopback(&ip))
		return true;
	return ip_addr_equal(&ip, &v4) || ip_addr_equal(&ip, &cfg->ipv6);
}

static bool
none_is_own(const struct front_servers *servers, const char *option, const struct config *cfg,
	    struct error *err)
{
	char text[FRONT_HOST_TEXT_BYTES];

	for (uint32_t i = 0; i < servers->count; i++)
		if (is_own(&servers->host[i], cfg))
			return error_set(err, "%s: %s is the front itself", option,
					 front_host_text(&servers->host[i], text));
	return true;
}

static bool
is_of_one_host(const struct ip_addr *ip, const struct config *cfg)
{
	const uint32_t v4 = ip_addr_v4_get(ip), host = UINT32_MAX >> (cfg->prefix_len & 31);
	const bool is_network = !config_is_user(cfg) && cfg->ipv4 != 0 && cfg->prefix_len < 31;

	if (!ip_addr_is_v4(ip))
		return ip->b[0] != 0xff;
	return v4 >> 28 != 14 && v4 != UINT32_MAX && !(is_network && v4 == (cfg->ipv4 | host));
}

/* True if the host cannot be reached: the stack has no loopback, IPv6 may be off, and a gateway may
 * be missing. *why gets the reason as a phrase. Port user reaches every host that its own host
 * reaches, and that host by an address of libslirp's network. */
static bool
is_out_of_reach(const struct ip_addr *ip, const struct config *cfg, const char **why)
{
	const struct ip_addr own = ip_addr_v4(cfg->ipv4);

	*why = "the address of many hosts: name one";
	if (!is_of_one_host(ip, cfg))
		return true;
	*why = config_is_user(cfg)
		       ? "a loopback address: on port user this host is 10.0.2.2, or fd00::2"
		       : "a loopback address, which a NIC does not reach: give its address on the "
			 "network";
	if (is_loopback(ip))
		return true;
	if (config_is_user(cfg))
		return false;
	*why = "an IPv6 address, and IPv6 is off: give --address6";
	if (!ip_addr_is_v4(ip))
		return ip_addr_is_zero(&cfg->ipv6) && !config_has_ipv6(cfg);
	/* --addresses and --routes may lead to it */
	if (cfg->addresses[0] != '\0' || cfg->routes[0] != '\0')
		return false;
	*why = "an IPv4 address, and --address is none";
	if (cfg->ipv4 == 0)
		return true;
	*why = "not on the network of --address, and there is no --gateway";
	return cfg->gateway == 0 &&
	       !ip_addr_same_prefix(ip, &own, IP_ADDR_V4_BITS + cfg->prefix_len);
}

static bool
all_in_reach(const struct front_servers *servers, const char *option, const struct config *cfg,
	     struct error *err)
{
	struct ip_addr ip;
	const char *why;

	for (uint32_t i = 0; i < servers->count; i++)
		if (!servers->host[i].by_kernel && front_host_address(servers->host[i].host, &ip) &&
		    is_out_of_reach(&ip, cfg, &why))
			return error_set(err, "%s: %s:%u is %s%s", option, servers->host[i].host,
					 servers->host[i].port, why,
					 is_loopback(&ip) ? "; kernel: before it reaches it" : "");
	return true;
}

static bool
same_host(const struct front_host *a, const struct front_host *b)
{
	struct ip_addr ip_a, ip_b;

	if (a->port != b->port)
		return false;
	if (a->port == 0)
		return strcmp(a->host, b->host) == 0;
	if (front_host_address(a->host, &ip_a) && front_host_address(b->host, &ip_b))
		return ip_addr_equal(&ip_a, &ip_b);
	return strcasecmp(a->host, b->host) == 0;
}

/* Returns the first of the first `count` servers that has the host's address and port; `count` if
 * none has. */
static uint32_t
find_host(const struct front_servers *servers, uint32_t count, const struct front_host *host)
{
	for (uint32_t i = 0; i < count; i++)
		if (same_host(&servers->host[i], host))
			return i;
	return count;
}

/* Refuses a server that the list names twice: it would be flushed, probed and taken out twice. */
static bool
all_differ(const struct front_config *config, struct error *err)
{
	const struct front_servers *const lists[] = {&config->servers, &config->gutter};
	static const char *const options[] = {"--front-servers", "--front-gutter"};
	char text[FRONT_HOST_TEXT_BYTES];

	for (uint32_t l = 0; l < 2; l++)
		for (uint32_t i = 0; i < lists[l]->count; i++)
			if (find_host(lists[l], i, &lists[l]->host[i]) < i)
				return error_set(err,
						 "%s: %s is there twice: give it once, with a "
						 "larger weight",
						 options[l],
						 front_host_text(&lists[l]->host[i], text));
	for (uint32_t i = 0; i < config->gutter.count; i++)
		if (find_host(&config->servers, config->servers.count, &config->gutter.host[i]) <
		    config->servers.count)
			return error_set(err,
					 "--front-gutter: %s is a server of the fleet: it cannot "
					 "stand in for itself",
					 front_host_text(&config->gutter.host[i], text));
	return true;
}

/* True if an earlier peer of the list has the same address, so that it would get datagrams
 * twice. */
static bool
is_there_before(const struct peers_list *peers, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (ip_addr_equal(&peers->address[k].ip, &peers->address[i].ip) &&
		    peers->address[k].port == peers->address[i].port)
			return true;
	return false;
}

/* Refuses a peer that is this front itself, or that datagrams cannot reach. */
static bool
peers_are_others(const struct peers_list *peers, const struct config *cfg, struct error *err)
{
	const struct ip_addr v4 = ip_addr_v4(cfg->ipv4);

	for (uint32_t i = 0; i < peers->count; i++) {
		const struct ip_addr *ip = &peers->address[i].ip;
		const char *why;

		if (ip_addr_equal(ip, &v4) || ip_addr_equal(ip, &cfg->ipv6))
			why = "the front itself; name the others";
		else if (is_there_before(peers, i))
			why = "there twice";
		else if (!is_out_of_reach(ip, cfg, &why))
			continue;
		return error_set(err, "--front-peers: number %u is %s", i + 1, why);
	}
	return true;
}

/* Refuses TLS together with servers that the kernel reaches, since their connections would not be
 * encrypted. */
static bool
none_needs_tls(const struct front_config *config, const struct config *cfg, struct error *err)
{
	return cfg->front.tls_ca[0] == '\0' ||
	       !(front_servers_by_kernel(&config->servers) ||
		 front_servers_by_kernel(&config->gutter)) ||
	       error_set(err, "--front-tls-ca with kernel: or unix: in --front-servers: no TLS is "
			      "spoken through the kernel; leave one of both out");
}

static bool
fill(struct fleet_spec *spec, const struct config *cfg, struct error *err)
{
	if (!front_options_read(&spec->config, cfg, err) ||
	    !none_is_own(&spec->config.servers, "--front-servers", cfg, err) ||
	    !none_is_own(&spec->config.gutter, "--front-gutter", cfg, err) ||
	    !all_in_reach(&spec->config.servers, "--front-servers", cfg, err) ||
	    !all_in_reach(&spec->config.gutter, "--front-gutter", cfg, err) ||
	    !none_needs_tls(&spec->config, cfg, err) || !all_differ(&spec->config, err) ||
	    !peers_are_others(&spec->config.peers, cfg, err))
		return false;
	spec->ring = malloc(front_ring_bytes(spec->config.servers.count));
	if (spec->ring == NULL)
		return error_set(err, "--front-servers: no memory for a ring of %u servers",
				 spec->config.servers.count);
	if (!front_plan_make(&spec->plan, spec->ring, &spec->config, err))
		return false;
	spec->plan.memory_bytes = (uint64_t)cfg->memory_mb << 20;
	return true;
}

bool
fleet_spec_read(struct fleet_spec **spec, const struct config *cfg, struct error *err)
{
	*spec = NULL;
	if (!config_has_front(cfg))
		return true;
	*spec = calloc(1, sizeof **spec);
	if (*spec == NULL)
		return error_set(err, "--front-servers: no memory to read them");
	if (fill(*spec, cfg, err))
		return true;
	fleet_spec_free(*spec);
	*spec = NULL;
	return false;
}

static const char *
plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

void
fleet_spec_size(const struct fleet_spec *spec, const struct config *cfg,
		char words[FLEET_SPEC_SIZE_BYTES])
{
	const uint32_t servers = spec->plan.servers;
	const uint32_t each = spec->config.server_connections * cfg->cores;

	snprintf(words, FLEET_SPEC_SIZE_BYTES,
		 "%u server%s, %u connection%s to each from %u core%s, %u in all", servers,
		 plural(servers), each, plural(each), cfg->cores, plural(cfg->cores),
		 servers * each);
}

void
fleet_spec_free(struct fleet_spec *spec)
{
	if (spec != NULL)
		free(spec->ring);
	free(spec);
}
