/*
 * script.h - a conversation with the stack, written as text (README.md): segments of a peer,
 * actions of the user, and every segment that must be answered.
 *
 * Shape:  a script is a list of steps, with the steps of a macro in place of each `use`.
 * Units:  sequence numbers count from each side's SYN (0); lengths and windows in bytes, windows
 *         as in the header; times in ns.
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
	DO_ICMP,     /* a router reports on a segment of ours */
	DO_SILENCE,  /* the stack must have sent nothing more */
	DO_WAIT,     /* time passes */
	DO_FROM,     /* the peer uses another port from now on */
	DO_TO,       /* the peer sends to another port of ours from now on */
	DO_READ,     /* the user reads this many bytes, which must be the peer's */
	DO_READING,  /* from now on the user reads all bytes at once */
	DO_WRITE,    /* the user queues this many bytes */
	DO_CONNECT,  /* the user connects to the peer's port; number: that is refused */
	DO_CLOSE,    /* the user closes */
	DO_LEAVE,    /* the user closes, and wants no more events */
	DO_ABORT,    /* the user resets */
	DO_DRAIN,    /* the stack is stopped */
	DO_DENY,     /* from now on every peer is denied */
	DO_MOVE,     /* our addresses leave, and another one comes */
	DO_REFUSE,   /* new connections are reset */
	DO_SILENT,   /* new connections get no answer */
	DO_PAUSE,    /* our process is paused: frames of the peer wait in the port's ring */
	DO_RESUME,   /* it resumes, until the ring is empty */
	DO_OPENED,   /* opened() was called this often in all */
	DO_GONE,     /* the total number of calls of gone() */
	DO_FAILED,   /* failed() was called this often in all */
	DO_EOF,      /* conn_eof() */
	DO_READABLE, /* conn_peek() shows this many bytes */
	DO_HELD,     /* connections hold this many received frames */
	DO_STATE,    /* the connection's state, by its RFC name */
	DO_COUNT,    /* a counter of the stack */
};

struct script_where {
	const char *file;
	uint32_t line;
};

struct script_step {
	enum script_verb verb;
	struct script_where at, via; /* via: where the macro is used; line 0: no macro */
	struct script_seg seg;       /* in, out */
	uint32_t times;              /* in, out: repetitions */
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
	uint32_t local;  /* enum local: the address of ours that is used */
	bool local_said; /* the script names the address; otherwise any is used */
	bool kernel;     /* the kernel is beside the cache */
	struct script_steps steps;
};

struct script_book {
	struct script *script;
	uint32_t count, room;
	struct script_define *define;
	uint32_t define_count, define_room;
	char **file; /* names of files, to which the steps point */
	uint32_t file_count, file_room;
	char error[SCRIPT_ERROR_BYTES];
};

/* ---- script_text.c ---- */

bool script_book_read(struct script_book *book, const char *path);
void script_book_free(struct script_book *book);

/* ---- script_play.c ---- */

/* Plays a script. False if something differs: error then names the first difference, with file and
 * line. */
bool script_play(const struct script *script, char error[SCRIPT_ERROR_BYTES]);

/* Changes a script to IPv6, with an MTU that keeps the lengths of segments. */
void script_to_ipv6(struct script *script);

/* The states by the names of RFC 9293 section 3.3.2, in the order of enum conn_state. */
extern const char *const script_states[];
#define SCRIPT_STATES 10u

#endif
