/*
 * admin_prefix.c - stats detail: counts by key prefix, which is the part of a key before the
 * delimiter. Each core counts in its own table, which only grows, so that others may read it;
 * `dump` adds the tables up. As in memcached, a prefix for which there is no room is not counted.
 */
#include "admin_internal.h"

#define SLOTS           (2 * PREFIXES_MAX)
#define WORK_PREFIX     80u /* estimated ns to find a prefix on one core */
#define PREFIX_LINE_MAX (MC_KEY_MAX + 4 * (MC_U64_DIGITS_MAX + 6) + 8)

static struct view
prefix_view(const struct prefix *p)
{
	return (struct view){p->bytes, p->len};
}

static bool
prefix_is(const struct prefix *p, struct view prefix, uint64_t hash)
{
	return p->hash == hash && view_equal(prefix_view(p), prefix);
}

/* Finds a prefix in the table of any core. NULL: it is not there; *slot is then the free slot for
 * it. */
static struct prefix *
prefix_find(struct prefixes *table, struct view prefix, uint64_t hash, uint32_t *slot)
{
	uint32_t i;

	/* Half of the slots are always free, so the search ends. */
	for (*slot = (uint32_t)hash % SLOTS;; *slot = (*slot + 1) % SLOTS) {
		/* Acquire: pairs with the release in prefix_make, so the name is complete. */
		i = atomic_load_explicit(&table->slots[*slot], memory_order_acquire);
		if (i == 0)
			return NULL;
		if (prefix_is(&table->prefix[i - 1], prefix, hash))
			return &table->prefix[i - 1];
	}
}

/* Adds a prefix to this core's table. NULL: the table is full. */
static struct prefix *
prefix_make(struct prefixes *table, struct view prefix, uint64_t hash, uint32_t slot)
{
	const uint32_t count = atomic_load_explicit(&table->count, memory_order_relaxed);
	struct prefix *p = &table->prefix[count];

	if (count == PREFIXES_MAX)
		return NULL;
	p->hash = hash;
	p->len = (uint8_t)prefix.len;
	memcpy(p->bytes, prefix.data, prefix.len);
	/* Release: pairs with the acquire in prefix_find and that in prefix_at. */
	atomic_store_explicit(&table->slots[slot], (uint16_t)(count + 1), memory_order_release);
	atomic_store_explicit(&table->count, count + 1, memory_order_release);
	return p;
}

/* The hash is the store's, whose seed is secret, so that no client can fill the slots around
 * one. */
void
prefix_count(struct serve *sv, struct view key, enum prefix_count which)
{
	const uint8_t *end = memchr(key.data, sv->shared->policy.prefix_delimiter, key.len);
	struct view prefix = {key.data, 0};
	struct prefix *p;
	uint64_t hash;
	uint32_t slot;

	if (end == NULL)
		return;
	prefix.len = (uint32_t)(end - key.data);
	hash = store_hash(sv->store, prefix);
	p = prefix_find(sv->admin->prefixes, prefix, hash, &slot);
	if (p == NULL)
		p = prefix_make(sv->admin->prefixes, prefix, hash, slot);
	if (p != NULL)
		counter_add(&p->counts[which], 1);
}

/* True if the counts of this table have been cleared since the last reset. */
static bool
prefixes_are_cleared(const struct serve_shared *sh, const struct prefixes *table)
{
	/* Acquire: pairs with the release in prefixes_clear, so the counts are from after it. */
	return atomic_load_explicit(&table->cleared, memory_order_acquire) ==
	       atomic_load_explicit(&sh->admin->prefix_clears, memory_order_relaxed);
}

void
prefixes_clear(struct serve *sv)
{
	struct prefixes *table = sv->admin->prefixes;
	const uint32_t clears =
		atomic_load_explicit(&sv->shared->admin->prefix_clears, memory_order_relaxed);
	const uint32_t count = atomic_load_explicit(&table->count, memory_order_relaxed);

	if (likely(atomic_load_explicit(&table->cleared, memory_order_relaxed) == clears))
		return;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < PREFIX_COUNTS; k++)
			atomic_store_explicit(&table->prefix[i].counts[k].value, 0,
					      memory_order_relaxed);
	/* Release: pairs with the acquire in prefixes_are_cleared. */
	atomic_store_explicit(&table->cleared, clears, memory_order_release);
}

/* ---- stats detail dump ---- */

/* Returns prefix i of a core; NULL: there are fewer. */
static const struct prefix *
prefix_at(const struct serve *sv, uint32_t i)
{
	/* Acquire: pairs with the release in prefix_make. */
	if (sv == NULL ||
	    i >= atomic_load_explicit(&sv->admin->prefixes->count, memory_order_acquire))
		return NULL;
	return &sv->admin->prefixes->prefix[i];
}

