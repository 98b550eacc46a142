/*
 * Begun values whose peers send nothing more, while others wait. Goal: when no place is left, the
 * slowest value's connection is reset, and never one whose peer cannot send. Method: a fake
 * stack; values that fill the quota, the place beside it, and the queue; time that passes in
 * steps.
 */
#include "support/test.h"
#include "one_rig.h"
#include "serve/serve_shared.h"
#include "store/introspect.h"

#include <stdio.h>

#define STEP_NS      1000000u
#define BURST        8192u /* enough for a value to be proven */
#define MEMORY_BYTES (8u << 20)
#define LEN          1048000u
#define FIFTH        (LEN / 5 * 2) /* of the quota */
#define SHORT        60000u
#define NEARLY       990000u /* less than LEN by not quite SHORT */

static uint32_t number;

/* Begins a set of len bytes, of which `here` arrive at once. Returns its connection. */
static struct conn *
begin(uint32_t len, uint32_t here)
{
	static char body[16384];
	struct conn *c = rig_open(rig);
	char line[64];

	memset(body, 'v', sizeof body);
	snprintf(line, sizeof line, "set k%u 0 0 %u\r\n", number++, len);
	rig_receive_text(rig, c, line);
	for (uint32_t at = 0; at < here; at += 1024)
		rig_receive(rig, c, body, 1024);
	rig_turns(rig, 3);
	return c;
}

/* Begins a set whose peer can send no more. */
static struct conn *
begin_shut(uint32_t len)
{
	struct conn *c = begin(len, BURST);

	rig_starve(c, false, true);
	return c;
}

static void
pass(uint32_t ms)
{
	for (uint32_t i = 0; i < ms; i++) {
		rig->clock.now_ns += STEP_NS;
		rig_turn(rig);
	}
}

enum excuse { EXCUSE_NONE, EXCUSE_DROPPED, EXCUSE_DROPPED_ONCE, EXCUSE_WINDOW };

/* Two values take all of the quota, and four more wait. Beside the quota
 * there is room for one. */
static void
who_is_reset(enum excuse excuse, bool others_wait, bool second_is_reset)
{
	struct conn *first, *second;

	check(store_limit_mt(rig->store, MEMORY_BYTES));
	rig_turns(rig, 100);
	check(store_begun_max(rig->core) / 2 - LEN < 1000);
	first = begin(LEN, BURST);
	second = begin(LEN, BURST);
	rig_starve(second, excuse == EXCUSE_DROPPED || excuse == EXCUSE_DROPPED_ONCE,
		   excuse == EXCUSE_WINDOW);
	for (uint32_t i = 0; i < 4 && others_wait; i++)
		begin(LEN, BURST);
	pass(5);
	if (excuse == EXCUSE_DROPPED_ONCE)
		rig_starve(second, false, false);
	pass(900);
	check(rig_aborted(first) == others_wait);
	check(rig_aborted(second) == second_is_reset);
}

TEST(who_sends_nothing_is_reset_while_others_wait)
{
	who_is_reset(EXCUSE_NONE, true, true);
}

TEST(nobody_is_reset_while_nobody_waits)
{
	who_is_reset(EXCUSE_NONE, false, false);
}

TEST(whose_bytes_are_dropped_is_not_reset)
{
	who_is_reset(EXCUSE_DROPPED, true, false);
}

TEST(whose_bytes_were_dropped_is_not_reset_before_more_have_come)
{
	who_is_reset(EXCUSE_DROPPED_ONCE, true, false);
}

TEST(whose_window_is_closed_is_not_reset)
{
	who_is_reset(EXCUSE_WINDOW, true, false);
}

static void
send_more(struct conn *c, uint32_t bytes)
{
	static char body[1024];

	memset(body, 'v', sizeof body);
	for (uint32_t at = 0; at < bytes; at += sizeof body) {
		rig_receive(rig, c, body, sizeof body);
		rig_turn(rig);
	}
}

static uint64_t
used(enum fill_quota_part account)
{
	return atomic_load(&rig->shared->quota_used[account]);
}

/* Five values take all of the quota, and there is room beside it for two of them. Their peers
 * cannot send. */
static void
fill_quota(struct conn *c[5])
{
	check(store_limit_mt(rig->store, MEMORY_BYTES));
	rig_turns(rig, 100);
	for (uint32_t i = 0; i < 5; i++)
		c[i] = begin_shut(FIFTH);
	check_eq(used(FILL_QUOTA_PROVEN), 5 * (FIFTH + 2));
}

/* Two idle values take the room beside the quota. When a third has to be demoted, the slower of the
 * two is reset, and no other. */
