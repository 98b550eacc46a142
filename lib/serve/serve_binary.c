/*
 * serve_binary.c - operations of the binary protocol. A quiet get omits the reply to a miss, any
 * other quiet command the reply to a success. All other replies are sent. A client that ends a
 * batch with a No-op has received all of them when the No-op is answered.
 */
#include "serve_get.h"
#include "serve_record.h"

static inline bool
quiet(const struct op *op)
{
	return (op->req.flags & MC_QUIET) != 0;
}

/* Replies that the command has succeeded, without a value. */
static void
reply_done(struct serve *sv, struct op *op, uint64_t cas)
{
	uint8_t *at;

	if (quiet(op))
		return;
	at = reply_begin(sv, op, MC_BIN_HEAD_BYTES);
	reply_end(sv, op, at, mc_put_bin_head(at, mc_bin_echo(&op->req), MC_STATUS_OK, 0, cas));
}

/* ---- retrieval ---- */

static void
reply_miss(struct serve *sv, struct op *op)
{
	const struct view key = op->req.key;
	uint8_t copy[MC_KEY_MAX];
	uint8_t *at;

	if (quiet(op))
		return;
	if (!mc_bin_shows_key(op->req.opcode)) {
		reply_status(sv, op, MC_STATUS_NOT_FOUND);
		return;
	}
	/* The request's key may be in the memory to which the reply is written. */
	memcpy(copy, key.data, key.len);
	at = reply_begin(sv, op, MC_BIN_HEAD_BYTES + key.len);
	reply_end(sv, op, at,
		  mc_put_bin_miss(at, mc_bin_echo(&op->req), (struct view){copy, key.len}));
}

static inline enum exec_status
bin_get_found(struct serve *sv, struct op *op, const struct item *it, uint64_t cas)
{
	const struct mc_bin_echo echo = mc_bin_echo(&op->req);
	struct mc_bin_value v = {.len = 0};
	uint8_t *begin, *at;

	v.client_flags = item_flags(it);
	v.len = item_value_len(it);
	v.cas = cas;
	if (mc_bin_shows_key(op->req.opcode))
		v.key = item_key(it);
	if (unlikely(v.len >= ITEM_PIN_MIN_BYTES)) {
		reply_in_parts(op);
		begin = reply_begin(sv, op, MC_BIN_VALUE_HEAD_MAX);
		reply_end(sv, op, begin, mc_put_bin_value_head(begin, echo, &v));
		return reply_pinned(sv, op, it, TAIL_NONE);
	}
	begin = reply_begin(sv, op, MC_BIN_VALUE_HEAD_MAX - MC_KEY_MAX + v.key.len + v.len);
	at = mc_put_bin_value_head(begin, echo, &v);
	reply_end(sv, op, begin, value_copy(sv, at, it, v.len));
	return EXEC_DONE;
}

enum exec_status
bin_get_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	record_completed(sv, op, answer->item, op->req.verb == MC_BIN_GAT);
	if (answer->item != NULL)
		return bin_get_found(sv, op, answer->item, answer->cas);
	reply_miss(sv, op);
	return EXEC_DONE;
}

enum exec_status
execute_bin_get(struct serve *sv, struct op *op)
{
	const bool touch = op->req.verb == MC_BIN_GAT;
	const struct item *it;
	enum exec_status a;

	if (unlikely(!get_find(sv, op, touch, &it, &a)))
		return a;
	record_get(sv, op, it, touch);
	if (it != NULL)
		return bin_get_found(sv, op, it, item_cas(it));
	reply_miss(sv, op);
	return EXEC_DONE;
}

/* Replies to a touch with the item's flags, like a get without a value. */
static void
reply_touched(struct serve *sv, struct op *op, uint32_t client_flags, uint64_t cas)
{
	const struct mc_bin_value v = {.client_flags = client_flags, .cas = cas};
	uint8_t *at = reply_begin(sv, op, MC_BIN_VALUE_HEAD_MAX);

	reply_end(sv, op, at, mc_put_bin_value_head(at, mc_bin_echo(&op->req), &v));
}

enum exec_status
execute_bin_touch(struct serve *sv, struct op *op)
{
	const struct item *it = NULL;
	const enum store_result touched = touch_and_get(sv, op, &it);

	if (unlikely(touch_lacks_memory(touched)))
		return touch_without_memory(sv, op, touched);
	record_get(sv, op, it, true);
	if (it != NULL)
		reply_touched(sv, op, item_flags(it), item_cas(it));
	else
		reply_miss(sv, op);
	return EXEC_DONE;
}

enum exec_status
bin_touch_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	const bool hit = answer->result == STORE_OK;

	count_get(sv, true, hit);
	if (hit)
		reply_touched(sv, op, answer->client_flags, answer->cas);
	else
		reply_miss(sv, op);
	return EXEC_DONE;
}

/* ---- changes ---- */

static enum mc_bin_status
not_stored(uint8_t verb)
{
	if (verb == MC_BIN_ADD)
		return MC_STATUS_EXISTS;
	return verb == MC_BIN_REPLACE ? MC_STATUS_NOT_FOUND : MC_STATUS_NOT_STORED;
}

