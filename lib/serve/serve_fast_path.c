/*
 * serve_fast_path.c - the fast path: plain gets from bytes to replies, in runs; plain sets up to
 * their operations. It takes credits, reserves, commits and counts once for each run. The slow path
 * handles all other requests, and would give the same replies one by one.
 */
#include "serve_access.h"
#include "serve_gets.h"
#include "serve_parse.h"

/* ---- bytes of a connection to operations ---- */

/* Hashes the key and prefetches its bucket, which arrives while the next requests are parsed. */
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

/* Returns how many operations the run may make with its credits; takes new ones if all are used. */
static inline uint32_t
credits_take(struct serve *sv, struct session *ss, uint32_t credits, uint32_t room)
{
	if (credits < room)
		credits += conn_credit_take(sv->stack, ss->conn, room - credits);
	return credits;
}

/* Parses a run of gets. Stops before a key that may have to wait for a credit, a turn, a pass or a
 * read buffer, and before another command. Not inlined into a visit, whose variables would take its
 * registers. */
FLAT NOT_FLAT uint32_t
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

/* The flags of a get with one key. */
#define ONE_KEY (MC_FIRST | MC_LAST)

/* Parses the bytes at src if they are exactly one get of one key. */
static inline bool
get_take(struct serve *sv, struct view src, struct op *op)
{
	struct mc_get get;

	if (mc_get_parse_fast(src.data, src.len, &get) != src.len || !get.last)
		return false;
	op_put(sv, op, (struct view){src.data + MC_GET_PREFIX_BYTES, get.key_len}, ONE_KEY, src);
	return true;
}

/* Parses the line of a set at src, which begins with MC_SET_PREFIX. Returns the length of the set
 * with its body; 0: this path cannot take it, or the body is incomplete. */
static inline uint32_t
set_take(struct serve *sv, struct view src, struct op *op)
{
	const uint32_t used = mc_set_parse_fast(&op->req, src.data, src.len);
	const uint64_t whole = (uint64_t)used + op->req.body_len + MC_BODY_END;

	if (unlikely(used == 0 || whole > src.len))
		return 0;
	op->body = (struct view){src.data + used, op->req.body_len + MC_BODY_END};
	op->raw = (struct view){src.data, (uint32_t)whole};
	op_probe(sv, op);
	return (uint32_t)whole;
}

/* ---- a visit with one plain request ---- */

/* The longest line of a get with one key. If there are more bytes, they are a pipeline, for
 * gets_parse_fast(). */
#define PLAIN_GET_MAX (MC_GET_PREFIX_BYTES + MC_KEY_MAX + 2u)

/* True if nothing of the session is in progress, so that its next bytes begin a line of text. */
static inline bool
session_is_plain(const struct session *ss)
{
	const struct mc_parser *ps = &ss->parser;

	return !ps->in_line && !ps->swallow && ps->protocol == MC_PROTOCOL_TEXT &&
	       ss->body == BODY_NONE && ss->sched == SCHED_READY &&
	       (ss->waits | (uintptr_t)ss->value.item | (uintptr_t)ss->stream.kind |
		(uintptr_t)ss->read_buf) == 0;
}

/* Parses the bytes at src if they are exactly one get of one key, or begin with a set. Returns how
 * many bytes it took. */
static inline uint32_t
plain_take(struct serve *sv, struct view src, struct op *op)
{
	if (mc_set_begins(src.data, src.len))
		return set_take(sv, src, op);
	return get_take(sv, src, op) ? src.len : 0;
}

/* Results of plain_step(). */
enum plain {
	PLAIN_DONE,    /* the operation is made, and nothing is left to read */
	PLAIN_MORE,    /* the operation is made, and the visit continues */
	PLAIN_REFUSED, /* there is no room for the reply, so the visit ends */
	PLAIN_OTHER,   /* nothing was done, so the other steps follow */
};

/* Makes the first step of a turn's first visit. op: the next operation. */
static inline enum plain
plain_step(struct serve *sv, struct session *ss, struct op *op)
{
	struct conn *c = ss->conn;
	uint64_t since_ns;
	struct view src;
	uint32_t bytes;

	src = conn_peek_since(c, &since_ns);
	if (unlikely(src.len == 0 || since_ns != sv->clock.now_ns) ||
	    (src.len > PLAIN_GET_MAX && !mc_set_begins(src.data, src.len)) ||
	    unlikely(!session_is_plain(ss)))
		return PLAIN_OTHER;
	if (unlikely(!conn_writable(sv->stack, c, 1))) {
		session_waits(sv, ss, WAIT_WINDOW);
		return PLAIN_REFUSED;
	}
	bytes = plain_take(sv, src, op);
	if (unlikely(bytes == 0)) {
		ss->has_credit = true;
		return PLAIN_OTHER;
	}
	op->session = ss;
	op->datagram = NULL;
	op->in_place = false;
	op->before = ss->parser;
	ss->deferrable_bytes = op->req.verb == MC_GET ? bytes : 0;
	ss->served = ss->pass_ops = 1;
	sv->op_count++;
	conn_advance(sv->stack, c, bytes);
	return conn_unread(c) == 0 && !conn_has_ended(c) ? PLAIN_DONE : PLAIN_MORE;
}

