/*
 * conn_pipe.c - pipes: connections that end in the program.
 */
#include "conn_pipe.h"

#include "tcp.h"

struct conn *
conn_pipe_open(struct stack *s, struct conn *wire)
{
	struct tcp *t = stack_tcp(s);
	struct conn *pipe;

	ensure(t->mates != NULL && (wire == NULL || pipe_mate(t, wire) == NULL));
	if (t->draining) /* the drain walk may have passed its slot already */
		return NULL;
	pipe = conn_open_pipe(t, wire);
	if (pipe == NULL)
		return NULL;
	t->mates[pipe->slot] = PIPE_SLOT;
	if (wire != NULL) {
		t->mates[pipe->slot] |= wire->slot + 1;
		t->mates[wire->slot] = pipe->slot + 1;
	}
	/* The flag keeps a pipe off the fast path of output; tcp_out.c recognizes it on the slow
	 * path. */
	pipe->flags |= CONN_PMTU_REDUCED;
	pipe->snd_una = pipe->snd_nxt = pipe->snd_max = 0;
	pipe->snd_wnd = PIPE_QUEUE_BYTES;
	pipe->rcv_nxt = 0;
	pipe->rcv_edge = RX_WINDOW_BYTES;
	pipe->mss = TCP_MSS_DEFAULT;
	pipe->cwnd = 0;
	return pipe;
}

uint32_t
conn_pipe_take(struct stack *s, struct conn *pipe, uint8_t *to, uint32_t bytes_max)
{
	struct tcp *t = stack_tcp(s);
	const uint32_t n = min_u32(pipe->tx.bytes, bytes_max);

	if (n > 0) {
		sendq_copy_next(&pipe->tx, to, n);
		sendq_drop(&pipe->tx, &t->pool, n);
	}
	conn_wake_writer(t, pipe);
	return n;
}

bool
conn_pipe_put(struct stack *s, struct conn *pipe, struct view bytes)
{
	struct arrival no_frame = {.seg = {.payload = bytes}};
	struct tcp *t = stack_tcp(s);

	ensure(pipe->rx.head == NULL && bytes.len > 0);
	if (pipe->flags & CONN_CLOSE)
		return true;
	if (t->rx_free == NULL)
		return false;
	/* A window without room has the reader's last read take the slow path (rx_read()). */
	pipe->rcv_edge = pipe->rcv_nxt;
	pipe->rx.head = pipe->rx.tail = rx_node_take(t, &no_frame);
	pipe->rx.head->next = NULL;
	pipe->rx.frames = 1;
	pipe->rx.bytes = bytes.len;
	return true;
}

void
conn_pipe_sync(struct conn *pipe, struct conn *wire)
{
	pipe->srtt_us = wire->srtt_us;
	wire->expected = pipe->expected;
	wire->uploads = pipe->uploads;
	wire->expects_more = pipe->expects_more;
	wire->body_waits = pipe->body_waits;
	pipe->rx_dropped = wire->rx_dropped;
}

void
conn_pipe_postpone(struct conn *wire)
{
	wire->expected = true;
}

void
conn_pipe_end(struct stack *s, struct conn *pipe)
{
	pipe->flags |= CONN_EOF;
	conn_make_ready(stack_tcp(s), pipe);
}

bool
conn_pipe_is_done(const struct conn *pipe)
{
	return (pipe->flags & CONN_CLOSE) != 0 && pipe->tx.bytes == 0;
}

void
conn_pipe_free(struct stack *s, struct conn *pipe)
{
	ensure(pipe->flags & CONN_ACTIVE);
	conn_free(stack_tcp(s), pipe);
}

bool
conn_is_freed(const struct conn *c)
{
	return c->state == CONN_CLOSED;
}