void
binary_stored(struct serve *sv, struct op *op, enum store_result r, const struct item *made)
{
	switch (r) {
	case STORE_OK:
		reply_done(sv, op, item_cas(made));
		break;
	case STORE_EXISTS:
		reply_status(sv, op, MC_STATUS_EXISTS);
		break;
	case STORE_NOT_FOUND:
		reply_status(sv, op, MC_STATUS_NOT_FOUND);
		break;
	case STORE_NOT_STORED:
		reply_status(sv, op, not_stored(op->req.verb));
		break;
	default:
		reply_error(sv, op, MC_ERR_MEMORY);
		break;
	}
}

void
binary_store_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	if (answer->result == STORE_OK)
		reply_done(sv, op, answer->cas);
	else
		binary_stored(sv, op, (enum store_result)answer->result, NULL);
}

enum exec_status
execute_bin_delete(struct serve *sv, struct op *op)
{
	const struct store_removal how = {.compare = op->req.cas != 0, .cas = op->req.cas};
	const struct item *it = store_peek_probed(sv->store, &op->probe, op->req.key);
	const struct item *left;

	record_lookup(sv, op, it);
	switch (store_delete_with(sv->store, op->req.key, op->hash, &how, &left)) {
	case STORE_OK:
		record_delete(sv, op, it, true);
		reply_done(sv, op, 0);
		break;
	case STORE_EXISTS:
		reply_status(sv, op, MC_STATUS_EXISTS);
		break;
	default:
		record_delete(sv, op, it, false);
		reply_status(sv, op, MC_STATUS_NOT_FOUND);
		break;
	}
	return EXEC_DONE;
}

enum exec_status
bin_delete_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	if (answer->result == STORE_EXISTS) {
		reply_status(sv, op, MC_STATUS_EXISTS);
		return EXEC_DONE;
	}
	record_delete(sv, op, NULL, answer->result == STORE_OK);
	if (answer->result == STORE_OK)
		reply_done(sv, op, 0);
	else
		reply_status(sv, op, MC_STATUS_NOT_FOUND);
	return EXEC_DONE;
}

static void
reply_sum(struct serve *sv, struct op *op, uint64_t value, uint64_t cas)
{
	uint8_t *at;

	if (quiet(op))
		return;
	at = reply_begin(sv, op, MC_BIN_NUMBER_BYTES);
	reply_end(sv, op, at, mc_put_bin_number(at, mc_bin_echo(&op->req), value, cas));
}

enum exec_status
bin_arith_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	const bool decr = op->req.verb == MC_BIN_DECR;

	switch (answer->result) {
	case STORE_OK:
		count_arith(sv, decr, true);
		reply_sum(sv, op, answer->number, answer->cas);
		break;
	case STORE_EXISTS:
		reply_status(sv, op, MC_STATUS_EXISTS);
		break;
	case STORE_NOT_A_NUMBER:
		reply_error(sv, op, MC_ERR_NUMBER);
		break;
	default:
		count_arith(sv, decr, false);
		reply_status(sv, op, MC_STATUS_NOT_FOUND);
		break;
	}
	return EXEC_DONE;
}

enum exec_status
execute_bin_arith(struct serve *sv, struct op *op)
{
	const struct mc_req *req = &op->req;
	const bool vivify = (req->meta.flags & MC_FLAG_VIVIFY) != 0;
	const struct store_arith_args sum = {
		.delta = req->delta,
		.decr = req->verb == MC_BIN_DECR,
		.compare = req->cas != 0,
		.cas = req->cas,
		.vivify = vivify,
		.initial = req->meta.initial,
		.initial_expiry_s =
			vivify ? serve_expiry_s(&sv->clock, req->meta.vivify_exptime) : 0,
	};
	struct store_arith_result total;

	record_lookup_before_write(sv, op, op->hash);
	switch (store_arith_with(sv->store, req->key, op->hash, &sum, &total)) {
	case STORE_OK:
		record_total(sv, op, &total, sum.decr);
		reply_sum(sv, op, total.value, item_cas(total.made));
		break;
	case STORE_NOT_FOUND:
		record_arith(sv, NULL, sum.decr);
		reply_status(sv, op, MC_STATUS_NOT_FOUND);
		break;
	case STORE_EXISTS:
		reply_status(sv, op, MC_STATUS_EXISTS);
		break;
	case STORE_NOT_A_NUMBER:
		reply_error(sv, op, MC_ERR_NUMBER);
		break;
	case STORE_NOT_YET:
		if (op_wait_memory(sv, op))
			return EXEC_RETRY;
		/* fall through */
	default:
		reply_error(sv, op, MC_ERR_OUT_OF_MEMORY);
		break;
	}
	return EXEC_DONE;
}

/* ---- other commands ---- */

enum exec_status
execute_bin_noop(struct serve *sv, struct op *op)
{
	reply_done(sv, op, 0);
	return EXEC_DONE;
}

void
reply_flushed(struct serve *sv, struct op *op)
{
	if (op->req.flags & MC_BINARY)
		reply_done(sv, op, 0);
	else
		reply_line(sv, op, mc_reply_line[MC_OK_LINE]);
}

enum exec_status
execute_bin_version(struct serve *sv, struct op *op)
{
	const struct view word = serve_version(sv);
	uint8_t *at = reply_begin(sv, op, MC_BIN_HEAD_BYTES + word.len);

	reply_end(sv, op, at, mc_put_bin_text(at, mc_bin_echo(&op->req), word));
	return EXEC_DONE;
}

enum exec_status
execute_bin_quit(struct serve *sv, struct op *op)
{
	reply_done(sv, op, 0);
	if (op->session != NULL)
		session_close(sv, op->session);
	return EXEC_DONE;
}
