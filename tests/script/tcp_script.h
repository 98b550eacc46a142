/*
 * tcp_script.h - a conversation with the stack, written down: what a peer sends, what the user
 * does, and every segment that must come back.
 *
 * Shape:  a script is a table of steps. After each step but OUT the stack has had its turn, and
 *         before the next one every segment it sent must have been named by an OUT: silence is
 *         part of the script.
 * Units:  sequence numbers count from each side's SYN (0); lengths and windows in bytes,
 *         windows as they stand in the header.
 * Thread: one.
 */
#ifndef CLOCKOO_TCP_SCRIPT_H
#define CLOCKOO_TCP_SCRIPT_H

#include "sim_frame.h"
#include "sim_stack.h"

enum script_verb {
	DO_END,
	DO_IN,      /* the peer sends */
	DO_OUT,     /* the stack must have sent */
	DO_WINDOW,  /* the last OUT must have told this window */
	DO_WAIT,    /* ms go by */
	DO_READ,    /* the user reads that many bytes, and they are the peer's */
	DO_READING, /* from now on the user reads all there is at once */
	DO_WRITE,   /* the user queues that many bytes */
	DO_CLOSE,
	DO_ABORT,
	DO_DRAIN,  /* the stack is told to stop */
	DO_PORT,   /* the peer speaks from another port from now on */
	DO_OPENED, /* opened() was called that often in all */
	DO_GONE,
	DO_EOF,     /* conn_eof() */
	DO_WANT,    /* there are that many bytes to peek at */
	DO_HELD,    /* connections hold that many received frames */
	DO_COUNTED, /* counter `flags` stands at `len` */
};

struct script_step {
	enum script_verb verb;
	uint32_t flags; /* enum tcp_flag, or what the verb says */
	uint32_t seq, ack, len;
	uint32_t window;
	uint16_t mss;   /* IN with SYN: 0 = no option */
	uint8_t wscale; /* IN with SYN: 0 = no option, else the shift plus 1 */
	int line;
};

struct script {
	const char *sentence;
	const struct script_step *steps;
	struct stack_config (*config)(void); /* NULL: sim_config */
};

#define F TCP_FIN
#define S TCP_SYN
#define R TCP_RST
#define P TCP_PSH
#define A TCP_ACK

#define SCRIPT_WINDOW 60000u
#define SCRIPT_MSS    1460u

#define STEP(...)                                                                                  \
	{                                                                                          \
		__VA_ARGS__, .line = __LINE__                                                      \
	}
#define IN_W(fl, sq, ak, n, win) STEP(DO_IN, fl, sq, ak, n, win)
#define IN(fl, sq, ak, n)        IN_W(fl, sq, ak, n, SCRIPT_WINDOW)
#define IN_SYN(m, shift)         STEP(DO_IN, S, 0, 0, 0, SCRIPT_WINDOW, m, shift)
#define OUT(fl, sq, ak, n)       STEP(DO_OUT, fl, sq, ak, n)
#define WINDOW(n)                STEP(DO_WINDOW, .len = n)
#define WAIT(ms)                 STEP(DO_WAIT, .len = ms)
#define READ(n)                  STEP(DO_READ, .len = n)
#define READING                  STEP(DO_READING)
#define WRITE(n)                 STEP(DO_WRITE, .len = n)
#define CLOSE                    STEP(DO_CLOSE)
#define ABORT                    STEP(DO_ABORT)
#define DRAIN                    STEP(DO_DRAIN)
#define FROM_PORT(n)             STEP(DO_PORT, .len = n)
#define OPENED(n)                STEP(DO_OPENED, .len = n)
#define GONE(n)                  STEP(DO_GONE, .len = n)
#define END_OF_STREAM(yes)       STEP(DO_EOF, .len = yes)
#define READABLE(n)              STEP(DO_WANT, .len = n)
#define HELD(n)                  STEP(DO_HELD, .len = n)
#define COUNTED(counter, n)      STEP(DO_COUNTED, .flags = counter, .len = n)
#define END                                                                                        \
	{                                                                                          \
		DO_END                                                                             \
	}

/* A handshake without options but MSS: both stand at 1 afterwards. */
#define HANDSHAKE IN_SYN(SCRIPT_MSS, 0), OUT(S | A, 0, 1, 0), IN(A, 1, 1, 0), OPENED(1)

#define SCRIPT(words, table)                                                                       \
	{                                                                                          \
		.sentence = words, .steps = table                                                  \
	}
#define SCRIPT_WITH(settings, words, table)                                                        \
	{                                                                                          \
		.sentence = words, .steps = table, .config = settings                              \
	}

#define SCRIPTS_MAX 64u

/* Run each script as a cmocka test; returns how many failed. */
int script_run_all(const char *group, const struct script *scripts, size_t count);

#endif
