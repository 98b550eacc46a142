/*
 * user_reset.h - ends connections of port user that their clients have reset.
 *
 * libslirp learns of a reset from an error of read(2) or write(2). Where a write gets the error
 * while the appliance has unread bytes of the client, libslirp closes its receive window for
 * good, and no longer polls the socket: the connection and its memory would stay (4.7.0
 * src/socket.c, sowrite; src/slirp.c, slirp_pollfds_fill). So the sockets are watched here. Once
 * one has been dead for USER_RESET_GRACE_MS, the next segment of its connection from a core (a
 * probe of the closed window at the latest) is answered with a reset to both sides.
 *
 * Shape:  the descriptors are in an epoll set of their own, edge-triggered: idle ones cost nothing.
 * Units:  ms on the caller's clock.
 * Owner:  cfg is the caller's and stays as it is.
 * Thread: that of libslirp.
 * Errors: a descriptor that cannot be watched is left to libslirp.
 * Bounds: descriptors below the number given at open; USER_RESET_EVENTS are read a call.
 */
#ifndef CLOCKOO_USER_RESET_H
#define CLOCKOO_USER_RESET_H

#include "config/config.h"

#define USER_RESET_GRACE_MS 1000u /* an orderly end takes less */
#define USER_RESET_EVENTS   64u
#define USER_RESET_BYTES    128u /* Ethernet, IP with options, TCP without */

/* A client as a core sees it: its address, and our port that it is connected to. */
struct user_client {
	struct ip_addr ip;
	uint16_t port, our_port; /* our_port 0: this is no accepted connection */
	bool is_dead;
	uint64_t dead_ms;
};

struct user_reset {
	const struct config *cfg;
	int epoll;
	uint32_t fds;  /* entries of by_fd */
	uint32_t dead; /* number of dead ones */
	/* The number of dead clients at each port. There can be thousands: libslirp keeps each
	 * connection for ten seconds after its orderly end. */
	uint32_t dead_at[UINT16_MAX + 1];
	struct user_client *by_fd;
};

/* The two resets. */
struct user_reset_frames {
	uint32_t to_core_len, to_host_len;
	uint8_t to_core[USER_RESET_BYTES], to_host[USER_RESET_BYTES];
};

/* fds: the largest number of descriptors. False: no memory, or no descriptor. */
bool user_reset_open(struct user_reset *r, const struct config *cfg, uint32_t fds);
void user_reset_close(struct user_reset *r);

/* Called when libslirp has opened the socket fd, or will close it next. */
void user_reset_add(struct user_reset *r, int fd);
void user_reset_remove(struct user_reset *r, int fd);

/* Learns which sockets died. r->epoll is readable when one has. */
void user_reset_collect(struct user_reset *r, uint64_t now_ms);

/* True if the core's frame belongs to a dead connection: the two frames take its place. */
bool user_reset_replaces(const struct user_reset *r, const uint8_t *frame, uint32_t len,
			 uint64_t now_ms, struct user_reset_frames *resets);

#endif
