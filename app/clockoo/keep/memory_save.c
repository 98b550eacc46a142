/*
 * memory_save.c - loads the saved file of the previous process, and writes that of this one.
 */
#include "memory_save.h"
#include "base/time_units.h"
#include "paths.h"
#include "process/last_words.h"
#include "process/signals.h"
#include "save/save_write.h"
#include "serve/serve_policy.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A grace period takes some turns of the cores. Waits are END_TURNS_MAX times END_TURN_NS at
 * most. */
#define END_TURN_NS   100000
#define END_TURNS_MAX 10000u
#define GB            (double)(1 << 30)
#define EXTEND_US     "10000000" /* more than the time between two lines of progress */
#define LINE          "clockoo: memory.save: "

static_assert(SAVE_COMPRESS_NO == SAVE_UNPACKED, "an option's place is a level");

/* ---- before the first request ---- */

bool
memory_save_begin(struct memory_save *s, const struct memory_save_needs *of, struct error *err)
{
	const struct privileges *id = &of->process->privileges;
	const uid_t uid = id->change ? id->uid : SAVE_NO_UID;
	char path[CONFIG_PATH_BYTES];
	struct error little;
	struct gap_now now;

	s->of = *of;
	s->used = of->config->memory_save[0] != '\0';
	if (!s->used)
		return true;
	/* An absolute path stays valid when -d changes the directory. */
	if (!paths_make_absolute(path, sizeof path, of->config->memory_save))
		return error_set(err, "--memory-save: cannot determine the current directory");
	save_paths_set(&s->paths, path);
	/* Lock first: another process may be writing the files that are removed below. */
	if (!save_place_ok(path, err) ||
	    !save_lock(&s->paths, MEMORY_FILE_WAIT_MS, &s->lock_fd, err))
		return false;
	/* Removes a file that a stop has not completed, and one whose load was interrupted. */
	save_forget(s->paths.part);
	save_forget(s->paths.loading);
	arena_gap_now(&now);
	save_look_at(&s->look, s->paths.file, &now, of->config->keep_for_s, uid);
	if (!save_room_ok(path, (uint64_t)of->config->memory_mb << 20, &little))
		fprintf(stderr, "clockoo: %s: a stop may not save\n", little.text);
	return true;
}

bool
memory_save_seed(const struct memory_save *s, uint64_t *seed)
{
	if (!s->used || s->look.found != SAVE_FOUND_WHOLE)
		return false;
	*seed = s->look.head.seed;
	return true;
}

static void
say_not_loaded(const struct memory_save *s, const char *why)
{
	fprintf(stderr, LINE "%s: not loaded: %s\n", s->paths.file, why);
}

/* Judges the gap again, since DPDK took time to start. Records how far the file's clock is
 * ahead. */
static bool
gap_still_fits(struct memory_save *s)
{
	const struct process *p = s->of.process;
	const uint64_t store_ns = STORE_CLOCK_START * NS_PER_S + process_now_ns(p) - p->start_ns;
	struct gap *gap = &s->look.gap;
	struct gap_now now;
	int64_t ahead_ns;

	arena_gap_now(&now);
	gap_judge_saved(gap, &s->look.head.beat, s->look.head.boot_id, &now,
			s->of.config->keep_for_s);
	if (gap->verdict != GAP_KEEP) {
		say_not_loaded(s, gap->words);
		return false;
	}
	ahead_ns = (int64_t)(gap->store_ns - store_ns);
	/* Rounded up, so that no item lives longer. */
	s->shift_s = ahead_ns >= 0 ? (ahead_ns + (int64_t)NS_PER_S - 1) / (int64_t)NS_PER_S
				   : ahead_ns / (int64_t)NS_PER_S;
	if (s->look.head.flush_due_s == 0)
		return true;
	if (s->look.head.flush_due_s - s->shift_s <= STORE_CLOCK_START) {
		say_not_loaded(s, "a flush was due while it was down");
		return false;
	}
	return true;
}

static void
take(struct memory_save *s)
{
	const struct privileges *id = &s->of.process->privileges;
	const uint32_t due_s = s->look.head.flush_due_s;
	struct error err;

	if (!gap_still_fits(s)) {
		save_forget(s->paths.file);
		return;
	}
	if (!save_take(&s->paths, &err)) {
		say_not_loaded(s, err.text);
		return;
	}
	/* Root has made the file; the user that this process becomes loads it. */
	if (id->change && lchown(s->paths.loading, id->uid, id->gid) != 0)
		perror(LINE "cannot give it to its user");
	store_load_prepare(s->store, s->look.floors,
			   due_s != 0 ? (uint32_t)(due_s - s->shift_s) : 0);
	s->loads = true;
	serve_load_set_mt(s->shared, &(struct serve_load){.state = SERVE_LOADING});
}

