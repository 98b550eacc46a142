/*
 * speed82599.c - polls the tails of rings, and moves frames and descriptors.
 */
#include "speed82599.h"
#include "base/check.h"
#include "base/ticks.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE_BYTES  64u
#define AHEAD       8u   /* descriptors whose buffers are fetched ahead */
#define ROUND       32u  /* frames of one ring before the other direction has its turn */
#define PACE_LAG    256u /* frames that a paced wire may be behind before it loses them */
#define PACE_MS     20u  /* to measure the counter of time */
#define NS_A_SECOND 1000000000u

static uint32_t
reg(struct speed82599 *s, uint32_t at)
{
	return atomic_load_explicit((_Atomic uint32_t *)nic_reg(s->nic, at), memory_order_acquire);
}

static void
count(struct speed82599 *s, uint32_t at, uint64_t *counted, uint32_t n)
{
	if (n == 0)
		return;
	*counted += n;
	atomic_fetch_add_explicit((_Atomic uint32_t *)nic_reg(s->nic, at), n, memory_order_relaxed);
}

/* Moves a written line out of this CPU's own caches, as DMA writes the shared one. A CPU without
 * the instruction does nothing. */
static inline void
demote(const void *line)
{
	__asm__ volatile("cldemote (%0)" : : "r"(line) : "memory");
}

static inline uint32_t
behind(const struct speed_ring *r, uint32_t tail)
{
	return tail >= r->head ? tail - r->head : tail + r->count - r->head;
}

static inline void
advance(struct speed_ring *r)
{
	r->head = r->head + 1 == r->count ? 0 : r->head + 1;
}

/* Fetches the buffer of a descriptor ahead, with the intent to write. */
static inline void
fetch_ahead(const struct speed_ring *r, uint32_t room)
{
	uint32_t at = r->head + AHEAD;

	if (room <= AHEAD)
		return;
	at = at >= r->count ? at - r->count : at;
	__builtin_prefetch((const void *)(uintptr_t)r->at[at].address, 1);
	__builtin_prefetch((const uint8_t *)(uintptr_t)r->at[at].address + LINE_BYTES, 1);
}

/* Notices that the driver has turned a ring on or off. */
static void
look_at(struct speed82599 *s, struct speed_ring *r, uint32_t ring, bool enabled)
{
	const bool on = enabled && (reg(s, ring + RING_CONTROL) & RING_ENABLE);

	if (on && !r->on) {
		r->head = 0;
		r->count = reg(s, ring + RING_BYTES) / sizeof(struct descriptor);
		r->at = rings_at(s->nic, ring);
	}
	if (on || r->on)
		*nic_reg(s->nic, ring + RING_HEAD) = r->head;
	r->on = on && r->count != 0;
}

/* Looks at the rings of one queue a call: a driver waits for a millisecond where it turns one. */
static void
scan(struct speed82599 *s)
{
	const uint32_t q = s->scanned;

	s->scanned = (q + 1) % QUEUES_82599;
	look_at(s, &s->rx[q], REG_RX(q), reg(s, REG_RXCTRL) & RXCTRL_ENABLE);
	look_at(s, &s->tx[q], REG_TX(q), reg(s, REG_DMATXCTL) & DMATXCTL_ENABLE);
	if ((s->rx[q].on || s->tx[q].on) && q >= s->queues)
		s->queues = q + 1;
}

/* Turns all rings off after a reset, which waits for that. */
static void
notice_reset(struct speed82599 *s)
{
	const uint32_t resets = atomic_load_explicit(&s->nic->resets, memory_order_acquire);

	if (likely(resets == atomic_load_explicit(&s->nic->resets_seen, memory_order_relaxed)))
		return;
	for (uint32_t q = 0; q < QUEUES_82599; q++)
		s->rx[q].on = s->tx[q].on = false;
	atomic_store_explicit(&s->nic->resets_seen, resets, memory_order_release);
}

/* Returns the descriptors that the driver has given and the model has not used. */
static uint32_t
given(struct speed82599 *s, const struct speed_ring *r, uint32_t ring)
{
	const uint32_t tail = reg(s, ring + RING_TAIL);

	return r->on && (reg(s, ring + RING_CONTROL) & RING_ENABLE) ? behind(r, tail) : 0;
}

