/*
 * dpdk_telemetry.h - clockoo's commands on DPDK's telemetry socket, which also has those of DPDK's
 * libraries.
 *
 * EAL serves the socket if eal_args requests it. Its path is RUNTIME_DIRECTORY of systemd, or
 * /var/run, followed by /dpdk/FILE-PREFIX/dpdk_telemetry.v2. dpdk-telemetry.py, Telegraf and
 * collectd read it.
 *
 * Shape:  /clockoo/NAME[,PARAMETER] is answered with one flat object.
 * Owner:  DPDK's callbacks have no argument and cannot be unregistered, so the process has one
 *         answer function, as it has one EAL.
 * Thread: one thread adds and sets; threads of EAL make the answers, one at a time.
 * Errors: a command without an answer gets null in JSON, as in DPDK.
 * Bounds: DPDK_REPLY_ROWS rows and DPDK_REPLY_BYTES of names and values in a reply, which the
 *         socket's 16 KB can hold. Texts are cut at DPDK_REPLY_TEXT.
 */
#ifndef CLOCKOO_DPDK_TELEMETRY_H
#define CLOCKOO_DPDK_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#define DPDK_REPLY_ROWS  250u
#define DPDK_REPLY_BYTES 14000u
#define DPDK_REPLY_TEXT  120u

struct dpdk_reply;

/* Adds a row. In the name each character that is no letter or digit becomes _. In the text each
 * character that JSON would have to escape becomes ?. False if the reply is full. */
bool dpdk_reply_number(struct dpdk_reply *to, const char *name, uint64_t value);
bool dpdk_reply_text(struct dpdk_reply *to, const char *name, const char *text);
/* Adds a row with the number of rows that were left out; there is always room for it. */
bool dpdk_reply_left_out(struct dpdk_reply *to, uint64_t rows);

/* Fills the reply of one command. An empty parameter means that none was given. False if there is
 * no such parameter. */
typedef bool dpdk_answer(void *arg, const char *name, const char *parameter, struct dpdk_reply *to);

/* Returns the folder of the socket, or NULL if DPDK could not create one and used /tmp. */
const char *dpdk_telemetry_folder(void);
/* Registers a command; words are its line in /help. False if DPDK has no room for it, or
 * telemetry is off. */
bool dpdk_telemetry_add(const char *name, const char *words);
/* Sets the answer function. After a call with NULL no command is answered, and no answer is in
 * progress. */
void dpdk_telemetry_set(dpdk_answer *answer, void *arg);

#endif
