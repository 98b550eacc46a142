/*
 * serve_execute.c - executes operations in order, and writes their replies.
 */
#include "serve_access.h"
#include "serve_get.h"
#include "serve_hot.h"
#include "serve_message.h"
#include "serve_parse.h"
#include "serve_read_buf.h"
#include "serve_record.h"

/* ---- retrieval ---- */

static inline bool
shows_cas(const struct op *op)
{
	return op->req.verb == MC_GETS || op->req.verb == MC_GATS;
}

static inline enum exec_status
get_missed(struct serve *sv, struct op *op, bool touch)
{
	record_get(sv, op, NULL, touch);
	if (op_last(op))
		reply_line(sv, op, mc_reply_line[MC_END]);
	return EXEC_DONE;
}

static inline enum exec_status
get_reply(struct serve *sv, struct op *op, const struct item *it, uint64_t cas)
{
	const bool with_cas = shows_cas(op);
	const uint32_t len = item_value_len(it);
	uint8_t *begin, *at;

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
	/* The item's key is used, since the request's may be in the memory to which the reply is
	 * written. */
	at = mc_put_value_head(begin, item_key(it), item_flags(it), len, with_cas ? &cas : NULL);
	at = value_copy(sv, at, it, len);
	reply_end(sv, op, begin, value_tail_put(at, op_last(op) ? TAIL_END : TAIL_LINE));
	return EXEC_DONE;
}

__attribute__((noinline)) enum exec_status
get_completed(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	if (answer->item == NULL)
		return get_missed(sv, op, op->req.verb >= MC_GAT);
	record_completed(sv, op, answer->item, op->req.verb >= MC_GAT);
	return get_reply(sv, op, answer->item, answer->cas);
}

static inline enum exec_status
execute_get(struct serve *sv, struct op *op)
{
	const bool touch = op->req.verb >= MC_GAT;
	const struct item *it;
	enum exec_status a;

	if (unlikely(!get_find(sv, op, touch, &it, &a)))
		return a;
	if (it != NULL) {
		record_get(sv, op, it, touch);
		return get_reply(sv, op, it, shows_cas(op) ? item_cas(it) : 0);
	}
	return get_missed(sv, op, touch);
}

/* ---- other verbs ---- */

static enum exec_status
execute_me(struct serve *sv, struct op *op)
{
	return me_execute(sv, op, store_peek_probed(sv->store, &op->probe, op->req.key));
}

/* Executes the end of a stream like a quit, without counting a request. */
static enum exec_status
execute_quit(struct serve *sv, struct op *op)
{
	if (op->session != NULL)
		session_close(sv, op->session);
	return op->raw.len != 0 ? EXEC_DONE : EXEC_NONE;
}

static enum exec_status
execute_bad(struct serve *sv, struct op *op)
{
	if ((op->req.flags & MC_HAS_BODY) && op->body.data == NULL)
		body_begin(sv, op);
	reply_error(sv, op, (enum mc_error)op->req.error);
	return EXEC_DONE;
}

static enum exec_status
execute_admin(struct serve *sv, struct op *op)
{
	return sv->admin_ops->execute(sv, op);
}

static enum exec_status
execute_nothing(struct serve *sv, struct op *op)
{
	return EXEC_NONE;
}

static enum exec_status (*const executors[OP_VERB_COUNT])(struct serve *sv, struct op *op) = {
	[MC_GET... MC_GATS] = execute_get,
	[MC_SET] = execute_set,
	[MC_ADD... MC_CAS] = execute_store,
	[MC_DELETE] = execute_delete,
	[MC_INCR... MC_DECR] = execute_arith,
	[MC_TOUCH] = execute_touch,
	[MC_MG] = execute_mg,
	[MC_MS] = execute_store,
	[MC_MD] = execute_md,
	[MC_MA] = execute_ma,
	[MC_ME] = execute_me,
	[MC_MN] = execute_mn,
	[MC_FLUSH_ALL] = execute_flush_all,
	[MC_VERSION] = execute_version,
	[MC_QUIT] = execute_quit,
	[MC_STATS... MC_REFRESH_CERTS] = execute_admin,
	[MC_BIN_GET... MC_BIN_GAT] = execute_bin_get,
	[MC_BIN_TOUCH] = execute_bin_touch,
	[MC_BIN_SET... MC_BIN_PREPEND] = execute_store,
	[MC_BIN_DELETE] = execute_bin_delete,
	[MC_BIN_INCR... MC_BIN_DECR] = execute_bin_arith,
	[MC_BIN_QUIT] = execute_bin_quit,
	[MC_BIN_FLUSH] = execute_flush_all,
	[MC_BIN_NOOP] = execute_bin_noop,
	[MC_BIN_VERSION] = execute_bin_version,
	[MC_BIN_STAT] = execute_admin,
	[MC_BIN_SASL_LIST... MC_BIN_SASL_STEP] = execute_sasl,
	[MC_BAD] = execute_bad,
	[OP_BODY_DONE] = execute_body_done,
	[OP_SKIP] = execute_nothing,
	[OP_AUTH] = execute_auth,
	[OP_AUTH_END] = execute_auth_end,
	[OP_KEPT_GET... OP_KEPT_WRITE] = execute_nothing, /* lib/backend executes them */
};

