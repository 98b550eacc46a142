/*
 * weak_known.c - litmus tests, whose outcomes C11 allows or forbids.
 *
 * Goal:   weak.c reaches the outcome in question if C11 allows it, and not if C11 forbids it; plain
 *         accesses in a race fail. Load buffering is allowed by C11, and weak.c does not reach it,
 *         as weak.h states.
 * Method: The names are those of Alglave, Maranget, Tautschnig, "Herding cats", 2014. Each test
 *         runs with all accesses relaxed, with release and acquire, with fences of seq_cst between
 *         its accesses, and with accesses of seq_cst.
 */
#include "weak.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum strength { RELAXED, ACQ_REL, FENCED, SEQ_CST, STRENGTHS };
static const char *const strength_names[] = {"relaxed", "release and acquire", "seq_cst fences",
					     "seq_cst"};

static _Atomic uint32_t x, y, z;
static uint32_t plain, got[4];
static enum strength strength;

static uint32_t
load(const _Atomic uint32_t *p)
{
	if (strength == SEQ_CST)
		return atomic_load_explicit(p, memory_order_seq_cst);
	if (strength == ACQ_REL)
		return atomic_load_explicit(p, memory_order_acquire);
	return atomic_load_explicit(p, memory_order_relaxed);
}

static void
store(_Atomic uint32_t *p, uint32_t v)
{
	if (strength == SEQ_CST)
		atomic_store_explicit(p, v, memory_order_seq_cst);
	else if (strength == ACQ_REL)
		atomic_store_explicit(p, v, memory_order_release);
	else
		atomic_store_explicit(p, v, memory_order_relaxed);
}

static void
between(void)
{
	if (strength == FENCED)
		atomic_thread_fence(memory_order_seq_cst);
}

/* ---- pairs of accesses ---- */

static void
write_x(void)
{
	store(&x, 1);
}

static void
write_y(void)
{
	store(&y, 1);
}

static void
write_x_write_y(void)
{
	store(&x, 1);
	between();
	store(&y, 1);
}

static void
write_x_read_y(void)
{
	store(&x, 1);
	between();
	got[0] = load(&y);
}

static void
write_y_read_x(void)
{
	store(&y, 1);
	between();
	got[1] = load(&x);
}

static void
read_y_read_x(void)
{
	got[0] = load(&y);
	between();
	got[1] = load(&x);
}

static void
read_x_write_y(void)
{
	got[0] = load(&x);
	between();
	store(&y, 1);
}

static void
read_y_write_x(void)
{
	got[1] = load(&y);
	between();
	store(&x, 1);
}

static void
read_x_read_y(void)
{
	got[0] = load(&x);
	between();
	got[1] = load(&y);
}

static void
read_y_read_x_after(void)
{
	got[2] = load(&y);
	between();
	got[3] = load(&x);
}

static void
read_y_read_x_third(void)
{
	got[1] = load(&y);
	between();
	got[2] = load(&x);
}

static void
write_y_read_x_third(void)
{
	store(&y, 1);
	between();
	got[2] = load(&x);
}

static void
read_x_twice(void)
{
	got[0] = load(&x);
	between();
	got[1] = load(&x);
}

static void
write_x_write_y_2(void)
{
	store(&x, 1);
	between();
	store(&y, 2);
}

static void
write_y_write_x_2(void)
{
	store(&y, 1);
	between();
	store(&x, 2);
}

static void
write_y_2_write_z(void)
{
	store(&y, 2);
	between();
	store(&z, 1);
}

static void
read_z_read_x(void)
{
	got[0] = load(&z);
	between();
	got[1] = load(&x);
}

static void
write_x_2_write_y(void)
{
	store(&x, 2);
	between();
	store(&y, 1);
}

static void
read_y_first_write_x(void)
{
	got[0] = load(&y);
	between();
	store(&x, 1);
}

/* ---- outcomes: of what was read, and the last values ---- */

static bool
none_read(void)
{
	return got[0] == 0 && got[1] == 0;
}

static bool
first_read(void)
{
	return got[0] == 1 && got[1] == 0;
}

static bool
both_read(void)
{
	return got[0] == 1 && got[1] == 1;
}

static bool
iriw(void)
{
	return got[0] == 1 && got[1] == 0 && got[2] == 1 && got[3] == 0;
}

static bool
wrc(void)
{
	return got[0] == 1 && got[1] == 1 && got[2] == 0;
}

static bool
rwc(void)
{
	return got[0] == 1 && got[1] == 0 && got[2] == 0;
}

static bool
first_writes_last(void)
{
	return atomic_load(&x) == 1 && atomic_load(&y) == 1;
}

static bool
z6(void)
{
	return atomic_load(&y) == 2 && got[0] == 1 && got[1] == 0;
}

