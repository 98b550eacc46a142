/*
 * Tests of the judge. Goal: linear.c finds an order where there is one, and none where an answer
 * is a lie. Method: histories written by hand, each a few calls with their times, legal ones
 * beside illegal ones that differ in one answer or one time; and random histories made by running
 * the model, which are legal by construction and illegal once one answer is changed.
 */
#include "support/test.h"
#include "linear.h"

#include <stdlib.h>

#define OF(t, from, to, what)                                                                      \
	.thread = (t), .invoked = (from), .returned = (to), .kind = (what), .now_s = 5
#define VALUE(v) .bytes = v, .len = sizeof(v) - 1

#define STORED(t, from, to, what, v)                                                               \
	{                                                                                          \
		OF(t, from, to, what), VALUE(v)                                                    \
	}
#define ANSWER(t, from, to, what, answer)                                                          \
	{                                                                                          \
		OF(t, from, to, what), .result = (answer)                                          \
	}
#define GOT(t, from, to, v, cas)                                                                   \
	{                                                                                          \
		OF(t, from, to, CALL_GET), .got = v, .got_len = sizeof(v) - 1,                     \
					   .got_number = (cas), .got_expiry = true                 \
	}
#define MISSED(t, from, to) ANSWER(t, from, to, CALL_GET, STORE_NOT_FOUND)
#define COMPARED(t, from, to, v, cas, answer)                                                      \
	{                                                                                          \
		OF(t, from, to, CALL_CAS), VALUE(v), .number = (cas), .result = (answer)           \
	}
#define COUNTED(t, from, to, what, by, now)                                                        \
	{                                                                                          \
		OF(t, from, to, what), .number = (by), .got_number = (now)                         \
	}
#define SET_UNTIL(t, from, to, v, at)                                                              \
	{                                                                                          \
		OF(t, from, to, CALL_SET), VALUE(v), .expiry_s = (at)                              \
	}
#define FLUSHED(t, from, to, at)                                                                   \
	{                                                                                          \
		OF(t, from, to, CALL_FLUSH), .expiry_s = (at)                                      \
	}
/* A win: the item's fields, whether it is stale, whether this call won it. */
#define REACHED(t, from, to, v, cas, stale, mine)                                                  \
	{                                                                                          \
		OF(t, from, to, CALL_WIN), .got = v, .got_len = sizeof(v) - 1,                     \
					   .got_number = (cas), .got_stale = (stale),              \
					   .got_won = (mine)                                       \
	}
/* An item that was marked stale or emptied, as it is then. */
#define KEPT(t, from, to, what, if_cas, v, cas)                                                    \
	{                                                                                          \
		OF(t, from, to, what), .number = (if_cas), .got = v, .got_len = sizeof(v) - 1,     \
				       .got_number = (cas), .got_made = true,                      \
				       .got_stale = (what) == CALL_STALE                           \
	}
#define CAME_LATE(t, from, to, v, if_cas, cas, late)                                               \
	{                                                                                          \
		OF(t, from, to, CALL_LATE), VALUE(v), .number = (if_cas), .got = v,                \
						      .got_len = sizeof(v) - 1,                    \
						      .got_number = (cas), .got_stale = (late)     \
	}
#define BEGUN(t, from, to, at)                                                                     \
	{                                                                                          \
		OF(t, from, to, CALL_COUNT), .number = 1, .initial = (at), .got_number = (at),     \
					     .got_made = true                                      \
	}
#define EXTENDED(t, from, to, v, now, cas)                                                         \
	{                                                                                          \
		OF(t, from, to, CALL_EXTEND), VALUE(v),                                            \
			.flags = 9, .got = now, .got_len = sizeof(now) - 1, .got_number = (cas),   \
			.got_flags = sizeof(v) == sizeof(now) ? 9 : 0                              \
	}
#define TIME(from, to, now)                                                                        \
	{                                                                                          \
		.thread = 8, .invoked = (from), .returned = (to), .kind = CALL_TIME,               \
		.now_s = (now)                                                                     \
	}

#define CALLS_MAX 8u

