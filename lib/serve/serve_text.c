/*
 * serve_text.c - text commands that neither retrieve nor store: delete, incr, decr, touch, version.
 */
#include "serve_access.h"
#include "serve_execute.h"
#include "serve_record.h"

enum exec_status
execute_delete(struct serve *sv, struct op *op)
{
	const struct item *it = store_peek_probed(sv->store, &op->probe, op->req.key);
	bool hit;

	record_lookup(sv, op, it);
	hit = store_delete(sv->store, op->req.key, op->hash) == STORE_OK;
	record_delete(sv, op, it, hit);
	reply_line(sv, op, mc_reply_line[hit ? MC_DELETED : MC_NOT_FOUND]);
	return EXEC_DONE;
}

enum exec_status
delete_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	const bool hit = answer->result == STORE_OK;

	record_delete(sv, op, NULL, hit);
	reply_line(sv, op, mc_reply_line[hit ? MC_DELETED : MC_NOT_FOUND]);
	return EXEC_DONE;
}

static void
reply_number(struct serve *sv, struct op *op, uint64_t value)
{
	uint8_t *at;

	if (op_noreply(op))
		return;
	at = reply_begin(sv, op, MC_NUMBER_LINE_MAX);
	reply_end(sv, op, at, mc_put_line_end(mc_put_u64(at, value)));
}

enum exec_status
execute_arith(struct serve *sv, struct op *op)
{
	const struct store_arith_args sum = {.delta = op->req.delta,
					     .decr = op->req.verb == MC_DECR};
	struct store_arith_result total;

	record_lookup_before_write(sv, op, op->hash);
	switch (store_arith_with(sv->store, op->req.key, op->hash, &sum, &total)) {
	case STORE_OK:
		record_arith(sv, total.made, sum.decr);
		reply_number(sv, op, total.value);
		break;
	case STORE_NOT_FOUND:
		record_arith(sv, NULL, sum.decr);
		reply_line(sv, op, mc_reply_line[MC_NOT_FOUND]);
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

enum exec_status
arith_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	const bool hit = answer->result == STORE_OK;

	if (answer->result == STORE_NOT_A_NUMBER) {
		reply_error(sv, op, MC_ERR_NUMBER);
		return EXEC_DONE;
	}
	count_arith(sv, op->req.verb == MC_DECR, hit);
	if (hit)
		reply_number(sv, op, answer->number);
	else
		reply_line(sv, op, mc_reply_line[MC_NOT_FOUND]);
	return EXEC_DONE;
}

enum exec_status
execute_touch(struct serve *sv, struct op *op)
{
	const struct item *it = NULL;
	const enum store_result r = touch_and_get(sv, op, &it);

	if (unlikely(touch_lacks_memory(r)))
		return touch_without_memory(sv, op, r);
	record_get(sv, op, r == STORE_OK ? it : NULL, true);
	reply_line(sv, op, mc_reply_line[r == STORE_OK ? MC_TOUCHED : MC_NOT_FOUND]);
	return EXEC_DONE;
}

enum exec_status
touch_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	const bool hit = answer->result == STORE_OK;

	count_get(sv, true, hit);
	reply_line(sv, op, mc_reply_line[hit ? MC_TOUCHED : MC_NOT_FOUND]);
	return EXEC_DONE;
}

enum exec_status
execute_mn(struct serve *sv, struct op *op)
{
	serve_count(sv, CMD_META);
	reply_line(sv, op, mc_reply_line[MC_MN_LINE]);
	return EXEC_DONE;
}

enum exec_status
execute_version(struct serve *sv, struct op *op)
{
	const struct view word = serve_version(sv);
	uint8_t *begin = reply_begin(sv, op, 8 + word.len + 2);

	memcpy(begin, "VERSION ", 8);
	reply_end(sv, op, begin, mc_put_line_end(mc_put_view(begin + 8, word)));
	return EXEC_DONE;
}
