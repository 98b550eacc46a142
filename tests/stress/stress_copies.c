/*
 * stress_copies.c - checks by each key's history that a front with copies behaves as one cache.
 *
 * Goal:   however reads, writes, flushes, forgetting and lost connections of two cores overlap,
 *         each key's answers have an order: lib/copies keeps all rules of COHERENCE.md.
 * Method: the product's copies and versions on a store, and a model of their surroundings: clients,
 *         fetches, a connection of each core to a server that answers in order, late, and
 *         forgets. All of it runs in one thread, a random step at a time; at the gaps inside a
 *         rule the other core has its steps. Histories are judged by linear.h. A failing seed is
 *         printed.
 *
 * stress_copies [caught] [seeds [first]]: with "caught" a rule is broken, and the run must fail.
 */
#include "linear.h"

#include "base/check.h"
#include "copies/copies.h"
#include "image/store_image.h"

#include <stdlib.h>
#include <string.h>

#define CORES        2u
#define CLIENTS      6u
#define KEYS         3u /* two of these have one version word */
#define CALLS_MAX    60u
#define REQUESTS     (2 * CALLS_MAX)
#define STEPS_MAX    20000u
#define SEEDS        400u
#define CAUGHT_SEEDS 20000u
#define MEMORY       (16u << 20)
#define NAMES        1000000u /* among this many names, two have one version word */
#define NEVER        (UINT64_MAX / 2)

void stress_gap(void);

enum what { READ, WRITE, FLUSH };
enum stage { QUEUED, SENT, EXECUTED, LOST, OVER };

/* A request of a core to the server. */
struct request {
	enum what what;
	enum stage stage;
	uint32_t core, key;
	uint64_t lease;
	struct version seen;
	struct call *asker[CLIENTS];
	uint32_t askers;
	bool held;  /* the next fetch, which waits for the one under way */
	bool alone; /* a gets, not a fetch: its copy replaces one without a cas */
	/* the server's answer */
	bool there;
	enum store_result result;
	uint32_t len, flags;
	char value[HISTORY_ARGUMENT];
};

struct value {
	bool there;
	uint32_t len, flags;
	char bytes[HISTORY_ARGUMENT];
};

static struct {
	struct store *store;
	struct copies_shared shared;
	struct copies copies[CORES];
	struct copy_key key[KEYS];
	char name[KEYS][16];
	struct value server[KEYS];
	struct request request[REQUESTS];
	uint32_t requests;
	struct call call[CALLS_MAX];
	uint32_t calls;
	struct call *now[CLIENTS]; /* the client's call that is not answered yet */
	bool gone[CLIENTS];        /* its last call has no answer */
	bool unheard[CALLS_MAX];   /* reads without an answer, which prove nothing */
	uint64_t tick, random;
	uint32_t core; /* the core whose step it is */
	bool in_gap, lost;
	bool slow; /* replies of core 0 arrive late */
	bool late; /* lost writes are executed between a fetch's execution and its reply */
	bool sure; /* the server has done all writes of an earlier process */
	struct request *former; /* a write of an earlier process; NULL: none */
	uint32_t flushes;       /* of 100 calls */
	uint32_t reads;         /* of 100 calls */
	uint32_t forgets;       /* of 64 steps */
} w;

static uint32_t
below(uint32_t n)
{
	w.random = w.random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((w.random >> 32) * n >> 32);
}

static struct store_core *
core_of(uint32_t core)
{
	return w.copies[core].store;
}

/* ---- answers ---- */

static void
answer(struct call *c, enum store_result result, const void *got, uint32_t len, uint32_t flags)
{
	c->result = result;
	c->returned = ++w.tick;
	c->got_no_cas = true;
	c->got_len = len;
	c->got_flags = flags;
	if (len != 0)
		memcpy(c->got, got, len);
	w.now[c->thread] = NULL;
}

/* Ends a call without an answer. A write may take effect at any time, or never: its return is
 * after all others. A read proves nothing. */
static void
unheard(struct call *c)
{
	c->returned = NEVER + ++w.tick;
	c->result = c->kind == CALL_DELETE ? STORE_NOT_FOUND : STORE_OK;
	w.unheard[c - w.call] = c->kind == CALL_GET;
	w.now[c->thread] = NULL;
	w.gone[c->thread] = true;
}