static const struct history {
	const char *name;
	enum linear_verdict verdict;
	struct call calls[CALLS_MAX];
} histories[] = {
	{"what was set is read",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), GOT(1, 3, 4, "a", 1)}},
	{"a value nobody wrote",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), GOT(1, 3, 4, "b", 1)}},
	{"a read beside a write sees either",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), STORED(0, 3, 6, CALL_SET, "b"), GOT(1, 4, 5, "a", 1)}},
	{"stale read: the write had returned",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), STORED(0, 3, 4, CALL_SET, "b"), GOT(1, 5, 6, "a", 1)}},
	{"reads go back in time",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), STORED(0, 3, 10, CALL_SET, "b"), GOT(1, 4, 5, "b", 2),
	  GOT(2, 6, 7, "a", 1)}},
	{"two writes at once, in the order of the reads",
	 LINEAR_TRUE,
	 {STORED(0, 1, 10, CALL_SET, "a"), STORED(1, 2, 9, CALL_SET, "b"), GOT(2, 3, 4, "b", 1),
	  GOT(2, 5, 6, "a", 2)}},
	{"two readers who disagree about it",
	 LINEAR_LIE,
	 {STORED(0, 1, 10, CALL_SET, "a"), STORED(1, 2, 9, CALL_SET, "b"), GOT(2, 3, 4, "b", 1),
	  GOT(2, 5, 6, "a", 2), GOT(3, 7, 8, "b", 1)}},
	{"forgotten",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), MISSED(1, 3, 4), MISSED(0, 5, 6)}},
	{"forgotten and there again",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), MISSED(1, 3, 4), GOT(0, 5, 6, "a", 1)}},
	{"a miss beside a delete and a hit",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), MISSED(1, 3, 6), GOT(0, 4, 5, "a", 1)}},
	{"an add where something is",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), STORED(1, 3, 4, CALL_ADD, "b"), GOT(0, 5, 6, "a", 1)}},
	{"two adds at once both stored",
	 LINEAR_TRUE, /* the first is forgotten in between */
	 {STORED(0, 1, 4, CALL_ADD, "a"), STORED(1, 2, 3, CALL_ADD, "b"), GOT(0, 5, 6, "a", 2)}},
	{"an add refused by nothing",
	 LINEAR_LIE,
	 {MISSED(0, 1, 2), ANSWER(1, 3, 4, CALL_ADD, STORE_NOT_STORED)}},
	{"a replace of nothing", LINEAR_LIE, {MISSED(0, 1, 2), STORED(1, 3, 4, CALL_REPLACE, "a")}},
	{"an append to what was deleted",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), ANSWER(0, 3, 4, CALL_DELETE, STORE_OK),
	  STORED(1, 5, 6, CALL_APPEND, "b")}},
	{"two appends at once, either order",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), STORED(0, 3, 6, CALL_APPEND, "b"),
	  STORED(1, 4, 5, CALL_APPEND, "c"), GOT(0, 7, 8, "acb", 3)}},
	{"torn append: one of two is lost",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), STORED(0, 3, 6, CALL_APPEND, "b"),
	  STORED(1, 4, 5, CALL_APPEND, "c"), GOT(0, 7, 8, "ac", 2)}},
	{"torn append: in the wrong place",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), STORED(0, 3, 4, CALL_PREPEND, "b"),
	  GOT(0, 7, 8, "ab", 2)}},
	{"lost update: two counted to the same number",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "7"), COUNTED(0, 3, 6, CALL_INCR, 1, 8),
	  COUNTED(1, 4, 5, CALL_INCR, 1, 8)}},
	{"two counted on",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "7"), COUNTED(0, 3, 6, CALL_INCR, 1, 9),
	  COUNTED(1, 4, 5, CALL_INCR, 1, 8), GOT(0, 7, 8, "9", 3)}},
	{"a count down keeps its width",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "10"), COUNTED(0, 3, 4, CALL_DECR, 3, 7),
	  GOT(0, 7, 8, "7 ", 2)}},
	{"cas stores what nobody changed",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), GOT(0, 3, 4, "a", 4), COMPARED(0, 5, 6, "b", 4, STORE_OK),
	  GOT(1, 7, 8, "b", 5)}},
	{"cas that succeeded twice",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), GOT(0, 3, 4, "a", 4), COMPARED(0, 5, 8, "b", 4, STORE_OK),
	  COMPARED(1, 6, 7, "c", 4, STORE_OK)}},
	{"cas over a version it had not seen",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), GOT(0, 3, 4, "a", 4), STORED(1, 5, 6, CALL_SET, "x"),
	  COMPARED(0, 7, 8, "b", 4, STORE_OK)}},
	{"cas refused though nobody changed it",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), GOT(0, 3, 4, "a", 4),
	  COMPARED(0, 5, 6, "b", 4, STORE_EXISTS)}},
	{"a cas number comes back after a delete",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), GOT(0, 3, 4, "a", 4),
	  ANSWER(0, 5, 6, CALL_DELETE, STORE_OK), STORED(0, 7, 8, CALL_SET, "b"),
	  GOT(0, 9, 10, "b", 4)}},
	{"gone with the flush",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), FLUSHED(1, 3, 6, 0), GOT(0, 4, 5, "a", 1),
	  MISSED(0, 7, 8)}},
	{"outlived the flush",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), FLUSHED(1, 3, 4, 0), GOT(0, 5, 6, "a", 1)}},
	{"made from what a flush took",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), FLUSHED(1, 3, 6, 0), STORED(0, 4, 5, CALL_APPEND, "b"),
	  GOT(0, 7, 8, "ab", 2)}},
	{"a flush that waits",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), FLUSHED(1, 3, 4, 6), GOT(0, 5, 6, "a", 1), TIME(7, 10, 6),
	  GOT(0, 8, 9, "a", 1), MISSED(0, 11, 12)}},
	{"outlived the flush that waited",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), FLUSHED(1, 3, 4, 6), TIME(7, 10, 6),
	  GOT(0, 11, 12, "a", 1)}},
	{"expired", LINEAR_TRUE, {SET_UNTIL(0, 1, 2, "a", 5), MISSED(1, 3, 4)}},
	{"outlived its expiry", LINEAR_LIE, {SET_UNTIL(0, 1, 2, "a", 5), GOT(1, 3, 4, "a", 1)}},
	{"outlived its expiry, seen in the nick of time",
	 LINEAR_LIE,
	 {SET_UNTIL(0, 1, 2, "a", 5),
	  {OF(1, 3, 4, CALL_GET), .got = "a", .got_len = 1, .got_number = 1}}},
	{"expired to one, not yet to another whose clock is behind",
	 LINEAR_TRUE,
	 {SET_UNTIL(0, 1, 2, "a", 5),
	  MISSED(1, 3, 4),
	  {.thread = 2,
	   .invoked = 5,
	   .returned = 6,
	   .kind = CALL_GET,
	   .now_s = 4,
	   .got = "a",
	   .got_len = 1,
	   .got_number = 1}}},
	{"put in front",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), STORED(0, 3, 4, CALL_PREPEND, "b"),
	  GOT(0, 5, 6, "ba", 2)}},
	{"one of two readers wins",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), REACHED(0, 3, 6, "a", 4, false, true),
	  REACHED(1, 4, 5, "a", 4, false, false)}},
	{"two readers win",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), REACHED(0, 3, 6, "a", 4, false, true),
	  REACHED(1, 4, 5, "a", 4, false, true)}},
	{"two readers win, with a new value in between",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), REACHED(0, 3, 6, "a", 4, false, true),
	  STORED(1, 4, 5, CALL_SET, "b"), REACHED(1, 7, 8, "b", 5, false, true)}},
	{"two readers win, with a count in between",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "7"), REACHED(0, 3, 4, "7", 4, false, true),
	  COUNTED(0, 5, 6, CALL_INCR, 1, 8), REACHED(1, 7, 8, "8", 5, false, true)}},
	{"stale again, and won again",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), KEPT(0, 3, 4, CALL_STALE, 0, "a", 4),
	  REACHED(0, 5, 6, "a", 4, true, true), KEPT(0, 7, 8, CALL_STALE, 4, "a", 5),
	  REACHED(1, 9, 10, "a", 5, true, true)}},
	{"stale, and nobody said so",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), REACHED(0, 5, 6, "a", 4, true, true)}},
	{"not stale, though it was said",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), KEPT(0, 3, 4, CALL_STALE, 0, "a", 4),
	  REACHED(0, 5, 6, "a", 4, false, true)}},
	{"marked stale over a version it had not seen",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), GOT(0, 3, 4, "a", 4),
	  KEPT(0, 5, 6, CALL_STALE, 3, "a", 5)}},
	{"the value is gone, the item stays",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), GOT(0, 3, 4, "a", 4), KEPT(0, 5, 6, CALL_EMPTY, 4, "", 5),
	  GOT(0, 7, 8, "", 5)}},
	{"the value is gone and comes back",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), KEPT(0, 5, 6, CALL_EMPTY, 0, "", 5),
	  GOT(0, 7, 8, "a", 5)}},
	{"late: stored as stale, the token stays",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"), REACHED(0, 3, 4, "a", 4, false, true),
	  CAME_LATE(0, 5, 6, "b", 3, 5, true), REACHED(1, 7, 8, "b", 5, true, false)}},
	{"late: the token is won twice",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), REACHED(0, 3, 4, "a", 4, false, true),
	  CAME_LATE(0, 5, 6, "b", 3, 5, true), REACHED(1, 7, 8, "b", 5, true, true)}},
	{"late: stored as fresh",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), GOT(0, 3, 4, "a", 4),
	  CAME_LATE(0, 5, 6, "b", 3, 5, false)}},
	{"in time: stored as stale",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), GOT(0, 3, 4, "a", 4),
	  CAME_LATE(0, 5, 6, "b", 4, 5, true)}},
	{"deleted by whom had seen it",
	 LINEAR_TRUE,
	 {STORED(0, 1, 2, CALL_SET, "a"),
	  GOT(0, 3, 4, "a", 4),
	  {OF(0, 5, 6, CALL_DELETE_CAS), .number = 4},
	  MISSED(1, 7, 8)}},
	{"deleted over a version it had not seen",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"),
	  GOT(0, 3, 4, "a", 4),
	  {OF(0, 5, 6, CALL_DELETE_CAS), .number = 3}}},
	{"a number begun and counted on",
	 LINEAR_TRUE,
	 {BEGUN(0, 1, 4, 5), COUNTED(1, 2, 3, CALL_COUNT, 1, 6), GOT(0, 5, 6, "6", 2)}},
	{"a number begun at another's beginning",
	 LINEAR_LIE,
	 {BEGUN(0, 1, 2, 5), COUNTED(1, 3, 4, CALL_COUNT, 1, 5)}},
	{"a value begun and extended",
	 LINEAR_TRUE,
	 {EXTENDED(0, 1, 2, "a", "a", 3),
	  {OF(1, 3, 4, CALL_EXTEND), VALUE("b"), .flags = 8, .got = "ab", .got_len = 2,
	   .got_number = 4, .got_flags = 9}}},
	{"a value extended by what it was begun with",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "a"), EXTENDED(1, 3, 4, "b", "ba", 4)}},
	{"refused for want of memory, and done all the same",
	 LINEAR_LIE,
	 {STORED(0, 1, 2, CALL_SET, "7"), ANSWER(1, 3, 4, CALL_INCR, STORE_NO_MEMORY),
	  COUNTED(0, 5, 6, CALL_INCR, 1, 9)}},
};

