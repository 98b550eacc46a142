/*
 * conn_pipe.h - pipes: connections whose other end is the program itself.
 *
 * What stands between a peer and the service (TLS) has two connections: the wire, which TCP knows,
 * and a pipe, which the service reads and writes as any other. Nothing of a pipe is ever a segment:
 * it has no flow, no timer and no output; its queue is read here, and only here.
 *
 * Shape:  a pipe and its wire are mates until one of them is free. A pipe shows its wire's peer.
 *         What is written into it makes the wire ready (stack_pop_ready) after the output stage.
 * Owner:  the pipe is free after conn_pipe_free(), or conn_abort() of the service; closed by the
 *         service (conn_close) it stays until then, with what was queued.
 * Thread: core-local.
 * Errors: NULL: no slot, or the stack drains.
 * Bounds: tcp_config.active_reserve slots are left to pipes; PIPE_QUEUE_BYTES queued in each, and
 *         a reply.
 */
#ifndef CLOCKOO_CONN_PIPE_H
#define CLOCKOO_CONN_PIPE_H

#include "conn.h"

#define PIPE_QUEUE_BYTES 65536u

/* opened() is not called. tcp_config.pipes is set. */
struct conn *conn_pipe_open(struct stack *s, struct conn *wire);
/* The pipe of a wire, or the wire of a pipe; NULL: there is none. */
struct conn *conn_pipe_mate(const struct stack *s, const struct conn *c);
/* Takes the next bytes that the service has written, as far as there are so many. */
uint32_t conn_pipe_take(struct stack *s, struct conn *pipe, uint8_t *to, uint32_t bytes_max);
/* Passes on what the service expects of the pipe (conn_expect, conn_body_waits) to its wire, and
 * whether the wire has dropped data to the pipe. */
void conn_pipe_tell(struct conn *pipe, struct conn *wire);
/* No more bytes come. */
void conn_pipe_end(struct stack *s, struct conn *pipe);
/* The service has closed it, and nothing that it wrote is left. */
bool conn_pipe_is_done(const struct conn *pipe);
/* gone() is called, if the service has not closed it. */
void conn_pipe_free(struct stack *s, struct conn *pipe);
/* In gone(): the slot goes, too; else the pipe stays, closed. */
bool conn_is_freed(const struct conn *c);

#endif
