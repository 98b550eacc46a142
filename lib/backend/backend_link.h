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
/* How a layer names the server of a link. */
struct link_name {
	const char *host; /* its name, or its address; of a server by the kernel maybe a path */
	bool by_kernel;   /* it is reached through the kernel (lib/sock) */
};

/* Opens a link by the layer, if there is one. */
struct conn *serve_link_open_to(struct serve *sv, const struct conn_target *to,
				const struct link_name *name);
/* Resets a link. No function of the user is called for the link any more. */
void serve_link_abort(struct serve *sv, struct conn *link);
/* True if TCP is open, and the layer's handshake is not complete yet. */
bool serve_link_is_answered(const struct serve *sv, const struct conn *link);

/*
 * A layer below the user of links: TLS (lib/tls), or the kernel's connections (lib/sock). The
 * user's link is then a pipe (tcp/conn_pipe.h), which is open once the layer says so; its wire, if
 * it has one, is the layer's.
 */
struct link_layer {
	void *arg;
	struct conn *(*open)(void *arg, const struct conn_target *to, const struct link_name *name);
	bool (*abort)(void *arg, struct conn *link); /* false: it is no link of the layer */
	bool (*is_answered)(void *arg, const struct conn *link);
	/* turn(): before the backend's poll(). send(): after it, and after its send(). */
	void (*turn)(void *arg, uint64_t now_ns);
	void (*send)(void *arg);
	bool (*has_work)(void *arg); /* without an event to come */
};

/* Attaches the layer, once, after the backend. user: called for wires and pipes from now on.
 * Returns the user of links so far, whom the layer calls for pipes. */
struct serve_link_user serve_links_layer(struct serve *sv, const struct link_layer *layer,
					 const struct serve_link_user *user);
/* Opens a pipe of a wire, or without one; NULL: no free slot, or the stack drains. */
struct conn *serve_link_pipe_open(struct serve *sv, struct conn *wire);
/* Free a pipe, reset a wire, close a wire behind what is queued. No function of the user is called
 * for it any more. */
void serve_link_pipe_free(struct serve *sv, struct conn *pipe);
void serve_link_wire_abort(struct serve *sv, struct conn *wire);
void serve_link_wire_close(struct serve *sv, struct conn *wire);

#endif
