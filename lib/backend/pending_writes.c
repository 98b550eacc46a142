/*
 * pending_writes.c - writes that a supplier does, as the client sees them: each is asked at its
 * turn, with its value, and told by the code of its own verb when the answer is here. Retrievals
 * behind them are executed when they come to be told.
 */
#include "pending_kept.h"
#include "pending_order.h"

#include "serve/serve_begun.h"
#include "serve/serve_record.h"

static const struct serve_answer not_answered = {.failed = true};

static bool
is_flush(const struct op *op)
{
	return op->req.verb == MC_FLUSH_ALL || op->req.verb == MC_BIN_FLUSH;
}

/* Without a reply the end of the connection is the answer: the client would believe its items
 * flushed. */
static void
write_fail(struct serve *sv, struct op *op, const struct serve_answer *answer)
{
	struct session *ss = op->session;

	await_fail(sv, op, answer);
	if (ss == NULL || !is_flush(op) || !op_noreply(op))
		return;
	ss->end = SESSION_END_ERROR;
	session_close(sv, ss);
}

/* ---- asking ---- */

static bool
has_value(const struct op *op)
{
	const uint8_t verb = op->req.verb;

	return (verb >= MC_SET && verb <= MC_CAS) || verb == MC_MS ||
	       (verb >= MC_BIN_SET && verb <= MC_BIN_PREPEND);
}

/* A wait for memory ends: the place comes first. */
static enum exec_status
write_queue(struct serve *sv, struct op *op, uint32_t value_len)
{
	struct session *ss = op->session;

	if (ss == NULL)
		return EXEC_LATER;
	if (ss->memory_wait_turns != 0)
		session_go_on(sv, ss);
	await_write_queue(sv, op, value_len);
	return EXEC_RETRY;
}

static enum exec_status
write_ask(struct serve *sv, struct op *op, struct fill *value)
{
	if (!await_write(sv, op, value) && value != NULL)
		store_abandon(sv->store, value);
	return op->session != NULL ? EXEC_PARTIAL : EXEC_LATER;
}

/* Its body is not all here: it is begun, or skipped. */
static enum exec_status
value_begin(struct serve *sv, struct op *op, enum await_turn turn)
{
	if (turn == AWAIT_NOW)
		return body_begin(sv, op);
	mc_bad(&op->req, MC_ERR_NO_ANSWER);
	body_begin(sv, op);
	reply_error(sv, op, MC_ERR_NO_ANSWER);
	return EXEC_DONE;
}

static enum exec_status
value_ask(struct serve *sv, struct op *op)
{
	const struct mc_req *req = &op->req;
	struct fill fill;
	enum store_result r;

	if (req->body_end != 0 && memcmp(op->body.data + req->body_len, "\r\n", 2) != 0) {
		reply_error(sv, op, MC_ERR_CHUNK);
		return EXEC_DONE;
	}
	r = storage_begin(sv, op, &fill);
	if (r != STORE_OK)
		return storage_not_begun(sv, op, r);
	store_fill(sv->store, &fill, op->body.data, req->body_len);
	return write_ask(sv, op, &fill);
}

/* Behind kept requests nothing is told: what cannot be asked now is executed again when the first
 * of them is over. It is whole, and ends as it must (pending_pipeline.c). */
static enum exec_status
write_ask_behind(struct serve *sv, struct op *op, bool value)
{
	const uint32_t len = value ? op->req.body_len : 0;
	struct fill fill;

	if (!await_has_place(sv, op->session, op->req.key, op->hash, len) ||
	    (value && storage_begin(sv, op, &fill) != STORE_OK)) {
		op->session->pipeline_stopped = true;
		return EXEC_RETRY;
	}
	if (value)
		store_fill(sv->store, &fill, op->body.data, len);
	await_write(sv, op, value ? &fill : NULL);
	session_waits(sv, op->session, WAIT_SUPPLIER);
	return EXEC_NONE; /* what stands behind it may be asked for, too */
}

