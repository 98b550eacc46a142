/*
 * pending_order.c - retrievals of connections that wait for a backend, and their order.
 *
 * A request that waits goes back into the read buffer as bytes, and so do all requests that follow
 * it. They are parsed and executed again when their answers have arrived. So every operation is
 * executed at its turn; only the asking is done ahead.
 */
#include "pending_parts.h"

#include "serve/serve_record.h"
#include "serve/serve_since.h"

#define MISSED_TRIES_MAX 8u /* most tries while other cores store and evict the key */

/* Returns the pending request at this offset, or one of the same line whose answer an earlier get
 * of this key has used, too. NULL: there is none. */
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

enum pending_status {
	PENDING_ANSWERED, /* *answer is the backend's answer; pending_end() must follow */
	PENDING_FAILED,   /* the reply is an error; pending_fail() must follow */
	PENDING_LATER,    /* pending_later() must follow */
};

/* Buffers that have a place do not count. Otherwise peers that stop amid a line would take the
 * buffers of others. */
bool
pending_may_defer(const struct serve *sv, const struct session *ss)
{
	const uint32_t waiting = sv->read_bufs_used - sv->read_buf_places.holders;

	return ss->read_buf != NULL || waiting < sv->read_bufs_max / 2;
}

const struct item *
pending_missed(struct serve *sv, const struct op *op)
{
	const struct backend *by = &sv->pending->backend;
	const struct item *it = NULL;

	for (uint32_t tries = 0;
	     by->tier.missed != NULL && it == NULL && tries < MISSED_TRIES_MAX &&
	     !by->tier.missed(by->arg, op->req.key, op->hash);
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
	/* Op is kept, or its body arrived in pieces: its request is the first of its list. */
	if (op->raw.data == NULL)
		return op->session->kept != NULL ? op->session->kept : op->session->pending;
	return op->session->pending != NULL
		       ? pending_at(op->session, op_offset(op->session, op), op->hash)
		       : NULL;
}

/* Asks again for a key that was promoted and has been evicted since. False: the backend no longer
 * has it, or it was asked for PENDING_TIMES_MAX times. */
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
		a->offset = op_offset(op->session, op); /* before the bytes of op go back */
	op->session->pending_counted = op->raw.data != NULL && (op->req.flags & MC_FIRST) != 0;
	return true;
}

/* Asks for a session's retrieval, and for those that follow. If there is no place, queues the
 * session. */
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
	if (unlikely(ss->reader != READER_PROVEN) && !pending_newcomer_asks(sv, ss)) {
		ss->ahead = false;
		pending_newcomer_wait(sv, ss);
		return PENDING_LATER;
	}
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

static enum pending_status
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

/* Asks for a promotion, or queues the session. False: op is executed without the promotion. */
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
	ss->ahead_at = 0;
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

static bool
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

/* Skips the rest of a retrieval line. The offsets of requests asked for ahead would no longer
 * match, since skipped keys are not executed. So all of these are dropped, also those of later
 * lines. */
static void
line_rest_skip(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;

	pending_give_up(sv, ss);
	session_defer(sv, ss, (uint32_t)(op + 1 - sv->ops));
	ss->parser.in_line = 0;
	ss->parser.swallow = MC_SWALLOW_LINE;
	conn_requeue(sv->stack, ss->conn);
}

/* Counts a line whose last key is not executed. Any other line is counted with its last key. */
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
		line_rest_skip(sv, op);
}

/* ---- replies ---- */

static completer *const completers[MC_VERB_COUNT] = {
	[MC_GET... MC_GATS] = get_completed,
	[MC_SET... MC_CAS] = store_completed,
	[MC_DELETE] = delete_completed,
	[MC_INCR... MC_DECR] = arith_completed,
	[MC_TOUCH] = touch_completed,
	[MC_MG] = mg_completed,
	[MC_MS] = store_completed,
	[MC_MD] = md_completed,
	[MC_MA] = ma_completed,
	[MC_FLUSH_ALL] = flush_completed,
	[MC_BIN_GET... MC_BIN_GAT] = bin_get_completed,
	[MC_BIN_TOUCH] = bin_touch_completed,
	[MC_BIN_SET... MC_BIN_PREPEND] = store_completed,
	[MC_BIN_DELETE] = bin_delete_completed,
	[MC_BIN_INCR... MC_BIN_DECR] = bin_arith_completed,
	[MC_BIN_FLUSH] = flush_completed,
};

