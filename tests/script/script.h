/*
 * script.h - a conversation with the stack, written down as text (README.md): what a peer sends,
 * what the user does, and every segment that must come back.
 *
 * Shape:  a script is a list of steps, `use` already replaced by the steps it stands for.
 * Units:  sequence numbers count from each side's SYN (0); lengths and windows in bytes, windows
 *         as they stand in the header; times in ns.
 * Owner:  script_book_free gives back all that script_book_read took.
 * Thread: one.
 * Errors: false, and one line of words with file and line in book->error.
 */
#ifndef CLOCKOO_SCRIPT_H
#define CLOCKOO_SCRIPT_H

#include "script_frame.h"
#include "sim_stack.h"

#define SCRIPT_ERROR_BYTES 400u

enum script_verb {
	DO_IN,       /* the peer sends */
	DO_OUT,      /* the stack must have sent */
	DO_ICMP,     /* a router says something about a segment of ours */
	DO_SILENCE,  /* the stack must have sent nothing more */
	DO_WAIT,     /* time goes by */
	DO_FROM,     /* the peer speaks from another port from now on */
	DO_READ,     /* the user reads that many bytes, and they are the peer's */
	DO_READING,  /* from now on the user reads all there is at once */
	DO_WRITE,    /* the user queues that many bytes */
	DO_CONNECT,  /* the user opens a connection to the peer's port; number: it is refused */
	DO_CLOSE,    /* the user closes */
	DO_LEAVE,    /* the user closes, and wants to hear no more */
	DO_ABORT,    /* the user resets */
	DO_DRAIN,    /* the stack is told to stop */
	DO_DENY,     /* from now on nobody is let in */
	DO_PAUSE,    /* our process stands still: what the peer sends waits in the port's ring */
	DO_RESUME,   /* it goes on, until the ring is empty */
	DO_OPENED,   /* opened() was called that often in all */
	DO_GONE,     /* gone() likewise */
	DO_FAILED,   /* failed() likewise */
	DO_EOF,      /* conn_eof() */
	DO_READABLE, /* conn_peek() shows that many bytes */
	DO_HELD,     /* connections hold that many received frames */
	DO_STATE,    /* the connection's, by its RFC name */
	DO_COUNT,    /* a counter of the stack */
};

struct script_where {
	const char *file;
	uint32_t line;
};

struct script_step {
	enum script_verb verb;
	struct script_where at, via; /* via.line 0: stands in the script itself; else its `use` */
	struct script_seg seg;       /* in, out */
	uint32_t times;              /* in, out: one after the other */
	uint64_t number;
	uint32_t which; /* enum stack_counter, enum conn_state, ICMP type and code */
	int64_t seq;    /* icmp: the segment it quotes */
};

struct script_steps {
	struct script_step *step;
	uint32_t count, room;
};

struct script {
	char *title, *rule; /* rule: NULL if none is named */
	struct script_where at;
	struct stack_config stack;
	uint32_t mtu, caps;
	uint32_t local;  /* enum local: which of our addresses is spoken to */
	bool local_said; /* by the script; else it may be played over any */
	struct script_steps steps;
};

struct script_book {
	struct script *script;
	uint32_t count, room;
	struct script_define *define;
	uint32_t define_count, define_room;
	char **file; /* names, which outlive the steps that point at them */
	uint32_t file_count, file_room;
	char error[SCRIPT_ERROR_BYTES];
};

/* ---- script_text.c ---- */

bool script_book_read(struct script_book *book, const char *path);
void script_book_free(struct script_book *book);

/* ---- script_play.c ---- */

/* Words that say what differs go to error, with file and line; true: all was as written. */
bool script_play(const struct script *script, char error[SCRIPT_ERROR_BYTES]);

/* The same conversation over IPv6, with an MTU that leaves segments as long as they were. */
void script_to_ipv6(struct script *script);

/* The states by the names of RFC 9293 section 3.3.2, in the order of enum conn_state. */
extern const char *const script_states[];
#define SCRIPT_STATES 10u

#endif