enum exec_status
verb_execute(struct serve *sv, struct op *op)
{
	return executors[op->req.verb](sv, op);
}

static inline __attribute__((always_inline)) enum exec_status
op_run(struct serve *sv, struct op *op)
{
	if (unlikely(sv->backend_mode != BACKEND_NONE))
		return sv->backend_ops->execute(sv, op);
	return op->req.verb == MC_GET ? execute_get(sv, op) : executors[op->req.verb](sv, op);
}

/* Records what the session's next request waits for: window, memory or the backend. */
static void
op_waits(struct serve *sv, struct session *ss)
{
	ss->since_ns = session_since_ns(sv, ss);
	ss->late_pass = sv->pass;
	ss->wait.arrived_ns = ss->since_ns;
	session_waits(sv, ss,
		      ss->value.item != NULL ? (ss->value.arrival == 0 ? WAIT_WINDOW : WAIT_BACKEND)
		      : ss->memory_wait_turns != 0 ? WAIT_MEMORY
						   : WAIT_BACKEND);
}

/* Closes the connection after its last request, or defers its operations if a reply must wait. */
static void
op_defer_or_close(struct serve *sv, struct op *op, enum exec_status a)
{
	const uint32_t i = (uint32_t)(op - sv->ops);

	if (a == EXEC_NONE || a == EXEC_LATER)
		return;
	if (a != EXEC_DONE)
		op_waits(sv, op->session);
	if (op->req.flags & MC_CLOSE_AFTER)
		execute_quit(sv, op);
	if (a != EXEC_DONE)
		session_defer(sv, op->session, a == EXEC_PARTIAL ? i + 1 : i);
}

static inline __attribute__((always_inline)) void
request_count(struct serve *sv, struct op *op)
{
	serve_count(sv, op->session != NULL ? REQ_TCP : REQ_UDP);
	if (unlikely(sv->observed))
		sv->admin_ops->request(sv, op);
}

/* Executes the first operation of a session that waited. A request that waited for memory or for an
 * answer was counted when it arrived. */
static __attribute__((noinline)) void
op_retry(struct serve *sv, struct op *op)
{
	const struct executed e = execution_begin(sv, op);
	struct session *ss = op->session;
	const bool counted = ss->memory_wait_turns != 0 || ss->pending_counted;
	/* If op stays unread while kept requests precede it, it is not counted as a request. */
	const bool behind = ss->kept != NULL;
	enum exec_status a;

	if (!counted && !behind)
		request_count(sv, op);
	ss->pending_counted = false;
	a = op_run(sv, op);
	if (a == EXEC_DONE)
		execution_end(sv, op, ss, &e);
	if (!counted && behind && a != EXEC_RETRY)
		request_count(sv, op);
	if (a != EXEC_RETRY && op->session->memory_wait_turns != 0)
		session_go_on(sv, op->session);
	if (a != EXEC_DONE || (op->req.flags & MC_CLOSE_AFTER))
		op_defer_or_close(sv, op, a);
}

/* True if the operation cannot be executed: the connection is closed, or earlier replies have
 * filled its queue, so that it is deferred. */
static __attribute__((noinline)) bool
op_stops(struct serve *sv, const struct op *op)
{
	struct session *ss = op->session;

	if (ss->conn == NULL)
		return true;
	if (!op_is(op, VERB_RETURNS_VALUE) || ss->memory_wait_turns != 0 ||
	    !conn_is_full(sv->stack, ss->conn))
		return false;
	session_waits(sv, ss, WAIT_WINDOW);
	session_defer(sv, ss, (uint32_t)(op - sv->ops));
	return true;
}

/* Executes a retrieval, or an operation that may have arrived before this turn or may be answered
 * later. Only after its execution is it known how it counts. */
