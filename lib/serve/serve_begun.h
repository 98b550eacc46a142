/*
 * serve_begun.h - the share of memory of incomplete values (serve_begun.c).
 *
 * Private to lib/serve. A value whose body is incomplete is begun in the store, which evicts for
 * all of it, however slowly it is sent. All of them together take at most store_begun_max; the next
 * one leaves its body unread and waits, first come first served over all cores. A complete body
 * waits for none. While a value waits, begun values must make progress (serve_body.c) or are given
 * up.
 *
 * Thread: core-local, but for the atomics in struct serve_shared and struct serve: relaxed, since
 *         they limit nothing but the share, and a core that reads an old value reads again next
 *         turn.
 * Bounds: one look a turn and core, over STORE_CORES_MAX cores.
 */
#ifndef CLOCKOO_SERVE_BEGUN_H
#define CLOCKOO_SERVE_BEGUN_H

#include "serve_internal.h"

enum begun_turn {
	BEGUN_GO,    /* read the request again */
	BEGUN_NEXT,  /* the first in the queue */
	BEGUN_LATER, /* it is woken when the queue in front of it moves, or by its own text */
};

void begun_create(struct serve *sv);
/* A part of the share for the connection's value, until begun_give(). False: it has to wait, or
 * others do since before. */
bool begun_take(struct serve *sv, struct session *ss, const struct mc_req *req);
void begun_give(struct serve *sv, struct session *ss);
/* Into the queue, and out of it; nothing happens if it is there already, or is not. */
void begun_wait(struct serve *sv, struct session *ss);
void begun_leave(struct serve *sv, struct session *ss);
/* Has data of the body been dropped for want of frames? Its peer is silent now, and memory given to
 * it would wait for the peer's timeout, so it is given to others. It keeps its ticket. */
bool begun_sleeps(struct serve *sv, struct session *ss);
enum begun_turn begun_look(const struct serve *sv, const struct session *ss);
/* Each turn: while anybody waits, whoever holds a part must get on. */
void begun_press(struct serve *sv);

#endif