static void
the_slower_is_reset(uint32_t first_sends, uint32_t second_sends, uint32_t second_shut_ms)
{
	const bool first_is_slower = second_shut_ms > 0 || first_sends < second_sends;
	struct conn *c[5];

	fill_quota(c);
	begin(LEN, BURST); /* must wait */
	send_more(c[0], first_sends);
	send_more(c[1], second_sends);
	send_more(c[2], 102400);
	rig_starve(c[0], false, false);
	pass(second_shut_ms);
	rig_starve(c[1], false, false);
	pass(1000 - second_shut_ms);
	check(!rig_aborted(c[0]) && !rig_aborted(c[1]));
	rig_starve(c[2], false, false);
	pass(500);
	check(rig_aborted(c[0]) == first_is_slower && rig_aborted(c[1]) == !first_is_slower);
	for (uint32_t i = 2; i < 5; i++)
		check(!rig_aborted(c[i]));
}

TEST(the_first_one_is_reset_if_it_sent_less)
{
	the_slower_is_reset(0, 20480, 0);
}

TEST(the_second_one_is_reset_if_it_sent_less)
{
	the_slower_is_reset(20480, 0, 0);
}

/* The first peer sends 31 KB/s. The second sends less, but 38 KB/s in the time that it has. */
TEST(slower_is_who_sent_less_in_the_time_it_had)
{
	the_slower_is_reset(40960, 30720, 500);
}

/* Each sends 100 KB, and then nothing. 10 ms and two round trips do not count, so they are slower
 * than 1 MB/s after 0.12 s, and slower than 100 KB/s after 1.04 s. */
TEST(who_sends_a_megabyte_a_second_is_not_demoted_nor_a_tenth_of_it_reset)
{
	struct conn *c[5];

	fill_quota(c);
	begin(LEN, BURST); /* must wait */
	for (uint32_t i = 0; i < 3; i++) {
		send_more(c[i], 102400);
		rig_starve(c[i], false, false);
	}
	pass(115);
	check_eq(used(FILL_QUOTA_DEMOTED), 0);
	pass(15);
	check_eq(used(FILL_QUOTA_DEMOTED), 2 * (FIFTH + 2));
	pass(890);
	check(!rig_aborted(c[0]) && !rig_aborted(c[1]) && !rig_aborted(c[2]));
	pass(200);
	check(rig_aborted(c[0]) || rig_aborted(c[1]) || rig_aborted(c[2]));
}

/* The bytes that prove a value do not count: it is demoted after 10 ms and two round trips. */
TEST(what_came_at_once_is_not_counted)
{
	struct conn *c[5];

	fill_quota(c);
	begin(LEN, BURST); /* must wait */
	rig_starve(c[0], false, false);
	pass(15);
	check_eq(used(FILL_QUOTA_DEMOTED), 0);
	pass(10);
	check_eq(used(FILL_QUOTA_DEMOTED), FIFTH + 2);
}

/* A late turn is the core's own pause: it counts against no value. */
TEST(a_pause_of_the_core_is_nobodys)
{
	struct conn *c[5];

	fill_quota(c);
	begin(LEN, BURST); /* must wait */
	rig_starve(c[0], false, false);
	rig->clock.now_ns += 1000 * STEP_NS;
	pass(5);
	check_eq(used(FILL_QUOTA_DEMOTED), 0);
}

TEST(slow_values_are_not_demoted)
{
	struct conn *c[5];

	check(store_limit_mt(rig->store, MEMORY_BYTES));
	rig_turns(rig, 100);
	c[0] = begin(LEN, 1024);
	c[1] = begin(LEN, BURST);
	begin(LEN, BURST); /* must wait */
	pass(600);
	check_eq(used(FILL_QUOTA_SLOW), LEN + 2);
	check_eq(used(FILL_QUOTA_DEMOTED), LEN + 2);
	check(!rig_aborted(c[0]) && !rig_aborted(c[1]));
}

/* Short values wait 20 ms behind a short or a long one; the next short one then begins at once.
 * Long ones do not. */
static void
short_values_wait_20_ms(bool behind_a_long_one)
{
	check(store_limit_mt(rig->store, MEMORY_BYTES));
	rig_turns(rig, 100);
	begin_shut(LEN);
	begin_shut(LEN);
	begin_shut(behind_a_long_one ? LEN : SHORT);
	pass(15);
	if (behind_a_long_one)
		begin_shut(SHORT);
	check_eq(used(FILL_QUOTA_SHORT), 0);
	pass(10);
	check_eq(used(FILL_QUOTA_SHORT), SHORT + 2);
	pass(50);
	begin_shut(SHORT);
	check_eq(used(FILL_QUOTA_SHORT), 2 * (SHORT + 2));
	check_eq(used(FILL_QUOTA_PROVEN), 2 * (LEN + 2));
}

TEST(short_values_begin_beside_the_quota_after_20_ms)
{
	short_values_wait_20_ms(false);
}

TEST(short_values_behind_a_long_one_begin_beside_the_quota_after_20_ms)
{
	short_values_wait_20_ms(true);
}

