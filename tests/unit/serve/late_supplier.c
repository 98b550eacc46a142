#include "late_supplier.h"

#include "support/test.h"
#include "store/conditional.h"

#include <stdlib.h>

#define ASKS_MAX 8192u /* open, or their answers on their way */

enum ask_state {
	ASK_NONE,
	ASK_OPEN,
	ASK_FORGOTTEN, /* its answer comes all the same */
	ASK_TAKEN,     /* its item is in use */
};

struct ask {
	enum ask_state state;
	uint64_t ticket, due;
	char key[16];
	uint32_t key_len;
	struct fill fill;
};

struct late {
	struct rig *rig;
	struct late_config cfg;
	uint64_t rng, turn, asked, stale, answered;
	bool hold;
	uint32_t used; /* no ask stands behind so many */
	void *memory;
	struct ask asks[ASKS_MAX];
	uint64_t tickets[1u << 16]; /* the last one of each slot */
};

static uint32_t
below(struct late *late, uint32_t n)
{
	late->rng = late->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(late->rng >> 33) % n;
}

/* ---- what a key has ---- */

static uint32_t
number_of(const struct ask *a)
{
	return (uint32_t)strtoul(a->key + 1, NULL, 10);
}

static uint32_t
length_of(uint32_t n)
{
	return n % 7 == 3 ? 1024 + n * 397 % 9000 : n * 31 % 900;
}

static void
value_make(struct late *late, struct ask *a)
{
	static uint8_t bytes[16384];
	const struct view key = {(const uint8_t *)a->key, a->key_len};
	const uint32_t n = number_of(a), len = a->key[0] == 'v' ? 6 : length_of(n);
	struct store_core *sc = late->rig->core;

	if (a->key[0] == 'v')
		snprintf((char *)bytes, sizeof bytes, "%06u", (uint32_t)late->answered);
	else
		for (uint32_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)('a' + (n + i * 7) % 26);
	check_eq(store_begin(sc, &a->fill, key, store_hash(sc, key), len, n % 3, 0), STORE_OK);
	store_fill(sc, &a->fill, bytes, len);
}

static uint64_t
cas_of(const struct ask *a)
{
	return 1000 + number_of(a);
}

/* Published, so that what is pinned of it stays; and kept, or not. */
static void
value_end(struct late *late, struct ask *a, bool keep)
{
	struct store_core *sc = late->rig->core;
	const struct view key = {(const uint8_t *)a->key, a->key_len};
	const struct store_conditions as_is = {
		.mode = STORE_SET, .set_cas = true, .new_cas = cas_of(a)};

	if (!keep && a->fill.value_len < ITEM_PIN_MIN_BYTES) {
		store_abandon(sc, &a->fill);
		return;
	}
	check_eq(store_finish_with(sc, &a->fill, &as_is, &(const struct item *){NULL}), STORE_OK);
	if (!keep)
		store_delete(sc, key, store_hash(sc, key));
}

/* ---- the supplier ---- */

static uint32_t
lane(void *arg, struct view key, uint64_t hash)
{
	return (uint32_t)(hash % LATE_LANES);
}

static struct ask *
find(struct late *late, uint64_t ticket)
{
	for (uint32_t i = 0; i < late->used; i++)
		if (late->asks[i].state != ASK_NONE && late->asks[i].ticket == ticket)
			return &late->asks[i];
	fail_msg("no such ask");
	return NULL;
}

static void
ask(void *arg, const struct serve_ask *q)
{
	struct late *late = arg;
	struct ask *a = late->asks;

	check_eq(q->hash, store_hash(late->rig->core, q->key));
	check_eq(q->lane, q->hash % LATE_LANES);
	check(late->tickets[q->ticket & 0xffff] < q->ticket + 1);
	late->tickets[q->ticket & 0xffff] = q->ticket + 1;
	while (a->state != ASK_NONE)
		check(++a < late->asks + ASKS_MAX);
	check(q->key.len < sizeof a->key);
	*a = (struct ask){.state = ASK_OPEN,
			  .ticket = q->ticket,
			  .due = late->turn + 1 + below(late, late->cfg.delay_max + 1),
			  .key_len = q->key.len};
	memcpy(a->key, q->key.data, q->key.len);
	if (a - late->asks >= late->used)
		late->used = (uint32_t)(a - late->asks) + 1;
	late->asked++;
}

