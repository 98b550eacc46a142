/*
 * tier_start.c - judges the tier's contents by its state, superblock and store, recovers its
 * shards, and writes heartbeats for the next start.
 */
#include "tier_start.h"
#include "process/signals.h"

#include "base/time_units.h"
#include "image/store_saved.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_MARGIN_NS 10000000u
/* After this time a recovery is reported, then each second. */
#define SAY_AFTER_NS (2 * NS_PER_S)
#define CAS_NS       64u      /* least time between two versions of a key */
#define STAT_BLOCK   512u     /* unit of st_blocks, in bytes */
#define STATE_SUFFIX ".flash" /* added to memory.file if flash.state is empty */
#define LINE         "clockoo: flash.device: "

static const char *
path_of(const struct config *cfg, char text[2 * CONFIG_PATH_BYTES])
{
	if (cfg->flash.state[0] != '\0')
		return cfg->flash.state;
	if (cfg->memory_file[0] == '\0')
		return NULL;
	snprintf(text, 2 * CONFIG_PATH_BYTES, "%s" STATE_SUFFIX, cfg->memory_file);
	return text;
}

struct tier_start_bytes
tier_start_huge_bytes(const struct config *cfg, const struct flash_plan *plan, bool live)
{
	char text[2 * CONFIG_PATH_BYTES];
	const char *path = path_of(cfg, text);
	struct error err;
	struct stat st;
	bool huge;

	if (cfg->flash.device[0] == '\0' || path == NULL)
		return (struct tier_start_bytes){0};

	const uint64_t bytes = align_up(
		flash_state_bytes(plan->shards, FLASH_SEGMENT_PAGES, flash_plan_rows_bytes(plan)),
		FLASH_SEGMENT_BYTES);

	if (!live)
		return (struct tier_start_bytes){bytes, bytes};
	if (!memory_file_place_ok(FLASH_STATE_OPTION, path, &huge, &err) || !huge)
		return (struct tier_start_bytes){0};

	const uint64_t has = stat(path, &st) == 0 ? (uint64_t)st.st_blocks * STAT_BLOCK : 0;

	return (struct tier_start_bytes){bytes, bytes > has ? bytes - has : 0};
}

bool
tier_start_open(struct tier_start *s, const struct tier_needs *of, struct error *err)
{
	const struct privileges *id = &of->process->privileges;
	char text[2 * CONFIG_PATH_BYTES];
	const struct flash_state_config c = {.path = path_of(of->config, text),
					     .shards = of->sizes->plan.shards,
					     .segment_pages = FLASH_SEGMENT_PAGES,
					     .rows_bytes = of->sizes->rows,
					     .other_uid = id->change ? id->uid : MEMORY_FILE_NO_UID,
					     .wait_ms = MEMORY_FILE_WAIT_MS,
					     .keep_for_s = of->config->keep_for_s,
					     .pid = (uint32_t)getpid()};
	struct gap_now now;

	s->of = of;
	arena_gap_now(&now);
	return flash_state_open(&s->state, &c, &now, err);
}

/* ---- judgement ---- */

/* Finds the tier with which the store's items were served last: *by, all zero if none. False if the
 * store begins empty and had no items before. */
static bool
served_by(const struct tier_start *s, struct flash_served *by)
{
	const struct arena_file *arena = s->of->arena;
	const struct memory_save *save = s->of->save;

	*by = (struct flash_served){0};
	if (arena->used && arena->ahead_ns != 0) {
		*by = (struct flash_served){arena->page->tier.device,
					    arena->page->tier.incarnation};
		return true;
	}
	/* The items of memory.file are not kept, and the process that served them is not known.
	 * Treated as served without a tier. */
	if (!save->used || save->look.found != SAVE_FOUND_WHOLE)
		return arena->used && arena->had;
	/* A stop writes the same reading of the clocks into both files. */
	if (memcmp(&save->look.head.beat, &s->super.beat, sizeof s->super.beat) == 0)
		*by = (struct flash_served){s->super.layout.device, s->super.incarnation};
	return true;
}

/* Applies a flush that came due during the gap: to all items of the tier. */
static void
judge_flush(struct tier_start *s, uint64_t due_s)
{
	const bool is_past = due_s != 0 && due_s <= s->gap.store_ns / NS_PER_S + 1;

	if (s->start == FLASH_COLD || (!is_past && !s->of->arena->flushed))
		return;
	s->start = FLASH_COLD;
	strcpy(s->words, "a delayed flush_all came due while it was down");
}