/* ---- fetches ---- */

/* Returns the fetch of this core and key: the one under way or, if held, the waiting one. */
static struct request *
fetch_of(uint32_t core, uint32_t key, bool held)
{
	for (uint32_t i = 0; i < w.requests; i++) {
		struct request *r = &w.request[i];

		if (r->what == READ && r->core == core && r->key == key && r->held == held &&
		    !r->alone && r->stage <= EXECUTED)
			return r;
	}
	return NULL;
}

static struct request *
request_new(enum what what, uint32_t core, uint32_t key, struct call *asker)
{
	struct request *r = &w.request[w.requests++];

	ensure(w.requests < REQUESTS);
	*r = (struct request){
		.what = what, .core = core, .key = key, .asker = {asker}, .askers = 1};
	return r;
}

static void
join(struct request *r, struct call *asker)
{
	r->asker[r->askers++] = asker;
}

static void
fetch_begin(struct request *r)
{
	uint32_t tells = r->alone ? COPY_SHOWS_CAS : 0;

	r->held = false;
	r->lease = w.sure ? copy_lease(&w.copies[r->core], &w.key[r->key], &tells) : 0;
}

static void
read_start(struct call *c, uint32_t core)
{
	const struct copy_key *key = &w.key[c->key];
	const struct item *it = store_get(core_of(core), key->name, key->hash);
	struct request *first = fetch_of(core, c->key, false), *next = fetch_of(core, c->key, true);
	char value[HISTORY_ARGUMENT];
	const enum copy_kind kind = it != NULL ? copy_kind(it) : COPY_LEASE;
	const bool alone = below(5) == 0;

	if (kind == COPY_MISS) {
		answer(c, STORE_NOT_FOUND, NULL, 0, 0);
	} else if (kind != COPY_LEASE && (!alone || copy_has_cas(it))) {
		const struct view v = store_value_at(core_of(core), it, 0);

		memcpy(value, v.data, v.len);
		answer(c, STORE_OK, value, v.len, item_flags(it));
	} else if (alone) {
		struct request *r = request_new(READ, core, c->key, c);

		r->alone = true;
		fetch_begin(r);
	} else if (first == NULL) {
		fetch_begin(request_new(READ, core, c->key, c));
	} else if (first->stage == QUEUED ||
		   version_is_current_mt(w.shared.versions, key->hash, &first->seen)) {
		join(first, c);
	} else if (next != NULL) {
		join(next, c);
	} else {
		request_new(READ, core, c->key, c)->held = true;
	}
}

static void
fetch_end(struct request *r)
{
	struct request *next = fetch_of(r->core, r->key, true);

	r->stage = OVER;
	if (next != NULL && !r->alone)
		fetch_begin(next);
}

static void
read_answered(struct request *r)
{
	const struct copy_key *key = &w.key[r->key];
	struct copies *copies = &w.copies[r->core];
	struct fill value;

	if (r->there && !w.sure)
		copy_unfenced(copies, key);
	if (!r->there) {
		copy_miss(copies, key, r->lease);
	} else if (r->lease != 0 && store_begin(copies->store, &value, key->name, key->hash, r->len,
						r->flags, 0) == STORE_OK) {
		store_fill(copies->store, &value, r->value, r->len);
		copy_publish(copies, key, r->lease,
			     &(struct copy_fetched){.value = value.item,
						    .kind = COPY_VALUE,
						    .has_cas = r->alone,
						    .cas = w.tick});
		store_abandon(copies->store, &value);
	} else if (r->lease != 0) {
		copy_release(copies, key, r->lease);
	}
	for (uint32_t i = 0; i < r->askers; i++)
		answer(r->asker[i], r->there ? STORE_OK : STORE_NOT_FOUND, r->value, r->len,
		       r->flags);
	fetch_end(r);
}

/* ---- writes ---- */

static void
write_start(struct call *c, uint32_t core)
{
	struct request *r;
	uint64_t lease;

	ensure(copy_write_begin(&w.copies[core], &w.key[c->key], c->kind == CALL_SET && w.sure,
				&lease));
	r = request_new(WRITE, core, c->key, c);
	r->lease = lease;
}