TEST(while_only_a_slow_one_waits_nobody_is_demoted_and_nothing_opens)
{
	check(store_limit_mt(rig->store, MEMORY_BYTES));
	rig_turns(rig, 100);
	begin(LEN, BURST);
	begin(LEN, BURST);
	begin(LEN, 1024); /* must wait */
	pass(600);
	begin(SHORT, BURST);
	check_eq(used(FILL_QUOTA_DEMOTED), 0);
	check_eq(used(FILL_QUOTA_SHORT), 0);
}

/* The room beside the quota has a bound: other cores leave room for one value and for the four that
 * it leaves to shorter ones. The second short one still waits, and an idle value is demoted for it,
 * too. */
TEST(a_short_value_that_finds_no_room_beside_the_quota_waits_for_idle_ones)
{
	struct conn *first;

	check(store_limit_mt(rig->store, MEMORY_BYTES));
	rig_turns(rig, 100);
	atomic_fetch_add(&rig->shared->quota_used[FILL_QUOTA_SHORT], LEN - 5 * (SHORT + 2));
	first = begin_shut(LEN);
	begin_shut(LEN);
	for (uint32_t i = 0; i < 2; i++)
		begin_shut(SHORT);
	pass(25);
	check_eq(used(FILL_QUOTA_SHORT), LEN - 4 * (SHORT + 2));
	rig_starve(first, false, false);
	pass(15);
	check_eq(used(FILL_QUOTA_SHORT), LEN - 4 * (SHORT + 2));
	check_eq(used(FILL_QUOTA_DEMOTED), 0);
	pass(10);
	check_eq(used(FILL_QUOTA_DEMOTED), LEN + 2);
}

/* Less than BURST of the value has arrived. The rest found no frames, and its peer sends it again
 * after a timeout. */
TEST(a_value_is_proven_by_the_retransmission_of_what_was_dropped)
{
	struct conn *c;

	check(store_limit_mt(rig->store, MEMORY_BYTES));
	rig_turns(rig, 100);
	for (uint32_t i = 0; i < 3; i++)
		begin_shut(LEN); /* the last one must wait */
	c = begin(SHORT, 1024);
	rig_starve(c, true, false);
	pass(200);
	check_eq(used(FILL_QUOTA_SHORT), 0);
	rig_starve(c, false, false);
	send_more(c, BURST);
	pass(5);
	check_eq(used(FILL_QUOTA_SHORT), SHORT + 2);
}

/* While a value waits that does not fit, a later one that fits, proven or slow, waits behind it if
 * it is long, and does not if it is short and longer than the later one. */
TEST(what_comes_later_waits_behind_what_needs_more)
{
	static const struct {
		uint32_t first, here;
		bool begins;
	} row[] = {{0, BURST, true},    {0, 1024, true},     {SHORT, BURST, true},
		   {SHORT, 1024, true}, {LEN, BURST, false}, {LEN, 1024, false}};

	for (uint32_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		const uint64_t before = LEN + 2 + NEARLY + 2;

		check(store_limit_mt(rig->store, MEMORY_BYTES));
		rig_turns(rig, 100);
		begin(LEN, BURST);
		begin(NEARLY, BURST);
		if (row[i].first != 0)
			begin(row[i].first, BURST);
		begin(20000, row[i].here);
		check_eq(used(FILL_QUOTA_SLOW) + used(FILL_QUOTA_PROVEN) + used(FILL_QUOTA_SHORT),
			 before + (row[i].begins ? 20002 : 0));
		stop();
		start();
	}
}

/* A short value waits for room, and a longer slow one comes later. Then a small value is whole, and
 * its room would do for either. */
TEST(a_slow_value_waits_for_an_earlier_short_one)
{
	struct conn *small;

	check(store_limit_mt(rig->store, MEMORY_BYTES));
	rig_turns(rig, 100);
	begin(LEN, BURST);
	begin(NEARLY, BURST);
	small = begin(9 * 1024 - 2, BURST);
	begin(50000, BURST);
	begin(57000, 1024);
	check_eq(used(FILL_QUOTA_SLOW), 0);
	send_more(small, 1024);
	pass(5);
	check_eq(used(FILL_QUOTA_PROVEN), LEN + 2 + NEARLY + 2);
	check_eq(used(FILL_QUOTA_SLOW), 0);
}

/* A demoted value is not reset while its window is closed. */
TEST(who_cannot_send_is_not_reset_for_others)
{
	struct conn *c[5];

	fill_quota(c);
	begin(LEN, BURST); /* must wait */
	send_more(c[2], 102400);
	for (uint32_t ms = 0; ms <= 1000; ms += 1000) {
		rig_starve(c[0], false, ms > 0);
		rig_starve(c[1], false, ms > 0);
		rig_starve(c[2], false, ms == 0);
		pass(1000 - ms / 2);
	}
	check_eq(used(FILL_QUOTA_DEMOTED), 2 * (FIFTH + 2));
	for (uint32_t i = 0; i < 5; i++)
		check(!rig_aborted(c[i]));
}
