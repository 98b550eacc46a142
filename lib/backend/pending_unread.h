/*
 * pending_unread.h - newcomers, and clients of a front that have not yet read their value.
 *
 * Private to lib/backend.
 *
 * Shape:  a newcomer is a session that has not read a value yet. While unread values hold all the
 *         memory that they may, newcomers wait in a queue of their own.
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

#define LANE_OF_NEWCOMERS BACKEND_LANES_MAX /* the queue of newcomers, after those of the lanes */
/* Values of session.reader. Any other value is an index of pending_table.unread_table, plus 1. */
#define READER_NEW    0u         /* has read no value yet */
#define READER_PROVEN UINT16_MAX /* has read a value */

/* A client that has yet to read a value: its session's first one, or the unsent rest of a later
 * one. */
struct unread {
	struct list link; /* in pending_table.unread */
	struct session *session;
	uint64_t since_ns; /* when its progress last changed */
	uint32_t progress; /* progress_of() its session at that time */
	uint32_t bytes;    /* bytes of memory that the value counts as */
	bool has_asked;    /* false: it may ask, but its request is not executed yet */
	struct budget_place place;
};

void pending_unread_create(struct pending_table *pt, struct region *region, uint32_t core);
/* Begins a turn: lets newcomers ask. While unread values hold more than they may, resets clients
 * that read nothing. */
void pending_unread_turn(struct serve *sv);
/* Notes that the session has an unsent rest of a value. */
void pending_unread_value(struct serve *sv, struct session *ss);
void pending_unread_forget(struct serve *sv, struct session *ss);
/* True if a session that is not proven may ask. If false, pending_newcomer_wait() must follow. */
bool pending_newcomer_asks(struct serve *sv, struct session *ss);
void pending_newcomer_wait(struct serve *sv, struct session *ss);

#endif
