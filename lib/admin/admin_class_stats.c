/*
 * admin_class_stats.c - stats items, slabs and sizes: figures by slab class.
 */
#include "admin_internal.h"
#include "stat_names.h"

#include "base/list.h"

#define SIZES_BATCH      64u
#define SIZES_STALLED_NS 1000000000u

/* Writes one row of a class, named "<before><class>:<name>". */
static void
class_row(struct out_buffer *buffer, const struct stream *st, const char *before, const char *name,
	  uint64_t value)
{
	char text[ROW_NAME_MAX + 1];
	uint8_t *at = (uint8_t *)text;
	const size_t before_len = strlen(before), name_len = strlen(name);

	ensure(before_len + MC_U64_DIGITS_MAX + 1 + name_len < sizeof text);
	memcpy(at, before, before_len);
	at = mc_put_u64(at + before_len, st->at);
	*at++ = ':';
	memcpy(at, name, name_len);
	at[name_len] = '\0';
	row_number(buffer, st, text, value);
}

#define SINCE(which)                                                                               \
	(u.counted[which] - atomic_load_explicit(&sv->shared->admin->bases[st->at].store[which],   \
						 memory_order_relaxed))
#define COMMAND(which) shared_class_sum(sv->shared, st->at, which)

/* CLOCK has no hot, warm and cold items, so all are shown as cold. The items that are evicted next
 * were last used about as long ago as the hand's last pass. */
#define ITEMS_ROWS(X)                                                                              \
	X(NUMBER, "number", u.items)                                                               \
	X(UNSUPPORTED, "number_hot", 0)                                                            \
	X(UNSUPPORTED, "number_warm", 0)                                                           \
	X(NUMBER, "number_cold", u.items)                                                          \
	X(UNSUPPORTED, "age_hot", 0)                                                               \
	X(UNSUPPORTED, "age_warm", 0)                                                              \
	X(NUMBER, "age", u.idle_s)                                                                 \
	X(NUMBER, "mem_requested", u.item_bytes)                                                   \
	X(NUMBER, "evicted", SINCE(CLASS_EVICTED))                                                 \
	X(NUMBER, "evicted_nonzero", SINCE(CLASS_EVICTED_TIMED))                                   \
	X(NUMBER, "evicted_time", SINCE(CLASS_EVICTED) != 0 ? u.idle_s : 0)                        \
	X(NUMBER, "outofmemory", SINCE(CLASS_OUT_OF_MEMORY))                                       \
	X(UNSUPPORTED, "tailrepairs", 0)                                                           \
	X(NUMBER, "reclaimed", SINCE(CLASS_EXPIRED))                                               \
	X(NUMBER, "expired_unfetched", SINCE(CLASS_EXPIRED_UNFETCHED))                             \
	X(NUMBER, "evicted_unfetched", SINCE(CLASS_EVICTED_UNFETCHED))                             \
	X(NUMBER, "evicted_active", SINCE(CLASS_EVICTED_ACTIVE))                                   \
	X(NUMBER, "crawler_reclaimed", SINCE(CLASS_SWEPT))                                         \
	X(UNSUPPORTED, "crawler_items_checked", 0)                                                 \
	X(UNSUPPORTED, "lrutail_reflocked", 0)                                                     \
	X(UNSUPPORTED, "moves_to_cold", 0)                                                         \
	X(UNSUPPORTED, "moves_to_warm", 0)                                                         \
	X(UNSUPPORTED, "moves_within_lru", 0)                                                      \
	X(UNSUPPORTED, "direct_reclaims", 0)                                                       \
	X(UNSUPPORTED, "hits_to_hot", 0)                                                           \
	X(UNSUPPORTED, "hits_to_warm", 0)                                                          \
	X(NUMBER, "hits_to_cold", COMMAND(CLASS_GET_HITS))                                         \
	X(UNSUPPORTED, "hits_to_temp", 0)

#define SLABS_ROWS(X)                                                                              \
	X(NUMBER, "chunk_size", u.size)                                                            \
	X(NUMBER, "chunks_per_page", u.per_page)                                                   \
	X(NUMBER, "total_pages", u.pages)                                                          \
	X(NUMBER, "total_chunks", u.objects)                                                       \
	X(NUMBER, "used_chunks", u.used)                                                           \
	X(NUMBER, "free_chunks", u.free)                                                           \
	X(UNSUPPORTED, "free_chunks_end", 0)                                                       \
	X(NUMBER, "get_hits", COMMAND(CLASS_GET_HITS))                                             \
	X(NUMBER, "cmd_set", COMMAND(CLASS_CMD_SET))                                               \
	X(NUMBER, "delete_hits", COMMAND(CLASS_DELETE_HITS))                                       \
	X(NUMBER, "incr_hits", COMMAND(CLASS_INCR_HITS))                                           \
	X(NUMBER, "decr_hits", COMMAND(CLASS_DECR_HITS))                                           \
	X(NUMBER, "cas_hits", COMMAND(CLASS_CAS_HITS))                                             \
	X(NUMBER, "cas_badval", COMMAND(CLASS_CAS_BADVAL))                                         \
	X(NUMBER, "touch_hits", COMMAND(CLASS_TOUCH_HITS))

#define ITEMS_ROW(kind, name, value)                                                               \
	if (row_due(buffer, &st->row, &n))                                                         \
		class_row(buffer, st, "items:", name, value);
#define SLABS_ROW(kind, name, value)                                                               \
	if (row_due(buffer, &st->row, &n))                                                         \
		class_row(buffer, st, "", name, value);