static void
write_end(struct request *r, bool known)
{
	const uint64_t hash = w.key[r->key].hash;

	r->stage = known ? OVER : LOST;
	if (known)
		version_write_end_mt(w.shared.versions, hash);
	else
		version_write_lost_mt(w.shared.versions, hash);
}

static void
write_answered(struct request *r)
{
	const struct copy_key *key = &w.key[r->key];
	struct copies *copies = &w.copies[r->core];
	const struct call *c = r->asker[0];
	struct fill value;

	if (r->lease != 0 && store_begin(copies->store, &value, key->name, key->hash, c->len,
					 c->flags, 0) == STORE_OK) {
		store_fill(copies->store, &value, c->bytes, c->len);
		copy_exchange(copies, key, r->lease, &value);
	} else if (r->lease != 0) {
		copy_release(copies, key, r->lease);
	}
	stress_gap();
	write_end(r, true);
	answer(r->asker[0], r->result, NULL, 0, 0);
}

static void
flush_start(struct call *c, uint32_t core)
{
	versions_flush_begin_mt(w.shared.versions);
	ensure(store_flush(core_of(core), STORE_CLOCK_START) == STORE_OK);
	request_new(FLUSH, core, 0, c);
}

/* ---- the server ---- */

static void
execute_write(const struct call *c, struct request *r)
{
	struct value *v = &w.server[c->key];
	const bool there = v->there;

	r->result = c->kind == CALL_DELETE && !there ? STORE_NOT_FOUND
		    : c->kind == CALL_ADD && there   ? STORE_NOT_STORED
						     : STORE_OK;
	if (r->result != STORE_OK)
		return;
	*v = (struct value){.there = c->kind != CALL_DELETE, .len = c->len, .flags = c->flags};
	memcpy(v->bytes, c->bytes, c->len);
}

static void
execute(struct request *r)
{
	const struct value *v = &w.server[r->key];

	if (r->what == FLUSH)
		memset(w.server, 0, sizeof w.server);
	else if (r->what == WRITE)
		execute_write(r->asker[0], r);
	r->there = v->there;
	r->len = v->len;
	r->flags = v->flags;
	memcpy(r->value, v->bytes, v->len);
}

/* Returns the first request of this core's connection that is at this stage. */
static struct request *
first_at(uint32_t core, enum stage stage)
{
	for (uint32_t i = 0; i < w.requests; i++)
		if (w.request[i].core == core && w.request[i].stage == stage && !w.request[i].held)
			return &w.request[i];
	return NULL;
}

/* ---- steps ---- */

static void
send_step(uint32_t core)
{
	struct request *r = first_at(core, QUEUED);

	if (r == NULL)
		return;
	r->seen = version_load_mt(w.shared.versions, w.key[r->key].hash);
	r->stage = SENT;
}

static void
server_step(uint32_t core)
{
	struct request *r = first_at(core, SENT);

	if (r == NULL)
		return;
	execute(r);
	r->stage = EXECUTED;
}

static void
reply_step(uint32_t core)
{
	struct request *r = first_at(core, EXECUTED);

	if (r == NULL)
		return;
	if (r->what == READ) {
		read_answered(r);
	} else if (r->what == WRITE) {
		write_answered(r);
	} else {
		versions_flush_end_mt(w.shared.versions);
		r->stage = OVER;
		answer(r->asker[0], STORE_OK, NULL, 0, 0);
	}
}

/* Ends the core's connection. Requests that were sent may still be executed by the server. */
static void
connection_end(uint32_t core)
{
	for (uint32_t i = 0; i < w.requests; i++) {
		struct request *r = &w.request[i];
		const bool executed = r->stage == EXECUTED;

		if (r->core != core || (r->stage != SENT && !executed))
			continue;
		for (uint32_t k = 0; k < r->askers; k++)
			unheard(r->asker[k]);
		if (r->lease != 0)
			copy_release(&w.copies[core], &w.key[r->key], r->lease);
		if (r->what == READ) {
			fetch_end(r);
			continue;
		}
		if (r->what == WRITE)
			write_end(r, false);
		else
			versions_flush_end_mt(w.shared.versions);
		r->stage = executed ? OVER : LOST;
	}
}

/* True if a fetch of the key has a value that its core has not received yet. */
static bool
is_answered_late(uint32_t key)
{
	for (uint32_t core = 0; core < CORES; core++) {
		const struct request *fetch = fetch_of(core, key, false);

		if (fetch != NULL && fetch->stage == EXECUTED && fetch->there)
			return true;
	}
	return false;
}

