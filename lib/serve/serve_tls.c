/*
 * serve_tls.c - the sessions of pipes, for the room that decrypts their bytes.
 */
#include "serve_read_buf.h"
#include "serve_tls.h"

#include "serve_admin.h"
#include "serve_parse.h"

struct hooks {
	struct serve_tls tls;
	const struct serve_admin_ops *below;
	/* The operations of `below`, with another turn(), so that services without TLS pay
	 * nothing. */
	struct serve_admin_ops ops;
};

size_t
serve_tls_bytes(void)
{
	return sizeof(struct hooks) + CACHE_LINE_BYTES;
}

static void
turn(struct serve *sv)
{
	((const struct hooks *)sv->tls)->below->turn(sv);
	sv->tls->user.turn(sv->tls->user.arg, sv->clock.now_ns);
}

void
serve_tls_attach(struct serve *sv, struct region *region, const struct serve_tls_user *user)
{
	struct hooks *h = region_take(region, sizeof *h, CACHE_LINE_BYTES);

	ensure(sv->tls == NULL && sv->admin_ops != NULL);
	h->tls.user = *user;
	h->below = sv->admin_ops;
	h->ops = *sv->admin_ops;
	h->ops.turn = turn;
	sv->admin_ops = &h->ops;
	sv->tls = &h->tls;
}

struct conn *
serve_tls_open(struct serve *sv, struct conn *wire)
{
	struct conn *pipe = conn_pipe_open(sv->stack, wire);

	if (pipe != NULL)
		session_open(sv, pipe);
	return pipe;
}

uint32_t
serve_tls_room(struct serve *sv, struct conn *pipe, uint8_t **at)
{
	struct session *ss = &sv->sessions[conn_slot(pipe)];

	if (ss->closing || ss->waits != 0 || ss->value.item != NULL || ss->stream.kind != NULL ||
	    (ss->sched != SCHED_READY && ss->sched != SCHED_WATCHER))
		return 0;
	if (read_buf_take(sv, ss) != READ_BUF_OK)
		return 0;
	read_buf_compact(sv, ss);
	*at = ss->read_buf + ss->read_buf_len;
	return MC_LINE_MAX - ss->read_buf_len;
}

void
serve_tls_received(struct serve *sv, struct conn *pipe, uint32_t bytes)
{
	struct session *ss = &sv->sessions[conn_slot(pipe)];

	ss->read_buf_len += bytes;
	if (ss->read_buf_len == 0)
		read_buf_free(sv, ss);
	if (bytes == 0)
		return;
	ss->read_buf_since_ns = sv->clock.now_ns;
	conn_requeue(sv->stack, pipe);
}

bool
serve_tls_may_read(const struct serve *sv, const struct conn *pipe)
{
	const struct session *ss = &sv->sessions[conn_slot(pipe)];

	return ss->turn != sv->turn || (ss->read_buf == NULL && ss->pass_ops == 0);
}

void
serve_tls_again(struct serve *sv, struct conn *wire, const struct conn *pipe)
{
	session_requeue(sv, &sv->sessions[conn_slot(wire)]);
	/* A body is read in the turn in which it arrives. */
	if (pipe != NULL && sv->sessions[conn_slot(pipe)].body != BODY_NONE)
		sv->more = true;
}

uint64_t
serve_tls_requests(const struct serve *sv)
{
	return counter_read(&sv->counters[REQ_TCP]) + counter_read(&sv->counters[REQ_UDP]);
}
