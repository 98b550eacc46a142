/*
 * arena_file.c - opens the memory file, judges its contents, and keeps its page up to date while
 * the cache serves.
 */
#include "arena_file.h"
#include "base/size_units.h"
#include "base/time_units.h"
#include "dpdk/huge_block.h"
#include "dpdk/lcore_run.h"
#include "flash/flash_state.h"
#include "process/last_words.h"
#include "process/signals.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_MARGIN_NS 10000000u
/* Most shares of an attachment that one lcore makes alone. A share takes some 30 us: all are done
 * before the other lcores are awake. */
#define ALONE_SHARES 8u
/* Time limit for a stuck core: the cores are checked every second. */
#define CORES_CHECK_NS (2 * NS_PER_S)

static uint64_t
boot_clock(void *arg)
{
	return clock_ns(CLOCK_BOOTTIME);
}

static uint64_t
wall_clock(void *arg)
{
	return clock_ns(CLOCK_REALTIME);
}

static uint64_t
store_clock(void *arg)
{
	const struct arena_file *k = arg;

	return STORE_CLOCK_START * NS_PER_S + process_now_ns(k->of.process) -
	       k->of.process->start_ns;
}

static struct memory_file_wanted
wanted_of(const struct arena_file_needs *of)
{
	const struct privileges *id = &of->process->privileges;

	return (struct memory_file_wanted){
		.option = MEMORY_OPTION,
		.size_option = "-m",
		.path = of->config->memory_file,
		.bytes = arena_file_bytes(of->config),
		.page_at = STORE_IMAGE_APP_AT,
		.magic = STORE_IMAGE_MAGIC,
		.other_magic = FLASH_STATE_MAGIC,
		.renews_damaged = true,
		.other_uid = id->change ? id->uid : MEMORY_FILE_NO_UID,
		.wait_ms = MEMORY_FILE_WAIT_MS,
	};
}

static bool
map(struct arena_file *k, struct error *err)
{
	struct huge_block block;

	if (!memory_file_map(&k->file, err))
		return false;
	block = (struct huge_block){.base = k->file.base, .bytes = k->file.bytes};
	k->page = store_image_app_page(k->file.base);
	return huge_block_place(&block, k->of.config, k->file.page_bytes, k->of.node, err) &&
	       memory_file_populate(&k->file, err);
}

/* Replaces the file after CRASHES_MAX crashes in a row: a faulty page of memory may be their cause,
 * and it stays with the old file. */
static bool
renew_after_crashes(struct arena_file *k, struct error *err)
{
	const struct memory_file_wanted wanted = wanted_of(&k->of);

	if (!memory_page_is_set(k->page) || k->page->attempts < CRASHES_MAX)
		return true;
	memory_file_unmap(&k->file);
	return memory_file_renew(&k->file, &wanted, err) && map(k, err);
}

/* Records the file's time of change, which is later compared to find changes by other
 * processes. */
static void
note_change(struct arena_file *k)
{
	k->file.changed_ns = k->page->changed_ns = memory_file_changed_ns(&k->file);
}

static void
judge_gap(struct arena_file *k, const struct config *cfg)
{
	const struct memory_page_file file = {k->file.id, k->file.changed_ns};
	struct gap_now now;

	if (k->file.damaged != NULL)
		snprintf(k->words, sizeof k->words, "%s", k->file.damaged);
	else if (k->file.before_bytes != 0)
		snprintf(k->words, sizeof k->words, "it had %zu MB, and %zu are configured",
			 k->file.before_bytes >> MB_SHIFT, k->file.bytes >> MB_SHIFT);
	else if (k->file.fresh)
		strcpy(k->words, "it is new");
	else {
		arena_gap_now(&now);
		memory_page_is_whole(k->page, &file, &now, cfg->keep_for_s, &k->gap, k->words);
	}
	k->judged_ns = clock_ns(CLOCK_BOOTTIME);
}

