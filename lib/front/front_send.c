/*
 * front_send.c - sends a lane's queued requests in order, in batches. Plain gets that follow one
 * another share a batch.
 */
#include "front_cache.h"

#include "base/copy.h"
#include "proto/mc_reply.h"

#define GETS_WORD "gets"
#define WORD_MAX  7u /* the longest word of a line before its key */

static_assert(FRONT_QUERY_LINE_MAX + ITEM_PIN_MIN_BYTES + MC_BODY_END <= CONN_RESERVE_MAX,
	      "a batch's line and a short value are one reservation");

static struct front_request *
queue_first(const struct front_lane *l)
{
	return container_of(l->queue.next, struct front_request, link);
}

void
front_batch_free(struct front *f, struct front_batch *batch)
{
	list_unlink(&batch->link);
	f->batches_free[f->batches_left++] = batch;
}

/* Takes a batch for the lane. NULL: there is no room for one now. */
static struct front_batch *
batch_take(struct front_lane *l)
{
	struct front *f = l->front;
	struct front_batch *batch;

	if (l->batch_count == FRONT_LANE_BATCHES_MAX || f->batches_left == 0 ||
	    !conn_writable(f->stack, l->conn, 1))
		return NULL;
	batch = f->batches_free[--f->batches_left];
	list_init(&batch->requests);
	batch->count = 0;
	batch->cas = batch->asks_ttl = false;
	batch->ttl_s = FRONT_TTL_UNKNOWN;
	return batch;
}

static void
batch_sent(struct front_lane *l, struct front_batch *batch, uint32_t bytes)
{
	struct front *f = l->front;
	const bool first = list_empty(&l->batches);

	conn_commit(f->stack, l->conn, bytes);
	l->written += bytes;
	batch->end = l->written;
	batch->sent_ns = f->now_ns;
	batch->sent_s = serve_now_s(f->serve);
	list_push_back(&l->batches, &batch->link);
	l->batch_count++;
	if (!first)
		return;
	front_look_begin(l);
	front_read_begin(l);
	front_lane_due_note(l);
}

static void
request_sent(struct front_lane *l, struct front_batch *batch, struct front_request *request)
{
	batch->request[batch->count++] = (uint16_t)(request - l->front->request_pool);
	request->sent = true;
	if (request->used_more)
		coalesce_sent(&l->front->copies, &request->coalesced, l->front->now_ns);
}

static void
batch_add(struct front_lane *l, struct front_batch *batch, struct front_request *request)
{
	list_unlink(&request->link);
	list_push_back(&batch->requests, &request->link);
	counter_add(&l->counts->count[FRONT_SERVER_KEYS], 1);
	request_sent(l, batch, request);
}

/* True if the reply must have the item's TTL, because its value will be cached. */
static bool
asks_ttl(const struct front_lane *l, const struct front_request *request)
{
	return request->used_more && request->lease != 0 && l->meta;
}

/* Writes `me k` before `get k` or `gets k`: get alone does not report when the item expires, and mg
 * would win a stale item. Returns the number of bytes. */
static uint32_t
get_with_ttl(struct front_lane *l, struct front_batch *batch, enum front_form form)
{
	const uint32_t word = form == FRONT_FORM_GETS ? 4 : 3;
	const struct view key = front_request_key(queue_first(l));
	uint8_t *begin = conn_reserve(l->front->stack, l->conn, 2 * (key.len + WORD_MAX));
	uint8_t *at = begin;

	memcpy(at, "me ", 3);
	at = mc_put_line_end(mc_put_view(at + 3, key));
	batch->me_end = l->written + (uint64_t)(at - begin);
	memcpy(at, GETS_WORD, word);
	at[word] = ' ';
	at = mc_put_line_end(mc_put_view(at + word + 1, key));
	batch->ask = FRONT_ASK_GET;
	batch->asks_ttl = true;
	batch->cas = form == FRONT_FORM_GETS;
	batch_add(l, batch, queue_first(l));
	return (uint32_t)(at - begin);
}

