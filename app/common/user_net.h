/*
 * user_net.h - port user: the appliance behind the host's own sockets, by libslirp.
 *
 * libslirp is the user-mode network of QEMU and Podman. It accepts connections and datagrams at
 * sockets of the host, and turns them into frames to our address, on a network inside the process
 * (CONFIG_USER_NET). For connections that the appliance opens, it opens sockets of the host. A
 * thread runs it and moves the frames over a cable. It needs no privilege, NIC or hugepage.
 *
 * user_net_open binds the sockets, so that a conflict ends the start early. They refuse connections
 * until user_net_listen, so that no client waits for cores that do not run yet.
 *
 * Owner:  the caller, from user_net_open to user_net_close.
 * Thread: main. The thread of libslirp shares only the cable with the caller.
 * Errors: struct error at start: an address in use, no right to a low port. Later a frame without
 *         room is dropped and counted, and TCP sends it again.
 * Bounds: USER_NET_FDS_MAX descriptors; connections beyond them wait to be accepted. libslirp
 *         allocates memory for each connection: 256 KB at most.
 */
#ifndef CLOCKOO_USER_NET_H
#define CLOCKOO_USER_NET_H

#include "config/config.h"
#include "dpdk/cable.h"

#define USER_NET_FDS_MAX 65536u

struct user_net;

/* True if this program was built with libslirp. Otherwise *err says that it was not. */
bool user_net_is_built(struct error *err);

/* Binds sockets to the addresses of cfg. Called before EAL pins the caller to a CPU: the thread
 * inherits the caller's CPUs. */
bool user_net_open(struct user_net **u, const struct config *cfg, struct error *err);

/* True if the addresses of cfg are free. */
bool user_net_check(const struct config *cfg, struct error *err);

/* Starts the thread. cable has a lane for each core. */
bool user_net_start(struct user_net *u, struct cable *cable, struct error *err);

/* Lets clients connect. False if another program has begun to listen at one of the addresses. */
bool user_net_listen(struct user_net *u, struct error *err);

/* Returns the number of frames dropped on their way to a core. Called by any thread. */
uint64_t user_net_dropped_mt(const struct user_net *u);

/* Ends the thread if it runs, and closes all sockets. */
void user_net_close(struct user_net *u);

#endif
