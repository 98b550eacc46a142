/*
 * The gap of service that a cache may keep. Goal: a cache continues after a short gap and no
 * other; its clock continues without a step, even if the wall clock is set; a beat is whole, or
 * there is none. Method: tables of heartbeats and of the time now; fake clocks; a writer that
 * ends within a beat.
 */
#include "memfile/memory_page.h"
#include "support/test.h"

#define S  1000000000ull
#define MS 1000000ull
/* The time of the table's beat is an hour after the boot. */
#define BOOT  (3600 * S)
#define WALL  (1700000000 * S)
#define STORE (1000 * S)
#define HERE  "5f1e9c52-0a6f-4b0e-9a59-000000000001"
#define THERE "5f1e9c52-0a6f-4b0e-9a59-000000000002"

static const struct {
	int64_t boot_s, wall_s; /* since the beat */
	uint64_t unserved_ms;   /* at the beat */
	uint32_t keep_for_s;
	const char *boot_id;
	enum gap_verdict verdict;
	uint64_t away_s;
	const char *words;
} rows[] = {
	{1, 1, 0, 60, HERE, GAP_KEEP, 1, ""},
	{0, 0, 0, 1, HERE, GAP_KEEP, 0, ""},
	{60, 60, 0, 60, HERE, GAP_KEEP, 60, ""},
	{61, 61, 0, 60, HERE, GAP_TOO_LONG, 61, "not served for 61.0 s, memory.keep_for is 60"},
	/* The larger of the two clocks' gaps counts, if they differ by less than a step. */
	{59, 61, 0, 60, HERE, GAP_TOO_LONG, 61, "61.0 s"},
	{61, 59, 0, 60, HERE, GAP_TOO_LONG, 61, "61.0 s"},
	{58, 60, 0, 60, HERE, GAP_KEEP, 60, ""},
	/* A core was stuck while the heartbeat continued. */
	{41, 41, 20000, 60, HERE, GAP_TOO_LONG, 61, "61.0 s"},
	{40, 40, 20000, 60, HERE, GAP_KEEP, 60, ""},
	/* The settings always and never. */
	{86400, 86400, 0, KEEP_FOR_ALWAYS, HERE, GAP_KEEP, 86400, ""},
	{0, 0, 0, KEEP_FOR_NEVER, HERE, GAP_NEVER, 0, "memory.keep_for is never"},
	/* The wall clock was set: even "always" does not keep the cache. */
	{10, -3590, 0, 60, HERE, GAP_STEPPED, 0, "wall clock moved by -3600 s while it was down"},
	{10, 3610, 0, KEEP_FOR_ALWAYS, HERE, GAP_STEPPED, 0, "wall clock moved by +3600 s"},
	{10, 13, 0, 60, HERE, GAP_STEPPED, 0, "+3 s"},
	{10, 7, 0, 60, HERE, GAP_STEPPED, 0, "-3 s"},
	{10, 8, 0, 60, HERE, GAP_KEEP, 10, ""},
	{1, -1, 0, 60, HERE, GAP_KEEP, 1, ""},
	/* The beat is later than now: another machine's clock, or no clock at all. */
	{-1, -1, 0, KEEP_FOR_ALWAYS, HERE, GAP_BACKWARD, 0, "heartbeat is 1 s in the future"},
	{10, 10, 0, KEEP_FOR_ALWAYS, THERE, GAP_REBOOTED, 0, "started since"},
};

static struct gap_now
now_of(int64_t boot_s, int64_t wall_s)
{
	struct gap_now now = {.boot_id = HERE};

	now.boot_ns = BOOT + (uint64_t)boot_s * S;
	now.wall_ns = WALL + (uint64_t)wall_s * S;
	return now;
}

