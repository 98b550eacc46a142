/*
 * pending_execute.c - operations where a backend is attached: executed by their verbs' own code, or
 * by asking it.
 */
#include "pending_kept.h"

#include "serve/serve_parse.h"
#include "serve/serve_record.h"
#include "store/tier.h"

/* ---- replies ---- */

static teller *const tellers[MC_VERB_COUNT] = {
	[MC_GET... MC_GATS] = get_told,
	[MC_SET... MC_CAS] = store_told,
	[MC_DELETE] = delete_told,
	[MC_INCR... MC_DECR] = arith_told,
	[MC_TOUCH] = touch_told,
	[MC_MG] = mg_told,
	[MC_MS] = store_told,
	[MC_MD] = md_told,
	[MC_MA] = ma_told,
	[MC_FLUSH_ALL] = flush_told,
	[MC_BIN_GET... MC_BIN_GAT] = bin_get_told,
	[MC_BIN_TOUCH] = bin_touch_told,
	[MC_BIN_SET... MC_BIN_PREPEND] = store_told,
	[MC_BIN_DELETE] = bin_delete_told,
	[MC_BIN_INCR... MC_BIN_DECR] = bin_arith_told,
	[MC_BIN_FLUSH] = flush_told,
};

enum exec_status
await_tell(struct serve *sv, struct op *op, const struct serve_answer *answer)
{
	return tellers[op->req.verb](sv, op, answer);
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
read_awaited(struct serve *sv, struct op *op)
{
	struct serve_answer answer;
	enum exec_status status;

	switch (await_read(sv, op, &answer)) {
	case AWAIT_LATER:
		return await_later(op);
	case AWAIT_FAILED:
		if (op->req.verb == MC_MG)
			serve_count(sv, CMD_META);
		record_get(sv, op, NULL, touches(op));
		await_fail(sv, op, &answer);
		return EXEC_DONE;
	default:
		break;
	}
	status = await_tell(sv, op, &answer);
	await_end(sv, op);
	return status;
}

/* The store has a copy, or the knowledge that there is no key. */
static enum exec_status
read_copied(struct serve *sv, struct op *op, const struct item *it)
{
	uint64_t cas = 0;

	if (it != NULL && op->req.verb != MC_GET)
		cas = await_copy_cas(sv, it);
	await_copies_used(sv, op, 1);
	if (op->req.verb == MC_MG)
		return mg_execute(sv, op, it, sv->backend_mode >= BACKEND_WRITES ? &cas : NULL);
	return await_tell(sv, op, &(struct serve_answer){.item = it, .cas = cas});
}

/* What the store has may be no copy, and may be another item at the next look. */
enum exec_status
await_execute_read(struct serve *sv, struct op *op)
{
	const struct item *it = op->req.verb == MC_MG
					? store_peek_probed(sv->store, &op->probe, op->req.key)
					: store_get_probed(sv->store, &op->probe, op->req.key);
	const enum serve_copy copy = await_copy(sv, &op->req, it);

	if (copy == SERVE_COPY_NONE)
		return read_awaited(sv, op);
	if (op->req.verb <= MC_GETS && unlikely(await_is_told(sv, op)))
		return read_awaited(sv, op);
	return read_copied(sv, op, copy == SERVE_COPY_HERE ? it : NULL);
}

uint32_t
await_hits_execute(struct serve *sv, uint32_t first)
{
	uint32_t hits;

	if (sv->backend_mode == BACKEND_DECIDES)
		return 0;
	hits = gets_execute_hits(sv, first);
	if (hits != 0)
		await_copies_used(sv, &sv->ops[first], hits);
	return hits;
}

/* A copy, or the knowledge that there is no key, is no item for `me`. */
static enum exec_status
me_copied(struct serve *sv, struct op *op)
{
	const struct item *it = store_peek_probed(sv->store, &op->probe, op->req.key);

	return me_execute(sv, op, await_copy(sv, &op->req, it) == SERVE_COPY_HERE ? it : NULL);
}

/* ---- what is to be in the store first ---- */

bool
await_brings(const struct mc_req *req)
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
		return (verb_traits[req->verb] & VERB_BRINGS) != 0;
	}
}

