/*
 * pending_order.c - connections whose retrievals wait for a backend, in order.
 *
 * A request that waits goes back into the read buffer as bytes, and so do all requests behind
 * it. They are parsed and executed again as far as their answers have arrived. So every
 * operation is executed at its turn, and only the asking is done ahead.
 */
#include "pending_parts.h"
#include "serve/serve_since.h"

#define MISSED_TRIES_MAX 8u /* attempts while others store and evict the key */

bool
pending_reads(const struct mc_req *req)
{
	switch (req->verb) {
	case MC_GET:
	case MC_GETS:
	case MC_BIN_GET:
		return true;
	case MC_MG:
		return (req->meta.flags & MG_EFFECTS) == 0;
	default:
		return false;
	}
}

/* Returns the pending request at this offset, or one of the same line that has answered an
 * earlier get of this key. NULL: there is none. */
static struct pending *
pending_at(struct session *ss, uint32_t offset, uint64_t hash)
{
	struct pending *a = *pending_link_at(ss, offset);

	if (a != NULL && a->offset == offset)
		return a;
	while (a != NULL && (!a->passed_on || a->hash != hash))
		a = a->next;
	return a;
}

bool
pending_may_defer(const struct serve *sv, const struct session *ss)
{
	return ss->read_buf != NULL || sv->read_bufs_used < sv->read_bufs_max / 2;
}

const struct item *
pending_missed(struct serve *sv, const struct op *op)
{
	const struct backend *by = &sv->pending->backend;
	const struct item *it = NULL;

	for (uint32_t tries = 0; by->missed != NULL && it == NULL && tries < MISSED_TRIES_MAX &&
				 !by->missed(by->arg, op->req.key, op->hash);
	     tries++)
		it = store_peek(sv->store, op->req.key, op->hash);
	return it;
}

static enum pending_status
failed(struct serve *sv, const struct op *op, struct backend_answer *answer)
{
	serve_count(sv, AWAITS_FAILED);
	if (!sv->pending->backend.misses_on_failure || op->req.verb == MC_GAT ||
	    op->req.verb == MC_GATS || op->req.verb == MC_BIN_GAT || pending_is_write(sv, &op->req))
		return PENDING_FAILED;
	answer->item = pending_missed(sv, op);
	answer->cas = answer->item != NULL ? item_cas(answer->item) : 0;
	return PENDING_ANSWERED;
}

static struct pending *
pending_of(struct serve *sv, const struct op *op)
{
	if (op->session == NULL)
		return pending_line_find(sv, op);
	if (op->raw.data == NULL) /* kept, or a body's: the first one listed is its own */
		return op->session->kept != NULL ? op->session->kept : op->session->pending;
	return op->session->pending != NULL
		       ? pending_at(op->session, op_offset(op->session, op), op->hash)
		       : NULL;
}

/* Asks again for a key that was promoted and evicted again. False if the backend has it no
 * more, or it was asked for PENDING_TIMES_MAX times. */
static bool
ask_again(struct serve *sv, struct op *op, struct pending *a)
{
	if (a->times >= PENDING_TIMES_MAX || sv->pending->draining ||
	    !pending_may_have(sv, op->req.key, op->hash))
		return false;
	serve_count(sv, AWAITS_AGAIN);
	pending_ask_again(sv, a, &op->req, op->req.key);
	if (op->session == NULL) {
		pending_line_again(sv, op);
		return true;
	}
	if (op->raw.data == NULL)
		a->offset = op_offset(op->session, op); /* before what goes back */
	op->session->pending_counted = op->raw.data != NULL && (op->req.flags & MC_FIRST) != 0;
	return true;
}

/* Asks for a retrieval of a session, and for others behind it, or queues the session. */
static enum pending_status
session_wait_answer(struct serve *sv, struct op *op, struct backend_answer *answer)
{
	struct session *ss = op->session;
	uint32_t offset;

	if (sv->pending->draining || ss->place_refused || !pending_may_defer(sv, ss)) {
		ss->place_refused = false;
		ss->place_since_ns = 0;
		return failed(sv, op, answer);
	}
	ss->pending_counted = (op->req.flags & MC_FIRST) != 0;
	offset = op_offset(ss, op);
	if (pending_ask_at(sv, op, pending_link_at(ss, offset), offset)) {
		ss->ahead = pending_ask_ahead(sv, op) && session_is_ahead(ss);
	} else {
		ss->ahead = false;
		pending_queue(sv, ss, op->req.key, op->hash, 0);
	}
	return PENDING_LATER;
}

