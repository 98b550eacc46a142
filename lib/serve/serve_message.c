/*
 * serve_message.c - UDP replies that need more than the frame of their request. A reply is a list
 * of parts in chunks: bytes, or a pinned value. Its datagrams state their number, which is known
 * when it is complete; then they are sent, oldest message first, as the transmit queue has room.
 */
#include "serve_access.h"

struct part {
	const struct item *item; /* NULL: len bytes follow, padded to 8 */
	uint32_t len;
	uint32_t next; /* offset of the next part */
};

struct message_chunk {
	struct message_chunk *next;
	uint32_t used;
	uint32_t unused;
	uint8_t parts[CHUNK_BYTES - 16];
};
static_assert(sizeof(struct message_chunk) == CHUNK_BYTES, "lies in a chunk of the stack");
static_assert(sizeof(((struct message_chunk *)0)->parts) >= sizeof(struct part) + CONN_RESERVE_MAX,
	      "any reservation fits a chunk");

struct message {
	struct udp_peer to;
	uint16_t id;
	uint32_t len; /* bytes of all parts */
	struct message_chunk *head, *tail;

	uint32_t datagram_bytes; /* of a datagram; 0 until the first one is begun */
	uint32_t total, sequence;
	struct message_chunk *at; /* where the next datagram's bytes begin */
	uint32_t at_part, at_used;
};

size_t
messages_bytes(void)
{
	return UDP_MESSAGES_MAX * sizeof(struct message) + CACHE_LINE_BYTES;
}

void
messages_create(struct serve *sv, struct region *region)
{
	sv->messages =
		region_take(region, UDP_MESSAGES_MAX * sizeof(struct message), CACHE_LINE_BYTES);
}

static struct message *
message_last(struct serve *sv)
{
	return &sv->messages[(sv->message_first + sv->message_count - 1) % UDP_MESSAGES_MAX];
}

static struct part *
part_at(struct message_chunk *chunk, uint32_t offset)
{
	return (struct part *)(void *)(chunk->parts + offset);
}

static void
message_free(struct serve *sv, struct message *m)
{
	while (m->head != NULL) {
		struct message_chunk *chunk = m->head;

		for (uint32_t at = 0; at < chunk->used; at = part_at(chunk, at)->next)
			if (part_at(chunk, at)->item != NULL)
				store_unpin(part_at(chunk, at)->item);
		m->head = chunk->next;
		sv->message_chunks--;
		stack_chunk_put(sv->stack, (uint8_t *)chunk);
	}
}

void
message_discard(struct serve *sv)
{
	if (sv->message_open) {
		message_free(sv, message_last(sv));
		sv->message_count--;
	}
	sv->message_open = false;
	sv->message_dropped = false;
}

/* The rest of this reply is composed and thrown away. */
static void
message_drop(struct serve *sv)
{
	message_discard(sv);
	sv->message_dropped = true;
	serve_count(sv, UDP_DROP_NO_MEMORY);
}

/* NULL: none is free, or messages have their share: UDP sources can be forged, and connections
 * need chunks as well. */
static struct message_chunk *
chunk_alloc(struct serve *sv)
{
	struct message_chunk *chunk;

	if (sv->message_chunks >= sv->message_chunks_max)
		return NULL;
	chunk = (struct message_chunk *)(void *)stack_chunk_get(sv->stack);
	if (chunk != NULL) {
		chunk->next = NULL;
		chunk->used = 0;
		sv->message_chunks++;
	}
	return chunk;
}

/* A fresh part with room for bytes; NULL: the reply is lost. */
static struct part *
part_begin(struct serve *sv, const struct op *op, uint32_t bytes)
{
	struct message_chunk *chunk;
	struct message *m;

	if (!sv->message_open && !sv->message_dropped) {
		if (sv->message_count == UDP_MESSAGES_MAX) {
			message_drop(sv);
			return NULL;
		}
		sv->message_count++;
		sv->message_open = true;
		*message_last(sv) = (struct message){.to = op->datagram->from, .id = op->udp_id};
	}
	if (sv->message_dropped)
		return NULL;
	m = message_last(sv);
	chunk = m->tail;
	if (chunk == NULL || chunk->used + sizeof(struct part) + bytes > sizeof chunk->parts) {
		chunk = chunk_alloc(sv);
		if (chunk == NULL) {
			message_drop(sv);
			return NULL;
		}
		if (m->tail != NULL)
			m->tail->next = chunk;
		else
			m->head = chunk;
		m->tail = chunk;
	}
	return part_at(chunk, chunk->used);
}

