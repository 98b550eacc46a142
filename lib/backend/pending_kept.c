/*
 * pending_kept.c - writes that a supplier does, and retrievals behind them: when they may be
 * asked, what is kept of them meanwhile, and their answers as operations. What they are told:
 * pending_writes.c.
 */
#include "pending_kept.h"
#include "pending_pipeline.h"

#include "serve/serve_since.h"

static bool
has_effect(const struct mc_req *req)
{
	if (req->verb == MC_MG)
		return (req->meta.flags & MG_EFFECTS) != 0;
	return (verb_traits[req->verb] & VERB_WRITES) != 0 || req->verb == MC_FLUSH_ALL ||
	       req->verb == MC_BIN_FLUSH;
}

bool
await_is_write(const struct serve *sv, const struct mc_req *req)
{
	return req->verb != MC_GET && sv->backend_mode >= BACKEND_WRITES && has_effect(req);
}

bool
await_passes_copies(const struct serve *sv, const struct mc_req *req)
{
	const struct serve_supplier *by = &sv->awaits->supplier;

	if (req->verb == MC_GET)
		return false;
	if (await_is_write(sv, req))
		return true;
	return by->passes_copies != NULL && (verb_traits[req->verb] & VERB_RETURNS_VALUE) != 0 &&
	       by->passes_copies(by->arg, req);
}

/* ---- behind others ---- */

bool
await_is_keyed_read(const struct mc_req *req)
{
	const uint8_t whole = MC_FIRST | MC_LAST;

	return await_reads(req) && (req->flags & whole) == whole &&
	       (req->flags & (MC_KEY_BASE64 | MC_CLOSE_AFTER)) == 0;
}

bool
await_is_keyed_write(const struct mc_req *req)
{
	if (req->flags & (MC_KEY_BASE64 | MC_CLOSE_AFTER))
		return false;
	switch (req->verb) {
	case MC_SET ... MC_CAS:
	case MC_DELETE:
	case MC_INCR ... MC_DECR:
	case MC_TOUCH:
	case MC_MS:
	case MC_MD:
	case MC_MA:
	case MC_BIN_SET ... MC_BIN_PREPEND:
	case MC_BIN_DELETE:
	case MC_BIN_INCR ... MC_BIN_DECR:
	case MC_BIN_TOUCH:
		return true;
	default:
		return false;
	}
}

/* Others' first writes find a chunk, and others' retrievals a place. */
bool
kept_have_room(const struct serve *sv)
{
	return sv->awaits->kept_count < sv->read_bufs_max / 4 &&
	       sv->awaits->kept_count < AWAITS_KEPT_PLACES;
}

/* One that cannot be asked goes back into a read buffer. */
bool
session_may_pipeline(const struct serve *sv, const struct session *ss)
{
	const struct kept_request *first = ss->kept->kept;

	return !ss->pipeline_stopped && !sv->awaits->draining && await_may_defer(sv, ss) &&
	       ss->await_count < AWAIT_KEPT_MAX &&
	       (first->reads || await_is_keyed_write(&first->req));
}

/* ---- asking ---- */

/* A body that came in pieces has no bytes to go back. */
static bool
has_bytes(const struct op *op)
{
	return op->raw.len > 0;
}

static enum await_turn
session_turn(struct serve *sv, const struct op *op, uint32_t value_len)
{
	const struct session *ss = op->session;

	if (sv->awaits->draining || ss->await_refused)
		return AWAIT_NEVER;
	if (await_has_place(sv, ss, op->req.key, op->hash, value_len))
		return AWAIT_NOW;
	return has_bytes(op) && !await_may_defer(sv, ss) ? AWAIT_NEVER : AWAIT_QUEUE;
}

static enum await_turn
datagram_turn(struct serve *sv, const struct op *op, uint32_t value_len)
{
	if (sv->awaits->draining || awaited_line_is_late(sv, op))
		return AWAIT_NEVER;
	if (await_has_place(sv, NULL, op->req.key, op->hash, value_len))
		return AWAIT_NOW;
	serve_count(sv, UDP_DROP_NO_MEMORY);
	return AWAIT_QUEUE;
}

enum await_turn
await_write_turn(struct serve *sv, struct op *op, uint32_t value_len)
{
	struct session *ss = op->session;
	const enum await_turn turn =
		ss != NULL ? session_turn(sv, op, value_len) : datagram_turn(sv, op, value_len);

	if (turn == AWAIT_NEVER)
		serve_count(sv, AWAITS_FAILED);
	if (ss == NULL || turn == AWAIT_QUEUE)
		return turn;
	ss->await_since_ns = 0;
	ss->await_refused = false;
	return turn;
}

void
await_write_queue(struct serve *sv, struct op *op, uint32_t value_len)
{
	op->session->await_counted = has_bytes(op) && (op->req.flags & MC_FIRST) != 0;
	await_queue(sv, op->session, op->req.key, op->hash, value_len);
}

