/*
 * stress_tier.c - checks by each key's history that a store over a shard of the tier is one
 * cache.
 *
 * Goal:   however calls, evictions, promotions, flushes, lost segments and faults of the device
 *         overlap, no answer is a stale copy (lib/flash/FLASH.md).
 * Method: the product's shard, log and index on a device of memory, a model of the store's side,
 *         two cores and the tier's thread as fibres that change at any gap. Histories are judged
 *         by linear.h. A failing seed is printed.
 *
 * stress_tier [caught] [seeds [first]]: with "caught" a rule is broken, and the run must fail.
 */
#include "caught.h"
#include "linear.h"
#include "tier_world.h"

#include <stdlib.h>
#include <string.h>

#define CALLS_MAX    60u
#define STEPS_MAX    20000u
#define SEEDS        700u
#define CAUGHT_SEEDS 200000u
#define CAUGHT_FIRST 100000u /* the first of a mutant's seeds; some 2,000 show any broken rule */
#define COPIES       20u     /* of 1000 steps, those that check a copy of the state */
#define NEVER        (UINT64_MAX / 2)
#define TURNS        20u /* of 100 starts on a core */
#define RESTS        60u /* of 1000 starts, those that begin a rest */
#define REST         250u
#define THREAD       TIER_CORES /* the fibre of the tier's thread */

static struct {
	struct call call[CALLS_MAX + TIER_KEYS];
	uint32_t calls;
	uint64_t tick;
	uint32_t flushes, evictions, fills, turns; /* of 100 starts or calls */
	uint32_t rest;                             /* remaining starts without a call */
	uint32_t until;                            /* the stage of a conversion that ends a rest */
	uint64_t columns;
	uint32_t burst; /* most gaps that a fibre runs through at a time */
	bool sleepy;
	bool killing;                        /* the process is killed now and then */
	bool cutting;                        /* instead of each kill, power is lost */
	uint32_t kills, killed;              /* kills: still to come; killed: done so far */
	bool unheard[CALLS_MAX + TIER_KEYS]; /* calls without an answer that changed nothing */
} h;

struct task {
	uint32_t core, what;
	struct call *call;
};
static struct task tasks[FIBRES_MAX];

static void
run_call(void *arg)
{
	const struct task *t = arg;

	tier_call(t->core, t->call);
	t->call->returned = ++h.tick;
}

static void
run_evict(void *arg)
{
	const struct task *t = arg;

	tier_evict(t->core, sim_below(&w.rng, TIER_KEYS));
}

static void
run_fill(void *arg)
{
	const struct task *t = arg;

	tier_fill(t->core);
}

static void
run_turn(void *arg)
{
	const struct task *t = arg;

	tier_turn(t->core);
}

static void
run_work(void *arg)
{
	tier_work();
}

static struct call *
new_call(uint32_t core, enum call_kind kind, uint32_t key)
{
	struct call *c = &h.call[h.calls++];

	*c = (struct call){.invoked = ++h.tick,
			   .kind = kind,
			   .thread = h.killed * TIER_CORES + core,
			   .key = key,
			   .flags = h.calls % 2 ? h.calls : 0,
			   .got_no_cas = true};
	if (kind == CALL_SET || kind == CALL_ADD || kind == CALL_APPEND)
		c->len = (uint32_t)snprintf(c->bytes, sizeof c->bytes, "v%u", h.calls);
	if (kind == CALL_APPEND || kind == CALL_GET)
		c->flags = 0;
	return c;
}

static void
start_call(uint32_t core)
{
	const uint32_t what = sim_below(&w.rng, 100);
	const enum call_kind kind = what < h.flushes         ? CALL_FLUSH
				    : what < 50              ? CALL_GET
				    : what < 70              ? CALL_SET
				    : what < 76              ? CALL_ADD
				    : what < 88 || h.killing ? CALL_DELETE
							     : CALL_APPEND;

	tasks[core].call = new_call(core, kind, sim_below(&w.rng, TIER_KEYS));
	fibre_begin(core, run_call, &tasks[core]);
}

/* True while no call may begin. Such a rest ends when a conversion has reached stage h.until, so
 * that calls meet one with evicted items in it. */
static bool
rests(void)
{
	const uint32_t stage = w.convert.stage;

	if (stage == h.until || tier_columns_made() > h.columns + 1)
		h.rest = 0;
	h.rest -= h.rest != 0;
	return h.rest != 0;
}

static void
rest(void)
{
	static const enum flash_convert_stage until[] = {
		FLASH_CONVERT_LIST,  FLASH_CONVERT_OLD,   FLASH_CONVERT_REINSERT,
		FLASH_CONVERT_BEGIN, FLASH_CONVERT_CHECK, FLASH_CONVERT_CHECK};
	const uint32_t drawn = sim_below(&w.rng, 2 + sizeof until / sizeof until[0]);

	h.rest = REST;
	h.columns = tier_columns_made();
	h.until = drawn < sizeof until / sizeof until[0] ? until[drawn] : UINT32_MAX;
}

static void
start(uint32_t fibre)
{
	const uint32_t what = sim_below(&w.rng, 100);

	tasks[fibre].core = fibre;
	tasks[fibre].call = NULL;
	if (fibre == THREAD)
		fibre_begin(fibre, run_work, &tasks[fibre]);
	else if (rests())
		fibre_begin(fibre,
			    what < 30   ? run_fill
			    : what < 35 ? run_evict
					: run_turn,
			    &tasks[fibre]);
	else if (what < h.evictions)
		fibre_begin(fibre, run_evict, &tasks[fibre]);
	else if (what < h.evictions + h.fills)
		fibre_begin(fibre, run_fill, &tasks[fibre]);
	else if (what < h.evictions + h.fills + h.turns)
		fibre_begin(fibre, run_turn, &tasks[fibre]);
	else if (h.calls < CALLS_MAX) {
		start_call(fibre);
		if (w.columns != 0 && sim_chance(&w.rng, RESTS))
			rest();
	}
}

