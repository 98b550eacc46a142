/*
 * hot_keys.c - takes samples into sets, copies names under sequence locks, and makes lists of
 * several cores' keys.
 */
#include "hot_keys.h"

#include "base/time_units.h"

#include <stdlib.h>
#include <string.h>

#define LOAD(word)         atomic_load_explicit(&(word), memory_order_relaxed)
#define STORE(word, value) atomic_store_explicit(&(word), value, memory_order_relaxed)

#define AGES_MAX   31u /* after this many halvings a 32-bit count is 0 */
#define READS_MAX  4u
#define SPAN_LEAST 1e6 /* in ns: samples of a shorter time give no rate */

/* ---- names ---- */

static void
name_write(struct hot_name *name, struct view key)
{
	const uint32_t version = LOAD(name->version);

	STORE(name->version, version + 1);
	/* Release: pairs with the acquire fence in name_read. A reader that sees anything written
	 * after this sees the odd version, or a later one. */
	atomic_thread_fence(memory_order_release);
	STORE(name->len, key.len);
	for (uint32_t i = 0; 8 * i < key.len; i++) {
		const uint32_t left = key.len - 8 * i;
		uint64_t word = 0;

		memcpy(&word, key.data + (size_t)8 * i, left < 8 ? left : 8);
		STORE(name->words[i], word);
	}
	/* Pairs with the acquire load in name_read. */
	atomic_store_explicit(&name->version, version + 2, memory_order_release);
}

static void
name_clear(struct hot_name *name)
{
	if (LOAD(name->len) != 0)
		name_write(name, (struct view){NULL, 0});
}

/* Reads a name. False if there is none, or if it keeps changing. hash: the word with the key's
 * hash, which is written before the name is cleared. */
static bool
name_read(const struct hot_name *name, const _Atomic uint64_t *hash, uint64_t wanted,
	  struct hot_key *to)
{
	for (uint32_t reads = 0; reads < READS_MAX; reads++) {
		/* Pairs with the release store in name_write. */
		const uint32_t version = atomic_load_explicit(&name->version, memory_order_acquire);
		const uint32_t len = LOAD(name->len);

		for (uint32_t i = 0; i < HOT_NAME_WORDS; i++) {
			const uint64_t word = LOAD(name->words[i]);

			memcpy(to->bytes + (size_t)8 * i, &word, 8);
		}
		/* Pairs with the release fence in name_write. */
		atomic_thread_fence(memory_order_acquire);
		if ((version & 1) != 0 || LOAD(name->version) != version)
			continue;
		to->len = len;
		return len != 0 && len <= MC_KEY_MAX && LOAD(*hash) == wanted;
	}
	return false;
}

/* ---- counts of one core ---- */

void
hot_keys_begin(struct hot_keys *hot, uint32_t seed)
{
	hot->random = seed * 2654435761u | 1;
	hot->left = hot_keys_next(hot);
}

static void
halve(struct hot_keys *hot, uint32_t times)
{
	for (uint32_t i = 0; i < HOT_KEYS; i++) {
		struct hot_set *set = &hot->sets[i / HOT_WAYS];

		STORE(set->count[i % HOT_WAYS], LOAD(set->count[i % HOT_WAYS]) >> times);
		STORE(set->error[i % HOT_WAYS], LOAD(set->error[i % HOT_WAYS]) >> times);
	}
	STORE(hot->samples, LOAD(hot->samples) >> times);
}

/* Halves the counts, once for each HOT_AGE_NS since the last time. */
static __attribute__((noinline)) void
age(struct hot_keys *hot, uint64_t now_ns)
{
	const uint64_t ages = (now_ns - LOAD(hot->since_ns)) / HOT_AGE_NS;
	const uint32_t times = ages < AGES_MAX ? (uint32_t)ages : AGES_MAX;

	if (hot->begun) {
		halve(hot, times);
		for (uint32_t i = 0; i < times; i++)
			STORE(hot->span_ns, (LOAD(hot->span_ns) + HOT_AGE_NS) / 2);
	}
	hot->begun = true;
	STORE(hot->since_ns, now_ns);
}

