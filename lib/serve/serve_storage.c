/*
 * serve_storage.c - commands that store, in every protocol: conditions, expiry, body and reply.
 */
#include "serve_record.h"

/* In seconds. A larger exptime is a second of the wall clock. */
#define RELATIVE_MAX_S (60 * 60 * 24 * 30)

uint32_t
serve_expiry_s(const struct serve_clock *clock, int32_t exptime)
{
	if (likely(exptime == 0))
		return 0;
	if (exptime < 0)
		return 1;
	if (exptime <= RELATIVE_MAX_S)
		return clock->now_s + (uint32_t)exptime;
	if (exptime <= clock->unix_s)
		return 1;
	return clock->now_s + (uint32_t)(exptime - clock->unix_s);
}

enum store_result
touch_and_get(struct serve *sv, struct op *op, const struct item **it)
{
	return store_touch(sv->store, op->req.key, op->hash,
			   serve_expiry_s(&sv->clock, op->req.exptime), it);
}

enum exec_status
touch_without_memory(struct serve *sv, struct op *op, enum store_result touched)
{
	if (touched == STORE_NOT_YET && op_wait_memory(sv, op))
		return EXEC_RETRY;
	serve_count(sv, STORE_NO_MEMORY_COUNT);
	reply_error(sv, op, MC_ERR_OUT_OF_MEMORY);
	return EXEC_DONE;
}

static enum store_mode
meta_mode(const struct mc_req *req)
{
	const bool compare = (req->meta.flags & MC_FLAG_COMPARE) != 0;

	switch (req->meta.mode) {
	case MC_MODE_ADD:
		return STORE_ADD;
	case MC_MODE_APPEND:
		return STORE_APPEND;
	case MC_MODE_PREPEND:
		return STORE_PREPEND;
	case MC_MODE_REPLACE:
		return compare ? STORE_CAS : STORE_REPLACE;
	default:
		return compare ? STORE_CAS : STORE_SET;
	}
}

static bool
extends(enum store_mode mode)
{
	return mode == STORE_APPEND || mode == STORE_PREPEND;
}

enum store_mode
store_mode_of(const struct mc_req *req)
{
	switch (req->verb) {
	case MC_ADD:
		return STORE_ADD;
	case MC_REPLACE:
		return STORE_REPLACE;
	case MC_APPEND:
	case MC_BIN_APPEND:
		return STORE_APPEND;
	case MC_PREPEND:
	case MC_BIN_PREPEND:
		return STORE_PREPEND;
	case MC_CAS:
		return STORE_CAS;
	case MC_MS:
		return meta_mode(req);
	case MC_BIN_SET:
		return req->cas != 0 ? STORE_CAS : STORE_SET;
	case MC_MA: /* the key had no number */
	case MC_BIN_INCR:
	case MC_BIN_DECR:
		return STORE_ADD;
	case MC_BIN_ADD:
		return req->cas != 0 ? STORE_CAS : STORE_ADD;
	case MC_BIN_REPLACE:
		return req->cas != 0 ? STORE_CAS : STORE_REPLACE;
	default:
		return STORE_SET;
	}
}

static struct store_conditions
conditions_of(const struct mc_req *req)
{
	struct store_conditions conditions = {.mode = store_mode_of(req), .cas = req->cas};

	/* A cas of 0 is no condition, except for verbs that always compare the cas. */
	if ((req->flags & MC_BINARY) || (req->verb == MC_MS && extends(conditions.mode)))
		conditions.compare = req->cas != 0;
	if (req->verb != MC_MS)
		return conditions;
	conditions.set_cas = (req->meta.flags & MC_FLAG_NEW_CAS) != 0;
	conditions.new_cas = req->meta.new_cas;
	conditions.stale_if_older = (req->meta.flags & MC_FLAG_INVALIDATE) != 0;
	conditions.vivify = (req->meta.flags & MC_FLAG_VIVIFY) != 0;
	conditions.binary_key = (req->flags & MC_KEY_BASE64) != 0;
	return conditions;
}

static void
set_count(struct serve *sv, uint32_t class)
{
	serve_count(sv, CMD_SET);
	counter_add(&sv->classes[class][CLASS_CMD_SET], 1);
}

