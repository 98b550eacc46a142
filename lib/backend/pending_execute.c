/*
 * pending_execute.c - visits and execution with a backend: visits sessions that wait, parses
 * requests that follow kept ones, executes operations by their verb's code or by asking the
 * backend.
 */
#include "pending_parts.h"

#include "serve/serve_parse.h"
#include "serve/serve_record.h"
#include "store/tier.h"

/* ---- requests that follow kept ones ---- */

/* Most retrievals kept after one write. Further ones wait until all of these are completed, since
 * many more can be asked for ahead then (pending_ahead.c). */
#define READS_BEHIND_MAX PENDING_KEPT_MAX

/* True if op may be kept after the session's kept requests. A write that may need a part of the
 * turn's work may not, since it would delay the replies before it. The client's role is not
 * checked: a client that may write may also read. */
static bool
may_follow(struct serve *sv, const struct session *ss, struct op *op)
{
	if (!session_may_pipeline(sv, ss) || ss->pending_count + ss->pass_ops >= PENDING_KEPT_MAX)
		return false;
	if (!kept_have_room(sv)) {
		kept_make_room(sv);
		return false;
	}
	op->hash = store_hash(sv->store, op->req.key);
	if (pending_is_keyed_read(&op->req))
		return ss->reads_behind < READS_BEHIND_MAX;
	return pending_is_keyed_write(&op->req) &&
	       !(op_is(op, VERB_TAKES_WORK) && copies_value(&op->req)) &&
	       pending_may_follow(sv, op);
}

/* Ends parsing before a request that must wait. An answer in this pass may let parsing continue;
 * otherwise the next answer makes the session ready. */
static enum parse_step
wait_step(const struct session *ss)
{
	return ss->pass_ops > 0 ? PARSE_NEXT_PASS : PARSE_WAIT;
}

/* Accepts a complete request, unless the bytes that this pass may have to put back would then
 * exceed a read buffer. */
static enum parse_step
behind_accept(struct serve *sv, struct session *ss, struct view raw, uint32_t used)
{
	struct op *op = &sv->ops[sv->op_count];

	if (ss->deferrable_bytes + raw.len > MC_LINE_MAX && ss->pass_ops > 0) {
		ss->parser = op->before;
		return PARSE_NEXT_PASS;
	}
	ss->deferrable_bytes += raw.len;
	if (op->req.flags & MC_HAS_BODY)
		op->body = (struct view){raw.data + used, raw.len - used};
	op->raw = raw;
	session_skip(sv->stack, ss, raw.len);
	op_commit(sv, ss);
	return PARSE_CONTINUE;
}

/* Accepts a request, whose line has this many bytes of src, once its body is complete, so that it
 * can be executed again. A request with a bad end, or one larger than a read buffer, waits. */
static enum parse_step
behind_take(struct serve *sv, struct session *ss, struct view src, uint32_t used)
{
	struct op *op = &sv->ops[sv->op_count];
	const struct mc_req *req = &op->req;
	const bool has_body = (req->flags & MC_HAS_BODY) != 0;
	const uint64_t bytes = has_body ? (uint64_t)used + req->body_len + req->body_end : used;

	if (bytes <= MC_LINE_MAX && bytes <= src.len &&
	    (!has_body || req->body_end == 0 ||
	     memcmp(src.data + used + req->body_len, "\r\n", 2) == 0))
		return behind_accept(sv, ss, (struct view){src.data, (uint32_t)bytes}, used);
	ss->parser = op->before;
	return bytes <= MC_LINE_MAX && bytes > src.len
		       ? request_gather(sv, ss, src.len, (uint32_t)bytes)
		       : wait_step(ss);
}

static enum parse_step
behind_parse(struct serve *sv, struct session *ss, struct view src)
{
	struct op *op = op_append(sv, ss);
	const struct mc_result r = mc_parse(&ss->parser, &op->req, src.data, src.len);

	if (r.status == MC_OK && may_follow(sv, ss, op))
		return behind_take(sv, ss, src, r.used);
	ss->parser = op->before;
	return r.status == MC_MORE && r.used == 0 ? request_gather(sv, ss, src.len, 0)
						  : wait_step(ss);
}

