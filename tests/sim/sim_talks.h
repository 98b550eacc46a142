/*
 * sim_talks.h - clients of one stack that set and get values of many segments, and compare every
 * byte of the answers.
 *
 * Shape:  each connection has rounds, in which one value is set and read.
 * Owner:  the caller, as long as the stack runs.
 * Thread: one.
 * Errors: a failed check of the test: a wrong byte, or a connection that failed.
 * Bounds: TALKS connections.
 */
#ifndef CLOCKOO_SIM_TALKS_H
#define CLOCKOO_SIM_TALKS_H

#include "sim_stack.h"

#define TALKS         24u
#define TALK_VALUE    3000u
#define TALK_TEXT_MAX (TALK_VALUE + 64)

/* A connection, with the bytes still to send and to receive in its round. */
struct sim_talk {
	struct conn *conn;
	uint32_t round;
	uint32_t ask_len, asked, answer_len, answered;
	char ask[TALK_TEXT_MAX], answer[TALK_TEXT_MAX];
};

struct sim_talks {
	struct sim_stack *client;
	uint32_t rounds; /* of each connection; the caller may raise it */
	uint32_t gone;   /* connections that have ended */
	struct sim_talk talks[TALKS];
};

/* Makes the clients the service of this stack. */
void sim_talks_begin(struct sim_talks *t, struct sim_stack *client, uint32_t rounds);
void sim_talks_connect(struct sim_talks *t);
/* True if every connection has had all its rounds. */
bool sim_talks_done(const struct sim_talks *t);
void sim_talks_close(struct sim_talks *t);

#endif
