/*
 * serve_datagram.c - datagrams to operations. A request begins at the first byte of a datagram; an
 * incomplete one is dropped and counted. Each command has a message of its own as its reply.
 * Datagrams for which a turn has no time stay in the stack.
 */
#include "await_kept.h"
#include "serve_message.h"
#include "serve_parse.h"

static void
datagram_next(struct datagram_cursor *dc)
{
	dc->next++;
	dc->text = (struct view){NULL, 0};
	dc->at = 0;
	dc->parser = (struct mc_parser){0};
}

static inline void
datagram_read(struct datagram_cursor *dc, uint32_t used)
{
	dc->at += used;
	if (dc->at == dc->text.len)
		datagram_next(dc);
}

static void
datagram_drop(struct serve *sv, struct datagram_cursor *dc, enum serve_counter why)
{
	serve_count(sv, why);
	datagram_next(dc);
}

static bool
datagram_open(struct serve *sv)
{
	struct datagram_cursor *dc = &sv->datagrams;

	if (unlikely(sv->auth)) {
		/* A datagram cannot authenticate its sender. The program refuses to start with
		 * this combination. */
		datagram_drop(sv, dc, UDP_DROP_AUTH);
		return false;
	}
	switch (mc_udp_parse(dc->list[dc->next].payload, &dc->id, &dc->text)) {
	case MC_UDP_OK:
		dc->parser.protocol = sv->protocol;
		if (likely(dc->parser.protocol == MC_PROTOCOL_UNKNOWN))
			dc->parser.protocol = dc->text.data[0] == MC_BIN_REQUEST_MAGIC
						      ? MC_PROTOCOL_BINARY
						      : MC_PROTOCOL_TEXT;
		return true;
	case MC_UDP_SHORT:
		datagram_drop(sv, dc, UDP_DROP_SHORT);
		return false;
	default:
		datagram_drop(sv, dc, UDP_DROP_MULTI_DATAGRAM);
		return false;
	}
}

/* True if the rest contains the end of its line. A retrieval line becomes operations key by key,
 * and a missing end would be found too late. */
static bool
line_is_whole(const struct datagram_cursor *dc, struct view rest)
{
	if (rest.len < MC_LINE_MAX || dc->parser.in_line || dc->parser.swallow ||
	    dc->parser.protocol == MC_PROTOCOL_BINARY)
		return true;
	return memchr(rest.data, '\n', rest.len) != NULL;
}

static bool
supplier_hears(struct serve *sv, const struct datagram_cursor *dc, struct view rest)
{
	const struct serve_supplier *supplier = serve_supplier_of(sv);

	return supplier != NULL && supplier->hear != NULL &&
	       supplier->hear(supplier->arg, &dc->list[dc->next].from, rest);
}

/* Replaces a command that is not permitted over UDP by an error. False: the datagram is dropped,
 * because it is a reply or the backend has taken it. An error in answer to a reply would let one
 * forged datagram make two servers answer each other for ever. The rest of a reply is dropped,
 * too, since it may be a value with any content. */
static bool
op_check_udp(struct serve *sv, struct datagram_cursor *dc, struct op *op, struct view rest)
{
	if (op->req.verb == MC_BAD && (op->req.flags & MC_FIRST) && mc_is_reply(rest)) {
		datagram_drop(sv, dc, UDP_DROP_REPLY);
		return false;
	}
	if (op->req.verb == MC_BAD && (op->req.flags & MC_FIRST) && supplier_hears(sv, dc, rest)) {
		datagram_next(dc);
		return false;
	}
	if (!mc_req_over_udp(&op->req, sv->shared->policy.udp_admin))
		mc_bad(&op->req, MC_ERR_UDP);
	return true;
}

static inline void
op_from_datagram(struct serve *sv, struct datagram_cursor *dc, struct view rest, uint32_t used)
{
	struct op *op = &sv->ops[sv->op_count];
	const uint32_t whole = MC_FIRST | MC_LAST;

	if (unlikely(op->req.verb >= MC_FLUSH_ALL) && !op_check_udp(sv, dc, op, rest))
		return;
	op->body = (struct view){NULL, 0};
	if (op->req.flags & MC_HAS_BODY) {
		const uint64_t body = (uint64_t)op->req.body_len + op->req.body_end;

		if (rest.len - used < body) {
			datagram_drop(sv, dc, UDP_DROP_TRUNCATED);
			return;
		}
		op->body = (struct view){rest.data + used, (uint32_t)body};
		used += op->body.len;
	}
	op->session = NULL;
	op->datagram = &dc->list[dc->next];
	op->udp_id = dc->id;
	op->probed = false;
	sv->unprobed = true;
	op->raw = (struct view){rest.data, used};
	op->in_place = used == dc->text.len && (op->req.flags & whole) == whole;
	sv->op_count++;
	/* There is no connection to close. */
	datagram_read(dc, op_closes_conn(op) ? rest.len : used);
}

