/*
 * weak_known.c - litmus tests whose outcomes C11 defines. Goal: weak.c reaches each outcome that is
 * allowed, and no other; plain accesses in a race fail.
 */
#include "weak.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static _Atomic uint32_t x, y;
static uint32_t plain, got[3];
static memory_order first_order, second_order;
static uint32_t outcomes; /* seen, a bit each: got[0] + 2 * got[1] */

static void
nothing(void)
{
}

static void
note_outcome(void)
{
	outcomes |= 1u << (got[0] + 2 * got[1]);
}

/* ---- message passing ---- */

static void
store_x_then_y(void)
{
	atomic_store_explicit(&x, 1, memory_order_relaxed);
	if (first_order == memory_order_release)
		atomic_store_explicit(&y, 1, memory_order_release);
	else
		atomic_store_explicit(&y, 1, memory_order_relaxed);
}

static void
load_y_then_x(void)
{
	if (second_order == memory_order_acquire)
		got[0] = atomic_load_explicit(&y, memory_order_acquire);
	else
		got[0] = atomic_load_explicit(&y, memory_order_relaxed);
	got[1] = atomic_load_explicit(&x, memory_order_relaxed);
}

/* ---- store buffering ---- */

static void
store_x_load_y(void)
{
	atomic_store_explicit(&x, 1, memory_order_relaxed);
	if (first_order == memory_order_seq_cst)
		atomic_thread_fence(memory_order_seq_cst);
	got[0] = atomic_load_explicit(&y, memory_order_relaxed);
}

static void
store_y_load_x(void)
{
	atomic_store_explicit(&y, 1, memory_order_relaxed);
	if (first_order == memory_order_seq_cst)
		atomic_thread_fence(memory_order_seq_cst);
	got[1] = atomic_load_explicit(&x, memory_order_relaxed);
}

static void
store_x_load_y_sc(void)
{
	atomic_store(&x, 1);
	got[0] = atomic_load(&y);
}

static void
store_y_load_x_sc(void)
{
	atomic_store(&y, 1);
	got[1] = atomic_load(&x);
}

/* ---- coherence: two loads of one word ---- */

static void
store_x_once(void)
{
	atomic_store_explicit(&x, 1, memory_order_relaxed);
}

static void
load_x_twice(void)
{
	got[0] = atomic_load_explicit(&x, memory_order_relaxed);
	got[1] = atomic_load_explicit(&x, memory_order_relaxed);
}

/* ---- fences ---- */

static void
store_x_fence_y(void)
{
	atomic_store_explicit(&x, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&y, 1, memory_order_relaxed);
}

static void
load_y_fence_x(void)
{
	got[0] = atomic_load_explicit(&y, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	got[1] = atomic_load_explicit(&x, memory_order_relaxed);
}

/* ---- plain memory ---- */

static void
plain_and_release(void)
{
	plain = 1;
	atomic_store_explicit(&y, 1, memory_order_release);
}

static void
plain_and_relaxed(void)
{
	plain = 1;
	atomic_store_explicit(&y, 1, memory_order_relaxed);
}

static void
acquire_and_plain(void)
{
	if (atomic_load_explicit(&y, memory_order_acquire) != 0)
		got[0] = plain;
}

/* ---- a release sequence goes on through a change by another thread ---- */

static void
add_to_y(void)
{
	atomic_fetch_add_explicit(&y, 1, memory_order_relaxed);
}

static void
acquire_two_and_plain(void)
{
	if (atomic_load_explicit(&y, memory_order_acquire) == 2)
		got[0] = plain;
}

static const struct row {
	const char *name;
	void (*thread[WEAK_THREADS_MAX])(void);
	memory_order first, second;
	uint32_t outcomes; /* 0: a race, which fails */
} rows[] = {
	{"message",
	 {store_x_then_y, load_y_then_x},
	 memory_order_release,
	 memory_order_acquire,
	 0xd},
	{"message, stored relaxed",
	 {store_x_then_y, load_y_then_x},
	 memory_order_relaxed,
	 memory_order_acquire,
	 0xf},
	{"message, loaded relaxed",
	 {store_x_then_y, load_y_then_x},
	 memory_order_release,
	 memory_order_relaxed,
	 0xf},
	{"message, by fences", {store_x_fence_y, load_y_fence_x}, 0, 0, 0xd},
	{"message, one fence", {store_x_fence_y, load_y_then_x}, 0, memory_order_relaxed, 0xf},
	{"store buffering", {store_x_load_y, store_y_load_x}, 0, 0, 0xf},
	{"store buffering, fences", {store_x_load_y, store_y_load_x}, memory_order_seq_cst, 0, 0xe},
	{"store buffering, seq_cst", {store_x_load_y_sc, store_y_load_x_sc}, 0, 0, 0xe},
	{"coherence", {store_x_once, load_x_twice}, 0, 0, 0xd},
	{"plain, released", {plain_and_release, acquire_and_plain}, 0, 0, 0x3},
	{"plain, not released", {plain_and_relaxed, acquire_and_plain}, 0, 0, 0},
	{"plain, through a change",
	 {plain_and_release, add_to_y, acquire_two_and_plain},
	 0,
	 0,
	 0x3},
};

int
main(void)
{
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct weak_case c = {.name = rows[i].name,
				      .begin = nothing,
				      .end = note_outcome,
				      .switches = 4,
				      .stale = 4};
		bool passed;

		memcpy(c.thread, rows[i].thread, sizeof c.thread);
		first_order = rows[i].first;
		second_order = rows[i].second;
		outcomes = 0;
		passed = weak_try(&c);
		if (passed != (rows[i].outcomes != 0) || (passed && outcomes != rows[i].outcomes)) {
			printf("not ok: outcomes %#x, not %#x\n", outcomes, rows[i].outcomes);
			wrong++;
		}
	}
	return wrong == 0 ? 0 : 1;
}