static __attribute__((noinline)) enum exec_status
execute_recorded(struct serve *sv, struct op *op)
{
	const struct executed e = execution_begin(sv, op);
	const struct session *ss = op->session;
	const enum exec_status a = op_run(sv, op);

	if (a == EXEC_DONE)
		execution_end(sv, op, ss, &e);
	return a;
}

static inline __attribute__((always_inline)) enum exec_status
execute_fresh(struct serve *sv, struct op *op, uint8_t class)
{
	const enum exec_status a = executors[op->req.verb](sv, op);

	if (likely(a == EXEC_DONE) &&
	    (class != VERB_CLASS_SET || op->body.data != NULL || op->req.verb == OP_BODY_DONE))
		residence_add(&sv->residence,
			      residence_row(op->session != NULL, (enum request_kind) class), 1);
	return a;
}

static inline __attribute__((always_inline)) void
op_execute(struct serve *sv, struct op *op, bool slow)
{
	struct session *ss = op->session;
	const uint8_t class = verb_classes[op->req.verb];
	enum exec_status a;

	if (ss != NULL && unlikely(ss->conn == NULL || ss->deferrable_bytes != 0) &&
	    op_stops(sv, op))
		return;
	if (op->req.flags & MC_FIRST) {
		if (ss != NULL && unlikely(ss->waits != 0)) {
			op_retry(sv, op);
			return;
		}
		request_count(sv, op);
	}
	if (slow || class == VERB_CLASS_GET)
		a = execute_recorded(sv, op);
	else
		a = execute_fresh(sv, op, class);
	if (unlikely(a != EXEC_DONE || (op->req.flags & MC_CLOSE_AFTER)))
		op_defer_or_close(sv, op, a);
	if (ss == NULL && !op->in_place) {
		sv->request_bytes += op->raw.len;
		if (op_last(op)) {
			message_end(sv);
			sv->request_bytes = 0;
		}
	}
}

/* Frees read buffers that were read to their end, so that an idle connection has no chunk. */
static void
read_bufs_release(struct serve *sv)
{
	const struct session *last = NULL;

	for (uint32_t i = 0; i < sv->op_count; i++) {
		struct session *ss = sv->ops[i].session;

		if (ss == NULL || ss == last || ss->conn == NULL)
			continue;
		last = ss;
		if (ss->waits != 0 && sv->backend_mode != BACKEND_NONE)
			sv->backend_ops->session_swept(sv, ss);
		if (ss->read_buf != NULL && ss->read_buf_at == ss->read_buf_len)
			read_buf_free(sv, ss);
	}
	if (sv->backend_mode != BACKEND_NONE)
		sv->backend_ops->pass_end(sv);
	sv->read_bufs_in_use = false;
}

/* Executes the run of plain gets from operation i on. Returns how many. */
static inline uint32_t
gets_execute_slow(struct serve *sv, uint32_t i)
{
	if (sv->ops[i].req.verb != MC_GET || sv->observed)
		return 0;
	return sv->backend_mode != BACKEND_NONE ? sv->backend_ops->hits_execute(sv, i)
						: gets_execute_late(sv, i);
}

/* Executes a pass in which watchers or a backend take part in gets, or in which some requests
 * arrived before this turn. */
static __attribute__((noinline)) void
ops_execute_slow(struct serve *sv)
{
	for (uint32_t i = 0; i < sv->op_count;) {
		const uint32_t gets = gets_execute_slow(sv, i);

		if (gets == 0 && sv->ops[i].req.verb != OP_SKIP)
			op_execute(sv, &sv->ops[i], true);
		i += gets != 0 ? gets : 1;
	}
}

static inline void
ops_execute(struct serve *sv)
{
	const struct op *end = &sv->ops[sv->op_count];

	for (struct op *op = sv->ops; op < end;) {
		const uint32_t gets = op->req.verb == MC_GET ? gets_execute_fast(sv, op) : 0;

		if (gets == 0)
			op_execute(sv, op, false);
		op += gets != 0 ? gets : 1;
	}
}

void
serve_execute(struct serve *sv)
{
	if (unlikely(sv->op_count > sv->hot.left))
		ops_sample(sv);
	sv->hot.left -= sv->op_count;
	if (unlikely(sv->gets_are_slow != 0))
		ops_execute_slow(sv);
	else
		ops_execute(sv);
	if (unlikely(sv->read_bufs_in_use))
		read_bufs_release(sv);
	if (unlikely(sv->message_count > 0))
		datagrams_pass_over(sv);
	if (unlikely(sv->datagrams.next != sv->datagrams.keep_from))
		datagrams_keep_rest(sv);
}