bool
arena_file_open(struct arena_file *k, const struct arena_file_needs *of, struct error *err)
{
	const struct memory_file_wanted wanted = wanted_of(of);

	k->of = *of;
	k->used = of->config->memory_file[0] != '\0';
	if (!k->used)
		return true;
	if (memory_file_open(&k->file, &wanted, err) && map(k, err)) {
		k->had = k->file.before_bytes != 0 || !k->file.fresh;
		judge_gap(k, of->config);
		/* Allocating pages has changed the file. Record that now: this start may still
		 * fail, and the next one then judges the file. */
		if (k->words[0] == '\0')
			note_change(k);
		if (renew_after_crashes(k, err))
			return true;
	}
	arena_file_close(k);
	return false;
}

/* ---- the store ---- */

static void
say_starts_empty(struct arena_file *k, const char *why)
{
	k->restart.kind = "empty";
	fprintf(stderr, "clockoo: memory.file: %s: starts empty: %s\n", k->file.path, why);
}

/* Begins the page of a new file. The store has zeroed it. */
static void
begin_page(struct arena_file *k)
{
	struct gap_now now;

	arena_gap_now(&now);
	memory_page_begin(k->page, k->file.id, now.boot_id, (uint32_t)getpid());
	k->started = true;
	note_change(k);
}

enum opening_end {
	OPENING_GOES_ON,  /* opening continues, or is complete */
	OPENING_STOPPED,  /* a stop was requested */
	OPENING_TOO_LATE, /* the gap has grown too long: the items are not kept */
};

/* An opening of the image on all lcores. The first lcore watches the gap and a requested stop. */
struct opening_run {
	struct arena_file *arena;
	struct store_opening *open;
	_Atomic enum opening_end end; /* the first lcore writes it */
	uint64_t said_ns;             /* CLOCK_BOOTTIME of the last line of progress */
	bool said_wrong;              /* wrong checksums were reported */
};

struct opener {
	struct opening_run *run;
	bool watches;
};

static void
say_opening(struct opening_run *run, const struct store_open_report *r)
{
	static const char *const steps[] = {"checksums", "states", "index", "pages"};

	if (r->phase > STORE_OPEN_PAGES)
		return;
	fprintf(stderr, "clockoo: memory.file: %s: %s, %.0f %%\n",
		r->kind == STORE_IMAGE_CLEAN ? "attaching" : "repairing", steps[r->phase],
		r->total != 0 ? 100.0 * (double)r->done / (double)r->total : 100.0);
	notify_send(&run->arena->of.process->notify, NOTIFY_EXTEND);
}

/* Ends the opening if the gap has grown too long, or a stop was requested. Reports progress each
 * second. */
static void
check_gap(struct opening_run *run)
{
	const uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
	struct arena_file *k = run->arena;
	struct gap gap = k->gap;
	struct store_open_report r;

	note_change(k);
	store_open_report_mt(run->open, &r);
	gap_judge_later(&gap, now_ns - k->judged_ns, k->of.config->keep_for_s);
	if (gap.verdict != GAP_KEEP) {
		strcpy(k->words, gap.words);
		atomic_store(&run->end, OPENING_TOO_LATE);
	} else if (r.kind == STORE_IMAGE_DIRTY && signals_stop_is_pending())
		atomic_store(&run->end, OPENING_STOPPED);
	else if (now_ns - run->said_ns >= NS_PER_S) {
		run->said_ns = now_ns;
		say_opening(run, &r);
	}
}

static int
open_on_lcore(void *arg)
{
	const struct opener *o = arg;
	struct opening_run *run = o->run;

	do
		if (o->watches)
			check_gap(run);
	while (atomic_load(&run->end) == OPENING_GOES_ON && store_open_step_mt(run->open));
	return 0;
}