/* Returns the buffers that the driver has given. */
static uint32_t
rx_room(struct speed82599 *s, uint32_t queue)
{
	return given(s, &s->rx[queue], REG_RX(queue));
}

/* Puts a frame into the ring's next buffer, of which there are room. */
static void
lay(struct speed82599 *s, const struct speed_frame *f, uint32_t room)
{
	struct speed_ring *r = &s->rx[f->queue];
	struct descriptor *d = &r->at[r->head];
	uint8_t *to = (uint8_t *)(uintptr_t)d->address;

	fetch_ahead(r, room);
	memcpy(to, f->bytes, f->len);
	d->address = f->receipt.kind;
	d->w3 = f->receipt.len;
	atomic_store_explicit((_Atomic uint32_t *)&d->w2, f->receipt.status, memory_order_release);
	for (uint32_t at = 0; at < f->len; at += LINE_BYTES)
		demote(to + at);
	if ((r->head & 3) == 3) /* the last of its line */
		demote(d);
	advance(r);
}

static uint32_t
room_of(uint32_t srrctl)
{
	return SRRCTL_KB(srrctl) * 1024;
}

/* Finds out what the registers make of a frame. */
static struct choice
classify(struct speed82599 *s, struct speed_frame *f)
{
	struct headers h;
	struct choice c = nic82599_classify(s->nic, f->bytes, f->len, &h);

	f->queue = c.queue;
	f->drop = c.drop || f->len > room_of(*nic_reg(s->nic, REG_SRRCTL(c.queue)));
	c.drop = f->drop;
	if (!f->drop)
		rings_receipt(&f->receipt, f->bytes, f->len, &h, &c);
	return c;
}

/* Takes the frame that the caller offers. */
static uint32_t
take_offer(struct speed82599 *s)
{
	const uint32_t offers = atomic_load_explicit(&s->offers, memory_order_acquire);
	struct speed_frame f = {.bytes = s->offered, .len = s->offered_len};
	uint32_t room;

	if (offers == atomic_load_explicit(&s->taken, memory_order_relaxed))
		return 0;
	s->choice = classify(s, &f);
	room = f.drop ? 0 : rx_room(s, f.queue);
	if (room != 0)
		lay(s, &f, room);
	count(s, REG_GPRC, &s->received, room != 0);
	count(s, REG_MPC0, &s->missed, !f.drop && room == 0);
	s->choice.drop = room == 0;
	atomic_store_explicit(&s->taken, offers, memory_order_release);
	return 1;
}

/* Returns how many frames of the list are due. */
static uint32_t
frames_due(struct speed82599 *s)
{
	uint64_t now, n;

	if (s->ticks_a_frame == 0)
		return ROUND;
	now = ticks_read();
	n = now > s->due ? (now - s->due) / s->ticks_a_frame : 0;
	n = n < PACE_LAG ? n : PACE_LAG;
	s->due = n == PACE_LAG ? now : s->due + n * s->ticks_a_frame;
	return (uint32_t)n;
}

static void
list_classify(struct speed82599 *s)
{
	s->written = atomic_load_explicit(&s->nic->written, memory_order_acquire);
	for (uint32_t i = 0; i < s->options.count; i++)
		classify(s, &s->list[i]);
}

/* Plays frames of the list that are due. Without a pace a frame without a buffer waits. */
static uint32_t
play(struct speed82599 *s)
{
	uint32_t due, laid = 0, lost = 0;

	if (s->options.count == 0)
		return 0;
	if (atomic_load_explicit(&s->nic->written, memory_order_relaxed) != s->written)
		list_classify(s);
	due = frames_due(s);
	for (uint32_t i = 0; i < due; i++) {
		const struct speed_frame *f = &s->list[s->next];
		const uint32_t room = f->drop ? 0 : rx_room(s, f->queue);

		if (room == 0 && !f->drop && s->ticks_a_frame == 0)
			break;
		s->next = s->next + 1 == s->options.count ? 0 : s->next + 1;
		if (room != 0)
			lay(s, f, room);
		laid += room != 0;
		lost += !f->drop && room == 0;
	}
	count(s, REG_GPRC, &s->received, laid);
	count(s, REG_MPC0, &s->missed, lost);
	return laid;
}