/* Writes `get k1 .. kn` with as many of the next keys as fit. Returns the number of bytes. */
static uint32_t
gather(struct front_lane *l, struct front_batch *batch, enum front_form form)
{
	const uint32_t word = form == FRONT_FORM_GETS ? 4 : 3;
	uint32_t room = word + 1 + queue_first(l)->len + MC_BODY_END;
	uint8_t *begin = conn_reserve_room(l->front->stack, l->conn, room, &room);
	const uint8_t *end = begin + room - MC_BODY_END;
	uint8_t *at = begin + word;
	struct list *link;

	memcpy(begin, GETS_WORD, word);
	batch->ask = FRONT_ASK_GET;
	batch->cas = form == FRONT_FORM_GETS;
	for (link = l->queue.next; batch->count < FRONT_KEYS_MAX && link != &l->queue;
	     link = link->next) {
		struct front_request *request = container_of(link, struct front_request, link);

		if (end - at < request->len + 1 || front_request_form(request, l->meta) != form ||
		    asks_ttl(l, request))
			break;
		*at++ = ' ';
		bytes_copy(at, request->bytes, request->len);
		at += request->len;
		request_sent(l, batch, request);
	}
	ensure(batch->count > 0); /* there was room for the first one */
	list_move_front(&l->queue, link->prev, &batch->requests);
	counter_add(&l->counts->count[FRONT_SERVER_KEYS], batch->count);
	return (uint32_t)(mc_put_line_end(at) - begin);
}

static uint32_t
write_bytes(struct front_lane *l, const void *bytes, uint32_t len)
{
	memcpy(conn_reserve(l->front->stack, l->conn, len), bytes, len);
	return len;
}

/* ---- values ---- */

static void
nobody_waits(const void *arg)
{
}

static void
write_value(struct front_lane *l, const struct front_request *request, uint8_t *at)
{
	struct store_core *store = l->front->store;

	for (uint32_t from = 0; from < request->fill.value_len;) {
		const struct view v = store_value_at(store, request->fill.item, from);

		at = mc_put_view(at, v);
		from += v.len;
	}
	mc_put_line_end(at);
}

/* True if the server has not acknowledged all of the first batch. */
static bool
first_is_leaving(const struct front_lane *l)
{
	return l->written - conn_unacknowledged(l->conn) < front_lane_first(l)->end;
}

/* Sends more of a value without copying it; the request keeps the value until it is answered.
 * False: the rest must wait. */
static bool
value_send(struct front_lane *l)
{
	struct front *f = l->front;
	struct front_request *request = l->sending;
	struct front_batch *last = container_of(l->batches.prev, struct front_batch, link);

	while (l->sending_at < request->fill.value_len) {
		const struct view v = store_value_at(f->store, request->fill.item, l->sending_at);

		if (!conn_writable(f->stack, l->conn, 1))
			return false;
		conn_credit_return(f->stack, 1);
		if (!conn_write_external(f->stack, l->conn, v.data, v.len, nobody_waits, NULL)) {
			f->more = true; /* no event will report a free descriptor */
			return false;
		}
		l->sending_at += v.len;
		l->written += v.len;
		if (first_is_leaving(l))
			front_lane_moves(l, v.len);
	}
	if (!conn_writable(f->stack, l->conn, 1))
		return false;
	conn_commit(f->stack, l->conn, write_bytes(l, "\r\n", MC_BODY_END));
	l->written += MC_BODY_END;
	last->end = l->written;
	l->sending = NULL;
	return true;
}

/* Sends a request that has a line of its own, and its value. A short value is copied behind the
 * line. */
