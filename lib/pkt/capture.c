/*
 * capture.c - a ring of copied frames, and the functions of a port that fill it.
 */
#include "capture.h"
#include "base/check.h"

#define RECORD_ALIGN 8u

static_assert(sizeof(struct capture_record) % RECORD_ALIGN == 0, "records stand behind each other");
static_assert(CAPTURE_IN < UINT8_MAX && CAPTURE_OUT < UINT8_MAX, "a direction is a byte");

struct capture {
	/* The members before queue do not change while the capture runs. */
	const struct capture_rule *rule;
	const struct port_ops *below; /* the port's own functions */
	uint8_t *ring;
	uint32_t mask;
	uint16_t queue;

	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t
		tail;       /* written by the writer: bytes written so far */
	uint64_t head_seen; /* the reader's head when the writer last loaded it */
	struct counter wanted, dropped;
	atomic_bool ended;

	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t head; /* written by the reader */
	atomic_bool ending;
};

/* ---- the core ---- */

/* True if the ring has room for `bytes` bytes at `at`. */
static inline bool
ring_has_room(struct capture *c, uint64_t at, uint32_t bytes)
{
	const uint64_t size = (uint64_t)c->mask + 1;

	if (at + bytes - c->head_seen <= size)
		return true;
	/* Pairs with the release in capture_pop: the reader no longer needs these bytes. */
	c->head_seen = atomic_load_explicit(&c->head, memory_order_acquire);
	return at + bytes - c->head_seen <= size;
}

static inline struct capture_record *
record_at(const struct capture *c, uint64_t at)
{
	return (struct capture_record *)(void *)(c->ring + (at & c->mask));
}

/* Writes one frame at *at, and moves *at past it. False if there is no room. A record never crosses
 * the ring's end; the bytes left before that are skipped. */
static bool
record_put(struct capture *c, uint64_t *at, const struct burst *b, uint32_t i,
	   const struct capture_record *like)
{
	const uint32_t kept = b->len[i] < c->rule->snap ? b->len[i] : c->rule->snap;
	const uint32_t bytes =
		(uint32_t)align_up(sizeof(struct capture_record) + kept, RECORD_ALIGN);
	const uint32_t to_end = c->mask + 1 - (uint32_t)(*at & c->mask);
	const uint32_t skipped = to_end < bytes ? to_end : 0;
	struct capture_record *r;

	if (!ring_has_room(c, *at, skipped + bytes))
		return false;
	if (skipped != 0) {
		r = record_at(c, *at);
		r->bytes = skipped; /* at least 8 bytes are left, which hold these two fields */
		r->skip = true;
		*at += skipped;
	}
	r = record_at(c, *at);
	*r = *like;
	r->bytes = bytes;
	r->len = b->len[i];
	r->kept = kept;
	r->ol_flags = b->ol_flags[i];
	memcpy(r + 1, b->data[i], kept);
	*at += bytes;
	return true;
}

/* The copied but unpublished frames of a burst. */
struct copies {
	uint64_t end[BURST_MAX]; /* the ring's tail after this frame */
	bool wanted[BURST_MAX], copied[BURST_MAX];
};

static void
frames_copy(struct capture *c, const struct burst *b, enum capture_direction direction,
	    struct copies *to)
{
	const struct capture_rule *rule = c->rule;
	const struct capture_record like = {.queue = c->queue,
					    .direction = (uint8_t)direction,
					    .at_ns = rule->now_ns(rule->clock)};
	uint64_t at = atomic_load_explicit(&c->tail,
					   memory_order_relaxed); /* only this thread writes it */

	for (uint32_t i = 0; i < b->count; i++) {
		/* A frame with a loan was made before the capture began (captured_lend). */
		to->wanted[i] =
			!(b->ol_flags[i] & FRAME_HAS_LOAN) &&
			(rule->match == NULL || rule->match(rule->filter, b->data[i], b->len[i]));
		to->copied[i] = to->wanted[i] && record_put(c, &at, b, i, &like);
		to->end[i] = at;
	}
}

/* Publishes the first `count` frames, which the port has taken. The core will offer the others
 * again. */
static void
frames_publish(struct capture *c, const struct copies *copies, uint32_t count)
{
	uint32_t wanted = 0, copied = 0;

	for (uint32_t i = 0; i < count; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.*): count is no more than were copied */
		wanted += copies->wanted[i];
		copied += copies->copied[i];
	}
	counter_add(&c->wanted, wanted);
	counter_add(&c->dropped, wanted - copied);
	/* Pairs with the acquire in capture_next: the records are complete. */
	if (copied != 0)
		atomic_store_explicit(&c->tail, copies->end[count - 1], memory_order_release);
}

/* Ends the capture if that was requested. This is the core's last access to it: once `ended` is
 * set, the memory belongs to the caller, and the port may get another capture. */
