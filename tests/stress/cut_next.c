/*
 * cut_next.c - another process continues with the image that a store was cut off with. Some
 * successors are cut off while they open it: a third process then opens the image.
 */
#include "cut_catch.h"
#include "cut_run.h"

#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SUCCESSOR_CALLS  40u
#define SUCCESSOR_S      2u  /* limit of CPU; a successor takes milliseconds */
#define WATCHED_S        60u /* limit of CPU of one that is cut off many times; it takes seconds */
#define SLEEPS_S         200u
#define WATCHED_OF       61u /* one successor in this many is cut off amid the opening */
#define OPENING_OF       1499u
#define OPENING_PAGES_OF 251u /* cuts between two while pages are rebuilt */

/* An image that is being opened, or created empty. */
struct watch {
	struct run *run;
	uint8_t *image;
	struct reopened next;
	bool valid; /* created empty: the bytes are a valid image by now */
};

static void
be_judged(struct run *r, const char *what)
{
	if (what != NULL)
		lie(r, what);
}

/* Checks the state of a successor, and continues the model with the version of
 * each key that is there. */
static void
judge(struct run *r, struct reopened *next)
{
	bool moving;

	be_judged(r, reopen_look_at_pages(next->store));
	be_judged(r, look_at_index(next->store, &r->model, &moving));
	r->store = next->store;
	for (uint32_t i = 0; i < writers_of(r); i++)
		r->writers[i].core = store_core_of(next->store, i);
	watch_evictions(r);
	be_judged(r, look_up_all(r->w->core, &r->model));
	be_judged(r, next->report.lost != 0 ? "items are lost" : NULL);
	for (uint32_t key = 0; key < MODEL_KEYS; key++) {
		struct model_key *k = &r->model.keys[key];
		const struct view name = model_name(key);
		const struct item *it = store_peek(r->w->core, name, store_hash(r->w->core, name));

		if (k->pending)
			model_acknowledge(
				&r->model, key,
				!model_allows_now(&r->model, key, r->w->core, it, r->now_s));
	}
	settle(r);
	r->model.flushing = 0;
	r->due_generation = (uint32_t)(atomic_load(&r->store->due_flush) >> 32);
}

/* Makes calls on an opened image, and ends the process. */
static void
go_on(struct run *r, struct reopened *next)
{
	if (next->store == NULL)
		lie(r, store_image_fault_words(next->report.fault));
	judge(r, next);
	r->w = &r->writers[0];
	r->amid = 0;
	for (r->call = 1; r->call <= SUCCESSOR_CALLS; r->call++) {
		bool moving;

		one_call(r);
		be_judged(r, look_at_index(r->store, &r->model, &moving));
		be_judged(r, look_up_all(r->w->core, &r->model));
	}
	_exit(0);
}

/* Limits a process that hangs: by its CPU time, which does not depend on the machine's load, and by
 * a clock if it takes none. */
static void
end_after(uint32_t cpu_s)
{
	const struct itimerval left = {.it_value = {.tv_sec = cpu_s}};

	ensure(setitimer(ITIMER_PROF, &left, NULL) == 0);
	alarm(SLEEPS_S);
}

/* Forks a successor, in which only the image is valid. Returns 0 in it, and its number here. */
static pid_t
fork_successor(struct run *r)
{
	const pid_t child = fork();

	ensure(child >= 0);
	if (child != 0)
		return child;
	end_after(SUCCESSOR_S);
	r->is_successor = true;
	r->alone++;
	catch_end();
	return 0;
}