/* Asks for a kept retrieval at its turn. */
static enum pending_status
unasked_read(struct serve *sv, struct op *op, struct pending *a, struct backend_answer *answer)
{
	if (sv->pending->draining)
		return failed(sv, op, answer);
	if (!pending_may_have(sv, op->req.key, op->hash))
		return PENDING_ANSWERED;
	pending_ask_again(sv, a, &op->req, op->req.key);
	return PENDING_LATER;
}

enum pending_status
pending_read(struct serve *sv, struct op *op, struct backend_answer *answer)
{
	struct pending *a = pending_of(sv, op);

	*answer = (struct backend_answer){0};
	if (a != NULL && a->state == PENDING_UNASKED)
		return unasked_read(sv, op, a, answer);
	if (a != NULL && a->state == PENDING_READY && a->answer.here && ask_again(sv, op, a))
		return PENDING_LATER;
	if (a != NULL && a->state == PENDING_READY) {
		*answer = a->answer;
		if (answer->error != MC_ERR_NONE)
			return PENDING_FAILED;
		return answer->failed ? failed(sv, op, answer) : PENDING_ANSWERED;
	}
	if (a == NULL && !pending_may_have(sv, op->req.key, op->hash))
		return PENDING_ANSWERED;
	if (op->session == NULL) {
		if (sv->pending->draining || pending_line_is_late(sv, op))
			return failed(sv, op, answer);
		pending_line_keep(sv, op);
		return PENDING_LATER;
	}
	if (a == NULL)
		return session_wait_answer(sv, op, answer);
	op->session->pending_counted = (op->req.flags & MC_FIRST) != 0;
	return PENDING_LATER;
}

/* ---- promotion ---- */

/* Asks for a promotion, or queues the session. False: op is executed without it. */
static bool
session_promote(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	const bool bytes = op->raw.data != NULL;
	const uint32_t offset = op_offset(ss, op);

	if (sv->pending->draining || ss->place_refused || (bytes && !pending_may_defer(sv, ss))) {
		ss->place_refused = false;
		ss->place_since_ns = 0;
		return false;
	}
	ss->pending_counted = bytes && (op->req.flags & MC_FIRST) != 0;
	if (!pending_ask_at(sv, op, pending_link_at(ss, offset), offset))
		pending_queue(sv, ss, op->req.key, op->hash, 0);
	return true;
}

bool
pending_promote(struct serve *sv, struct op *op)
{
	struct pending *a = pending_of(sv, op);

	if (a == NULL && !pending_may_have(sv, op->req.key, op->hash))
		return false;
	if (a == NULL && op->session != NULL && session_promote(sv, op))
		return true;
	if (op->session == NULL && (a == NULL || a->state != PENDING_READY) &&
	    !sv->pending->draining && !pending_line_is_late(sv, op)) {
		pending_line_keep(sv, op);
		return true;
	}
	if (op->session != NULL && a != NULL && a->state != PENDING_READY) {
		op->session->pending_counted = (op->req.flags & MC_FIRST) != 0;
		return true;
	}
	if (a != NULL && a->state == PENDING_READY && a->answer.here && ask_again(sv, op, a))
		return true;
	if (a == NULL || a->state != PENDING_READY || a->answer.failed) {
		serve_count(sv, AWAITS_FAILED);
		pending_missed(sv, op);
	}
	return false;
}

static void
session_pending_end(struct serve *sv, struct session *ss, struct pending **link)
{
	struct pending *a = *link;

	*link = a->next;
	ss->passed_on -= a->passed_on;
	pending_free(sv, a);
}

/* Passes an answer on to later gets of its line: the pending request moves to the offset of the
 * last of them. */