/* Judges the gap again, with the time that DPDK took to start. */
static void
judge_gap(struct tier_start *s, const struct gap_now *now)
{
	const uint32_t keep_for_s = s->of->config->keep_for_s;
	const bool is_clean = s->had_super && s->super.clean != 0;

	s->judged_ns = now->boot_ns;
	if (is_clean)
		gap_judge_saved(&s->gap, &s->super.beat, s->super.boot_id, now, keep_for_s);
	else if (s->state.id.incarnation != 0)
		gap_judge(&s->gap, &s->state.page->heartbeat, s->state.page->boot_id, now,
			  keep_for_s);
}

void
tier_start_decide(struct tier_start *s, struct store *store, const struct flash_layout *layout)
{
	struct flash_before before = {.super = s->had_super ? &s->super : NULL,
				      .state = &s->state.id,
				      .state_words = s->state.words,
				      .gap_words = s->gap.words};
	struct gap_now now;

	s->store = store;
	arena_gap_now(&now);
	judge_gap(s, &now);
	before.has_store = served_by(s, &before.store);
	s->start = flash_start_of(&before, layout, s->words);
	if (s->start == FLASH_FROM_STATE && s->gap.verdict != GAP_KEEP) {
		s->start = FLASH_COLD;
		strcpy(s->words, s->gap.words);
	}
	judge_flush(s, s->start == FLASH_FROM_STATE ? s->state.flush_due : s->super.flush_due_s);
	if (s->start != FLASH_FROM_STATE)
		flash_state_forget(&s->state);
	if (s->start != FLASH_COLD && s->of->arena->ahead_ns == 0)
		s->ahead_ns = s->gap.store_ns + CLOCK_MARGIN_NS - STORE_CLOCK_START * NS_PER_S;
}

uint64_t
tier_start_ahead_ns(const struct tier_start *s)
{
	return s->ahead_ns != 0 ? s->ahead_ns + clock_ns(CLOCK_BOOTTIME) - s->judged_ns : 0;
}

/* ---- shards ---- */

struct recovering {
	struct tier_start *s;
	uint32_t shard, shards;
};

static void
say_progress(const struct recovering *r, uint32_t done, uint32_t all)
{
	const double part = all != 0 ? (double)done / all : 0;

	fprintf(stderr, LINE "%s: recovering, %.0f %%\n", r->s->of->config->flash.device,
		100.0 * (r->shard + part) / r->shards);
	notify_send(&r->s->of->process->notify, NOTIFY_EXTEND);
}

/* Continues the recovery. False ends it: its time counts as gap, and has exceeded the limit, or a
 * stop was requested. */
static bool
go_on(void *arg, uint32_t done, uint32_t all)
{
	const struct recovering *r = arg;
	struct tier_start *s = r->s;
	const uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);
	struct gap gap = s->gap;

	gap_judge_later(&gap, now_ns - s->judged_ns, r->s->of->config->keep_for_s);
	if (gap.verdict != GAP_KEEP) {
		strcpy(s->words, gap.words);
		s->end = TIER_START_TOO_LATE;
	} else if (signals_stop_is_pending())
		s->end = TIER_START_STOPPED;
	else if (now_ns - s->begun_ns > SAY_AFTER_NS && now_ns - s->said_ns > NS_PER_S) {
		s->said_ns = now_ns;
		say_progress(r, done, all);
	}
	return s->end == TIER_START_GOES_ON;
}

/* Discards all that the previous process has left. */
static void
begin_again(struct tier_start *s)
{
	s->start = FLASH_COLD;
	s->ahead_ns = 0;
	s->in_columns = 0;
	s->found = (struct flash_recovered){0};
	flash_state_forget(&s->state);
}

/* Raises the store's cas numbers above all that the keys of kept records had. The records may have
 * lower ones than the store gave later, so the wall clock gives the floor. */
static void
begin_above(struct store *st)
{
	store_floors_raise(st, clock_ns(CLOCK_REALTIME) / CAS_NS);
}

static bool
wait_on(void *recover)
{
	const struct flash_recover_config *r = recover;

	r->wait(r->arg);
	return r->go_on(r->go_on_arg, 0, 1);
}

static bool
find_rows(struct tier_start *s, uint32_t shard, struct flash_column_config *column,
	  struct flash_recover_config *recover)
{
	const struct flash_rows_io io = {recover->device, wait_on, recover};

	column->memory = s->state.rows + shard * flash_rows_bytes(column->buckets);
	return flash_rows_start(column, s->start, &s->super, shard, &io);
}

static void
add(struct tier_start *s, const struct flash_recovered *found)
{
	s->found.hangs = found->hangs;
	s->found.segments += found->segments;
	s->found.bad += found->bad;
	s->found.puts += found->puts;
	s->found.unindexed += found->unindexed;
}