static uint32_t
count_calls(const struct call *calls)
{
	uint32_t n = 0;

	while (n < CALLS_MAX && calls[n].returned != 0)
		n++;
	return n;
}

TEST(every_history_written_by_hand_is_judged_right)
{
	struct linear *l = linear_new();

	for (uint32_t i = 0; i < sizeof histories / sizeof histories[0]; i++) {
		const struct call *calls[CALLS_MAX], *liar;
		const uint32_t count = count_calls(histories[i].calls);

		for (uint32_t c = 0; c < count; c++)
			calls[c] = &histories[i].calls[c];
		linear_begin_empty(l);
		if (linear_walk(l, calls, count, &liar) != histories[i].verdict) {
			print_message("%s\n", histories[i].name);
			fail();
		}
	}
	check_eq(linear_given_up(l), 0);
	linear_free(l);
}

/* ---- histories made by the model ---- */

#define MADE_CALLS 400u
#define MADE_RUNS  60u
#define WITNESSES  4u

struct maker {
	uint64_t random;
	uint64_t tick;
	struct key_state state;
	struct call calls[MADE_CALLS];
};

static uint64_t
roll(struct maker *m, uint64_t sides)
{
	m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
	return (m->random >> 33) % sides;
}

/* Returns a get with the key's present state. */
static struct call
look(const struct maker *m)
{
	struct call c = {.kind = CALL_GET, .now_s = 5, .result = STORE_NOT_FOUND};

	if (m->state.what != KEY_PRESENT)
		return c;
	c.result = STORE_OK;
	c.got_len = m->state.len;
	memcpy(c.got, m->state.value, m->state.len);
	c.got_number = m->state.cas;
	c.got_expiry = true;
	return c;
}

