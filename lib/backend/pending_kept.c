/*
 * pending_kept.c - requests that are kept until they are completed: writes that a backend executes,
 * and retrievals that follow them. Decides when each is asked for, keeps it, and completes it.
 */
#include "pending_parts.h"

#include "serve/serve_begun.h"
#include "serve/serve_record.h"
#include "serve/serve_since.h"

/* ---- pipelines ---- */

/* True if one more kept request leaves chunks for the first writes of other sessions, and places
 * for their retrievals. */
bool
kept_have_room(const struct serve *sv)
{
	return sv->pending->kept_count < sv->read_bufs_max / 4 &&
	       sv->pending->kept_count < PENDING_KEPT_PLACES;
}

/* A retrieval that is not asked for is executed at its turn, and then all later requests of its key
 * must wait for theirs. */
bool
pending_may_follow(struct serve *sv, const struct op *op)
{
	const struct pending *last = pending_kept_find(sv, op->session, op->hash);
	const struct backend *by = &sv->pending->backend;

	if (last == NULL || last->state == PENDING_READY)
		return true;
	return last->state == PENDING_ASKED && by->follows != NULL &&
	       by->follows(by->arg, last->ticket, op->req.key, op->hash);
}

/* True if a session may keep one more request. It must be able to get a read buffer, into which a
 * request goes back that cannot be asked for. */
bool
session_may_pipeline(const struct serve *sv, const struct session *ss)
{
	const struct kept_request *first = ss->kept->kept;

	return !ss->pipeline_stopped && !sv->pending->draining && pending_may_defer(sv, ss) &&
	       ss->pending_count < PENDING_KEPT_MAX &&
	       (first->reads || pending_is_keyed_write(&first->req));
}

enum write_turn {
	PENDING_NOW, /* the request may be asked for: write_keep() may follow */
	/* There is no place: write_enqueue() and pending_later() follow, or the datagram is
	 * dropped. */
	PENDING_QUEUE,
	PENDING_NEVER, /* the request has failed, and is not asked for */
};

/* ---- asking ---- */

/* True if op has bytes that can go back. A body that arrived in pieces has none. */
static bool
has_bytes(const struct op *op)
{
	return op->raw.len > 0;
}

static enum write_turn
session_turn(struct serve *sv, const struct op *op, uint32_t value_len)
{
	const struct session *ss = op->session;

	if (sv->pending->draining || ss->place_refused)
		return PENDING_NEVER;
	if (pending_has_place(sv, ss, op->req.key, op->hash, value_len))
		return PENDING_NOW;
	return has_bytes(op) && !pending_may_defer(sv, ss) ? PENDING_NEVER : PENDING_QUEUE;
}

static enum write_turn
datagram_turn(struct serve *sv, const struct op *op, uint32_t value_len)
{
	if (sv->pending->draining || pending_line_is_late(sv, op))
		return PENDING_NEVER;
	if (pending_has_place(sv, NULL, op->req.key, op->hash, value_len))
		return PENDING_NOW;
	serve_count(sv, UDP_DROP_NO_MEMORY);
	return PENDING_QUEUE;
}

static enum write_turn
write_turn_of(struct serve *sv, struct op *op, uint32_t value_len)
{
	struct session *ss = op->session;
	const enum write_turn turn =
		ss != NULL ? session_turn(sv, op, value_len) : datagram_turn(sv, op, value_len);

	if (turn == PENDING_NEVER)
		serve_count(sv, AWAITS_FAILED);
	if (ss == NULL || turn == PENDING_QUEUE)
		return turn;
	if (turn == PENDING_NEVER)
		ss->place_since_ns = 0;
	ss->place_refused = false;
	return turn;
}

static void
write_enqueue(struct serve *sv, struct op *op, uint32_t value_len)
{
	op->session->pending_counted = has_bytes(op) && (op->req.flags & MC_FIRST) != 0;
	pending_queue(sv, op->session, op->req.key, op->hash, value_len);
}

/* Keeps a request in a chunk. For a connection that is the chunk reserved for its reply. */
static struct kept_request *
request_keep(struct serve *sv, const struct op *op)
{
	uint8_t *chunk = op->session != NULL ? stack_chunk_get_credited(sv->stack)
					     : stack_chunk_get(sv->stack);
	struct kept_request *w = (struct kept_request *)(void *)chunk;

	if (w == NULL)
		return NULL;
	w->req = op->req;
	w->req.key.data = w->key;
	w->reads = pending_reads(&op->req);
	if (op->req.key.len != 0)
		memcpy(w->key, op->req.key.data, op->req.key.len);
	w->datagram = (struct datagram){.kept = true};
	if (op->session != NULL) {
		w->datagram.since_ns = session_since_ns(sv, op->session);
	} else {
		w->datagram.from = op->datagram->from;
		w->datagram.since_ns = datagram_since_ns(sv, op->datagram);
		w->udp_id = op->udp_id;
		w->bytes = op->raw.len;
		w->rest = NULL;
	}
	return w;
}

