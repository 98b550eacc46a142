/*
 * capture_service.h - the appliance's side of `clockoo capture`: frames from rings of the queues to
 * a client, as blocks of pcapng.
 *
 * Shape:  one capture at a time. The control thread polls and calls capture_service_run(), which
 *         never waits; the client writes the file, with its own rights and on its own time.
 * Owner:  rings are taken for a capture and given back once every core has left it.
 * Thread: the control thread, but start and destroy.
 * Errors: to the client, one line. A socket that cannot be had is a warning at start.
 * Bounds: CAPTURE_MEMORY of rings; a client says what it wants within CAPTURE_ASK_NS, and gets the
 *         last of it within CAPTURE_LAST_NS; frames that a client does not read in time are dropped
 *         and counted, by the cores.
 */
#ifndef CLOCKOO_CAPTURE_SERVICE_H
#define CLOCKOO_CAPTURE_SERVICE_H

#include "appliance.h"

#include <poll.h>

#define CAPTURE_MEMORY      (64u << 20)
#define CAPTURE_RING_LARGE  (16u << 20)
#define CAPTURE_ASK_NS      1000000000ull
#define CAPTURE_LAST_NS     5000000000ull
#define CAPTURE_POLL_NS     1000000  /* how often rings are looked at */
#define CAPTURE_HORIZON_NS  2000000u /* what is younger waits: another core's may be older */
#define CAPTURE_POLLS       2u
#define CAPTURE_MESSAGES    8u /* sent at a time */
#define CAPTURE_ACCEPTS_MAX 4u /* accepted at a time */
#define CAPTURE_SEND_BYTES  (4u << 20)
#define CAPTURE_LAST_TURNS  64u /* of sending, when the process stops */

struct capture_service;

/* NULL: there is none. Before rights are given up: root's socket is what a client of root expects.
 */
struct capture_service *capture_service_start(struct appliance *a);
/* At most CAPTURE_POLLS; returns how many. */
uint32_t capture_service_polls(const struct capture_service *s, struct pollfd *to);
/* How long the control thread may wait, at most left_ns. */
int64_t capture_service_wait_ns(const struct capture_service *s, int64_t left_ns);
/* What there is to do, once. True: there is more. */
bool capture_service_run(struct capture_service *s, uint64_t now_ns);
/* Cores may still turn. */
void capture_service_stop(struct capture_service *s);
/* They do not. */
void capture_service_destroy(struct capture_service *s);

#endif
