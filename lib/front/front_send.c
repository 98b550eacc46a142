/*
 * front_send.c - sends queued keys as requests on their lane's connection, in their order;
 * consecutive plain gets share a line.
 */
#include "front_keep.h"

#include "base/copy.h"
#include "proto/mc_reply.h"

#define GETS_WORD "gets"
#define WORD_MAX  7u /* of a line, beside its key */

static_assert(FRONT_QUERY_LINE_MAX + ITEM_PIN_MIN_BYTES + MC_BODY_END <= CONN_RESERVE_MAX,
	      "a request's line and a short value are one reservation");

static struct front_key *
queue_first(const struct front_lane *l)
{
	return container_of(l->queue.next, struct front_key, link);
}

void
front_request_free(struct front *f, struct front_request *r)
{
	list_unlink(&r->link);
	f->requests_free[f->requests_left++] = r;
}

/* Takes a request; NULL: there is no room for one now. */
static struct front_request *
request_take(struct front_lane *l)
{
	struct front *f = l->front;
	struct front_request *r;

	if (l->request_count == FRONT_LANE_REQUESTS_MAX || f->requests_left == 0 ||
	    !conn_writable(f->stack, l->conn, 1))
		return NULL;
	r = f->requests_free[--f->requests_left];
	list_init(&r->keys);
	r->count = 0;
	r->cas = r->asks_ttl = false;
	r->ttl_s = FRONT_TTL_UNKNOWN;
	return r;
}

static void
request_sent(struct front_lane *l, struct front_request *r, uint32_t bytes)
{
	struct front *f = l->front;
	const bool first = list_empty(&l->requests);

	conn_commit(f->stack, l->conn, bytes);
	l->written += bytes;
	r->end = l->written;
	r->sent_ns = f->now_ns;
	r->sent_s = serve_now_s(f->serve);
	list_push_back(&l->requests, &r->link);
	l->request_count++;
	if (!first)
		return;
	front_look_begin(l);
	front_read_begin(l);
	if (front_lane_due(l) < f->due_ns)
		f->due_ns = front_lane_due(l);
}

static void
key_sent(struct front_lane *l, struct front_request *r, struct front_key *key)
{
	r->key[r->count++] = (uint16_t)(key - l->front->key_pool);
	key->sent = true;
	if (key->used_more)
		front_flight_sent(l->front, key);
}

static void
request_add(struct front_lane *l, struct front_request *r, struct front_key *key)
{
	list_unlink(&key->link);
	list_push_back(&r->keys, &key->link);
	counter_add(&l->counts->count[FRONT_SERVER_KEYS], 1);
	key_sent(l, r, key);
}

/* True if the reply must contain the key's TTL, since its value will be kept. */
static bool
asks_ttl(const struct front_lane *l, const struct front_key *key)
{
	return key->used_more && key->lease != 0 && l->meta;
}

/* Writes `me k` and `get k`, or `gets k`: get alone would not report when the item expires, and
 * mg would win a stale item. Returns their bytes. */
static uint32_t
get_with_ttl(struct front_lane *l, struct front_request *r, enum front_form form)
{
	const uint32_t word = form == FRONT_FORM_GETS ? 4 : 3;
	const struct view key = front_key_view(queue_first(l));
	uint8_t *begin = conn_reserve(l->front->stack, l->conn, 2 * (key.len + WORD_MAX));
	uint8_t *at = begin;

	memcpy(at, "me ", 3);
	at = mc_put_line_end(mc_put_view(at + 3, key));
	memcpy(at, GETS_WORD, word);
	at[word] = ' ';
	at = mc_put_line_end(mc_put_view(at + word + 1, key));
	r->ask = FRONT_ASK_GET;
	r->asks_ttl = true;
	r->cas = form == FRONT_FORM_GETS;
	request_add(l, r, queue_first(l));
	return (uint32_t)(at - begin);
}

