/*
 * pending_datagrams.c - datagrams whose requests wait for a backend.
 *
 * A request that waits is copied, with everything that follows it in its datagram. The copy is
 * executed in order as answers arrive. Its reply is not begun before that, since an unfinished
 * message would block all datagrams. A line of retrieval is executed again when the last of its
 * missed keys is answered. The missed keys of the retrieval lines that follow are asked for
 * together with its own. Datagrams have no order among each other.
 */
#include "pending_parts.h"

#include "serve/serve_message.h"
#include "serve/serve_parse.h"
#include "serve/serve_since.h"

#define LINE_TRIES_MAX 4u /* how often a line may lose a key that it had found */

static void
pending_free_before(struct serve *sv, struct pending_line *line, uint32_t offset)
{
	struct pending **link = &line->pending;

	while (*link != NULL) {
		struct pending *a = *link;

		if (a->offset >= offset) {
			link = &a->next;
			continue;
		}
		*link = a->next;
		pending_free(sv, a);
	}
}

static void
line_free(struct serve *sv, struct pending_line *line)
{
	pending_free_before(sv, line, UINT32_MAX);
	stack_chunk_put(sv->stack, line->bytes);
	line->bytes = NULL;
	list_push_back(&sv->pending->lines_free, &line->link);
}

/* Makes the request at this offset the next one to parse. */
static void
line_go_to(struct pending_line *line, uint32_t offset)
{
	line->cursor = (struct datagram_cursor){.list = &line->datagram,
						.count = 1,
						.text = {line->bytes, line->len},
						.at = offset,
						.id = line->cursor.id,
						.parser.protocol = line->protocol};
}

/* Copies text of op's datagram into a chunk. Returns NULL if there is no place, or if the text is
 * longer than a chunk. */
static struct pending_line *
line_alloc(struct serve *sv, const struct op *op, struct view text)
{
	struct pending_table *pt = sv->pending;
	struct pending_line *line;
	uint8_t *chunk;

	if (text.len > CHUNK_BYTES || list_empty(&pt->lines_free) ||
	    (chunk = stack_chunk_get(sv->stack)) == NULL)
		return NULL;
	line = container_of(list_pop_front(&pt->lines_free), struct pending_line, link);
	*line = (struct pending_line){.bytes = chunk,
				      .len = text.len,
				      .datagram = {.from = op->datagram->from,
						   .kept = true,
						   .since_ns = datagram_since_ns(sv, op->datagram)},
				      .cursor.id = op->udp_id,
				      .protocol = op->req.flags & MC_BINARY ? MC_PROTOCOL_BINARY
									    : MC_PROTOCOL_TEXT,
				      .since_ns = sv->clock.now_ns};
	memcpy(chunk, text.data, text.len);
	list_init(&line->link);
	line_go_to(line, 0);
	return line;
}

static struct pending_line *
line_of(struct serve *sv, const struct op *op)
{
	struct pending_table *pt = sv->pending;
	const uintptr_t at = (uintptr_t)op->datagram - (uintptr_t)pt->lines;

	return at < sizeof pt->lines ? &pt->lines[at / sizeof pt->lines[0]] : NULL;
}

bool
pending_line_is_late(struct serve *sv, const struct op *op)
{
	const struct pending_line *line = line_of(sv, op);

	return line != NULL && sv->clock.now_ns - line->since_ns >=
				       PENDING_LINE_TIMEOUTS * sv->pending->backend.timeout_ns;
}

/* ---- the line of an operation ---- */

static bool
same_datagram(const struct op *a, const struct op *b)
{
	return a->session == NULL && b->session == NULL && a->datagram == b->datagram;
}

/* Returns the first of op's line among the operations of this pass. */
static const struct op *
line_first(const struct serve *sv, const struct op *op)
{
	while ((op->req.flags & MC_FIRST) == 0 && op > sv->ops && same_datagram(op - 1, op))
		op--;
	return op;
}