/* Ends a retrieval line that contains a run of spaces longer than MC_LINE_MAX. Its reply has
 * begun, so it must end. */
static void
line_abort(struct serve *sv, struct datagram_cursor *dc, struct view rest)
{
	struct op *op = &sv->ops[sv->op_count];

	op->req.verb = MC_BAD;
	op->req.flags = MC_LAST;
	op->req.error = MC_ERR_FORMAT;
	op_from_datagram(sv, dc, rest, rest.len);
}

static inline void
datagram_step(struct serve *sv, struct datagram_cursor *dc)
{
	const struct view rest = {dc->text.data + dc->at, dc->text.len - dc->at};
	const bool in_line = dc->parser.in_line;
	struct mc_result r;

	if (!line_is_whole(dc, rest)) {
		datagram_drop(sv, dc, UDP_DROP_TRUNCATED);
		return;
	}
	r = mc_parse(&dc->parser, &sv->ops[sv->op_count].req, rest.data, rest.len);
	if (r.status == MC_OK)
		op_from_datagram(sv, dc, rest, r.used);
	else if (r.status == MC_MORE && r.used > 0)
		datagram_read(dc, r.used);
	else if (in_line)
		line_abort(sv, dc, rest);
	else
		datagram_drop(sv, dc, r.status == MC_MORE ? UDP_DROP_TRUNCATED : UDP_DROP_HTTP);
}

static bool
next_waits(const struct serve *sv)
{
	return messages_source_waits(sv, &sv->datagrams.list[sv->datagrams.next].from);
}

/* True if the parser is inside a line. Such a line is finished, even if messages to its source
 * wait, because its reply is one of them. */
static inline bool
cursor_in_line(const struct datagram_cursor *dc)
{
	return dc->text.data != NULL && (dc->parser.in_line || dc->parser.swallow);
}

bool
datagrams_readable(const struct serve *sv)
{
	return !messages_pending(sv) || cursor_in_line(&sv->datagrams) || !next_waits(sv);
}

/* Returns the largest number of requests that the datagram may have, from its line ends or
 * headers. */
static uint32_t
requests_most(const struct serve *sv, struct view payload)
{
	const uint8_t *at = payload.data + MC_UDP_FRAME_BYTES, *end = payload.data + payload.len;
	uint32_t lines = 0;

	if (payload.len <= MC_UDP_FRAME_BYTES)
		return 0;
	if (*at == MC_BIN_REQUEST_MAGIC || sv->protocol == MC_PROTOCOL_BINARY)
		return payload.len / MC_BIN_HEAD_BYTES;
	for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
		lines++;
	return lines;
}

/* Returns how many of the next datagrams a pass may take while messages wait. The count ends at
 * the first datagram whose source has a message, or more requests than its share. */
static uint32_t
others_count(const struct serve *sv, uint32_t share)
{
	const struct datagram_cursor *dc = &sv->datagrams;
	uint8_t taken[UDP_SOURCES] = {0};
	uint32_t n = 0;

	static_assert(OPS_MAX <= UINT8_MAX, "of one source a pass takes so many");
	for (; n < OPS_MAX && dc->next + n < dc->count; n++) {
		const struct datagram *d = &dc->list[dc->next + n];
		uint8_t *of_source = &taken[stack_udp_source(sv->stack, &d->from)];
		const uint32_t most = *of_source + requests_most(sv, d->payload);

		if (messages_source_waits(sv, &d->from) || most > share)
			break;
		*of_source = (uint8_t)most;
	}
	return n;
}

/* Parses the next datagram alone: the line that has begun, and then `requests` requests. */
static void
datagram_step_some(struct serve *sv, uint32_t requests)
{
	struct datagram_cursor *dc = &sv->datagrams;
	const uint32_t at = dc->next;

	while (sv->op_count < OPS_MAX && dc->next == at) {
		if (dc->text.data == NULL && !datagram_open(sv))
			return;
		if (!cursor_in_line(dc) && requests-- == 0)
			return;
		datagram_step(sv, dc);
	}
}

/* Limits this pass while messages wait: it reads what others_count() permits, or of one datagram
 * the line that has begun and its source's share. */
static __attribute__((noinline, cold)) void
others_find(struct serve *sv)
{
	struct datagram_cursor *dc = &sv->datagrams;
	const uint32_t share = messages_share(sv), others = others_count(sv, share);
	uint32_t end = dc->next + others;

	if (others == 0 && dc->next < dc->count && (cursor_in_line(dc) || !next_waits(sv))) {
		datagram_step_some(sv, next_waits(sv) ? 0 : share);
		end = dc->next;
	}
	dc->withheld = dc->count - end;
	dc->count = end;
}

