/*
 * admin_dump.c - lists of keys: stats cachedump, lru_crawler metadump and mgdump. A dump walks the
 * index in slices, as fast as its reader takes them, and holds no item between two slices. A key
 * that stays resident during the whole dump is listed exactly once (store/introspect.h).
 */
#include "admin_internal.h"

#define DUMP_BATCH 16u
/* memcached has classes 0 to 63, and its tools ask for no others. The last one lists the items of
 * all classes from 63 on. */
#define CACHEDUMP_LAST 63u

/* True for a front, which has copies of items and no list of its servers' keys. */
bool
admin_dumps_off(const struct serve *sv)
{
	return sv->shared->policy.no_dumps || sv->backend_mode >= BACKEND_WRITES;
}

static int64_t
expiry_unix(const struct serve *sv, const struct item *it)
{
	return (int64_t)item_expiry_s(it) - sv->clock.now_s + sv->clock.unix_s;
}

/* Reads the next items of the walk, as many as the buffer has room for at worst. Returns how
 * many. */
static uint32_t
walk(struct serve *sv, struct stream *st, const struct out_buffer *buffer, uint32_t class,
     const struct item **items)
{
	const uint32_t rows = out_room(buffer) / DUMP_ROW_MAX;
	const uint32_t max = rows < DUMP_BATCH ? rows : DUMP_BATCH;
	const uint32_t n =
		store_walk(sv->store, &st->cursor, class, items, max < st->left ? max : st->left);

	st->work += st->cursor.work_ns;
	return n;
}

static void
item_info(const struct serve *sv, const struct item *it, struct mc_item_info *f)
{
	*f = (struct mc_item_info){
		.key = item_key(it),
		.base64 = item_key_is_binary(it) || !mc_key_is_text(item_key(it)),
		.fetched = store_is_fetched(sv->store, it),
		.exptime = item_expiry_s(it) == 0 ? -1 : expiry_unix(sv, it),
		.access = (uint64_t)sv->clock.unix_s - store_idle_s(sv->store, it),
		.cas = item_cas(it),
		.slab_class = store_class_of(sv->store, it),
		.size = (uint32_t)item_bytes(it),
		.client_flags = item_flags(it),
	};
}

/* ---- stats cachedump ---- */

static void
cachedump_row(const struct serve *sv, struct out_buffer *buffer, const struct item *it)
{
	out_put_text(buffer, "ITEM ");
	out_put_view(buffer, item_key(it));
	out_put_text(buffer, " [");
	out_put_number(buffer, item_value_len(it));
	out_put_text(buffer, " b; ");
	out_put_number(buffer, item_expiry_s(it) == 0 ? 0 : (uint64_t)expiry_unix(sv, it));
	out_put_text(buffer, " s]\r\n");
}

static bool
cachedump_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	const bool last = st->at == CACHEDUMP_LAST;
	const struct item *items[DUMP_BATCH];
	const uint32_t n = walk(sv, st, buffer, last ? STORE_ALL_CLASSES : st->at, items);

	for (uint32_t i = 0; i < n; i++) {
		if (last && store_class_of(sv->store, items[i]) < CACHEDUMP_LAST)
			continue;
		st->left--;
		/* A key that is not text would break the line, so it is left out. */
		if (mc_key_is_text(item_key(items[i])))
			cachedump_row(sv, buffer, items[i]);
	}
	return !st->cursor.done && st->left > 0;
}

static const struct stream_kind cachedump_stream = {cachedump_step, DUMP_ROW_MAX, MC_END};

enum exec_status
execute_cachedump(struct serve *sv, struct op *op)
{
	const int64_t class = op->req.admin.number[0], limit = op->req.admin.number[1];
	const struct stream st = {
		.kind = &cachedump_stream,
		.at = (uint32_t) class,
		.left = limit == 0 ? UINT32_MAX : (uint32_t)limit,
		/* No item is in class 0; for the store 0 would mean all classes. */
		.rows_done = class == 0 || class > CACHEDUMP_LAST,
	};

	if (admin_dumps_off(sv))
		reply_error(sv, op, MC_ERR_CACHEDUMP_OFF);
	else if (op->req.error != MC_ERR_NONE)
		reply_error(sv, op, (enum mc_error)op->req.error);
	else if (class > store_class_count_mt(sv->shared->store))
		reply_error(sv, op, MC_ERR_SLAB_ID);
	else
		return stream_start(sv, op, &st);
	return EXEC_DONE;
}

/* ---- lru_crawler metadump, mgdump ---- */

static bool
is_requested(const struct serve *sv, const struct stream *st, const struct item *it)
{
	const uint32_t class = store_class_of(sv->store, it);

	return class <= MC_CLASS_MAX && (st->classes[class / 64] >> class % 64 & 1) != 0;
}

static bool
dump_step(struct serve *sv, struct stream *st, struct out_buffer *buffer,
	  uint8_t *(*put)(uint8_t *at, const struct mc_item_info *f))
{
	const struct item *items[DUMP_BATCH];
	const uint32_t n = walk(sv, st, buffer, STORE_ALL_CLASSES, items);

	/* OK comes first, so that a client can distinguish a dump from an error. */
	if (st->row == 0) {
		out_put_view(buffer, mc_reply_line[MC_OK_LINE]);
		st->row = 1;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct mc_item_info f;

		if (!is_requested(sv, st, items[i]))
			continue;
		item_info(sv, items[i], &f);
		buffer->at = put(buffer->at, &f);
	}
	return !st->cursor.done;
}

static bool
metadump_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	return dump_step(sv, st, buffer, mc_put_metadump);
}

static bool
mgdump_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	return dump_step(sv, st, buffer, mc_put_mgdump);
}

static const struct stream_kind metadump_stream = {metadump_step, DUMP_ROW_MAX, MC_END};
static const struct stream_kind mgdump_stream = {mgdump_step, DUMP_ROW_MAX, MC_EN_LINE};

enum exec_status
execute_dump(struct serve *sv, struct op *op)
{
	const bool meta = op->req.verb == MC_METADUMP;
	struct stream st = {.kind = meta ? &metadump_stream : &mgdump_stream, .left = UINT32_MAX};

	if (op->req.admin.option == MC_OPTION_CLASSES)
		memcpy(st.classes, op->req.admin.classes, sizeof st.classes);
	else
		memset(st.classes, 0xff, sizeof st.classes);
	if (atomic_load_explicit(&sv->shared->admin->crawler_off, memory_order_relaxed))
		reply_error(sv, op, MC_ERR_CRAWLER_OFF);
	else if (admin_dumps_off(sv))
		reply_error(sv, op, meta ? MC_ERR_METADUMP_OFF : MC_ERR_MGDUMP_OFF);
	else if (op->req.error != MC_ERR_NONE)
		reply_error(sv, op, (enum mc_error)op->req.error);
	else
		return stream_start(sv, op, &st);
	return EXEC_DONE;
}