static bool
write_keep(struct serve *sv, struct op *op, const struct fill *value)
{
	struct session *ss = op->session;
	struct kept_request *w;

	if (ss != NULL)
		pending_give_up(sv, ss); /* all answers are used; none after op was asked for */
	else if (ss == NULL)
		pending_line_give_up(sv, op);
	if (ss != NULL)
		ss->reads_behind = 0;
	w = request_keep(sv, op);
	if (w == NULL) {
		serve_count(sv, UDP_DROP_NO_MEMORY);
		return false;
	}
	pending_ask_write(sv, ss, w, op->hash, value);
	if (ss == NULL)
		w->rest = pending_rest_keep(sv, op);
	return true;
}

static void
read_keep(struct serve *sv, struct op *op, bool asks)
{
	op->session->reads_behind++;
	pending_keep(sv, op->session, request_keep(sv, op), op->hash, asks);
}

void
pending_drop_key(struct serve *sv, struct view key, uint64_t hash)
{
	struct pending_table *pt = sv->pending;

	if (pt->backend.copies.drop == NULL)
		return;
	pt->backend.copies.drop(pt->backend.arg, key, hash);
	pt->asked_in_turn = true;
	sv->read_bufs_in_use = true;
}

/* ---- answers ---- */

/* Makes op the kept request of a, whose key is in key[]. */
static void
op_restore(struct op *op, const struct pending *a, uint8_t key[static MC_KEY_MAX])
{
	const struct kept_request *kept = a->kept;

	memcpy(key, kept->key, kept->req.key.len);
	op->req = kept->req;
	op->req.key.data = key;
	op->hash = a->hash;
}

/* Reserves the kept request's chunk for its reply again. */
static void
kept_let_go(struct serve *sv, struct pending *a)
{
	stack_chunk_credit(sv->stack, (uint8_t *)a->kept);
	a->kept = NULL;
	sv->pending->kept_count--;
}

static struct pending *
read_take(struct serve *sv, struct op *op, uint8_t key[static MC_KEY_MAX])
{
	struct pending *a = op->session->kept;

	op_restore(op, a, key);
	kept_let_go(sv, a);
	return a;
}

static void
read_end(struct serve *sv, struct op *op, struct pending *a, uint64_t since_ns, bool completed)
{
	struct session *ss = op->session;

	if (completed) {
		ss->kept = a->next;
		ss->pipeline_stopped = false;
		pending_kept_end(sv, a); /* its chunk is reserved for the reply */
		pending_free(sv, a);
		return;
	}
	a->kept = request_keep(sv, op);
	a->kept->pending = a;
	a->kept->datagram.since_ns = since_ns;
	sv->pending->kept_count++;
}

static struct pending *
write_take(struct serve *sv, struct op *op, uint8_t key[static MC_KEY_MAX])
{
	struct session *ss = op->session;
	struct pending *a =
		ss != NULL ? ss->kept
			   : container_of(op->datagram, struct kept_request, datagram)->pending;

	op_restore(op, a, key);
	list_unlink(&a->due);
	if (ss == NULL) {
		if (a->kept->rest != NULL)
			pending_rest_go_on(sv, a->kept->rest);
		return a; /* the reply goes to the sender noted in the chunk */
	}
	ss->kept = a->next;
	a->next = NULL;
	ss->pending_count--;
	ss->pipeline_stopped = false;
	kept_let_go(sv, a);
	a->session = NULL;
	pending_kept_end(sv, a);
	sv->pending->udp_count++; /* pending_free() will count it as a datagram's */
	return a;
}

/* ---- failures of writes ---- */

static const struct backend_answer not_answered = {.failed = true};

static bool
is_flush(const struct op *op)
{
	return op->req.verb == MC_FLUSH_ALL || op->req.verb == MC_BIN_FLUSH;
}

/* Replies that a write has failed. A flush without a reply ends its connection instead, since its
 * client would otherwise believe that its items are flushed. */
static void
write_fail(struct serve *sv, struct op *op, const struct backend_answer *answer)
{
	struct session *ss = op->session;

	pending_fail(sv, op, answer);
	if (ss == NULL || !is_flush(op) || !op_noreply(op))
		return;
	ss->end = SESSION_END_ERROR;
	session_close(sv, ss);
}

/* ---- executing writes ---- */

static bool
has_value(const struct op *op)
{
	const uint8_t verb = op->req.verb;

	return (verb >= MC_SET && verb <= MC_CAS) || verb == MC_MS ||
	       (verb >= MC_BIN_SET && verb <= MC_BIN_PREPEND);
}

/* Queues a write for a place. Ends its wait for memory, if it had one: it gets a place first, then
 * memory. */
static enum exec_status
write_queue(struct serve *sv, struct op *op, uint32_t value_len)
{
	struct session *ss = op->session;

	if (ss == NULL)
		return EXEC_LATER;
	if (ss->memory_wait_turns != 0)
		session_go_on(sv, ss);
	write_enqueue(sv, op, value_len);
	return EXEC_RETRY;
}

static enum exec_status
write_ask(struct serve *sv, struct op *op, struct fill *value)
{
	if (!write_keep(sv, op, value) && value != NULL)
		store_abandon(sv->store, value);
	return op->session != NULL ? EXEC_PARTIAL : EXEC_LATER;
}

