/*
 * serve_fast_path.c - fast path of plain gets, from bytes to replies in runs, and of plain sets by
 * datagram as far as operations. Credits, reservations, commits and counters are done once a run;
 * the slow path gives the same replies, one by one, and takes all else.
 */
#include "await_table.h"
#include "serve_lines.h"
#include "serve_parse.h"
#include "serve_record.h"

#include "base/copy.h"
#include "proto/mc_fast_path.h"
#include "store/item_simple.h"

/* ---- bytes of a connection to operations ---- */

/* Prefetches the bucket, which arrives while the next requests are read. */
static inline void
op_probe(struct serve *sv, struct op *op)
{
	op->hash = store_probe(sv->store, &op->probe, op->req.key);
	op->probed = true;
}

static inline void
op_put(struct serve *sv, struct op *op, struct view key, uint8_t flags, struct view raw)
{
	op->req.verb = MC_GET;
	op->req.flags = flags;
	op->req.error = MC_ERR_NONE;
	op->req.key = key;
	op->raw = raw;
	op_probe(sv, op);
}

static inline bool
gets_fast_allowed(const struct serve *sv, const struct session *ss)
{
	const struct mc_parser *ps = &ss->parser;

	if (unlikely(ps->protocol != MC_PROTOCOL_TEXT || ps->swallow || sv->under_pressure))
		return false;
	if (ps->in_line && ps->verb != MC_GET)
		return false;
	return likely(!sv->auth) || ss->role != MC_ROLE_NONE;
}

/* Into a line, or out of it. */
static inline bool
parser_move(struct mc_parser *ps, bool out)
{
	*ps = (struct mc_parser){.verb = MC_GET, .in_line = !out, .protocol = MC_PROTOCOL_TEXT};
	return !out;
}

/* Operations that a run may still make: of the credits it has, or for which it gets another. */
static inline uint32_t
credits_take(struct serve *sv, struct session *ss, uint32_t credits, uint32_t room)
{
	if (credits < room)
		credits += conn_credit_take(sv->stack, ss->conn, room - credits);
	return credits;
}

/* A run stops where its next key might have to wait for a credit, a turn, a pass or a read buffer,
 * or belongs to another command. */
FLAT uint32_t
gets_parse_fast(struct serve *sv, struct session *ss, struct view src)
{
	const uint32_t room = OPS_MAX - sv->op_count;
	const uint32_t defer_room = MC_LINE_MAX - ss->deferrable_bytes;
	const uint32_t window = src.len < defer_room ? src.len : defer_room;
	struct mc_parser *ps = &ss->parser;
	uint32_t credits = 1, used = 0, count = 0;
	struct op *op = &sv->ops[sv->op_count];

	if (unlikely(!gets_fast_allowed(sv, ss)))
		return 0;
	for (bool in_line = ps->in_line; used < window; op++) {
		const uint8_t *p = src.data + used;
		struct mc_get get;
		uint32_t bytes;

		if (count == credits && (credits = credits_take(sv, ss, credits, room)) == count)
			break;
		bytes = in_line ? mc_key_parse_fast(p, window - used, &get)
				: mc_get_parse_fast(p, window - used, &get);
		if (bytes == 0)
			break;
		op->session = ss;
		op->before = *ps;
		if (in_line)
			op_put(sv, op, (struct view){p, get.key_len}, get.last ? MC_LAST : 0,
			       (struct view){p, bytes});
		else
			op_put(sv, op, (struct view){p + MC_GET_PREFIX_BYTES, get.key_len},
			       get.last ? MC_FIRST | MC_LAST : MC_FIRST, (struct view){p, bytes});
		used += bytes;
		count++;
		if (in_line == get.last) {
			in_line = parser_move(ps, get.last);
			sv->long_lines = true;
		}
		if (get.last && ++ss->served == sv->cfg.conn_requests_max)
			break;
	}
	if (count == 0)
		return 0;
	if (credits > count)
		conn_credit_return(sv->stack, credits - count);
	ss->has_credit = false;
	ss->deferrable_bytes += used;
	ss->pass_ops += count;
	sv->op_count += count;
	session_skip(sv->stack, ss, used);
	return count;
}

