/*
 * sock_helper.h - the helper: one thread that owns the sockets of all cores' places.
 *
 * Shape:  sock_helper_work makes one pass: it visits the places that cores have news of, then
 *         those whose sockets are ready. sock_helper_help repeats it, and sleeps in epoll_wait
 *         while there is nothing to do.
 * Owner:  the helper owns the descriptors; the caller the ports, which stay until the thread has
 *         returned and sock_helper_close was called.
 * Thread: one. sock_helper_end by any.
 * Errors: sock_helper_open returns a negative errno. A connection's errors are reported to its
 *         core.
 * Bounds: SOCK_CORES_MAX cores. All sockets are non-blocking. A visit sends and receives at most
 *         what its rings have room for. A Unix socket with a full backlog is tried again every
 *         SOCK_RETRY_MS, until the core gives up.
 */
#ifndef CLOCKOO_SOCK_HELPER_H
#define CLOCKOO_SOCK_HELPER_H

#include "sock_port.h"

#define SOCK_CORES_MAX    128u
#define SOCK_EVENTS       64u /* most sockets of a pass */
#define SOCK_RETRY_MS     10
#define SOCK_SPIN_PASSES  16u  /* idle passes before the helper sleeps */
#define SOCK_RETRY_PASSES 256u /* passes between two tries, for a helper that does not sleep */

enum sock_file_state { SOCK_FILE_NONE, SOCK_FILE_CONNECTS, SOCK_FILE_RETRIES, SOCK_FILE_OPEN };

/* The helper's own state of a place. */
struct sock_file {
	int fd;            /* -1: none */
	uint32_t number;   /* the last number of `asked` that was executed */
	uint32_t armed;    /* events that epoll reports; 0: the socket is not in the set */
	uint8_t state;     /* enum sock_file_state */
	bool send_waits;   /* the socket takes no more bytes now */
	bool send_is_over; /* the server takes no more bytes at all */
};

struct sock_helper {
	struct sock_signal signal;
	int poll_fd;
	uint32_t cores, places;
	uint32_t retrying; /* places in SOCK_FILE_RETRIES */
	uint32_t passes;   /* passes while there are any */
	struct sock_port *port[SOCK_CORES_MAX];
	struct sock_file *files; /* the places of core 0, then those of core 1, and so on */
};

/* Opens the helper's own descriptors. files: cores * places. */
int sock_helper_open(struct sock_helper *h, struct sock_file *files, uint32_t cores,
		     uint32_t places);
/* Attaches a core's port. Called before the helper works. */
void sock_helper_attach(struct sock_helper *h, uint32_t core, struct sock_port *port);
/* Makes one pass without waiting. True if something moved. */
bool sock_helper_work(struct sock_helper *h);
/* Works until sock_helper_end. */
void sock_helper_help(struct sock_helper *h);
void sock_helper_end(struct sock_helper *h);
/* Closes all sockets and descriptors, once no thread helps. */
void sock_helper_close(struct sock_helper *h);

#endif
