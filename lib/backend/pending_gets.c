/*
 * pending_gets.c - plain gets that have waited, told from where their bytes stand in the read
 * buffer.
 */
#include "pending.h"

#include "serve/serve_gets.h"
#include "serve/serve_hot.h"
#include "serve/serve_parse.h"

#include "base/prefetch.h"

/* 0: not for this path. */
static inline uint32_t
answer_bytes(const struct item *it)
{
	uint32_t len;

	if (it == NULL)
		return MISS_BYTES;
	len = item_value_len(it);
	return len < ITEM_PIN_MIN_BYTES ? MC_VALUE_HEAD_MAX + len + WORD_BYTES : 0;
}

static inline uint8_t *
answer_put(struct serve *sv, uint8_t *at, const struct item *it, bool last)
{
	struct item_lengths bare;
	uint32_t len;

	if (it == NULL)
		return last ? end_put(at) : at;
	if (store_has_item(&sv->class_map, it))
		class_count(sv, it, CLASS_GET_HITS);
	bare = item_simple_lengths(it);
	if (likely(item_is_simple(it) && bare.value_len < GET_LENGTHS))
		return value_put(sv, at, it, bare, last);
	len = item_value_len(it);
	at = mc_put_value_head(at, item_key(it), item_flags(it), len, NULL);
	return value_tail_put(value_copy(sv, at, it, len), last ? TAIL_END : TAIL_LINE);
}

/* What is told next, and what is released with it, which stands in front of an item that is the
 * supplier's own: thousands that wait are no longer in the first cache. */
static inline void
answer_prefetch(const struct await *next)
{
	const struct item *it = next != NULL ? next->answer.item : NULL;

	if (it == NULL)
		return;
	prefetch_next(it);
	prefetch_next((const uint8_t *)it - CACHE_LINE_BYTES);
}

/* Its turn has come, and its answer. */
static inline bool
may_tell(const struct serve *sv, const struct session *ss, const struct await *a)
{
	return a != NULL && a->bytes != 0 && a->state == AWAIT_READY &&
	       a->offset == ss->read_buf_at && !a->answer.failed &&
	       a->answer.error == MC_ERR_NONE && ss->served < sv->cfg.conn_requests_max;
}

/* False: there is no room for so many bytes now. */
static inline bool
answers_reserve(struct serve *sv, struct reply_writer *w, uint32_t bytes)
{
	struct session *ss = w->session;
	uint32_t room;

	if (w->begin != NULL)
		conn_commit(sv->stack, ss->conn, (uint32_t)(w->at - w->begin));
	w->begin = w->at = w->end = NULL;
	if (conn_is_full(sv->stack, ss->conn) ||
	    (!ss->has_credit && !conn_writable(sv->stack, ss->conn, 1)))
		return false;
	ss->has_credit = false;
	w->begin = w->at = conn_reserve_room(sv->stack, ss->conn, bytes, &room);
	ensure(w->begin != NULL);
	w->end = w->begin + room;
	return true;
}

/* A visit's. */
struct telling {
	struct reply_writer w;
	struct tally tally;
	struct lines ended;
	uint32_t keys;
	bool in_line; /* what comes next, of a line that was begun */
	bool slow;
	struct view key; /* of the last value, if it was slow */
	uint8_t *slow_key;
};

/* Of so many bytes in the read buffer. */
static inline void
told(struct telling *t, struct session *ss, const struct item *it, uint32_t bytes, bool first,
     bool last)
{
	if (it != NULL && unlikely(t->slow))
		t->key = key_copied(t->slow_key, it);
	ss->read_buf_at += bytes;
	ss->served += last;
	t->keys++;
	t->tally.misses += it == NULL;
	t->tally.lines += first && !ss->await_counted;
	t->tally.single_misses += last && first && it == NULL;
	t->ended.singles += last && first;
	t->ended.others += last && !first;
	t->in_line = !last;
	ss->await_counted = false;
}

/* False: it is not here, or not for this path. */
static inline bool
answer_tell(struct serve *sv, struct session *ss, struct telling *t)
{
	const struct await *a = ss->awaits;
	const struct item *it;
	uint32_t bytes;

	if (!may_tell(sv, ss, a))
		return false;
	it = a->answer.item;
	answer_prefetch(a->next);
	bytes = answer_bytes(it);
	if (bytes == 0 ||
	    (bytes > (size_t)(t->w.end - t->w.at) && !answers_reserve(sv, &t->w, bytes)))
		return false;
	t->w.at = answer_put(sv, t->w.at, it, a->ends_line);
	told(t, ss, it, a->bytes, a->begins_line, a->ends_line);
	awaits_pop(sv, ss);
	return true;
}