static enum parse_step
behind_step(struct serve *sv, struct session *ss)
{
	const enum parse_step room = request_room(sv, ss);
	uint64_t since_ns;
	struct view src;

	if (room != PARSE_CONTINUE)
		return room;
	src = session_peek_since(ss, &since_ns);
	if (src.len == 0 || ss->body != BODY_NONE || ss->parser.swallow || ss->parser.in_line)
		return wait_step(ss);
	return request_begin(sv, ss, since_ns) ? behind_parse(sv, ss, src) : wait_step(ss);
}

/* Each step that does not end the loop uses up bytes, which bounds it. */
static enum parse_step
kept_behind_parse(struct serve *sv, struct session *ss)
{
	enum parse_step step;

	do
		step = behind_step(sv, ss);
	while (step == PARSE_CONTINUE);
	return step;
}

uint32_t
pending_hits_execute(struct serve *sv, uint32_t first)
{
	uint32_t hits;

	if (sv->backend_mode == BACKEND_BYPASSED)
		return 0;
	hits = gets_execute_hits(sv, first);
	if (hits != 0)
		pending_copies_used(sv, &sv->ops[first], hits);
	return hits;
}

/* Executes `me`, which shows a copy that may answer, and nothing else. */
static enum exec_status
me_copied(struct serve *sv, struct op *op)
{
	const struct item *it = store_peek_probed(sv->store, &op->probe, op->req.key);

	uint64_t cas;

	return me_execute(sv, op,
			  pending_copy(sv, &op->req, it, &cas) == BACKEND_COPY_HERE ? it : NULL);
}

/* ---- visits ---- */

/* Returns the session's first pending request without an answer, or NULL. */
static const struct pending *
first_open(const struct session *ss)
{
	const struct pending *a = ss->pending;

	while (a != NULL && a->state != PENDING_ASKED)
		a = a->next;
	return a;
}

/* True if the session's next request waits. Before a pending request there are only retrievals,
 * since bytes go back only from there on (serve_parse.c). */
static bool
retrievals_wait(struct session *ss)
{
	const struct pending *open = first_open(ss);
	const bool replying = ss->value.item != NULL || ss->stream.kind != NULL;
	uint32_t ahead;

	if (ss->place_queued)
		return true;
	if (open == NULL || ss->parser.swallow || open->offset < ss->read_buf_at)
		return false;
	ahead = open->offset - ss->read_buf_at;
	ss->deferrable_bytes = MC_LINE_MAX - (ahead < MC_LINE_MAX ? ahead : MC_LINE_MAX - 1);
	return open->offset == ss->read_buf_at && !replying;
}

/* True if a session cannot use its granted place because its client does not read. A place is
 * granted for one turn. */
static bool
place_is_no_use(struct serve *sv, struct session *ss)
{
	if (!ss->place_granted || session_credit(sv, ss))
		return false;
	pending_postpone(sv, ss);
	return true;
}

/* Makes operations of the session's kept requests, up to the first without an answer. */
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

static bool
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
	ss->deferrable_bytes = 1; /* from here on bytes may go back */
	return false;
}

bool
pending_resume(struct serve *sv, struct session *ss)
{
	if (ss->newer_since_ns != 0 && ss->read_buf_at >= ss->newer_at) {
		ss->read_buf_since_ns = ss->newer_since_ns;
		ss->newer_since_ns = 0;
	}
	do
		gets_complete(sv, ss);
	while (asked_bytes_move(sv, ss));
	if (ss->ahead && ss->pending != NULL && session_has_more(ss))
		gets_ask_ahead(sv, ss);
	if (pending_wait(sv, ss))
		return false;
	if (!session_keeps_open(ss))
		return true;
	sv->read_bufs_in_use = true; /* so that the pass ends with pending_sweep() */
	session_visit_end(sv, ss, kept_behind_parse(sv, ss));
	return false;
}

/* ---- promotion ---- */

/* Executes an operation that depends on the stored version, after the backend was asked to promote
 * its key. If the store still lacks the key, a write makes the backend forget it. mg and me only
 * read, and pending_missed() makes the backend forget it for them. */