static void
send_alone(struct front_lane *l, struct front_batch *batch, enum front_form form)
{
	struct front_request *request = queue_first(l);
	const bool has_value = form == FRONT_FORM_STORE || form == FRONT_FORM_MS;
	const bool is_long = has_value && request->fill.value_len >= ITEM_PIN_MIN_BYTES;
	uint32_t body = has_value && !is_long ? request->fill.value_len + MC_BODY_END : 0;
	uint8_t line[FRONT_QUERY_LINE_MAX];
	uint32_t len;
	uint8_t *at;

	batch->ask = (enum front_ask)front_form_asks[form];
	batch->cas = form == FRONT_FORM_GATS;
	batch->opaque = ++l->opaque;
	batch_add(l, batch, request);
	if (form == FRONT_FORM_MG && request->lease != 0)
		request->query.flags |= MC_FLAG_TTL;
	len = (uint32_t)(front_put_query(line, &request->query, form, front_request_key(request),
					 batch->opaque) -
			 line);
	at = conn_reserve(l->front->stack, l->conn, len + body);
	memcpy(at, line, len);
	if (body > 0)
		write_value(l, request, at + len);
	batch_sent(l, batch, len + body);
	if (!is_long)
		return;
	batch->end = UINT64_MAX;
	l->sending = request;
	l->sending_at = 0;
}

void
front_lane_send(struct front_lane *l)
{
	struct front *f = l->front;

	while (l->state == LANE_UP && l->conn != NULL && (l->sending == NULL || value_send(l)) &&
	       !list_empty(&l->queue)) {
		struct front_request *request = queue_first(l);
		const enum front_form form = front_request_form(request, l->meta);
		struct front_batch *batch;

		if (form == FRONT_FORM_NONE) {
			front_count(f, FRONT_REFUSED);
			front_request_fail(f, request);
			continue;
		}
		batch = batch_take(l);
		if (batch == NULL)
			return;
		front_count(f, FRONT_REQUESTED);
		front_server_add(l->counts, FRONT_SERVER_REQUESTS);
		if (form != FRONT_FORM_GET && form != FRONT_FORM_GETS)
			send_alone(l, batch, form);
		else if (asks_ttl(l, request))
			batch_sent(l, batch, get_with_ttl(l, batch, form));
		else
			batch_sent(l, batch, gather(l, batch, form));
	}
	if (list_empty(&l->queue) && l->sending == NULL)
		list_unlink(&l->send_link);
}

static void
probe_send(struct front_lane *l, const char *line, enum front_ask ask)
{
	struct front_batch *batch = batch_take(l);
	const uint32_t len = (uint32_t)strlen(line);

	/* Nothing else was written on this connection, so there is no memory. */
	if (batch == NULL) {
		front_lane_failed(l, FRONT_CONNECT_FAILED);
		return;
	}
	batch->ask = ask;
	batch_sent(l, batch, write_bytes(l, line, len));
}

bool
front_lane_ask_stats(struct front_lane *l, const char *line)
{
	struct front_batch *batch = l->sending == NULL ? batch_take(l) : NULL;

	if (batch == NULL)
		return false;
	batch->ask = FRONT_ASK_STATS;
	batch_sent(l, batch, write_bytes(l, line, (uint32_t)strlen(line)));
	return true;
}

/* Logs in, if the fleet has a login, and probes the server. `version` is answered only by a process
 * that works; the answer to `mn` shows whether it knows meta commands. */
void
front_lane_probe(struct front_lane *l)
{
	const char *login = l->front->state->login.line;

	l->logs_in = login[0] != '\0';
	if (l->logs_in)
		probe_send(l, login, FRONT_ASK_LOGIN);
	if (l->conn != NULL)
		probe_send(l, "version\r\n", FRONT_ASK_VERSION);
	if (l->conn != NULL && l->front->cfg.speech == FRONT_SPEECH_PROBED)
		probe_send(l, "mn\r\n", FRONT_ASK_MN);
}

void
front_lane_flush(struct front_lane *l)
{
	probe_send(l, "flush_all\r\n", FRONT_ASK_FLUSH);
}
