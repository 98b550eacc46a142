/*
 * pending_ahead.c - asks for requests that follow a pending one, ahead of their turn. For plain
 * gets even before they are operations.
 */
#include "pending_parts.h"

#include "base/prefetch.h"
#include "proto/mc_fast_path.h"
#include "serve/serve_parse.h"

/* ---- operations of this pass ---- */

#define WORD_BITS    64u
#define WAITED_WORDS 32u

/* A filter of key hashes. If the bit of a hash is clear, no key with it was added. */
struct waited {
	uint64_t bits[WAITED_WORDS];
};

static void
waited_add(struct waited *w, uint64_t hash)
{
	w->bits[hash / WORD_BITS % WAITED_WORDS] |= 1ull << hash % WORD_BITS;
}

static bool
waited_has(const struct waited *w, uint64_t hash)
{
	return (w->bits[hash / WORD_BITS % WAITED_WORDS] >> hash % WORD_BITS & 1) != 0;
}

static struct pending *
waiting_for(const struct waited *w, const struct session *ss, uint64_t hash)
{
	return waited_has(w, hash) ? pending_find(ss->pending, hash) : NULL;
}

/* True if the backend must be asked for op's key. If the backend executes writes, a miss seen in
 * the buckets during this pass is still one, since the connection has written nothing since. */
bool
pending_lacks(struct serve *sv, const struct op *op)
{
	uint64_t cas;

	return ((sv->backend_mode >= BACKEND_WRITES && store_probe_missed(&op->probe)) ||
		pending_copy(sv, &op->req, store_peek_probed(sv->store, &op->probe, op->req.key),
			     &cas) == BACKEND_COPY_NONE) &&
	       pending_may_have(sv, op->req.key, op->hash);
}

/* The state of a search for operations to ask for ahead. */
struct search {
	const struct op *first;
	struct pending **link; /* the link after the pending requests before `offset` */
	uint32_t offset;       /* offset of the next operation in the read buffer */
	uint32_t line;         /* an offset in that operation's line, or its beginning */
	/* Filters of keys that are pending, and of keys that were checked and not asked for. */
	struct waited waited, passed;
	bool skips; /* keys that an earlier get has left for its turn are skipped */
};

/* Begins a search after the pending requests before at->offset, which the caller has set. */
static void
search_begin(struct search *at, struct session *ss, const struct op *first)
{
	memset(&at->waited, 0, sizeof at->waited);
	memset(&at->passed, 0, sizeof at->passed);
	at->first = first;
	at->skips = false;
	at->link = &ss->pending;
	for (struct pending *a = ss->pending; a != NULL; a = a->next) {
		waited_add(&at->waited, a->hash);
		if (a->offset < at->offset)
			at->link = &a->next;
	}
}

static void
search_pass(struct search *at, struct session *ss, uint64_t hash)
{
	session_leave_out(ss, hash);
	waited_add(&at->passed, hash);
}

/* True if an earlier get of this key is answered only at its turn. By then its copy may have been
 * evicted, or may not answer it. Then this get, if asked for now, could return an older value than
 * that earlier one. */
static bool
is_passed(const struct search *at, const struct op *op)
{
	if (at->skips && session_left_out(op->session, op->hash))
		return true;
	if (likely(!waited_has(&at->passed, op->hash)))
		return false;
	for (const struct op *before = at->first; before < op; before++)
		if (before->session == op->session && before->hash == op->hash)
			return true;
	return false;
}

/* Asks for op's key if it is missed and not pending. False: there is no place. */
static bool
search_ask(struct serve *sv, struct op *op, struct search *at)
{
	struct session *ss = op->session;
	struct pending *same = waiting_for(&at->waited, ss, op->hash);
	const uint32_t offset = at->offset;

	at->link = pending_link_from(at->link, offset);
	if (same != NULL) {
		if (same->offset >= at->line && same->offset < offset)
			same->more = (uint16_t)(offset - same->offset);
		else if (same->offset != offset)
			/* No later get of the key is asked for as long as this one waits. */
			session_leave_out(ss, op->hash);
	} else if ((*at->link == NULL || (*at->link)->offset != offset) && !is_passed(at, op) &&
		   pending_lacks(sv, op)) {
		if (!pending_ask_at(sv, op, at->link, offset))
			return false;
		waited_add(&at->waited, op->hash);
	} else {
		search_pass(at, ss, op->hash);
	}
	at->offset += op->raw.len;
	if (op_last(op))
		at->line = at->offset;
	return true;
}

/* True if the session's operations from op on are all plain gets. */
static bool
gets_follow(const struct serve *sv, const struct session *ss, const struct op *op)
{
	for (; op < &sv->ops[sv->op_count]; op++)
		if (op->session == ss && pending_plain_get_bytes(op) == 0)
			return false;
	return true;
}

/* Asks for the operations that follow op. Stops at the first that may not be asked for ahead, since
 * it may change keys of later ones. */
