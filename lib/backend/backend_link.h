/*
 * backend_link.h - links: connections that a backend opens to its servers.
 *
 * A link has a slot and a session like any connection. Its session only keeps its place: no request
 * is read from it, and it is not listed, not counted for -c and never closed as idle. The user of
 * links reads and writes it (tcp/conn.h).
 *
 * Shape:  serve_link_open() is followed by opened() or failed(), and opened() by gone(), unless the
 *         link is aborted before. failed() with LINK_CERT_OWN may stand for gone(). ready(): the
 *         link is readable, at its end, or writable again. A user that checks its links in poll()
 *         may ignore ready().
 *
 * Owner:  a link is its user's until failed(), gone(), or the return of serve_link_abort().
 *
 * Thread: core-local. opened(), gone() and failed() are called while segments are read, at timers,
 *         and in the drain; ready() while requests are parsed. In all of them the user may abort
 *         links, and in opened() and ready() open others.
 *
 * Bounds: conns_max of the stack, of which active_reserve are left to links.
 */
#ifndef CLOCKOO_BACKEND_LINK_H
#define CLOCKOO_BACKEND_LINK_H

#include "serve/serve_backend.h"

/* Attaches the user of links, once, before the core's first turn. The struct is copied. */
void serve_links_attach(struct serve *sv, const struct serve_link_user *user);

/* Opens a link. Returns NULL if the stack refused, which the stack has counted. */
struct conn *serve_link_open(struct serve *sv, const struct conn_target *to);
/* The server of a link, as a layer needs it. */
struct link_name {
	const char *host; /* a name, an address, or the path of a Unix socket */
	bool by_kernel;   /* it is reached through the kernel (lib/sock) */
};

/* Opens a link through the layer, if there is one. */
struct conn *serve_link_open_to(struct serve *sv, const struct conn_target *to,
				const struct link_name *name);
/* Resets a link. After that no function of the user is called for it. */
void serve_link_abort(struct serve *sv, struct conn *link);
/* True if TCP is open but the layer's handshake is not complete. */
bool serve_link_is_answered(const struct serve *sv, const struct conn *link);

/* A layer below the user of links: TLS (lib/tls), or the kernel's connections (lib/sock). With a
 * layer the user's link is a pipe (tcp/conn_pipe.h), which is open once the layer says so. The
 * pipe's wire, if it has one, belongs to the layer. */
struct link_layer {
	void *arg;
	struct conn *(*open)(void *arg, const struct conn_target *to, const struct link_name *name);
	bool (*abort)(void *arg, struct conn *link); /* false: link is not one of the layer's */
	bool (*is_answered)(void *arg, const struct conn *link);
	/* turn() is called before the backend's poll(); send() after the backend's send(). */
	void (*turn)(void *arg, uint64_t now_ns);
	void (*send)(void *arg);
	bool (*has_work)(void *arg); /* True: the layer has work for which no event will come. */
};

/* Attaches a layer, once, after the backend. user's functions are called for wires and pipes from
 * now on. Returns the user of links so far, which the layer calls for pipes. */
struct serve_link_user serve_links_layer(struct serve *sv, const struct link_layer *layer,
					 const struct serve_link_user *user);
/* Opens a pipe over a wire, or without one. NULL: no slot is free, or the stack drains. */
struct conn *serve_link_pipe_open(struct serve *sv, struct conn *wire);
/* Free a pipe; reset a wire; close a wire behind what is queued on it. After that no function of
 * the user is called for it. */
void serve_link_pipe_free(struct serve *sv, struct conn *pipe);
void serve_link_wire_abort(struct serve *sv, struct conn *wire);
void serve_link_wire_close(struct serve *sv, struct conn *wire);

#endif