/* Returns the offset at which op's line begins. */
static uint32_t
line_offset(const struct serve *sv, const struct pending_line *line, const struct op *op)
{
	while (op->before.in_line && op > sv->ops && same_datagram(op - 1, op))
		op--;
	return op->before.in_line ? line->cut : (uint32_t)(op->raw.data - line->bytes);
}

static void
op_skip(struct op *op)
{
	op->req.verb = OP_SKIP;
	op->req.flags = 0;
	op->in_place = true;
}

/* Skips the operations of this pass that follow op in its line. True if the line ends with them. */
static bool
line_skip(struct serve *sv, struct op *op)
{
	const struct op *end = &sv->ops[sv->op_count];
	bool whole = op_last(op);

	for (struct op *next = op + 1; !whole && next < end && same_datagram(op, next); next++) {
		whole = op_last(next);
		op_skip(next);
	}
	return whole;
}

/* Skips the operations of this pass that follow op in its datagram. Returns the end of their
 * bytes. */
static const uint8_t *
datagram_skip(struct serve *sv, struct op *op)
{
	const struct op *end = &sv->ops[sv->op_count];
	const uint8_t *parsed = op->raw.data + op->raw.len;

	for (struct op *next = op + 1; next < end && same_datagram(op, next); next++) {
		parsed = next->raw.data + next->raw.len;
		op_skip(next);
	}
	return parsed;
}

/* Moves the cursor to the end of the line that it is in. */
static void
cursor_leave_line(struct datagram_cursor *dc)
{
	const uint8_t *at = dc->text.data + dc->at;
	const uint8_t *lf = memchr(at, '\n', dc->text.len - dc->at);

	dc->at = lf != NULL ? (uint32_t)(lf + 1 - dc->text.data) : dc->text.len;
	dc->parser.in_line = 0;
	if (dc->at == dc->text.len)
		datagram_next(dc);
}

/* Discards the message into which op was composed. */
static void
reply_discard(struct serve *sv, struct op *op)
{
	op->in_place = true;
	message_discard(sv);
	sv->request_bytes = 0;
}

/* Cuts text at the last end of a line within a chunk's length. */
static struct view
text_cut(struct serve *sv, const struct op *op, struct view text)
{
	if (text.len <= CHUNK_BYTES)
		return text;
	serve_count(sv, UDP_DROP_TRUNCATED);
	for (text.len = CHUNK_BYTES; (op->req.flags & MC_BINARY) == 0 && text.len > 0; text.len--)
		if (text.data[text.len - 1] == '\n')
			break;
	return text;
}

/* Takes the rest of op's datagram, from this byte on, out of the pass. The byte may be before or
 * after op. Returns NULL if there is no rest, or no place. */
static struct pending_line *
rest_take(struct serve *sv, struct op *op, const uint8_t *from)
{
	struct datagram_cursor *dc = &sv->datagrams;
	const uint8_t *end = datagram_skip(sv, op);
	struct pending_line *line;
	struct view text;

	if (dc->text.data != NULL && op->datagram == &dc->list[dc->next]) {
		end = dc->text.data + dc->text.len;
		datagram_next(dc);
	}
	text = text_cut(sv, op, (struct view){from, (uint32_t)(end - from)});
	if (text.len == 0)
		return NULL;
	line = line_alloc(sv, op, text);
	if (line == NULL)
		serve_count(sv, UDP_DROP_NO_MEMORY);
	return line;
}

/* ---- asking ---- */

/* The state of a search over retrieval lines, the first of which waits. */
struct line_search {
	uint32_t begin; /* offset of the line being searched */
	/* Bits for the hashes of keys that a line has left out. Later lines leave these out,
	 * too. */
	uint64_t left_out;
};

