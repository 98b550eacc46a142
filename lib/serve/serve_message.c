/*
 * serve_message.c - UDP replies that need more than the frame of their request. A message is a list
 * of parts in chunks; a part is bytes, or a pinned value. Each datagram states how many datagrams
 * there are, so none is sent before the message is complete. Messages are sent when the transmit
 * queue has room: different sources take turns, and messages to one source are sent in order.
 */
#include "serve_access.h"
#include "serve_message.h"

#include "store/introspect.h"

/* Datagrams of one source's messages that are sent before it is another source's turn. */
#define VISIT_DATAGRAMS 16u
/* Bytes of messages that one turn sends. Other replies wait for no more than these and one
 * datagram. */
#define TURN_BYTES (64u * MC_UDP_PAYLOAD_MAX)
/* Chunks that the messages of a turn may take, without the first one of each. After that the turn
 * reads no more datagrams. A pass of values just too small to be pinned needs 32. */
#define TURN_CHUNKS 24u

/* In a pass one source may take 1/PLACES_PART of the free places. A message may take as many chunks
 * as it leaves free (dynamic thresholds). */
#define PLACES_PART 8u
#define SHARE_MIN   4u

/* While pins of retired values hold much of the memory, the messages of all cores may pin
 * 1/PINS_PART of the fill quota, which is a 32nd of the memory. */
#define PINS_PART 8u
#define PINS_LOOK 16u /* messages checked in a turn */

struct part {
	const struct item *item; /* NULL: len bytes follow, padded to a multiple of 8 */
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
	/* In messages.turns if this is the oldest message to its source, or in messages.unused. */
	struct list link;
	struct message *next; /* the next message to the same source */
	uint32_t source;
	struct udp_peer to;
	uint16_t id;
	uint32_t len; /* bytes of all parts */
	uint32_t chunks;
	bool pins;
	struct message_chunk *head, *tail;

	uint32_t datagram_bytes; /* payload bytes of each datagram; 0 before the first */
	uint32_t total, sequence;
	struct message_chunk *at; /* where the bytes of the next datagram begin */
	uint32_t at_part, at_used;
};

struct messages {
	struct message *open; /* valid while serve.message_open */
	struct list turns;    /* for each source with complete messages, the oldest one */
	struct list unused;
	/* Datagrams sent, since this source's turn began, of the first message of `turns`. */
	uint32_t visit;
	uint64_t pinned; /* bytes of the values pinned by all messages */
	/* Turn of the core; bytes sent and chunks taken in that turn. */
	uint32_t turn, sent, chunks;
	/* Bit n: there are complete messages to sources that map to n. */
	uint64_t waiting[UDP_SOURCES / 64];
	struct message *last[UDP_SOURCES]; /* for each such number, the newest message */
	struct message all[UDP_MESSAGES_MAX];
};

size_t
messages_bytes(void)
{
	return sizeof(struct messages) + CACHE_LINE_BYTES;
}

void
messages_create(struct serve *sv, struct region *region)
{
	struct messages *ms = region_take(region, sizeof *ms, CACHE_LINE_BYTES);

	list_init(&ms->turns);
	list_init(&ms->unused);
	for (uint32_t i = 0; i < UDP_MESSAGES_MAX; i++)
		list_push_back(&ms->unused, &ms->all[i].link);
	sv->messages = ms;
}

static bool
source_waits(const struct messages *ms, uint32_t source)
{
	return (ms->waiting[source / 64] >> source % 64 & 1) != 0;
}

static void
source_flip(struct messages *ms, uint32_t source)
{
	ms->waiting[source / 64] ^= 1ull << source % 64;
}

bool
messages_source_waits(const struct serve *sv, const struct udp_peer *from)
{
	return source_waits(sv->messages, stack_udp_source(sv->stack, from));
}

uint32_t
messages_share(const struct serve *sv)
{
	const uint32_t share = (UDP_MESSAGES_MAX - sv->message_count) / PLACES_PART;

	static_assert(UDP_MESSAGES_MAX / PLACES_PART <= OPS_MAX, "no more than a pass");
	return share > SHARE_MIN ? share : SHARE_MIN;
}

void
messages_pass_over(struct serve *sv)
{
	stack_datagrams_pass_over(sv->stack, sv->messages->waiting,
				  sv->datagrams.text.data != NULL);
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
			if (part_at(chunk, at)->item != NULL) {
				sv->messages->pinned -= part_at(chunk, at)->len;
				store_unpin(part_at(chunk, at)->item);
			}
		m->head = chunk->next;
		sv->message_chunks--;
		stack_chunk_put(sv->stack, (uint8_t *)chunk);
	}
	list_push_back(&sv->messages->unused, &m->link);
	sv->message_count--;
}

void
message_discard(struct serve *sv)
{
	if (sv->message_open)
		message_free(sv, sv->messages->open);
	sv->message_open = false;
	sv->message_dropped = false;
}

/* Drops the open message. The rest of its reply is composed and discarded. */
static void
message_drop(struct serve *sv)
{
	message_discard(sv);
	sv->message_dropped = true;
	serve_count(sv, UDP_DROP_NO_MEMORY);
}

static void
turn_counts_reset(struct messages *ms, uint32_t turn)
{
	if (ms->turn == turn)
		return;
	ms->turn = turn;
	ms->sent = ms->chunks = 0;
}

bool
messages_turn_is_full(const struct serve *sv)
{
	const struct messages *ms = sv->messages;

	return ms->turn == sv->turn && ms->chunks >= TURN_CHUNKS;
}

/* Takes a chunk for m. NULL: none is free, messages have their share of all chunks, or m would have
 * more than it leaves free. UDP sources can be forged, and connections need chunks, too. */