TEST(only_a_short_gap_is_kept)
{
	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct gap_now now = now_of(rows[i].boot_s, rows[i].wall_s);
		struct heartbeat h = {0};
		struct gap gap;

		heartbeat_write(&h,
				&(struct beat){BOOT, WALL, STORE, BOOT - rows[i].unserved_ms * MS});
		gap_judge(&gap, &h, rows[i].boot_id, &now, rows[i].keep_for_s);
		if (gap.verdict != rows[i].verdict || strstr(gap.words, rows[i].words) == NULL ||
		    (gap.words[0] == '\0') != (gap.verdict == GAP_KEEP))
			fail_msg("row %u: %u, %s", i, gap.verdict, gap.words);
		check_eq(gap.away_ns / S, rows[i].away_s);
		if (gap.verdict == GAP_KEEP)
			check_eq(gap.store_ns, STORE + (uint64_t)rows[i].boot_s * S);
	}
}

/* A repair takes time in which no request is served. */
TEST(a_gap_that_was_kept_grows_while_it_is_repaired)
{
	static const struct {
		uint64_t later_ms;
		uint32_t keep_for_s;
		enum gap_verdict verdict;
		const char *words;
	} later[] = {
		{0, 60, GAP_KEEP, ""},
		{50000, 60, GAP_KEEP, ""},
		{50001, 60, GAP_TOO_LONG, "not served for 60.0 s, memory.keep_for is 60"},
		{99000000, KEEP_FOR_ALWAYS, GAP_KEEP, ""},
	};
	const struct gap_now now = now_of(10, 10);
	struct heartbeat h = {0};

	heartbeat_write(&h, &(struct beat){BOOT, WALL, STORE, BOOT});
	for (uint32_t i = 0; i < sizeof later / sizeof later[0]; i++) {
		struct gap gap;

		gap_judge(&gap, &h, HERE, &now, 60);
		gap_judge_later(&gap, later[i].later_ms * MS, later[i].keep_for_s);
		check_eq(gap.verdict, later[i].verdict);
		check_eq(gap.away_ns, 10 * S + later[i].later_ms * MS);
		check(strstr(gap.words, later[i].words) != NULL);
	}
}

TEST(a_file_that_others_changed_is_known)
{
	static const struct {
		uint64_t found_ns, beat_ns, changed_ns;
		bool is_changed;
	} files[] = {
		{WALL, 0, WALL, false},
		{WALL, 0, WALL + CHANGED_BY_OTHERS_NS, false},
		{WALL, 0, WALL + CHANGED_BY_OTHERS_NS + 1, true},
		{WALL, 0, WALL - CHANGED_BY_OTHERS_NS, false},
		{WALL, 0, WALL - CHANGED_BY_OTHERS_NS - 1, true}, /* the clock was set back */
		{0, 0, WALL, false},                              /* a layout without the field */
		{WALL, 0, 0, false},                              /* on hugetlbfs */
		/* A minute without a store, then one, and a kill before the next check. */
		{WALL, WALL + 60 * S, WALL + 60 * S + 1, false},
		{WALL, WALL + 60 * S, WALL + 30 * S, false},
		{WALL, WALL + 60 * S, WALL + 60 * S + CHANGED_BY_OTHERS_NS + 1, true},
		{WALL, WALL - 60 * S, WALL, false}, /* a start that ended before its first beat */
	};

	for (uint32_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		struct memory_page p = {.changed_ns = files[i].found_ns};

		if (files[i].beat_ns != 0)
			heartbeat_write(&p.heartbeat,
					&(struct beat){BOOT, files[i].beat_ns, STORE, BOOT});
		check_eq(memory_page_is_changed(&p, files[i].changed_ns), files[i].is_changed);
	}
}

TEST(what_no_process_wrote_is_not_kept)
{
	static const struct beat beats[] = {
		{BOOT, WALL, GAP_CLOCK_END_NS, BOOT}, {BOOT, WALL, UINT64_MAX, BOOT},
		{BOOT, WALL, STORE, BOOT + 1},        {UINT64_MAX, WALL, STORE, BOOT},
		{BOOT, UINT64_MAX, STORE, BOOT},
	};
	const struct gap_now now = now_of(1, 1);
	struct heartbeat h = {0};
	struct gap gap;

	gap_judge(&gap, &h, HERE, &now, KEEP_FOR_ALWAYS);
	check_eq(gap.verdict, GAP_UNSERVED);
	for (uint32_t i = 0; i < sizeof beats / sizeof beats[0]; i++) {
		memset(&h, 0, sizeof h);
		heartbeat_write(&h, &beats[i]);
		gap_judge(&gap, &h, HERE, &now, KEEP_FOR_ALWAYS);
		check_eq(gap.verdict, GAP_DAMAGED);
	}
}