/* Returns the way that has the hash; if none has it, the one with the least count. */
static inline uint32_t
way_of(const struct hot_set *set, uint64_t hash, bool *found)
{
	uint32_t least = 0;

	*found = true;
	for (uint32_t w = 0; w < HOT_WAYS; w++)
		if (LOAD(set->hash[w]) == hash)
			return w;
	*found = false;
	for (uint32_t w = 1; w < HOT_WAYS; w++)
		least = LOAD(set->count[w]) < LOAD(set->count[least]) ? w : least;
	return least;
}

uint32_t
hot_keys_count(struct hot_keys *hot, uint64_t hash, uint64_t now_ns)
{
	const uint32_t s = (uint32_t)(hash >> 32) % HOT_SETS;
	struct hot_set *set = &hot->sets[s];
	uint32_t w, count, sure;
	bool found;

	if (unlikely(now_ns - LOAD(hot->since_ns) >= HOT_AGE_NS || !hot->begun))
		age(hot, now_ns);
	STORE(hot->samples, LOAD(hot->samples) + 1);
	w = way_of(set, hash, &found);
	count = LOAD(set->count[w]) + 1;
	STORE(set->count[w], count);
	if (!found) {
		STORE(set->error[w], count - 1);
		STORE(set->hash[w], hash);
		name_clear(&hot->names[s * HOT_WAYS + w]);
		return HOT_NONE;
	}
	sure = count - LOAD(set->error[w]);
	return sure == 2 || sure % HOT_LOOK == 0 ? s * HOT_WAYS + w : HOT_NONE;
}

void
hot_keys_record(struct hot_keys *hot, uint32_t i, struct view key, uint32_t size)
{
	if (size != 0)
		STORE(hot->sizes[i], size);
	if (LOAD(hot->names[i].len) != 0 || key.len > MC_KEY_MAX)
		return;
	STORE(hot->sizes[i], size);
	name_write(&hot->names[i], key);
}

/* ---- big keys ---- */

static bool
big_key_is_old(const struct big_key *big, uint64_t now_ns)
{
	const uint64_t seen_ns = LOAD(big->seen_ns);

	return LOAD(big->size) == 0 || (now_ns > seen_ns && now_ns - seen_ns > BIG_KEEP_NS);
}

/* Returns the key's place; if it has none, one that is free or old, or that of the smallest
 * value. */
static struct big_key *
big_place(struct hot_keys *hot, uint64_t hash, uint64_t now_ns)
{
	struct big_key *to = &hot->big[0];

	for (uint32_t i = 0; i < BIG_KEYS; i++) {
		struct big_key *at = &hot->big[i];

		if (LOAD(at->size) != 0 && LOAD(at->hash) == hash)
			return at;
		if (big_key_is_old(to, now_ns))
			continue;
		if (big_key_is_old(at, now_ns) || LOAD(at->size) < LOAD(to->size))
			to = at;
	}
	return to;
}

void
hot_keys_big(struct hot_keys *hot, struct view key, uint64_t hash, uint32_t size, uint64_t now_ns)
{
	struct big_key *to = big_place(hot, hash, now_ns);
	const bool known = LOAD(to->size) != 0 && LOAD(to->hash) == hash;

	if (key.len == 0 || key.len > MC_KEY_MAX || size == 0 ||
	    (!known && !big_key_is_old(to, now_ns) && size <= LOAD(to->size)))
		return;
	if (!known) {
		STORE(to->hash, hash);
		STORE(to->uses, 0);
		name_write(&to->name, key);
	}
	STORE(to->uses, LOAD(to->uses) + 1);
	STORE(to->size, size);
	STORE(to->seen_ns, now_ns);
}

/* ---- lists ---- */

static int
by_hash(const void *a, const void *b)
{
	const struct hot_candidate *x = a, *y = b;

	return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
				  : (x->rate < y->rate) - (x->rate > y->rate);
}

static int
by_rate(const void *a, const void *b)
{
	const struct hot_candidate *x = a, *y = b;

	return x->rate != y->rate ? (x->rate < y->rate) - (x->rate > y->rate)
				  : (x->hash > y->hash) - (x->hash < y->hash);
}

/* Returns how many operations a second one sample stands for. */
static double
weight_of(const struct hot_keys *hot, uint64_t now_ns)
{
	const uint64_t since_ns = LOAD(hot->since_ns);
	const double span =
		(double)LOAD(hot->span_ns) + (now_ns > since_ns ? (double)(now_ns - since_ns) : 0);

	return LOAD(hot->samples) == 0 || span < SPAN_LEAST ? 0
							    : HOT_EVERY * (double)NS_PER_S / span;
}