/* Asks for a key if it is missed and not pending. False: there is no place. */
static bool
key_ask(struct serve *sv, struct pending_line *line, const struct mc_req *req,
	struct line_search *search)
{
	uint8_t bytes[MC_KEY_DECODED_MAX];
	struct view key = req->key;
	struct pending *a;
	uint64_t hash, bit, cas;

	if (req->flags & MC_KEY_BASE64) {
		key.len = (uint32_t)(mc_base64_decode(bytes, key) - bytes);
		key.data = bytes;
	}
	hash = store_hash(sv->store, key);
	bit = 1ull << hash % 64;
	a = pending_find(line->pending, hash);
	if (a != NULL && a->offset == search->begin)
		return true;
	if (a != NULL || (search->begin != line->begin && (search->left_out & bit) != 0) ||
	    pending_copy(sv, req, store_peek(sv->store, key, hash), &cas) != BACKEND_COPY_NONE ||
	    !pending_may_have(sv, key, hash)) {
		search->left_out |= bit;
		return true;
	}
	a = pending_ask(sv, NULL, line, req, key, hash);
	if (a == NULL)
		return false;
	a->offset = search->begin;
	a->next = line->pending;
	line->pending = a;
	return true;
}

static uint32_t
body_bytes(const struct mc_req *req)
{
	return req->flags & MC_HAS_BODY ? req->body_len + req->body_end : 0;
}

/* True if a request may be asked for at its turn or, with `ahead`, before it. */
static bool
may_ask(const struct serve *sv, const struct mc_req *req, bool ahead)
{
	if (ahead)
		return pending_reads(req);
	return (verb_traits[req->verb] & VERB_RETURNS_VALUE) != 0 ||
	       sv->backend_mode == BACKEND_PROMOTES;
}

/* Asks for the missed keys of the waiting line, and of the retrieval lines after it. Each step uses
 * up bytes, which bounds the loop. False: there is no place for a key of the waiting line. */
static bool
keys_ask(struct serve *sv, struct pending_line *line)
{
	struct mc_parser parser = {.protocol = line->protocol};
	struct line_search search = {.begin = line->begin};
	struct mc_req req;

	for (uint32_t at = line->begin; at < line->len;) {
		struct mc_result r;

		if (!parser.in_line)
			search.begin = at;
		r = mc_parse(&parser, &req, line->bytes + at, line->len - at);
		if (r.status != MC_OK || !may_ask(sv, &req, search.begin != line->begin))
			break;
		if (!key_ask(sv, line, &req, &search)) {
			if (search.begin == line->begin)
				return false;
			break;
		}
		at += r.used + body_bytes(&req);
	}
	line->open = 0;
	for (const struct pending *a = line->pending; a != NULL; a = a->next)
		line->open += a->offset == line->begin && a->state == PENDING_ASKED;
	if (line->open == 0) { /* the backend has none of the missed keys */
		list_push_back(&sv->pending->lines_ready, &line->link);
		sv->more = true;
	}
	return true;
}

/* Lets the line wait again, at its turn: one of its keys was not asked for, or was found and has
 * been evicted since. */
static void
line_again(struct serve *sv, struct pending_line *line, struct op *op)
{
	const uint32_t begin = line_offset(sv, line, op);

	datagram_skip(sv, op);
	reply_discard(sv, op);
	list_unlink(&line->link);
	list_init(&line->link);
	line->tries = begin == line->begin ? line->tries + 1 : 0;
	line->begin = begin;
	line->counted = begin + 1;
	pending_free_before(sv, line, begin);
	line_go_to(line, begin);
	if (line->tries < LINE_TRIES_MAX && keys_ask(sv, line))
		return;
	serve_count(sv, UDP_DROP_NO_MEMORY);
	list_push_back(&sv->pending->lines_executed, &line->link);
}

