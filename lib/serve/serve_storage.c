/*
 * serve_storage.c - commands that store: what becomes of the body, and what the client is told.
 */
#include "serve_core.h"

enum store_mode
store_mode_of(uint8_t verb)
{
	switch (verb) {
	case MC_ADD:
		return STORE_ADD;
	case MC_REPLACE:
		return STORE_REPLACE;
	case MC_APPEND:
		return STORE_APPEND;
	case MC_PREPEND:
		return STORE_PREPEND;
	case MC_CAS:
		return STORE_CAS;
	default:
		return STORE_SET;
	}
}

/* A set that cannot be done must not leave the old value behind: the client believes it gone. */
void
store_refused(struct serve *sv, struct op *op, struct view key, enum store_result r)
{
	const bool large = r == STORE_TOO_LARGE;

	serve_count(sv, large ? STORE_TOO_LARGE_COUNT : STORE_NO_MEMORY_COUNT);
	if (op->req.verb == MC_SET)
		store_delete(sv->store, key, op->hash);
	reply_error(sv, op, large ? MC_ERR_TOO_LARGE : MC_ERR_MEMORY);
}

static void
cas_count(struct serve *sv, enum store_result r)
{
	if (r == STORE_OK)
		serve_count(sv, CAS_HITS);
	else if (r == STORE_EXISTS)
		serve_count(sv, CAS_BADVAL);
	else if (r == STORE_NOT_FOUND)
		serve_count(sv, CAS_MISSES);
}

void
store_reply(struct serve *sv, struct op *op, uint8_t verb, enum store_result r)
{
	if (verb == MC_CAS)
		cas_count(sv, r);
	switch (r) {
	case STORE_OK:
		reply_line(sv, op, mc_reply_line[MC_STORED]);
		break;
	case STORE_NOT_STORED:
		reply_line(sv, op, mc_reply_line[MC_NOT_STORED]);
		break;
	case STORE_EXISTS:
		reply_line(sv, op, mc_reply_line[MC_EXISTS]);
		break;
	case STORE_NOT_FOUND:
		reply_line(sv, op, mc_reply_line[MC_NOT_FOUND]);
		break;
	case STORE_TOO_LARGE:
		serve_count(sv, STORE_TOO_LARGE_COUNT);
		reply_error(sv, op, MC_ERR_TOO_LARGE);
		break;
	default:
		serve_count(sv, STORE_NO_MEMORY_COUNT);
		reply_error(sv, op, MC_ERR_MEMORY);
		break;
	}
}

enum answer
answer_store(struct serve *sv, struct op *op)
{
	const struct mc_req *req = &op->req;
	struct fill fill;
	enum store_result r;

	if (unlikely(op->body.data == NULL))
		return body_begin(sv, op);
	r = store_begin(sv->store, &fill, req->key, op->hash, req->body_len, req->client_flags,
			serve_expiry_s(&sv->clock, req->exptime));
	if (unlikely(r != STORE_OK)) {
		store_refused(sv, op, req->key, r);
		return ANSWER_DONE;
	}
	serve_count(sv, CMD_SET);
	if (unlikely(memcmp(op->body.data + req->body_len, "\r\n", 2) != 0)) {
		store_abandon(sv->store, &fill);
		reply_error(sv, op, MC_ERR_CHUNK);
		return ANSWER_DONE;
	}
	store_fill(sv->store, &fill, op->body.data, req->body_len);
	store_reply(sv, op, req->verb,
		    store_finish(sv->store, &fill, store_mode_of(req->verb), req->cas));
	return ANSWER_DONE;
}
