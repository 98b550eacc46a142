/*
 * pending_parts.h - what the files of this room share beside the table: places, offsets of
 * requests in the read buffer, kept requests, and pipelines.
 *
 * A pipeline is what follows a write whose answer has not arrived. A write of another key is
 * asked for at once if it is complete and no larger than a read buffer. So is a retrieval of
 * one key, but one that has a copy, or an earlier request of its key in the pipeline, is asked
 * for at its turn. All of them are kept (pending.h) and completed in order. Everything else is
 * left unread until then: nothing is executed, refused or read out of turn, and requests of one
 * key keep their order.
 *
 * Private to lib/backend.
 *
 * Shape:  a session's pending requests are a list in the order of its bytes; offsets are in its
 *         read buffer.
 * Thread: core-local.
 * Bounds: PENDING_KEPT_MAX kept requests of a connection; chunks: backend.h.
 */
#ifndef CLOCKOO_PENDING_PARTS_H
#define CLOCKOO_PENDING_PARTS_H

#include "pending.h"

#include "serve/serve_parse.h"

/* ---- places (pending_places.c) ---- */

struct pending_lane *pending_lane_of(struct pending_table *pt, struct view key, uint64_t hash);
/* Returns a place for a request of session ss, or of a datagram if ss is NULL. Returns NULL if
 * there is none. */
struct pending *pending_place_take(struct pending_table *pt, struct session *ss,
				   struct pending_lane *lane);
/* Returns about how many more places the session may take, and in *share its share of them. A
 * lane may have fewer. */
uint32_t pending_places(const struct pending_table *pt, const struct session *ss, uint32_t *share);
/* Charges the bytes of a value to its lane, until backend_value_end(). */
void pending_values_add(struct pending_table *pt, struct pending_lane *lane, uint32_t bytes);
/* Begins a turn: the first session in the queue of a lane is granted a place, or fails if it
 * has waited too long. */
void pending_queues_look(struct serve *sv);

/* ---- where requests stand in the read buffer (pending_order.c, pending_ahead.c) ---- */

#define HASH_BITS 64u /* of a word; each bit stands for some hashes */

/* Returns the offset of an operation in the read buffer; one in a frame has the offset of the
 * buffer's end. */
static inline uint32_t
op_offset(const struct session *ss, const struct op *op)
{
	const uint8_t *at = op->raw.data;

	if (ss->read_buf != NULL && at >= ss->read_buf && at < ss->read_buf + ss->read_buf_len)
		return (uint32_t)(at - ss->read_buf);
	return ss->read_buf_len;
}

/* Returns the link to the first pending request at or behind this offset. */
static inline struct pending **
pending_link_from(struct pending **link, uint32_t offset)
{
	while (*link != NULL && (*link)->offset < offset)
		link = &(*link)->next;
	return link;
}

static inline struct pending **
pending_link_at(struct session *ss, uint32_t offset)
{
	return pending_link_from(&ss->pending, offset);
}

/* True if the key of op must be asked for: neither a copy nor a known miss answers it. */
bool pending_lacks(struct serve *sv, const struct op *op);
/* Asks for op and inserts its pending request at *link. False if there is no place. */
bool pending_ask_at(struct serve *sv, struct op *op, struct pending **link, uint32_t offset);
/* Asks for the operations of this pass behind op, which waits, as far as there are places. True
 * if gets behind the pass may be asked for ahead of their turn, too. */
bool pending_ask_ahead(struct serve *sv, struct op *op);

/* Notes that a get of a key with this hash waits for its turn and is not asked for. */
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

/* ---- writes ---- */

enum write_turn {
	PENDING_NOW,   /* pending_write() may follow */
	PENDING_QUEUE, /* no place: pending_write_queue(), pending_later(); a datagram is dropped */
	PENDING_NEVER, /* it has failed, and is not asked for */
};
enum write_turn pending_write_turn(struct serve *sv, struct op *op, uint32_t value_len);
/* Queues the session of op for a place. The session is in no other queue. */
void pending_write_queue(struct serve *sv, struct op *op, uint32_t value_len);
/* Keeps the write op and asks for it. False if a datagram's write is dropped because there is
 * no chunk: the value is still the caller's. */
bool pending_write(struct serve *sv, struct op *op, const struct fill *value);
/* Has the backend delete a key whose set is refused. */
void pending_drop_key(struct serve *sv, struct view key, uint64_t hash);
/* Makes op the write that was asked for, and copies its key. Returns the pending request, which
 * no list has any more: its answer's item may be used until pending_free(). */
struct pending *pending_written(struct serve *sv, struct op *op, uint8_t key[static MC_KEY_MAX]);
/* Makes operations of the datagrams' writes that are answered. */
void pending_writes_parse(struct serve *sv);
void pending_writes_drop(struct serve *sv);

/* ---- retrievals behind kept requests ---- */

/* Keeps the retrieval op behind its session's kept requests. asks: it is asked for now, else at
 * its turn. There must be a place (pending_has_place()). */
void pending_keep_read(struct serve *sv, struct op *op, bool asks);
/* Makes op the first kept request, a retrieval, and copies its key. Its chunk becomes the room
 * of its reply. */
struct pending *pending_read_begin(struct serve *sv, struct op *op, uint8_t key[static MC_KEY_MAX]);
/* Ends the turn of a kept retrieval. told: its reply is composed, and a is freed; else op is kept
 * again. */
void pending_read_end(struct serve *sv, struct op *op, struct pending *a, uint64_t since_ns,
		      bool completed);

/* ---- behind kept requests (pending_execute.c) ---- */

/* True if some kept request has no answer yet, or is completed after the first one. */
static inline bool
session_keeps_open(const struct session *ss)
{
	const struct pending *a = ss->kept;

	return a != NULL && (a->state != PENDING_READY || a->next != NULL);
}

/* True if the request may stand in a pipeline with writes: it has one key, and a write's answer
 * has no value. */
bool pending_is_keyed_write(const struct mc_req *req);
bool pending_is_keyed_read(const struct mc_req *req);
/* True if more requests may be kept behind others of their connection (pending_kept.c). */
bool kept_have_room(const struct serve *sv);
/* True if a session that has kept requests may keep one more. */
bool session_may_pipeline(const struct serve *sv, const struct session *ss);
/* Parses what follows a session's kept requests. */
enum parse_step kept_behind_parse(struct serve *sv, struct session *ss);

/* ---- execution (pending_execute.c) ---- */

uint32_t pending_hits_execute(struct serve *sv, uint32_t first);
enum exec_status pending_execute(struct serve *sv, struct op *op);
/* Executes a retrieval that may be asked for twice. */
enum exec_status pending_execute_read(struct serve *sv, struct op *op);
/* Composes the reply to op from the backend's answer, by its verb. */
enum exec_status pending_complete(struct serve *sv, struct op *op,
				  const struct backend_answer *answer);

/* ---- writes, as their clients see them (pending_kept.c) ---- */

enum exec_status execute_write(struct serve *sv, struct op *op);
/* Executes a write whose value arrived after its line, and is complete now. */
enum exec_status execute_filled_write(struct serve *sv, struct op *op);
/* Keeps a retrieval that follows kept requests of its session. */
enum exec_status execute_read_behind(struct serve *sv, struct op *op);
enum exec_status execute_kept_read(struct serve *sv, struct op *op);
enum exec_status execute_kept_write(struct serve *sv, struct op *op);

#endif
