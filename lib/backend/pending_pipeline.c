/*
 * pending_pipeline.c - what is read of a connection whose kept requests have no answer yet.
 */
#include "pending_pipeline.h"

/* Retrievals behind one write. Of more the next ones wait until all are told: then many more are
 * asked for at a time, ahead of their turn (pending_ahead.c). */
#define READS_BEHIND_MAX AWAIT_KEPT_MAX

/* Does an operation of this pass name the key? It is kept as soon as it is executed. */
static bool
pass_names(const struct serve *sv, const struct op *op)
{
	for (const struct op *before = op; before > sv->ops && before[-1].session == op->session;
	     before--)
		if (!op_is_kept(&before[-1]) && before[-1].hash == op->hash)
			return true;
	return false;
}

/* A write that may need a share of the turn's work would keep those in front of it from being told.
 * A role that may write the first one may write these, and read, too. */
static bool
may_follow(struct serve *sv, const struct session *ss, struct op *op)
{
	if (!session_may_pipeline(sv, ss) || ss->await_count + ss->pass_ops >= AWAIT_KEPT_MAX)
		return false;
	if (!kept_have_room(sv)) {
		kept_make_room(sv);
		return false;
	}
	op->hash = store_hash(sv->store, op->req.key);
	if (await_is_keyed_read(&op->req))
		return ss->reads_behind < READS_BEHIND_MAX;
	return await_is_keyed_write(&op->req) &&
	       !(op_is(op, VERB_TAKES_WORK) && copies_value(&op->req)) &&
	       awaits_find(ss->kept, op->hash) == NULL && !pass_names(sv, op);
}

/* An answer in this pass may be what it waits for; else one makes the session ready. */
static enum parse_step
put_off(const struct session *ss)
{
	return ss->pass_ops > 0 ? PARSE_NEXT_PASS : PARSE_WAIT;
}

/* All of it is here, and all of its pass that may have to go back fits a read buffer. */
static enum parse_step
behind_accept(struct serve *sv, struct session *ss, struct view raw, uint32_t used)
{
	struct op *op = &sv->ops[sv->op_count];

	if (ss->deferrable_bytes + raw.len > MC_LINE_MAX && ss->pass_ops > 0) {
		ss->parser = op->before;
		return PARSE_NEXT_PASS;
	}
	ss->deferrable_bytes += raw.len;
	if (op->req.flags & MC_HAS_BODY)
		op->body = (struct view){raw.data + used, raw.len - used};
	op->raw = raw;
	session_skip(sv->stack, ss, raw.len);
	op_commit(sv, ss);
	return PARSE_CONTINUE;
}

/* Its line has used bytes of src. A body is gathered behind it, so that it can be executed again;
 * one with a bad end, or larger than a read buffer, waits. */
static enum parse_step
behind_take(struct serve *sv, struct session *ss, struct view src, uint32_t used)
{
	struct op *op = &sv->ops[sv->op_count];
	const struct mc_req *req = &op->req;
	const bool has_body = (req->flags & MC_HAS_BODY) != 0;
	const uint64_t bytes = has_body ? (uint64_t)used + req->body_len + req->body_end : used;

	if (bytes <= MC_LINE_MAX && bytes <= src.len &&
	    (!has_body || req->body_end == 0 ||
	     memcmp(src.data + used + req->body_len, "\r\n", 2) == 0))
		return behind_accept(sv, ss, (struct view){src.data, (uint32_t)bytes}, used);
	ss->parser = op->before;
	return bytes <= MC_LINE_MAX && bytes > src.len
		       ? request_gather(sv, ss, src.len, (uint32_t)bytes)
		       : put_off(ss);
}

static enum parse_step
behind_parse(struct serve *sv, struct session *ss, struct view src)
{
	struct op *op = op_append(sv, ss);
	const struct mc_result r = mc_parse(&ss->parser, &op->req, src.data, src.len);

	if (r.status == MC_OK && may_follow(sv, ss, op))
		return behind_take(sv, ss, src, r.used);
	ss->parser = op->before;
	return r.status == MC_MORE && r.used == 0 ? request_gather(sv, ss, src.len, 0)
						  : put_off(ss);
}

static enum parse_step
behind_step(struct serve *sv, struct session *ss)
{
	const enum parse_step room = request_room(sv, ss);
	uint64_t since_ns;
	struct view src;

	if (room != PARSE_CONTINUE)
		return room;
	src = session_peek_since(ss, &since_ns);
	if (src.len == 0 || ss->body != BODY_NONE || ss->parser.swallow || ss->parser.in_line)
		return put_off(ss);
	if (!session_credit(sv, ss))
		return put_off(ss);
	if (unlikely(since_ns != sv->clock.now_ns))
		session_is_late(sv, ss, since_ns);
	return behind_parse(sv, ss, src);
}

/* Bounded: a step that does not end it uses up bytes that were there. */
enum parse_step
kept_behind_parse(struct serve *sv, struct session *ss)
{
	enum parse_step step;

	do
		step = behind_step(sv, ss);
	while (step == PARSE_CONTINUE);
	return step;
}
