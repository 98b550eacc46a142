/*
 * front_names.h - resolves addresses of servers from their names, one at a time.
 *
 * Shape:  one step looks up the next server's name and reports whether its address has changed. A
 *         name with several addresses keeps its present one as long as it is among them, so a
 *         rotating list moves no server. A name that cannot be looked up keeps its address.
 * Units:  addresses of a name, FRONT_ANSWERS_MAX at most; others are ignored.
 * Owner:  the caller.
 * Thread: one thread. front_names_lookup_system() may wait for name servers as long as
 *         resolv.conf allows, so no other thread may wait for it.
 * Errors: enum front_lookup, without further reasons.
 * Bounds: a step is one lookup. Addresses as text are not looked up twice.
 */
#ifndef CLOCKOO_FRONT_NAMES_H
#define CLOCKOO_FRONT_NAMES_H

#include "base/ip_addr.h"
#include "front_config.h"

#define FRONT_ANSWERS_MAX 16u

enum front_lookup {
	FRONT_LOOKUP_FOUND,
	FRONT_LOOKUP_NO_NAME, /* it does not exist, or has no usable address */
	FRONT_LOOKUP_FAILED,  /* no name server answers: the name may exist */
};

struct front_answers {
	uint32_t count;
	struct ip_addr ip[FRONT_ANSWERS_MAX];
};

/* Looks up the addresses of a name. */
typedef enum front_lookup front_lookup_fn(void *arg, const char *host,
					  struct front_answers *answers);

/* Looks up by getaddrinfo(3): numeric addresses, hosts files, name servers; IPv4 before IPv6.
 * arg: a bool, whether IPv6 addresses are used. */
front_lookup_fn front_lookup_system;

struct front_name {
	struct ip_addr ip; /* zero: none yet */
	enum front_lookup last;
	bool numeric; /* an address as text, which cannot change */
};

struct front_names {
	uint32_t count;
	uint32_t next; /* the next to look up */
	struct front_name name[FRONT_SERVERS_MAX];
};

/* Parses an address given as text, without files and name servers. That of a path, which is a Unix
 * socket of this host, is 127.0.0.1. */
bool front_host_address(const char *host, struct ip_addr *ip);

/* Begins without known addresses, except those given as text. */
void front_names_init(struct front_names *names, const struct front_servers *servers);

/* The result of a step. */
struct front_step {
	uint32_t server;
	bool changed;   /* names->name[server].ip */
	bool last;      /* the next step begins at the first server again */
	bool none_left; /* no server has a name: all are addresses */
};

struct front_step front_names_step(struct front_names *names, const struct front_servers *servers,
				   front_lookup_fn *lookup, void *arg);

#endif
