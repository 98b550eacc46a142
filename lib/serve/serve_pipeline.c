/*
 * serve_pipeline.c - what is read of a connection whose writes have no answer yet.
 */
#include "serve_pipeline.h"

/* One that may need a share of the turn's work would keep those in front of it from being told. A
 * role that may write the first one may write these, too. */
static bool
write_may_follow(const struct serve *sv, const struct session *ss, const struct op *op)
{
	return session_may_pipeline(sv, ss) && await_is_keyed_write(&op->req) &&
	       !(op_is(op, VERB_TAKES_WORK) && copies_value(&op->req)) &&
	       awaits_find(ss->awaits, store_hash(sv->store, op->req.key)) == NULL;
}

/* An answer in this pass may be what it waits for; else one makes the session ready. */
static enum parse_step
put_off(const struct session *ss)
{
	return ss->pass_ops > 0 ? PARSE_NEXT_PASS : PARSE_WAIT;
}

/* All of it is here, and nothing stands behind a write in its pass: so it fits a read buffer, if it
 * has to go back. What stands before it is an answer, of no more than a number. */
static enum parse_step
write_accept(struct serve *sv, struct session *ss, struct view raw, uint32_t used)
{
	struct op *op = &sv->ops[sv->op_count];

	if (op->req.flags & MC_HAS_BODY)
		op->body = (struct view){raw.data + used, raw.len - used};
	op->raw = raw;
	session_skip(sv->stack, ss, raw.len);
	op_commit(sv, ss);
	return PARSE_NEXT_PASS;
}

/* Its line has used bytes of src. A body is gathered behind it, so that it can be executed again;
 * one with a bad end, or larger than a read buffer, waits. */
static enum parse_step
write_take(struct serve *sv, struct session *ss, struct view src, uint32_t used)
{
	struct op *op = &sv->ops[sv->op_count];
	const struct mc_req *req = &op->req;
	const bool has_body = (req->flags & MC_HAS_BODY) != 0;
	const uint64_t bytes = has_body ? (uint64_t)used + req->body_len + req->body_end : used;

	if (bytes <= MC_LINE_MAX && bytes <= src.len &&
	    (!has_body || req->body_end == 0 ||
	     memcmp(src.data + used + req->body_len, "\r\n", 2) == 0))
		return write_accept(sv, ss, (struct view){src.data, (uint32_t)bytes}, used);
	ss->parser = op->before;
	return bytes <= MC_LINE_MAX && bytes > src.len
		       ? request_gather(sv, ss, src.len, (uint32_t)bytes)
		       : put_off(ss);
}

static enum parse_step
write_parse(struct serve *sv, struct session *ss, struct view src)
{
	struct op *op = op_append(sv, ss);
	const struct mc_result r = mc_parse(&ss->parser, &op->req, src.data, src.len);

	if (r.status == MC_OK && write_may_follow(sv, ss, op))
		return write_take(sv, ss, src, r.used);
	ss->parser = op->before;
	return r.status == MC_MORE && r.used == 0 ? request_gather(sv, ss, src.len, 0)
						  : put_off(ss);
}

static enum parse_step
write_step(struct serve *sv, struct session *ss)
{
	const enum parse_step room = request_room(sv, ss);
	uint64_t since_ns;
	struct view src;

	if (room != PARSE_CONTINUE)
		return room;
	src = session_peek_since(ss, &since_ns);
	if (src.len == 0 || ss->body != BODY_NONE || ss->parser.swallow || ss->parser.in_line)
		return put_off(ss);
	if (!ss->has_credit && !conn_writable(sv->stack, ss->conn, 1))
		return put_off(ss);
	ss->has_credit = true;
	if (unlikely(since_ns != sv->clock.now_ns))
		session_is_late(sv, ss, since_ns);
	return write_parse(sv, ss, src);
}

/* Bounded: a step that does not end it uses up bytes that were there. */
enum parse_step
writes_behind_parse(struct serve *sv, struct session *ss)
{
	enum parse_step step;

	do
		step = write_step(sv, ss);
	while (step == PARSE_CONTINUE);
	return step;
}