static FLAT bool
ops_ask_ahead(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	const uint32_t begin = op_offset(ss, op), behind = begin + op->raw.len,
		       share = pending_share(sv, ss);
	const struct op *end = &sv->ops[sv->op_count];
	struct search at;

	at.offset = behind;
	at.line = op_last(op) ? behind : begin;
	search_begin(&at, ss, op + 1);
	for (struct op *next = op + 1; next < end; next++) {
		if (next->session != ss)
			continue;
		if (!pending_reads(&next->req))
			return false;
		ss->ahead_at = at.offset;
		ss->ahead_parser = next->before;
		if (ss->pending_count >= share || !search_ask(sv, next, &at))
			return gets_follow(sv, ss, next);
	}
	ss->ahead_at = at.offset;
	ss->ahead_parser = ss->parser;
	return true;
}

/* Gets for which an earlier search has asked are skipped. */
bool
pending_ask_ahead(struct serve *sv, struct op *op)
{
	struct session *ss = op->session;
	const uint32_t ahead_at = ss->ahead_at;
	const struct mc_parser parser = ss->ahead_parser;
	const bool others = ss->pending_count > 1;
	bool more = true;

	ss->left_out = 0;
	ss->ahead_at = op_offset(ss, op) + op->raw.len;
	ss->ahead_parser = ss->parser;
	if (ss->pass_ops > 1)
		more = ops_ask_ahead(sv, op);
	if (others && ahead_at > ss->ahead_at) {
		ss->ahead_at = ahead_at;
		ss->ahead_parser = parser;
	}
	return more;
}

static FLAT uint32_t
ask_more(struct serve *sv, struct session *ss, struct op *ops, uint32_t n, uint32_t offset)
{
	struct search at;
	uint32_t asked = 0;

	at.offset = at.line = offset;
	search_begin(&at, ss, ops);
	at.skips = true;
	while (asked < n && search_ask(sv, &ops[asked], &at))
		asked++;
	return asked;
}

/* ---- plain gets before they are operations ---- */

#define AHEAD_ROOM_MIN 512u /* bytes */
/* No search is made while less than 1/AHEAD_SHARE_PART of the share is free. */
#define AHEAD_SHARE_PART 4u

/* True if bytes follow the gets that were asked for, and can be another get, or another key of the
 * line. */
bool
session_is_ahead(const struct session *ss)
{
	const struct mc_parser *ps = &ss->ahead_parser;

	return ss->body == BODY_NONE && !ss->closing && ps->protocol == MC_PROTOCOL_TEXT &&
	       !ps->swallow && (!ps->in_line || ps->verb == MC_GET);
}

/* Returns a copy of the session's bytes from ahead_at on: at most as many as a line may have before
 * its first key. */
static struct view
ahead_bytes(const struct serve *sv, const struct session *ss)
{
	uint8_t *to = sv->pending->ahead_bytes;
	const uint32_t left = ss->ahead_at < ss->read_buf_len ? ss->read_buf_len - ss->ahead_at : 0,
		       beyond = left == 0 ? ss->ahead_at - ss->read_buf_len : 0;

	memcpy(to, ss->read_buf + ss->ahead_at, left);
	return (struct view){
		to, left + conn_peek_copy(ss->conn, beyond, to + left, MC_LINE_MAX - left)};
}

/* Parses the first key of a line that does not end within MC_LINE_MAX bytes. Returns how many bytes
 * it used; 0: it is no plain get. */
static NOT_FLAT uint32_t
long_line_parse(const uint8_t *p, uint32_t len, struct mc_get *get)
{
	struct mc_parser ps = {.protocol = MC_PROTOCOL_TEXT};
	struct mc_req req;
	struct mc_result r;

	if (len < MC_LINE_MAX)
		return 0;
	r = mc_parse(&ps, &req, p, len);
	if (r.status != MC_OK || req.verb != MC_GET || req.error != MC_ERR_NONE || !ps.in_line ||
	    r.used != MC_GET_PREFIX_BYTES + req.key.len + 1)
		return 0;
	*get = (struct mc_get){.key_len = req.key.len};
	return r.used;
}

/* Parses up to this many complete gets into pt->ahead, and prefetches for them. Returns how
 * many. */
static uint32_t
ahead_parse(struct serve *sv, struct session *ss, struct view src, uint32_t most)
{
	struct pending_table *pt = sv->pending;
	bool in_line = ss->ahead_parser.in_line;
	uint32_t n = 0, at = 0;

	for (; at < src.len && n < most; n++) {
		const uint8_t *p = src.data + at;
		const uint32_t left = src.len - at, prefix = in_line ? 0 : MC_GET_PREFIX_BYTES;
		struct op *op = &pt->ahead[n];
		struct mc_get get;
		uint32_t used = in_line ? mc_key_parse_fast(p, left, &get)
					: mc_get_parse_fast(p, left, &get);

		if (unlikely(used == 0) && !in_line)
			used = long_line_parse(p, left, &get);
		if (used == 0)
			break;
		op->session = ss;
		op->raw = (struct view){.data = p, .len = used};
		op->req.verb = MC_GET;
		op->req.error = MC_ERR_NONE;
		op->req.flags = (prefix != 0 ? MC_FIRST : 0) | (get.last ? MC_LAST : 0);
		op->req.key = (struct view){.data = p + prefix, .len = get.key_len};
		op->hash = store_probe(sv->store, &op->probe, op->req.key);
		in_line = !get.last;
		at += used;
	}
	return n;
}

