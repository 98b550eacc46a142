/*
 * serve_parse.c - makes operations of the bytes of ready connections.
 *
 * A connection is visited once a pass. Before each operation three limits are checked: operations
 * in the pass, requests of the connection in the turn, and credit for the reply.
 */
#include "serve_access.h"
#include "serve_admin.h"
#include "serve_begun.h"
#include "serve_parse.h"
#include "serve_read_buf.h"
#include "serve_since.h"
#include "serve_stream.h"

#include "proto/mc_fast_path.h"

#define KEPT_STALE_S  3u
#define KEPT_SCAN_MAX 256u /* sessions checked in one search */

/* Closes the connection after all earlier replies. */
static enum parse_step
close_push(struct serve *sv, struct session *ss)
{
	op_push(sv, ss, MC_QUIT);
	ss->closing = true;
	return PARSE_WAIT;
}

/* Closes the connection because its stream cannot be parsed further. */
static enum parse_step
close_on_error(struct serve *sv, struct session *ss)
{
	ss->end = SESSION_END_ERROR;
	return close_push(sv, ss);
}

/* True if the session keeps requests that wait for a value of which its client has read nothing for
 * KEPT_STALE_S. */
static bool
kept_are_stale(const struct serve *sv, const struct session *ss)
{
	return ss->kept != NULL && ss->value.item != NULL &&
	       sv->clock.now_s - ss->active_s >= KEPT_STALE_S;
}

/* Resets the first stale connection that it finds. A turn makes one search of at most KEPT_SCAN_MAX
 * sessions, which begins where the last one ended. budget_loser() is not used: it needs a list,
 * whose links would cost every kept request, and any stale connection will do. */
void
kept_make_room(struct serve *sv)
{
	if (sv->kept_scan_turn == sv->turn)
		return;
	sv->kept_scan_turn = sv->turn;
	for (uint32_t i = 0; i < KEPT_SCAN_MAX; i++) {
		struct session *other = &sv->sessions[sv->kept_scan_slot];

		sv->kept_scan_slot = (sv->kept_scan_slot + 1) % sv->cfg.conns_max;
		/* A session visited in this turn may have operations, or be in a list of the
		 * turn. */
		if (other->turn == sv->turn || !kept_are_stale(sv, other))
			continue;
		serve_count(sv, CONN_SLOW_REQUEST);
		other->end = SESSION_END_ERROR;
		conn_abort(sv->stack, other->conn);
		break;
	}
}

/* Waits for chunks, which queued replies hold. After conn_writable(2) the stack makes this
 * connection ready once two are free. */
static enum parse_step
chunk_wait(struct serve *sv, struct session *ss)
{
	serve_count(sv, CONN_DEFERRED);
	return conn_writable(sv->stack, ss->conn, 2) ? PARSE_NEXT_TURN : PARSE_WAIT;
}

/* Returns how many of the next bytes belong to the gathered request. *whole: they complete it. */
static uint32_t
gather_len(const struct session *ss, struct view next, uint32_t need, bool *whole)
{
	const uint32_t room = MC_LINE_MAX - ss->read_buf_len;
	uint32_t len = next.len < room ? next.len : room;

	if (need == 0 && ss->parser.protocol == MC_PROTOCOL_BINARY)
		need = mc_binary_need(ss->read_buf, ss->read_buf_len);
	if (need != 0) {
		const uint32_t left = need > ss->read_buf_len ? need - ss->read_buf_len : 0;

		*whole = left == 0;
		return len < left ? len : left;
	}

	const uint8_t *lf = memchr(next.data, '\n', len);

	*whole = lf != NULL;
	return lf != NULL ? (uint32_t)(lf - next.data) + 1 : len;
}

/* The read buffer must not change while the pass has operations of the connection: their keys may
 * be in it, and if they are deferred all of them must fit it. */
