/*
 * user_listen.h - the host's sockets at which libslirp listens for port user.
 *
 * Thread: the thread that has the Slirp.
 * Errors: struct error: the address, and the host's reason. The address :: is left out with a
 *         warning if the host has no IPv6 and there is another address.
 */
#ifndef CLOCKOO_USER_LISTEN_H
#define CLOCKOO_USER_LISTEN_H

#include "config/config.h"

struct Slirp;

bool user_listen(struct Slirp *slirp, const struct config *cfg, struct error *err);

#endif