/* ---- datagrams to operations ---- */

/* A get alone in its datagram. */
static inline bool
datagram_get(struct serve *sv, struct view text, struct op *op)
{
	struct mc_get get;

	if (mc_get_parse_fast(text.data, text.len, &get) != text.len || !get.last)
		return false;
	op_put(sv, op, (struct view){text.data + MC_GET_PREFIX_BYTES, get.key_len},
	       MC_FIRST | MC_LAST, text);
	return true;
}

/* A set with its body, likewise. */
static inline bool
datagram_set(struct serve *sv, struct view text, struct op *op)
{
	uint32_t used;

	if (!mc_set_begins(text.data, text.len))
		return false;
	used = mc_set_parse_fast(&op->req, text.data, text.len);
	if (used == 0 || (uint64_t)op->req.body_len + MC_BODY_END != text.len - used)
		return false;
	op->body = (struct view){text.data + used, text.len - used};
	op->raw = text;
	op_probe(sv, op);
	return true;
}

void
datagrams_parse_fast(struct serve *sv)
{
	struct datagram_cursor *dc = &sv->datagrams;
	struct op *op = &sv->ops[sv->op_count];
	const struct op *end = &sv->ops[OPS_MAX];
	struct datagram *d = &dc->list[dc->next], *list_end = &dc->list[dc->count];
	struct view text;

	if (unlikely(sv->auth || sv->protocol == MC_PROTOCOL_BINARY))
		return;
	for (; op < end && d < list_end; op++, d++) {
		if (mc_udp_parse(d->payload, &op->udp_id, &text) != MC_UDP_OK ||
		    (!datagram_get(sv, text, op) && !datagram_set(sv, text, op)))
			break;
		op->session = NULL;
		op->datagram = d;
		op->in_place = true;
	}
	dc->next = (uint32_t)(d - dc->list);
	sv->op_count = (uint32_t)(op - sv->ops);
}

/* ---- operations to replies ---- */

/* What goes around a value is written as words of eight bytes, of which fewer may count: what the
 * last one writes too much is room that was reserved. */
#define WORD_BYTES    8u
#define MISS_BYTES    WORD_BYTES
#define FRAMING_BYTES (6u + 2 * WORD_BYTES) /* "VALUE ", flags and length, the tail */

void
gets_fast_create(struct serve *sv)
{
	for (uint32_t len = 0; len < GET_LENGTHS; len++) {
		uint8_t bytes[WORD_BYTES + 2] = " 0 ";

		const uint8_t *end = mc_put_line_end(mc_put_u64(bytes + 3, len));

		sv->get_lengths[len] = load_u64(bytes);
		sv->get_length_bytes[len] = (uint8_t)(end - bytes);
	}
}

static inline uint8_t *
end_put(uint8_t *at)
{
	store_u64(at, load_u64("END\r\n\0\0"));
	return at + 5;
}

/* "VALUE key 0 length", the value, and what stands behind it. */
static inline uint8_t *
value_put(const struct serve *sv, uint8_t *at, const struct item *it, struct item_lengths bare,
	  bool last)
{
	const uint32_t len = bare.value_len;

	store_u64(at, load_u64("VALUE \0"));
	bytes_copy(at + 6, it->body, bare.key_len);
	at += 6 + bare.key_len;
	store_u64(at, sv->get_lengths[len]);
	at += sv->get_length_bytes[len];
	bytes_copy(at, it->body + bare.key_len, len);
	at += len;
	store_u64(at, load_u64("\r\nEND\r\n"));
	return at + (last ? 7 : 2);
}

/* Counters of a run, but for its keys. */
struct tally {
	uint32_t lines, misses;
	uint32_t single_misses; /* of lines of one key */
};

static inline void
tally_end(struct serve *sv, const struct tally *t, uint32_t keys, enum serve_counter lines)
{
	counter_add(&sv->counters[CMD_GET], keys);
	counter_add(&sv->counters[GET_HITS], keys - t->misses);
	counter_add(&sv->counters[GET_MISSES], t->misses);
	counter_add(&sv->counters[lines], t->lines);
}