enum store_result
storage_begin(struct serve *sv, struct op *op, struct fill *fill)
{
	const struct mc_req *req = &op->req;
	const bool vivify =
		req->verb == MC_MS && (req->meta.flags & MC_FLAG_VIVIFY) && extends(meta_mode(req));
	const int32_t exptime = vivify ? req->meta.vivify_exptime : req->exptime;
	const enum store_result r =
		store_begin(sv->store, fill, req->key, op->hash, req->body_len, req->client_flags,
			    serve_expiry_s(&sv->clock, exptime));

	/* An append or prepend may be begun again (storage_finish), so it is counted at its end. */
	if (likely(r == STORE_OK) && likely(!extends(store_mode_of(req))))
		set_count(sv, store_class_lookup(&sv->class_map, fill->item));
	if (unlikely(r == STORE_NO_MEMORY))
		fills_memory_pressure(sv);
	return r;
}

/* True if a refused set must delete the old value, since its client believes that it is replaced.
 * As in memcached, a conditional set deletes it if the value is too large, but not for lack of
 * memory. */
static bool
replaces(const struct mc_req *req, bool large)
{
	if (large)
		return req->verb == MC_SET || req->verb == MC_MS || req->verb == MC_BIN_SET;
	return store_mode_of(req) == STORE_SET;
}

void
storage_refused(struct serve *sv, struct op *op, enum store_result r)
{
	const bool large = r == STORE_TOO_LARGE;

	serve_count(sv, large ? STORE_TOO_LARGE_COUNT : STORE_NO_MEMORY_COUNT);
	record_store(sv, op, r, NULL);
	if (replaces(&op->req, large)) {
		store_delete(sv->store, op->req.key, op->hash);
		if (sv->backend_mode >= BACKEND_WRITES)
			sv->backend_ops->set_refused(sv, op);
	}
	reply_error(sv, op, large ? MC_ERR_TOO_LARGE : MC_ERR_MEMORY);
}

__attribute__((noinline)) enum exec_status
storage_not_begun(struct serve *sv, struct op *op, enum store_result r)
{
	if (r == STORE_NOT_YET && op_wait_memory(sv, op))
		return EXEC_RETRY;
	storage_refused(sv, op, r);
	return EXEC_DONE;
}

static void
text_stored(struct serve *sv, struct op *op, enum store_result r)
{
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
		reply_error(sv, op, MC_ERR_TOO_LARGE);
		break;
	default:
		reply_error(sv, op, MC_ERR_MEMORY);
		break;
	}
}

enum exec_status
store_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	const enum store_result r = (enum store_result)answer->result;

	record_store(sv, op, r, NULL);
	if (store_mode_of(&op->req) == STORE_CAS)
		count_cas(sv, r);
	if (op->req.verb == MC_MS)
		meta_store_completed(sv, op, answer);
	else if (op->req.flags & MC_BINARY)
		binary_store_completed(sv, op, answer);
	else
		text_stored(sv, op, r);
	return EXEC_DONE;
}

static void
count_result(struct serve *sv, enum store_result r)
{
	if (r == STORE_TOO_LARGE)
		serve_count(sv, STORE_TOO_LARGE_COUNT);
	else if (r == STORE_NO_MEMORY)
		serve_count(sv, STORE_NO_MEMORY_COUNT);
}

/* Returns the result with which an append or prepend is answered. A value that has no room to grow
 * stays unchanged, and the reply is as if the key were absent. */
static enum store_result
extended(enum store_result r)
{
	return r == STORE_TOO_LARGE || r == STORE_NO_MEMORY ? STORE_NOT_STORED : r;
}

enum exec_status
storage_finish(struct serve *sv, struct op *op, struct fill *fill, bool whole)
{
	const struct store_conditions conditions = conditions_of(&op->req);
	const bool cas = conditions.mode == STORE_CAS, extend = extends(conditions.mode);
	const uint32_t class = cas || extend ? store_class_lookup(&sv->class_map, fill->item) : 0;
	const struct item *made = NULL;
	enum store_result r;

	record_lookup_before_write(sv, op, fill->hash);
	if (unlikely(extend) && whole)
		r = store_try_finish_with(sv->store, fill, &conditions, &made);
	else
		r = store_finish_with(sv->store, fill, &conditions, &made);
	if (unlikely(r == STORE_NOT_YET)) {
		store_abandon(sv->store, fill);
		if (op_wait_memory(sv, op))
			return EXEC_RETRY;
		r = STORE_NO_MEMORY;
	}
	if (unlikely(extend))
		set_count(sv, class);
	if (unlikely(cas))
		record_cas(sv, class, r);
	count_result(sv, r);
	if (unlikely(extend))
		r = extended(r);
	record_store(sv, op, r, made);
	if (op->req.verb == MC_MS)
		meta_stored(sv, op, r, made);
	else if (op->req.flags & MC_BINARY)
		binary_stored(sv, op, r, made);
	else
		text_stored(sv, op, r);
	return EXEC_DONE;
}