static inline void
leave_if_asked(struct capture *c, struct port *port)
{
	if (likely(!atomic_load_explicit(&c->ending, memory_order_relaxed)))
		return;
	__atomic_store_n(&port->ops, c->below, __ATOMIC_RELAXED);
	/* Pairs with the acquire in capture_ended. */
	atomic_store_explicit(&c->ended, true, memory_order_release);
}

/* Returns the capture of a port, whose ops the core has read by a plain load. */
static inline struct capture *
capture_of(const struct port *port)
{
	/* Pairs with the release in capture_begin, so the capture is complete. */
	(void)__atomic_load_n(&port->ops, __ATOMIC_ACQUIRE);
	return port->capture;
}

static void
captured_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct capture *c = capture_of(port);
	struct copies copies;

	c->below->rx(port, b, count);
	if (b->count != 0) {
		frames_copy(c, b, CAPTURE_IN, &copies);
		frames_publish(c, &copies, b->count);
	}
	leave_if_asked(c, port);
}

/* Sends a burst and captures the frames that the port took. They are copied before, since a frame
 * that the port has taken may belong to another owner. */
static uint32_t
captured_tx(struct port *port, const struct burst *b)
{
	struct capture *c = capture_of(port);
	struct copies copies;
	uint32_t sent;

	frames_copy(c, b, CAPTURE_OUT, &copies);
	sent = c->below->tx(port, b);
	frames_publish(c, &copies, sent);
	leave_if_asked(c, port);
	return sent;
}

static void
captured_alloc(struct port *port, struct burst *b, uint32_t count)
{
	capture_of(port)->below->alloc(port, b, count);
}

static void
captured_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	capture_of(port)->below->drop(port, frames, count);
}

/* Refuses every loan, so that captured frames are whole. */
static bool
captured_lend(struct port *port, struct frame *frame, const struct port_loan *loan)
{
	return false;
}

static const struct port_ops captured_ops = {
	.rx = captured_rx,
	.tx = captured_tx,
	.alloc = captured_alloc,
	.drop = captured_drop,
	.lend = captured_lend,
};

/* ---- the other thread ---- */

size_t
capture_bytes(uint32_t ring_bytes)
{
	return sizeof(struct capture) + ring_bytes + (size_t)2 * CACHE_LINE_BYTES;
}

struct capture *
capture_create(struct region *region, const struct capture_rule *rule, uint16_t queue,
	       uint32_t ring_bytes)
{
	struct capture *c = region_take(region, sizeof *c, CACHE_LINE_BYTES);

	ensure((ring_bytes & (ring_bytes - 1)) == 0 && ring_bytes >= CAPTURE_RING_MIN &&
	       ring_bytes <= CAPTURE_RING_MAX);
	c->rule = rule;
	c->queue = queue;
	c->mask = ring_bytes - 1;
	c->ring = region_take(region, ring_bytes, CACHE_LINE_BYTES);
	return c;
}

void
capture_begin(struct capture *c, struct port *port)
{
	c->below = __atomic_load_n(&port->ops, __ATOMIC_RELAXED);
	ensure(c->below != &captured_ops);
	port->capture = c;
	/* Pairs with the acquire in capture_of. */
	__atomic_store_n(&port->ops, &captured_ops, __ATOMIC_RELEASE);
}

void
capture_end(struct capture *c)
{
	atomic_store_explicit(&c->ending, true, memory_order_relaxed);
}

bool
capture_ended(const struct capture *c)
{
	return atomic_load_explicit(&c->ended, memory_order_acquire);
}

const struct capture_record *
capture_next(struct capture *c)
{
	uint64_t head = atomic_load_explicit(&c->head,
					     memory_order_relaxed); /* only this thread writes it */
	const uint64_t tail = atomic_load_explicit(&c->tail, memory_order_acquire);

	if (head == tail)
		return NULL;
	if (record_at(c, head)->skip) {
		/* A frame follows, since both records were published together. Release: pairs
		 * with the acquire in ring_has_room, since the skipped bytes may now be written
		 * again. */
		head += record_at(c, head)->bytes;
		atomic_store_explicit(&c->head, head, memory_order_release);
	}
	return record_at(c, head);
}

void
capture_pop(struct capture *c)
{
	const uint64_t head = atomic_load_explicit(
		&c->head, memory_order_relaxed); /* only this thread writes it */

	/* Pairs with the acquire in ring_has_room: these bytes may be written again. */
	atomic_store_explicit(&c->head, head + record_at(c, head)->bytes, memory_order_release);
}

uint64_t
capture_wanted(const struct capture *c)
{
	return counter_read(&c->wanted);
}

uint64_t
capture_dropped(const struct capture *c)
{
	return counter_read(&c->dropped);
}
