/*
 * dpdk_telemetry.h - commands of our own beside those of DPDK's libraries, on its telemetry socket.
 *
 * EAL serves the socket where eal_args asks for it: RUNTIME_DIRECTORY of systemd or /var/run, then
 * dpdk/FILE-PREFIX/dpdk_telemetry.v2. dpdk-telemetry.py, Telegraf and collectd read it.
 *
 * Shape:  /clockoo/NAME[,PARAMETER] is answered with one flat object.
 * Owner:  DPDK's callbacks have no argument and are never taken back, so who answers is one for the
 *         process, as EAL is.
 * Thread: add and set by one; answers are made in threads of EAL, one at a time.
 * Errors: a command that is not answered is null in JSON, as those of DPDK are.
 * Bounds: DPDK_REPLY_ROWS rows and DPDK_REPLY_BYTES of names and values in a reply: what the
 *         socket's 16 KB hold. Texts are cut at DPDK_REPLY_TEXT.
 */
#ifndef CLOCKOO_DPDK_TELEMETRY_H
#define CLOCKOO_DPDK_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#define DPDK_REPLY_ROWS  250u
#define DPDK_REPLY_BYTES 14000u
#define DPDK_REPLY_TEXT  120u

struct dpdk_reply;

/* Letters, digits and _ stay of a name, and what JSON has as it is of a text. False: it is full. */
bool dpdk_reply_number(struct dpdk_reply *to, const char *name, uint64_t value);
bool dpdk_reply_text(struct dpdk_reply *to, const char *name, const char *text);
/* Always finds room. */
bool dpdk_reply_left_out(struct dpdk_reply *to, uint64_t rows);

/* parameter: empty: none was given. False: there is no such thing. */
typedef bool dpdk_answer(void *arg, const char *name, const char *parameter, struct dpdk_reply *to);

/* The folder of the socket; NULL: DPDK could not make one, and took /tmp. */
const char *dpdk_telemetry_folder(void);
/* False: DPDK has no room for it, or there is no telemetry. words: of /help. */
bool dpdk_telemetry_add(const char *name, const char *words);
/* NULL: nothing is answered any more, and no answer is being made. */
void dpdk_telemetry_set(dpdk_answer *answer, void *arg);

#endif
