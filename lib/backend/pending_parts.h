/*
 * pending_parts.h - the functions of the files above the table, from the lowest file to the
 * highest: datagrams, retrievals, kept requests with pipelines, execution.
 *
 * A pipeline is what follows a write whose answer has not arrived. A write is asked for at once if
 * it is complete and no larger than a read buffer, and so is a retrieval of one key that has no
 * copy. Behind a request of its own key it is asked for at once only if the backend executes it
 * after that one; otherwise a retrieval is asked for at its turn, and a write waits. All of them
 * are kept (pending.h) and completed in order. Everything else is left unread until then: nothing
 * is executed, refused or read out of turn, and requests of one key keep their order.
 *
 * Private to lib/backend.
 *
 * Shape:  a session's pending requests are a list in the order of its bytes. An offset counts from
 *         the begin of the read buffer and may lie beyond its end (session.ahead_at).
 * Thread: core-local.
 * Bounds: PENDING_KEPT_MAX kept requests of a connection; chunks: backend.h.
 */
#ifndef CLOCKOO_PENDING_PARTS_H
#define CLOCKOO_PENDING_PARTS_H

#include "pending.h"

#include "serve/serve_parse.h"

/* ---- datagrams (pending_datagrams.c) ---- */

/* Keeps the line of op, and asks for all its missed keys. */
void pending_line_keep(struct serve *sv, struct op *op);
void pending_lines_pass_end(struct serve *sv);
void pending_lines_drop(struct serve *sv);
/* Makes operations of what is answered. False if a line is left open. */
bool pending_lines_parse(struct serve *sv);
struct pending *pending_line_find(struct serve *sv, const struct op *op);
/* Has the line of op executed from its beginning once one of its keys is answered again. */
void pending_line_again(struct serve *sv, struct op *op);
/* Ends the reply to the line of op; the rest of the line is skipped. */
void pending_line_fail(struct serve *sv, struct op *op);
/* True if the datagram of op has waited for so long that no more of it is asked for. */
bool pending_line_is_late(struct serve *sv, const struct op *op);
/* Frees the datagram's answers before a write is asked for. No later request is asked for
 * yet. */
void pending_line_give_up(struct serve *sv, const struct op *op);
/* Keeps what follows a write in its datagram until pending_rest_go_on(). NULL: nothing. */
struct pending_line *pending_rest_keep(struct serve *sv, struct op *op);
void pending_rest_go_on(struct serve *sv, struct pending_line *rest);

/* ---- where requests stand in the read buffer ---- */

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

/* ---- requests asked for ahead of their turn (pending_ahead.c) ---- */

/* True if the key of op must be asked for: neither a copy nor a known miss answers it. */
bool pending_lacks(struct serve *sv, const struct op *op);
/* Asks for the operations of this pass behind op, which waits, as far as there are places. True
 * if gets behind the pass may be asked for ahead of their turn, too. */
bool pending_ask_ahead(struct serve *sv, struct op *op);
/* True if gets behind this pass's operations may be asked for, once all of those are. */
bool session_is_ahead(const struct session *ss);
/* True if the session has received bytes behind those that were asked for. */
static inline bool
session_has_more(const struct session *ss)
{
	return ss->ahead_at < ss->read_buf_len + conn_unread(ss->conn);
}

/* Asks for further gets that the connection of a session that is ahead has received. */
void gets_ask_ahead(struct serve *sv, struct session *ss);
/* Moves bytes of pending requests from the connection to the read buffer, if few are left there and
 * no operation lies in it. True if bytes were moved. */
bool asked_bytes_move(struct serve *sv, struct session *ss);

/* ---- plain gets that are answered (pending_complete.c) ---- */

/* Completes plain gets from their bytes, in order, as far as their answers have arrived. Stops
 * at the first request that must be parsed. */
void gets_complete(struct serve *sv, struct session *ss);

