/*
 * pending_complete.c - completes plain gets from their bytes in the read buffer: those that have
 * answers, and hits between them.
 */
#include "pending_parts.h"

#include "base/prefetch.h"
#include "proto/mc_fast_path.h"
#include "serve/serve_gets.h"
#include "serve/serve_hot.h"
#include "serve/serve_parse.h"

/* Returns an upper bound of the reply's length; 0: this path cannot send the value. */
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

/* Prefetches the next answer's item, and the cache line before it, which is read when it is
 * released. With thousands of pending answers they are not in the first-level cache. */
static inline void
answer_prefetch(const struct pending *next)
{
	const struct item *it = next != NULL ? next->answer.item : NULL;

	if (it == NULL)
		return;
	prefetch_next(it);
	prefetch_next((const uint8_t *)it - CACHE_LINE_BYTES);
}

/* True if this get is its session's next one and its answer can be sent. */
static inline bool
may_complete(const struct serve *sv, const struct session *ss, const struct pending *a)
{
	return a != NULL && a->bytes != 0 && a->state == PENDING_READY &&
	       a->offset == ss->read_buf_at && a->offset + a->bytes <= ss->read_buf_len &&
	       !a->answer.failed && a->answer.error == MC_ERR_NONE &&
	       ss->served < sv->cfg.conn_requests_max;
}

/* Reserves this many bytes for replies. False: there is no room. */
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

/* The state of one visit to a session: the replies so far, and their counts. */
struct completing {
	struct reply_writer w;
	struct tally tally;
	struct lines ended;
	uint32_t keys;
	bool in_line; /* the next get belongs to a line that has begun */
	bool slow;
	struct view key; /* key of the last value, if the visit is recorded as slow */
	uint8_t *slow_key;
};

/* Records that the next get of the read buffer, which has this many bytes, is completed. */
static inline void
get_ends(struct completing *t, struct session *ss, const struct item *it, uint32_t bytes,
	 bool first, bool last)
{
	if (it != NULL && unlikely(t->slow))
		t->key = key_copied(t->slow_key, it);
	ss->read_buf_at += bytes;
	ss->served += last;
	t->keys++;
	t->tally.misses += it == NULL;
	t->tally.lines += first && !ss->pending_counted;
	t->tally.single_misses += last && first && it == NULL;
	t->ended.singles += last && first;
	t->ended.others += last && !first;
	t->in_line = !last;
	ss->pending_counted = false;
}

/* Completes the next get if its answer has arrived. False: it has not, or this path cannot send
 * it. */
static inline bool
answer_complete(struct serve *sv, struct session *ss, struct completing *t)
{
	const struct pending *a = ss->pending;
	const struct item *it;
	uint32_t bytes;

	if (!may_complete(sv, ss, a))
		return false;
	it = a->answer.item;
	answer_prefetch(a->next);
	bytes = answer_bytes(it);
	if (bytes == 0 ||
	    (bytes > (size_t)(t->w.end - t->w.at) && !answers_reserve(sv, &t->w, bytes)))
		return false;
	t->w.at = answer_put(sv, t->w.at, it, a->ends_line);
	get_ends(t, ss, it, a->bytes, a->begins_line, a->ends_line);
	pending_pop(sv, ss);
	return true;
}

/* Returns the bytes of the next requests in the read buffer, if these are not pending. They end
 * where the search ahead has arrived, since later gets are asked for first. Returns nothing while
 * the session has a granted or refused place, which only executing its request gives back. */
static inline struct view
unasked(const struct session *ss)
{
	const uint32_t end =
		ss->ahead && ss->ahead_at < ss->read_buf_len ? ss->ahead_at : ss->read_buf_len;
	const struct pending *a = ss->pending;

	if (ss->read_buf_at >= end || ss->passed_on != 0 || ss->place_granted ||
	    ss->place_refused || (a != NULL && a->offset <= ss->read_buf_at))
		return (struct view){NULL, 0};
	return (struct view){ss->read_buf + ss->read_buf_at, end - ss->read_buf_at};
}

/* Answers a get between pending ones from the store, as in a run of hits. False: the store lacks
 * its key, or the request is no plain get. */
static inline bool
hit_complete(struct serve *sv, struct session *ss, struct completing *t)
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

	if (next.len == 0 || ss->served >= sv->cfg.conn_requests_max || sv->pending->hits_left == 0)
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
	pending_copy_used(sv, key, hash);
	sv->pending->hits_left--;
	hit_sample(sv, key, hash, bare.value_len);
	get_ends(t, ss, it, used, first, get.last);
	return true;
}

static inline void
answers_complete(struct serve *sv, struct session *ss)
{
	const bool hits = gets_fast_allowed(sv, ss) && sv->backend_mode != BACKEND_BYPASSED;
	uint8_t slow_key[MC_KEY_MAX];
	struct completing t = {
		.w = {.session = ss},
		.in_line = ss->parser.in_line,
		.slow = slow_log_wants(&sv->slow, sv->clock.now_ns - ss->read_buf_since_ns),
		.key = {slow_key, 0},
		.slow_key = slow_key};

	while (answer_complete(sv, ss, &t) || (hits && hit_complete(sv, ss, &t)))
		;
	if (t.w.begin != NULL)
		conn_commit(sv->stack, ss->conn, (uint32_t)(t.w.at - t.w.begin));
	if (t.keys == 0)
		return;
	tally_end(sv, &t.tally, t.keys, REQ_TCP);
	session_waits(sv, ss, WAIT_BACKEND);
	lines_record_late(sv, &(struct asker){.session = ss, .key = t.key}, ss->read_buf_since_ns,
			  t.ended, t.tally.single_misses);
	parser_move(&ss->parser, !t.in_line);
}

FLAT void
gets_complete(struct serve *sv, struct session *ss)
{
	if (ss->pending == NULL || ss->read_buf == NULL || ss->place_queued ||
	    ss->body != BODY_NONE || ss->parser.swallow || ss->value.item != NULL ||
	    ss->stream.kind != NULL || sv->observed || sv->backend_mode == BACKEND_PROMOTES)
		return;
	if (ss->pending->state == PENDING_READY && ss->pending->answer.item != NULL)
		pending_length_seen(sv->pending, ss, ss->pending->answer.item);
	answers_complete(sv, ss);
}
