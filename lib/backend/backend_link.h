/*
 * backend_link.h - links: connections that a backend opens to its servers.
 *
 * A link has a slot and a session as every connection has, but the session only keeps its
 * place: no request is read from it, it is not listed, not counted for -c, and never closed as
 * idle. Its user reads and writes it (tcp/conn.h).
 *
 * Shape:  opened() or failed() follows serve_link_open(), and gone() follows opened(), unless
 *         the link was aborted before. ready(): the stack has popped it as readable, at its
 *         end, or writable again; a user that checks its links in poll() may ignore ready().
 *
 * Owner:  the link is the user's until failed(), gone(), or the return of serve_link_abort().
 *
 * Thread: core-local, all of it. opened(), gone() and failed() come while segments are read, at
 *         timers and in the drain; ready() while requests are parsed. A user may abort links in
 *         them, and open others but in gone() and failed().
 *
 * Bounds: conns_max of the stack; active_reserve of them are left to links.
 */
#ifndef CLOCKOO_BACKEND_LINK_H
#define CLOCKOO_BACKEND_LINK_H

#include "serve/serve_backend.h"

/* Attaches the user of links, once, before the core's first turn. The struct is copied. */
void serve_links_attach(struct serve *sv, const struct serve_link_user *user);

/* Opens a link. Returns NULL if the stack refused, which it has counted. */
struct conn *serve_link_open(struct serve *sv, const struct conn_target *to);
/* Resets a link. No function of the user is called for the link any more. */
void serve_link_abort(struct serve *sv, struct conn *link);

#endif