static void
line_begin(struct serve *sv, struct op *op)
{
	const struct op *first = line_first(sv, op);
	const uint8_t *begin =
		first->req.flags & MC_FIRST ? first->raw.data : sv->pending->line_start;
	struct pending_line *line = rest_take(sv, op, begin);

	reply_discard(sv, op);
	if (line == NULL)
		return;
	line->counted = 1;
	if (keys_ask(sv, line))
		return;
	serve_count(sv, UDP_DROP_NO_MEMORY);
	line_free(sv, line);
}

void
pending_line_keep(struct serve *sv, struct op *op)
{
	struct pending_line *again = line_of(sv, op);

	if (again != NULL)
		line_again(sv, again, op);
	else
		line_begin(sv, op);
}

void
pending_line_again(struct serve *sv, struct op *op)
{
	line_again(sv, line_of(sv, op), op);
}

/* ---- a write, and what follows it ---- */

void
pending_line_give_up(struct serve *sv, const struct op *op)
{
	struct pending_line *line = line_of(sv, op);

	if (line != NULL)
		pending_free_before(sv, line, UINT32_MAX);
}

struct pending_line *
pending_rest_keep(struct serve *sv, struct op *op)
{
	const uint8_t *behind = op->raw.data + op->raw.len;
	struct pending_line *line = line_of(sv, op);

	if (line == NULL)
		return rest_take(sv, op, behind);
	if (behind == line->bytes + line->len)
		return NULL; /* nothing follows op */
	datagram_skip(sv, op);
	list_unlink(&line->link);
	list_init(&line->link);
	line->begin = (uint32_t)(behind - line->bytes);
	line->tries = 0;
	line_go_to(line, line->begin);
	return line;
}

void
pending_rest_go_on(struct serve *sv, struct pending_line *rest)
{
	list_push_back(&sv->pending->lines_ready, &rest->link);
	sv->more = true;
}

/* ---- executing a copy ---- */

struct pending *
pending_line_find(struct serve *sv, const struct op *op)
{
	struct pending_line *line = line_of(sv, op);
	struct pending *a;
	uint32_t begin;

	if (line == NULL || line->pending == NULL)
		return NULL;
	begin = line_offset(sv, line, op);
	for (a = line->pending; a != NULL; a = a->next)
		if (a->hash == op->hash && a->offset == begin)
			break;
	return a;
}

/* Skips the line's operations in this pass, and the rest of its bytes. */
void
pending_line_fail(struct serve *sv, struct op *op)
{
	struct pending_line *line = line_of(sv, op);
	const bool whole = line_skip(sv, op);

	op->req.flags |= MC_LAST; /* the message of op ends here */
	if (whole)
		return;
	cursor_leave_line(line != NULL ? &line->cursor : &sv->datagrams);
	if (line == NULL || line->cursor.next == 0)
		return;
	list_unlink(&line->link);
	list_push_back(&sv->pending->lines_executed, &line->link);
}

/* ---- operations of datagrams that have waited ---- */

static void
line_step(struct serve *sv, struct pending_line *line)
{
	struct datagram_cursor *dc = &line->cursor;
	const struct mc_parser before = dc->parser;
	const uint32_t count = sv->op_count, at = dc->at;
	struct op *op = &sv->ops[count];

	if (!before.in_line)
		line->line_at = at;
	datagram_step(sv, dc);
	if (sv->op_count == count)
		return;
	op->before = before;
	op->in_place = false;
	/* The requests before this were counted when the datagram arrived. */
	if (at < line->counted)
		op->req.flags &= (uint8_t)~MC_FIRST;
}

/* True if a request may begin: as for other datagrams, no message to its source is pending. */
static bool
line_may_begin(const struct serve *sv, const struct pending_line *line)
{
	return !messages_turn_is_full(sv) &&
	       (!messages_pending(sv) || !messages_source_waits(sv, &line->datagram.from));
}

