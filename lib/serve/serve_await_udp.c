/*
 * serve_await_udp.c - datagrams whose retrievals wait for a supplier.
 *
 * A line of which a key is missed is copied, all its missed keys are asked for, and it is executed
 * again when the last one is known: a message left open would stop all datagrams. Lines are no
 * connection's: each is answered when it can be.
 */
#include "await_table.h"

#define LINE_TRIES_MAX 4u /* times that a key found at first may be gone at last */

static void
line_free(struct serve *sv, struct awaited_line *line)
{
	while (line->awaits != NULL) {
		struct await *a = line->awaits;

		line->awaits = a->next;
		await_free(sv, a);
	}
	stack_chunk_put(sv->stack, line->bytes);
	line->bytes = NULL;
	list_push_back(&sv->awaits->lines_free, &line->link);
}

/* NULL: there is no place for so many bytes. */
static struct awaited_line *
line_alloc(struct serve *sv, struct view text)
{
	struct awaits *aw = sv->awaits;
	struct awaited_line *line;
	uint8_t *chunk;

	if (text.len > CHUNK_BYTES || list_empty(&aw->lines_free) ||
	    (chunk = stack_chunk_get(sv->stack)) == NULL)
		return NULL;
	line = container_of(list_pop_front(&aw->lines_free), struct awaited_line, link);
	*line = (struct awaited_line){.bytes = chunk, .len = text.len};
	memcpy(chunk, text.data, text.len);
	return line;
}

static struct awaited_line *
line_of(struct serve *sv, const struct op *op)
{
	struct awaits *aw = sv->awaits;
	const uintptr_t at = (uintptr_t)op->datagram - (uintptr_t)aw->lines;

	return at < sizeof aw->lines ? &aw->lines[at / sizeof aw->lines[0]] : NULL;
}

/* ---- the line of an operation ---- */

static bool
same_datagram(const struct op *a, const struct op *b)
{
	return a->session == NULL && b->session == NULL && a->datagram == b->datagram;
}

static const struct op *
line_first(const struct serve *sv, const struct op *op)
{
	while ((op->req.flags & MC_FIRST) == 0 && op > sv->ops && same_datagram(op - 1, op))
		op--;
	return op;
}

static struct op *
line_last(struct serve *sv, struct op *op)
{
	while (!op_last(op) && op + 1 < &sv->ops[sv->op_count] && same_datagram(op + 1, op))
		op++;
	return op;
}

/* The cursor stands inside the line: it goes to the line's end, which is returned. */
static const uint8_t *
cursor_leave_line(struct datagram_cursor *dc)
{
	const uint8_t *at = dc->text.data + dc->at;
	const uint8_t *lf = memchr(at, '\n', dc->text.len - dc->at);
	const uint8_t *end = lf != NULL ? lf + 1 : dc->text.data + dc->text.len;

	dc->at = (uint32_t)(end - dc->text.data);
	dc->parser.in_line = 0;
	if (dc->at == dc->text.len) {
		dc->next++;
		dc->text = (struct view){NULL, 0};
		dc->at = 0;
		dc->parser = (struct mc_parser){0};
	}
	return end;
}

/* What this pass has of the line behind op is not executed. True: that was its end. */
static bool
rest_skip(struct serve *sv, struct op *op)
{
	struct op *last = line_last(sv, op);
	const bool whole = op_last(last);

	for (struct op *skip = op + 1; skip <= last; skip++) {
		skip->req.verb = OP_SKIP;
		skip->req.flags = 0;
		skip->in_place = true;
	}
	return whole;
}

/* No message ends with op, and none is begun. */
static void
reply_discard(struct serve *sv, struct op *op)
{
	op->in_place = true;
	message_discard(sv);
	sv->request_bytes = 0;
}

