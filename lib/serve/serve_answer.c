/*
 * serve_answer.c - operations to replies, in order.
 */
#include "serve_note.h"

#define RELATIVE_MAX_S (60 * 60 * 24 * 30) /* a longer exptime is a wall clock second */

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

/* ---- retrieval ---- */

const struct item *
touch_and_get(struct serve *sv, struct op *op)
{
	const struct item *it = NULL;
	const enum store_result r = store_touch(sv->store, op->req.key, op->hash,
						serve_expiry_s(&sv->clock, op->req.exptime), &it);

	return r == STORE_OK ? it : NULL;
}

static inline enum answer
answer_get(struct serve *sv, struct op *op)
{
	const bool touch = op->req.verb >= MC_GAT;
	const bool with_cas = op->req.verb == MC_GETS || op->req.verb == MC_GATS;
	const struct item *it = touch ? touch_and_get(sv, op)
				      : store_get_probed(sv->store, &op->probe, op->req.key);
	uint8_t *begin, *at;
	uint32_t len;
	uint64_t cas;

	if (it == NULL) {
		note_get(sv, op, NULL, touch);
		if (op_last(op))
			reply_line(sv, op, mc_reply_line[MC_END]);
		return ANSWER_DONE;
	}
	len = item_value_len(it);
	note_get(sv, op, it, touch);
	cas = with_cas ? item_cas(it) : 0;
	if (unlikely(len >= ITEM_PIN_MIN_BYTES)) {
		reply_in_parts(op);
		begin = reply_begin(sv, op, MC_VALUE_HEAD_MAX);
		at = mc_put_value_head(begin, item_key(it), item_flags(it), len,
				       with_cas ? &cas : NULL);
		reply_end(sv, op, begin, at);
		return reply_pinned(sv, op, it, op_last(op) ? TAIL_END : TAIL_LINE);
	}
	begin = reply_begin(
		sv, op, MC_VALUE_HEAD_MAX - MC_KEY_MAX + op->req.key.len + len + VALUE_TAIL_MAX);
	/* The item's key, not the request's: that one may lie where the reply is written. */
	at = mc_put_value_head(begin, item_key(it), item_flags(it), len, with_cas ? &cas : NULL);
	at = value_copy(sv, at, it, len);
	reply_end(sv, op, begin, value_tail_put(at, op_last(op) ? TAIL_END : TAIL_LINE));
	return ANSWER_DONE;
}

/* ---- the others ---- */

