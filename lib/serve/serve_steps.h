/*
 * serve_steps.h - results by which the stages of a pass say what follows.
 *
 * Thread: none.
 */
#ifndef CLOCKOO_SERVE_STEPS_H
#define CLOCKOO_SERVE_STEPS_H

/* How the parser of a connection continues. */
enum parse_step {
	PARSE_CONTINUE,
	PARSE_NEXT_PASS, /* the rest can be parsed in another pass */
	PARSE_NEXT_TURN, /* its share of this turn is used up */
	PARSE_WAIT,      /* it waits for an event of the stack */
};

/* The outcome of executing an operation. */
enum exec_status {
	EXEC_DONE,
	EXEC_PARTIAL, /* the rest is in session->value, or follows with OP_KEPT_WRITE */
	EXEC_RETRY,   /* nothing was done; the connection's bytes are read again in the next turn */
	EXEC_LATER,   /* of a datagram: its backend answers in a later turn, or it is dropped */
	EXEC_NONE,    /* nothing was done, and nothing is counted */
};

#endif