void
memory_save_take(struct memory_save *s, struct store *store, struct serve_shared *shared)
{
	/* A memory file that was kept is newer, even if it has no item. */
	const bool kept =
		s->used && s->of.arena->used && strcmp(s->of.arena->restart.kind, "empty") != 0;

	s->store = store;
	s->shared = shared;
	if (!s->used)
		return;
	switch (s->look.found) {
	case SAVE_FOUND_NONE:
		if (!kept)
			say_not_loaded(s, "it is not there; a graceful stop writes it");
		break;
	case SAVE_FOUND_WHOLE:
		if (!kept) {
			take(s);
			break;
		}
		say_not_loaded(s, "memory.file is newer");
		save_forget(s->paths.file);
		break;
	case SAVE_FOUND_OLD:
		say_not_loaded(s, s->look.words);
		save_forget(s->paths.file);
		break;
	case SAVE_FOUND_OTHER:
		say_not_loaded(s, s->look.words);
		save_refuse(&s->paths);
		break;
	}
}

/* ---- the load ---- */

struct loading {
	struct memory_save *save;
	struct save_io io;
	uint64_t slots, begun_ns, said_ns;
};

void *
memory_save_map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	/* With a hugepage, a transfer of a slot has one piece of memory instead of 256. */
	madvise(at, bytes, MADV_HUGEPAGE);
	return at;
}

static uint64_t
lost(const struct memory_save *s)
{
	const struct save_loaded *c = &s->loader.count;
	const uint64_t known = c->items + c->newer + c->expired;

	return s->look.head.items > known ? s->look.head.items - known : 0;
}

static void
tell(const struct loading *l, uint32_t state)
{
	const struct memory_save *s = l->save;

	serve_load_set_mt(s->shared,
			  &(struct serve_load){
				  .state = state,
				  .items = s->loader.count.items,
				  .lost = state == SERVE_LOADED ? lost(s) : 0,
				  .us = (process_now_ns(l->save->of.process) - l->begun_ns) / 1000,
			  });
}

static bool
is_stopping(const struct loading *l)
{
	return process_is_stopping(l->save->of.process);
}

static void
say_loading(struct loading *l, uint64_t slot)
{
	tell(l, SERVE_LOADING);
	if (process_now_ns(l->save->of.process) - l->said_ns < NS_PER_S)
		return;
	l->said_ns = process_now_ns(l->save->of.process);
	fprintf(stderr, LINE "loading, %.0f %%\n", 100.0 * (double)slot / (double)l->slots);
	if (is_stopping(l))
		notify_send(&l->save->of.process->notify, "EXTEND_TIMEOUT_USEC=" EXTEND_US);
}

static void
begin_slot(struct loading *l, uint64_t slot)
{
	const uint64_t left = l->save->look.bytes - slot * SAVE_SLOT_BYTES;

	if (slot < l->slots)
		save_io_begin(&l->io, slot,
			      left < SAVE_SLOT_BYTES ? (uint32_t)align_up(left, SAVE_ALIGN)
						     : SAVE_SLOT_BYTES);
}

/* True while the load continues. A stop waits for the load, since items not loaded yet would be
 * lost. A second signal ends it. */
static bool
goes_on(const struct loading *l)
{
	return !l->save->loader.over && !(is_stopping(l) && signals_stop_is_pending());
}

/* Loads all slots. While this core waits for the disk, the store's grace periods do not wait for
 * it. */
static void
load_slots(struct loading *l)
{
	struct save_loader *loader = &l->save->loader;

	for (uint64_t slot = 0; slot < SAVE_IO_DEPTH; slot++)
		begin_slot(l, slot);
	for (uint64_t slot = 0; slot < l->slots && goes_on(l); slot++) {
		int32_t got;

		store_offline(loader->core);
		got = save_io_wait(&l->io, slot);
		store_turn(loader->core, process_store_s(l->save->of.process));
		if (got > 0)
			save_load_slot(loader, slot, save_io_buffer(&l->io, slot), (size_t)got,
				       process_store_s(l->save->of.process));
		else
			loader->count.damaged++;
		begin_slot(l, slot + SAVE_IO_DEPTH);
		say_loading(l, slot + 1);
	}
}