void
storage_bad_end(struct serve *sv, struct op *op, struct fill *fill)
{
	if (extends(store_mode_of(&op->req)))
		set_count(sv, store_class_lookup(&sv->class_map, fill->item));
	store_abandon(sv->store, fill);
	reply_error(sv, op, MC_ERR_CHUNK);
}

/* Executes a text set with a complete body, if store_set_simple() has not stored it. */
static __attribute__((noinline)) enum exec_status
set_execute(struct serve *sv, struct op *op)
{
	static const struct store_conditions conditions = {.mode = STORE_SET};
	const struct mc_req *req = &op->req;
	const struct item *made = NULL;
	enum store_result r;
	struct fill fill;

	r = store_begin(sv->store, &fill, req->key, op->hash, req->body_len, req->client_flags,
			serve_expiry_s(&sv->clock, req->exptime));
	if (unlikely(r != STORE_OK)) {
		if (r == STORE_NO_MEMORY)
			fills_memory_pressure(sv);
		return storage_not_begun(sv, op, r);
	}
	serve_count(sv, CMD_SET);
	class_count(sv, fill.item, CLASS_CMD_SET);
	store_fill(sv->store, &fill, op->body.data, req->body_len);
	record_lookup_before_write(sv, op, op->hash);
	r = store_finish_with(sv->store, &fill, &conditions, &made);
	record_store(sv, op, r, made);
	if (likely(r == STORE_OK)) {
		reply_line(sv, op, mc_reply_line[MC_STORED]);
		return EXEC_DONE;
	}
	count_result(sv, r);
	text_stored(sv, op, r);
	return EXEC_DONE;
}

/* Executes a text set, which has no conditions and nearly always the same reply. */
enum exec_status
execute_set(struct serve *sv, struct op *op)
{
	const struct mc_req *req = &op->req;
	const uint8_t *body = op->body.data;
	uint32_t class;

	if (unlikely(body == NULL || load_u16(body + req->body_len) != load_u16("\r\n")))
		return execute_store(sv, op);
	if (unlikely((req->client_flags | (uint32_t)req->exptime) != 0 || sv->observed))
		return set_execute(sv, op);
	class = store_set_simple(sv->store, req->key, op->hash, (struct view){body, req->body_len});
	if (unlikely(class == 0))
		return set_execute(sv, op);
	serve_count(sv, CMD_SET);
	counter_add(&sv->classes[class][CLASS_CMD_SET], 1);
	reply_line(sv, op, mc_reply_line[MC_STORED]);
	return EXEC_DONE;
}

enum exec_status
execute_store(struct serve *sv, struct op *op)
{
	const struct mc_req *req = &op->req;
	struct fill fill;
	enum store_result r;

	if (unlikely(op->body.data == NULL))
		return body_begin(sv, op);
	/* A datagram cannot wait for its share of the work budget. */
	if (unlikely(op->session == NULL) && op_is(op, VERB_TAKES_WORK) &&
	    !copy_admit(sv, NULL, req, req->key, op->hash)) {
		storage_refused(sv, op, STORE_NO_MEMORY);
		return EXEC_DONE;
	}
	r = storage_begin(sv, op, &fill);
	if (unlikely(r != STORE_OK))
		return storage_not_begun(sv, op, r);
	if (unlikely(req->body_end != 0 && memcmp(op->body.data + req->body_len, "\r\n", 2) != 0)) {
		storage_bad_end(sv, op, &fill);
		return EXEC_DONE;
	}
	store_fill(sv->store, &fill, op->body.data, req->body_len);
	return storage_finish(sv, op, &fill, true);
}
