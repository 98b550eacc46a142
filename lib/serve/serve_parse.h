/*
 * serve_parse.h - bytes to operations: the steps of parsing a connection.
 *
 * Private to lib/serve.
 *
 * Thread: core-local.
 */
#ifndef CLOCKOO_SERVE_PARSE_H
#define CLOCKOO_SERVE_PARSE_H

#include "serve_admin.h"
#include "serve_internal.h"

void conns_parse(struct serve *sv);
/* Resets a connection whose client does not read the reply for which its kept requests wait. Called
 * when no more requests may be kept. */
void kept_make_room(struct serve *sv);
void datagrams_parse(struct serve *sv);
/* Keeps the unparsed datagrams in the stack for the next turn. */
void datagrams_keep_rest(struct serve *sv);
/* True unless the next datagram waits for a message to its source, or for room. */
bool datagrams_readable(const struct serve *sv);
/* Ends a pass in which messages wait: sends messages, and skips datagrams of sources that still
 * wait. */
void datagrams_pass_over(struct serve *sv);
/* Parses the next request at the cursor, whose datagram is open. */
void datagram_step(struct serve *sv, struct datagram_cursor *dc);

/* True if the parser is within a line. It finishes the line even if messages to its source wait,
 * since the reply to the line is part of one of them. */
static inline bool
cursor_in_line(const struct datagram_cursor *dc)
{
	return dc->text.data != NULL && (dc->parser.in_line || dc->parser.swallow);
}

/* Moves the cursor to the next datagram. */
static inline void
datagram_next(struct datagram_cursor *dc)
{
	dc->next++;
	dc->text = (struct view){NULL, 0};
	dc->at = 0;
	dc->parser = (struct mc_parser){0};
}

/* Receives bytes of a body that was incomplete when its line was executed (serve_body.c). */
enum parse_step body_receive(struct serve *sv, struct session *ss);

/* ---- steps (serve_parse.c) ---- */

/* Gathers an incomplete line or packet header in a read buffer. Takes no bytes beyond the request,
 * so later requests are read from their frames. had: bytes of the request known so far. need: bytes
 * to gather, at most MC_LINE_MAX; 0: up to the request's end. */
enum parse_step request_gather(struct serve *sv, struct session *ss, uint32_t had, uint32_t need);
/* Ends the session's visit with this step. */
void session_visit_end(struct serve *sv, struct session *ss, enum parse_step step);
/* Begins a request whose first bytes arrived at since_ns. False: there is no room for its reply. */
bool request_begin(struct serve *sv, struct session *ss, uint64_t since_ns);

/* Begins a visit. False: the connection is closed, or no more of its input is read. */
static inline bool
visit_begin(struct serve *sv, struct session *ss)
{
	if (ss->conn == NULL || ss->closing)
		return false;
	ss->pass_ops = 0;
	ss->deferrable_bytes = 0;
	if (ss->active_s != sv->clock.now_s)
		session_active(sv, ss);
	return true;
}

/* True at the first visit of a turn, which begins the session's share of the turn. */
static inline bool
visit_is_first(const struct serve *sv, struct session *ss)
{
	if (unlikely(ss->turn == sv->turn))
		return false;
	ss->turn = sv->turn;
	ss->served = 0;
	ss->has_credit = false;
	return true;
}

/* Runs the steps of a visit that has begun. */
void conn_visit(struct serve *sv, struct session *ss);

/* ---- operations ---- */

/* Returns a new operation after the last one; the caller has checked that there is room. */
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

/* True if the client waits for this reply. After a quiet request it waits for the reply to a later
 * one. */
static inline bool
req_is_answered(const struct mc_req *req)
{
	return (req->flags & (MC_NOREPLY | MC_QUIET)) == 0;
}

static inline void
op_commit(struct serve *sv, struct session *ss)
{
	const struct op *op = &sv->ops[sv->op_count++];

	/* As in memcached, a line of a hundred keys counts as one request for -R. */
	ss->served += op->req.verb > MC_GATS || op_last(op);
	ss->pass_ops++;
	ss->has_credit = false;
}

/* Returns PARSE_CONTINUE if the pass and the connection's share of the turn have room for another
 * request. Kept requests that are completed do not use up the share. */
static inline enum parse_step
request_room(const struct serve *sv, const struct session *ss)
{
	if (sv->op_count == OPS_MAX)
		return PARSE_NEXT_PASS;
	return ss->served >= sv->cfg.conn_requests_max ? PARSE_NEXT_TURN : PARSE_CONTINUE;
}

/* True if the stack has room for another reply. */
static inline bool
session_credit(struct serve *sv, struct session *ss)
{
	ss->has_credit = ss->has_credit || conn_writable(sv->stack, ss->conn, 1);
	return ss->has_credit;
}

/* Appends an operation that has no request line. */
static inline void
op_push(struct serve *sv, struct session *ss, uint8_t verb)
{
	struct op *op = op_append(sv, ss);

	op->req = (struct mc_req){.verb = verb, .flags = MC_LAST};
	op_commit(sv, ss);
}

/* ---- the fast path of plain gets (serve_fast_path.c) ---- */

void gets_fast_create(struct serve *sv);
/* Appends operations parsed from the unread bytes at src. Returns how many; 0: this path cannot
 * take them. The caller has done the checks that precede each line. */
uint32_t gets_parse_fast(struct serve *sv, struct session *ss, struct view src);
/* Visits the ready connections. For a session with nothing in progress the first visit of a turn is
 * a single step, if its unread bytes arrived in this turn and are one plain get, or one plain set
 * with its body. The caller has done the checks that do not depend on the session (plain_steps). */
void plain_conns_visit(struct serve *sv);
/* Appends the set with which the unread bytes at src begin. src begins with MC_SET_PREFIX. False:
 * the body is not complete in src, or the set needs another path. */
bool set_parse_fast(struct serve *sv, struct session *ss, struct view src);
/* Parses the next datagrams, as long as each is a single get, or a single set with its body. */
void datagrams_parse_fast(struct serve *sv);
/* Executes gets from `first` on, up to one that needs another path. Returns how many. */
uint32_t gets_execute_fast(struct serve *sv, const struct op *first);
/* Executes as gets_execute_fast(), but stops before the first miss. */
uint32_t gets_execute_hits(struct serve *sv, uint32_t first);
/* Executes as gets_execute_fast(), in a pass with requests that arrived before this turn. */
uint32_t gets_execute_late(struct serve *sv, uint32_t first);

#endif