/* Bytes of the reply to one key, with room for what is written too much; 0: not for this path. */
static inline uint32_t
reply_bytes(const struct item *it, struct item_lengths *bare, uint32_t miss_bytes)
{
	if (unlikely(it == NULL))
		return miss_bytes;
	if (unlikely(!item_is_simple(it)))
		return 0;
	*bare = item_simple_lengths(it);
	return likely(bare->value_len < GET_LENGTHS)
		       ? FRAMING_BYTES + bare->key_len + bare->value_len
		       : 0;
}

/* The reply to one key, and what is counted of it. */
static inline uint8_t *
reply_put(struct serve *sv, uint8_t *at, const struct op *op, const struct item *it,
	  struct item_lengths bare, struct tally *tally)
{
	const uint8_t flags = op->req.flags;

	tally->lines += (flags & MC_FIRST) != 0;
	if (likely(it != NULL)) {
		class_count(sv, it, CLASS_GET_HITS);
		return value_put(sv, at, it, bare, (flags & MC_LAST) != 0);
	}
	tally->misses++;
	tally->single_misses += (flags & (MC_FIRST | MC_LAST)) == (MC_FIRST | MC_LAST);
	return flags & MC_LAST ? end_put(at) : at;
}

/* Where replies are written: to one connection after the other, as many a reservation as there is
 * room for. */
struct reply_writer {
	struct session *session;
	uint8_t *begin, *at, *end;
	const struct op *first; /* of this connection */
	struct tally before;    /* in a pass that may be late: of the run, up to first */
	uint32_t reserved;      /* times */
};

/* Operations up to op were answered: each holds one credit. */
static inline void
reply_writer_finish(struct serve *sv, const struct reply_writer *w, const struct op *op)
{
	const uint32_t credits = (uint32_t)(op - w->first);

	if (w->begin != NULL)
		conn_commit(sv->stack, w->session->conn, (uint32_t)(w->at - w->begin));
	if (credits > w->reserved)
		conn_credit_return(sv->stack, credits - w->reserved);
}

/* In a pass some of whose requests came before this turn: those of one connection. */
static void
reply_writer_record(struct serve *sv, const struct reply_writer *w, const struct op *op,
		    const struct tally *tally)
{
	const uint32_t misses = tally->single_misses - w->before.single_misses;
	const struct lines n = conn_lines_count(w->first, op, tally->lines - w->before.lines);

	if (w->session == NULL)
		return;
	if (w->session->late_pass == sv->pass)
		lines_record_late(sv,
				  &(struct asker){.session = w->session, .key = w->first->req.key},
				  w->session->since_ns, n, misses);
	else
		lines_record(sv, true, n, misses);
}

/* To the next connection. False: it is gone, or not for this path. */
static inline bool
reply_writer_switch(struct serve *sv, struct reply_writer *w, const struct op *op,
		    const struct tally *tally, bool late)
{
	struct session *ss = op->session;

	if (ss == NULL || unlikely(ss->conn == NULL || ss->waits != 0))
		return false;
	reply_writer_finish(sv, w, op);
	if (late)
		reply_writer_record(sv, w, op, tally);
	*w = (struct reply_writer){.session = ss, .first = op};
	if (late)
		w->before = *tally;
	return true;
}

/* False: the queue holds all it may, and further replies wait. */
static inline bool
reply_writer_reserve(struct serve *sv, struct reply_writer *w, uint32_t bytes)
{
	struct conn *c = w->session->conn;
	uint32_t room;

	if (w->begin != NULL) {
		conn_commit(sv->stack, c, (uint32_t)(w->at - w->begin));
		w->begin = NULL;
		if (unlikely(conn_is_full(sv->stack, c)))
			return false;
	}
	w->begin = w->at = conn_reserve_room(sv->stack, c, bytes, &room);
	ensure(w->begin != NULL); /* conn_writable or conn_credit_take said so */
	w->end = w->begin + room;
	w->reserved++;
	return true;
}