static void
pending_writes_parse(struct serve *sv)
{
	struct list *link;

	while (sv->op_count < OPS_MAX &&
	       (link = list_pop_front(&sv->pending->answered_udp)) != NULL) {
		struct kept_request *w = container_of(link, struct pending, due)->kept;
		struct op *op = &sv->ops[sv->op_count++];

		op->session = NULL;
		op->datagram = &w->datagram;
		op->udp_id = w->udp_id;
		op->in_place = false;
		op->probed = true;
		op->body = (struct view){NULL, 0};
		op->raw = (struct view){NULL, w->bytes};
		op->req =
			(struct mc_req){.verb = OP_KEPT_WRITE, .flags = MC_LAST, .key = w->req.key};
	}
	if (!list_empty(&sv->pending->answered_udp))
		sv->more = true;
}

/* Parses the datagram's requests until the pass is full. */
static void
pending_line_parse(struct serve *sv, struct pending_line *line)
{
	struct datagram_cursor *dc = &line->cursor;

	if (dc->parser.in_line)
		line->cut = line->line_at;
	while (sv->op_count < OPS_MAX && dc->next == 0 &&
	       (cursor_in_line(dc) || line_may_begin(sv, line)))
		line_step(sv, line);
}

/* True if the message for the first datagram is still being composed. */
static bool
pending_line_is_open(const struct pending_table *pt)
{
	return !list_empty(&pt->lines_ready) &&
	       container_of(pt->lines_ready.next, struct pending_line, link)->cursor.parser.in_line;
}

bool
pending_lines_parse(struct serve *sv)
{
	struct pending_table *pt = sv->pending;

	sv->read_bufs_in_use |= pt->asked_in_turn; /* an earlier pass of this turn may have asked */
	if (list_empty(&pt->lines_ready) && list_empty(&pt->answered_udp))
		return true;
	sv->read_bufs_in_use = true;
	if (sv->datagrams.text.data != NULL && sv->datagrams.parser.in_line)
		return true; /* a message is being composed */
	if (!pending_line_is_open(pt))
		pending_writes_parse(sv);
	for (uint32_t i = 0; i < PENDING_LINES_MAX && sv->op_count < OPS_MAX; i++) {
		struct pending_line *line;

		if (list_empty(&pt->lines_ready))
			break;
		line = container_of(pt->lines_ready.next, struct pending_line, link);
		pending_line_parse(sv, line);
		if (cursor_in_line(&line->cursor))
			break;
		list_unlink(&line->link);
		list_push_back(line->cursor.next != 0 ? &pt->lines_executed : &pt->lines_ready,
			       &line->link);
	}
	return !pending_line_is_open(pt);
}

void
pending_lines_pass_end(struct serve *sv)
{
	const struct datagram_cursor *dc = &sv->datagrams;
	struct list *link;

	while ((link = list_pop_front(&sv->pending->lines_executed)) != NULL)
		line_free(sv, container_of(link, struct pending_line, link));
	if (dc->text.data == NULL || !dc->parser.in_line)
		return;
	/* Finds the first operation of the unfinished line. Its operations are the last of this
	 * pass; or it began in an earlier pass. */
	for (uint32_t i = sv->op_count; i-- > 0;) {
		const struct op *op = &sv->ops[i];

		if (op->session == NULL && op->datagram == &dc->list[dc->next] &&
		    (op->req.flags & MC_FIRST)) {
			sv->pending->line_start = op->raw.data;
			break;
		}
	}
}

static void
pending_writes_drop(struct serve *sv)
{
	for (uint32_t i = 0; i < PENDING_MAX; i++) {
		struct pending *a = &sv->pending->table[i];

		if (a->state != PENDING_FREE && a->session == NULL && a->is_kept)
			pending_free(sv, a);
	}
}

void
pending_lines_drop(struct serve *sv)
{
	for (uint32_t i = 0; i < PENDING_LINES_MAX; i++)
		if (sv->pending->lines[i].bytes != NULL) {
			list_unlink(&sv->pending->lines[i].link);
			line_free(sv, &sv->pending->lines[i]);
		}
	pending_writes_drop(sv);
}
