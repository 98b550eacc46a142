/*
 * front_config.h - the operator's settings of the fleet behind a front.
 *
 * Shape:  plain data without pointers, immutable once made. No server: there is no front.
 * Units:  as the fields say; items: copies of keys.
 * Owner:  the caller: FRONT_SERVERS_MAX servers are some 340 KB, too much for a stack of turns.
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

/* Values of front_config.items besides numbers up to ADMISSION_ITEMS_MAX; 0: no copies are kept. */
#define FRONT_ITEMS_AUTO   UINT32_MAX       /* by the formula, front_plan.h */
#define FRONT_ITEMS_MEMORY (UINT32_MAX - 1) /* as many as -m holds: no bound for scans */

#define FRONT_CONNECTIONS_MAX  16u /* of a core to a server */
#define FRONT_GUTTER_TTL_MAX_S 3600u
#define FRONT_LANES_MAX        1024u /* of a core to all servers: BACKEND_LANES_MAX of room serve */

/* The present address of a server. */
struct front_address {
	struct ip_addr ip;
	uint16_t port;
	bool by_kernel; /* as in front_host */
};

/* The host of a server, whose name may differ. */
struct front_host {
	char host[FRONT_HOST_BYTES]; /* a name, an address as text, or the path of a Unix socket */
	uint16_t port;               /* 0: of a Unix socket */
	bool by_kernel;              /* it is reached through the kernel */
};

struct front_servers {
	uint32_t count;
	struct front_server server[FRONT_SERVERS_MAX]; /* names are unique, as for front_ring */
	struct front_host host[FRONT_SERVERS_MAX];     /* host of server i */
};

/* The command that logs in to a server, complete with its body: memcached's `set` of text
 * authentication. The item would expire at once at a server that asks for no login. */
#define FRONT_LOGIN_FORMAT "set clockoo-login 0 -1 %u\r\n%.*s %.*s\r\n"
#define FRONT_LOGIN_BYTES  320u

struct front_login {
	char line[FRONT_LOGIN_BYTES]; /* empty: none */
};

/* The protocol used with the servers. */
enum front_protocol {
	FRONT_PROTOCOL_AUTO, /* by each server's answer to `mn` */
	FRONT_PROTOCOL_TEXT,
	FRONT_PROTOCOL_META,
};

struct front_config {
	struct front_servers servers;
	enum front_distribution distribution;
	enum front_hash hash;
	bool given_order; /* as in front_fleet, like tag and skip */
	char tag[2];
	char skip[FRONT_SKIP_BYTES];
	bool shared; /* other clients write to the servers, too: a copy is at most ttl_ns old */
	uint32_t items;
	enum front_protocol protocol;
	uint32_t server_connections; /* of a core to each server: 1..FRONT_CONNECTIONS_MAX */
	uint64_t timeout_ns;         /* of a request, in all */
	uint64_t connect_timeout_ns;
	uint64_t ttl_ns;        /* sole: life of copies whose server does not report their expiry */
	bool misses_on_failure; /* a failure is a miss; else an error line */
	uint32_t server_failure_limit; /* consecutive failures */
	uint64_t server_retry_timeout_ns;
	bool auto_eject_hosts;       /* a failing server leaves the fleet */
	struct front_servers gutter; /* replace servers that are away; count 0: the others do */
	uint32_t gutter_ttl_s;       /* life of what they hold then: 1..FRONT_GUTTER_TTL_MAX_S */
	bool reload_flushes;         /* a reload flushes servers that may have old values of keys */
	uint64_t warm_ns;         /* former servers hand keys over for this long; 0: they do not */
	struct peers_list peers;  /* fronts that are notified of writes */
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

/* Returns the name, as the option has it. */
static inline const char *
front_distribution_name(enum front_distribution distribution)
{
	static const char *const names[] = {[FRONT_KETAMA] = "ketama",
					    [FRONT_CONSISTENT] = "consistent",
					    [FRONT_MODULA] = "modula",
					    [FRONT_JUMP] = "jump"};

	return names[distribution];
}

/* Returns a view of *config for front_ring_build. */
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