/* late: requests of the pass may have come before this turn. */
static inline uint32_t
conn_gets_execute(struct serve *sv, const struct op *first, uint32_t miss_bytes, bool late)
{
	const struct op *op = first, *end = &sv->ops[sv->op_count];
	const struct store_get_batch batch = store_get_batch_begin(sv->store);
	struct tally tally = {0};
	struct reply_writer w = {.first = first};
	struct session *full = NULL;
	uint32_t keys;

	for (; op < end && op->req.verb == MC_GET; op++) {
		struct item_lengths bare = {0};
		const struct item *it;
		uint32_t bytes;

		if (op->session != w.session &&
		    ((miss_bytes == 0 && op->session != NULL && unlikely(op->session->passes_on)) ||
		     !reply_writer_switch(sv, &w, op, &tally, late)))
			break;
		it = store_get_in_batch(&batch, &op->probe, op->req.key);
		bytes = reply_bytes(it, &bare, miss_bytes);
		if (unlikely(bytes == 0))
			break;
		if (unlikely(bytes > (size_t)(w.end - w.at)) &&
		    unlikely(!reply_writer_reserve(sv, &w, bytes))) {
			full = w.session;
			break;
		}
		w.at = reply_put(sv, w.at, op, it, bare, &tally);
	}
	reply_writer_finish(sv, &w, op);
	keys = (uint32_t)(op - first);
	tally_end(sv, &tally, keys, REQ_TCP);
	if (late)
		reply_writer_record(sv, &w, op, &tally);
	else if (likely(tally.lines == keys && !sv->long_lines))
		lines_record(sv, true, (struct lines){keys, 0}, tally.single_misses);
	else if (w.first == first)
		lines_record(sv, true, conn_lines_count(first, op, tally.lines),
			     tally.single_misses);
	else
		lines_record(sv, true, lines_count(first, op), tally.single_misses);
	if (unlikely(full != NULL)) {
		session_waits(sv, full, WAIT_WINDOW);
		session_defer(sv, full, (uint32_t)(op - sv->ops));
	}
	return keys;
}

static inline bool
datagram_get_execute(struct serve *sv, const struct store_get_batch *batch, const struct op *op,
		     struct tally *tally, uint32_t miss_bytes)
{
	const struct item *it = store_get_in_batch(batch, &op->probe, op->req.key);
	struct item_lengths bare = {0};
	const uint32_t bytes = reply_bytes(it, &bare, miss_bytes);
	uint32_t room, len;
	uint8_t *at = udp_reply_buffer(sv->stack, op->datagram, &room), *end;

	if (unlikely(bytes == 0 || MC_UDP_FRAME_BYTES + bytes > room ||
		     MC_UDP_FRAME_BYTES + bytes > MC_UDP_PAYLOAD_MAX))
		return false;
	end = reply_put(sv, mc_udp_put(at, op->udp_id, 0, 1), op, it, bare, tally);
	len = (uint32_t)(end - at);
	udp_reply_in_place(sv->stack, op->datagram, len);
	return true;
}

static inline uint32_t
datagram_gets_execute(struct serve *sv, const struct op *first, uint32_t miss_bytes, bool late)
{
	const struct op *op = first, *end = &sv->ops[sv->op_count];
	const struct store_get_batch batch = store_get_batch_begin(sv->store);
	struct tally tally = {0};
	uint32_t keys;

	/* Those kept from an earlier turn stand in front. */
	if (unlikely(sv->rate_limited) || (late && first->datagram->kept))
		return 0;
	while (op < end && op->session == NULL && op->in_place && op->req.verb == MC_GET &&
	       datagram_get_execute(sv, &batch, op, &tally, miss_bytes))
		op++;
	keys = (uint32_t)(op - first);
	tally_end(sv, &tally, keys, REQ_UDP);
	lines_record(sv, false, (struct lines){keys, 0}, tally.single_misses);
	return keys;
}

static FLAT uint32_t
conn_gets(struct serve *sv, const struct op *first)
{
	return conn_gets_execute(sv, first, MISS_BYTES, false);
}

static FLAT uint32_t
datagram_gets(struct serve *sv, const struct op *first)
{
	return datagram_gets_execute(sv, first, MISS_BYTES, false);
}