static void
say_wrong_checksums(struct opening_run *run)
{
	struct store_open_report r;

	store_open_report_mt(run->open, &r);
	if (!r.checksums_wrong || run->said_wrong)
		return;
	run->said_wrong = true;
	fprintf(stderr, "clockoo: memory.file: tables or index are not as they were left (wrong "
			"checksums): repairing\n");
}

/* Runs the present phase on all lcores, until all shares are done. If an lcore cannot be launched,
 * the others do its share. */
static void
do_phase(struct opening_run *run, void *const *args)
{
	struct store_open_report r;
	struct error err;

	store_open_report_mt(run->open, &r);
	if ((r.kind == STORE_IMAGE_CLEAN && r.total <= ALONE_SHARES) ||
	    !lcores_run(&run->arena->of.config->lcores, open_on_lcore, args, &err))
		open_on_lcore(args[0]);
}

static enum store_open_phase
open_in_phases(struct opening_run *run)
{
	struct opener each[CORES_MAX];
	void *args[CORES_MAX];
	enum store_open_phase phase;

	for (uint32_t i = 0; i < run->arena->of.config->cores; i++) {
		each[i] = (struct opener){run, i == 0};
		args[i] = &each[i];
	}
	do {
		do_phase(run, args);
		if (atomic_load(&run->end) != OPENING_GOES_ON)
			return STORE_OPEN_REFUSED;
		phase = store_open_next(run->open);
		say_wrong_checksums(run);
	} while (!store_open_has_ended(phase));
	return phase;
}

static void
say_kept(struct arena_file *k, const struct store_opening *open, uint64_t took_ns)
{
	struct store_open_report r;

	store_open_report_mt(open, &r);
	k->restart = (struct serve_restart){
		.kind = r.kind == STORE_IMAGE_CLEAN ? "attached" : "repaired",
		.kept = r.items,
		.lost = r.lost,
		.us = took_ns / 1000,
	};
	fprintf(stderr, "clockoo: %skept %llu items, %.1f GB in %.2f s; %llu lost\n",
		r.kind == STORE_IMAGE_CLEAN ? "" : "repaired: ", (unsigned long long)r.items,
		(double)r.item_bytes / (1 << 30), (double)took_ns / NS_PER_S,
		(unsigned long long)r.lost);
	k->flushed = r.flushed;
	if (r.flushed)
		fprintf(stderr, "clockoo: memory.file: a delayed flush_all came due while it was "
				"down: nothing is kept\n");
}

static struct store *
start_empty(struct arena_file *k, struct store_opening *open, const struct store_config *cfg)
{
	struct store_open_report r;
	struct store *store;

	store_open_report_mt(open, &r);
	say_starts_empty(k, k->words[0] != '\0' ? k->words : store_image_fault_words(r.fault));
	store = store_open_cold(open, cfg->seed);
	begin_page(k);
	return store;
}

static struct store *
open_store(struct arena_file *k, struct region *region, struct error *err)
{
	const struct store_config *cfg = k->of.store;
	const uint64_t begun_ns = clock_ns(CLOCK_BOOTTIME);
	/* A margin, since the clocks differ a little: the store's clock must not be behind the
	 * previous process's. */
	const uint64_t ahead_ns = k->gap.store_ns + CLOCK_MARGIN_NS;
	const uint64_t store_ns = ahead_ns + (begun_ns - k->judged_ns);
	struct opening_run run = {.arena = k};
	struct store_open_report r;

	memory_page_attempt(k->page, (uint32_t)getpid());
	k->started = true;
	run.open = store_open(region, k->file.base, cfg, (uint32_t)(store_ns / NS_PER_S));
	store_open_report_mt(run.open, &r);
	run.said_ns = r.kind == STORE_IMAGE_CLEAN ? begun_ns : 0; /* a repair is reported at once */
	if (open_in_phases(&run) == STORE_OPEN_DONE) {
		k->ahead_ns = ahead_ns - STORE_CLOCK_START * NS_PER_S;
		say_kept(k, run.open, clock_ns(CLOCK_BOOTTIME) - begun_ns);
		return store_open_store(run.open);
	}
	if (atomic_load(&run.end) != OPENING_STOPPED)
		return start_empty(k, run.open, cfg);
	error_set_code(err, ERROR_STOPPED,
		       "memory.file: stopped amid its repair; the next start does it again");
	return NULL;
}