/* Sends frames of a ring, up to its tail. */
static uint32_t
drain(struct speed82599 *s, uint32_t queue)
{
	struct speed_ring *r = &s->tx[queue];
	const uint32_t room = given(s, r, REG_TX(queue));
	const uint32_t n = room < ROUND ? room : ROUND;

	for (uint32_t i = 0; i < n; i++) {
		struct descriptor *d = &r->at[r->head];

		fetch_ahead(r, room - i);
		rings_take(s->nic, queue, d, s->options.keep_sent);
		advance(r);
	}
	s->sent += n;
	if (!s->options.keep_sent) /* counted there */
		count(s, REG_GPTC, &s->counted, n);
	return n;
}

static void *
run(void *arg)
{
	struct speed82599 *s = arg;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		uint32_t moved;

		notice_reset(s);
		moved = take_offer(s) + play(s);
		for (uint32_t q = 0; q < s->queues; q++)
			moved += drain(s, q);
		scan(s);
		if (moved == 0 && s->options.keep_sent)
			sched_yield(); /* a test may have one CPU */
	}
	return NULL;
}

static uint64_t
clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_A_SECOND + (uint64_t)now.tv_nsec;
}

/* Returns the ticks of one frame at that pace; 0: no pace. */
static uint64_t
pace(uint64_t frames_per_s)
{
	const struct timespec span = {.tv_nsec = PACE_MS * 1000000};
	const uint64_t from_ns = clock_ns(), from = ticks_read();
	uint64_t ticks;

	if (frames_per_s == 0)
		return 0;
	nanosleep(&span, NULL);
	ticks = (ticks_read() - from) * NS_A_SECOND / (clock_ns() - from_ns);
	return ticks / frames_per_s != 0 ? ticks / frames_per_s : 1;
}

static void
list_make(struct speed82599 *s)
{
	s->list = calloc(s->options.count + 1, sizeof *s->list);
	ensure(s->list != NULL && s->options.count <= SPEED_FRAMES);
	for (uint32_t i = 0; i < s->options.count; i++)
		s->list[i] = (struct speed_frame){
			.bytes = s->options.frames[i], .len = s->options.len[i], .drop = true};
}

void
speed82599_continue(struct speed82599 *s, const struct speed82599_options *options)
{
	cpu_set_t cpu;

	s->options = *options;
	s->ticks_a_frame = pace(options->frames_per_s);
	s->due = ticks_read();
	s->stop = false;
	atomic_store_explicit(&s->nic->polled, true, memory_order_release);
	ensure(pthread_create(&s->thread, NULL, run, s) == 0);
	pthread_setname_np(s->thread, "nic82599");
	CPU_ZERO(&cpu);
	if (options->cpu < 0)
		return;
	CPU_SET((uint32_t)options->cpu, &cpu);
	ensure(pthread_setaffinity_np(s->thread, sizeof cpu, &cpu) == 0);
}

void
speed82599_start(struct speed82599 *s, struct nic82599 *nic,
		 const struct speed82599_options *options)
{
	memset(s, 0, sizeof *s);
	s->nic = nic;
	s->options = *options;
	list_make(s);
	speed82599_continue(s, options);
}

void
speed82599_stop(struct speed82599 *s)
{
	atomic_store_explicit(&s->stop, true, memory_order_relaxed);
	ensure(pthread_join(s->thread, NULL) == 0);
	atomic_store_explicit(&s->nic->polled, false, memory_order_release);
}

struct choice
speed82599_receive(struct speed82599 *s, const uint8_t *frame, uint32_t len)
{
	const uint32_t offer = atomic_load_explicit(&s->offers, memory_order_relaxed) + 1;

	s->offered = frame;
	s->offered_len = len;
	atomic_store_explicit(&s->offers, offer, memory_order_release);
	while (atomic_load_explicit(&s->taken, memory_order_acquire) != offer)
		sched_yield();
	return s->choice;
}

uint32_t
speed82599_sent(struct speed82599 *s)
{
	return atomic_load_explicit(&s->nic->sent_count, memory_order_acquire);
}
