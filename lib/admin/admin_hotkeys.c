/*
 * admin_hotkeys.c - stats hotkeys: the keys asked for most and those with the largest values
 * (serve/hot_keys.h), of all cores. The program's control thread joins the cores' lists once a
 * second; cores only read what it has written.
 */
#include "admin_internal.h"
#include "stat_names.h"

#include <stddef.h>

#define LOAD(word)         atomic_load_explicit(&(word), memory_order_relaxed)
#define STORE(word, value) atomic_store_explicit(&(word), value, memory_order_relaxed)

#define LIST_WORDS (sizeof(struct hot_list) / 8)
#define LIST_READS 8u
#define WORK_READ  500u /* ns, about: a key that is read */
static_assert(sizeof(struct hot_list) % 8 == 0, "copied in words");

struct hotkeys {
	/* Under a sequence lock: odd while it is written. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t version;
	_Atomic uint64_t words[LIST_WORDS];

	/* The ticking thread's. */
	struct hot_list list;
	const struct hot_keys *cores[STORE_CORES_MAX];
	struct hot_candidate scratch[HOT_CANDIDATES];
};

size_t
hotkeys_bytes(void)
{
	return sizeof(struct hotkeys);
}

void
hotkeys_create(struct region *region, struct serve_shared *shared)
{
	shared->admin->hotkeys =
		region_take(region, sizeof *shared->admin->hotkeys, CACHE_LINE_BYTES);
}

/* ---- once a second ---- */

void
admin_hotkeys_tick_mt(struct serve_shared *shared, uint64_t now_ns)
{
	struct hotkeys *h = shared->admin->hotkeys;
	const uint64_t version = LOAD(h->version);
	uint64_t word;

	for (uint32_t i = 0; i < shared->cores; i++)
		h->cores[i] = shared->serves[i] == NULL ? NULL : &shared->serves[i]->hot;
	hot_keys_list(h->cores, shared->cores, h->scratch, now_ns, &h->list);
	STORE(h->version, version + 1);
	/* Pairs with the acquire fence in list_read: who reads any of these words sees the odd
	 * version, or a later one. */
	atomic_thread_fence(memory_order_release);
	for (uint32_t i = 0; i < LIST_WORDS; i++) {
		memcpy(&word, (const uint8_t *)&h->list + (size_t)8 * i, 8);
		STORE(h->words[i], word);
	}
	/* Pairs with the acquire load in list_read. */
	atomic_store_explicit(&h->version, version + 2, memory_order_release);
}

/* Part of the list, in words; false: it is written all the time. */
static bool
list_read(const struct hotkeys *h, size_t at, void *to, size_t bytes)
{
	for (uint32_t reads = 0; reads < LIST_READS; reads++) {
		/* Pairs with the release store in admin_hotkeys_tick_mt. */
		const uint64_t version = atomic_load_explicit(&h->version, memory_order_acquire);

		for (size_t i = 0; i < bytes; i += 8) {
			const uint64_t word = LOAD(h->words[(at + i) / 8]);

			memcpy((uint8_t *)to + i, &word, 8);
		}
		/* Pairs with the release fence in admin_hotkeys_tick_mt. */
		atomic_thread_fence(memory_order_acquire);
		if ((version & 1) == 0 && LOAD(h->version) == version)
			return true;
	}
	return false;
}

/* ---- rows ---- */

#define HOT_ROWS(X)                                                                                \
	X(KEY, "key", key)                                                                         \
	X(THOUSANDTHS, "rate", key->rate_milli)                                                    \
	X(THOUSANDTHS, "share", key->share_milli)                                                  \
	X(NUMBER, "size", key->size)
#define BIG_ROWS(X)                                                                                \
	X(KEY, "key", key)                                                                         \
	X(NUMBER, "size", key->size)                                                               \
	X(NUMBER, "uses", key->uses)

#define ROW_NAME(kind, name, value) name,
const char *const hotkeys_hot_names[] = {HOT_ROWS(ROW_NAME)};
const uint32_t hotkeys_hot_count = sizeof hotkeys_hot_names / sizeof hotkeys_hot_names[0];
const char *const hotkeys_big_names[] = {BIG_ROWS(ROW_NAME)};
const uint32_t hotkeys_big_count = sizeof hotkeys_big_names / sizeof hotkeys_big_names[0];

#define PUT_KEY(name, value)         row_key(buffer, st, name, (struct view){value->bytes, value->len});
#define PUT_NUMBER(name, value)      row_number(buffer, st, name, value);
#define PUT_THOUSANDTHS(name, value) row_thousandths(buffer, st, name, value);
#define PUT(kind, field, value)                                                                    \
	memcpy(end, field, sizeof(field));                                                         \
	PUT_##kind(name, value)

/* "1:rate", "big_1:size" */
static char *
name_begin(char *name, const char *group, uint32_t n)
{
	const size_t len = strlen(group);
	uint8_t *at = (uint8_t *)name + len;

	memcpy(name, group, len);
	at = mc_put_u64(at, n);
	*at++ = ':';
	return (char *)at;
}

static void
hot_rows(const struct stream *st, struct out_buffer *buffer, const struct hot_key *key)
{
	char name[ROW_NAME_MAX + 1], *end = name_begin(name, "", st->row + 1);

	HOT_ROWS(PUT)
}

static void
big_rows(const struct stream *st, struct out_buffer *buffer, const struct hot_key *key)
{
	char name[ROW_NAME_MAX + 1], *end = name_begin(name, "big_", st->row - HOT_LISTED + 1);

	BIG_ROWS(PUT)
}

/* A key a step, with its rows: first the hot ones, which st->row numbers, then the big ones. */
static bool
hotkeys_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	const struct hotkeys *h = sv->shared->admin->hotkeys;
	const bool big = st->row >= HOT_LISTED;
	const uint32_t n = big ? st->row - HOT_LISTED : st->row;
	const size_t list = big ? offsetof(struct hot_list, big) : offsetof(struct hot_list, key);
	struct hot_key key;

	st->work += WORK_READ;
	if (st->row == 2 * HOT_LISTED)
		return false;
	if (list_read(h, list + n * sizeof key, &key, sizeof key) && key.len != 0 &&
	    key.len <= MC_KEY_MAX)
		(big ? big_rows : hot_rows)(st, buffer, &key);
	st->row++;
	return true;
}

const struct stream_kind hotkeys_stream = {hotkeys_step, ROW_KEY_BYTES + 3 * ROW_MAX, MC_END};

/* ---- the command ---- */

/* Keys are what -X hides, and what a forged source may not ask for. */
bool
hotkeys_refused(struct serve *sv, struct op *op)
{
	if (op->session != NULL && !sv->shared->policy.no_dumps)
		return false;
	reply_error(sv, op, op->session == NULL ? MC_ERR_UDP : MC_ERR_CACHEDUMP_OFF);
	return true;
}