/* Makes a call that acts now, invoked before and returned after. */
static void
make_call(struct maker *m, uint32_t n)
{
	struct call c = look(m);
	const bool there = m->state.what == KEY_PRESENT;

	switch (roll(m, 5)) {
	case 0:
		c = (struct call){.kind = CALL_SET, .now_s = 5};
		c.len = (uint32_t)snprintf(c.bytes, sizeof c.bytes, "v%u", n);
		break;
	case 1:
		c = (struct call){.kind = CALL_DELETE, .now_s = 5};
		c.result = there ? STORE_OK : STORE_NOT_FOUND;
		break;
	case 2:
		if (there && m->state.len > HISTORY_VALUE_MAX / 2)
			break;
		c = (struct call){.kind = CALL_APPEND, .now_s = 5, .bytes = "+", .len = 1};
		c.result = there ? STORE_OK : STORE_NOT_STORED;
		break;
	default:
		break;
	}
	check(key_step(&m->state, &c));
	/* The cas of a model's version is the least possible. */
	c.thread = n % WITNESSES;
	c.invoked = m->tick + 1 + 100 * n - (n < WITNESSES ? 0 : roll(m, 300));
	c.returned = m->tick + 1 + 100 * n + roll(m, 50) + 20;
	m->calls[n] = c;
	/* A thread has one call at a time. */
	if (n >= WITNESSES && c.invoked <= m->calls[n - WITNESSES].returned)
		m->calls[n].invoked = m->calls[n - WITNESSES].returned + 1;
}