static void
say_loaded(const struct loading *l)
{
	const struct save_loaded *c = &l->save->loader.count;
	const double s = (double)(process_now_ns(l->save->of.process) - l->begun_ns) / NS_PER_S;

	fprintf(stderr, LINE "loaded %llu items, %.1f GB in %.2f s (%s); %llu lost",
		(unsigned long long)c->items, (double)c->value_bytes / GB, s, save_io_words(&l->io),
		(unsigned long long)lost(l->save));
	if (c->newer + c->expired != 0)
		fprintf(stderr, "; %llu changed by clients, %llu expired",
			(unsigned long long)c->newer, (unsigned long long)c->expired);
	if (c->damaged != 0)
		fprintf(stderr, "; %llu places damaged", (unsigned long long)c->damaged);
	if (c->no_room != 0)
		fprintf(stderr, "; no room for %llu", (unsigned long long)c->no_room);
	fprintf(stderr, "%s\n", l->save->loader.over ? "; a flush ended it" : "");
}

static void
leave(const struct loading *l)
{
	const struct timespec pause = {.tv_nsec = END_TURN_NS};
	struct save_loader *loader = &l->save->loader;
	uint32_t turns = 0;

	while (!save_load_leave(loader, process_store_s(l->save->of.process)) &&
	       ++turns < END_TURNS_MAX)
		nanosleep(&pause, NULL);
	store_offline(loader->core);
}

static void
load(struct loading *l, void *memory)
{
	struct memory_save *s = l->save;
	const int e = save_io_open(&l->io, s->paths.loading, O_RDONLY, true, memory);

	if (e != 0) {
		say_not_loaded(s, strerror(-e));
		return;
	}
	l->slots = (s->look.bytes + SAVE_SLOT_BYTES - 1) / SAVE_SLOT_BYTES;
	save_load_begin(&s->loader, store_core_of(s->store, s->of.config->cores), s->look.file,
			s->shift_s);
	store_turn(s->loader.core, process_store_s(l->save->of.process));
	store_load_expect(s->loader.core, s->look.head.items);
	load_slots(l);
	save_load_end(&s->loader);
	leave(l);
	save_io_close(&l->io);
	say_loaded(l);
}

/* Release: pairs with the acquire in memory_save_is_settled(). The loader's use of its core comes
 * before. */
static void
settle(struct memory_save *s)
{
	atomic_store_explicit(&s->settled, true, memory_order_release);
}

static void *
load_run(void *arg)
{
	struct memory_save *s = arg;
	const uint64_t now_ns = process_now_ns(s->of.process);
	struct loading l = {.save = s, .begun_ns = now_ns, .said_ns = now_ns};
	void *memory = memory_save_map(SAVE_IO_BYTES);

	last_words_thread("the loader of memory.save");
	process_pin(s->of.process);
	if (memory != NULL) {
		load(&l, memory);
		munmap(memory, SAVE_IO_BYTES);
	} else {
		say_not_loaded(s, "no memory for it");
	}
	store_load_end(s->store);
	save_forget(s->paths.loading);
	tell(&l, SERVE_LOADED);
	settle(s);
	return NULL;
}

bool
memory_save_is_settled(const struct memory_save *s)
{
	/* Acquire: pairs with the release in settle(). */
	return atomic_load_explicit(&s->settled, memory_order_acquire);
}

void
memory_save_give_back(struct memory_save *s)
{
	if (s->loads && !s->served && rename(s->paths.loading, s->paths.file) != 0)
		perror(LINE "cannot give it back");
}

void
memory_save_start(struct memory_save *s)
{
	s->served = true;
	s->runs = s->loads && pthread_create(&s->thread, NULL, load_run, s) == 0;
	if (s->loads && !s->runs) {
		say_not_loaded(s, "no thread for it");
		store_load_end(s->store);
	}
	if (!s->runs)
		settle(s);
}

void
memory_save_join(struct memory_save *s)
{
	s->clocks_read = s->used && arena_file_read_clocks(s->of.arena, &s->beat);
	if (s->runs)
		pthread_join(s->thread, NULL);
	s->runs = false;
}

/* ---- the stop ---- */

struct stopping {
	const struct process *process;
	uint64_t items, begun_ns, said_ns;
};

