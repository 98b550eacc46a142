/*
 * pending_parts.h - what the files of this room share beside the table: places, offsets of requests
 * in the read buffer, kept requests, and pipelines.
 *
 * A pipeline is what follows a write whose answer has not arrived. A write of another key, whole
 * and no larger than a read buffer, is asked for at once; so is a retrieval of one key, or at its
 * turn, if there is a copy or an earlier request of that key. All of them are kept (pending.h), and
 * completed in order. All else is left unread until then: so nothing is executed, refused or read
 * out of turn, and requests of a key keep their order.
 *
 * Private to lib/backend.
 *
 * Shape:  a session's awaits are a list in the order of its bytes; offsets are in its read buffer.
 * Thread: core-local.
 * Bounds: AWAIT_KEPT_MAX kept requests of a connection; chunks: backend.h.
 */
#ifndef CLOCKOO_PENDING_PARTS_H
#define CLOCKOO_PENDING_PARTS_H

#include "pending.h"

#include "serve/serve_parse.h"

/* ---- places (pending_places.c) ---- */

struct await_lane *await_lane_of(struct awaits *aw, struct view key, uint64_t hash);
/* NULL: there is none. ss: NULL is a datagram's. */
struct await *await_place_take(struct awaits *aw, struct session *ss, struct await_lane *lane);
/* How many more the session may take, about, and of how many: a lane may have fewer. */
uint32_t await_places(const struct awaits *aw, const struct session *ss, uint32_t *share);
/* Bytes of a value that is asked with. */
void await_values_add(struct awaits *aw, struct await_lane *lane, uint32_t bytes);
/* Begin of a turn: who waits for a place is granted one, or has waited too long. */
void await_queues_look(struct serve *sv);

/* ---- where requests stand in the read buffer (pending_order.c, pending_ahead.c) ---- */

#define HASH_BITS 64u /* of a word, a bit for some hashes each */

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

/* True if op is asked for before its turn. */
bool await_lacks(struct serve *sv, const struct op *op);
/* Asks for op, from *link on in the list. False: there is no place. */
bool await_ask_at(struct serve *sv, struct op *op, struct await **link, uint32_t offset);
/* Asks for the operations behind op, which waits, in this pass, as far as there are places.
 * False: something behind that may not be asked for ahead of its turn later, either. */
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

/* ---- writes ---- */

enum await_turn {
	AWAIT_NOW,   /* await_write() may follow */
	AWAIT_QUEUE, /* no place: await_write_queue() and await_later(). A datagram is dropped */
	AWAIT_NEVER, /* it has failed, and was not asked */
};
enum await_turn await_write_turn(struct serve *sv, struct op *op, uint32_t value_len);
/* The session is in no other queue. */
void await_write_queue(struct serve *sv, struct op *op, uint32_t value_len);
/* Asks. False: a datagram's is dropped, there is no chunk, and the value is still the caller's. */
bool await_write(struct serve *sv, struct op *op, const struct fill *value);
/* A set of this key is refused: what there is goes. */
void await_drop_key(struct serve *sv, struct view key, uint64_t hash);
/* Makes op what was asked, and its answer; copies the key. The await is no one's then: its item is
 * used until await_free(). */
struct await *await_written(struct serve *sv, struct op *op, uint8_t key[static MC_KEY_MAX]);
/* Operations of the datagrams' writes that are answered. */
void awaited_writes_parse(struct serve *sv);
void awaited_writes_drop(struct serve *sv);

/* ---- retrievals behind requests that are kept ---- */

/* It is kept, too. asks: now, else at its turn. There is a place: await_has_place(). */
void await_keep_read(struct serve *sv, struct op *op, bool asks);
/* Its turn has come: op is what was kept, of which key[] has the key, and its reply has its room.
 */
struct await *await_read_begin(struct serve *sv, struct op *op, uint8_t key[static MC_KEY_MAX]);
/* It was told; or it waits on, and is kept once more. */
void await_read_end(struct serve *sv, struct op *op, struct await *a, uint64_t since_ns, bool told);

/* ---- behind kept requests (pending_execute.c) ---- */

/* Some kept request has no answer yet, or is told behind the one that this pass tells. */
static inline bool
session_keeps_open(const struct session *ss)
{
	const struct await *a = ss->kept;

	return a != NULL && (a->state != AWAIT_READY || a->next != NULL);
}

/* True if the request may stand in a pipeline with writes: it has one key, and a write's answer
 * has no value. */
bool await_is_keyed_write(const struct mc_req *req);
bool await_is_keyed_read(const struct mc_req *req);
/* True if more requests may be kept behind others of their connection (pending_kept.c). */
bool kept_have_room(const struct serve *sv);
/* True if a session that has kept requests may keep one more. */
bool session_may_pipeline(const struct serve *sv, const struct session *ss);
/* Parses the requests of a session that has kept requests. */
enum parse_step kept_behind_parse(struct serve *sv, struct session *ss);

/* ---- execution (pending_execute.c) ---- */

uint32_t await_hits_execute(struct serve *sv, uint32_t first);
enum exec_status await_execute(struct serve *sv, struct op *op);
/* A retrieval that may be asked for twice. */
enum exec_status await_execute_read(struct serve *sv, struct op *op);
/* Replies with the answer, by the verb. */
enum exec_status await_tell(struct serve *sv, struct op *op, const struct serve_answer *answer);

/* ---- writes, as their clients see them (pending_kept.c) ---- */

enum exec_status execute_write(struct serve *sv, struct op *op);
/* Its value was not all there with its line, and is now. */
enum exec_status execute_filled_write(struct serve *sv, struct op *op);
/* A retrieval behind requests that are kept. */
enum exec_status execute_read_behind(struct serve *sv, struct op *op);
enum exec_status execute_kept_read(struct serve *sv, struct op *op);
enum exec_status execute_kept_write(struct serve *sv, struct op *op);

#endif