FLAT void
plain_conns_visit(struct serve *sv)
{
	struct op *op = &sv->ops[sv->op_count];
	const struct op *end = &sv->ops[OPS_MAX];
	struct conn *c;

	while (op < end && (c = stack_pop_ready(sv->stack)) != NULL) {
		struct session *ss = &sv->sessions[conn_slot(c)];
		enum plain plain = PLAIN_OTHER;

		if (!visit_begin(sv, ss))
			continue;
		if (likely(visit_is_first(sv, ss)))
			plain = plain_step(sv, ss, op);
		if (likely(plain == PLAIN_DONE)) {
			op++;
		} else if (plain != PLAIN_REFUSED) {
			conn_visit(sv, ss);
			op = &sv->ops[sv->op_count];
		}
	}
}

/* ---- sets of a connection ---- */

/* Refuses a set that may have to wait, or that follows a request that may: the slow path must check
 * that all these bytes fit the read buffer (op_admit). */
bool
set_parse_fast(struct serve *sv, struct session *ss, struct view src)
{
	const struct mc_parser *ps = &ss->parser;
	struct op *op = &sv->ops[sv->op_count];
	uint32_t bytes;

	if (unlikely(ps->protocol != MC_PROTOCOL_TEXT || ps->in_line || ps->swallow || sv->auth ||
		     sv->few_behind != 0 || ss->deferrable_bytes != 0))
		return false;
	bytes = set_take(sv, src, op);
	if (unlikely(bytes == 0))
		return false;
	op->session = ss;
	op->datagram = NULL;
	op->in_place = false;
	op->before = *ps;
	op_commit(sv, ss);
	session_skip(sv->stack, ss, bytes);
	return true;
}

/* ---- datagrams to operations ---- */

/* Parses a datagram that is a single set with its body. */
static inline bool
datagram_set(struct serve *sv, struct view text, struct op *op)
{
	return mc_set_begins(text.data, text.len) && set_take(sv, text, op) == text.len;
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
		    (!get_take(sv, text, op) && !datagram_set(sv, text, op)))
			break;
		op->session = NULL;
		op->datagram = d;
		op->in_place = true;
	}
	dc->next = (uint32_t)(d - dc->list);
	sv->op_count = (uint32_t)(op - sv->ops);
}

/* ---- operations to replies ---- */

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

/* Writes the reply to one key of a request with these flags, and counts it. */
static inline uint8_t *
reply_put(struct serve *sv, uint8_t *at, uint8_t flags, const struct item *it,
	  struct item_lengths bare, struct tally *tally)
{
	tally->lines += (flags & MC_FIRST) != 0;
	if (likely(it != NULL)) {
		class_count(sv, it, CLASS_GET_HITS);
		return value_put(sv, at, it, bare, (flags & MC_LAST) != 0);
	}
	tally->misses++;
	tally->single_misses += (flags & ONE_KEY) == ONE_KEY;
	return flags & MC_LAST ? end_put(at) : at;
}

/* Commits the replies to the connection's operations before op, of which each has a credit, and
 * returns unused credits. */
static inline void
reply_writer_finish(struct serve *sv, const struct reply_writer *w, const struct op *op)
{
	const uint32_t credits = (uint32_t)(op - w->first);

	if (w->begin != NULL)
		conn_commit(sv->stack, w->session->conn, (uint32_t)(w->at - w->begin));
	if (credits > w->reserved)
		conn_credit_return(sv->stack, credits - w->reserved);
}

/* Records the residence of one connection's lines, in a pass with requests that arrived before
 * this turn. */
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

/* Changes to the next connection. False: it is closed, or must not use the fast path. */
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

/* Reserves room for the next reply. False: the send queue is full, so the remaining replies
 * wait. */
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
	ensure(w->begin != NULL); /* ensured by conn_writable or conn_credit_take */
	w->end = w->begin + room;
	w->reserved++;
	return true;
}

/* True if op is a get of one key, and the pass has no later operation of its connection. */
static inline bool
op_is_alone(const struct op *op, const struct op *end)
{
	const struct session *ss = op->session;

	return op->req.verb == MC_GET && op->req.flags == ONE_KEY && ss != NULL &&
	       ss->conn != NULL && ss->waits == 0 && (op + 1 == end || op[1].session != ss);
}

/* Executes the first gets of a run, as long as each is the only one of its connection. Returns the
 * first get that is not, or that needs another path. */
static inline const struct op *
alone_gets_execute(struct serve *sv, const struct store_get_batch *batch, const struct op *op,
		   struct tally *tally)
{
	const struct op *end = &sv->ops[sv->op_count];