static struct message_chunk *
chunk_alloc(struct serve *sv, struct message *m)
{
	/* The chunks of m count twice, unless no other message has chunks. */
	const uint32_t used = sv->message_chunks, own = used != m->chunks ? m->chunks : 0;
	struct message_chunk *chunk;

	if (used + own >= sv->message_chunks_max)
		return NULL;
	chunk = (struct message_chunk *)(void *)stack_chunk_get(sv->stack);
	if (chunk != NULL) {
		chunk->next = NULL;
		chunk->used = 0;
		sv->message_chunks++;
		m->chunks++;
		turn_counts_reset(sv->messages, sv->turn);
		sv->messages->chunks += m->chunks > 1;
	}
	return chunk;
}

static void
message_open(struct serve *sv, const struct op *op)
{
	struct list *link = list_pop_front(&sv->messages->unused);
	struct message *m = container_of(link, struct message, link);

	*m = (struct message){.to = op->datagram->from, .id = op->udp_id};
	sv->messages->open = m;
	sv->message_count++;
	sv->message_open = true;
}

/* Begins a part with room for `bytes` bytes. NULL: the reply is lost. */
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
		message_open(sv, op);
	}
	if (sv->message_dropped)
		return NULL;
	m = sv->messages->open;
	chunk = m->tail;
	if (chunk == NULL || chunk->used + sizeof(struct part) + bytes > sizeof chunk->parts) {
		chunk = chunk_alloc(sv, m);
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
	/* The length of several large values may exceed 32 bits. Such a message is too long in any
	 * case. */
	m->len = len <= UINT32_MAX - m->len ? m->len + len : UINT32_MAX;
}

void
message_commit(struct serve *sv, uint32_t bytes)
{
	if (!sv->message_dropped)
		part_end(sv->messages->open, NULL, bytes, bytes);
}

static uint64_t
pins_most(const struct serve *sv)
{
	return store_begun_max(sv->store) / PINS_PART / sv->shared->cores;
}

void
message_value(struct serve *sv, const struct op *op, const struct item *it)
{
	struct messages *ms = sv->messages;
	const uint32_t len = item_value_len(it);

	if (part_begin(sv, op, 0) == NULL)
		return;
	if (unlikely(sv->pins_pressed_turn == sv->turn) && ms->pinned != 0 &&
	    ms->pinned + len > pins_most(sv)) {
		message_drop(sv);
		return;
	}
	store_pin(it);
	ms->pinned += len;
	ms->open->pins = true;
	part_end(ms->open, it, len, 0);
}

/* Queues a complete message after the others to its source. */
static void
message_enqueue(struct messages *ms, struct message *m)
{
	if (source_waits(ms, m->source)) {
		ms->last[m->source]->next = m;
	} else {
		source_flip(ms, m->source);
		list_push_back(&ms->turns, &m->link);
	}
	ms->last[m->source] = m;
}

void
message_end(struct serve *sv)
{
	struct message *m;

	if (!sv->message_open) {
		sv->message_dropped = false;
		return;
	}
	m = sv->messages->open;
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
	m->source = stack_udp_source(sv->stack, &m->to);
	sv->message_open = false;
	message_enqueue(sv->messages, m);
}

/* Returns contiguous bytes of the part, from offset `used` on. */
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

/* Sends one datagram. False: the transmit queue is full, or the turn has sent its share. */
static bool
message_send_datagram(struct serve *sv, struct message *m)
{
	uint32_t room, sent, len;
	uint8_t *at;

	if (sv->messages->sent >= TURN_BYTES)
		return false;
	at = udp_begin(sv->stack, &m->to, &room);
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
	sv->messages->sent += MC_UDP_FRAME_BYTES + len;
	m->sequence++;
	return true;
}

/* Frees a message that is sent. The next one to its source goes to the end of `turns`. */
static void
message_sent(struct serve *sv, struct message *m)
{
	struct messages *ms = sv->messages;

	if (m->next != NULL)
		list_push_back(&ms->turns, &m->next->link);
	else
		source_flip(ms, m->source);
	message_free(sv, m);
}

static struct message *
messages_first(const struct messages *ms)
{
	return container_of(ms->turns.next, struct message, link);
}

void
messages_memory_pressure(struct serve *sv)
{
	struct messages *ms = sv->messages;

	if (ms->pinned <= pins_most(sv))
		return;
	ms->visit = 0;
	for (uint32_t n = 0; n < PINS_LOOK && messages_pending(sv); n++) {
		struct message *m = messages_first(ms);

		list_unlink(&m->link);
		if (m->pins) {
			serve_count(sv, UDP_DROP_NO_MEMORY);
			message_sent(sv, m);
			return;
		}
		list_push_back(&ms->turns, &m->link);
	}
}

void
messages_drop(struct serve *sv)
{
	struct messages *ms = sv->messages;

	message_discard(sv);
	while (!list_empty(&ms->turns)) {
		struct message *m = messages_first(ms);

		list_unlink(&m->link);
		message_sent(sv, m);
	}
	ms->visit = 0;
}

/* Sends messages until none is left, the transmit queue has no room, or the turn has sent its
 * share. */
void
messages_send(struct serve *sv)
{
	struct messages *ms = sv->messages;

	turn_counts_reset(ms, sv->turn);
	while (messages_pending(sv)) {
		struct message *m = messages_first(ms);

		do
			if (!message_send_datagram(sv, m))
				return;
		while (m->sequence < m->total && ++ms->visit < VISIT_DATAGRAMS);
		ms->visit = 0;
		list_unlink(&m->link);
		if (m->sequence < m->total)
			list_push_back(&ms->turns, &m->link);
		else
			message_sent(sv, m);
	}
}
