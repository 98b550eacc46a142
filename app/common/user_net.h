/*
 * user_net.h - port user: the host's own sockets before the appliance, by libslirp.
 *
 * libslirp, the user-mode network of QEMU and Podman, accepts connections and datagrams at
 * sockets of this host and turns them into frames to our address on a network inside the process
 * (CONFIG_USER_NET); for connections that the appliance opens, it opens sockets of the host. A
 * thread runs it, and moves frames over a cable. No privilege, NIC or hugepage is needed.
 *
 * The sockets are bound when the network is opened, so that a conflict ends the start at once. They
 * refuse connections until user_net_listen: a client never waits for cores that do not run yet.
 *
 * Owner:  the caller, from user_net_open to user_net_close.
 * Thread: main; its own thread touches nothing of the caller but the cable.
 * Errors: struct error, at start: an address in use, no right to a low port. Later a frame that
 *         does not fit is dropped and counted, and TCP sends it again.
 * Bounds: USER_NET_FDS_MAX descriptors are polled; connections above it wait to be accepted.
 *         libslirp allocates its memory as connections open: 256 KB each at most.
 */
#ifndef CLOCKOO_USER_NET_H
#define CLOCKOO_USER_NET_H

#include "config/config.h"
#include "dpdk/cable.h"

#define USER_NET_FDS_MAX 65536u

struct user_net;

/* True if this program was built with libslirp; otherwise *err says so. */
bool user_net_is_built(struct error *err);

/* Listens at the addresses of cfg. Before EAL pins the caller to a CPU: the thread may use them
 * all. */
bool user_net_open(struct user_net **u, const struct config *cfg, struct error *err);

/* True if the addresses of cfg are free to listen at. */
bool user_net_check(const struct config *cfg, struct error *err);

/* Runs the thread. cable: plugged in, with a lane for each core. */
bool user_net_start(struct user_net *u, struct cable *cable, struct error *err);

/* Lets clients connect. False if another program has begun to listen at an address since. */
bool user_net_listen(struct user_net *u, struct error *err);

/* Returns the frames dropped on their way to a core. Any thread. */
uint64_t user_net_dropped_mt(const struct user_net *u);

/* Ends the thread, if it runs, and closes all sockets. */
void user_net_close(struct user_net *u);

#endif
