/*
 * sim_memcached.h - a memcached of a few keys that knows text get, gets, set, add, cas, delete and
 * flush_all, with a version also me and mg, if it is told to stats conns, and waits when it is told
 * to.
 *
 * Shape:  keys "key0" to "key2". What a connection has left unread when it ends may be executed
 *         later, as a server may, which lists it until then: sim_memcached_late(). What it has
 *         executed it may answer later.
 * Owner:  the caller's struct; its stack calls sim_memcached_opened, _gone and _turn.
 * Thread: one.
 * Errors: another request stops the process.
 * Bounds: one connection at a time; SIM_MEMCACHED_SAID unread bytes.
 */
#ifndef CLOCKOO_SIM_MEMCACHED_H
#define CLOCKOO_SIM_MEMCACHED_H

#include "stack/stack.h"

#define SIM_MEMCACHED_KEYS  3u
#define SIM_MEMCACHED_VALUE 32u
#define SIM_MEMCACHED_SAID  16384u
#define SIM_FORMER_PORT     7u

struct sim_said {
	char bytes[SIM_MEMCACHED_SAID];
	uint32_t len;
};

struct sim_memcached {
	struct stack *stack;
	struct conn *conn;
	uint16_t port, left_port; /* of its peer; of what is left, and listed with it */
	/* Its answer to `stats conns`. */
	enum { SIM_LISTS_NOT, SIM_LISTS, SIM_LISTS_OTHERS, SIM_LISTS_NONSENSE } lists;
	bool keeps_former;   /* a connection whose end was lost on the way, */
	struct conn *former; /* as sockets do, and lists it */
	uint16_t former_port;
	bool lists_former;           /* port SIM_FORMER_PORT of its peer's address too */
	uint32_t listed;             /* times */
	bool waits;                  /* answers nothing */
	bool mute;                   /* executes, and keeps its replies */
	void (*executed)(void *arg); /* a request; may be NULL */
	void *arg;
	uint32_t gets;                                       /* keys asked for */
	uint32_t sets;                                       /* executed */
	uint32_t sets_most;                                  /* that were here at once */
	const char *version;                                 /* its line; NULL: no me */
	int32_t exp;                                         /* what me says of all keys */
	char value[SIM_MEMCACHED_KEYS][SIM_MEMCACHED_VALUE]; /* empty: none */
	uint64_t cas[SIM_MEMCACHED_KEYS];
	struct sim_said said, left; /* of the connection, and of the one before it */
	struct sim_said replies;
};

void sim_memcached_opened(struct sim_memcached *s, struct conn *c);
void sim_memcached_gone(struct sim_memcached *s, const struct conn *c);
void sim_memcached_turn(struct sim_memcached *s);
/* Another process: it has nothing, no connection, and numbers from 1 on. */
void sim_memcached_restart(struct sim_memcached *s);
/* The first of what is left. */
void sim_memcached_late(struct sim_memcached *s);

#endif
