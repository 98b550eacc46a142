/*
 * admin_hotkeys.c - stats hotkeys, and the keys of stats front: the keys of all cores requested
 * most, and those with the largest values (observe/hot_keys.h). The program's control thread joins
 * the cores' lists once a second; cores only read its result.
 */
#include "admin_internal.h"
#include "stat_names.h"

#include <stddef.h>

#define LIST_WORDS (sizeof(struct hot_list) / 8)
#define WORK_READ  500u /* estimated ns to read a key */
static_assert(sizeof(struct hot_list) % 8 == 0, "copied in words");

struct hotkeys {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t version;
	_Atomic uint64_t words[LIST_WORDS];

	/* Used only by the thread that calls admin_hotkeys_tick_mt(). */
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

	for (uint32_t i = 0; i < shared->cores; i++)
		h->cores[i] = shared->serves[i] == NULL ? NULL : &shared->serves[i]->hot;
	hot_keys_list(h->cores, shared->cores, h->scratch, now_ns, &h->list);
	seq_words_write(&h->version, h->words, &h->list, sizeof h->list);
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

/* Writes the name of a row, such as "1:rate" for a hot key, or "big_1:size" for a large one. */
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

/* Reads entry n of a list, which is at an offset of struct hot_list. False: there is none. */
static bool
hot_key_read(const struct serve *sv, size_t list, uint32_t n, struct hot_key *key)
{
	const struct hotkeys *h = sv->shared->admin->hotkeys;

	return seq_words_read(&h->version, h->words, (list + n * sizeof *key) / 8, key,
			      sizeof *key) &&
	       key->len != 0 && key->len <= MC_KEY_MAX;
}

/* Writes the rows of one key in each step: first the hot keys, numbered by st->row, then the large
 * ones. */
static bool
hotkeys_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	const bool big = st->row >= HOT_LISTED;
	const uint32_t n = big ? st->row - HOT_LISTED : st->row;
	const size_t list = big ? offsetof(struct hot_list, big) : offsetof(struct hot_list, key);
	struct hot_key key;

	st->work += WORK_READ;
	if (st->row == 2 * HOT_LISTED)
		return false;
	if (hot_key_read(sv, list, n, &key))
		(big ? big_rows : hot_rows)(st, buffer, &key);
	st->row++;
	return true;
}

const struct stream_kind hotkeys_stream = {hotkeys_step, ROW_KEY_BYTES + 3 * ROW_MAX, MC_END};

/* ---- stats front ---- */

bool
top_key_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	struct hot_key key;

	st->work += WORK_READ;
	if (sv->shared->policy.no_dumps || st->sub == HOT_LISTED)
		return false;
	if (hot_key_read(sv, offsetof(struct hot_list, key), st->sub++, &key))
		row_top_key(buffer, st, st->sub, key.share_milli,
			    (struct view){key.bytes, key.len});
	return true;
}

/* ---- the command ---- */

/* Refuses lists of keys with -X, and over UDP, where the source may be forged. True: refused, and
 * the request is answered. */
bool
hotkeys_refused(struct serve *sv, struct op *op)
{
	if (op->session != NULL && !sv->shared->policy.no_dumps)
		return false;
	reply_error(sv, op, op->session == NULL ? MC_ERR_UDP : MC_ERR_CACHEDUMP_OFF);
	return true;
}