/* Of a connection it is the chunk that was promised to its reply. */
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
	w->reads = await_reads(&op->req);
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

bool
await_write(struct serve *sv, struct op *op, const struct fill *value)
{
	struct session *ss = op->session;
	struct kept_request *w;

	if (ss != NULL)
		awaits_give_up(sv, ss); /* of what is executed: nothing behind it was asked */
	else if (ss == NULL)
		awaited_line_give_up(sv, op);
	if (ss != NULL)
		ss->reads_behind = 0;
	w = request_keep(sv, op);
	if (w == NULL) {
		serve_count(sv, UDP_DROP_NO_MEMORY);
		return false;
	}
	await_ask_write(sv, ss, w, op->hash, value);
	if (ss == NULL)
		w->rest = awaited_rest_keep(sv, op);
	return true;
}

void
await_keep_read(struct serve *sv, struct op *op, bool asks)
{
	op->session->reads_behind++;
	await_keep(sv, op->session, request_keep(sv, op), op->hash, asks);
}

void
await_drop_key(struct serve *sv, struct view key, uint64_t hash)
{
	struct awaits *aw = sv->awaits;

	if (aw->supplier.drop == NULL)
		return;
	aw->supplier.drop(aw->supplier.arg, key, hash);
	aw->asked_in_turn = true;
	sv->read_bufs_in_use = true;
}

/* ---- answers ---- */

/* Makes op what was kept. */
static void
op_restore(struct op *op, const struct await *a, uint8_t key[static MC_KEY_MAX])
{
	const struct kept_request *kept = a->kept;

	memcpy(key, kept->key, kept->req.key.len);
	op->req = kept->req;
	op->req.key.data = key;
	op->hash = a->hash;
}

/* The chunk is its reply's. */
static void
kept_let_go(struct serve *sv, struct await *a)
{
	stack_chunk_credit(sv->stack, (uint8_t *)a->kept);
	a->kept = NULL;
	sv->awaits->kept_count--;
}

struct await *
await_read_begin(struct serve *sv, struct op *op, uint8_t key[static MC_KEY_MAX])
{
	struct await *a = op->session->kept;

	op_restore(op, a, key);
	kept_let_go(sv, a);
	return a;
}

void
await_read_end(struct serve *sv, struct op *op, struct await *a, uint64_t since_ns, bool told)
{
	struct session *ss = op->session;

	if (told) {
		ss->kept = a->next;
		ss->pipeline_stopped = false;
		a->is_kept = false; /* its chunk is the reply's */
		await_free(sv, a);
		return;
	}
	a->kept = request_keep(sv, op);
	a->kept->await = a;
	a->kept->datagram.since_ns = since_ns;
	sv->awaits->kept_count++;
}

struct await *
await_written(struct serve *sv, struct op *op, uint8_t key[static MC_KEY_MAX])
{
	struct session *ss = op->session;
	struct await *a =
		ss != NULL ? ss->kept
			   : container_of(op->datagram, struct kept_request, datagram)->await;

	op_restore(op, a, key);
	list_unlink(&a->due);
	if (ss == NULL) {
		if (a->kept->rest != NULL)
			awaited_rest_go_on(sv, a->kept->rest);
		return a; /* its reply goes to who is named in the chunk */
	}
	ss->kept = a->next;
	a->next = NULL;
	ss->await_count--;
	ss->pipeline_stopped = false;
	kept_let_go(sv, a);
	a->session = NULL;
	a->is_kept = false;
	sv->awaits->udp_count++; /* as which it is freed */
	return a;
}

void
awaited_writes_parse(struct serve *sv)
{
	struct list *link;

	while (sv->op_count < OPS_MAX &&
	       (link = list_pop_front(&sv->awaits->answered_udp)) != NULL) {
		struct kept_request *w = container_of(link, struct await, due)->kept;
		struct op *op = &sv->ops[sv->op_count++];

		op->session = NULL;
		op->datagram = &w->datagram;
		op->udp_id = w->udp_id;
		op->in_place = false;
		op->probed = true;
		op->body = (struct view){NULL, 0};
		op->raw = (struct view){NULL, w->bytes};
		op->req =
			(struct mc_req){.verb = OP_KEPT_WRITE, .flags = MC_LAST, .key = w->req.key};
	}
	if (!list_empty(&sv->awaits->answered_udp))
		sv->more = true;
}

void
awaited_writes_drop(struct serve *sv)
{
	for (uint32_t i = 0; i < AWAITS_MAX; i++) {
		struct await *a = &sv->awaits->table[i];

		if (a->state != AWAIT_FREE && a->session == NULL && a->is_kept)
			await_free(sv, a);
	}
}
