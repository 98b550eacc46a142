/*
 * pending_parts.h - the functions of the files above the table, in the order of these files:
 * datagrams, requests asked for ahead, retrievals, kept requests with pipelines, execution.
 *
 * A pipeline is what follows a write whose answer has not arrived. A write is asked for at once if
 * it has arrived completely and fits a read buffer, and so is a retrieval of one key that has no
 * copy. Behind a request of its own key, it is asked for at once only if the backend executes it
 * after that one. Otherwise a retrieval is asked for at its turn, and a write is left unread. The
 * requests that are asked for are kept (pending.h), and completed in order. Everything else is left
 * unread until then: so nothing is executed, refused or read out of turn, and requests of one key
 * keep their order.
 *
 * Private to lib/backend.
 *
 * Shape:  a session's pending requests are lists in the order of their bytes. An offset counts from
 *         the beginning of the read buffer, and may lie behind its end (session.ahead_at).
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
/* Makes operations of requests whose answers have arrived. False: a line is left open. */
bool pending_lines_parse(struct serve *sv);
struct pending *pending_line_find(struct serve *sv, const struct op *op);
/* Makes the line of op be executed from its beginning, when another of its keys is answered. */
void pending_line_again(struct serve *sv, struct op *op);
/* Ends the reply to the line of op. The rest of the line is skipped. */
void pending_line_fail(struct serve *sv, struct op *op);
/* True if the datagram of op has waited so long that no more of it is asked for. */
bool pending_line_is_late(struct serve *sv, const struct op *op);
/* Frees the datagram's answers, before a write of it is asked for. None of its later requests was
 * asked for yet. */
void pending_line_give_up(struct serve *sv, const struct op *op);
/* Keeps what follows a write in its datagram, until pending_rest_go_on(). Returns NULL if nothing
 * follows. */
struct pending_line *pending_rest_keep(struct serve *sv, struct op *op);
void pending_rest_go_on(struct serve *sv, struct pending_line *rest);

/* ---- where requests stand in the read buffer ---- */

#define HASH_BITS 64u /* bits of a word; each stands for a part of the hashes */

/* Returns the offset of an operation in the read buffer. An operation that lies in a frame has the
 * offset of the buffer's end. */
static inline uint32_t
op_offset(const struct session *ss, const struct op *op)
{
	const uint8_t *at = op->raw.data;

	if (ss->read_buf != NULL && at >= ss->read_buf && at < ss->read_buf + ss->read_buf_len)
		return (uint32_t)(at - ss->read_buf);
	return ss->read_buf_len;
}

/* Returns the link to the first pending request whose offset is not below this one. */
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

/* Notes that a get with this hash is executed at its turn, and was not asked for. */
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

/* True if the key of op must be asked for: neither a copy nor a miss that is known answers it. */
bool pending_lacks(struct serve *sv, const struct op *op);
/* Asks for operations of this pass behind op, which waits, while there are places. True if gets
 * behind the pass may be asked for ahead as well. */
bool pending_ask_ahead(struct serve *sv, struct op *op);
/* True if gets behind this pass's operations may be asked for, as all of these are. */
bool session_is_ahead(const struct session *ss);
/* True if the session has received bytes behind those that are asked for. */
static inline bool
session_has_more(const struct session *ss)
{
	return ss->ahead_at < ss->read_buf_len + conn_unread(ss->conn);
}

/* Asks for further gets that have arrived, for a session that is ahead. */
void gets_ask_ahead(struct serve *sv, struct session *ss);
/* Moves bytes of pending requests from the connection to the read buffer, if the buffer has few
 * left and no operation lies in it. True if bytes were moved. */
bool asked_bytes_move(struct serve *sv, struct session *ss);

/* ---- plain gets that are answered (pending_complete.c) ---- */

/* Completes plain gets from their bytes, in order, while their answers are there. Stops at the
 * first request that must be parsed. */
void gets_complete(struct serve *sv, struct session *ss);

/* ---- values that are sent while they arrive (pending_arrivals.c) ---- */

/* Makes the session send the value that it composes next while the value arrives, unless the
 * arrival of this ticket has ended. */
void pending_arrival_read(struct serve *sv, struct session *ss, uint32_t number, uint64_t ticket);
/* Ends that, as the session sends another value or has ended. */
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
 * half of the places of partial lines, and none that a partial line has. */
bool pending_may_defer(const struct serve *sv, const struct session *ss);
/* Executes a retrieval that may be asked for twice. */
enum exec_status pending_execute_read(struct serve *sv, struct op *op);
/* Executes a retrieval that the store cannot answer: by the backend's answer, or by asking for
 * it. */
enum exec_status read_pending(struct serve *sv, struct op *op);
/* Composes the reply to op from the backend's answer, in the form of its verb. */
enum exec_status pending_complete(struct serve *sv, struct op *op,
				  const struct backend_answer *answer);
/* Replies that op has failed, or with its answer's error. The rest of its line gets no answer. */
void pending_fail(struct serve *sv, struct op *op, const struct backend_answer *answer);
/* Asks for the promotion of op's key, which the store lacks. True if the request waits:
 * pending_later() follows, or, for a body, the session is BODY_FILLED. */
bool pending_promote(struct serve *sv, struct op *op);
/* Makes the backend forget a key, before its miss is the answer. Returns the item that the store
 * has by then, or NULL. */
const struct item *pending_missed(struct serve *sv, const struct op *op);
/* Ends the session's part of a pass: frees answers that were used, and may ask for what follows. */
void pending_sweep(struct serve *sv, struct session *ss);
/* Drops all requests and places of a session that ends. */
void pending_forget(struct serve *sv, struct session *ss);

/* ---- writes, and retrievals behind them (pending_kept.c) ---- */

/* True if a kept request has no answer yet, or there are several. */
static inline bool
session_keeps_open(const struct session *ss)
{
	const struct pending *a = ss->kept;

	return a != NULL && (a->state != PENDING_READY || a->next != NULL);
}

/* True if more requests may be kept behind others of their connection, by all that are kept. */
bool kept_have_room(const struct serve *sv);
/* True if a session that has kept requests may keep another one. */
bool session_may_pipeline(const struct serve *sv, const struct session *ss);
/* True if a request of op's session may be asked for now: the backend will execute it after the
 * kept requests of its key. */
bool pending_may_follow(struct serve *sv, const struct op *op);
/* Makes the backend delete a key whose set is refused. */
void pending_drop_key(struct serve *sv, struct view key, uint64_t hash);
enum exec_status execute_write(struct serve *sv, struct op *op);
/* Executes a write whose value arrived after its line, and is complete now. */
enum exec_status execute_filled_write(struct serve *sv, struct op *op);
/* Keeps a retrieval that follows kept requests of its session. */
enum exec_status execute_read_behind(struct serve *sv, struct op *op);
enum exec_status execute_kept_read(struct serve *sv, struct op *op);
enum exec_status execute_kept_write(struct serve *sv, struct op *op);

/* ---- visits and execution (pending_execute.c) ---- */

/* Visits a session that waits. False: the visit ends here. True: the session's bytes are parsed as
 * any session's. */
bool pending_resume(struct serve *sv, struct session *ss);
/* Executes a run of plain gets, from operation first up to the first miss. Returns their number. */
uint32_t pending_hits_execute(struct serve *sv, uint32_t first);
enum exec_status pending_execute(struct serve *sv, struct op *op);

#endif
