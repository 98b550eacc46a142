/*
 * capture_service.h - the appliance's side of `clockoo capture`: sends the frames of its queues to
 * a client, as blocks of pcapng.
 *
 * Shape:  one capture at a time. The control thread polls the files and calls
 *         capture_service_run(), which never waits. The client writes the blocks to its file, with
 *         its own rights.
 * Owner:  the rings exist during one capture. They are freed once every core has left it.
 * Thread: the control thread; but main starts and destroys the service.
 * Errors: one line to the client. If the socket cannot be bound, the start prints a warning, and no
 *         capture is possible.
 * Bounds: CAPTURE_MEMORY for the rings. A client must send its request within CAPTURE_ASK_NS and
 *         read the last message within CAPTURE_LAST_NS. Cores drop and count frames that find their
 *         ring full.
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
#define CAPTURE_POLL_NS     1000000  /* time between two looks at the rings */
#define CAPTURE_HORIZON_NS  2000000u /* younger frames wait: another ring may get an older one */
#define CAPTURE_POLLS       2u       /* files to poll */
#define CAPTURE_MESSAGES    8u       /* most messages that one call sends */
#define CAPTURE_ACCEPTS_MAX 4u       /* most clients that one call accepts */
#define CAPTURE_SEND_BYTES  (4u << 20)
#define CAPTURE_LAST_TURNS  64u /* attempts to send when the process stops */

struct capture_service;

/* The port to capture from, and its clocks. */
struct capture_from {
	const char *file_prefix; /* begins the socket's name */
	const char *interface;   /* the port's name, written to the file */
	struct device *device;
	const struct tsc_clock *clock;
	const struct wall_watch *wall;
	struct device *other; /* the bond's second NIC; NULL: none */
};

/* Opens the socket. Called before privileges are dropped, since a client of root expects a socket
 * of root. NULL: no memory. */
struct capture_service *capture_service_start(const struct capture_from *from);
/* Fills in the files to poll, CAPTURE_POLLS at most, and returns their number. */
uint32_t capture_service_polls(const struct capture_service *s, struct pollfd *to);
/* Returns the time that the control thread may sleep: left_ns at most. */
int64_t capture_service_wait_ns(const struct capture_service *s, int64_t left_ns);
/* Takes requests and sends frames. True if more frames may be waiting. */
bool capture_service_run(struct capture_service *s, uint64_t now_ns);
/* Ends the capture and closes the socket. Cores may still turn. */
void capture_service_stop(struct capture_service *s);
/* Frees the service. Called when no core turns any more. */
void capture_service_destroy(struct capture_service *s);

#endif
