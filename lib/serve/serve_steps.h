/*
 * serve_steps.h - results of the steps of a pass, which say how it continues.
 *
 * Thread: none.
 */
#ifndef CLOCKOO_SERVE_STEPS_H
#define CLOCKOO_SERVE_STEPS_H

/* How the parser of a connection continues. */
enum parse_step {
	PARSE_CONTINUE,
	PARSE_NEXT_PASS, /* the rest can be parsed in another pass */
	PARSE_NEXT_TURN, /* the connection's share of this turn is used up */
	PARSE_WAIT,      /* the connection waits for an event of the stack */
};

/* The outcome of executing an operation. */
enum exec_status {
	EXEC_DONE,
	EXEC_PARTIAL, /* the rest is in session->value, or comes with OP_KEPT_WRITE */
	EXEC_RETRY,   /* nothing was done; the connection's bytes are read again in the next turn */
	/* For a datagram: the backend answers in a later turn, or the datagram is dropped. */
	EXEC_LATER,
	EXEC_NONE, /* nothing was done, and nothing is counted */
};

#endif
