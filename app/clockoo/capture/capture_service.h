/*
 * capture_service.h - the appliance's side of `clockoo capture`: frames from rings of the queues to
 * a client, as blocks of pcapng.
 *
 * Shape:  one capture at a time. The control thread polls and calls capture_service_run(), which
 *         never waits; the client writes the file, with its own rights and on its own time.
 * Owner:  the rings exist for one capture, and are freed once every core has left it.
 * Thread: the control thread, but start and destroy.
 * Errors: one line to the client. If the socket cannot be bound, the start prints a warning.
 * Bounds: CAPTURE_MEMORY of rings; a client sends its request within CAPTURE_ASK_NS and reads
 *         the last message within CAPTURE_LAST_NS; the cores drop and count frames that the
 *         client does not read in time.
 */
#ifndef CLOCKOO_CAPTURE_SERVICE_H
#define CLOCKOO_CAPTURE_SERVICE_H

#include "dpdk/device.h"
#include "dpdk/tsc_clock.h"
#include "process/wall_watch.h"

#include <poll.h>

#define CAPTURE_MEMORY      (64u << 20)
#define CAPTURE_RING_LARGE  (16u << 20)
#define CAPTURE_ASK_NS      1000000000ull
#define CAPTURE_LAST_NS     5000000000ull
#define CAPTURE_POLL_NS     1000000  /* how often the rings are read */
#define CAPTURE_HORIZON_NS  2000000u /* younger frames wait: an older one may arrive */
#define CAPTURE_POLLS       2u
#define CAPTURE_MESSAGES    8u /* messages sent in one call */
#define CAPTURE_ACCEPTS_MAX 4u /* clients accepted in one call */
#define CAPTURE_SEND_BYTES  (4u << 20)
#define CAPTURE_LAST_TURNS  64u /* attempts to send when the process stops */

struct capture_service;

/* The port whose frames are captured, and its clocks. */
struct capture_from {
	const char *file_prefix; /* names the socket */
	const char *interface;   /* the port's name, for readers of the file */
	struct device *device;
	const struct tsc_clock *clock;
	const struct wall_watch *wall;
	struct device *other; /* the bond's second member; NULL: none */
};

/* Opens the socket, before privileges are dropped: a client of root expects a socket of root. NULL
 * if it cannot be opened. */
struct capture_service *capture_service_start(const struct capture_from *from);
/* Fills in the files to poll, CAPTURE_POLLS at most. Returns their number. */
uint32_t capture_service_polls(const struct capture_service *s, struct pollfd *to);
/* Returns how long the control thread may wait, left_ns at most. */
int64_t capture_service_wait_ns(const struct capture_service *s, int64_t left_ns);
/* Does the pending work once. True if more remains. */
bool capture_service_run(struct capture_service *s, uint64_t now_ns);
/* Ends the capture while cores may still turn. */
void capture_service_stop(struct capture_service *s);
/* Frees the service when no core turns any more. */
void capture_service_destroy(struct capture_service *s);

#endif