/* Takes the line of op out of the pass, and returns its bytes. */
static struct view
line_take(struct serve *sv, struct op *op)
{
	const struct op *first = line_first(sv, op);
	const struct op *last = line_last(sv, op);
	const uint8_t *begin =
		first->req.flags & MC_FIRST ? first->raw.data : sv->awaits->line_start;
	const uint8_t *end = last->raw.data + last->raw.len;

	if (!rest_skip(sv, op))
		end = cursor_leave_line(&sv->datagrams);
	reply_discard(sv, op);
	return (struct view){begin, (uint32_t)(end - begin)};
}

/* ---- asking ---- */

/* False: there is no place. */
static bool
key_ask(struct serve *sv, struct awaited_line *line, const struct mc_req *req)
{
	uint8_t bytes[MC_KEY_DECODED_MAX];
	struct view key = req->key;
	struct await *a;
	uint64_t hash;

	if (req->flags & MC_KEY_BASE64) {
		key.len = (uint32_t)(mc_base64_decode(bytes, key) - bytes);
		key.data = bytes;
	}
	hash = store_hash(sv->store, key);
	if (awaits_find(line->awaits, hash) != NULL ||
	    await_copy(sv, req, store_peek(sv->store, key, hash)) != SERVE_COPY_NONE ||
	    !await_may_have(sv, key, hash))
		return true;
	a = await_ask(sv, NULL, line, req, key, hash);
	if (a == NULL)
		return false;
	a->next = line->awaits;
	line->awaits = a;
	line->open++;
	return true;
}

static uint32_t
body_bytes(const struct mc_req *req)
{
	return req->flags & MC_HAS_BODY ? req->body_len + req->body_end : 0;
}

/* Bounded: each step uses up bytes. */
static bool
keys_ask(struct serve *sv, struct awaited_line *line)
{
	struct mc_parser parser = line->parser;
	struct mc_req req;

	for (uint32_t at = 0; at < line->len;) {
		const struct mc_result r =
			mc_parse(&parser, &req, line->bytes + at, line->len - at);

		if (r.status != MC_OK ||
		    !((verb_traits[req.verb] & VERB_RETURNS_VALUE) || sv->brings) ||
		    !key_ask(sv, line, &req))
			return false;
		at += r.used + body_bytes(&req);
	}
	if (line->open == 0) { /* by now nothing is missed that the supplier may have */
		list_push_back(&sv->awaits->lines_ready, &line->link);
		sv->more = true;
	}
	return true;
}

/* A key that was there when the line was asked for is gone. */
static void
line_again(struct serve *sv, struct awaited_line *line, struct op *op)
{
	rest_skip(sv, op);
	reply_discard(sv, op);
	list_unlink(&line->link);
	line->at = 0;
	line->parser = (struct mc_parser){.protocol = line->parser.protocol};
	if (++line->tries < LINE_TRIES_MAX && keys_ask(sv, line))
		return;
	serve_count(sv, UDP_DROP_NO_MEMORY);
	list_push_back(&sv->awaits->lines_executed, &line->link);
}

static void
line_begin(struct serve *sv, struct op *op)
{
	const bool binary = (op->req.flags & MC_BINARY) != 0;
	const struct udp_peer from = op->datagram->from;
	struct awaited_line *line = line_alloc(sv, line_take(sv, op));

	if (line == NULL) {
		serve_count(sv, UDP_DROP_NO_MEMORY);
		return;
	}
	line->datagram.from = from;
	line->id = op->udp_id;
	line->parser.protocol = binary ? MC_PROTOCOL_BINARY : MC_PROTOCOL_TEXT;
	list_init(&line->link);
	if (keys_ask(sv, line))
		return;
	serve_count(sv, UDP_DROP_NO_MEMORY);
	line_free(sv, line);
}

void
awaited_line_keep(struct serve *sv, struct op *op)
{
	struct awaited_line *again = line_of(sv, op);

	if (again != NULL)
		line_again(sv, again, op);
	else
		line_begin(sv, op);
}