/* ---- datagrams that have waited for a backend ---- */

static void
awaited_step(struct serve *sv, struct awaited_line *line)
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
	if (at < line->counted) /* already counted when it arrived */
		op->req.flags &= (uint8_t)~MC_FIRST;
}

/* True if the datagram may begin another request. Between two requests it waits for messages to
 * its source, like others. */
static bool
awaited_may_begin(const struct serve *sv, const struct awaited_line *line)
{
	return !messages_turn_is_full(sv) &&
	       (!messages_pending(sv) || !messages_source_waits(sv, &line->datagram.from));
}

/* Parses the datagram's requests until the pass is full. */
static void
awaited_line_parse(struct serve *sv, struct awaited_line *line)
{
	struct datagram_cursor *dc = &line->cursor;

	if (dc->parser.in_line)
		line->cut = line->line_at;
	while (sv->op_count < OPS_MAX && dc->next == 0 &&
	       (cursor_in_line(dc) || awaited_may_begin(sv, line)))
		awaited_step(sv, line);
}

/* True if the first datagram has a message under composition. */
static bool
awaited_line_is_open(const struct awaits *aw)
{
	return !list_empty(&aw->lines_ready) &&
	       container_of(aw->lines_ready.next, struct awaited_line, link)->cursor.parser.in_line;
}

/* Parses datagrams that have waited. False: one of them is inside a line. */
static bool
awaited_parse(struct serve *sv)
{
	struct awaits *aw = sv->awaits;

	sv->read_bufs_in_use |= aw->asked_in_turn; /* an earlier pass of the turn has asked */
	if (list_empty(&aw->lines_ready) && list_empty(&aw->answered_udp))
		return true;
	sv->read_bufs_in_use = true;
	if (sv->datagrams.text.data != NULL && sv->datagrams.parser.in_line)
		return true; /* a message is under composition */
	if (!awaited_line_is_open(aw))
		awaited_writes_parse(sv);
	for (uint32_t i = 0; i < AWAITED_LINES_MAX && sv->op_count < OPS_MAX; i++) {
		struct awaited_line *line;

		if (list_empty(&aw->lines_ready))
			break;
		line = container_of(aw->lines_ready.next, struct awaited_line, link);
		awaited_line_parse(sv, line);
		if (cursor_in_line(&line->cursor))
			break;
		list_unlink(&line->link);
		list_push_back(line->cursor.next != 0 ? &aw->lines_executed : &aw->lines_ready,
			       &line->link);
	}
	return !awaited_line_is_open(aw);
}

void
datagrams_parse(struct serve *sv)
{
	struct datagram_cursor *dc = &sv->datagrams;

	if (unlikely(sv->message_count != 0) && messages_pending(sv))
		others_find(sv);
	if (unlikely(sv->awaits != NULL) && !awaited_parse(sv))
		return;
	while (sv->op_count < OPS_MAX && dc->next < dc->count) {
		if (dc->text.data == NULL)
			datagrams_parse_fast(sv);
		if (sv->op_count == OPS_MAX || dc->next == dc->count)
			break;
		if (dc->text.data != NULL || datagram_open(sv))
			datagram_step(sv, dc);
	}
	/* The pass ends inside a line. If a later key of it is missed, awaited_lines_pass_end()
	 * must know where the line began, whatever this pass has found. */
	if (unlikely(sv->awaits != NULL) && cursor_in_line(dc))
		sv->read_bufs_in_use = true;
}

/* Turns the rest of the datagram into a datagram of its own. No operation refers to the requests
 * before it any more. */
static void
datagram_shorten(struct datagram_cursor *dc)
{
	struct view *payload = &dc->list[dc->next].payload;

	memmove((uint8_t *)(uintptr_t)payload->data + dc->at, payload->data, MC_UDP_FRAME_BYTES);
	payload->data += dc->at;
	payload->len -= dc->at;
	dc->text = (struct view){NULL, 0};
	dc->at = 0;
	dc->parser = (struct mc_parser){0};
}

__attribute__((noinline, cold)) void
datagrams_pass_over(struct serve *sv)
{
	struct datagram_cursor *dc = &sv->datagrams;

	dc->count += dc->withheld;
	dc->withheld = 0;
	messages_send(sv);
	if (dc->text.data != NULL && !cursor_in_line(dc) && next_waits(sv))
		datagram_shorten(dc);
	messages_pass_over(sv);
	if (messages_turn_is_full(sv))
		dc->count = dc->next;
}

void
datagrams_keep_rest(struct serve *sv)
{
	struct datagram_cursor *dc = &sv->datagrams;

	dc->keep_from = dc->next;
	stack_datagrams_defer(sv->stack, dc->keep_from);
}
