/*
 * tls_links.h - one core's TLS connections to servers: a layer of links (backend/backend_link.h).
 *
 * Shape:  the backend's link is a pipe, which opens once its server is verified. Until then nothing
 *         is read from it, so no byte of a request can leave. The session that a server offered
 *         last is used for the next connection to it.
 * Units:  ns of the core's clock; certificates are judged by its Unix time.
 * Owner:  streams, sessions and their memory are OpenSSL's; tables and the decrypted bytes of each
 *         link are taken from the region.
 * Thread: core-local, except tls_shared_* (tls_conns.h).
 * Errors: a handshake that fails ends its link with a reason (enum link_failure). A wrong record,
 *         or an end without notice, ends the link as the end of a plain connection does.
 * Bounds: `links` links, with TLS_STEP_MAX decrypted bytes each; sessions of `servers` servers. A
 *         turn makes one step of one handshake, and handshakes take at most half of the time while
 *         requests are served. The backend limits the time of a handshake.
 */
#ifndef CLOCKOO_TLS_LINKS_H
#define CLOCKOO_TLS_LINKS_H

#include "tls_client.h"
#include "tls_conns.h"

#define TLS_NAME_BYTES 254u /* name of a server, with a zero byte */

#define TLS_LINK_COUNTERS(X)                                                                       \
	X(TLS_LINK_HANDSHAKES, "TLS handshakes completed with servers")                            \
	X(TLS_LINK_RESUMED, "of them, by a session of before")                                     \
	X(TLS_LINK_HANDSHAKE_ERRORS, "TLS handshakes with servers that failed")                    \
	X(TLS_LINK_PROTO_ERRORS, "TLS connections to servers ended: a wrong record")               \
	X(TLS_LINK_CUT, "TLS connections that a server ended without notice")                      \
	X(TLS_LINK_REKEYS, "key updates of servers")                                               \
	X(TLS_LINK_NO_ROOM, "TLS connections to servers not opened: no slot or memory")
enum tls_link_counter { TLS_LINK_COUNTERS(COUNTER_SYMBOL) TLS_LINK_COUNTER_COUNT };
extern const struct counter_name tls_link_counter_names[TLS_LINK_COUNTER_COUNT];

struct tls_links_config {
	uint32_t core;
	uint32_t conns_max; /* connections of the stack */
	uint32_t links;     /* links at a time */
	uint32_t servers;   /* servers whose sessions are kept */
	struct tls_shared *shared;
};

size_t tls_links_bytes(const struct tls_links_config *cfg);
/* Creates one core's layer and attaches it to the service, after its backend. */
struct tls_links *tls_links_create(struct region *region, const struct tls_links_config *cfg,
				   struct serve *serve, struct stack *stack);
/* Frees the sessions. Called when the core no longer turns. */
void tls_links_end(struct tls_links *tl);
const struct counter *tls_link_counters(const struct tls_links *tl); /* TLS_LINK_COUNTER_COUNT */

#endif