/* Prints a line each second and extends the manager's time limit. False once a second signal has
 * arrived. */
static bool
go_on(void *arg, const struct save_result *result)
{
	struct stopping *st = arg;
	const uint64_t now = process_now_ns(st->process);

	if (now - st->said_ns >= NS_PER_S) {
		st->said_ns = now;
		fprintf(stderr, LINE "saving, %.0f %%\n",
			100.0 * (double)result->items / (double)(st->items + 1));
		notify_send(&st->process->notify, "EXTEND_TIMEOUT_USEC=" EXTEND_US);
	}
	return now - st->begun_ns < SAVE_LIMIT_S * NS_PER_S && !signals_stop_is_pending();
}

static bool
write_file(const struct memory_save *s, void *memory, struct save_result *result, struct error *err)
{
	const struct process *p = s->of.process;
	struct stopping st = {p, .begun_ns = process_now_ns(p), .said_ns = process_now_ns(p)};
	struct save_ask ask = {
		.store = s->store,
		.path = s->paths.part,
		.level = s->of.config->save_compress,
		.uring = true,
		.memory = memory,
		.go_on = go_on,
		.arg = &st,
		.beat = s->beat,
		.now_s = (uint32_t)(s->beat.store_ns / NS_PER_S),
	};
	struct store_usage usage;
	struct gap_now now;

	store_usage_mt(s->store, &usage);
	st.items = usage.items;
	arena_gap_now(&now);
	ask.boot_id = now.boot_id;
	if (!s->clocks_read)
		return error_set(err, "%s: the clocks cannot be read at one moment", s->paths.file);
	if (getrandom(&ask.file, sizeof ask.file, 0) != (ssize_t)sizeof ask.file)
		return error_set(err, "no random numbers from the kernel");
	notify_send(&p->notify, "EXTEND_TIMEOUT_USEC=" EXTEND_US);
	return save_write(&ask, result, err) && save_publish(&s->paths, err);
}

void
memory_save_stop(struct memory_save *s)
{
	const uint64_t begun_ns = process_now_ns(s->of.process);
	const size_t bytes = save_blocks_bytes();
	struct save_result result;
	struct error err;
	void *memory;

	if (!s->used)
		return;
	memory = memory_save_map(bytes);
	if (memory == NULL) {
		fprintf(stderr, LINE "%s: not saved: no memory for it\n", s->paths.file);
		return;
	}
	if (write_file(s, memory, &result, &err)) {
		fprintf(stderr, LINE "saved %llu items, %.1f GB in %.2f s (%s)%s\n",
			(unsigned long long)result.items, (double)result.value_bytes / GB,
			(double)(process_now_ns(s->of.process) - begun_ns) / NS_PER_S, result.how,
			result.finished ? "" : "; there was no time for the others");
	} else {
		fprintf(stderr, LINE "not saved: %s\n", err.text);
		save_forget(s->paths.part);
	}
	munmap(memory, bytes);
}

/* ---- checks for a dry run ---- */

bool
memory_save_check(const struct config *cfg, struct error *err)
{
	return cfg->memory_save[0] == '\0' || cfg->sysfs[0] != '\0' ||
	       save_place_ok(cfg->memory_save, err);
}

bool
memory_save_has_room(const struct config *cfg, struct error *err)
{
	return cfg->memory_save[0] == '\0' || cfg->sysfs[0] != '\0' ||
	       save_room_ok(cfg->memory_save, (uint64_t)cfg->memory_mb << 20, err);
}

void
memory_save_words(const struct config *cfg, char words[SAVE_WORDS_BYTES])
{
	struct save_look look;
	struct gap_now now;
	struct stat st;
	/* root checks for the service's user */
	const bool any = geteuid() == 0 && stat(cfg->memory_save, &st) == 0;

	arena_gap_now(&now);
	save_look_at(&look, cfg->memory_save, &now, cfg->keep_for_s, any ? st.st_uid : SAVE_NO_UID);
	if (look.found == SAVE_FOUND_NONE)
		snprintf(words, SAVE_WORDS_BYTES, "not there yet");
	else if (look.found == SAVE_FOUND_WHOLE)
		snprintf(words, SAVE_WORDS_BYTES, "%llu items would be loaded",
			 (unsigned long long)look.head.items);
	else
		snprintf(words, SAVE_WORDS_BYTES, "would not be loaded: %.200s", look.words);
}