/* The next request of the read buffer, if nothing was asked for it, as far as the buffer was looked
 * at: what lies behind that is asked for first. One for which a place was granted or refused is
 * executed, which gives the place back. */
static inline struct view
unasked(const struct session *ss)
{
	const uint32_t end =
		ss->ahead && ss->ahead_at < ss->read_buf_len ? ss->ahead_at : ss->read_buf_len;
	const struct await *a = ss->awaits;

	if (ss->read_buf_at >= end || ss->passed_on != 0 || ss->await_granted ||
	    ss->await_refused || (a != NULL && a->offset <= ss->read_buf_at))
		return (struct view){NULL, 0};
	return (struct view){ss->read_buf + ss->read_buf_at, end - ss->read_buf_at};
}

/* A get between those that waited, that the store answers at its turn, as in a run of hits. False:
 * it does not, or it is another request. */
static inline bool
hit_tell(struct serve *sv, struct session *ss, struct telling *t)
{
	const struct view next = unasked(ss);
	const bool first = !t->in_line;
	const uint32_t prefix = first ? MC_GET_PREFIX_BYTES : 0;
	struct item_lengths bare = {0};
	const struct item *it;
	struct probe probe;
	struct mc_get get;
	struct view key;
	uint32_t used, bytes;
	uint64_t hash;

	if (next.len == 0 || ss->served >= sv->cfg.conn_requests_max || sv->awaits->hits_left == 0)
		return false;
	used = first ? mc_get_parse_fast(next.data, next.len, &get)
		     : mc_key_parse_fast(next.data, next.len, &get);
	if (used == 0)
		return false;
	key = (struct view){next.data + prefix, get.key_len};
	hash = store_probe(sv->store, &probe, key);
	if (store_probe_primary(sv->store, &probe))
		store_probe_alternate(sv->store, &probe);
	it = store_get_probed(sv->store, &probe, key);
	bytes = reply_bytes(it, &bare, 0);
	if (bytes == 0 ||
	    (bytes > (size_t)(t->w.end - t->w.at) && !answers_reserve(sv, &t->w, bytes)))
		return false;
	t->w.at = value_put(sv, t->w.at, it, bare, get.last);
	class_count(sv, it, CLASS_GET_HITS);
	await_copy_used(sv, &key, hash);
	sv->awaits->hits_left--;
	hit_sample(sv, key, hash, bare.value_len);
	told(t, ss, it, used, first, get.last);
	return true;
}

static inline void
answers_tell(struct serve *sv, struct session *ss)
{
	const bool hits = gets_fast_allowed(sv, ss) && sv->backend_mode != BACKEND_DECIDES;
	uint8_t slow_key[MC_KEY_MAX];
	struct telling t = {
		.w = {.session = ss},
		.in_line = ss->parser.in_line,
		.slow = slow_log_wants(&sv->slow, sv->clock.now_ns - ss->read_buf_since_ns),
		.key = {slow_key, 0},
		.slow_key = slow_key};

	while (answer_tell(sv, ss, &t) || (hits && hit_tell(sv, ss, &t)))
		;
	if (t.w.begin != NULL)
		conn_commit(sv->stack, ss->conn, (uint32_t)(t.w.at - t.w.begin));
	if (t.keys == 0)
		return;
	tally_end(sv, &t.tally, t.keys, REQ_TCP);
	session_waits(sv, ss, WAIT_SUPPLIER);
	lines_record_late(sv, &(struct asker){.session = ss, .key = t.key}, ss->read_buf_since_ns,
			  t.ended, t.tally.single_misses);
	parser_move(&ss->parser, !t.in_line);
}

FLAT void
gets_tell(struct serve *sv, struct session *ss)
{
	if (ss->awaits == NULL || ss->read_buf == NULL || ss->await_queued ||
	    ss->body != BODY_NONE || ss->parser.swallow || ss->value.item != NULL ||
	    ss->stream.kind != NULL || sv->observed || sv->backend_mode == BACKEND_PROMOTES)
		return;
	answers_tell(sv, ss);
}