struct store *
arena_file_make_store(struct arena_file *k, struct region *region, struct error *err)
{
	const struct store_config *cfg = k->of.store;
	struct store_image_look look;
	struct store *store;

	/* the time in which DPDK started is a part of the gap */
	if (k->words[0] == '\0')
		judge_gap(k, k->of.config);
	store_image_look(k->file.base, cfg, &look);
	if (k->words[0] == '\0' && look.kind != STORE_IMAGE_EMPTY)
		return open_store(k, region, err);
	say_starts_empty(k, k->words[0] != '\0' ? k->words : store_image_fault_words(look.fault));
	store = store_create_in(region, k->file.base, cfg);
	begin_page(k);
	return store;
}

bool
arena_file_read_clocks(struct arena_file *k, struct beat *b)
{
	const struct clocks clocks = {boot_clock, wall_clock, store_clock, k};

	if (!beat_read_clocks(b, &clocks))
		return false;
	b->served_boot_ns = b->boot_ns;
	return true;
}

uint64_t
arena_file_ahead_ns(const struct arena_file *k)
{
	return k->ahead_ns != 0 ? k->ahead_ns + clock_ns(CLOCK_BOOTTIME) - k->judged_ns : 0;
}

/* ---- in service ---- */

/* Writes a heartbeat. If the clocks could not be read at one moment, the last heartbeat stays. */
static void
beat(struct arena_file *k)
{
	const struct clocks clocks = {boot_clock, wall_clock, store_clock, k};

	note_change(k);
	if (beat_read_clocks(&k->beat, &clocks))
		heartbeat_write(&k->page->heartbeat, &k->beat);
}

void
arena_file_ready(struct arena_file *k)
{
	if (!k->used)
		return;
	k->ready_ns = k->beat.served_boot_ns = clock_ns(CLOCK_BOOTTIME);
	watchdog_begin(&k->cores, CORES_CHECK_NS, k->of.config->cores, k->ready_ns);
	beat(k);
	memory_page_ready(k->page);
	k->started = false;
	last_words_count_in(k->page);
}

void
arena_file_tick(struct arena_file *k, const struct telemetry *t)
{
	uint32_t core;
	uint64_t now_ns;

	if (!k->used)
		return;
	now_ns = clock_ns(CLOCK_BOOTTIME);
	/* Without heartbeats the gap grows while a core is stuck: that core misses clients'
	 * invalidations. */
	if (watchdog_check(&k->cores, t, now_ns, &core) == WATCHDOG_ALIVE)
		k->beat.served_boot_ns = now_ns;
	beat(k);
	memory_file_populate_more(&k->file);
	if (k->ready_ns != 0 && now_ns - k->ready_ns > CRASHES_FORGIVEN_NS) {
		memory_page_forgive(k->page);
		k->ready_ns = 0;
	}
}

void
arena_file_end_service(struct arena_file *k)
{
	if (!k->used)
		return;
	k->beat.served_boot_ns = clock_ns(CLOCK_BOOTTIME);
	beat(k);
}

void
arena_file_stop(struct arena_file *k, struct store *store)
{
	if (!k->used)
		return;
	memory_page_forgive(k->page);
	last_words_stop_counting();
	/* A failure leaves the image dirty, and the next start repairs it. */
	store_image_leave(store);
	note_change(k);
}

void
arena_file_close(struct arena_file *k)
{
	if (!k->used)
		return;
	if (k->started) {
		memory_page_ready(k->page);
		note_change(k);
	}
	memory_file_close(&k->file);
	*k = (struct arena_file){.of = k->of};
}