static void
ahead_prefetch(struct serve *sv, uint32_t n)
{
	struct op *ops = sv->pending->ahead;
	uint64_t open = 0;

	static_assert(AHEAD_GETS_MAX <= 64, "a bit for each");
	for (uint32_t i = 0; i < n; i++)
		open |= (uint64_t)store_probe_primary(sv->store, &ops[i].probe) << i;
	for (; open != 0; open &= open - 1)
		store_probe_alternate(sv->store, &ops[__builtin_ctzll(open)].probe);
}

/* Moves the bytes of a read buffer that has little room left to its beginning, and adjusts every
 * pending request of the session. */
static void
buffer_compact(struct serve *sv, struct session *ss)
{
	if (ss->read_buf_at == 0 || MC_LINE_MAX - ss->read_buf_len >= AHEAD_ROOM_MIN)
		return;
	pending_rebase(sv, ss, sv->op_count);
	ss->read_buf_len -= ss->read_buf_at;
	memmove(ss->read_buf, ss->read_buf + ss->read_buf_at, ss->read_buf_len);
	ss->read_buf_at = 0;
}

/* Forgets requests whose bytes the stack has dropped unacknowledged, for lack of frames. They are
 * asked for when their bytes have arrived again. */
static NOT_FLAT void
lost_forget(struct serve *sv, struct session *ss)
{
	struct pending **link = pending_link_at(ss, ss->read_buf_len);

	while (*link != NULL)
		session_pending_end(sv, ss, link);
	ss->ahead = false;
	ss->ahead_at = 0;
}

/* Moves bytes before ahead_at from the connection to the read buffer, while there is room. */
static void
buffer_fill(struct serve *sv, struct session *ss)
{
	const uint32_t end = ss->ahead_at < MC_LINE_MAX ? ss->ahead_at : MC_LINE_MAX;

	while (ss->read_buf_len < end) {
		const uint32_t room = end - ss->read_buf_len;
		uint64_t since_ns;
		const struct view src = conn_peek_since(ss->conn, &since_ns);
		const uint32_t len = src.len < room ? src.len : room;

		if (unlikely(len == 0)) {
			lost_forget(sv, ss);
			return;
		}
		if (ss->newer_since_ns == 0) {
			ss->newer_since_ns = since_ns;
			ss->newer_at = ss->read_buf_len;
		}
		memcpy(ss->read_buf + ss->read_buf_len, src.data, len);
		ss->read_buf_len += len;
		conn_advance(sv->stack, ss->conn, len);
	}
}

bool
asked_bytes_move(struct serve *sv, struct session *ss)
{
	const uint32_t left = ss->read_buf_len - ss->read_buf_at;

	if (likely(!session_asks_beyond(ss)) || left >= AHEAD_ROOM_MIN)
		return false;
	buffer_compact(sv, ss);
	buffer_fill(sv, ss);
	return ss->read_buf_len - ss->read_buf_at > left;
}

/* Asks for at most this many gets. Returns how many. */
static uint32_t
segment_ask_ahead(struct serve *sv, struct session *ss, uint32_t most)
{
	struct op *ops = sv->pending->ahead;
	const struct view src = ahead_bytes(sv, ss);
	uint32_t n = ahead_parse(sv, ss, src, most < AHEAD_GETS_MAX ? most : AHEAD_GETS_MAX);

	if (n == 0)
		return 0;
	sv->pending->ahead_left -= n;
	ahead_prefetch(sv, n);
	n = ask_more(sv, ss, ops, n, ss->ahead_at);
	if (n == 0)
		return 0;
	ss->ahead_parser = (struct mc_parser){
		.verb = MC_GET, .in_line = !op_last(&ops[n - 1]), .protocol = MC_PROTOCOL_TEXT};
	ss->ahead_at += (uint32_t)(ops[n - 1].raw.data + ops[n - 1].raw.len - src.data);
	return n;
}

/* Each step uses up bytes, which bounds the loop. Gets without a place stay where they are. No
 * search is made while few places are free: a search reads all of the session's pending requests,
 * and more places will be free soon. */
void
gets_ask_ahead(struct serve *sv, struct session *ss)
{
	struct pending_table *pt = sv->pending;
	uint32_t share, left, n;

	if (ss->read_buf == NULL || sv->under_pressure || sv->backend_mode == BACKEND_PROMOTES ||
	    pt->draining)
		return;
	share = pending_share(sv, ss);
	left = share > ss->pending_count ? share - ss->pending_count : 0;
	if (left < share / AHEAD_SHARE_PART)
		return;
	do {
		n = segment_ask_ahead(sv, ss, left < pt->ahead_left ? left : pt->ahead_left);
		left -= n;
	} while (n != 0 && session_has_more(ss));
	if (ss->ahead_at <= ss->read_buf_len)
		return;
	buffer_compact(sv, ss);
	buffer_fill(sv, ss);
}