static void
late_step(void)
{
	for (uint32_t i = 0; i < w.requests; i++)
		if (w.request[i].stage == LOST &&
		    (w.late ? is_answered_late(w.request[i].key) : below(4) == 0)) {
			execute(&w.request[i]);
			w.request[i].stage = OVER;
			return;
		}
}

/* Begins a set by an earlier process. */
static void
former_begin(void)
{
	struct call *c = &w.call[w.calls++];

	*c = (struct call){.invoked = ++w.tick,
			   .thread = CLIENTS,
			   .kind = CALL_SET,
			   .now_s = STORE_CLOCK_START,
			   .len = 6,
			   .bytes = "former"};
	w.former = request_new(WRITE, 0, 0, c);
	w.former->stage = OVER;
	c->returned = NEVER + ++w.tick;
	c->result = STORE_OK;
}

static void
former_step(void)
{
	const struct request *fetch = fetch_of(w.slow ? 0 : w.core, 0, false);

	/* The earlier process's write is executed between the server's answer to a fetch and its
	 * arrival, when a mistake would show. */
	if (w.former != NULL) {
		if (fetch == NULL || fetch->stage != EXECUTED || !fetch->there || below(8) != 0)
			return;
		execute(w.former);
		w.former = NULL;
	}
	if (below(32) != 0)
		return;
	copies_fenced(&w.copies[w.core]);
	stress_gap();
	w.sure = true;
}

static void
call_step(uint32_t core)
{
	const uint32_t client = core + CORES * below(CLIENTS / CORES), n = w.calls;
	struct call *c = &w.call[n];
	const uint32_t what = below(100);

	if (n == CALLS_MAX || w.now[client] != NULL || w.gone[client])
		return;
	w.calls++;
	*c = (struct call){.invoked = ++w.tick,
			   .thread = client,
			   .key = below(8) < 6 ? 0 : below(KEYS),
			   .now_s = STORE_CLOCK_START};
	w.now[client] = c;
	c->kind = what < w.flushes ? CALL_FLUSH
		  : what < w.reads ? CALL_GET
		  : what < 88      ? CALL_SET
		  : what < 93      ? CALL_ADD
				   : CALL_DELETE;
	c->flags = c->kind == CALL_SET ? n % 2 : 0;
	if (c->kind == CALL_SET || c->kind == CALL_ADD)
		c->len = (uint32_t)snprintf(c->bytes, sizeof c->bytes, "v%u", n);
	if (c->kind == CALL_GET)
		read_start(c, core);
	else if (c->kind == CALL_FLUSH)
		flush_start(c, core);
	else
		write_start(c, core);
}

static void
core_step(uint32_t core)
{
	switch (below(8)) {
	case 0 ... 2:
		call_step(core);
		break;
	case 3 ... 4:
		send_step(core);
		break;
	default:
		if (core != 0 || !w.slow || below(6) == 0)
			reply_step(core);
	}
}

static void
world_step(void)
{
	const uint32_t core = w.core = below(CORES);

	if (below(64) < w.forgets)
		w.server[below(KEYS)].there = false;
	if (!w.sure)
		former_step();
	if (w.late)
		late_step();
	switch (below(64)) {
	case 0:
		late_step();
		break;
	case 1:
		if (w.lost && below(w.late ? 2 : 6) == 0)
			connection_end(core);
		break;
	case 2 ... 40:
		core_step(core);
		break;
	default:
		server_step(core);
	}
}

/* Runs steps of the other core inside a rule of one core. */
void
stress_gap(void)
{
	const uint32_t other = 1 - w.core;

	if (w.in_gap || below(2) == 0)
		return;
	w.in_gap = true;
	for (uint32_t n = below(12); n > 0; n--) {
		if (below(2) == 0)
			server_step(below(CORES));
		else
			core_step(other);
	}
	w.in_gap = false;
}

/* ---- a run ---- */

