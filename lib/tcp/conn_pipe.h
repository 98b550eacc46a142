/*
 * conn_pipe.h - pipes: connections whose other end is the program itself.
 *
 * A layer between a peer and the service (TLS) has two connections: the wire, which TCP knows, and
 * a pipe, which the service reads and writes as any other connection. A pipe sends no segments: it
 * has no flow, no timer and no output, and its queue is read by conn_pipe_take() only. A wire may
 * be one that the program opens itself, from its SYN on.
 *
 * Shape:  a pipe and its wire are mates until one of them is free. A pipe shows its wire's peer. A
 *         pipe without a wire (lib/sock) has no peer, and its layer checks it each turn. Data
 *         written into a pipe makes its wire ready (stack_pop_ready) after the output stage.
 * Owner:  conn_pipe_free() frees the pipe, and so does the service's conn_abort(). A pipe that the
 *         service has closed (conn_close) stays until then, with the bytes queued.
 * Thread: core-local.
 * Errors: NULL: no slot, or the stack drains.
 * Bounds: pipes have tcp_config.active_reserve slots of their own. A pipe queues as much as its
 *         wire's peer has window for beside the wire's bytes, or PIPE_QUEUE_BYTES without a wire,
 *         plus the reply that exceeds that.
 */
#ifndef CLOCKOO_CONN_PIPE_H
#define CLOCKOO_CONN_PIPE_H

#include "conn.h"

#define PIPE_QUEUE_BYTES 65536u

/* Opens a pipe without a call of opened(). wire may be NULL. Needs tcp_config.pipes. */
struct conn *conn_pipe_open(struct stack *s, struct conn *wire);
/* Takes up to bytes_max of the bytes that the service has written. Returns how many. */
uint32_t conn_pipe_take(struct stack *s, struct conn *pipe, uint8_t *to, uint32_t bytes_max);
/* Shows these bytes to the pipe's reader, which must have read all earlier ones. They belong to the
 * caller, and must not change until the pipe has no unread bytes and stack_release() was called.
 * False: there is no receive node now; a later call may succeed. */
bool conn_pipe_put(struct stack *s, struct conn *pipe, struct view bytes);
/* Copies what the service expects of the pipe (conn_expect, conn_body_waits) to its wire. The pipe
 * gets the wire's round trip, and whether the wire has dropped data. */
void conn_pipe_sync(struct conn *pipe, struct conn *wire);
/* Notes that the wire's bytes are read in the next turn: more may arrive as if they were read in
 * this turn. Valid until conn_pipe_sync(). */
void conn_pipe_postpone(struct conn *wire);
/* Marks the end of the stream towards the service. */
void conn_pipe_end(struct stack *s, struct conn *pipe);
/* True if the service has closed the pipe and all that it wrote was taken. */
bool conn_pipe_is_done(const struct conn *pipe);
/* Frees the pipe. gone() is called unless the service has closed it. */
void conn_pipe_free(struct stack *s, struct conn *pipe);
/* For gone(): true if the slot is freed as well; false if the pipe stays, closed. */
bool conn_is_freed(const struct conn *c);

#endif
