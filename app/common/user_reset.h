/*
 * user_reset.h - ends connections of port user that their clients have reset.
 *
 * libslirp notices a reset by an error of read(2) or write(2). If a write fails while the appliance
 * has unread bytes of the client, libslirp closes its receive window for good and polls the socket
 * no more (4.7.0 src/socket.c, sowrite; src/slirp.c, slirp_pollfds_fill). The connection and its
 * memory would stay. So this module watches the sockets. When one has been dead for
 * USER_RESET_GRACE_MS, the next segment of its connection from a core is answered with a reset to
 * both sides. A core always sends one, at least a probe of the closed window.
 *
 * Shape:  an epoll set of the descriptors, edge-triggered, so that idle ones cost no time.
 * Units:  ms on the caller's clock.
 * Owner:  the caller has cfg, which stays unchanged.
 * Thread: the thread of libslirp.
 * Errors: if a descriptor cannot be watched, libslirp alone handles it.
 * Bounds: descriptors below the number given to user_reset_open. A call reads USER_RESET_EVENTS.
 */
#ifndef CLOCKOO_USER_RESET_H
#define CLOCKOO_USER_RESET_H

#include "config/config.h"

#define USER_RESET_GRACE_MS 1000u /* more than an orderly end takes */
#define USER_RESET_EVENTS   64u
#define USER_RESET_BYTES    128u /* headers: Ethernet, IP with options, TCP without any */

/* A client as a core sees it: its address, and our port to which it is connected. */
struct user_client {
	struct ip_addr ip;
	uint16_t port;
	uint16_t our_port; /* 0: no accepted connection */
	bool is_dead;
	uint64_t dead_ms;
};

struct user_reset {
	const struct config *cfg;
	int epoll;
	uint32_t fds;  /* number of entries in by_fd */
	uint32_t dead; /* number of dead clients */
	/* By client's port: the number of dead clients. There may be thousands, since libslirp
	 * keeps a connection for ten seconds after its orderly end. */
	uint32_t dead_at[UINT16_MAX + 1];
	struct user_client *by_fd;
};

/* The resets that replace a segment of a dead connection. */
struct user_reset_frames {
	uint32_t to_core_len, to_host_len;
	uint8_t to_core[USER_RESET_BYTES], to_host[USER_RESET_BYTES];
};

/* Begins to watch. fds is the largest number of descriptors. False: no memory, or no descriptor. */
bool user_reset_open(struct user_reset *r, const struct config *cfg, uint32_t fds);
void user_reset_close(struct user_reset *r);

/* Called when libslirp has opened the socket fd; called before it closes the socket. */
void user_reset_add(struct user_reset *r, int fd);
void user_reset_remove(struct user_reset *r, int fd);

/* Finds the sockets that have died. Called when r->epoll is readable. */
void user_reset_collect(struct user_reset *r, uint64_t now_ms);

/* True if the core's frame belongs to a dead connection. The two resets then replace the frame. */
bool user_reset_replaces(const struct user_reset *r, const uint8_t *frame, uint32_t len,
			 uint64_t now_ms, struct user_reset_frames *resets);

#endif