static bool
all_idle(void)
{
	for (uint32_t i = 0; i < FIBRES_MAX; i++)
		if (!fibre_is_idle(i))
			return false;
	return true;
}

/* Ends a call without an answer, which may take effect at any time, or never. So it returns after
 * all others. */
static void
unheard(struct call *c)
{
	c->returned = NEVER + ++h.tick;
	c->result = c->kind == CALL_DELETE ? STORE_NOT_FOUND : STORE_OK;
	h.unheard[c - h.call] = c->kind == CALL_GET;
}

static void settle(void);

static bool
stop_and_cut(void)
{
	settle();
	h.kills--;
	h.killed++;
	return tier_cut(true);
}

static bool
kill_all(void)
{
	if (h.cutting && sim_chance(&w.rng, 500))
		return stop_and_cut();
	for (uint32_t i = 0; i < FIBRES_MAX; i++) {
		if (!fibre_is_idle(i) && tasks[i].call != NULL && tasks[i].call->returned == 0)
			unheard(tasks[i].call);
		fibre_kill(i);
	}
	h.kills--;
	h.killed++;
	return h.cutting ? tier_cut(false) : tier_kill(sim_chance(&w.rng, 500));
}

static bool
step(void)
{
	const uint32_t drawn = sim_below(&w.rng, TIER_CORES + 1);
	/* Core 1 hardly runs in a sleepy run, as if it had lost its CPU. */
	const uint32_t fibre = h.sleepy && drawn == 1 && sim_chance(&w.rng, 970) ? 0 : drawn;

	tier_poll();
	if (h.kills != 0 && sim_chance(&w.rng, 4) && !kill_all())
		return false;
	if (fibre_is_idle(fibre) && sim_chance(&w.rng, 500))
		start(fibre);
	if (!fibre_is_idle(fibre))
		fibre_run(fibre, 1 + sim_below(&w.rng, h.burst));
	return true;
}

/* Runs until all transfers and calls have ended. */
static void
settle(void)
{
	for (uint32_t i = 0; i < STEPS_MAX && !all_idle(); i++) {
		tier_poll();
		if (!fibre_is_idle(i % FIBRES_MAX))
			fibre_run(i % FIBRES_MAX, 1);
	}
	ensure(all_idle());
}

static bool
judge(uint32_t key)
{
	struct linear *l = linear_new();
	bool ok;

	linear_begin_empty(l);
	ok = linear_judge_key(l, h.call, h.unheard, h.calls, key);
	linear_free(l);
	return ok;
}

static bool
run(uint64_t seed)
{
	bool ok = true;

	tier_begin(seed);
	tier_cut_begin(seed);
	memset(&h, 0, sizeof h);
	h.flushes = sim_chance(&w.rng, 500) ? 0 : 8;
	h.evictions = 15 + sim_below(&w.rng, 30);
	h.fills = sim_below(&w.rng, 35);
	h.turns = TURNS;
	if (w.columns != 0) {
		h.evictions = 15 + sim_below(&w.rng, 15);
		h.fills = 5 + sim_below(&w.rng, 15);
		h.turns = 25;
	}
	h.burst = sim_chance(&w.rng, 500) ? 1 : 1 + sim_below(&w.rng, 40);
	h.sleepy = sim_chance(&w.rng, 400);
	h.killing = sim_chance(&w.rng, 700);
	h.cutting = h.killing && sim_chance(&w.rng, 250);
	h.kills = h.killing ? 1 + sim_below(&w.rng, 2) : 0;
	for (uint32_t i = 0; i < STEPS_MAX && h.calls < CALLS_MAX && ok; i++) {
		ok = step();
		if (ok && sim_chance(&w.rng, COPIES))
			ok = tier_copy_has_no_more();
	}
	settle();
	for (uint32_t key = 0; key < TIER_KEYS && ok; key++) {
		tasks[0].call = new_call(0, CALL_GET, key);
		fibre_begin(0, run_call, &tasks[0]);
		settle();
	}
	for (uint32_t key = 0; key < TIER_KEYS && ok; key++)
		ok = judge(key);
	if (ok && !tier_read_all()) {
		printf("something cannot be read\n");
		ok = false;
	}
	if (!ok)
		printf("seed %llu\n", (unsigned long long)seed);
	return ok;
}

int
main(int argc, char **argv)
{
	const bool caught = argc > 1 && strcmp(argv[1], "caught") == 0;
	const uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 10)
			       : caught ? CAUGHT_SEEDS
					: SEEDS,
		       first = argc > 3 ? strtoull(argv[3], NULL, 10)
			       : caught ? CAUGHT_FIRST
					: 1;

	if (caught)
		crash_is_harm();
	tier_create();
	tier_kill_create();
	for (uint64_t done = 0; done < seeds; done++)
		if (!run(first + done)) {
			printf("after %llu seeds\n", (unsigned long long)done + 1);
			return caught ? 0 : 1;
		}
	tier_print();
	tier_kill_print();
	tier_cut_print();
	return caught ? 1 : 0;
}