enum parse_step
request_gather(struct serve *sv, struct session *ss, uint32_t had, uint32_t need)
{
	bool whole = false;

	if (ss->pass_ops > 0)
		return PARSE_NEXT_PASS;
	switch (read_buf_take(sv, ss)) {
	case READ_BUF_NO_PLACE:
		return PARSE_NEXT_TURN;
	case READ_BUF_NO_CHUNK:
		return chunk_wait(sv, ss);
	default:
		break;
	}
	if (unlikely(ss->pending != NULL))
		sv->backend_ops->bytes_move(sv, ss, sv->op_count);
	read_buf_compact(sv, ss);
	while (!whole && ss->read_buf_len < MC_LINE_MAX) {
		uint64_t since_ns;
		const struct view v = conn_peek_since(ss->conn, &since_ns);
		uint32_t len;

		if (v.len == 0)
			break;
		ss->read_buf_since_ns = since_ns;
		len = gather_len(ss, v, need, &whole);
		memcpy(ss->read_buf + ss->read_buf_len, v.data, len);
		ss->read_buf_len += len;
		conn_advance(sv->stack, ss->conn, len);
	}
	if (ss->read_buf_len > had)
		return PARSE_CONTINUE;
	/* The stream has ended within a line. No client waits for a reply to that line, but one may
	 * wait for the replies to earlier, kept requests. */
	return conn_eof(ss->conn) && ss->kept == NULL ? close_push(sv, ss) : PARSE_WAIT;
}

/* True if the operation may be parsed. If a value must wait, all later requests go back into the
 * read buffer, so together they must fit it. */
static bool
fits_read_buf(struct session *ss, const struct op *op, uint32_t bytes)
{
	if (ss->deferrable_bytes == 0 && !op_is(op, VERB_RETURNS_VALUE))
		return true;
	if (ss->deferrable_bytes + bytes > MC_LINE_MAX)
		return false; /* never for the first, whose line alone fits */
	ss->deferrable_bytes += bytes;
	return true;
}

/* True if the request has work budget, which it needs only if it copies a large value or moves a
 * page. Otherwise it stays unread. If its body is incomplete, budget is taken at the body's end
 * instead (serve_body.c). */
static __attribute__((noinline)) bool
work_admitted(struct serve *sv, struct session *ss, const struct op *op)
{
	const struct mc_req *req = &op->req;
	uint8_t bytes[MC_KEY_DECODED_MAX];
	struct view key = req->key;

	if (req->verb == MC_SLABS_REASSIGN)
		return work_admit(sv, ss, WORK_PAGE_MOVE);
	if ((req->flags & MC_HAS_BODY) && op->body.data == NULL)
		return true;
	if (req->flags & MC_KEY_BASE64) {
		key.len = (uint32_t)(mc_base64_decode(bytes, key) - bytes);
		key.data = bytes;
	}
	return copy_admit(sv, ss, req, key, store_hash(sv->store, key));
}

/* Returns PARSE_CONTINUE if the operation may be added to those of this pass. */
static inline enum parse_step
op_admit(struct serve *sv, struct session *ss, const struct op *op, uint32_t bytes)
{
	if (ss->deferrable_bytes == 0 && !op_is(op, VERB_RETURNS_VALUE | VERB_TAKES_WORK))
		return PARSE_CONTINUE;
	if (!fits_read_buf(ss, op, bytes))
		return PARSE_NEXT_PASS;
	return op_is(op, VERB_TAKES_WORK) && !work_admitted(sv, ss, op) ? PARSE_WAIT
									: PARSE_CONTINUE;
}

/* Returns the traits of requests that, while few_behind is set, end the parsing of their
 * connection, since they may have to wait. */
static inline uint8_t
waiting_traits(const struct serve *sv)
{
	if (sv->under_pressure)
		return VERB_RETURNS_VALUE | VERB_WRITES;
	return sv->later_traits;
}

/* True if the request is taken together with its body. One that may have to wait is so only if it
 * fits a read buffer; otherwise only its line is taken. */
static inline bool
body_is_complete(const struct serve *sv, const struct mc_req *req, uint32_t used, uint32_t len)
{
	const uint64_t bytes = (uint64_t)used + req->body_len + req->body_end;

	return len >= bytes && (likely(sv->few_behind == 0) || bytes <= MC_LINE_MAX ||
				(verb_traits[req->verb] & waiting_traits(sv)) == 0);
}

/* True if parsing must stop after op: op may wait, and then later requests would have to be kept
 * and parsed twice. */
static inline bool
ends_pass(const struct serve *sv, const struct op *op)
{
	return (verb_traits[op->req.verb] & waiting_traits(sv)) != 0;
}

