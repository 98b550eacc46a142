/*
 * front_send.c - queued keys become requests on their lane's connection, in their order; plain gets
 * that follow each other share a line.
 */
#include "front_core.h"

#include "proto/mc_reply.h"

#define GETS_WORD "gets"

static_assert(FRONT_QUERY_LINE_MAX <= CONN_RESERVE_MAX, "a request's line is one reservation");

static struct view
key_view(const struct front_key *key)
{
	return (struct view){.data = key->bytes, .len = key->len};
}

static struct front_key *
queue_first(const struct front_lane *l)
{
	return container_of(l->queue.next, struct front_key, link);
}

void
front_request_free(struct front *f, struct front_request *r)
{
	list_unlink(&r->link);
	list_push_front(&f->requests_free, &r->link);
}

/* NULL: there is no room for a request now. */
static struct front_request *
request_take(struct front_lane *l)
{
	struct front *f = l->front;
	struct front_request *r;

	if (l->request_count == FRONT_LANE_REQUESTS_MAX || list_empty(&f->requests_free) ||
	    !conn_writable(f->stack, l->conn, 1))
		return NULL;
	r = container_of(list_pop_front(&f->requests_free), struct front_request, link);
	list_init(&r->keys);
	r->cas = false;
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
	list_push_back(&l->requests, &r->link);
	l->request_count++;
	if (!first)
		return;
	list_push_back(&f->looks, &l->look_link);
	front_read_begin(l);
	if (front_lane_due(l) < f->due_ns)
		f->due_ns = front_lane_due(l);
}

static void
request_add(struct front_request *r, struct front_key *key)
{
	list_unlink(&key->link);
	list_push_back(&r->keys, &key->link);
	key->sent = true;
}

/* `get k1 .. kn`: as many as follow each other, and fit. Returns its bytes. */
static uint32_t
gather(struct front_lane *l, struct front_request *r, enum front_form form)
{
	const uint32_t word = form == FRONT_FORM_GETS ? 4 : 3;
	uint32_t room = word + 1 + queue_first(l)->len + MC_BODY_END;
	uint8_t *begin = conn_reserve_room(l->front->stack, l->conn, room, &room);
	const uint8_t *end = begin + room - MC_BODY_END;
	uint8_t *at = begin + word;

	memcpy(begin, GETS_WORD, word);
	r->ask = FRONT_ASK_GET;
	r->cas = form == FRONT_FORM_GETS;
	for (uint32_t n = 0; n < FRONT_KEYS_MAX && !list_empty(&l->queue); n++) {
		struct front_key *key = queue_first(l);

		if (end - at < key->len + 1 ||
		    front_query_form(&key->query, key_view(key), l->meta) != form)
			break;
		*at++ = ' ';
		at = mc_put_view(at, key_view(key));
		request_add(r, key);
	}
	return (uint32_t)(mc_put_line_end(at) - begin);
}

static uint32_t
write_bytes(struct front_lane *l, const void *bytes, uint32_t len)
{
	memcpy(conn_reserve(l->front->stack, l->conn, len), bytes, len);
	return len;
}

static uint32_t
write_query(struct front_lane *l, struct front_request *r, enum front_form form)
{
	struct front_key *key = queue_first(l);
	uint8_t line[FRONT_QUERY_LINE_MAX];
	const uint8_t *end;

	r->ask = form == FRONT_FORM_MG ? FRONT_ASK_MG : FRONT_ASK_GET;
	r->cas = form == FRONT_FORM_GATS;
	r->opaque = ++l->opaque;
	end = front_put_query(line, &key->query, form, key_view(key), r->opaque);
	request_add(r, key);
	return write_bytes(l, line, (uint32_t)(end - line));
}

static void
send_one(struct front_lane *l, struct front_request *r, enum front_form form)
{
	const bool gathered = form == FRONT_FORM_GET || form == FRONT_FORM_GETS;

	front_count(l->front, FRONT_REQUESTED);
	request_sent(l, r, gathered ? gather(l, r, form) : write_query(l, r, form));
}

void
front_lane_send(struct front_lane *l)
{
	struct front *f = l->front;

	while (l->state == LANE_UP && l->conn != NULL && !list_empty(&l->queue)) {
		struct front_key *key = queue_first(l);
		const enum front_form form = front_query_form(&key->query, key_view(key), l->meta);
		struct front_request *r;

		if (form == FRONT_FORM_NONE) {
			front_count(f, FRONT_REFUSED);
			front_key_fail(f, key);
			continue;
		}
		r = request_take(l);
		if (r == NULL)
			return;
		send_one(l, r, form);
	}
	if (list_empty(&l->queue))
		list_unlink(&l->send_link);
}

static void
probe_send(struct front_lane *l, const char *line, enum front_ask ask)
{
	struct front_request *r = request_take(l);
	const uint32_t len = (uint32_t)strlen(line);

	/* Nothing else was written on this connection; what lacks is memory. */
	if (r == NULL) {
		front_lane_failed(l, FRONT_CONNECT_FAILED);
		return;
	}
	r->ask = ask;
	request_sent(l, r, write_bytes(l, line, len));
}

/* What answers `version` is a process; what it answers to `mn` tells its protocol. */
void
front_lane_probe(struct front_lane *l)
{
	probe_send(l, "version\r\n", FRONT_ASK_VERSION);
	if (l->conn != NULL && l->front->cfg.speech == FRONT_SPEECH_PROBED)
		probe_send(l, "mn\r\n", FRONT_ASK_MN);
}
