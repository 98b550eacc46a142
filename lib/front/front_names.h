/*
 * front_names.h - looks up the addresses of servers' names, one at a time.
 *
 * Shape:  a step looks up the name of the next server, and reports whether its address has changed.
 *         If a name has several addresses, its present one stays as long as it is among them, so
 *         that a rotating list moves no server. If the lookup fails, the address stays as well.
 * Units:  a name has at most FRONT_ANSWERS_MAX addresses; further ones are ignored.
 * Owner:  the caller.
 * Thread: one thread, for which no other may wait: front_names_lookup_system() waits for name
 *         servers as long as resolv.conf allows.
 * Errors: enum front_lookup; the reason is not reported.
 * Bounds: a step makes one lookup. Addresses that are given as text are not looked up again.
 */
#ifndef CLOCKOO_FRONT_NAMES_H
#define CLOCKOO_FRONT_NAMES_H

#include "base/ip_addr.h"
#include "front_config.h"

#define FRONT_ANSWERS_MAX 16u

enum front_lookup {
	FRONT_LOOKUP_FOUND,
	FRONT_LOOKUP_NO_NAME, /* the name does not exist, or has no address that can be used */
	FRONT_LOOKUP_FAILED,  /* no name server answers, so the name may exist */
};

struct front_answers {
	uint32_t count;
	struct ip_addr ip[FRONT_ANSWERS_MAX];
};

/* Looks up the addresses of a name. */
typedef enum front_lookup front_lookup_fn(void *arg, const char *host,
					  struct front_answers *answers);

/* Looks a name up by getaddrinfo(3): numeric addresses, hosts files, name servers; IPv4 before
 * IPv6. arg points to a bool: IPv6 addresses are used. */
front_lookup_fn front_lookup_system;

struct front_name {
	struct ip_addr ip; /* zero: none yet */
	enum front_lookup last;
	bool numeric; /* the name is an address as text, which cannot change */
};

struct front_names {
	uint32_t count;
	uint32_t next; /* index of the server that is looked up next */
	struct front_name name[FRONT_SERVERS_MAX];
};

/* Parses an address given as text, without files and name servers. A path is that of a Unix socket
 * of this host, and yields 127.0.0.1. */
bool front_host_address(const char *host, struct ip_addr *ip);

/* Begins with no known addresses, except those given as text. */
void front_names_init(struct front_names *names, const struct front_servers *servers);

/* The result of a step. */
struct front_step {
	uint32_t server;
	bool changed;   /* its address, names->name[server].ip, has changed */
	bool last;      /* the next step begins with the first server again */
	bool none_left; /* no server has a name; all have addresses */
};

struct front_step front_names_step(struct front_names *names, const struct front_servers *servers,
				   front_lookup_fn *lookup, void *arg);

#endif