/* Accepts a parsed request, with its body if that has arrived completely. */
static enum parse_step
op_accept(struct serve *sv, struct session *ss, struct view src, uint32_t used)
{
	struct op *op = &sv->ops[sv->op_count];
	const bool has_body = (op->req.flags & MC_HAS_BODY) != 0;
	enum parse_step step;
	uint32_t bytes = used;

	if (has_body && body_is_complete(sv, &op->req, used, src.len)) {
		op->body = (struct view){src.data + used, op->req.body_len + op->req.body_end};
		bytes += op->body.len;
	}
	step = op_admit(sv, ss, op, bytes);
	if (unlikely(step != PARSE_CONTINUE)) {
		ss->parser = op->before;
		return step;
	}
	op->raw = (struct view){src.data, bytes};
	session_skip(sv->stack, ss, bytes);
	op_commit(sv, ss);
	if (has_body && op->body.data == NULL) {
		ss->body = BODY_WAIT;
		return PARSE_NEXT_PASS;
	}
	if (op_closes_conn(op)) {
		ss->closing = true;
		return PARSE_WAIT;
	}
	if (unlikely(op_is(op, VERB_ENDS_PASS)))
		return PARSE_NEXT_PASS;
	return unlikely(sv->few_behind != 0) && ends_pass(sv, op) ? PARSE_NEXT_PASS
								  : PARSE_CONTINUE;
}

static enum parse_step
line_parse(struct serve *sv, struct session *ss, struct view src)
{
	struct op *op = op_append(sv, ss);
	const struct mc_result r = mc_parse(&ss->parser, &op->req, src.data, src.len);

	switch (r.status) {
	case MC_OK:
		if (unlikely(sv->auth) && ss->role != MC_ROLE_ADMIN &&
		    !auth_check(ss, &op->req, op_last(op) ? r.used - 1 : MC_LINE_MAX))
			return close_on_error(sv, ss);
		return op_accept(sv, ss, src, r.used);
	case MC_CLOSE:
		return close_on_error(sv, ss);
	default:
		break;
	}
	if (r.used == 0)
		return request_gather(sv, ss, src.len, 0);
	/* A deferral stores a contiguous run of bytes. So bytes may be skipped only while this pass
	 * has no operation of the connection. */
	if (ss->pass_ops > 0) {
		ss->parser = op->before;
		return PARSE_NEXT_PASS;
	}
	session_skip(sv->stack, ss, r.used);
	if (unlikely(sv->closes_behind) && op->before.swallow == MC_SWALLOW_LINE)
		ss->answered =
			true; /* by the error for the line's beginning, perhaps before the drain */
	return PARSE_CONTINUE;
}

/* Receives a body. Parsing stops after a value that the backend must be asked to store. */
static enum parse_step
body_step(struct serve *sv, struct session *ss)
{
	const enum parse_step step = body_receive(sv, ss);

	return step == PARSE_CONTINUE && sv->later_traits != 0 && ss->pass_ops > 0 ? PARSE_NEXT_PASS
										   : step;
}

/* Records that the pass reads bytes of the session that arrived before this turn. Only the first
 * call in a pass counts. */
static __attribute__((noinline)) void
session_is_late(struct serve *sv, struct session *ss, uint64_t since_ns)
{
	sv->late = true;
	if (ss->late_pass == sv->pass)
		return;
	ss->since_ns = since_ns;
	ss->late_pass = sv->pass;
}

FLAT bool
request_begin(struct serve *sv, struct session *ss, uint64_t since_ns)
{
	if (unlikely(!session_credit(sv, ss)))
		return false;
	if (unlikely(since_ns != sv->clock.now_ns))
		session_is_late(sv, ss, since_ns);
	return true;
}

/* Ends a step before a request without room for its reply. */
static __attribute__((noinline)) enum parse_step
window_wait(struct serve *sv, struct session *ss)
{
	session_waits(sv, ss, WAIT_WINDOW);
	return PARSE_WAIT;
}

/* Records during a drain whether the client waits for a reply to the last operation of this
 * pass. */
static void
answer_record(const struct serve *sv, struct session *ss)
{
	const struct mc_req *req;

	if (ss->pass_ops == 0)
		return;
	req = &sv->ops[sv->op_count - 1].req;
	if (req->verb == OP_BODY_DONE)
		req = &ss->filling_req;
	ss->answered = req_is_answered(req);
}

