/*
 * pending_order.h - where a connection's asks stand: between its order and what is asked ahead.
 *
 * Private to lib/backend.
 *
 * Shape:  a session's awaits are a list in the order of its bytes; offsets are in its read buffer.
 * Thread: core-local.
 */
#ifndef CLOCKOO_PENDING_ORDER_H
#define CLOCKOO_PENDING_ORDER_H

#include "pending.h"

#define HASH_BITS 64u /* of a word, a bit for some hashes each */

/* Of an operation in the read buffer; one behind its end, from a frame, has the end's. */
static inline uint32_t
op_offset(const struct session *ss, const struct op *op)
{
	const uint8_t *at = op->raw.data;

	if (ss->read_buf != NULL && at >= ss->read_buf && at < ss->read_buf + ss->read_buf_len)
		return (uint32_t)(at - ss->read_buf);
	return ss->read_buf_len;
}

/* Where the await at this offset is linked, or would be. */
static inline struct await **
await_link_from(struct await **link, uint32_t offset)
{
	while (*link != NULL && (*link)->offset < offset)
		link = &(*link)->next;
	return link;
}

static inline struct await **
await_link_at(struct session *ss, uint32_t offset)
{
	return await_link_from(&ss->awaits, offset);
}

/* Is it asked for, before its turn? */
bool await_lacks(struct serve *sv, const struct op *op);
/* Asks for op, from *link on in the list. False: there is no place. */
bool await_ask_at(struct serve *sv, struct op *op, struct await **link, uint32_t offset);
/* What stands behind op, which waits, in this pass: as far as there are places. False: behind that
 * is not only what may be asked for later, ahead of its turn, too. */
bool awaits_ask_ahead(struct serve *sv, struct op *op);

/* A get of a key with this hash waits, and is not asked for. */
static inline void
session_leave_out(struct session *ss, uint64_t hash)
{
	ss->left_out |= 1ull << hash % HASH_BITS;
}

static inline bool
session_left_out(const struct session *ss, uint64_t hash)
{
	return (ss->left_out >> hash % HASH_BITS & 1) != 0;
}

#endif
