/*
 * serve_parse.h - bytes to operations: how a connection's parsing goes on, and its steps.
 *
 * Private to lib/serve.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_PARSE_H
#define CLOCKOO_SERVE_PARSE_H

#include "serve_internal.h"

void conns_parse(struct serve *sv);
/* All read buffers are taken: a connection that holds one too long is reset. */
void read_buf_make_room(struct serve *sv);
/* As many requests are kept as may be: a connection that keeps some behind what its client does not
 * read is. */
void kept_make_room(struct serve *sv);
void datagrams_parse(struct serve *sv);
/* What was not parsed stays for the next turn. */
void datagrams_keep_rest(struct serve *sv);
/* The next datagram, if there is one, waits neither for a message of its source nor for room. */
bool datagrams_readable(const struct serve *sv);
/* The pass has been executed: messages are sent, and of whom they still wait is passed over. */
void datagrams_pass_over(struct serve *sv);
/* Parses the next request at the cursor, whose datagram is open. */
void datagram_step(struct serve *sv, struct datagram_cursor *dc);

/* A line that is begun is answered, whoever's messages wait: it is a message, too. */
static inline bool
cursor_in_line(const struct datagram_cursor *dc)
{
	return dc->text.data != NULL && (dc->parser.in_line || dc->parser.swallow);
}

/* Bytes of a body that was not all there with its line (serve_body.c). */
enum parse_step body_receive(struct serve *sv, struct session *ss);

/* ---- what a step is made of (serve_parse.c) ---- */

/* The line, or the head of the packet, at the read position is cut, of which had bytes were seen.
 * It is gathered in a read buffer, to its end and no further, so that what follows is read from its
 * frame again. need: so many bytes instead, MC_LINE_MAX at most. */
enum parse_step request_gather(struct serve *sv, struct session *ss, uint32_t had, uint32_t need);
/* The session's visit ends with this step. */
void session_visit_end(struct serve *sv, struct session *ss, enum parse_step step);
/* Of all that a pass reads of a connection the first bytes count. */
void session_is_late(struct serve *sv, struct session *ss, uint64_t since_ns);

/* ---- operations ---- */

/* A fresh operation at the end of the batch; the caller has seen that there is room. */
static inline struct op *
op_append(struct serve *sv, struct session *ss)
{
	struct op *op = &sv->ops[sv->op_count];

	op->session = ss;
	op->datagram = NULL;
	op->in_place = false;
	op->probed = false;
	sv->unprobed = true;
	op->body = (struct view){NULL, 0};
	op->raw = (struct view){NULL, 0};
	op->before = ss->parser;
	return op;
}

static inline void
op_commit(struct serve *sv, struct session *ss)
{
	const struct op *op = &sv->ops[sv->op_count++];

	/* As memcached counts for -R: a line of a hundred keys is one request. */
	ss->served += op->req.verb > MC_GATS || op_last(op);
	ss->pass_ops++;
	ss->has_credit = false;
}

/* PARSE_CONTINUE: the pass, and the connection's share of the turn, have room for a request more.
 * Kept requests are told beyond that share. */
static inline enum parse_step
request_room(const struct serve *sv, const struct session *ss)
{
	if (sv->op_count == OPS_MAX)
		return PARSE_NEXT_PASS;
	return ss->served >= sv->cfg.conn_requests_max ? PARSE_NEXT_TURN : PARSE_CONTINUE;
}

/* Has the stack room for one more reply? */
static inline bool
session_credit(struct serve *sv, struct session *ss)
{
	ss->has_credit = ss->has_credit || conn_writable(sv->stack, ss->conn, 1);
	return ss->has_credit;
}

/* An operation of this connection without a line of its own. */
static inline void
op_push(struct serve *sv, struct session *ss, uint8_t verb)
{
	struct op *op = op_append(sv, ss);

	op->req = (struct mc_req){.verb = verb, .flags = MC_LAST};
	op_commit(sv, ss);
}

/* ---- the fast path of plain gets (serve_fast_path.c) ---- */

void gets_fast_create(struct serve *sv);
/* Operations from the unread bytes at src; 0: they are not for this path. What a step looks at
 * before it reads a line has been looked at. */
uint32_t gets_parse_fast(struct serve *sv, struct session *ss, struct view src);
/* The datagrams that come next, as far as each is one get, or one set with its body. */
void datagrams_parse_fast(struct serve *sv);
/* Answers those from ops[first] on that are for this path; returns how many. */
uint32_t gets_execute_fast(struct serve *sv, uint32_t first);
/* The same up to the first miss. */
uint32_t gets_execute_hits(struct serve *sv, uint32_t first);
/* As the fast path, where some requests came before this turn. */
uint32_t gets_execute_late(struct serve *sv, uint32_t first);

#endif