uint8_t *
message_reserve(struct serve *sv, const struct op *op, uint32_t bytes)
{
	struct part *part = part_begin(sv, op, bytes);

	return part != NULL ? (uint8_t *)(part + 1) : sv->discard_buf;
}

static void
part_end(struct message *m, const struct item *it, uint32_t len, uint32_t inside)
{
	struct message_chunk *chunk = m->tail;
	struct part *part = part_at(chunk, chunk->used);

	part->item = it;
	part->len = len;
	part->next = chunk->used + (uint32_t)align_up(sizeof *part + inside, 8);
	chunk->used = part->next;
	/* Some large values are more than it can count: then it is too long all the same. */
	m->len = len <= UINT32_MAX - m->len ? m->len + len : UINT32_MAX;
}

void
message_commit(struct serve *sv, uint32_t bytes)
{
	if (!sv->message_dropped)
		part_end(message_last(sv), NULL, bytes, bytes);
}

void
message_value(struct serve *sv, const struct op *op, const struct item *it)
{
	if (part_begin(sv, op, 0) == NULL)
		return;
	store_pin(it);
	part_end(message_last(sv), it, item_value_len(it), 0);
}

void
message_end(struct serve *sv)
{
	struct message *m;

	if (!sv->message_open) {
		sv->message_dropped = false;
		return;
	}
	m = message_last(sv);
	if (mc_udp_datagrams(m->len) > UDP_MESSAGE_DATAGRAMS_MAX) {
		serve_count(sv, UDP_DROP_TOO_LONG);
		message_discard(sv);
		return;
	}
	if (unlikely(sv->rate_limited) &&
	    !udp_reply_allowed(sv, &m->to, sv->request_bytes, m->len)) {
		message_discard(sv);
		return;
	}
	m->at = m->head;
	sv->message_open = false;
}

/* The part's bytes from at_used on, as far as they lie side by side. */
static struct view
part_bytes(struct serve *sv, const struct part *part, uint32_t used)
{
	if (part->item != NULL)
		return store_value_at(sv->store, part->item, used);
	return (struct view){(const uint8_t *)(part + 1) + used, part->len - used};
}

static void
message_copy(struct serve *sv, struct message *m, uint8_t *to, uint32_t len)
{
	while (len > 0) {
		const struct part *part;
		struct view run;

		ensure(m->at != NULL);
		if (m->at_part == m->at->used) {
			m->at = m->at->next;
			m->at_part = 0;
			continue;
		}
		part = part_at(m->at, m->at_part);
		if (m->at_used == part->len) {
			m->at_part = part->next;
			m->at_used = 0;
			continue;
		}
		run = part_bytes(sv, part, m->at_used);
		if (run.len > len)
			run.len = len;
		to = mc_put_view(to, run);
		m->at_used += run.len;
		len -= run.len;
	}
}

/* One datagram; false: the transmit queue is full. */
static bool
message_send_datagram(struct serve *sv, struct message *m)
{
	uint32_t room, sent, len;
	uint8_t *at = udp_begin(sv->stack, &m->to, &room);

	if (at == NULL)
		return false;
	if (m->datagram_bytes == 0) {
		room = room < MC_UDP_PAYLOAD_MAX ? room : MC_UDP_PAYLOAD_MAX;
		m->datagram_bytes = room - MC_UDP_FRAME_BYTES;
		m->total = (m->len + m->datagram_bytes - 1) / m->datagram_bytes;
	}
	sent = m->sequence * m->datagram_bytes;
	len = m->len - sent < m->datagram_bytes ? m->len - sent : m->datagram_bytes;
	at = mc_udp_put(at, m->id, (uint16_t)m->sequence, (uint16_t)m->total);
	message_copy(sv, m, at, len);
	udp_commit(sv->stack, MC_UDP_FRAME_BYTES + len);
	m->sequence++;
	return true;
}

static void
message_end_first(struct serve *sv)
{
	message_free(sv, &sv->messages[sv->message_first]);
	sv->message_first = (sv->message_first + 1) % UDP_MESSAGES_MAX;
	sv->message_count--;
}

void
messages_drop(struct serve *sv)
{
	while (sv->message_count != 0)
		message_end_first(sv);
}

void
messages_send(struct serve *sv)
{
	while (messages_pending(sv)) {
		struct message *m = &sv->messages[sv->message_first];

		do
			if (!message_send_datagram(sv, m))
				return;
		while (m->sequence < m->total);
		message_end_first(sv);
	}
}