/* Begins the value of a write whose body is incomplete. If the write has failed, the body is
 * skipped. */
static enum exec_status
value_begin(struct serve *sv, struct op *op, enum write_turn turn)
{
	if (turn == PENDING_NOW)
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

/* Asks for a write that follows kept requests. No reply is possible yet. So if it cannot be asked
 * for, it is executed again when the first kept request is completed. Its body is complete and has
 * the right end (pending_execute.c). */
static enum exec_status
write_ask_behind(struct serve *sv, struct op *op, bool value)
{
	const uint32_t len = value ? op->req.body_len : 0;
	struct fill fill;

	if (!pending_may_follow(sv, op) ||
	    !pending_has_place(sv, op->session, op->req.key, op->hash, len) ||
	    (value && storage_begin(sv, op, &fill) != STORE_OK)) {
		op->session->pipeline_stopped = true;
		return EXEC_RETRY;
	}
	if (value)
		store_fill(sv->store, &fill, op->body.data, len);
	write_keep(sv, op, value ? &fill : NULL);
	session_waits(sv, op->session, WAIT_BACKEND);
	return EXEC_NONE; /* later requests may be asked for, too */
}

/* Keeps a retrieval after kept requests. If it is not asked for now, it is at its turn, unless a
 * copy answers it. */
enum exec_status
execute_read_behind(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;

	if (!pending_has_place(sv, ss, op->req.key, op->hash, 0)) {
		ss->pipeline_stopped = true;
		return EXEC_RETRY;
	}
	read_keep(sv, op, pending_may_follow(sv, op) && pending_lacks(sv, op));
	session_waits(sv, ss, WAIT_BACKEND);
	return EXEC_NONE;
}

enum exec_status
execute_write(struct serve *sv, struct op *op)
{
	const bool value = has_value(op);
	enum write_turn turn;

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
	turn = write_turn_of(sv, op, value ? op->req.body_len : 0);
	if (turn == PENDING_QUEUE)
		return write_queue(sv, op, value ? op->req.body_len : 0);
	if (value && op->body.data == NULL)
		return value_begin(sv, op, turn);
	if (turn == PENDING_NEVER) {
		write_fail(sv, op, &not_answered);
		return EXEC_DONE;
	}
	return value ? value_ask(sv, op) : write_ask(sv, op, NULL);
}

/* Answers a write whose value is complete with an error, and abandons the value. */
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
	list_unlink(&ss->quota_link); /* the value is complete, and keeps its part of the quota */
	if (ss->bad_end)
		return filled_refuse(sv, op, MC_ERR_CHUNK);
	switch (write_turn_of(sv, op, ss->fill.value_len)) {
	case PENDING_QUEUE:
		write_enqueue(sv, op, ss->fill.value_len);
		ss->body = BODY_FILLED;
		return EXEC_RETRY;
	case PENDING_NEVER:
		return filled_refuse(sv, op, MC_ERR_NO_ANSWER);
	default:
		break;
	}
	ss->filling = false;
	fill_quota_end(sv, ss);
	return write_ask(sv, op, &ss->fill);
}

/* ---- completing kept requests ---- */

/* Executes a kept retrieval that was not asked for: uses a copy, or asks for it now. */
static enum exec_status
unasked_execute(struct serve *sv, struct op *op)
{
	op->hash = store_probe(sv->store, &op->probe, op->req.key);
	if (store_probe_primary(sv->store, &op->probe))
		store_probe_alternate(sv->store, &op->probe);
	return pending_execute_read(sv, op);
}

/* Executes a kept retrieval at its turn, with its own answer. A copy is not used: it may be newer,
 * while the answer to a later retrieval of the key is older than the copy. */
enum exec_status
execute_kept_read(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	const uint64_t since_ns = op->datagram->since_ns;
	uint8_t key[MC_KEY_MAX];
	struct pending *a = read_take(sv, op, key);
	enum exec_status status;

	status = a->state == PENDING_READY ? read_pending(sv, op) : unasked_execute(sv, op);
	read_end(sv, op, a, since_ns, status != EXEC_RETRY);
	if (status == EXEC_DONE)
		return status;
	ss->since_ns = since_ns; /* arrival of the request that waits for this one */
	ss->late_pass = sv->pass;
	return status;
}

enum exec_status
execute_kept_write(struct serve *sv, struct op *op)
{
	uint8_t key[MC_KEY_MAX];
	struct pending *a = write_take(sv, op, key);
	const struct backend_answer answer = a->answer;
	/* A line of gat ends with its last key. */
	const bool ends = op->req.verb < MC_GAT || op->req.verb > MC_GATS || op_last(op);
	enum exec_status status = EXEC_DONE;

	if (is_flush(op))
		serve_count(sv, CMD_FLUSH);
	if (answer.failed || answer.error != MC_ERR_NONE)
		write_fail(sv, op, &answer);
	else
		status = pending_complete(sv, op, &answer);
	pending_free(sv, a);
	return status == EXEC_DONE && !ends ? EXEC_NONE : status;
}