static void
pass_on(struct session *ss, struct pending **link)
{
	struct pending *a = *link;

	*link = a->next;
	a->offset += a->more;
	a->more = 0;
	ss->passed_on += !a->passed_on;
	a->passed_on = true;
	a->bytes = 0; /* the later gets have other lengths */
	link = pending_link_from(link, a->offset);
	a->next = *link;
	*link = a;
}

/* Ends a pending request whose request is answered, unless later gets of its line take the
 * answer too. */
static void
session_pending_used(struct serve *sv, struct session *ss, struct pending **link)
{
	if (unlikely((*link)->more != 0))
		pass_on(ss, link);
	else
		session_pending_end(sv, ss, link);
}

bool
line_has_answered(struct serve *sv, const struct op *op)
{
	struct session *ss = op->session;
	const struct pending *a;

	if (ss == NULL)
		return pending_line_find(sv, op) != NULL;
	if (likely(ss->passed_on == 0))
		return false;
	a = ss->pending;
	while (a != NULL && (!a->passed_on || a->hash != op->hash))
		a = a->next;
	return a != NULL;
}

void
pending_pop(struct serve *sv, struct session *ss)
{
	session_pending_used(sv, ss, &ss->pending);
}

void
pending_give_up(struct serve *sv, struct session *ss)
{
	while (ss->pending != NULL)
		session_pending_end(sv, ss, &ss->pending);
}

void
pending_end(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	struct pending **link;
	uint32_t offset;

	if (ss == NULL || ss->pending == NULL)
		return; /* a line's end with the line, a kept one in pending_read_end() */
	offset = op_offset(ss, op);
	link = pending_link_at(ss, offset);
	if (*link != NULL && (*link)->offset == offset)
		session_pending_used(sv, ss, link);
}

/* Skips the rest of a retrieval line. Skipping is no operation, so requests asked for ahead
 * could not be matched: all are dropped, those of later lines, too. */
static void
line_skip(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;

	pending_give_up(sv, ss);
	session_defer(sv, ss, (uint32_t)(op + 1 - sv->ops));
	ss->parser.in_line = 0;
	ss->parser.swallow = MC_SWALLOW_LINE;
	conn_requeue(sv->stack, ss->conn);
}

/* Counts a line whose last key is not executed; other lines are counted when theirs is. */
static void
line_count(struct serve *sv, const struct op *op)
{
	const struct session *ss = op->session;
	const uint64_t since_ns =
		ss != NULL ? session_since_ns(sv, ss) : datagram_since_ns(sv, op->datagram);

	record_late(sv, &(struct asker){.session = op->session, .key = op->req.key},
		    residence_row(ss != NULL, REQUEST_MULTIGET), since_ns, 1);
}

void
pending_fail(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	reply_error(sv, op,
		    answer->error != MC_ERR_NONE ? (enum mc_error)answer->error : MC_ERR_NO_ANSWER);
	pending_end(sv, op);
	if (op->req.verb <= MC_GATS && !op_last(op))
		line_count(sv, op);
	if (op->session == NULL)
		pending_line_fail(sv, op);
	else if (op->req.verb <= MC_GATS && !op_last(op))
		line_skip(sv, op);
}

/* ---- the read buffer ---- */

void
pending_rebase(struct serve *sv, struct session *ss, uint32_t first)
{
	uint32_t base = ss->read_buf_at;

	for (uint32_t i = first; i < sv->op_count; i++)
		if (sv->ops[i].session == ss) {
			base = op_offset(ss, &sv->ops[i]);
			break;
		}
	while (ss->pending != NULL && ss->pending->offset < base)
		session_pending_end(sv, ss, &ss->pending);
	for (struct pending *a = ss->pending; a != NULL; a = a->next)
		a->offset -= base;
	ss->ahead_at -= base;
	ss->newer_at -= base < ss->newer_at ? base : ss->newer_at;
}

/* Returns the first pending request without an answer, or NULL. */
static const struct pending *
first_open(const struct session *ss)
{
	const struct pending *a = ss->pending;

	while (a != NULL && a->state != PENDING_ASKED)
		a = a->next;
	return a;
}

