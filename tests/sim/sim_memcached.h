/*
 * sim_memcached.h - a model memcached with three keys. It knows get, gets, set, add, cas, delete
 * and flush_all in text; with a version also me and mg; on demand also stats conns. It can delay
 * its answers.
 *
 * Shape:  keys "key0" to "key2"; "key0.TEXT" names key0, too. Requests that are unread when a
 *         connection ends may be executed later (sim_memcached_late()). As in a real server the
 *         connection is listed until then. The answer to an executed request may be sent later.
 * Owner:  the caller's struct; its stack calls sim_memcached_opened, _gone and _turn.
 * Thread: one.
 * Errors: any other request stops the process.
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
	uint16_t port, left_port; /* port of the peer, and that of the ended connection in `left` */
	/* The server's answer to `stats conns`. */
	enum { SIM_LISTS_NOT, SIM_LISTS, SIM_LISTS_OTHERS, SIM_LISTS_NONSENSE } lists;
	/* Keeps and lists a connection whose FIN or RST was lost on the way, like a real socket. */
	bool keeps_former;
	struct conn *former;
	uint16_t former_port;
	/* Also lists a connection from SIM_FORMER_PORT, as if it had an earlier process. */
	bool lists_former;
	uint32_t listed; /* number of times that it listed connections */
	bool waits;      /* answers nothing */
	bool mute;       /* executes requests, and keeps the replies */
	/* Called after each executed request; may be NULL. */
	void (*executed)(void *arg);
	void *arg;
	uint32_t gets; /* keys requested */
	uint32_t sets; /* sets executed */
	/* The most sets, and keys, that were unread at once. */
	uint32_t sets_most, keys_most;
	/* Reply to `version`; NULL: no me and mg. */
	const char *version;
	/* The exp that me shows for every key. */
	int32_t exp;
	char value[SIM_MEMCACHED_KEYS][SIM_MEMCACHED_VALUE]; /* empty: a miss */
	uint64_t cas[SIM_MEMCACHED_KEYS];
	/* Unread bytes of the connection, and of the one before it. */
	struct sim_said said, left;
	struct sim_said replies;
};

void sim_memcached_opened(struct sim_memcached *s, struct conn *c);
void sim_memcached_gone(struct sim_memcached *s, const struct conn *c);
void sim_memcached_turn(struct sim_memcached *s);
/* Restarts the server: no items, no connection, cas numbers from 1 on. */
void sim_memcached_restart(struct sim_memcached *s);
/* Executes the first request of `left`. */
void sim_memcached_late(struct sim_memcached *s);

#endif
