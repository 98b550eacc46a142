/*
 * backend_link.h - links: connections that a backend opens to its servers.
 *
 * A link takes a slot and a session like any connection. But no request is read from its session,
 * which is not listed, not counted for -c and never closed as idle. The user of links reads and
 * writes the link (tcp/conn.h).
 *
 * Shape:  after serve_link_open() the user's opened() or failed() is called, and after opened()
 *         gone(), unless the link is aborted before. Instead of gone() it may be failed() with
 *         LINK_CERT_OWN. ready() is called when the link is readable, at its end, or writable
 *         again. A user that checks its links in poll() may ignore ready().
 *
 * Owner:  a link belongs to its user until failed(), gone(), or the return of serve_link_abort().
 *
 * Thread: core-local. opened(), gone() and failed() are called while segments are read, at timers,
 *         and in the drain; ready() while requests are parsed. In any of them the user may abort
 *         links; in opened() and ready() it may also open links.
 *
 * Bounds: conns_max of the stack, of which active_reserve are reserved for links.
 */
#ifndef CLOCKOO_BACKEND_LINK_H
#define CLOCKOO_BACKEND_LINK_H

#include "serve/serve_backend.h"

/* Attaches the user of links, once, before the core's first turn. The struct is copied. */
void serve_links_attach(struct serve *sv, const struct serve_link_user *user);

/* Opens a link. Returns NULL if the stack refused, and has counted that. */
struct conn *serve_link_open(struct serve *sv, const struct conn_target *to);
/* The server of a link, for a layer. */
struct link_name {
	const char *host; /* a name, an address, or the path of a Unix socket */
	bool by_kernel;   /* the server is reached through the kernel (lib/sock) */
};

/* Opens a link through the layer, if there is one. */
struct conn *serve_link_open_to(struct serve *sv, const struct conn_target *to,
				const struct link_name *name);
/* Resets a link. After that no function of the user is called for it. */
void serve_link_abort(struct serve *sv, struct conn *link);
/* True if TCP is established but the layer's handshake is not complete. */
bool serve_link_is_answered(const struct serve *sv, const struct conn *link);

/* A layer between TCP and the user of links: TLS (lib/tls), or the kernel's connections (lib/sock).
 * The user's link is then a pipe (tcp/conn_pipe.h), which opens when the layer says so. The
 * connection under the pipe, its wire, belongs to the layer; there may be none. */
struct link_layer {
	void *arg;
	struct conn *(*open)(void *arg, const struct conn_target *to, const struct link_name *name);
	bool (*abort)(void *arg, struct conn *link); /* false: link is not one of the layer's */
	bool (*is_answered)(void *arg, const struct conn *link);
	/* turn() is called before the backend's poll(), and send() after the backend's send(). */
	void (*turn)(void *arg, uint64_t now_ns);
	void (*send)(void *arg);
	bool (*has_work)(void *arg); /* True: the layer has work for which no event will come. */
};

/* Attaches a layer, once, after the backend. From now on the functions of `user` are called for
 * wires and pipes. Returns the previous user of links, whose functions the layer calls for
 * pipes. */
struct serve_link_user serve_links_layer(struct serve *sv, const struct link_layer *layer,
					 const struct serve_link_user *user);
/* Opens a pipe over a wire, or without one. Returns NULL if no slot is free, or the stack
 * drains. */
struct conn *serve_link_pipe_open(struct serve *sv, struct conn *wire);
/* Free a pipe; reset a wire; close a wire once what is queued on it is sent. After the call no
 * function of the user is called for it. */
void serve_link_pipe_free(struct serve *sv, struct conn *pipe);
void serve_link_wire_abort(struct serve *sv, struct conn *wire);
void serve_link_wire_close(struct serve *sv, struct conn *wire);

#endif
