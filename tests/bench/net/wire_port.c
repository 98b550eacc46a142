/*
 * wire_port.c - presents the two rings of a wire as a port: receive, send, return frames.
 */
#include "wire_port.h"

#include "base/list.h"
#include "base/prefetch.h"
#include "base/ticks.h"

#define RING_MASK (WIRE_RING - 1)
#define SPARE     1024u /* frames in excess of its own that an end may keep */

static struct wire_end *
end_of(struct port *port)
{
	return container_of(port, struct wire_end, port);
}

static inline uint32_t
number_of(const struct frame *frame)
{
	return (uint32_t)(uintptr_t)frame - 1;
}

static inline struct frame *
frame_of(uint32_t number)
{
	return (struct frame *)(uintptr_t)(number + 1);
}

static inline uint8_t *
bytes_of(const struct wire_end *e, uint32_t number)
{
	return e->frames + (size_t)number * WIRE_FRAME_SPAN;
}

/* Returns the present time, never 0, which means none. */
static inline uint32_t
stamp_now(void)
{
	return (uint32_t)ticks_read() | 1;
}

/* Returns how many slots the writer may fill. */
static inline uint32_t
ring_room(struct wire_ring *r, uint32_t want)
{
	const uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	/* Reads the other end's line only if the value last loaded from it shows too little room.
	 * Pairs with the store in ring_took: slots that the reader has read may be written. */
	if (WIRE_RING - (tail - r->head_seen) < want)
		r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
	return WIRE_RING - (tail - r->head_seen);
}

static inline void
ring_put(struct wire_ring *r, uint32_t count)
{
	/* Pairs with the load in ring_ready: slots and frames are complete. */
	atomic_store_explicit(&r->tail,
			      atomic_load_explicit(&r->tail, memory_order_relaxed) + count,
			      memory_order_release);
}

/* Returns how many slots the reader may read. */
static inline uint32_t
ring_ready(struct wire_ring *r)
{
	const uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	/* Pairs with the store in ring_put. */
	if (r->tail_seen == head)
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
	return r->tail_seen - head;
}

static inline void
ring_took(struct wire_ring *r, uint32_t count)
{
	/* Pairs with the load in ring_room. */
	atomic_store_explicit(&r->head,
			      atomic_load_explicit(&r->head, memory_order_relaxed) + count,
			      memory_order_release);
}

/* True if residence is measured. Pairs with the store in wire_run_command; carries no data. */
static inline bool
is_timed(const struct wire_end *e)
{
	return unlikely(atomic_load_explicit(&e->timed, memory_order_relaxed));
}

/* Notes the stamp of a received frame. */
static inline void
note_stamp(struct wire_end *e, const struct wire_slot *s)
{
	if (!e->is_client)
		e->came[s->frame] = s->stamp;
	else if (s->stamp != 0)
		histogram_add(&e->residence, s->stamp);
}

/* Returns the stamp of a frame to send: the time, or how long this end had it. */
static inline uint32_t
stamp_of(struct wire_end *e, uint32_t number, uint32_t now)
{
	const uint32_t came = e->came[number];

	if (e->is_client)
		return now;
	e->came[number] = 0;
	return came != 0 ? (now - came) | 1 : 0;
}

/* The loan of a frame that is not sent yet lies in the frame's headroom. */
static inline struct port_loan *
loan_of(const struct wire_end *e, uint32_t number)
{
	static_assert(sizeof(struct port_loan) <= WIRE_HEADROOM, "it has the room");
	return (struct port_loan *)(void *)bytes_of(e, number);
}

/* Copies a loan behind the bytes of its frame, as a NIC does. */
static __attribute__((noinline)) void
gather(const struct wire_end *e, const struct wire_slot *s, const struct port_loan *loan)
{
	ensure(s->at + s->len + s->lent <= WIRE_FRAME_SPAN && loan->len == s->lent);
	memcpy(bytes_of(e, s->frame) + s->at + s->len, loan->data, loan->len);
}

static void
end_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct wire_end *e = end_of(port);
	const uint32_t ready = ring_ready(e->in), n = ready < count ? ready : count;
	const uint32_t head = atomic_load_explicit(&e->in->head, memory_order_relaxed);

	b->count = n;
	if (n == 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct wire_slot *s = &e->in->slot[(head + i) & RING_MASK];

		b->data[i] = bytes_of(e, s->frame) + s->at;
		prefetch(b->data[i]);
		b->len[i] = s->len + s->lent;
		if (s->lent != 0)
			gather(e, s, &e->in->loan[(head + i) & RING_MASK]);
		b->ol_flags[i] = FRAME_IP_CKSUM_GOOD | FRAME_L4_CKSUM_GOOD;
		b->frame[i] = frame_of(s->frame);
		if (is_timed(e))
			note_stamp(e, s);
	}
	ring_took(e->in, n);
}

/* Ends the loans of the slots that the other end has read, before they are written again. */
static __attribute__((noinline)) void
reap(struct wire_end *e)
{
	for (; e->reaped != e->out->head_seen; e->reaped++) {
		const uint32_t at = e->reaped & RING_MASK;
		const struct port_loan *loan = &e->out->loan[at];

		if (e->out->slot[at].lent != 0)
			loan->done(loan->lender, loan->owner);
	}
}