bool
tier_start_shard(struct tier_start *s, struct flash_shard *shard, struct flash_shard_config *c,
		 const struct flash_recover_config *recover, uint64_t random)
{
	const uint32_t i = c->log.id.stream * recover->shards + c->log.id.shard;
	struct recovering r = {s, i, s->of->sizes->plan.shards};
	struct flash_recover_config config = *recover;
	struct flash_recovered found;

	c->kept = &s->state.kept[i];
	c->intents = s->state.intents;
	c->pages = s->state.pages + (size_t)i * FLASH_BUFFERS * FLASH_SEGMENT_BYTES;
	flash_start_kept(s->start, &s->super, i, random, c->kept);
	if (i == 0)
		s->begun_ns = clock_ns(CLOCK_BOOTTIME);
	config.go_on = go_on;
	config.go_on_arg = &r;
	if (c->column.count != 0 && !find_rows(s, i, &c->column, &config)) {
		s->found.hangs = true;
		return false;
	}
	if (s->start == FLASH_COLD) {
		flash_shard_init(shard, c);
		return true;
	}
	found = flash_shard_recover(shard, c, &config);
	add(s, &found);
	if (c->column.count != 0)
		s->in_columns += flash_columns_items(&shard->columns);
	if (s->end == TIER_START_TOO_LATE && !found.hangs)
		begin_again(s);
	return !found.stopped;
}

void
tier_start_end(struct tier_start *s)
{
	const bool store_kept = s->of->arena->ahead_ns != 0;
	const uint64_t due_s = s->start == FLASH_FROM_STATE   ? s->state.flush_due
			       : s->start == FLASH_FROM_CLEAN ? s->super.flush_due_s
							      : 0;
	char columns[64] = "";

	if (s->in_columns != 0)
		snprintf(columns, sizeof columns, "; %llu items in columns",
			 (unsigned long long)s->in_columns);
	memset(s->state.intents, 0, sizeof *s->state.intents);
	/* A saved file brings its own floors later, which replace these. */
	if (s->start != FLASH_COLD && !store_kept)
		begin_above(s->store);
	/* a store that was kept has the flush already */
	if (due_s != 0 && !store_kept)
		store_flush(store_core_of(s->store, 0), (uint32_t)due_s);
	if (s->start == FLASH_COLD)
		fprintf(stderr, LINE "%s: starts empty: %s\n", s->of->config->flash.device,
			s->words);
	else
		fprintf(stderr,
			LINE "%s: kept %s: %llu records in %u segments, read in %.2f s%s%s\n",
			s->of->config->flash.device,
			s->start == FLASH_FROM_CLEAN ? "as it was left" : "after a kill",
			(unsigned long long)s->found.puts, s->found.segments,
			(double)(clock_ns(CLOCK_BOOTTIME) - s->begun_ns) / NS_PER_S, columns,
			s->found.bad != 0 ? "; what is older than a bad segment is lost" : "");
}

/* ---- in service ---- */

static void
say_served(struct arena_file *arena, struct flash_served by)
{
	if (!arena->used)
		return;
	arena->page->tier.device = by.device;
	arena->page->tier.incarnation = by.incarnation;
}

void
tier_start_none(const struct tier_needs *of)
{
	say_served(of->arena, (struct flash_served){0});
}

void
tier_start_serve(struct tier_start *s, const struct flash_super *super,
		 const struct flash_health *health)
{
	const struct flash_state_id id = {super->incarnation, super->layout};
	struct gap_now now;

	arena_gap_now(&now);
	say_served(s->of->arena, (struct flash_served){super->layout.device, super->incarnation});
	flash_state_begin(&s->state, &id, &now, store_flush_due_s(s->store));
	tier_start_tick(s, health);
}

void
tier_start_tick(struct tier_start *s, const struct flash_health *health)
{
	const enum flash_off off = flash_health_off(health);
	struct arena_file *arena = s->of->arena;
	struct beat beat;

	if (arena_file_read_clocks(arena, &beat)) {
		if (arena->used)
			beat.served_boot_ns = arena->beat.served_boot_ns;
		flash_state_beat(&s->state, &beat);
	}
	if (off == FLASH_ON || s->said_off)
		return;
	s->said_off = true;
	flash_state_end(&s->state);
	fprintf(stderr, LINE "%s: off until the next start: %s; memory serves on\n",
		s->of->config->flash.device, flash_off_names[off].words);
}

void
tier_start_leave(struct tier_start *s, struct flash_super *super)
{
	const struct memory_save *save = s->of->save;
	struct gap_now now;

	arena_gap_now(&now);
	/* A reading of the clocks goes into both files: by it the next start sees that one process
	 * wrote both. */
	if (save->used && save->clocks_read)
		super->beat = save->beat;
	else if (!arena_file_read_clocks(s->of->arena, &super->beat))
		super->beat = (struct beat){0};
	memcpy(super->boot_id, now.boot_id, sizeof super->boot_id);
	super->flush_due_s = store_flush_due_s(s->store);
}