/* Returns a core's counts of this prefix; NULL: it has none. */
static const struct prefix *
prefix_on(const struct serve_shared *sh, uint32_t core, const struct prefix *p)
{
	uint32_t slot;

	if (sh->serves[core] == NULL)
		return NULL;
	return prefix_find(sh->serves[core]->admin->prefixes, prefix_view(p), p->hash, &slot);
}

/* True if a core with a lower number has the prefix, too, so that its row is already written. */
static bool
prefix_shown(const struct serve_shared *sh, struct stream *st, const struct prefix *p)
{
	for (uint32_t i = 0; i < st->at; i++) {
		st->work += WORK_PREFIX;
		if (prefix_on(sh, i, p) != NULL)
			return true;
	}
	return false;
}

static void
prefix_line(struct out_buffer *line, struct view prefix, const uint64_t sum[PREFIX_COUNTS])
{
	out_put_text(line, "PREFIX ");
	out_put_view(line, prefix);
	out_put_text(line, " get ");
	out_put_number(line, sum[PREFIX_GET]);
	out_put_text(line, " hit ");
	out_put_number(line, sum[PREFIX_HIT]);
	out_put_text(line, " set ");
	out_put_number(line, sum[PREFIX_SET]);
	out_put_text(line, " del ");
	out_put_number(line, sum[PREFIX_DEL]);
}

static void
prefix_row(const struct serve_shared *sh, struct stream *st, struct out_buffer *buffer,
	   const struct prefix *of)
{
	static const struct view name = {(const uint8_t *)"detailed", 8};
	const struct view prefix = prefix_view(of);
	uint64_t sum[PREFIX_COUNTS] = {0}, all = 0;
	uint8_t bytes[PREFIX_LINE_MAX];
	struct out_buffer line = {bytes, bytes + sizeof bytes};
	struct view text = {bytes, 0};

	for (uint32_t i = 0; i < sh->cores; i++) {
		const struct prefix *p = prefix_on(sh, i, of);

		st->work += WORK_PREFIX;
		/* A core clears its counts in the turn after a reset. Until then they count as
		 * 0. */
		if (p != NULL && !prefixes_are_cleared(sh, sh->serves[i]->admin->prefixes))
			continue;
		for (uint32_t k = 0; p != NULL && k < PREFIX_COUNTS; k++)
			sum[k] += counter_read(&p->counts[k]);
	}
	for (uint32_t k = 0; k < PREFIX_COUNTS; k++)
		all += sum[k];
	if (all == 0) /* cleared, and not used since */
		return;
	/* A binary key may have any bytes, which would break the line. */
	if (prefix.len != 0 && !mc_key_is_text(prefix))
		return;
	prefix_line(&line, prefix, sum);
	text.len = (uint32_t)(line.at - bytes);
	if (!st->binary) {
		out_put_view(buffer, text);
		buffer->at = mc_put_line_end(buffer->at);
		return;
	}
	/* memcached puts all lines into one packet. Here each line is a packet, which needs less
	 * room. */
	buffer->at = mc_put_bin_stat(buffer->at, st->echo, name, text);
}

/* Visits one prefix in each step, whether or not there is a row to show. st->at: the core; st->row:
 * the prefix. */
static bool
prefixes_step(struct serve *sv, struct stream *st, struct out_buffer *buffer)
{
	const struct serve_shared *sh = sv->shared;
	const struct prefix *p = prefix_at(sh->serves[st->at], st->row++);

	if (p == NULL) {
		st->row = 0;
		return ++st->at < sh->cores;
	}
	if (!prefix_shown(sh, st, p))
		prefix_row(sh, st, buffer, p);
	return true;
}

static const struct stream_kind prefixes_stream = {prefixes_step, DUMP_ROW_MAX, MC_END};

bool
detail_switch(struct serve *sv, struct op *op, struct stream *st)
{
	st->kind = &prefixes_stream;
	if (sv->shared->policy.no_dumps) {
		reply_error(sv, op, MC_ERR_DETAIL_OFF);
		return false;
	}
	if (op->req.error != MC_ERR_NONE) {
		reply_error(sv, op, (enum mc_error)op->req.error);
		return false;
	}
	if (op->req.admin.option == MC_OPTION_DUMP)
		return true;
	/* Other cores notice the change in their next turn. */
	sv->admin->detail = op->req.admin.option == MC_OPTION_ON;
	sv->observed = sv->admin->detail || sv->admin->streams != 0;
	atomic_store_explicit(&sv->shared->detail, sv->admin->detail, memory_order_relaxed);
	st->rows_done = true;
	return true;
}

enum exec_status
execute_detail(struct serve *sv, struct op *op)
{
	struct stream st = {.kind = NULL};

	if (!detail_switch(sv, op, &st))
		return EXEC_DONE;
	if (!st.rows_done)
		return stream_start(sv, op, &st);
	reply_line(sv, op, mc_reply_line[MC_OK_LINE]);
	return EXEC_DONE;
}
