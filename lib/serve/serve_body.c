/*
 * serve_body.c - incomplete bodies. The item is begun when its line is executed. Bytes go from
 * frames directly into it, over any number of turns. In text the two bytes after the stated length
 * must be CR LF; as in memcached, they are checked at the end.
 */
#include "serve_access.h"
#include "serve_begun.h"
#include "serve_execute.h"
#include "serve_hot.h"
#include "serve_parse.h"
#include "serve_read_buf.h"

/* A wait of more turns than this counts as memory pressure. */
#define FILL_WAIT_TURNS_MAX 4096u

/* After this many turns of a wait receive windows become narrow. Shorter waits are common. */
#define WINDOWS_WAIT_TURNS 8u

bool
session_wait(struct serve *sv, struct session *ss)
{
	if (read_buf_take(sv, ss) != READ_BUF_OK)
		return false;
	ss->memory_wait_turns++;
	ss->memory_wait_last_turn = sv->turn;
	return true;
}

/* Makes the request wait while the store evicts for it. The body stays unread, so the peer's
 * window closes. */
static bool
memory_wait(struct serve *sv, struct session *ss)
{
	if (ss->memory_wait_turns >= MEMORY_WAIT_TURNS_MAX || !session_wait(sv, ss))
		return false;
	if (ss->memory_wait_turns >= WINDOWS_WAIT_TURNS)
		stack_requests_wait(sv->stack);
	if (ss->memory_wait_turns >= FILL_WAIT_TURNS_MAX)
		fills_memory_pressure(sv);
	return true;
}

void
session_go_on(struct serve *sv, struct session *ss)
{
	ss->memory_wait_turns = 0;
	ss->body_left = 0;
	conn_body_waits(ss->conn, 0);
	fill_quota_dequeue(sv, ss);
}

bool
op_wait_memory(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;

	if (ss == NULL || !defer_fits(sv, op) || !memory_wait(sv, ss))
		return false;
	ss->body_left = 0;
	conn_requeue(sv->stack, ss->conn);
	return true;
}

/* Begins the value, if the fill quota permits it. Otherwise queues the session for the quota. */
static enum store_result
share_begin(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	enum store_result r;

	if (unlikely(!fill_quota_take(sv, ss, &op->req))) {
		fill_quota_enqueue(sv, ss, (uint64_t)op->req.body_len + op->req.body_end);
		return STORE_NOT_YET;
	}
	r = storage_begin(sv, op, &ss->fill);
	if (unlikely(r != STORE_OK))
		fill_quota_return(sv, ss);
	return r;
}

enum exec_status
body_begin(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	const struct mc_req *req = &op->req;
	enum store_result r = STORE_OK;

	if (req->verb != MC_BAD) {
		r = share_begin(sv, op);
		if (unlikely(r == STORE_NOT_YET) && memory_wait(sv, ss)) {
			ss->body_left = op->raw.len + (uint64_t)req->body_len + req->body_end;
			conn_body_waits(ss->conn, ss->body_left);
			return EXEC_RETRY;
		}
	}
	if (unlikely((ss->memory_wait_turns | ss->quota.ticket) != 0))
		session_go_on(sv, ss);
	ss->body_left = (uint64_t)req->body_len + req->body_end;
	ss->body_end = req->body_end;
	ss->body = BODY_SWALLOW;
	ss->filling_req = *req;
	conn_expect(ss->conn, ss->body_left);
	if (req->verb == MC_BAD)
		return EXEC_DONE;
	if (r != STORE_OK) {
		storage_refused(sv, op, r);
		return EXEC_DONE;
	}
	ss->body = BODY_FILL;
	ss->filling = true;
	ss->bad_end = false;
	fill_quota_begin(sv, ss);
	return EXEC_DONE;
}

/* Appends the available bytes of the value, or checks one byte of the line end. Returns how many
 * bytes it used. */
static uint32_t
fill_append(struct serve *sv, struct session *ss, struct view src)
{
	const uint64_t left = ss->body_left - ss->body_end;

	if (ss->body_left > ss->body_end) {
		const uint32_t n = src.len < left ? src.len : (uint32_t)left;

		store_fill(sv->store, &ss->fill, src.data, n);
		return n;
	}
	if (src.data[0] != (ss->body_left == 2 ? '\r' : '\n'))
		ss->bad_end = true;
	return 1;
}

/* True if the last bytes of the body may be read. If the command copies a value it needs work
 * budget first; without that the bytes stay unread. */
static bool
fill_may_end(struct serve *sv, struct session *ss)
{
	const struct mc_req *req = &ss->filling_req;

	if (likely((verb_traits[req->verb] & VERB_TAKES_WORK) == 0))
		return true;
	return copy_admit(sv, ss, req, item_key(ss->fill.item), ss->fill.hash);
}

enum parse_step
body_receive(struct serve *sv, struct session *ss)
{
	bool may_end = ss->body != BODY_FILL;

	if (ss->body == BODY_WAIT)
		return PARSE_NEXT_PASS;
	while (ss->body_left > 0) {
		const struct view src = session_peek(ss);
		uint32_t n;

		if (src.len == 0) {
			conn_expect(ss->conn, ss->body_left);
			return PARSE_CONTINUE; /* the next step checks for the end of the stream */
		}
		if (src.len >= ss->body_left && !may_end && !(may_end = fill_may_end(sv, ss)))
			return PARSE_WAIT;
		if (ss->body == BODY_FILL)
			n = fill_append(sv, ss, src);
		else if (unlikely(ss->body == BODY_TOKEN))
			n = auth_token_append(ss, src);
		else
			n = src.len < ss->body_left ? src.len : (uint32_t)ss->body_left;
		session_skip(sv->stack, ss, n);
		ss->body_left -= n;
	}
	conn_expect(ss->conn, 0);
	if (unlikely(ss->body == BODY_TOKEN)) {
		/* Later requests are answered only if the token is valid. */
		ss->body = BODY_NONE;
		op_push(sv, ss, OP_AUTH_END);
		return PARSE_NEXT_PASS;
	}
	if (ss->body == BODY_FILL)
		op_push(sv, ss, OP_BODY_DONE);
	else if (unlikely(sv->closes_behind))
		ss->answered = req_is_answered(&ss->filling_req);
	ss->body = BODY_NONE;
	return PARSE_CONTINUE;
}

enum exec_status
execute_body_done(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	uint8_t key[MC_KEY_MAX];

	/* The request's key was freed with its frame, and the item's may be freed before the reply
	 * is sent. */
	op->req = ss->filling_req;
	op->req.key = (struct view){key, item_key(ss->fill.item).len};
	memcpy(key, item_key(ss->fill.item).data, op->req.key.len);
	ss->filling = false;
	fill_quota_end(sv, ss);
	if (ss->bad_end) {
		storage_bad_end(sv, op, &ss->fill);
		return EXEC_DONE;
	}
	if (op->req.body_len >= ITEM_PIN_MIN_BYTES)
		value_seen(sv, op->req.key, ss->fill.hash, op->req.body_len);
	return storage_finish(sv, op, &ss->fill, false);
}