static uint32_t
end_tx(struct port *port, const struct burst *b)
{
	struct wire_end *e = end_of(port);
	const uint32_t room = ring_room(e->out, b->count), n = room < b->count ? room : b->count;
	const uint32_t tail = atomic_load_explicit(&e->out->tail, memory_order_relaxed);
	const uint32_t now = is_timed(e) ? stamp_now() : 0;

	if (unlikely(e->port.caps & PORT_TX_LOANS))
		reap(e);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t number = number_of(b->frame[i]);
		struct wire_slot *s = &e->out->slot[(tail + i) & RING_MASK];

		s->frame = number;
		s->at = (uint16_t)(b->data[i] - bytes_of(e, number));
		s->len = (uint16_t)b->len[i];
		s->lent = 0;
		if (unlikely(b->ol_flags[i] & FRAME_HAS_LOAN)) {
			struct port_loan *loan = loan_of(e, number);

			e->out->loan[(tail + i) & RING_MASK] = *loan;
			s->lent = loan->len;
			loan->len = 0;
		}
		s->stamp = is_timed(e) ? stamp_of(e, number, now) : 0;
	}
	ring_put(e->out, n);
	return n;
}

/* Takes the surplus frames that the other end has returned. */
static void
take_back(struct wire_end *e)
{
	const uint32_t n = ring_ready(e->back_in);
	const uint32_t head = atomic_load_explicit(&e->back_in->head, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++)
		e->free[e->free_count++] = e->back_in->slot[(head + i) & RING_MASK].frame;
	ring_took(e->back_in, n);
}

static void
end_alloc(struct port *port, struct burst *b, uint32_t count)
{
	struct wire_end *e = end_of(port);
	uint32_t n = count < BURST_MAX ? count : BURST_MAX;

	if (unlikely(e->free_count < WIRE_FRAMES))
		take_back(e);
	n = n < e->free_count ? n : e->free_count;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t number = e->free[--e->free_count];

		b->data[i] = bytes_of(e, number) + WIRE_HEADROOM;
		b->len[i] = 0;
		b->ol_flags[i] = 0;
		b->frame[i] = frame_of(number);
	}
	b->count = n;
}

/* Returns surplus frames, the longest unused first, to the other end, as far as there is room. */
static void
give_back(struct wire_end *e)
{
	const uint32_t room = ring_room(e->back_out, SPARE);
	const uint32_t more = e->free_count - WIRE_FRAMES, n = room < more ? room : more;
	const uint32_t tail = atomic_load_explicit(&e->back_out->tail, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++)
		e->back_out->slot[(tail + i) & RING_MASK].frame = e->free[--e->free_count];
	ring_put(e->back_out, n);
}

static void
end_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	struct wire_end *e = end_of(port);

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t number = number_of(frames[i]);

		e->free[e->free_count++] = number;
		if (is_timed(e))
			e->came[number] = 0;
	}
	if (unlikely(e->free_count >= WIRE_FRAMES + SPARE))
		give_back(e);
}

static bool
end_lend(struct port *port, struct frame *frame, const struct port_loan *loan)
{
	*loan_of(end_of(port), number_of(frame)) = *loan;
	return true;
}

static void
end_reap_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct wire_end *e = end_of(port);

	ring_room(e->out, WIRE_RING);
	reap(e);
	end_rx(port, b, count);
}

/* Drops frames, and ends the loan of each that has one. */
static void
end_lent_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	struct wire_end *e = end_of(port);

	for (uint32_t i = 0; i < count; i++) {
		struct port_loan *loan = loan_of(e, number_of(frames[i]));

		if (loan->len != 0)
			loan->done(loan->lender, loan->owner);
		loan->len = 0;
	}
	end_drop(port, frames, count);
}

static const struct port_ops wire_ops = {
	.rx = end_rx,
	.tx = end_tx,
	.alloc = end_alloc,
	.drop = end_drop,
};

static const struct port_ops lending_ops = {
	.rx = end_reap_rx,
	.tx = end_tx,
	.alloc = end_alloc,
	.drop = end_lent_drop,
	.lend = end_lend,
};

void
wire_lend(struct wire_end *e)
{
	e->port.ops = &lending_ops;
	e->port.caps |= PORT_TX_LOANS;
}

size_t
wire_bytes(void)
{
	return 2 * WIRE_FRAMES * (WIRE_FRAME_SPAN + 4 * sizeof(uint32_t) + 2 * sizeof(uint32_t)) +
	       4 * sizeof(struct wire_ring) + 16 * 4096;
}

void
wire_make(struct wire *w, struct region *region, const uint8_t mac[2][6])
{
	uint8_t *frames = region_take(region, 2 * WIRE_FRAMES * WIRE_FRAME_SPAN, 4096);
	struct wire_ring *ring[4];

	memset(w, 0, sizeof *w);
	for (uint32_t i = 0; i < 4; i++)
		ring[i] = region_take(region, sizeof *ring[i], 4096);
	for (uint32_t i = 0; i < 2; i++) {
		struct wire_end *e = &w->end[i];

		e->port = (struct port){
			.ops = &wire_ops,
			.caps = PORT_TX_IP_CKSUM | PORT_TX_UDP_CKSUM | PORT_TX_TCP_CKSUM,
			.frame_bytes = WIRE_FRAME_BYTES,
			.mtu = 1500,
		};
		memcpy(e->port.mac, mac[i], 6);
		e->in = ring[i];
		e->out = ring[1 - i];
		e->back_in = ring[2 + i];
		e->back_out = ring[3 - i];
		e->frames = frames;
		e->free = region_take(region, 2 * WIRE_FRAMES * sizeof *e->free, 4096);
		e->came = region_take(region, 2 * WIRE_FRAMES * sizeof *e->came, 4096);
		for (uint32_t k = 0; k < WIRE_FRAMES; k++)
			e->free[e->free_count++] = i * WIRE_FRAMES + k;
		histogram_clear(&e->residence);
	}
}