/* Writes `get k1 .. kn` with as many consecutive keys as fit. Returns its bytes. */
static uint32_t
gather(struct front_lane *l, struct front_request *r, enum front_form form)
{
	const uint32_t word = form == FRONT_FORM_GETS ? 4 : 3;
	uint32_t room = word + 1 + queue_first(l)->len + MC_BODY_END;
	uint8_t *begin = conn_reserve_room(l->front->stack, l->conn, room, &room);
	const uint8_t *end = begin + room - MC_BODY_END;
	uint8_t *at = begin + word;
	struct list *link;

	memcpy(begin, GETS_WORD, word);
	r->ask = FRONT_ASK_GET;
	r->cas = form == FRONT_FORM_GETS;
	for (link = l->queue.next; r->count < FRONT_KEYS_MAX && link != &l->queue;
	     link = link->next) {
		struct front_key *key = container_of(link, struct front_key, link);

		if (end - at < key->len + 1 || front_key_form(key, l->meta) != form ||
		    asks_ttl(l, key))
			break;
		*at++ = ' ';
		bytes_copy(at, key->bytes, key->len);
		at += key->len;
		key_sent(l, r, key);
	}
	ensure(r->count > 0); /* there is room for the first one */
	list_move_front(&l->queue, link->prev, &r->keys);
	counter_add(&l->counts->count[FRONT_SERVER_KEYS], r->count);
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
write_value(struct front_lane *l, const struct front_key *key, uint8_t *at)
{
	struct store_core *store = l->front->store;

	for (uint32_t from = 0; from < key->fill.value_len;) {
		const struct view v = store_value_at(store, key->fill.item, from);

		at = mc_put_view(at, v);
		from += v.len;
	}
	mc_put_line_end(at);
}

/* True if the server has yet to receive some of the first request. */
static bool
first_is_leaving(const struct front_lane *l)
{
	return l->written - conn_unacknowledged(l->conn) < front_lane_first(l)->end;
}

/* Sends a value without copying: the key keeps it until the request is answered. False: the rest
 * waits. */
static bool
value_send(struct front_lane *l)
{
	struct front *f = l->front;
	struct front_key *key = l->sending;
	struct front_request *last = container_of(l->requests.prev, struct front_request, link);

	while (l->sending_at < key->fill.value_len) {
		const struct view v = store_value_at(f->store, key->fill.item, l->sending_at);

		if (!conn_writable(f->stack, l->conn, 1))
			return false;
		conn_credit_return(f->stack, 1);
		if (!conn_write_external(f->stack, l->conn, v.data, v.len, nobody_waits, NULL)) {
			f->more = true; /* no event reports a free descriptor */
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

/* Sends a key with a line of its own, followed by its value; a short value is in the same
 * reservation. */
static void
send_alone(struct front_lane *l, struct front_request *r, enum front_form form)
{
	struct front_key *key = queue_first(l);
	const bool has_value = form == FRONT_FORM_STORE || form == FRONT_FORM_MS;
	const bool is_long = has_value && key->fill.value_len >= ITEM_PIN_MIN_BYTES;
	uint32_t body = has_value && !is_long ? key->fill.value_len + MC_BODY_END : 0;
	uint8_t line[FRONT_QUERY_LINE_MAX];
	uint32_t len;
	uint8_t *at;

	r->ask = (enum front_ask)front_form_asks[form];
	r->cas = form == FRONT_FORM_GATS;
	r->opaque = ++l->opaque;
	request_add(l, r, key);
	if (form == FRONT_FORM_MG && key->lease != 0)
		key->query.flags |= MC_FLAG_TTL;
	len = (uint32_t)(front_put_query(line, &key->query, form, front_key_view(key), r->opaque) -
			 line);
	at = conn_reserve(l->front->stack, l->conn, len + body);
	memcpy(at, line, len);
	if (body > 0)
		write_value(l, key, at + len);
	request_sent(l, r, len + body);
	if (!is_long)
		return;
	r->end = UINT64_MAX;
	l->sending = key;
	l->sending_at = 0;
}

void
front_lane_send(struct front_lane *l)
{
	struct front *f = l->front;

	while (l->state == LANE_UP && l->conn != NULL && (l->sending == NULL || value_send(l)) &&
	       !list_empty(&l->queue)) {
		struct front_key *key = queue_first(l);
		const enum front_form form = front_key_form(key, l->meta);
		struct front_request *r;

		if (form == FRONT_FORM_NONE) {
			front_count(f, FRONT_REFUSED);
			front_key_fail(f, key);
			continue;
		}
		r = request_take(l);
		if (r == NULL)
			return;
		front_count(f, FRONT_REQUESTED);
		front_server_add(l->counts, FRONT_SERVER_REQUESTS);
		if (form != FRONT_FORM_GET && form != FRONT_FORM_GETS)
			send_alone(l, r, form);
		else if (asks_ttl(l, key))
			request_sent(l, r, get_with_ttl(l, r, form));
		else
			request_sent(l, r, gather(l, r, form));
	}
	if (list_empty(&l->queue) && l->sending == NULL)
		list_unlink(&l->send_link);
}

static void
probe_send(struct front_lane *l, const char *line, enum front_ask ask)
{
	struct front_request *r = request_take(l);
	const uint32_t len = (uint32_t)strlen(line);

	/* Nothing else was written on this connection, so memory is lacking. */
	if (r == NULL) {
		front_lane_failed(l, FRONT_CONNECT_FAILED);
		return;
	}
	r->ask = ask;
	request_sent(l, r, write_bytes(l, line, len));
}

bool
front_lane_ask_stats(struct front_lane *l, const char *line)
{
	struct front_request *r = l->sending == NULL ? request_take(l) : NULL;

	if (r == NULL)
		return false;
	r->ask = FRONT_ASK_STATS;
	request_sent(l, r, write_bytes(l, line, (uint32_t)strlen(line)));
	return true;
}

/* Probes a server. Only a process answers `version`; its answer to `mn` shows its protocol. */
void
front_lane_probe(struct front_lane *l)
{
	probe_send(l, "version\r\n", FRONT_ASK_VERSION);
	if (l->conn != NULL && l->front->cfg.speech == FRONT_SPEECH_PROBED)
		probe_send(l, "mn\r\n", FRONT_ASK_MN);
}

void
front_lane_flush(struct front_lane *l)
{
	probe_send(l, "flush_all\r\n", FRONT_ASK_FLUSH);
}
