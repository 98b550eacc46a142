/*
 * serve_defer.c - replies that wait for room, in order. A large value continues in a later pass,
 * before anything else of its connection. By then the frames of the requests after it are freed, so
 * their bytes go into a read buffer (serve_parse.c admits no more than fit one).
 */
#include "serve_internal.h"
#include "serve_read_buf.h"
#include "serve_since.h"

static void
extern_keep(const void *arg)
{
}

static void
extern_unpin(const void *arg)
{
	store_unpin(arg);
}

static void
lent_hold(const void *owner)
{
	store_pin(owner);
}

static uint32_t
lent_bytes(const void *owner)
{
	return item_value_len(owner);
}

/* The frames' pin is taken while the queued value has one, so the count does not rise from 0. */
const struct lender value_lender = {lent_hold, extern_unpin, lent_bytes};

static void
value_end(struct serve *sv, struct session *ss)
{
	const enum value_tail tail = (enum value_tail)ss->value.tail;
	uint8_t *at;

	if (tail == TAIL_NONE)
		return;
	at = conn_reserve(sv->stack, ss->conn, VALUE_TAIL_MAX);
	ensure(at != NULL);
	conn_commit(sv->stack, ss->conn, (uint32_t)(value_tail_put(at, tail) - at));
}

/* Queues the next piece of the value, up to `end`. Pieces are acknowledged in order, so the last
 * one unpins the value. */
static void
piece_queue(struct serve *sv, struct session *ss, uint32_t end)
{
	struct value_rest *v = &ss->value;
	struct view piece = store_value_at(sv->store, v->item, v->offset);

	piece.len = piece.len < end - v->offset ? piece.len : end - v->offset;
	v->offset += piece.len;
	ensure(conn_write_external(
		sv->stack, ss->conn, piece.data, piece.len,
		v->offset == item_value_len(v->item) ? extern_unpin : extern_keep, v->item));
	conn_external_lendable(ss->conn);
}

bool
value_resume(struct serve *sv, struct session *ss)
{
	struct value_rest *v = &ss->value;
	const uint32_t len = item_value_len(v->item);
	const uint32_t here = likely(v->arrival == 0) ? len : sv->backend_ops->arrived(sv, ss);

	if (v->offset == here || !conn_piece_writable(sv->stack, ss->conn))
		return false;
	do
		piece_queue(sv, ss, here);
	while (v->offset < here && conn_piece_fits(sv->stack, ss->conn));
	conn_holds_behind(sv->stack, ss->conn, here - v->offset);
	if (v->offset < len)
		return false;
	value_end(sv, ss);
	v->item = NULL;
	return true;
}

/* Appends the run to the scratch buffer, which has `bytes` bytes already. Returns the new
 * length. */
static uint32_t
scratch_put(struct serve *sv, uint32_t bytes, struct view run)
{
	ensure(bytes + run.len <= sizeof sv->scratch);
	if (run.len > 0)
		memcpy(sv->scratch + bytes, run.data, run.len);
	return bytes + run.len;
}

/* Collects the bytes of the connection's operations from ops[first] on, and cancels these
 * operations. Most of the bytes are contiguous. */
static uint32_t
ops_unread(struct serve *sv, struct session *ss, uint32_t first)
{
	struct view run = {NULL, 0};
	uint32_t bytes = 0;

	for (uint32_t i = first; i < sv->op_count; i++) {
		struct op *op = &sv->ops[i];

		if (op->session != ss)
			continue;
		if (bytes + run.len == 0)
			ss->parser = op->before;
		if (run.len == 0 || op->raw.data != run.data + run.len) {
			bytes = scratch_put(sv, bytes, run);
			run = (struct view){op->raw.data, 0};
		}
		run.len += op->raw.len; /* the operation for an end of stream has no bytes */
		op->req.verb = OP_SKIP;
		op->req.flags = 0;
	}
	return scratch_put(sv, bytes, run);
}

bool
defer_fits(const struct serve *sv, const struct op *op)
{
	const struct session *ss = op->session;
	uint32_t bytes = ss->read_buf_len - ss->read_buf_at;

	for (; op < &sv->ops[sv->op_count]; op++)
		bytes += op->session == ss ? op->raw.len : 0;
	return bytes <= CHUNK_BYTES;
}

void
session_defer(struct serve *sv, struct session *ss, uint32_t first)
{
	const uint32_t rest = ss->read_buf_len - ss->read_buf_at;
	uint32_t bytes;

	if (unlikely(ss->pending != NULL))
		sv->backend_ops->bytes_move(sv, ss, first);
	bytes = ops_unread(sv, ss, first);

	serve_count(sv, CONN_DEFERRED);
	/* The request that set these will be parsed again. */
	ss->closing = false;
	if (ss->body == BODY_WAIT)
		ss->body = BODY_NONE;
	if (rest > 0)
		memcpy(sv->scratch + bytes, ss->read_buf + ss->read_buf_at, rest);
	bytes += rest;
	ensure(bytes <= CHUNK_BYTES);
	if (bytes == 0)
		return;
	/* The chunk reserved for the first deferred reply receives the bytes of all deferred
	 * requests. */
	if (ss->read_buf == NULL)
		read_buf_take_credited(sv, ss);
	else if (ss->waits == 0)
		read_buf_leave(sv, ss);
	ss->read_buf_since_ns = session_since_ns(sv, ss);
	ss->newer_since_ns = 0;
	memcpy(ss->read_buf, sv->scratch, bytes);
	ss->read_buf_at = 0;
	ss->read_buf_len = bytes;
}