static void
make(struct maker *m)
{
	m->tick = 0;
	m->state = (struct key_state){.what = KEY_ABSENT};
	for (uint32_t n = 0; n < MADE_CALLS; n++)
		make_call(m, n);
}

static enum linear_verdict
judge(struct linear *l, const struct maker *m, const struct call **calls, const struct call **liar)
{
	for (uint32_t n = 0; n < MADE_CALLS; n++)
		calls[n] = &m->calls[n];
	linear_begin_empty(l);
	return linear_walk(l, calls, MADE_CALLS, liar);
}

TEST(a_models_history_is_accepted_and_one_changed_answer_is_found)
{
	struct linear *l = linear_new();
	struct maker *m = test_calloc(1, sizeof *m);
	const struct call *calls[MADE_CALLS], *liar;

	m->random = 3;
	for (uint32_t run = 0; run < MADE_RUNS; run++) {
		make(m);
		check_eq(judge(l, m, calls, &liar), LINEAR_TRUE);

		uint32_t n = MADE_CALLS / 2;

		while (m->calls[n].kind != CALL_GET || m->calls[n].result != STORE_OK)
			n++;
		m->calls[n].got[0] = '?';
		check_eq(judge(l, m, calls, &liar), LINEAR_LIE);

		const uint32_t count = linear_shorten(calls, MADE_CALLS, liar);

		bool found = false;

		for (uint32_t i = 0; i < count; i++)
			found |= calls[i] == &m->calls[n];
		check(found);
		/* The writes of its time, one of which might have been read, are left, too. */
		check(count <= 3 * WITNESSES);
	}
	test_free(m);
	linear_free(l);
}

TEST(more_than_can_be_kept_in_mind_is_let_pass_and_counted)
{
	struct linear *l = linear_new();
	struct call made[8 * 8];
	const struct call *calls[8 * 8], *liar;

	/* Eight appends are under way at a time, with no read: every order of
	 * every eight is possible. */
	for (uint32_t i = 0; i < 64; i++) {
		made[i] = (struct call){
			OF(i % 8, 1 + i / 8 * 100 + i % 8, 50 + i / 8 * 100 + i % 8, CALL_APPEND),
			.len = 1};
		made[i].bytes[0] = (char)('a' + i % 8);
		calls[i] = &made[i];
	}
	made[0].kind = CALL_SET;
	linear_begin_empty(l);
	check_eq(linear_walk(l, calls, 64, &liar), LINEAR_TRUE);
	check(linear_given_up(l) != 0);
	linear_free(l);
}
