/*
 * serve_datagram.c - makes operations of datagrams. A request begins at the first byte of a
 * datagram; an incomplete one is dropped and counted. The reply to each command is a message of its
 * own. Datagrams for which a turn has no time stay in the stack.
 */
#include "serve_message.h"
#include "serve_parse.h"

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
		/* A datagram cannot authenticate its sender. The program does not start if both
		 * options are given. */
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

/* True if the rest of the datagram has the end of the line. Checked first, since a retrieval line
 * becomes operations key by key, so that a missing end would be noticed too late. */
static bool
line_is_whole(const struct datagram_cursor *dc, struct view rest)
{
	if (rest.len < MC_LINE_MAX || dc->parser.in_line || dc->parser.swallow ||
	    dc->parser.protocol == MC_PROTOCOL_BINARY)
		return true;
	return memchr(rest.data, '\n', rest.len) != NULL;
}

static bool
links_receive(struct serve *sv, const struct datagram_cursor *dc, struct view rest)
{
	const struct serve_link_user *user = &sv->links;

	return user->received != NULL && user->received(user->arg, &dc->list[dc->next].from, rest);
}

/* Replaces a command that is not permitted over UDP by an error. False: the datagram is dropped,
 * because it is a reply, or the backend has taken it. If replies were answered with errors, one
 * forged datagram could make two servers answer each other for ever. The rest of a datagram after a
 * reply is dropped, too, since it may be a value with any content. */
static bool
op_check_udp(struct serve *sv, struct datagram_cursor *dc, struct op *op, struct view rest)
{
	if (op->req.verb == MC_BAD && (op->req.flags & MC_FIRST) && mc_is_reply(rest)) {
		datagram_drop(sv, dc, UDP_DROP_REPLY);
		return false;
	}
	if (op->req.verb == MC_BAD && (op->req.flags & MC_FIRST) && links_receive(sv, dc, rest)) {
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
	/* A datagram has no connection to close, so its rest is skipped. */
	datagram_read(dc, op_closes_conn(op) ? rest.len : used);
}

/* Ends a retrieval line in which a run of spaces is longer than MC_LINE_MAX. The reply has begun,
 * so it must be ended. */
static void
line_abort(struct serve *sv, struct datagram_cursor *dc, struct view rest)
{
	struct op *op = &sv->ops[sv->op_count];

	op->req.verb = MC_BAD;
	op->req.flags = MC_LAST;
	op->req.error = MC_ERR_FORMAT;
	op_from_datagram(sv, dc, rest, rest.len);
}

void
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

bool
datagrams_readable(const struct serve *sv)
{
	return !messages_pending(sv) || cursor_in_line(&sv->datagrams) || !next_waits(sv);
}

/* Returns how many requests the datagram can have at most, counted by line ends or headers. */
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

/* Returns how many of the next datagrams a pass may take while messages wait. It stops before the
 * first datagram whose source has a message, or has more requests than its share. */
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

/* Parses a part of the next datagram: the rest of the line that has begun, and then `requests`
 * requests. */
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

/* Limits this pass while messages wait. The pass reads the datagrams that others_count() permits.
 * If there are none, it reads of one datagram the line that has begun and its source's share. */
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

void
datagrams_parse(struct serve *sv)
{
	struct datagram_cursor *dc = &sv->datagrams;

	if (unlikely(sv->message_count != 0) && messages_pending(sv))
		others_find(sv);
	if (unlikely(sv->backend_mode != BACKEND_NONE) && !sv->backend_ops->datagrams_parse(sv))
		return;
	while (sv->op_count < OPS_MAX && dc->next < dc->count) {
		if (dc->text.data == NULL)
			datagrams_parse_fast(sv);
		if (sv->op_count == OPS_MAX || dc->next == dc->count)
			break;
		if (dc->text.data != NULL || datagram_open(sv))
			datagram_step(sv, dc);
	}
	/* The pass ends within a line. If a later key of the line is missed,
	 * serve_backend_ops.pass_end must know where the line began, even if all keys in this pass
	 * were hits. */
	if (unlikely(sv->backend_mode != BACKEND_NONE) && cursor_in_line(dc))
		sv->read_bufs_in_use = true;
}

/* Makes the rest of the datagram a datagram of its own. No operation needs the requests before
 * it. */
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
