/*
 * serve_steps.h - how the stages of a pass say what comes next.
 *
 * Thread: none.
 */
#ifndef CLOCKOO_SERVE_STEPS_H
#define CLOCKOO_SERVE_STEPS_H

/* How the parser of a connection continues. */
enum parse_step {
	PARSE_CONTINUE,
	PARSE_NEXT_PASS, /* another pass can go on with what is left */
	PARSE_NEXT_TURN, /* its share of this turn is used up */
	PARSE_WAIT,      /* for an event of the stack */
};

/* The outcome of executing an operation. */
enum exec_status {
	EXEC_DONE,
	EXEC_PARTIAL, /* the rest is in session->value, or comes with OP_KEPT_WRITE */
	EXEC_RETRY,   /* nothing is done yet: the connection's bytes are read again next turn */
	EXEC_LATER,   /* a datagram's: its backend answers in a later turn, or it is dropped */
	EXEC_NONE,    /* nothing was done, and nothing is counted */
};

#endif