enum exec_status
pending_complete(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	return completers[op->req.verb](sv, op, answer);
}

/* Composes a reply from an answer whose value may still be arriving. */
static NOT_FLAT enum exec_status
arrival_complete(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	enum exec_status status;

	pending_arrival_read(sv, op->session, (uint32_t)answer->arrival,
			     pending_of(sv, op)->ticket);
	status = pending_complete(sv, op, answer);
	if (status != EXEC_PARTIAL) /* the reply has no value */
		pending_arrival_leave(sv, op->session);
	return status;
}

/* ---- execution ---- */

static bool
touches(const struct op *op)
{
	if (op->req.verb == MC_MG)
		return (op->req.meta.flags & MC_FLAG_SET_EXPTIME) != 0;
	return op->req.verb == MC_BIN_GAT || op->req.verb == MC_GAT || op->req.verb == MC_GATS;
}

__attribute__((noinline)) enum exec_status
read_pending(struct serve *sv, struct op *op)
{
	struct backend_answer answer;
	enum exec_status status;

	switch (pending_read(sv, op, &answer)) {
	case PENDING_LATER:
		return pending_later(op);
	case PENDING_FAILED:
		if (op->req.verb == MC_MG)
			serve_count(sv, CMD_META);
		record_get(sv, op, NULL, touches(op));
		pending_fail(sv, op, &answer);
		return EXEC_DONE;
	default:
		break;
	}
	if (answer.item != NULL && op->session != NULL)
		pending_length_seen(sv->pending, op->session, answer.item);
	status = likely(answer.arrival == 0) ? pending_complete(sv, op, &answer)
					     : arrival_complete(sv, op, &answer);
	if (unlikely(status == EXEC_PARTIAL) && op->session != NULL)
		pending_unread_value(sv, op->session);
	pending_end(sv, op);
	return status;
}

/* Completes a retrieval with the store's copy. it NULL: the copy shows that the key is a miss. */
static enum exec_status
read_copied(struct serve *sv, struct op *op, const struct item *it, uint64_t cas)
{
	pending_copies_used(sv, op, 1);
	if (op->req.verb == MC_MG)
		return mg_execute(sv, op, it, sv->backend_mode >= BACKEND_WRITES ? &cas : NULL);
	return pending_complete(sv, op, &(struct backend_answer){.item = it, .cas = cas});
}

/* Executes a retrieval. The item found first may be no copy that answers, and a second lookup may
 * find another item. */
enum exec_status
pending_execute_read(struct serve *sv, struct op *op)
{
	const struct item *it = op->req.verb == MC_MG
					? store_peek_probed(sv->store, &op->probe, op->req.key)
					: store_get_probed(sv->store, &op->probe, op->req.key);
	uint64_t cas = 0;
	const enum backend_copy copy = pending_copy(sv, &op->req, it, &cas);

	if (copy == BACKEND_COPY_NONE)
		return read_pending(sv, op);
	if (op->req.verb <= MC_GETS && unlikely(line_has_answered(sv, op)))
		return read_pending(sv, op);
	return read_copied(sv, op, copy == BACKEND_COPY_HERE ? it : NULL, cas);
}

/* ---- ends ---- */

/* A request may still be pending although its operation was executed: a copy was stored meanwhile,
 * and answered. */
void
pending_sweep(struct serve *sv, struct session *ss)
{
	const bool none = ss->read_buf == NULL ||
			  (ss->read_buf_at == ss->read_buf_len && !session_asks_beyond(ss));

	if (ss->body == BODY_FILLED)
		return;
	while (ss->pending != NULL && (none || ss->pending->offset < ss->read_buf_at))
		session_pending_end(sv, ss, &ss->pending);
	if (ss->place_granted)
		pending_unqueue(sv, ss);
	ss->place_refused = false;
	if (!ss->place_queued)
		ss->place_since_ns = 0;
	if (ss->ahead && session_has_more(ss))
		gets_ask_ahead(sv, ss);
	else
		asked_bytes_move(sv, ss);
}

void
pending_forget(struct serve *sv, struct session *ss)
{
	pending_unread_forget(sv, ss);
	pending_arrival_leave(sv, ss);
	/* Before all else, so that the session is not granted the place that it gives back. */
	pending_unqueue(sv, ss);
	pending_give_up(sv, ss);
	while (ss->kept != NULL)
		session_pending_end(sv, ss, &ss->kept);
}