static bool
s_test(void)
{
	return atomic_load(&x) == 2 && got[0] == 1;
}

enum verdict { NO, YES, CUT }; /* CUT: C11 allows it, and weak.c does not reach it */

static const struct litmus {
	const char *name;
	void (*thread[WEAK_THREADS_MAX])(void);
	bool (*outcome)(void);
	enum verdict allowed[STRENGTHS];
} litmus[] = {
	{"MP", {write_x_write_y, read_y_read_x}, first_read, {YES, NO, NO, NO}},
	{"SB", {write_x_read_y, write_y_read_x}, none_read, {YES, YES, NO, NO}},
	{"LB", {read_x_write_y, read_y_write_x}, both_read, {CUT, NO, NO, NO}},
	{"CoRR", {write_x, read_x_twice}, first_read, {NO, NO, NO, NO}},
	{"S", {write_x_2_write_y, read_y_first_write_x}, s_test, {YES, NO, NO, NO}},
	{"2+2W", {write_x_write_y_2, write_y_write_x_2}, first_writes_last, {YES, YES, NO, NO}},
	{"WRC", {write_x, read_x_write_y, read_y_read_x_third}, wrc, {YES, NO, NO, NO}},
	{"RWC", {write_x, read_x_read_y, write_y_read_x_third}, rwc, {YES, YES, NO, NO}},
	{"Z6", {write_x_write_y, write_y_2_write_z, read_z_read_x}, z6, {YES, YES, NO, NO}},
	{"IRIW", {write_x, write_y, read_x_read_y, read_y_read_x_after}, iriw, {YES, YES, NO, NO}},
};

/* ---- one fence on each side, plain memory, and a release sequence ---- */

static void
write_x_release_fence_y(void)
{
	atomic_store_explicit(&x, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&y, 1, memory_order_relaxed);
}

static void
read_y_acquire_fence_x(void)
{
	got[0] = atomic_load_explicit(&y, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	got[1] = atomic_load_explicit(&x, memory_order_relaxed);
}

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

static bool
never(void)
{
	return false;
}

static const struct single {
	const char *name;
	void (*thread[WEAK_THREADS_MAX])(void);
	bool (*outcome)(void);
	bool allowed, races;
} singles[] = {
	{"MP by fences",
	 {write_x_release_fence_y, read_y_acquire_fence_x},
	 first_read,
	 false,
	 false},
	{"MP, release fence only",
	 {write_x_release_fence_y, read_y_read_x},
	 first_read,
	 true,
	 false},
	{"MP, acquire fence only",
	 {write_x_write_y, read_y_acquire_fence_x},
	 first_read,
	 true,
	 false},
	{"plain, released", {plain_and_release, acquire_and_plain}, never, false, false},
	{"plain, not released", {plain_and_relaxed, acquire_and_plain}, never, false, true},
	{"plain, through a change",
	 {plain_and_release, add_to_y, acquire_two_and_plain},
	 never,
	 false,
	 false},
};

/* ---- each in all executions ---- */

static bool (*outcome)(void);
static bool reached;

static void
begin(void)
{
	memset(got, 0, sizeof got);
}

static void
end(void)
{
	reached |= outcome();
}

/* Returns false if a plain access is in a race. */
static bool
try_threads(const char *name, void (*const *threads)(void), bool (*which)(void))
{
	struct weak_case c = {.name = name, .begin = begin, .end = end, .switches = 4, .stale = 4};

	memcpy(c.thread, threads, sizeof c.thread);
	outcome = which;
	reached = false;
	return weak_try(&c);
}

static bool
litmus_passes(const struct litmus *l)
{
	static const char *const words[] = {"forbidden", "allowed", "allowed, cut"};
	bool good = true;

	for (strength = RELAXED; strength < STRENGTHS; strength++) {
		const enum verdict v = l->allowed[strength];
		const bool passed =
			try_threads(l->name, l->thread, l->outcome) && reached == (v == YES);

		printf("%s - %s, %s: %s\n", passed ? "ok" : "not ok", l->name,
		       strength_names[strength], words[v]);
		good &= passed;
	}
	return good;
}

static bool
single_passes(const struct single *s)
{
	strength = RELAXED;

	const bool ran = try_threads(s->name, s->thread, s->outcome);
	const bool passed = ran != s->races && (!ran || reached == s->allowed);

	printf("%s - %s\n", passed ? "ok" : "not ok", s->name);
	return passed;
}

int
main(void)
{
	bool good = true;

	for (uint32_t i = 0; i < sizeof litmus / sizeof litmus[0]; i++)
		good &= litmus_passes(&litmus[i]);
	for (uint32_t i = 0; i < sizeof singles / sizeof singles[0]; i++)
		good &= single_passes(&singles[i]);
	return good ? 0 : 1;
}