/* True if a drain closes the connection here: all of its input is answered, or is discarded after
 * its answer. The last operation may be of an earlier pass. */
static bool
closes_behind(const struct serve *sv, struct session *ss)
{
	if (likely(!sv->closes_behind) || session_is_amid(ss))
		return false;
	answer_record(sv, ss);
	return ss->answered && (ss->pass_ops > 0 || ss->waits == 0);
}

/* Ends a step that found no bytes. */
static __attribute__((noinline)) enum parse_step
end_step(struct serve *sv, struct session *ss)
{
	if (!session_eof(ss) && !closes_behind(sv, ss))
		return PARSE_WAIT;
	return session_credit(sv, ss) ? close_push(sv, ss) : window_wait(sv, ss);
}

/* Called in one place only, and therefore inlined: a call would cost each TCP request some 30
 * instructions. */
static enum parse_step
session_step(struct serve *sv, struct session *ss)
{
	const enum parse_step room = request_room(sv, ss);
	uint64_t since_ns;
	struct view src;

	if (room != PARSE_CONTINUE)
		return room;
	src = session_peek_since(ss, &since_ns);
	if (unlikely(src.len == 0))
		return end_step(sv, ss);
	if (unlikely(!request_begin(sv, ss, since_ns)))
		return window_wait(sv, ss);
	if (ss->body != BODY_NONE)
		return body_step(sv, ss);
	/* Bytes are skipped only while this pass has no operation of the connection
	 * (line_parse). */
	if (unlikely(ss->parser.swallow) && ss->pass_ops > 0)
		return PARSE_NEXT_PASS;
	if (mc_set_begins(src.data, src.len) ? !set_parse_fast(sv, ss, src)
					     : gets_parse_fast(sv, ss, src) == 0)
		return line_parse(sv, ss, src);
	/* If all bytes are used, the next segment will make the connection ready. */
	return session_peek(ss).len == 0 && !session_eof(ss) && likely(!sv->closes_behind)
		       ? PARSE_WAIT
		       : PARSE_CONTINUE;
}

/* Discards the input of a watcher. The end of its stream closes it. The loop is bounded, since a
 * connection holds a limited number of received frames. */
static void
watcher_parse(struct serve *sv, struct session *ss)
{
	for (struct view src = session_peek(ss); src.len > 0; src = session_peek(ss))
		session_skip(sv->stack, ss, src.len);
	if (ss->read_buf != NULL)
		read_buf_free(sv, ss);
	if (conn_eof(ss->conn))
		session_close(sv, ss);
}

/* Visits a session that is not SCHED_READY. False: the visit ends here. */
static __attribute__((noinline)) bool
sched_visit(struct serve *sv, struct session *ss)
{
	switch (ss->sched) {
	case SCHED_LINK:
		sv->links.ready(sv->links.arg, ss->conn);
		return false;
	case SCHED_WIRE:
		sv->tls->user.ready(sv->tls->user.arg, ss->conn);
		return false;
	case SCHED_WATCHER:
		watcher_parse(sv, ss);
		return false;
	default:
		return work_visit(sv, ss);
	}
}

/* Queues more of a large value. False: a part of it still waits. */
static bool
reply_value_resume(struct serve *sv, struct session *ss)
{
	uint8_t key[MC_KEY_MAX];
	struct asker who = {.session = ss};

	session_waits(sv, ss, ss->value.arrival == 0 ? WAIT_WINDOW : WAIT_BACKEND);
	if (unlikely(slow_log_wants(&sv->slow, sv->clock.now_ns - ss->wait.arrived_ns)))
		who.key = key_copied(key, ss->value.item);
	if (!value_resume(sv, ss))
		return false;
	if (ss->value.tail != TAIL_LINE)
		record_late(sv, &who, residence_row(true, REQUEST_GET_HIT), ss->wait.arrived_ns, 1);
	return true;
}

/* Continues a reply before any input is read. False: a part of it still waits. */
static bool
reply_resume(struct serve *sv, struct session *ss)
{
	if (unlikely(ss->value.item != NULL) && !reply_value_resume(sv, ss))
		return false;
	if (likely(ss->stream.kind == NULL))
		return true;
	switch (stream_resume(sv, ss)) {
	case STREAM_MORE:
		session_requeue(sv, ss);
		return false;
	case STREAM_BLOCKED:
		return false;
	default:
		return true;
	}
}

