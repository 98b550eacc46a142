/*
 * pending_parts.h - the functions of the files that use the table: datagrams, requests asked for
 * ahead, retrievals, kept requests with pipelines, execution.
 *
 * A pipeline is what follows a write whose answer has not arrived. Asked for at once are: a write
 * that has arrived completely and fits a read buffer; and a retrieval of one key that has no copy.
 * If an earlier request of the pipeline has the same key, this holds only if the backend executes
 * the two in order. Otherwise a retrieval is asked for at its turn, and a write is left unread.
 * These requests are kept (pending.h), and completed in order. Everything else is left unread until
 * then. So nothing is executed, refused or read out of turn, and requests of one key keep their
 * order.
 *
 * Private to lib/backend.
 *
 * Shape:  a session's pending requests are lists in the order of their bytes. An offset counts from
 *         the beginning of the read buffer, and may lie beyond its end (session.ahead_at).
 * Thread: core-local.
 * Bounds: PENDING_KEPT_MAX kept requests of a connection; chunks: backend.h.
 */
#ifndef CLOCKOO_PENDING_PARTS_H
#define CLOCKOO_PENDING_PARTS_H

#include "pending.h"

#include "serve/serve_parse.h"

/* ---- datagrams (pending_datagrams.c) ---- */

/* Keeps the line of op, and asks for all of its missed keys. */
void pending_line_keep(struct serve *sv, struct op *op);
void pending_lines_pass_end(struct serve *sv);
void pending_lines_drop(struct serve *sv);
/* Makes operations of datagrams' requests whose answers have arrived. False: a line is not
 * finished. */
bool pending_lines_parse(struct serve *sv);
struct pending *pending_line_find(struct serve *sv, const struct op *op);
/* Notes that another key of op's line has been answered; after the last one the line is executed
 * from its beginning. */
void pending_line_again(struct serve *sv, struct op *op);
/* Ends the reply to the line of op, and skips the rest of the line. */
void pending_line_fail(struct serve *sv, struct op *op);
/* True if the datagram of op has waited so long that no more of it is asked for. */
bool pending_line_is_late(struct serve *sv, const struct op *op);
/* Frees the datagram's answers before a write of it is asked for. None of its later requests has
 * been asked for yet. */
void pending_line_give_up(struct serve *sv, const struct op *op);
/* Keeps the rest of the datagram that follows a write, until pending_rest_go_on(). Returns NULL if
 * nothing follows. */
struct pending_line *pending_rest_keep(struct serve *sv, struct op *op);
void pending_rest_go_on(struct serve *sv, struct pending_line *rest);

/* ---- positions of requests in the read buffer ---- */

#define HASH_BITS 64u /* bits of a word, each for a part of the hashes */

/* Returns the offset of an operation in the read buffer. For one that is in a frame, that is the
 * end of the buffer. */
static inline uint32_t
op_offset(const struct session *ss, const struct op *op)
{
	const uint8_t *at = op->raw.data;

	if (ss->read_buf != NULL && at >= ss->read_buf && at < ss->read_buf + ss->read_buf_len)
		return (uint32_t)(at - ss->read_buf);
	return ss->read_buf_len;
}

/* Returns the link to the first pending request at this offset or later. */
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

/* Notes that a get with this hash will be executed at its turn, without having been asked for. */
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

/* True if the backend must be asked for the key of op: no copy answers it, and it is no known
 * miss. */
bool pending_lacks(struct serve *sv, const struct op *op);
/* Asks for the operations of this pass that follow op, which waits, while there are places. True if
 * gets after this pass may be asked for ahead, too. */
bool pending_ask_ahead(struct serve *sv, struct op *op);
/* True if gets after this pass's operations may be asked for, since all of these are. */
bool session_is_ahead(const struct session *ss);
/* True if the session has received bytes after those that are asked for. */
static inline bool
session_has_more(const struct session *ss)
{
	return ss->ahead_at < ss->read_buf_len + conn_unread(ss->conn);
}

/* Asks for more of the gets that have arrived, for a session that is ahead. */
void gets_ask_ahead(struct serve *sv, struct session *ss);
/* Moves bytes of pending requests from the connection to the read buffer, if the buffer has few
 * left and holds no operation. True if bytes were moved. */
