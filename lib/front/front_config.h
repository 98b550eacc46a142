/*
 * front_config.h - the operator's settings of the fleet behind a front.
 *
 * Shape:  plain data without pointers, not changed once made. With no server there is no front.
 * Units:  as the fields say. items: the number of keys that may have copies.
 * Owner:  the caller: FRONT_SERVERS_MAX servers are some 340 KB, too much for the stack of a core.
 * Bounds: FRONT_SERVERS_MAX servers, FRONT_HOST_BYTES and FRONT_NAME_BYTES each.
 * Source: names and defaults of the keys are nutcracker 0.5.0's where it has them.
 */
#ifndef CLOCKOO_FRONT_CONFIG_H
#define CLOCKOO_FRONT_CONFIG_H

#include "base/ip_addr.h"
#include "copies/peers_list.h"
#include "front_ring.h"

#define FRONT_HOST_BYTES 254u /* RFC 1035, 2.3.4, with a zero byte */
#define FRONT_PATH_BYTES 108u /* of a Unix socket, with a zero byte (unix(7)) */

/* Values of front_config.items besides numbers up to ADMISSION_ITEMS_MAX. 0: no copies are kept. */
#define FRONT_ITEMS_AUTO UINT32_MAX /* computed by the formula of front_plan.h */
/* As many as -m holds, even if requests scan all keys. */
#define FRONT_ITEMS_MEMORY (UINT32_MAX - 1)

#define FRONT_CONNECTIONS_MAX  16u /* from a core to a server */
#define FRONT_GUTTER_TTL_MAX_S 3600u
/* From a core to all servers; as BACKEND_LANES_MAX of room serve. */
#define FRONT_LANES_MAX 1024u

/* The present address of a server. */
struct front_address {
	struct ip_addr ip;
	uint16_t port;
	bool by_kernel; /* it is reached through the kernel */
};

/* The host and port at which a server is reached. Its name, which decides its keys, may be
 * another. */
struct front_host {
	char host[FRONT_HOST_BYTES]; /* a name, an address as text, or the path of a Unix socket */
	uint16_t port;               /* 0: host is the path of a Unix socket */
	bool by_kernel;              /* it is reached through the kernel */
};

struct front_servers {
	uint32_t count;
	/* Names are unique, which front_ring requires. */
	struct front_server server[FRONT_SERVERS_MAX];
	struct front_host host[FRONT_SERVERS_MAX]; /* host of server i */
};

/* The command that logs in to a server, including its body: the `set` of memcached's text
 * authentication. Its exptime is in the past, so a server that asks for no login keeps no item. */
#define FRONT_LOGIN_FORMAT "set clockoo-login 0 -1 %u\r\n%.*s %.*s\r\n"
#define FRONT_LOGIN_BYTES  320u

struct front_login {
	char line[FRONT_LOGIN_BYTES]; /* empty: none */
};

/* The protocol in which the servers are spoken to. */
enum front_protocol {
	FRONT_PROTOCOL_AUTO, /* by each server's answer to `mn` */
	FRONT_PROTOCOL_TEXT,
	FRONT_PROTOCOL_META,
};

struct front_config {
	struct front_servers servers;
	enum front_distribution distribution;
	enum front_hash hash;
	bool given_order; /* given_order, tag and skip are as in front_fleet */
	char tag[2];
	char skip[FRONT_SKIP_BYTES];
	bool shared; /* other clients write to the servers, too: a copy is at most ttl_ns old */
	uint32_t items;
	enum front_protocol protocol;
	uint32_t server_connections; /* from a core to each server: 1..FRONT_CONNECTIONS_MAX */
	uint64_t timeout_ns;         /* of a request, in all its waits */
	uint64_t connect_timeout_ns;
	/* Sole mode: the life of a copy whose server does not report the item's expiry. */
	uint64_t ttl_ns;
	bool misses_on_failure;        /* a failed get is a miss; otherwise an error line */
	uint32_t server_failure_limit; /* consecutive failures until a server is down */
	uint64_t server_retry_timeout_ns;
	bool auto_eject_hosts; /* a failing server leaves the fleet */
	/* Servers that stand in for servers that are away; count 0: the others do. */
	struct front_servers gutter;
	/* Limit of the life of values at stand-ins: 1..FRONT_GUTTER_TTL_MAX_S. */
	uint32_t gutter_ttl_s;
	bool reload_flushes;      /* a reload flushes servers that may have old values of keys */
	uint64_t warm_ns;         /* former servers hand keys over for this long; 0: they do not */
	struct peers_list peers;  /* other fronts of this fleet, which are notified of writes */
	struct front_login login; /* of all servers */
};

/* True if a server is reached through the kernel: on this host, for example. */
static inline bool
front_servers_by_kernel(const struct front_servers *servers)
{
	bool any = false;

	for (uint32_t i = 0; i < servers->count; i++)
		any |= servers->host[i].by_kernel;
	return any;
}

/* Returns the name of a distribution in the option. */
static inline const char *
front_distribution_name(enum front_distribution distribution)
{
	static const char *const names[] = {[FRONT_KETAMA] = "ketama",
					    [FRONT_CONSISTENT] = "consistent",
					    [FRONT_MODULA] = "modula",
					    [FRONT_JUMP] = "jump"};

	return names[distribution];
}

/* Returns *config's fleet for front_ring_build; it points into *config. */
static inline struct front_fleet
front_config_fleet(const struct front_config *config)
{
	struct front_fleet fleet = {
		.distribution = config->distribution,
		.hash = config->hash,
		.tag = {config->tag[0], config->tag[1]},
		.given_order = config->given_order,
		.nservers = config->servers.count,
		.servers = config->servers.server,
	};

	memcpy(fleet.skip, config->skip, sizeof fleet.skip);
	return fleet;
}

#endif