static enum answer
answer_delete(struct serve *sv, struct op *op)
{
	const struct item *it = store_peek_probed(sv->store, &op->probe, op->req.key);
	bool hit;

	note_lookup(sv, op, it);
	hit = store_delete(sv->store, op->req.key, op->hash) == STORE_OK;
	note_delete(sv, op, it, hit);
	reply_line(sv, op, mc_reply_line[hit ? MC_DELETED : MC_NOT_FOUND]);
	return ANSWER_DONE;
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

static enum answer
answer_arith(struct serve *sv, struct op *op)
{
	const struct store_sum sum = {.delta = op->req.delta, .decr = op->req.verb == MC_DECR};
	struct store_total total;

	note_find(sv, op, op->hash);
	switch (store_arith_with(sv->store, op->req.key, op->hash, &sum, &total)) {
	case STORE_OK:
		note_sum(sv, total.made, sum.decr);
		reply_number(sv, op, total.value);
		break;
	case STORE_NOT_FOUND:
		note_sum(sv, NULL, sum.decr);
		reply_line(sv, op, mc_reply_line[MC_NOT_FOUND]);
		break;
	case STORE_NOT_A_NUMBER:
		reply_error(sv, op, MC_ERR_NUMBER);
		break;
	default:
		reply_error(sv, op, MC_ERR_NO_ROOM);
		break;
	}
	return ANSWER_DONE;
}

static enum answer
answer_touch(struct serve *sv, struct op *op)
{
	const struct item *it = NULL;
	const enum store_result r = store_touch(sv->store, op->req.key, op->hash,
						serve_expiry_s(&sv->clock, op->req.exptime), &it);

	note_get(sv, op, r == STORE_OK ? it : NULL, true);
	if (r == STORE_NO_MEMORY)
		reply_error(sv, op, MC_ERR_NO_ROOM);
	else
		reply_line(sv, op, mc_reply_line[r == STORE_OK ? MC_TOUCHED : MC_NOT_FOUND]);
	return ANSWER_DONE;
}

/* The deadline is the second before the one named, as in memcached: what is stored in that
 * second itself stays. */
static enum store_result
flush_try(struct serve *sv, const struct op *op)
{
	const int32_t exptime = op->req.exptime;
	const struct session *ss = op->session;

	/* Another one that came while this one waited is as good. */
	if (exptime <= 0 && ss != NULL && ss->memory_waits != 0 &&
	    ss->flushes != store_flushes(sv->store))
		return STORE_OK;
	return store_flush(sv->store,
			   exptime > 0 ? serve_expiry_s(&sv->clock, exptime) - 1 : sv->clock.now_s);
}

/* The store has none left before it has collected what earlier ones left. */
static bool
flush_wait(struct serve *sv, struct session *ss)
{
	if (ss->memory_waits == 0)
		ss->flushes = store_flushes(sv->store);
	return session_wait(sv, ss);
}

/* Who asked for no answer is told by the end of the connection: else he would take for flushed what
 * is there. */
static void
flush_refuse(struct serve *sv, struct op *op)
{
	reply_error(sv, op, MC_ERR_FLUSH_BUSY);
	if (op->session == NULL || !op_noreply(op))
		return;
	op->session->end = SESSION_ENDS_WRONG;
	session_close(sv, op->session);
}

static enum answer
answer_flush_all(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;

	if (ss == NULL || ss->memory_waits == 0)
		serve_count(sv, CMD_FLUSH);
	if (unlikely(sv->shared->admin.policy.no_flush)) {
		reply_error(sv, op, MC_ERR_FLUSH_OFF);
		return ANSWER_DONE;
	}
	if (likely(flush_try(sv, op) == STORE_OK))
		reply_flushed(sv, op);
	else if (ss != NULL && flush_wait(sv, ss))
		return ANSWER_LATER;
	else
		flush_refuse(sv, op);
	if (ss != NULL)
		ss->memory_waits = 0;
	return ANSWER_DONE;
}

static enum answer
answer_version(struct serve *sv, struct op *op)
{
	const struct view word = serve_version(sv);
	uint8_t *begin = reply_begin(sv, op, 8 + word.len + 2);

	memcpy(begin, "VERSION ", 8);
	reply_end(sv, op, begin, mc_put_line_end(mc_put_view(begin + 8, word)));
	return ANSWER_DONE;
}

void
session_close(struct serve *sv, struct session *ss)
{
	/* Its pieces would lose their pin: whatever closes stands behind a value, or waits for it.
	 */
	ensure(ss->value.item == NULL);
	if (ss->conn != NULL)
		conn_leave(sv->stack, ss->conn);
}

enum answer
answer_quit(struct serve *sv, struct op *op)
{
	if (op->session != NULL)
		session_close(sv, op->session);
	return ANSWER_DONE;
}

static enum answer
answer_bad(struct serve *sv, struct op *op)
{
	if ((op->req.flags & MC_HAS_BODY) && op->body.data == NULL)
		body_begin(sv, op);
	reply_error(sv, op, (enum mc_error)op->req.error);
	return ANSWER_DONE;
}

static enum answer
answer_nothing(struct serve *sv, struct op *op)
{
	return ANSWER_DONE;
}

static enum answer (*const answers[OP_VERB_COUNT])(struct serve *sv, struct op *op) = {
	[MC_GET] = answer_get,
	[MC_GETS] = answer_get,
	[MC_GAT] = answer_get,
	[MC_GATS] = answer_get,
	[MC_SET] = answer_set,
	[MC_ADD] = answer_store,
	[MC_REPLACE] = answer_store,
	[MC_APPEND] = answer_store,
	[MC_PREPEND] = answer_store,
	[MC_CAS] = answer_store,
	[MC_DELETE] = answer_delete,
	[MC_INCR] = answer_arith,
	[MC_DECR] = answer_arith,
	[MC_TOUCH] = answer_touch,
	[MC_MG] = answer_mg,
	[MC_MS] = answer_store,
	[MC_MD] = answer_md,
	[MC_MA] = answer_ma,
	[MC_ME] = answer_me,
	[MC_MN] = answer_mn,
	[MC_FLUSH_ALL] = answer_flush_all,
	[MC_VERSION] = answer_version,
	[MC_VERBOSITY] = answer_verbosity,
	[MC_STATS] = answer_stats,
	[MC_STATS_SETTINGS] = answer_stats,
	[MC_STATS_ITEMS] = answer_stats,
	[MC_STATS_SLABS] = answer_stats,
	[MC_STATS_SIZES] = answer_stats,
	[MC_STATS_CONNS] = answer_stats,
	[MC_STATS_RESET] = answer_stats_reset,
	[MC_STATS_DETAIL] = answer_detail,
	[MC_STATS_CACHEDUMP] = answer_cachedump,
	[MC_SHUTDOWN] = answer_shutdown,
	[MC_CACHE_MEMLIMIT] = answer_memlimit,
	[MC_WATCH] = answer_watch,
	[MC_CRAWLER_ENABLE] = answer_crawler_switch,
	[MC_CRAWLER_DISABLE] = answer_crawler_switch,
	[MC_CRAWLER_SLEEP] = answer_accepted,
	[MC_CRAWLER_TOCRAWL] = answer_accepted,
	[MC_CRAWLER_CRAWL] = answer_crawl,
	[MC_METADUMP] = answer_dump,
	[MC_MGDUMP] = answer_dump,
	[MC_SLABS_REASSIGN] = answer_reassign,
	[MC_SLABS_AUTOMOVE] = answer_accepted,
	[MC_LRU_TUNE] = answer_accepted,
	[MC_LRU_MODE] = answer_accepted,
	[MC_LRU_TEMP_TTL] = answer_accepted,
	[MC_QUIT] = answer_quit,
	[MC_BIN_GET] = answer_bin_get,
	[MC_BIN_GAT] = answer_bin_get,
	[MC_BIN_TOUCH] = answer_bin_touch,
	[MC_BIN_SET] = answer_store,
	[MC_BIN_ADD] = answer_store,
	[MC_BIN_REPLACE] = answer_store,
	[MC_BIN_APPEND] = answer_store,
	[MC_BIN_PREPEND] = answer_store,
	[MC_BIN_DELETE] = answer_bin_delete,
	[MC_BIN_INCR] = answer_bin_sum,
	[MC_BIN_DECR] = answer_bin_sum,
	[MC_BIN_QUIT] = answer_bin_quit,
	[MC_BIN_FLUSH] = answer_flush_all,
	[MC_BIN_NOOP] = answer_bin_noop,
	[MC_BIN_VERSION] = answer_bin_version,
	[MC_BIN_STAT] = answer_bin_stat,
	[MC_BIN_SASL_LIST] = answer_sasl,
	[MC_BIN_SASL_AUTH] = answer_sasl,
	[MC_BIN_SASL_STEP] = answer_sasl,
	[MC_BAD] = answer_bad,
	[OP_FINISH] = answer_finish,
	[OP_SKIP] = answer_nothing,
	[OP_AUTH] = answer_auth,
	[OP_AUTH_END] = answer_auth_end,
};

/* A reply that has to wait, or the last one of its connection. */
static void
op_linger(struct serve *sv, uint32_t i, enum answer a)
{
	struct op *op = &sv->ops[i];

	if (op->req.flags & MC_HANGUP)
		answer_quit(sv, op);
	if (a != ANSWER_DONE)
		session_hold(sv, op->session, a == ANSWER_PARTLY ? i + 1 : i);
}

/* One that has waited for memory: it was counted when it came. */
static __attribute__((noinline)) void
op_again(struct serve *sv, uint32_t i)
{
	struct op *op = &sv->ops[i];
	const enum answer a = answers[op->req.verb](sv, op);

	if (a != ANSWER_LATER)
		op->session->memory_waits = 0;
	if (a != ANSWER_DONE || (op->req.flags & MC_HANGUP))
		op_linger(sv, i, a);
}

static inline void
op_answer(struct serve *sv, uint32_t i)
{
	struct op *op = &sv->ops[i];
	struct session *ss = op->session;
	enum answer a;

	if (ss != NULL && unlikely(ss->conn == NULL))
		return;
	if (op->req.flags & MC_FIRST) {
		if (ss != NULL && unlikely(ss->memory_waits != 0)) {
			op_again(sv, i);
			return;
		}
		serve_count(sv, ss != NULL ? REQ_TCP : REQ_UDP);
		if (unlikely(sv->admin.observed))
			observed_request(sv, op);
	}
	a = op->req.verb == MC_GET ? answer_get(sv, op) : answers[op->req.verb](sv, op);
	if (unlikely(a != ANSWER_DONE || (op->req.flags & MC_HANGUP)))
		op_linger(sv, i, a);
	if (ss == NULL && !op->alone) {
		sv->admin.asked += op->raw.len;
		if (op_last(op)) {
			message_end(sv);
			sv->admin.asked = 0;
		}
	}
}

/* Carries that were read to their end go back: an idle connection owns no chunk. */
static void
carries_return(struct serve *sv)
{
	for (uint32_t i = 0; i < sv->op_count; i++) {
		struct session *ss = sv->ops[i].session;

		if (ss == NULL || ss->carry == NULL || ss->carry_at < ss->carry_len)
			continue;
		carry_give(sv, ss);
	}
	sv->carries_in_use = false;
}

void
serve_answer(struct serve *sv)
{
	const bool observed = sv->admin.observed;

	for (uint32_t i = 0; i < sv->op_count;) {
		const uint32_t gets =
			sv->ops[i].req.verb == MC_GET && !observed ? gets_answer(sv, i) : 0;

		if (gets == 0)
			op_answer(sv, i);
		i += gets != 0 ? gets : 1;
	}
	if (unlikely(sv->carries_in_use))
		carries_return(sv);
	if (unlikely(sv->message_count > 0))
		messages_drain(sv);
	if (unlikely(sv->datagrams.next != sv->datagrams.left))
		datagrams_leave(sv);
}