static void
wait_for(struct run *r, pid_t child)
{
	int status;

	ensure(waitpid(child, &status, 0) == child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	lie(r, WIFEXITED(status) ? "a successor lied" : "a successor fell over");
}

/* ---- cut off amid the opening ---- */

static bool
is_chosen(const struct watch *w)
{
	const struct run *r = w->run;
	struct store_open_report report = {.phase = STORE_OPEN_CHECK};

	if (w->next.open != NULL)
		store_open_report_mt(w->next.open, &report);
	return (r->shared->opening_cuts + r->cuts) %
		       (report.phase == STORE_OPEN_PAGES ? OPENING_PAGES_OF : OPENING_OF) ==
	       0;
}

static void
on_opening_cut(void *arg)
{
	struct watch *w = arg;
	struct run *r = w->run;
	struct reopened third;
	pid_t child;

	r->shared->opening_cuts++;
	if (!is_chosen(w))
		return;
	r->shared->third++;
	child = fork_successor(r);
	if (child != 0) {
		wait_for(r, child);
		return;
	}
	memset(w->next.beside, 0xa5, w->next.beside_bytes);
	r->w->doing = "an opening";
	reopen_at(&third, w->image, &r->cfg, r->now_s);
	go_on(r, &third);
}

static void
open_watched(struct watch *w)
{
	struct run *r = w->run;

	r->shared->openings++;
	end_after(WATCHED_S);
	catch_stores(w->image, r->cfg.memory_bytes, on_opening_cut, w);
	catch_close();
	reopen_at(&w->next, w->image, &r->cfg, r->now_s);
	catch_end();
	end_after(SUCCESSOR_S);
}

/* ---- cut off ---- */

void
succeed(struct run *r)
{
	static struct watch w;
	struct store *st = r->store;
	const bool watched = ++r->successors % WATCHED_OF == 0;
	const pid_t child = fork_successor(r);

	if (child != 0) {
		wait_for(r, child);
		return;
	}
	memset(r->beside, 0xa5, r->beside_bytes);
	w = (struct watch){.run = r, .image = reopen_image_of(st)};
	st->ix.buckets = NULL;
	st->ix.arena = NULL;
	st->arena.base = NULL;
	st->cores = NULL;
	if (watched)
		open_watched(&w);
	else
		reopen_at(&w.next, w.image, &r->cfg, r->now_s);
	/* A graceful stop has made its last store: leave() checks that state. */
	if (w.next.look.kind == STORE_IMAGE_CLEAN && strcmp(r->w->doing, "leaving") == 0)
		_exit(0);
	if (w.next.look.kind != STORE_IMAGE_DIRTY)
		lie(r, "it was cut off, and is not to be repaired");
	go_on(r, &w.next);
}

/* ---- left in order ---- */

/* An empty image is being created over another one. At each cut the bytes are no image or the new
 * one. */
static void
on_empty_cut(void *arg)
{
	struct watch *w = arg;
	struct run *r = w->run;
	struct store_image_look look;
	struct reopened next;
	pid_t child;

	store_image_look(w->image, &r->cfg, &look);
	if (w->valid && look.kind == STORE_IMAGE_EMPTY)
		lie(r, "a new image is none any more");
	if (w->valid || look.kind == STORE_IMAGE_EMPTY)
		return;
	w->valid = true;
	child = fork_successor(r);
	if (child != 0) {
		wait_for(r, child);
		return;
	}
	for (uint32_t key = 0; key < MODEL_KEYS; key++)
		r->model.keys[key].now.there = r->model.keys[key].pending = false;
	reopen_at(&next, w->image, &r->cfg, r->now_s);
	be_judged(r, next.store == NULL ? "a new image is refused" : NULL);
	be_judged(r, look_up_all(store_core_of(next.store, 0), &r->model));
	_exit(0);
}

static void
begin_empty(struct run *r)
{
	static struct watch w;
	struct region region = {.size = store_private_bytes(&r->cfg)};
	void *const beside = aligned_alloc(CACHE_LINE_BYTES, align_up(region.size, 64));

	region.base = beside;
	w = (struct watch){.run = r, .image = reopen_copy(r->store, &r->cfg)};
	r->w->doing = "an empty begin";
	catch_stores(w.image, r->cfg.memory_bytes, on_empty_cut, &w);
	catch_close();
	store_create_in(&region, w.image, &r->cfg);
	catch_end();
	if (!w.valid)
		lie(r, "a new image is none");
	munmap(w.image, r->cfg.memory_bytes);
	free(beside);
}

/* Opens an image that was left, with the checks that follow a cut. */
static void
attach_watched(struct run *r)
{
	static struct watch w;
	const pid_t child = fork_successor(r);

	if (child != 0) {
		wait_for(r, child);
		return;
	}
	w = (struct watch){.run = r, .image = reopen_copy(r->store, &r->cfg)};
	open_watched(&w);
	go_on(r, &w.next);
}

void
leave(struct run *r)
{
	struct reopened next;
	bool moving;

	r->w->doing = "leaving";
	for (uint32_t i = 0; i < writers_of(r); i++)
		store_offline(r->writers[i].core);
	if (!store_image_leave(r->store))
		lie(r, "it cannot be left");
	catch_end();
	attach_watched(r);
	begin_empty(r);
	r->w->doing = "leaving";
	reopen(&next, r->store, &r->cfg, r->now_s);
	if (next.store == NULL || next.report.checksums_wrong)
		lie(r, "it is not opened as it was left");
	be_judged(r, reopen_look_at_pages(next.store));
	be_judged(r, look_at_index(next.store, &r->model, &moving));
	be_judged(r, look_up_all(store_core_of(next.store, 0), &r->model));
	reopen_end(&next);
}