static enum exec_status
execute_here(struct serve *sv, struct op *op, const struct item *it)
{
	if (op->req.verb != MC_MG && op->req.verb != MC_ME)
		return verb_execute(sv, op);
	if (it == NULL)
		it = store_peek(sv->store, op->req.key, op->hash);
	if (it == NULL)
		it = pending_missed(sv, op);
	return op->req.verb == MC_MG ? mg_execute(sv, op, it, NULL) : me_execute(sv, op, it);
}

static enum exec_status
execute_promoted(struct serve *sv, struct op *op)
{
	const struct item *it = store_peek_probed(sv->store, &op->probe, op->req.key);
	enum exec_status a;

	/* The body has not arrived yet; execute_body_promoted() is called when it has. */
	if ((op->req.flags & MC_HAS_BODY) && op->body.data == NULL)
		return verb_execute(sv, op);
	if (it == NULL && pending_promote(sv, op)) {
		if (op->session != NULL && op->session->memory_wait_turns != 0)
			session_go_on(sv, op->session);
		return pending_later(op);
	}
	store_spare(sv->store, op->hash);
	a = execute_here(sv, op, it);
	store_spare(sv->store, 0);
	return a;
}

/* Does what execute_promoted() does, for an operation whose body arrived in pieces. */
static enum exec_status
execute_body_promoted(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	enum exec_status a;

	if (!ss->bad_end && pending_promotes(&ss->filling_req)) {
		op->req = ss->filling_req;
		op->req.key = item_key(ss->fill.item);
		op->hash = ss->fill.hash;
		/* The value is complete, and keeps its part of the quota. */
		list_unlink(&ss->quota_link);
		if (store_peek(sv->store, op->req.key, op->hash) == NULL &&
		    pending_promote(sv, op)) {
			ss->body = BODY_FILLED;
			return EXEC_RETRY;
		}
	}
	pending_give_up(sv, ss);
	store_spare(sv->store, ss->fill.hash);
	a = execute_body_done(sv, op);
	store_spare(sv->store, 0);
	return a;
}

/* ---- any operation ---- */

/* Executes a get that touches its item. The store executes it, unless it lacks the key. */
static enum exec_status
touch_execute(struct serve *sv, struct op *op)
{
	return store_peek_probed(sv->store, &op->probe, op->req.key) == NULL ? read_pending(sv, op)
									     : verb_execute(sv, op);
}

static enum exec_status
body_execute(struct serve *sv, struct op *op)
{
	if (sv->backend_mode >= BACKEND_WRITES)
		return execute_filled_write(sv, op);
	return sv->backend_mode == BACKEND_PROMOTES ? execute_body_promoted(sv, op)
						    : verb_execute(sv, op);
}

__attribute__((noinline)) enum exec_status
pending_execute(struct serve *sv, struct op *op)
{
	const bool write = pending_is_write(sv, &op->req),
		   writes = sv->backend_mode >= BACKEND_WRITES;
	const uint8_t verb = op->req.verb;

	if (verb == OP_KEPT_GET || verb == OP_KEPT_WRITE)
		return verb == OP_KEPT_GET ? execute_kept_read(sv, op) : execute_kept_write(sv, op);
	if (verb == OP_BODY_DONE)
		return body_execute(sv, op);
	if (sv->backend_mode == BACKEND_PROMOTES && pending_promotes(&op->req))
		return execute_promoted(sv, op);
	if (write && (op->session != NULL || !op_is(op, VERB_RETURNS_VALUE)))
		return execute_write(sv, op);
	if (verb <= MC_GETS || verb == MC_MG || verb == MC_BIN_GET)
		return writes && op->session != NULL && op->session->kept != NULL
			       ? execute_read_behind(sv, op)
			       : pending_execute_read(sv, op);
	if (writes && verb == MC_ME)
		return me_copied(sv, op);
	if (write)
		return read_pending(sv, op);
	if (op_is(op, VERB_WRITES))
		pending_sets(sv, op);
	return op_is(op, VERB_RETURNS_VALUE) ? touch_execute(sv, op) : verb_execute(sv, op);
}