static uint32_t
candidates_take(const struct hot_keys *hot, uint32_t core, double weight, struct hot_candidate *to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < HOT_KEYS; i++) {
		const struct hot_set *set = &hot->sets[i / HOT_WAYS];
		const uint32_t count = LOAD(set->count[i % HOT_WAYS]);
		const uint32_t error = LOAD(set->error[i % HOT_WAYS]);

		if (count > error + 1)
			to[n++] = (struct hot_candidate){LOAD(set->hash[i % HOT_WAYS]),
							 weight * (count - error), core, i};
	}
	return n;
}

/* Joins candidates with the same hash into the first of them. Returns how many are left. */
static uint32_t
candidates_join(struct hot_candidate *c, uint32_t count)
{
	uint32_t n = 0;

	qsort(c, count, sizeof *c, by_hash);
	for (uint32_t i = 0; i < count; i++) {
		if (n != 0 && c[n - 1].hash == c[i].hash)
			c[n - 1].rate += c[i].rate;
		else
			c[n++] = c[i];
	}
	qsort(c, n, sizeof *c, by_rate);
	return n < HOT_JOINED ? n : HOT_JOINED;
}

static void
list_take(const struct hot_keys *const *cores, const struct hot_candidate *c, double all,
	  struct hot_list *list)
{
	const struct hot_keys *hot = cores[c->core];
	struct hot_key *to = &list->key[list->count];

	if (!name_read(&hot->names[c->i], &hot->sets[c->i / HOT_WAYS].hash[c->i % HOT_WAYS],
		       c->hash, to))
		return;
	to->size = LOAD(hot->sizes[c->i]);
	to->rate_milli = (uint64_t)(c->rate * 1e3);
	to->share_milli = (uint32_t)(c->rate / all * 1e3 + 0.5);
	list->count++;
}

static bool
same_name(const struct hot_key *a, const struct hot_key *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* Inserts a key after larger ones. A key of several cores gets its largest size. */
static void
big_insert(struct hot_list *list, struct hot_key *key)
{
	uint32_t at;

	for (uint32_t i = 0; i < list->big_count; i++) {
		if (!same_name(&list->big[i], key))
			continue;
		list->big[i].uses += key->uses;
		if (list->big[i].size >= key->size)
			return;
		list->big_count--;
		key->uses = list->big[i].uses;
		memmove(&list->big[i], &list->big[i + 1], (list->big_count - i) * sizeof *key);
		break;
	}
	for (at = list->big_count; at > 0 && list->big[at - 1].size < key->size;)
		at--;
	if (at == HOT_LISTED)
		return;
	list->big_count += list->big_count < HOT_LISTED;
	memmove(&list->big[at + 1], &list->big[at], (list->big_count - 1 - at) * sizeof *key);
	list->big[at] = *key;
}

static void
bigs_take(const struct hot_keys *hot, uint64_t now_ns, struct hot_list *list)
{
	for (uint32_t i = 0; i < BIG_KEYS; i++) {
		const struct big_key *big = &hot->big[i];
		struct hot_key key = {.size = LOAD(big->size), .uses = LOAD(big->uses)};

		if (!big_key_is_old(big, now_ns) &&
		    name_read(&big->name, &big->hash, LOAD(big->hash), &key))
			big_insert(list, &key);
	}
}

void
hot_keys_list(const struct hot_keys *const *cores, uint32_t count, struct hot_candidate *scratch,
	      uint64_t now_ns, struct hot_list *list)
{
	uint32_t n = 0;
	double all = 0;

	*list = (struct hot_list){0};
	for (uint32_t i = 0; i < count; i++) {
		double weight;

		if (cores[i] == NULL)
			continue;
		weight = weight_of(cores[i], now_ns);
		all += weight * (double)LOAD(cores[i]->samples);
		n += candidates_take(cores[i], i, weight, scratch + n);
		n = candidates_join(scratch, n);
		bigs_take(cores[i], now_ns, list);
	}
	list->rate_milli = (uint64_t)(all * 1e3);
	for (uint32_t i = 0; i < n && list->count < HOT_LISTED && all > 0; i++)
		list_take(cores, &scratch[i], all, list);
}