const struct stat_name items_names[] = {ITEMS_ROWS(STAT_NAME)};
const uint32_t items_name_count = sizeof items_names / sizeof items_names[0];
const struct stat_name slabs_names[] = {SLABS_ROWS(STAT_NAME)};
const uint32_t slabs_name_count = sizeof slabs_names / sizeof slabs_names[0];

/* Finds the next class that has items, or pages, from st->at on. False: there is none. */
static bool
class_find(const struct serve *sv, struct stream *st, bool pages, struct store_class_usage *u)
{
	const struct store *store = sv->shared->store;

	st->at = st->at == 0 ? 1 : st->at;
	for (; st->at <= store_class_count_mt(store); st->at++) {
		st->work += WORK_STEP * sv->shared->cores;
		store_class_usage_mt(store, st->at, sv->clock.now_s, u);
		if (st->row > 0 || (pages ? u->pages != 0 : u->items != 0))
			return true;
	}
	return false;
}

/* Steps to the next class once all rows of this one are written. */
static bool
class_done(struct stream *st, uint32_t rows)
{
	if (st->row < rows)
		return false;
	st->row = 0;
	st->at++;
	return true;
}

static bool
items_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	struct store_class_usage u;
	uint32_t n = 0;

	if (!class_find(sv, st, false, &u))
		return false;
	ITEMS_ROWS(ITEMS_ROW)
	class_done(st, n);
	return true;
}

const struct stream_kind items_stream = {items_step, ROW_MAX, MC_END};

/* Writes the two rows about all classes, after the last class. st->left is the number of classes
 * shown. */
static bool
slabs_total(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	struct store_usage usage;
	uint32_t n = 0;

	store_usage_mt(sv->shared->store, &usage);
	if (row_due(buffer, &st->row, &n))
		row_number(buffer, st, "active_slabs", st->left);
	if (row_due(buffer, &st->row, &n))
		row_number(buffer, st, "total_malloced", usage.pages_used * usage.page_bytes);
	return st->row < n;
}

static bool
slabs_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	struct store_class_usage u;
	uint32_t n = 0;

	/* After the last class the rows about all classes follow. */
	if (st->totals || !class_find(sv, st, true, &u)) {
		st->totals = true;
		return slabs_total(sv, st, buffer);
	}
	SLABS_ROWS(SLABS_ROW)
	st->left += class_done(st, n);
	return true;
}

const struct stream_kind slabs_stream = {slabs_step, ROW_MAX, MC_END};

/* ---- sizes ---- */

static uint32_t
size_cell(uint32_t bytes)
{
	uint32_t power;

	if (bytes < SIZE_EXACT_MAX)
		return bytes / 32;
	power = 31u - (uint32_t)__builtin_clz(bytes);
	return SIZE_EXACT_MAX / 32 + 8 * (power - 17) + (bytes >> (power - 3) & 7);
}

/* Returns the first size above those of a cell, which memcached uses as the name of a bucket. */
static uint64_t
cell_bytes(uint32_t cell)
{
	const uint32_t above = cell - SIZE_EXACT_MAX / 32;

	if (cell < SIZE_EXACT_MAX / 32)
		return 32ull * (cell + 1);
	return (uint64_t)(8 + above % 8 + 1) << (17 - 3 + above / 8);
}

static void
sizes_count(struct serve *sv, struct stream *st)
{
	const struct item *items[SIZES_BATCH];
	const uint32_t n =
		store_walk(sv->store, &st->cursor, STORE_ALL_CLASSES, items, SIZES_BATCH);

	st->work += st->cursor.work_ns;
	for (uint32_t i = 0; i < n; i++)
		sv->admin->sizes[size_cell((uint32_t)item_bytes(items[i]))]++;
}

static bool
sizes_show(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	for (; st->at < SIZE_CELLS && out_room(buffer) >= ROW_MAX; st->at++) {
		char name[MC_U64_DIGITS_MAX + 1];

		if (sv->admin->sizes[st->at] == 0)
			continue;
		*mc_put_u64((uint8_t *)name, cell_bytes(st->at)) = '\0';
		row_number(buffer, st, name, sv->admin->sizes[st->at]);
	}
	return st->at < SIZE_CELLS;
}

/* Reserves the core's only count of sizes for this request. False: another request has it, and made
 * progress within SIZES_STALLED_NS. A request without progress loses it, and its connection ends;
 * not if that was read in this turn. */
static bool
sizes_own(struct serve *sv, struct stream *st)
{
	struct session *owner = sv->admin->sizes_owner;

	if (owner != NULL && &owner->stream != st) {
		if (sv->clock.now_ns - sv->admin->sizes_ns < SIZES_STALLED_NS ||
		    owner->turn == sv->turn)
			return false;
		serve_count(sv, ADMIN_YIELDED);
		owner->end = SESSION_END_ERROR;
		conn_abort(sv->stack, owner->conn);
		owner = NULL;
	}
	sv->admin->sizes_ns = sv->clock.now_ns;
	if (owner == NULL) {
		sv->admin->sizes_owner = container_of(st, struct session, stream);
		memset(sv->admin->sizes, 0, SIZE_CELLS * sizeof sv->admin->sizes[0]);
	}
	return true;
}

/* Counts all items, a slice in each step, then shows the counts. A second request waits for the
 * first. */
static bool
sizes_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	if (!sv->shared->policy.track_sizes) {
		row_text(buffer, st, "sizes_status", (struct view){(const uint8_t *)"disabled", 8});
		return false;
	}
	if (!sizes_own(sv, st)) {
		st->later = true;
		return true;
	}
	if (!st->cursor.done) {
		sizes_count(sv, st);
		return true;
	}
	if (sizes_show(sv, st, buffer))
		return true;
	sv->admin->sizes_owner = NULL;
	return false;
}

const struct stream_kind sizes_stream = {sizes_step, ROW_MAX, MC_END};