static void
answer(struct late *late, struct ask *a)
{
	struct serve_answer said = {.failed = a->key[0] == 'f', .cas = cas_of(a)};
	const bool here = a->key[0] == 'v' || (a->key[0] == 's' && number_of(a) % 5 != 0);
	const bool wanted = a->state == ASK_OPEN;

	late->answered++;
	if (here) {
		value_make(late, a);
		said.item = a->fill.item;
	}
	check_eq(serve_answer(late->rig->serve, a->ticket, &said), wanted);
	/* Once only. */
	check(!serve_answer(late->rig->serve, a->ticket, &said));
	late->stale += !wanted;
	a->state = here && wanted ? ASK_TAKEN : ASK_NONE;
	if (here && !wanted)
		value_end(late, a, false);
}

static void
poll(void *arg, uint64_t now_ns)
{
	struct late *late = arg;
	const uint32_t from = below(late, late->used + 1);

	if (late->hold)
		return;
	while (late->used > 0 && late->asks[late->used - 1].state == ASK_NONE)
		late->used--;
	for (uint32_t i = 0; i < late->used; i++) {
		struct ask *a = &late->asks[(from + i) % late->used];

		if (a->state != ASK_OPEN && a->state != ASK_FORGOTTEN)
			continue;
		if (a->due <= late->turn && (a->key[0] != 'd' || a->state == ASK_FORGOTTEN))
			answer(late, a);
	}
}

static void
forget(void *arg, uint64_t ticket)
{
	struct ask *a = find(arg, ticket);

	check_eq(a->state, ASK_OPEN);
	a->state = ASK_FORGOTTEN;
}

static void
release(void *arg, uint64_t ticket, const struct item *item)
{
	struct late *late = arg;
	struct ask *a = find(late, ticket);

	check_eq(a->state, ASK_TAKEN);
	check_ptr(item);
	check(item == a->fill.item);
	value_end(late, a, below(late, 10) < late->cfg.copies_of_ten);
	a->state = ASK_NONE;
}

/* ---- the test's ---- */

struct late *
late_create(const struct late_config *cfg)
{
	struct late *late = calloc(1, sizeof *late);
	const struct serve_supplier supplier = {
		.arg = late,
		.timeout_ns = LATE_TIMEOUT_NS,
		.lanes = LATE_LANES,
		.misses_on_failure = cfg->misses_on_failure,
		.lane = lane,
		.ask = ask,
		.poll = poll,
		.forget = forget,
		.release = release,
	};
	struct region region = {.size = serve_awaits_bytes() + CACHE_LINE_BYTES};

	late->cfg = *cfg;
	late->rng = cfg->seed;
	late->rig = rig_create();
	late->memory = region.base = calloc(1, region.size);
	serve_supplier_attach(&region, late->rig->serve, &supplier);
	return late;
}

void
late_pace(struct late *late, uint32_t delay_max, uint32_t copies_of_ten)
{
	late->cfg.delay_max = delay_max;
	late->cfg.copies_of_ten = copies_of_ten;
}

void
late_destroy(struct late *late)
{
	for (uint32_t i = 0; i < ASKS_MAX; i++)
		check(late->asks[i].state == ASK_NONE);
	check_eq(serve_awaits_open(late->rig->serve), 0);
	rig_destroy(late->rig);
	free(late->memory);
	free(late);
}

struct rig *
late_rig(struct late *late)
{
	return late->rig;
}

void
late_turn(struct late *late)
{
	late->turn++;
	late->rig->clock.now_ns += LATE_TURN_NS;
	rig_turn(late->rig);
}

void
late_hold(struct late *late, bool hold)
{
	late->hold = hold;
}

uint64_t
late_asked(const struct late *late)
{
	return late->asked;
}

uint64_t
late_stale(const struct late *late)
{
	return late->stale;
}
