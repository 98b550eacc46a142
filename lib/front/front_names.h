/*
 * front_names.h - addresses of servers from their names, looked up one at a time.
 *
 * Shape:  one step looks up the next server's name and says whether its address has changed. A name
 *         that several addresses have keeps the one it has, as long as it is among them: a list
 *         that rotates moves nobody. A name that cannot be looked up keeps the address it has.
 * Units:  addresses of a name, FRONT_ANSWERS_MAX at most; others are not looked at.
 * Owner:  the caller.
 * Thread: one. front_names_lookup_system() may wait for name servers for as long as resolv.conf
 *         says: for a thread that nobody waits for.
 * Errors: enum front_lookup; no more is told of why.
 * Bounds: a step is one lookup. Addresses as text are not looked up twice.
 */
#ifndef CLOCKOO_FRONT_NAMES_H
#define CLOCKOO_FRONT_NAMES_H

#include "base/ip_addr.h"
#include "front_config.h"

#define FRONT_ANSWERS_MAX 16u

enum front_lookup {
	FRONT_LOOKUP_FOUND,
	FRONT_LOOKUP_NO_NAME, /* it does not exist, or has no address that we can reach */
	FRONT_LOOKUP_FAILED,  /* no name server answers: it may exist */
};

struct front_answers {
	uint32_t count;
	struct ip_addr ip[FRONT_ANSWERS_MAX];
};

/* What a name has. */
typedef enum front_lookup front_lookup_fn(void *arg, const char *host,
					  struct front_answers *answers);

/* getaddrinfo(3): numeric addresses, hosts files, name servers; IPv4 before IPv6. arg: a bool,
 * whether addresses of IPv6 count. */
front_lookup_fn front_lookup_system;

struct front_name {
	struct ip_addr ip; /* zero: none yet */
	enum front_lookup last;
	bool numeric; /* an address as text: it cannot change */
};

struct front_names {
	uint32_t count;
	uint32_t next; /* to be looked up */
	struct front_name name[FRONT_SERVERS_MAX];
};

/* An address as text: no file and no name server is asked. */
bool front_host_address(const char *host, struct ip_addr *ip);

/* Nothing is known yet, but addresses that stand as text. */
void front_names_init(struct front_names *names, const struct front_servers *servers);

/* What a step has found. */
struct front_step {
	uint32_t server;
	bool changed;   /* names->name[server].ip */
	bool last;      /* the next step begins at the first one again */
	bool none_left; /* no server has a name: all are addresses */
};

struct front_step front_names_step(struct front_names *names, const struct front_servers *servers,
				   front_lookup_fn *lookup, void *arg);

#endif