static void
world_reset(uint64_t seed)
{
	versions_init(w.shared.versions);
	for (uint32_t i = 0; i < KEYS; i++)
		store_delete(core_of(0), w.key[i].name, w.key[i].hash);
	memset(w.server, 0, sizeof w.server);
	memset(w.now, 0, sizeof w.now);
	memset(w.gone, 0, sizeof w.gone);
	memset(w.unheard, 0, sizeof w.unheard);
	w.requests = w.calls = 0;
	w.tick = 0;
	w.random = seed;
	w.lost = seed % 2 == 0;
	w.slow = seed % 3 == 1 || seed % 4 == 1;
	w.flushes = seed % 4 == 0 ? 20 : 4;
	w.forgets = seed % 5 == 0 ? 6 : 1;
	w.sure = seed % 4 != 1;
	w.late = seed % 8 == 6;
	w.reads = w.sure ? 70 : 85;
	w.former = NULL;
	if (!w.sure)
		former_begin();
}

static bool
all_answered(void)
{
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (w.now[i] != NULL)
			return false;
	return true;
}

static bool
anybody_here(void)
{
	for (uint32_t i = 0; i < CLIENTS; i++)
		if (!w.gone[i])
			return true;
	return false;
}

static bool
judge(uint32_t key)
{
	struct linear *l = linear_new();
	bool ok;

	ok = linear_judge_key(l, w.call, w.unheard, w.calls, key);
	linear_free(l);
	return ok;
}

/* True if no copy is longer for the number of a lease. */
static bool
copies_are_short(void)
{
	for (uint32_t i = 0; i < KEYS; i++) {
		const struct item *it = store_peek(core_of(0), w.key[i].name, w.key[i].hash);

		if (it != NULL && (it->cas_form & ITEM_HAS_LONG) != 0 &&
		    copy_kind(it) >= COPY_VALUE && !copy_has_cas(it))
			return false;
	}
	return true;
}

static bool
run(uint64_t seed)
{
	bool ok = true;

	world_reset(seed);
	for (uint32_t i = 0; i < STEPS_MAX && (w.calls < CALLS_MAX || !all_answered()); i++) {
		if (!anybody_here())
			break;
		world_step();
		store_turn(core_of(i % CORES), STORE_CLOCK_START);
	}
	ensure(all_answered());
	for (uint32_t i = 0; i < 4 * CORES; i++) {
		store_turn(core_of(i % CORES), STORE_CLOCK_START);
		store_housekeeping(core_of(i % CORES));
	}
	for (uint32_t key = 0; key < KEYS && ok; key++)
		ok = judge(key);
	if (ok && !copies_are_short()) {
		printf("a copy has a long number\n");
		ok = false;
	}
	if (!ok)
		printf("seed %llu\n", (unsigned long long)seed);
	return ok;
}

static void
world_create(void)
{
	const struct store_config cfg = {
		.memory_bytes = MEMORY, .cores = CORES, .value_max = 1u << 16, .seed = 7};
	struct region region = {.size = store_bytes(&cfg)};
	uint32_t key = 0;

	region.base = aligned_alloc(4096, region.size + 4096 - region.size % 4096);
	w.shared.versions = aligned_alloc(64, sizeof *w.shared.versions);
	ensure(region.base != NULL && w.shared.versions != NULL);
	memset(region.base, 0, region.size);
	w.store = store_create(&region, &cfg);
	for (uint32_t i = 0; i < CORES; i++)
		copies_init(&w.copies[i], &w.shared, store_core_of(w.store, i), i);
	for (uint32_t n = 0; n < NAMES && key < KEYS; n++) {
		const uint32_t len = (uint32_t)snprintf(w.name[key], sizeof w.name[key], "k%u", n);
		const struct view name = {(const uint8_t *)w.name[key], len};
		const uint64_t hash = store_hash(core_of(0), name);

		if (key == 1 && (hash ^ w.key[0].hash) % VERSION_WORDS != 0)
			continue;
		w.key[key++] = (struct copy_key){.name = name, .hash = hash};
	}
	ensure(key == KEYS);
}

int
main(int argc, char **argv)
{
	const bool caught = argc > 1 && strcmp(argv[1], "caught") == 0;
	const uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 10)
			       : caught ? CAUGHT_SEEDS
					: SEEDS,
		       first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;

	world_create();
	for (uint64_t seed = first; seed < first + seeds; seed++)
		if (!run(seed))
			return caught ? 0 : 1;
	return caught ? 1 : 0;
}