/* What depends on the version that is there: it is here, or nowhere. Writes that find none take
 * away what the supplier may have; these two only look. */
static enum exec_status
execute_here(struct serve *sv, struct op *op, const struct item *it)
{
	if (op->req.verb != MC_MG && op->req.verb != MC_ME)
		return verb_execute(sv, op);
	if (it == NULL)
		it = store_peek(sv->store, op->req.key, op->hash);
	if (it == NULL)
		it = await_missed(sv, op);
	return op->req.verb == MC_MG ? mg_execute(sv, op, it, NULL) : me_execute(sv, op, it);
}

static enum exec_status
execute_brought(struct serve *sv, struct op *op)
{
	const struct item *it = store_peek_probed(sv->store, &op->probe, op->req.key);
	enum exec_status a;

	/* Its body is to come. */
	if ((op->req.flags & MC_HAS_BODY) && op->body.data == NULL)
		return verb_execute(sv, op);
	if (it == NULL && await_bring(sv, op)) {
		if (op->session != NULL && op->session->memory_wait_turns != 0)
			session_go_on(sv, op->session);
		return await_later(op);
	}
	store_spare(sv->store, op->hash);
	a = execute_here(sv, op, it);
	store_spare(sv->store, 0);
	return a;
}

/* The same of one whose body came in pieces. */
static enum exec_status
execute_body_brought(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	enum exec_status a;

	if (!ss->bad_end && await_brings(&ss->filling_req)) {
		op->req = ss->filling_req;
		op->req.key = item_key(ss->fill.item);
		op->hash = ss->fill.hash;
		list_unlink(&ss->quota_link); /* it is complete, and keeps its part of the quota */
		if (store_peek(sv->store, op->req.key, op->hash) == NULL && await_bring(sv, op)) {
			ss->body = BODY_FILLED;
			return EXEC_RETRY;
		}
	}
	awaits_give_up(sv, ss);
	store_spare(sv->store, ss->fill.hash);
	a = execute_body_done(sv, op);
	store_spare(sv->store, 0);
	return a;
}

/* ---- any operation ---- */

/* A get that touches is the store's, but for a key that it lacks. */
static enum exec_status
touch_execute(struct serve *sv, struct op *op)
{
	return store_peek_probed(sv->store, &op->probe, op->req.key) == NULL ? read_awaited(sv, op)
									     : verb_execute(sv, op);
}

static enum exec_status
body_execute(struct serve *sv, struct op *op)
{
	if (sv->backend_mode >= BACKEND_WRITES)
		return execute_filled_write(sv, op);
	return sv->backend_mode == BACKEND_PROMOTES ? execute_body_brought(sv, op)
						    : verb_execute(sv, op);
}

__attribute__((noinline)) enum exec_status
await_execute(struct serve *sv, struct op *op)
{
	const bool write = await_is_write(sv, &op->req),
		   writes = sv->backend_mode >= BACKEND_WRITES;
	const uint8_t verb = op->req.verb;

	if (verb == OP_KEPT_GET || verb == OP_KEPT_WRITE)
		return verb == OP_KEPT_GET ? execute_kept_read(sv, op) : execute_kept_write(sv, op);
	if (verb == OP_BODY_DONE)
		return body_execute(sv, op);
	if (sv->backend_mode == BACKEND_PROMOTES && await_brings(&op->req))
		return execute_brought(sv, op);
	if (write && (op->session != NULL || !op_is(op, VERB_RETURNS_VALUE)))
		return execute_write(sv, op);
	if (verb <= MC_GETS || verb == MC_MG || verb == MC_BIN_GET)
		return writes && op->session != NULL && op->session->kept != NULL
			       ? execute_read_behind(sv, op)
			       : await_execute_read(sv, op);
	if (writes && verb == MC_ME)
		return me_copied(sv, op);
	if (write || await_passes_copies(sv, &op->req))
		return read_awaited(sv, op);
	if (op_is(op, VERB_WRITES))
		await_sets(sv, op);
	return op_is(op, VERB_RETURNS_VALUE) ? touch_execute(sv, op) : verb_execute(sv, op);
}