/* ---- executing it again ---- */

struct await *
awaited_line_find(struct serve *sv, const struct op *op)
{
	struct awaited_line *line = line_of(sv, op);

	if (line == NULL)
		return NULL;
	return awaits_find(line->awaits, op->hash);
}

/* False: no operation begins there. */
static bool
line_parse(struct serve *sv, struct awaited_line *line)
{
	struct op *op = &sv->ops[sv->op_count];
	const struct view rest = {line->bytes + line->at, line->len - line->at};
	const struct mc_result r = mc_parse(&line->parser, &op->req, rest.data, rest.len);
	const uint32_t body = r.status == MC_OK ? body_bytes(&op->req) : 0;

	if (r.status != MC_OK || r.used + (uint64_t)body > rest.len)
		return false;
	op->session = NULL;
	op->datagram = &line->datagram;
	op->udp_id = line->id;
	op->in_place = false;
	op->probed = false;
	op->body = (struct view){body != 0 ? rest.data + r.used : NULL, body};
	op->raw = (struct view){rest.data, r.used + body};
	op->req.flags &= (uint8_t)~MC_FIRST; /* it was counted when it came */
	sv->unprobed = true;
	sv->op_count++;
	line->at += r.used + body;
	return true;
}

bool
awaited_lines_parse(struct serve *sv)
{
	struct awaits *aw = sv->awaits;
	const struct datagram_cursor *dc = &sv->datagrams;

	sv->read_bufs_in_use = true;
	if (dc->text.data != NULL && dc->parser.in_line)
		return true; /* a message is being composed */
	awaited_writes_parse(sv);
	while (sv->op_count < OPS_MAX && !list_empty(&aw->lines_ready)) {
		struct awaited_line *line =
			container_of(aw->lines_ready.next, struct awaited_line, link);

		if (line_parse(sv, line) && line->at < line->len)
			continue;
		list_unlink(&line->link);
		list_push_back(&aw->lines_executed, &line->link);
	}
	if (!list_empty(&aw->lines_ready))
		sv->more = true;
	return list_empty(&aw->lines_ready) ||
	       container_of(aw->lines_ready.next, struct awaited_line, link)->at == 0;
}

/* The line's own bytes, and what is parsed of them, are not looked at any more. */
void
awaited_line_fail(struct serve *sv, struct op *op)
{
	struct awaited_line *line = line_of(sv, op);
	const bool whole = rest_skip(sv, op);

	op->req.flags |= MC_LAST; /* its message ends here */
	if (whole)
		return;
	if (line == NULL) {
		cursor_leave_line(&sv->datagrams);
		return;
	}
	list_unlink(&line->link);
	list_push_back(&sv->awaits->lines_executed, &line->link);
}

void
awaited_lines_pass_end(struct serve *sv)
{
	const struct datagram_cursor *dc = &sv->datagrams;
	struct list *link;

	while ((link = list_pop_front(&sv->awaits->lines_executed)) != NULL)
		line_free(sv, container_of(link, struct awaited_line, link));
	if (dc->text.data == NULL || !dc->parser.in_line)
		return;
	/* Its operations are the last of this pass, or it was begun in an earlier one. */
	for (uint32_t i = sv->op_count; i-- > 0;) {
		const struct op *op = &sv->ops[i];

		if (op->session == NULL && op->datagram == &dc->list[dc->next] &&
		    (op->req.flags & MC_FIRST)) {
			sv->awaits->line_start = op->raw.data;
			break;
		}
	}
}

void
awaited_lines_drop(struct serve *sv)
{
	for (uint32_t i = 0; i < AWAITED_LINES_MAX; i++)
		if (sv->awaits->lines[i].bytes != NULL) {
			list_unlink(&sv->awaits->lines[i].link);
			line_free(sv, &sv->awaits->lines[i]);
		}
	awaited_writes_drop(sv);
}