	for (; op < end && op_is_alone(op, end); op++) {
		const struct item *it = store_get_in_batch(batch, &op->probe, op->req.key);
		struct conn *c = op->session->conn;
		struct item_lengths bare = {0};
		const uint32_t bytes = reply_bytes(it, &bare, MISS_BYTES);
		uint32_t room;
		uint8_t *at;

		if (unlikely(bytes == 0))
			break;
		at = conn_reserve_room(sv->stack, c, bytes, &room);
		ensure(at != NULL); /* ensured by conn_writable or conn_credit_take */
		conn_commit_room(sv->stack, c,
				 (uint32_t)(reply_put(sv, at, ONE_KEY, it, bare, tally) - at),
				 room);
	}
	return op;
}

/* Executes a run of gets of any connections. late: some requests of the pass may have arrived
 * before this turn. */
static inline uint32_t
conn_gets_execute(struct serve *sv, const struct op *first, uint32_t miss_bytes, bool late)
{
	const struct op *op = first, *end = &sv->ops[sv->op_count];
	const struct store_get_batch batch = store_get_batch_begin(sv->store);
	struct tally tally = {0};
	struct reply_writer w;
	struct session *full = NULL;
	uint32_t keys;

	if (!late && miss_bytes != 0)
		op = alone_gets_execute(sv, &batch, op, &tally);
	/* A datagram has no session; neither has a writer that has not begun. */
	if (op < end && op->session == NULL)
		end = op;
	w = (struct reply_writer){.first = op};
	for (; op < end && op->req.verb == MC_GET; op++) {
		struct item_lengths bare = {0};
		const struct item *it;
		uint32_t bytes;

		if (op->session != w.session && ((miss_bytes == 0 && op->session != NULL &&
						  unlikely(op->session->passed_on != 0)) ||
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
		w.at = reply_put(sv, w.at, op->req.flags, it, bare, &tally);
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

/* Executes a get of a datagram. limited: the reply is not sent if the rate limit of its source
 * forbids it. */
static inline bool
datagram_get_execute(struct serve *sv, const struct store_get_batch *batch, const struct op *op,
		     struct tally *tally, uint32_t miss_bytes, bool limited)
{
	const struct item *it = store_get_in_batch(batch, &op->probe, op->req.key);
	struct item_lengths bare = {0};
	const uint32_t bytes = reply_bytes(it, &bare, miss_bytes);
	uint32_t room, len;
	uint8_t *at = udp_reply_buffer(sv->stack, op->datagram, &room), *end;

	if (unlikely(bytes == 0 || MC_UDP_FRAME_BYTES + bytes > room ||
		     MC_UDP_FRAME_BYTES + bytes > MC_UDP_PAYLOAD_MAX))
		return false;
	end = reply_put(sv, mc_udp_put(at, op->udp_id, 0, 1), ONE_KEY, it, bare, tally);
	len = (uint32_t)(end - at);
	if (!limited || likely(udp_reply_allowed(sv, &op->datagram->from, op->raw.len,
						 len - MC_UDP_FRAME_BYTES)))
		udp_reply_in_place(sv->stack, op->datagram, len);
	return true;
}

static inline uint32_t
datagram_gets_execute(struct serve *sv, const struct op *first, uint32_t miss_bytes, bool late,
		      bool limited)
{
	const struct op *op = first, *end = &sv->ops[sv->op_count];
	const struct store_get_batch batch = store_get_batch_begin(sv->store);
	struct tally tally = {0};
	uint32_t keys;

	/* Datagrams kept from an earlier turn come first. */
	if (late && first->datagram->kept)
		return 0;
	while (op < end && op->session == NULL && op->in_place && op->req.verb == MC_GET &&
	       op->req.flags == ONE_KEY &&
	       datagram_get_execute(sv, &batch, op, &tally, miss_bytes, limited))
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
	return datagram_gets_execute(sv, first, MISS_BYTES, false, false);
}

static FLAT uint32_t
limited_gets(struct serve *sv, const struct op *first)
{
	return datagram_gets_execute(sv, first, MISS_BYTES, false, true);
}

uint32_t
gets_execute_fast(struct serve *sv, const struct op *first)
{
	if (first->session != NULL)
		return conn_gets(sv, first);
	return sv->rate_limited ? limited_gets(sv, first) : datagram_gets(sv, first);
}

static FLAT uint32_t
gets_execute_recorded(struct serve *sv, uint32_t first, uint32_t miss_bytes)
{
	const struct op *op = &sv->ops[first];

	return op->session != NULL
		       ? conn_gets_execute(sv, op, miss_bytes, true)
		       : datagram_gets_execute(sv, op, miss_bytes, true, sv->rate_limited);
}

/* Kept out of ops_execute_slow(), whose loop would leave it too few registers. */
static FLAT NOT_FLAT uint32_t
gets_execute_prompt(struct serve *sv, uint32_t first)
{
	const struct op *op = &sv->ops[first];

	return op->session != NULL ? conn_gets_execute(sv, op, 0, false)
				   : datagram_gets_execute(sv, op, 0, false, sv->rate_limited);
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
