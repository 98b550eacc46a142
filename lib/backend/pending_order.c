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
await_reads(const struct mc_req *req)
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
static struct await *
await_at(struct session *ss, uint32_t offset, uint64_t hash)
{
	struct await *a = *await_link_at(ss, offset);

	if (a != NULL && a->offset == offset)
		return a;
	while (a != NULL && (!a->passed_on || a->hash != hash))
		a = a->next;
	return a;
}

bool
await_may_defer(const struct serve *sv, const struct session *ss)
{
	return ss->read_buf != NULL || sv->read_bufs_used < sv->read_bufs_max / 2;
}

const struct item *
await_missed(struct serve *sv, const struct op *op)
{
	const struct serve_supplier *by = &sv->awaits->supplier;
	const struct item *it = NULL;

	for (uint32_t tries = 0; by->missed != NULL && it == NULL && tries < MISSED_TRIES_MAX &&
				 !by->missed(by->arg, op->req.key, op->hash);
	     tries++)
		it = store_peek(sv->store, op->req.key, op->hash);
	return it;
}

static enum await_status
failed(struct serve *sv, const struct op *op, struct serve_answer *answer)
{
	serve_count(sv, AWAITS_FAILED);
	if (!sv->awaits->supplier.misses_on_failure || op->req.verb == MC_GAT ||
	    op->req.verb == MC_GATS || op->req.verb == MC_BIN_GAT || await_is_write(sv, &op->req))
		return AWAIT_FAILED;
	answer->item = await_missed(sv, op);
	answer->cas = answer->item != NULL ? item_cas(answer->item) : 0;
	return AWAIT_ANSWERED;
}

static struct await *
await_of(struct serve *sv, const struct op *op)
{
	if (op->session == NULL)
		return awaited_line_find(sv, op);
	if (op->raw.data == NULL) /* kept, or a body's: the first one listed is its own */
		return op->session->kept != NULL ? op->session->kept : op->session->awaits;
	return op->session->awaits != NULL
		       ? await_at(op->session, op_offset(op->session, op), op->hash)
		       : NULL;
}

/* Asks again for a key that was promoted and evicted again. False if the backend has it no
 * more, or it was asked for AWAIT_TIMES_MAX times. */
static bool
ask_again(struct serve *sv, struct op *op, struct await *a)
{
	if (a->times >= AWAIT_TIMES_MAX || sv->awaits->draining ||
	    !await_may_have(sv, op->req.key, op->hash))
		return false;
	serve_count(sv, AWAITS_AGAIN);
	await_ask_again(sv, a, &op->req, op->req.key);
	if (op->session == NULL) {
		awaited_line_again(sv, op);
		return true;
	}
	if (op->raw.data == NULL)
		a->offset = op_offset(op->session, op); /* before what goes back */
	op->session->await_counted = op->raw.data != NULL && (op->req.flags & MC_FIRST) != 0;
	return true;
}

/* Asks for a retrieval of a session, and for others behind it, or queues the session. */
static enum await_status
session_wait_answer(struct serve *sv, struct op *op, struct serve_answer *answer)
{
	struct session *ss = op->session;
	uint32_t offset;

	if (sv->awaits->draining || ss->await_refused || !await_may_defer(sv, ss)) {
		ss->await_refused = false;
		ss->await_since_ns = 0;
		return failed(sv, op, answer);
	}
	ss->await_counted = (op->req.flags & MC_FIRST) != 0;
	offset = op_offset(ss, op);
	if (await_ask_at(sv, op, await_link_at(ss, offset), offset)) {
		ss->ahead = awaits_ask_ahead(sv, op) && session_is_ahead(ss);
	} else {
		ss->ahead = false;
		await_queue(sv, ss, op->req.key, op->hash, 0);
	}
	return AWAIT_LATER;
}

/* Asks for a kept retrieval at its turn. */
static enum await_status
unasked_read(struct serve *sv, struct op *op, struct await *a, struct serve_answer *answer)
{
	if (sv->awaits->draining)
		return failed(sv, op, answer);
	if (!await_may_have(sv, op->req.key, op->hash))
		return AWAIT_ANSWERED;
	await_ask_again(sv, a, &op->req, op->req.key);
	return AWAIT_LATER;
}