/* True if the session's next request waits. Only retrievals stand before a pending request:
 * what this pass may defer ends where it begins (serve_parse.c). */
static bool
retrievals_wait(struct session *ss)
{
	const struct pending *open = first_open(ss);
	const bool replying = ss->value.item != NULL || ss->stream.kind != NULL;

	if (ss->place_queued)
		return true;
	if (open == NULL || ss->parser.swallow || open->offset < ss->read_buf_at)
		return false;
	ss->deferrable_bytes = MC_LINE_MAX - (open->offset - ss->read_buf_at);
	return open->offset == ss->read_buf_at && !replying;
}

/* True if a session cannot use its place, because its client does not read. The place is granted
 * for one turn only. */
static bool
place_is_no_use(struct serve *sv, struct session *ss)
{
	if (!ss->place_granted || session_credit(sv, ss))
		return false;
	pending_postpone(sv, ss);
	return true;
}

/* Makes operations of kept requests, up to the first one that is still to be answered. */
static void
answers_push(struct serve *sv, struct session *ss)
{
	for (const struct pending *a = ss->kept;
	     a != NULL && a->state != PENDING_ASKED && sv->op_count < OPS_MAX; a = a->next) {
		struct op *op = &sv->ops[sv->op_count];

		op_push(sv, ss, a->kept->reads ? OP_KEPT_GET : OP_KEPT_WRITE);
		op->datagram = &a->kept->datagram;
		op->req.key = a->kept->req.key;
	}
}

bool
pending_wait(struct serve *sv, struct session *ss)
{
	const struct pending *kept = ss->kept;

	if (kept == NULL) {
		if (place_is_no_use(sv, ss))
			return true;
		if (ss->body != BODY_FILLED || ss->place_queued)
			return retrievals_wait(ss);
		if (first_open(ss) != NULL)
			return true;
		if (!session_credit(sv, ss))
			return true;
		ss->body = BODY_NONE;
		op_push(sv, ss, OP_BODY_DONE);
	} else if (kept->state == PENDING_ASKED) {
		return !session_may_pipeline(sv, ss);
	} else {
		answers_push(sv, ss);
	}
	ss->deferrable_bytes = 1; /* from here on: bytes behind it may go back */
	return false;
}

/* Pending requests of executed operations were not needed: a copy had been stored meanwhile. */
void
pending_sweep(struct serve *sv, struct session *ss)
{
	const bool none = ss->read_buf == NULL || ss->read_buf_at == ss->read_buf_len;

	if (ss->body == BODY_FILLED)
		return;
	while (ss->pending != NULL && (none || ss->pending->offset < ss->read_buf_at))
		session_pending_end(sv, ss, &ss->pending);
	if (ss->place_granted)
		pending_unqueue(sv, ss);
	ss->place_refused = false;
	if (!ss->place_queued)
		ss->place_since_ns = 0;
	if (ss->ahead)
		gets_ask_ahead(sv, ss);
}

void
pending_drop(struct serve *sv, struct pending *a)
{
	struct pending **link = pending_link_at(a->session, a->offset);

	while (*link != NULL && *link != a)
		link = &(*link)->next;
	ensure(*link == a);
	/* If it was the last one, the bytes that follow lie elsewhere in the buffer. */
	a->session->ahead = false;
	session_leave_out(a->session, a->hash);
	session_pending_end(sv, a->session, link);
}

void
pending_forget(struct serve *sv, struct session *ss)
{
	pending_unqueue(sv, ss); /* first, so that the session is not granted its own place */
	pending_give_up(sv, ss);
	while (ss->kept != NULL)
		session_pending_end(sv, ss, &ss->kept);
}

void
pending_pass_end(struct serve *sv)
{
	struct pending_table *pt = sv->pending;
	const bool more = sv->more && sv->pass - pt->turn_pass < PASSES_MAX;

	pending_lines_pass_end(sv);
	if (!pt->asked_in_turn || more)
		return;
	if (pt->backend.passes_end != NULL)
		pt->backend.passes_end(pt->backend.arg);
	pt->asked_in_turn = false;
}