bool asked_bytes_move(struct serve *sv, struct session *ss);

/* ---- plain gets with answers (pending_complete.c) ---- */

/* Completes plain gets from their bytes, in order, as long as they have answers. Stops at the first
 * request that must be parsed. */
void gets_complete(struct serve *sv, struct session *ss);

/* ---- values that are sent while they arrive (pending_arrivals.c) ---- */

/* Makes the session send the value that it composes next while that value arrives, unless the
 * arrival for this ticket has ended. */
void pending_arrival_read(struct serve *sv, struct session *ss, uint32_t number, uint64_t ticket);
/* Stops that, because the session sends another value or has ended. */
void pending_arrival_leave(struct serve *sv, struct session *ss);
/* The function `arrived` of struct serve_backend_ops. */
uint32_t pending_arrived(const struct serve *sv, const struct session *ss);

/* ---- retrievals (pending_order.c) ---- */

static inline enum exec_status
pending_later(const struct op *op)
{
	return op->session != NULL ? EXEC_RETRY : EXEC_LATER;
}

/* True if the session may get a read buffer for a request that waits. Such requests take at most
 * half of the places for partial lines, and none that a partial line has. */
bool pending_may_defer(const struct serve *sv, const struct session *ss);
/* Executes a retrieval that may be executed twice. */
enum exec_status pending_execute_read(struct serve *sv, struct op *op);
/* Executes a retrieval that the store cannot answer: uses the backend's answer, or asks for it. */
enum exec_status read_pending(struct serve *sv, struct op *op);
/* Composes the reply to op from the backend's answer, in the form of op's verb. */
enum exec_status pending_complete(struct serve *sv, struct op *op,
				  const struct backend_answer *answer);
/* Replies that op has failed, or with the answer's error. The rest of op's line gets no answer. */
void pending_fail(struct serve *sv, struct op *op, const struct backend_answer *answer);
/* Asks for the promotion of op's key, which the store lacks. True if the request waits:
 * pending_later() follows; for a body the session is in BODY_FILLED. */
bool pending_promote(struct serve *sv, struct op *op);
/* Makes the backend forget a key, before op is answered by a miss. Returns the item that the store
 * has by then, or NULL. */
const struct item *pending_missed(struct serve *sv, const struct op *op);
/* Ends the session's part of a pass: frees used answers, and may ask for what follows. */
void pending_sweep(struct serve *sv, struct session *ss);
/* Drops all requests and places of a session that ends. */
void pending_forget(struct serve *sv, struct session *ss);

/* ---- writes, and retrievals that follow them (pending_kept.c) ---- */

/* True if the session has several kept requests, or one without an answer. */
static inline bool
session_keeps_open(const struct session *ss)
{
	const struct pending *a = ss->kept;

	return a != NULL && (a->state != PENDING_READY || a->next != NULL);
}

/* True if connections that have kept requests may keep more, given how many are kept in all. */
bool kept_have_room(const struct serve *sv);
/* True if a session that has kept requests may keep another. */
bool session_may_pipeline(const struct serve *sv, const struct session *ss);
/* True if op may be asked for now, since the backend will execute it after the kept requests of its
 * key. */
bool pending_may_follow(struct serve *sv, const struct op *op);
/* Makes the backend delete a key whose set is refused. */
void pending_drop_key(struct serve *sv, struct view key, uint64_t hash);
enum exec_status execute_write(struct serve *sv, struct op *op);
/* Executes a write whose value arrived after its line and is complete now. */
enum exec_status execute_filled_write(struct serve *sv, struct op *op);
/* Keeps a retrieval that follows kept requests of its session. */
enum exec_status execute_read_behind(struct serve *sv, struct op *op);
enum exec_status execute_kept_read(struct serve *sv, struct op *op);
enum exec_status execute_kept_write(struct serve *sv, struct op *op);

/* ---- visits and execution (pending_execute.c) ---- */

/* Visits a session that waits. False: the visit ends here. True: the session's bytes are parsed
 * like any session's. */
bool pending_resume(struct serve *sv, struct session *ss);
/* Executes a run of plain gets that are hits, from operation `first` on. Returns how many. */
uint32_t pending_hits_execute(struct serve *sv, uint32_t first);
enum exec_status pending_execute(struct serve *sv, struct op *op);

#endif