/* If its key is waited for, no copy may come in between: its turn decides. */
enum exec_status
execute_read_behind(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;

	if (!await_has_place(sv, ss, op->req.key, op->hash, 0)) {
		ss->pipeline_stopped = true;
		return EXEC_RETRY;
	}
	await_keep_read(sv, op, awaits_find(ss->kept, op->hash) == NULL && await_lacks(sv, op));
	session_waits(sv, ss, WAIT_SUPPLIER);
	return EXEC_NONE;
}

enum exec_status
execute_write(struct serve *sv, struct op *op)
{
	const bool value = has_value(op);
	enum await_turn turn;

	if (op->session != NULL && op->session->kept != NULL)
		return write_ask_behind(sv, op, value);
	if (is_flush(op)) {
		op->hash = 0;
		op->req.key = (struct view){NULL, 0};
		if (sv->shared->policy.no_flush) {
			reply_error(sv, op, MC_ERR_FLUSH_OFF);
			return EXEC_DONE;
		}
	}
	turn = await_write_turn(sv, op, value ? op->req.body_len : 0);
	if (turn == AWAIT_QUEUE)
		return write_queue(sv, op, value ? op->req.body_len : 0);
	if (value && op->body.data == NULL)
		return value_begin(sv, op, turn);
	if (turn == AWAIT_NEVER) {
		write_fail(sv, op, &not_answered);
		return EXEC_DONE;
	}
	return value ? value_ask(sv, op) : write_ask(sv, op, NULL);
}

/* The value is no one's any more. */
static enum exec_status
filled_refuse(struct serve *sv, struct op *op, enum mc_error error)
{
	struct session *ss = op->session;

	ss->filling = false;
	fill_quota_end(sv, ss);
	store_abandon(sv->store, &ss->fill);
	reply_error(sv, op, error);
	return EXEC_DONE;
}

enum exec_status
execute_filled_write(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	const struct view key = item_key(ss->fill.item);

	op->req = ss->filling_req;
	op->req.key = key;
	op->hash = ss->fill.hash;
	list_unlink(&ss->quota_link); /* it is complete, and keeps its part of the quota */
	if (ss->bad_end)
		return filled_refuse(sv, op, MC_ERR_CHUNK);
	switch (await_write_turn(sv, op, ss->fill.value_len)) {
	case AWAIT_QUEUE:
		await_write_queue(sv, op, ss->fill.value_len);
		ss->body = BODY_FILLED;
		return EXEC_RETRY;
	case AWAIT_NEVER:
		return filled_refuse(sv, op, MC_ERR_NO_ANSWER);
	default:
		break;
	}
	ss->filling = false;
	fill_quota_end(sv, ss);
	return write_ask(sv, op, &ss->fill);
}

/* ---- telling ---- */

/* Its answer may be here, or a copy; or it is asked for now. */
enum exec_status
execute_kept_read(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	const uint64_t since_ns = op->datagram->since_ns;
	uint8_t key[MC_KEY_MAX];
	struct await *a = await_read_begin(sv, op, key);
	enum exec_status status;

	op->hash = store_probe(sv->store, &op->probe, op->req.key);
	if (store_probe_primary(sv->store, &op->probe))
		store_probe_alternate(sv->store, &op->probe);
	status = await_execute_read(sv, op);
	await_read_end(sv, op, a, since_ns, status != EXEC_RETRY);
	if (status == EXEC_DONE)
		return status;
	ss->since_ns = since_ns; /* of what is told later */
	ss->late_pass = sv->pass;
	return status;
}

enum exec_status
execute_kept_write(struct serve *sv, struct op *op)
{
	uint8_t key[MC_KEY_MAX];
	struct await *a = await_written(sv, op, key);
	const struct serve_answer answer = a->answer;
	/* Of a line of gat its last key. */
	const bool ends = op->req.verb < MC_GAT || op->req.verb > MC_GATS || op_last(op);
	enum exec_status status = EXEC_DONE;

	if (is_flush(op))
		serve_count(sv, CMD_FLUSH);
	if (answer.failed || answer.error != MC_ERR_NONE)
		write_fail(sv, op, &answer);
	else
		status = await_tell(sv, op, &answer);
	await_free(sv, a);
	return status == EXEC_DONE && !ends ? EXEC_NONE : status;
}