/* True if the session's request must wait longer. Memory becomes free between turns, not within
 * one. */
static __attribute__((noinline)) bool
still_waiting(struct serve *sv, struct session *ss)
{
	enum fill_quota_state look;

	if (ss->memory_wait_turns == 0)
		return !sv->backend_ops->resume(sv, ss);
	if (ss->memory_wait_turns == MEMORY_WAIT_TURNS_MAX)
		return false; /* the session has lost its place, or has waited too long */
	if (fill_quota_sleeps(sv, ss))
		return true; /* the peer's retransmission makes the session ready */
	look = fill_quota_state(sv, ss);
	if (look == FILL_QUOTA_GO && ss->memory_wait_last_turn != sv->turn)
		return false;
	if (look != FILL_QUOTA_LATER)
		session_requeue(sv, ss);
	return true;
}

static inline void
visit_end(struct serve *sv, struct session *ss, enum parse_step step)
{
	if (step == PARSE_NEXT_PASS)
		sv->more = true;
	if (step == PARSE_NEXT_TURN)
		serve_count(sv, CONN_YIELDS);
	if (step == PARSE_NEXT_PASS || step == PARSE_NEXT_TURN)
		session_requeue(sv, ss);
	if (ss->read_buf == NULL)
		return;
	if (ss->pass_ops == 0 && ss->read_buf_at == ss->read_buf_len && ss->pending == NULL)
		/* The bytes were skipped or belong to a body, so no operation needs the buffer. */
		read_buf_free(sv, ss);
	else
		sv->read_bufs_in_use = true;
}

void
session_visit_end(struct serve *sv, struct session *ss, enum parse_step step)
{
	visit_end(sv, ss, step);
}

/* True if the read buffer is used up, and bytes of pending requests follow in the connection.
 * Another pass parses these. */
static __attribute__((noinline)) bool
ends_before_pending(const struct session *ss)
{
	return ss->read_buf_at == ss->read_buf_len && session_asks_beyond(ss);
}

/* Visits a connection, from the first step on or after plain_step(). Every step but the last makes
 * an operation or uses up bytes, which bounds the loop. */
NOT_FLAT void
conn_visit(struct serve *sv, struct session *ss)
{
	bool asks_beyond = false;
	enum parse_step step;

	if (unlikely(ss->sched != SCHED_READY) && !sched_visit(sv, ss))
		return;
	if (unlikely(ss->waits != 0)) {
		if (ss->kept != NULL && !reply_resume(sv, ss))
			return;
		if (still_waiting(sv, ss))
			return;
		ss->ahead = false;
		ss->newer_since_ns = 0;
		/* Resources of the wait are freed after the pass. */
		sv->read_bufs_in_use = true;
		asks_beyond = session_asks_beyond(ss);
	}
	if (!reply_resume(sv, ss))
		return;
	do
		step = unlikely(asks_beyond) && ends_before_pending(ss) ? PARSE_NEXT_PASS
									: session_step(sv, ss);
	while (step == PARSE_CONTINUE);
	visit_end(sv, ss, step);
}

/* True if a visit may begin with plain_step(): no users, waits or drains affect a plain request. */
static bool
plain_steps(const struct serve *sv)
{
	return !sv->auth && sv->few_behind == 0 && !sv->closes_behind && likely(!sv->plain_off);
}

/* Visits connections while plain_steps() is false. */
static void
conns_visit(struct serve *sv)
{
	struct conn *c;

	while (sv->op_count < OPS_MAX && (c = stack_pop_ready(sv->stack)) != NULL) {
		struct session *ss = &sv->sessions[conn_slot(c)];

		if (!visit_begin(sv, ss))
			continue;
		visit_is_first(sv, ss);
		conn_visit(sv, ss);
		if (unlikely(sv->closes_behind))
			answer_record(sv, ss);
	}
}

void
conns_parse(struct serve *sv)
{
	struct session *ss;

	sv->requeue = NULL;
	if (likely(plain_steps(sv)))
		plain_conns_visit(sv);
	else
		conns_visit(sv);
	/* This loop comes last, since the other one would take a requeued connection again at
	 * once. */
	for (ss = sv->requeue; ss != NULL; ss = ss->requeue_next)
		conn_requeue(sv->stack, ss->conn);
}
