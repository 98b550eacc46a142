/*
 * pending_unread.h - clients of a front that have yet to read a value, and newcomers.
 *
 * Private to lib/backend.
 *
 * Shape:  a newcomer is a session that has read no value yet. While unread values hold all they
 *         may, newcomers wait in a queue of their own.
 * Thread: core-local.
 * Errors: none: a client without progress is reset.
 * Bounds: UNREAD_MAX clients; their part of the memory: base/BUDGET.md.
 */
#ifndef CLOCKOO_PENDING_UNREAD_H
#define CLOCKOO_PENDING_UNREAD_H

#include "backend.h"

#include "base/budget.h"
#include "base/list.h"

struct pending_table;

#define LANE_OF_NEWCOMERS BACKEND_LANES_MAX /* the queue of newcomers has no lane */
/* struct session.reader: a place in pending_table.unread_table from 1 on, or one of these. */
#define READER_NEW    0u /* has read no value yet */
#define READER_PROVEN UINT16_MAX

/* A client that has yet to read a value: its session's first one, or an unsent rest. */
struct unread {
	struct list link; /* in pending_table.unread */
	struct session *session;
	uint64_t since_ns; /* when progress was seen last */
	uint32_t progress, bytes;
	bool has_asked; /* false: the session may ask, and its request is not executed yet */
	struct budget_place place;
};

void pending_unread_create(struct pending_table *pt, struct region *region, uint32_t core);
/* Begins a turn: newcomers are let in, and clients are reset that read nothing while unread values
 * hold more than they may. */
void pending_unread_turn(struct serve *sv);
/* Notes that a rest of a value is unsent. */
void pending_unread_value(struct serve *sv, struct session *ss);
void pending_unread_forget(struct serve *sv, struct session *ss);
/* True if a session that is not proven may ask; else pending_newcomer_wait() follows. */
bool pending_newcomer_asks(struct serve *sv, struct session *ss);
void pending_newcomer_wait(struct serve *sv, struct session *ss);

#endif
