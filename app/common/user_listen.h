/*
 * user_listen.h - the host's sockets at which libslirp listens for port user.
 *
 * Thread: the one that owns the Slirp.
 * Errors: struct error: the address and the host's reason. An address :: on a host without IPv6
 *         is left out with a warning, if there is another one.
 */
#ifndef CLOCKOO_USER_LISTEN_H
#define CLOCKOO_USER_LISTEN_H

#include "config/config.h"

struct Slirp;

bool user_listen(struct Slirp *slirp, const struct config *cfg, struct error *err);

#endif
