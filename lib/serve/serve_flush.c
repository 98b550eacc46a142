/*
 * serve_flush.c - flush_all in every protocol. It waits while the store has no free generation
 * number.
 */
#include "serve_record.h"

/* Flushes all items that were stored before the given second. Items stored in that second stay, as
 * in memcached. */
static enum store_result
flush_try(struct serve *sv, const struct op *op)
{
	const int32_t exptime = op->req.exptime;
	const struct session *ss = op->session;

	/* If another client has flushed meanwhile, nothing is left to flush. */
	if (exptime <= 0 && ss != NULL && ss->memory_wait_turns != 0 &&
	    ss->flushes != store_flushes(sv->store))
		return STORE_OK;
	return store_flush(sv->store,
			   exptime > 0 ? serve_expiry_s(&sv->clock, exptime) - 1 : sv->clock.now_s);
}

/* Makes flush_all wait until the store has reclaimed the items of earlier flushes, which frees a
 * generation number. */
static bool
flush_wait(struct serve *sv, struct session *ss)
{
	if (ss->memory_wait_turns == 0)
		ss->flushes = store_flushes(sv->store);
	return session_wait(sv, ss);
}

/* Refuses flush_all. With noreply it closes the connection instead, since the client would believe
 * that its items are flushed. */
static void
flush_refuse(struct serve *sv, struct op *op)
{
	reply_error(sv, op, MC_ERR_FLUSH_BUSY);
	if (op->session == NULL || !op_noreply(op))
		return;
	op->session->end = SESSION_END_ERROR;
	session_close(sv, op->session);
}

enum exec_status
execute_flush_all(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;

	if (ss == NULL || ss->memory_wait_turns == 0)
		serve_count(sv, CMD_FLUSH);
	if (unlikely(sv->shared->policy.no_flush)) {
		reply_error(sv, op, MC_ERR_FLUSH_OFF);
		return EXEC_DONE;
	}
	if (likely(flush_try(sv, op) == STORE_OK))
		reply_flushed(sv, op);
	else if (ss != NULL && flush_wait(sv, ss))
		return EXEC_RETRY;
	else
		flush_refuse(sv, op);
	if (ss != NULL && unlikely(ss->memory_wait_turns != 0))
		session_go_on(sv, ss);
	return EXEC_DONE;
}

enum exec_status
flush_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	reply_flushed(sv, op);
	return EXEC_DONE;
}
