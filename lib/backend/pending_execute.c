/*
 * pending_execute.c - parsing and execution where a backend is attached: requests behind kept
 * ones, and all operations, by the code of their verb or by asking the backend.
 */
#include "pending_parts.h"

#include "serve/serve_parse.h"
#include "serve/serve_record.h"
#include "store/tier.h"

/* ---- requests behind kept ones ---- */

/* Retrievals that are kept behind one write. Further ones wait until all of these are
 * completed; then many more are asked for at a time, ahead of their turn (pending_ahead.c). */
#define READS_BEHIND_MAX PENDING_KEPT_MAX

/* True if an earlier operation of this pass names the key. That operation is kept as soon as it
 * is executed. */
static bool
pass_names(const struct serve *sv, const struct op *op)
{
	for (const struct op *before = op; before > sv->ops && before[-1].session == op->session;
	     before--)
		if (!op_is_kept(&before[-1]) && before[-1].hash == op->hash)
			return true;
	return false;
}

/* True if op may be kept behind the session's kept requests. A write that may need a share of
 * the turn's work may not: it would delay the replies of those before it. No role is checked:
 * one that may write may read, too. */
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
	       pending_find(ss->kept, op->hash) == NULL && !pass_names(sv, op);
}

/* Ends parsing before a request that must wait. An answer in this pass may let it go on;
 * otherwise the next answer makes the session ready. */
static enum parse_step
put_off(const struct session *ss)
{
	return ss->pass_ops > 0 ? PARSE_NEXT_PASS : PARSE_WAIT;
}

/* Accepts a complete request, unless what this pass may have to put back would no longer fit a
 * read buffer. */
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

/* Accepts a request whose line has used this many bytes of src, once its body is complete,
 * so that it can be executed again. A request with a bad end, or larger than a read buffer,
 * waits. */
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
		       : put_off(ss);
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
						  : put_off(ss);
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
		return put_off(ss);
	if (!session_credit(sv, ss))
		return put_off(ss);
	if (unlikely(since_ns != sv->clock.now_ns))
		session_is_late(sv, ss, since_ns);
	return behind_parse(sv, ss, src);
}

/* Bounded: each step that does not end the loop uses up bytes. */
enum parse_step
kept_behind_parse(struct serve *sv, struct session *ss)
{
	enum parse_step step;

	do
		step = behind_step(sv, ss);
	while (step == PARSE_CONTINUE);
	return step;
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

/* ---- retrievals ---- */

static bool
touches(const struct op *op)
{
	if (op->req.verb == MC_MG)
		return (op->req.meta.flags & MC_FLAG_SET_EXPTIME) != 0;
	return op->req.verb == MC_BIN_GAT || op->req.verb == MC_GAT || op->req.verb == MC_GATS;
}

static __attribute__((noinline)) enum exec_status
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
	status = pending_complete(sv, op, &answer);
	pending_end(sv, op);
	return status;
}

/* Completes a retrieval with the store's copy; it NULL: a miss copy. */
static enum exec_status
read_copied(struct serve *sv, struct op *op, const struct item *it)
{
	uint64_t cas = 0;

	if (it != NULL && op->req.verb != MC_GET)
		cas = pending_copy_cas(sv, it);
	pending_copies_used(sv, op, 1);
	if (op->req.verb == MC_MG)
		return mg_execute(sv, op, it, sv->backend_mode >= BACKEND_WRITES ? &cas : NULL);
	return pending_complete(sv, op, &(struct backend_answer){.item = it, .cas = cas});
}

/* Executes a retrieval. The item found may be no copy, and the next lookup may find another
 * item. */
enum exec_status
pending_execute_read(struct serve *sv, struct op *op)
{
	const struct item *it = op->req.verb == MC_MG
					? store_peek_probed(sv->store, &op->probe, op->req.key)
					: store_get_probed(sv->store, &op->probe, op->req.key);
	const enum backend_copy copy = pending_copy(sv, &op->req, it);

	if (copy == BACKEND_COPY_NONE)
		return read_pending(sv, op);
	if (op->req.verb <= MC_GETS && unlikely(line_has_answered(sv, op)))
		return read_pending(sv, op);
	return read_copied(sv, op, copy == BACKEND_COPY_HERE ? it : NULL);
}

uint32_t
pending_hits_execute(struct serve *sv, uint32_t first)
{
	uint32_t hits;

	if (sv->backend_mode == BACKEND_DECIDES)
		return 0;
	hits = gets_execute_hits(sv, first);
	if (hits != 0)
		pending_copies_used(sv, &sv->ops[first], hits);
	return hits;
}

/* Executes `me`, which shows a copy that answers and nothing else. */
static enum exec_status
me_copied(struct serve *sv, struct op *op)
{
	const struct item *it = store_peek_probed(sv->store, &op->probe, op->req.key);

	return me_execute(sv, op, pending_copy(sv, &op->req, it) == BACKEND_COPY_HERE ? it : NULL);
}

/* ---- promotion ---- */

bool
pending_promotes(const struct mc_req *req)
{
	switch (req->verb) {
	case MC_BIN_SET:
	case MC_MS:
		return store_mode_of(req) != STORE_SET;
	case MC_DELETE:
		return (req->flags & MC_NOREPLY) == 0;
	case MC_MG:
		return (req->meta.flags & MG_EFFECTS) != 0;
	default:
		return (verb_traits[req->verb] & VERB_PROMOTES) != 0;
	}
}

/* Executes an operation that depends on the stored version, once the backend was asked to
 * promote its key. If the store still lacks the key, a write makes the backend forget it; mg
 * and me only read, so pending_missed() does. */
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

	/* The body has not arrived yet; execute_body_promoted() follows when it has. */
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

/* Like execute_promoted(), for an operation whose body arrived in pieces. */
static enum exec_status
execute_body_promoted(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	enum exec_status a;

	if (!ss->bad_end && pending_promotes(&ss->filling_req)) {
		op->req = ss->filling_req;
		op->req.key = item_key(ss->fill.item);
		op->hash = ss->fill.hash;
		list_unlink(&ss->quota_link); /* it is complete, and keeps its part of the quota */
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

/* Executes a get that touches: the store does, unless it lacks the key. */
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
	if (write || pending_passes_copies(sv, &op->req))
		return read_pending(sv, op);
	if (op_is(op, VERB_WRITES))
		pending_sets(sv, op);
	return op_is(op, VERB_RETURNS_VALUE) ? touch_execute(sv, op) : verb_execute(sv, op);
}
