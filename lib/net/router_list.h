/*
 * router_list.h - the routers that advertise themselves on the first link (RFC 4861 section 6.3.4;
 * preferences: RFC 4191), for a default route to one of them.
 *
 * Any core that receives an advertisement notes it here. The program's control thread chooses a
 * router, and gives the cores a table of addresses whose default route leads to it. Prefixes, MTU
 * and hop limit in an advertisement are ignored, since addresses are configured.
 *
 * Shape:  ROUTERS_MAX routers under one lock, for which no core waits.
 * Units:  ns on the cores' common clock; lifetimes in seconds.
 * Thread: router_list_ask before any core turns, the others by any thread.
 * Errors: an advertisement that finds the lock taken, or no room, is lost; the router will send
 *         another one.
 */
#ifndef CLOCKOO_ROUTER_LIST_H
#define CLOCKOO_ROUTER_LIST_H

#include "base/ip_addr.h"
#include "base/spin.h"

#define ROUTERS_MAX 4u

/* The values of RFC 4191 section 2.1, as signed numbers of two bits. */
enum router_preference { ROUTER_LOW = -1, ROUTER_MEDIUM = 0, ROUTER_HIGH = 1 };

struct router {
	struct ip_addr ip; /* link-local */
	uint64_t until_ns; /* end of its lifetime; 0: the place is free */
	int8_t preference; /* enum router_preference */
};

struct router_list {
	struct spin lock;
	bool asked; /* advertisements are wanted: they are noted, and routers are solicited */
	struct router router[ROUTERS_MAX];
};

void router_list_ask(struct router_list *l);

/* Notes an advertisement. If its lifetime is 0, the router is no longer a default router. False:
 * the advertisement is lost. */
bool router_list_note_mt(struct router_list *l, const struct router *seen, uint64_t now_ns);

/* Chooses the default router. If no router is preferred to *ip, it stays; otherwise *ip becomes the
 * most preferred one; zero: there is none. False: *ip is unchanged, or the lock is taken. */
bool router_list_choose_mt(struct router_list *l, uint64_t now_ns, struct ip_addr *ip);

#endif