enum await_status
await_read(struct serve *sv, struct op *op, struct serve_answer *answer)
{
	struct await *a = await_of(sv, op);

	*answer = (struct serve_answer){0};
	if (a != NULL && a->state == AWAIT_UNASKED)
		return unasked_read(sv, op, a, answer);
	if (a != NULL && a->state == AWAIT_READY && a->answer.here && ask_again(sv, op, a))
		return AWAIT_LATER;
	if (a != NULL && a->state == AWAIT_READY) {
		*answer = a->answer;
		if (answer->error != MC_ERR_NONE)
			return AWAIT_FAILED;
		return answer->failed ? failed(sv, op, answer) : AWAIT_ANSWERED;
	}
	if (a == NULL && !await_may_have(sv, op->req.key, op->hash))
		return AWAIT_ANSWERED;
	if (op->session == NULL) {
		if (sv->awaits->draining || awaited_line_is_late(sv, op))
			return failed(sv, op, answer);
		awaited_line_keep(sv, op);
		return AWAIT_LATER;
	}
	if (a == NULL)
		return session_wait_answer(sv, op, answer);
	op->session->await_counted = (op->req.flags & MC_FIRST) != 0;
	return AWAIT_LATER;
}

/* ---- promotion ---- */

/* Asks for a promotion, or queues the session. False: op is executed without it. */
static bool
session_bring(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	const bool bytes = op->raw.data != NULL;
	const uint32_t offset = op_offset(ss, op);

	if (sv->awaits->draining || ss->await_refused || (bytes && !await_may_defer(sv, ss))) {
		ss->await_refused = false;
		ss->await_since_ns = 0;
		return false;
	}
	ss->await_counted = bytes && (op->req.flags & MC_FIRST) != 0;
	if (!await_ask_at(sv, op, await_link_at(ss, offset), offset))
		await_queue(sv, ss, op->req.key, op->hash, 0);
	return true;
}

bool
await_bring(struct serve *sv, struct op *op)
{
	struct await *a = await_of(sv, op);

	if (a == NULL && !await_may_have(sv, op->req.key, op->hash))
		return false;
	if (a == NULL && op->session != NULL && session_bring(sv, op))
		return true;
	if (op->session == NULL && (a == NULL || a->state != AWAIT_READY) &&
	    !sv->awaits->draining && !awaited_line_is_late(sv, op)) {
		awaited_line_keep(sv, op);
		return true;
	}
	if (op->session != NULL && a != NULL && a->state != AWAIT_READY) {
		op->session->await_counted = (op->req.flags & MC_FIRST) != 0;
		return true;
	}
	if (a != NULL && a->state == AWAIT_READY && a->answer.here && ask_again(sv, op, a))
		return true;
	if (a == NULL || a->state != AWAIT_READY || a->answer.failed) {
		serve_count(sv, AWAITS_FAILED);
		await_missed(sv, op);
	}
	return false;
}

static void
session_await_end(struct serve *sv, struct session *ss, struct await **link)
{
	struct await *a = *link;

	*link = a->next;
	ss->passed_on -= a->passed_on;
	await_free(sv, a);
}

/* Passes an answer on to later gets of its line: the pending request moves to the offset of the
 * last of them. */
static void
pass_on(struct session *ss, struct await **link)
{
	struct await *a = *link;

	*link = a->next;
	a->offset += a->more;
	a->more = 0;
	ss->passed_on += !a->passed_on;
	a->passed_on = true;
	a->bytes = 0; /* the later gets have other lengths */
	link = await_link_from(link, a->offset);
	a->next = *link;
	*link = a;
}

/* Ends a pending request whose request is answered, unless later gets of its line take the
 * answer too. */
static void
session_await_used(struct serve *sv, struct session *ss, struct await **link)
{
	if (unlikely((*link)->more != 0))
		pass_on(ss, link);
	else
		session_await_end(sv, ss, link);
}

bool
await_is_told(struct serve *sv, const struct op *op)
{
	struct session *ss = op->session;
	const struct await *a;

	if (ss == NULL)
		return awaited_line_find(sv, op) != NULL;
	if (likely(ss->passed_on == 0))
		return false;
	a = ss->awaits;
	while (a != NULL && (!a->passed_on || a->hash != op->hash))
		a = a->next;
	return a != NULL;
}

void
awaits_pop(struct serve *sv, struct session *ss)
{
	session_await_used(sv, ss, &ss->awaits);
}

void
awaits_give_up(struct serve *sv, struct session *ss)
{
	while (ss->awaits != NULL)
		session_await_end(sv, ss, &ss->awaits);
}

void
await_end(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	struct await **link;
	uint32_t offset;

	if (ss == NULL || ss->awaits == NULL)
		return; /* a line's end with the line, a kept one in await_read_end() */
	offset = op_offset(ss, op);
	link = await_link_at(ss, offset);
	if (*link != NULL && (*link)->offset == offset)
		session_await_used(sv, ss, link);
}

/* Skips the rest of a retrieval line. Skipping is no operation, so requests asked for ahead
 * could not be matched: all are dropped, those of later lines, too. */