/* A beat that was cut after n words is not seen: the one before it is. */
TEST(a_cut_beat_is_not_seen)
{
	const struct beat beats[] = {
		{1, 11, 21, 1}, {2, 12, 22, 2}, {3, 13, 23, 3}, {4, 14, 24, 4}};
	struct heartbeat h = {0};
	struct beat last;

	check(!heartbeat_last(&h, &last));
	for (uint32_t i = 0; i < sizeof beats / sizeof beats[0]; i++) {
		struct heartbeat before = h, cut;

		heartbeat_write(&h, &beats[i]);
		check(heartbeat_last(&h, &last));
		check_eq(memcmp(&last, &beats[i], sizeof last), 0);
		for (uint32_t words = 0; words < sizeof(struct beat) / 8; words++) {
			cut = before;
			for (uint32_t slot = 0; slot < 2; slot++)
				memcpy(&cut.slots[slot].beat, &h.slots[slot].beat, words * 8);
			check_eq(heartbeat_last(&cut, &last), i != 0);
			if (i != 0)
				check_eq(memcmp(&last, &beats[i - 1], sizeof last), 0);
		}
	}
}

/* Clocks of a thread that loses its CPU: each reading takes some time. */
struct fake {
	uint64_t boot_ns;
	uint32_t readings, slow_until; /* the first slow_until readings take 5 s */
};

static uint64_t
fake_boot(void *arg)
{
	struct fake *f = arg;

	return f->boot_ns;
}

static uint64_t
fake_wall(void *arg)
{
	struct fake *f = arg;

	return WALL + f->boot_ns;
}

static uint64_t
fake_store(void *arg)
{
	struct fake *f = arg;
	const uint64_t store = STORE + f->boot_ns;

	f->boot_ns += f->readings++ < f->slow_until ? 5 * S : MS / 2;
	return store;
}

TEST(torn_clocks_are_read_again_eight_times_at_most)
{
	for (uint32_t slow = 0; slow <= BEAT_TRIES_MAX + 1; slow++) {
		struct fake f = {.boot_ns = BOOT, .slow_until = slow};
		struct beat b = {.served_boot_ns = 7};
		const struct clocks clocks = {fake_boot, fake_wall, fake_store, &f};

		check_eq(beat_read_clocks(&b, &clocks), slow < BEAT_TRIES_MAX);
		check_eq(f.readings, slow < BEAT_TRIES_MAX ? slow + 1 : BEAT_TRIES_MAX);
		check_eq(b.store_ns - STORE, b.boot_ns);
		check_eq(b.served_boot_ns, 7);
	}
}

/* An attempt counts until the start is ready; a crash in service counts. memory_page_forgive()
 * clears the count. */
TEST(starts_and_crashes_are_counted)
{
	static const struct file_id id = {1, 2};
	struct memory_page p;

	memset(&p, 0xff, sizeof p);
	check(!memory_page_is_set(&p));
	memory_page_begin(&p, id, HERE, 11);
	check(memory_page_is_set(&p));
	check_str(p.boot_id, HERE);
	check_eq(p.attempts, 1);
	memory_page_ready(&p);
	check_eq(p.attempts, 0);
	memory_page_ready(&p);
	check_eq(p.attempts, 0);
	for (uint32_t life = 1; life <= CRASHES_MAX; life++) {
		memory_page_attempt(&p, 11 + life);
		check_eq(p.pid, 11 + life);
		memory_page_ready(&p);
		memory_page_count_crash(&p, 11);
		check_eq(p.attempts, life);
	}
	check_eq(p.incarnation, 1 + CRASHES_MAX);
	check_eq(p.signal, 11);
	memory_page_forgive(&p);
	check_eq(p.attempts, 0);
}
