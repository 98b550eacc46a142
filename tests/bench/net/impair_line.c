/*
 * impair_line.c - decides about each frame, and keeps the two queues of pending frames.
 */
#include "impair_line.h"

#include "base/check.h"
#include "bench_load.h"

#include <string.h>

#define ETH_HEADER_BYTES 14u
#define ETH_TYPE_AT      12u

static void
ring_create(struct line_ring *ring, uint32_t slots)
{
	*ring = (struct line_ring){
		.slots = bench_map(slots * sizeof *ring->slots),
		.mask = slots - 1,
	};
}

static uint32_t
ring_free(const struct line_ring *ring)
{
	return ring->mask + 1 - (ring->tail - ring->head);
}

/* Returns the oldest frame that is still to be sent; lost ones before it are dropped. */
static struct line_frame *
ring_first(struct line_ring *ring)
{
	while (ring->head != ring->tail) {
		struct line_frame *f = &ring->slots[ring->head & ring->mask];

		if (f->copies != 0)
			return f;
		ring->head++;
	}
	return NULL;
}

void
line_create(struct line *line, const struct impairment *how, uint64_t seed)
{
	*line = (struct line){.how = *how, .chance = seed};
	ring_create(&line->on_time, LINE_SLOTS);
	ring_create(&line->late, LATE_SLOTS);
}

void
line_destroy(struct line *line)
{
	bench_unmap(line->on_time.slots, LINE_SLOTS * sizeof *line->on_time.slots);
	bench_unmap(line->late.slots, LATE_SLOTS * sizeof *line->late.slots);
}

uint32_t
line_room(const struct line *line)
{
	const uint32_t free = ring_free(&line->on_time);

	return free < LINE_BURST ? free : LINE_BURST;
}

struct line_frame *
line_slot(struct line *line, uint32_t i)
{
	return &line->on_time.slots[(line->on_time.tail + i) & line->on_time.mask];
}

static bool
happens(struct line *line, uint32_t chance)
{
	return bench_below(&line->chance, CHANCE_ONE) < chance;
}

/* True for IPv4 and IPv6. A lost ARP request would cost a second, which is not what is
 * measured. */
static bool
is_ip(const struct line_frame *f)
{
	const uint32_t type = (uint32_t)f->bytes[ETH_TYPE_AT] << 8 | f->bytes[ETH_TYPE_AT + 1];

	return f->len > ETH_HEADER_BYTES && (type == 0x0800 || type == 0x86dd);
}

/* Changes a bit after the Ethernet header, where a checksum must detect it. */
static void
spoil(struct line *line, struct line_frame *f)
{
	const uint32_t at =
		ETH_HEADER_BYTES + bench_below(&line->chance, f->len - ETH_HEADER_BYTES);

	f->bytes[at] ^= (uint8_t)(1u << bench_below(&line->chance, 8));
	line->counts.spoiled++;
}

static void
put_late(struct line *line, struct line_frame *f)
{
	struct line_ring *ring = &line->late;
	struct line_frame *to = &ring->slots[ring->tail & ring->mask];

	if (ring_free(ring) == 0) {
		line->counts.no_slot++;
	} else {
		*to = (struct line_frame){.due_ns = f->due_ns + line->how.late_ns,
					  .len = f->len,
					  .copies = f->copies};
		memcpy(to->bytes, f->bytes, f->len);
		ring->tail++;
		line->counts.late++;
	}
	f->copies = 0;
}

/* Decides about a frame. Every frame draws the same number of random values, so that the nth frame
 * is treated alike in every run with the same seed. */
static void
decide(struct line *line, struct line_frame *f)
{
	const bool lost = happens(line, line->how.lose), twice = happens(line, line->how.twice);
	const bool late = happens(line, line->how.late), spoiled = happens(line, line->how.spoil);

	if (!is_ip(f))
		return;
	if (lost) {
		f->copies = 0;
		line->counts.lost++;
		return;
	}
	if (spoiled)
		spoil(line, f);
	if (twice) {
		f->copies = 2;
		line->counts.twice++;
	}
	if (late)
		put_late(line, f);
}

void
line_take(struct line *line, uint32_t count, uint64_t now_ns)
{
	ensure(count <= line_room(line));
	for (uint32_t i = 0; i < count; i++) {
		struct line_frame *f = line_slot(line, 0);

		ensure(f->len <= FRAME_BYTES);
		f->due_ns = now_ns + line->how.delay_ns;
		f->copies = 1;
		decide(line, f);
		line->on_time.tail++;
	}
	line->counts.in += count;
}

/* Returns the ring whose first frame leaves first; NULL: both are empty. */
static struct line_ring *
first_ring(struct line *line)
{
	const struct line_frame *a = ring_first(&line->on_time), *b = ring_first(&line->late);

	if (a == NULL || (b != NULL && b->due_ns < a->due_ns))
		return b == NULL ? NULL : &line->late;
	return &line->on_time;
}

uint64_t
line_next_ns(struct line *line)
{
	struct line_ring *ring = first_ring(line);

	return ring == NULL ? UINT64_MAX : ring_first(ring)->due_ns;
}

const struct line_frame *
line_due(struct line *line, uint64_t now_ns)
{
	struct line_ring *ring = first_ring(line);
	const struct line_frame *f = ring == NULL ? NULL : ring_first(ring);

	return f == NULL || f->due_ns > now_ns ? NULL : f;
}

void
line_sent(struct line *line)
{
	struct line_ring *ring = first_ring(line);

	ensure(ring != NULL);
	ring_first(ring)->copies--;
	line->counts.out++;
}