static void
line_skip(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;

	awaits_give_up(sv, ss);
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
await_fail(struct serve *sv, struct op *op, const struct serve_answer *answer)
{
	reply_error(sv, op,
		    answer->error != MC_ERR_NONE ? (enum mc_error)answer->error : MC_ERR_NO_ANSWER);
	await_end(sv, op);
	if (op->req.verb <= MC_GATS && !op_last(op))
		line_count(sv, op);
	if (op->session == NULL)
		awaited_line_fail(sv, op);
	else if (op->req.verb <= MC_GATS && !op_last(op))
		line_skip(sv, op);
}

/* ---- the read buffer ---- */

void
awaits_rebase(struct serve *sv, struct session *ss, uint32_t first)
{
	uint32_t base = ss->read_buf_at;

	for (uint32_t i = first; i < sv->op_count; i++)
		if (sv->ops[i].session == ss) {
			base = op_offset(ss, &sv->ops[i]);
			break;
		}
	while (ss->awaits != NULL && ss->awaits->offset < base)
		session_await_end(sv, ss, &ss->awaits);
	for (struct await *a = ss->awaits; a != NULL; a = a->next)
		a->offset -= base;
	ss->ahead_at -= base;
	ss->newer_at -= base < ss->newer_at ? base : ss->newer_at;
}

/* Returns the first pending request without an answer, or NULL. */
static const struct await *
first_open(const struct session *ss)
{
	const struct await *a = ss->awaits;

	while (a != NULL && a->state != AWAIT_ASKED)
		a = a->next;
	return a;
}

/* True if the session's next request waits. Only retrievals stand before a pending request:
 * what this pass may defer ends where it begins (serve_parse.c). */
static bool
retrievals_wait(struct session *ss)
{
	const struct await *open = first_open(ss);
	const bool replying = ss->value.item != NULL || ss->stream.kind != NULL;

	if (ss->await_queued)
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
	if (!ss->await_granted || session_credit(sv, ss))
		return false;
	await_postpone(sv, ss);
	return true;
}

/* Makes operations of kept requests, up to the first one that is still to be answered. */
static void
answers_push(struct serve *sv, struct session *ss)
{
	for (const struct await *a = ss->kept;
	     a != NULL && a->state != AWAIT_ASKED && sv->op_count < OPS_MAX; a = a->next) {
		struct op *op = &sv->ops[sv->op_count];

		op_push(sv, ss, a->kept->reads ? OP_KEPT_GET : OP_KEPT_WRITE);
		op->datagram = &a->kept->datagram;
		op->req.key = a->kept->req.key;
	}
}

bool
awaits_wait(struct serve *sv, struct session *ss)
{
	const struct await *kept = ss->kept;

	if (kept == NULL) {
		if (place_is_no_use(sv, ss))
			return true;
		if (ss->body != BODY_FILLED || ss->await_queued)
			return retrievals_wait(ss);
		if (first_open(ss) != NULL)
			return true;
		if (!session_credit(sv, ss))
			return true;
		ss->body = BODY_NONE;
		op_push(sv, ss, OP_BODY_DONE);
	} else if (kept->state == AWAIT_ASKED) {
		return !session_may_pipeline(sv, ss);
	} else {
		answers_push(sv, ss);
	}
	ss->deferrable_bytes = 1; /* from here on: bytes behind it may go back */
	return false;
}

/* Pending requests of executed operations were not needed: a copy had been stored meanwhile. */
void
awaits_sweep(struct serve *sv, struct session *ss)
{
	const bool none = ss->read_buf == NULL || ss->read_buf_at == ss->read_buf_len;

	if (ss->body == BODY_FILLED)
		return;
	while (ss->awaits != NULL && (none || ss->awaits->offset < ss->read_buf_at))
		session_await_end(sv, ss, &ss->awaits);
	if (ss->await_granted)
		await_unqueue(sv, ss);
	ss->await_refused = false;
	if (!ss->await_queued)
		ss->await_since_ns = 0;
	if (ss->ahead)
		gets_ask_ahead(sv, ss);
}

void
await_drop(struct serve *sv, struct await *a)
{
	struct await **link = await_link_at(a->session, a->offset);

	while (*link != NULL && *link != a)
		link = &(*link)->next;
	ensure(*link == a);
	/* If it was the last one, the bytes that follow lie elsewhere in the buffer. */
	a->session->ahead = false;
	session_leave_out(a->session, a->hash);
	session_await_end(sv, a->session, link);
}

void
awaits_forget(struct serve *sv, struct session *ss)
{
	await_unqueue(sv, ss); /* first, so that the session is not granted its own place */
	awaits_give_up(sv, ss);
	while (ss->kept != NULL)
		session_await_end(sv, ss, &ss->kept);
}

void
awaits_pass_end(struct serve *sv)
{
	struct awaits *aw = sv->awaits;
	const bool more = sv->more && sv->pass - aw->turn_pass < PASSES_MAX;

	awaited_lines_pass_end(sv);
	if (!aw->asked_in_turn || more)
		return;
	if (aw->supplier.passes_end != NULL)
		aw->supplier.passes_end(aw->supplier.arg);
	aw->asked_in_turn = false;
}