/* ---- values that are sent while they arrive (pending_arrivals.c) ---- */

/* Has the session send the value that it composes next as it arrives, unless the arrival of this
 * ticket has ended. */
void pending_arrival_read(struct serve *sv, struct session *ss, uint32_t number, uint64_t ticket);
/* Ends that: the session sends another value, or has ended. */
void pending_arrival_leave(struct serve *sv, struct session *ss);
/* struct serve_backend_ops.arrived. */
uint32_t pending_arrived(const struct serve *sv, const struct session *ss);

/* ---- retrievals (pending_order.c) ---- */

static inline enum exec_status
pending_later(const struct op *op)
{
	return op->session != NULL ? EXEC_RETRY : EXEC_LATER;
}

/* True if the session may get a read buffer for a request that waits. Requests that wait take
 * as many as half of the places of partial lines at most, and none of those. */
bool pending_may_defer(const struct serve *sv, const struct session *ss);
/* Executes a retrieval that may be asked for twice. */
enum exec_status pending_execute_read(struct serve *sv, struct op *op);
/* Executes a retrieval that the store cannot answer: by the backend's answer, or by asking. */
enum exec_status read_pending(struct serve *sv, struct op *op);
/* Composes the reply to op from the backend's answer, by its verb. */
enum exec_status pending_complete(struct serve *sv, struct op *op,
				  const struct backend_answer *answer);
/* Replies that op has failed, or its answer's error. The rest of its line is not answered. */
void pending_fail(struct serve *sv, struct op *op, const struct backend_answer *answer);
/* Asks for the key of a request that promotes, which the store lacks. True if the request waits:
 * pending_later() follows, or for a body the session is BODY_FILLED. */
bool pending_promote(struct serve *sv, struct op *op);
/* Makes the backend forget a key whose miss is the answer. Returns what the store has by then,
 * or NULL. */
const struct item *pending_missed(struct serve *sv, const struct op *op);
/* Ends the session's part of a pass: frees what was used, and may ask for what follows. */
void pending_sweep(struct serve *sv, struct session *ss);
/* Drops all requests and places of a session that ends. */
void pending_forget(struct serve *sv, struct session *ss);

/* ---- writes, and retrievals behind them (pending_kept.c) ---- */

/* True if some kept request has no answer yet, or is completed after the first one. */
static inline bool
session_keeps_open(const struct session *ss)
{
	const struct pending *a = ss->kept;

	return a != NULL && (a->state != PENDING_READY || a->next != NULL);
}

/* True if more requests may be kept behind others of their connection. */
bool kept_have_room(const struct serve *sv);
/* True if a session that has kept requests may keep one more. */
bool session_may_pipeline(const struct serve *sv, const struct session *ss);
/* True if a request of op's session may be asked for now: it is executed after the kept requests of
 * its key. */
bool pending_may_follow(struct serve *sv, const struct op *op);
/* Has the backend delete a key whose set is refused. */
void pending_drop_key(struct serve *sv, struct view key, uint64_t hash);
enum exec_status execute_write(struct serve *sv, struct op *op);
/* Executes a write whose value arrived after its line, and is complete now. */
enum exec_status execute_filled_write(struct serve *sv, struct op *op);
/* Keeps a retrieval that follows kept requests of its session. */
enum exec_status execute_read_behind(struct serve *sv, struct op *op);
enum exec_status execute_kept_read(struct serve *sv, struct op *op);
enum exec_status execute_kept_write(struct serve *sv, struct op *op);

/* ---- visits and execution (pending_execute.c) ---- */

/* Visits a session that waits. False: the visit ends; else its bytes are parsed as any
 * session's. */
bool pending_resume(struct serve *sv, struct session *ss);
/* Executes the run of plain gets from operation first on, up to the first miss. */
uint32_t pending_hits_execute(struct serve *sv, uint32_t first);
enum exec_status pending_execute(struct serve *sv, struct op *op);

#endif