uint32_t
gets_execute_fast(struct serve *sv, uint32_t first)
{
	const struct op *op = &sv->ops[first];

	return op->session != NULL ? conn_gets(sv, op) : datagram_gets(sv, op);
}

static FLAT uint32_t
gets_execute_recorded(struct serve *sv, uint32_t first, uint32_t miss_bytes)
{
	const struct op *op = &sv->ops[first];

	return op->session != NULL ? conn_gets_execute(sv, op, miss_bytes, true)
				   : datagram_gets_execute(sv, op, miss_bytes, true);
}

/* Not within ops_execute_slow(), whose loop would leave it too few registers. */
static FLAT NOT_FLAT uint32_t
gets_execute_prompt(struct serve *sv, uint32_t first)
{
	const struct op *op = &sv->ops[first];

	return op->session != NULL ? conn_gets_execute(sv, op, 0, false)
				   : datagram_gets_execute(sv, op, 0, false);
}

uint32_t
gets_execute_hits(struct serve *sv, uint32_t first)
{
	return unlikely(sv->late) ? gets_execute_recorded(sv, first, 0)
				  : gets_execute_prompt(sv, first);
}

uint32_t
gets_execute_late(struct serve *sv, uint32_t first)
{
	return gets_execute_recorded(sv, first, MISS_BYTES);
}

/* ---- answers that are here, to replies ---- */

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
	w->begin = NULL;
	if (conn_is_full(sv->stack, ss->conn) ||
	    (!ss->has_credit && !conn_writable(sv->stack, ss->conn, 1)))
		return false;
	ss->has_credit = false;
	w->begin = w->at = conn_reserve_room(sv->stack, ss->conn, bytes, &room);
	ensure(w->begin != NULL);
	w->end = w->begin + room;
	return true;
}

static inline void
answers_tell(struct serve *sv, struct session *ss)
{
	struct reply_writer w = {.session = ss};
	struct tally tally = {0};
	struct lines ended = {0};
	uint8_t slow_key[MC_KEY_MAX];
	struct view key = {slow_key, 0}; /* of the last value, if it was slow */
	const bool slow = slow_log_wants(&sv->slow, sv->clock.now_ns - ss->read_buf_since_ns);
	uint32_t keys = 0;
	bool out = false;

	for (const struct await *a = ss->awaits; may_tell(sv, ss, a); a = ss->awaits) {
		const struct item *it = a->answer.item;
		const uint32_t bytes = answer_bytes(it);

		if (bytes == 0 ||
		    (bytes > (size_t)(w.end - w.at) && !answers_reserve(sv, &w, bytes)))
			break;
		out = a->ends_line;
		w.at = answer_put(sv, w.at, it, out);
		if (it != NULL && unlikely(slow))
			key = key_copied(slow_key, it);
		ss->read_buf_at += a->bytes;
		ss->served += out;
		keys++;
		tally.misses += it == NULL;
		tally.lines += a->begins_line && !ss->await_counted;
		ended.singles += out && a->begins_line;
		ended.others += out && !a->begins_line;
		tally.single_misses += out && a->begins_line && it == NULL;
		ss->await_counted = false;
		awaits_pop(sv, ss);
	}
	if (w.begin != NULL)
		conn_commit(sv->stack, ss->conn, (uint32_t)(w.at - w.begin));
	if (keys == 0)
		return;
	tally_end(sv, &tally, keys, REQ_TCP);
	session_waits(sv, ss, WAIT_SUPPLIER);
	lines_record_late(sv, &(struct asker){.session = ss, .key = key}, ss->read_buf_since_ns,
			  ended, tally.single_misses);
	parser_move(&ss->parser, out);
}

FLAT void
gets_tell(struct serve *sv, struct session *ss)
{
	if (ss->awaits == NULL || ss->read_buf == NULL || ss->await_queued ||
	    ss->body != BODY_NONE || ss->parser.swallow || ss->value.item != NULL ||
	    ss->stream.kind != NULL || sv->observed || sv->brings)
		return;
	answers_tell(sv, ss);
}
