/*
 * tls_conns.h - one core's TLS connections: between the streams of TCP and the service.
 *
 * Once created, every connection of a peer is TLS, except those of plain_port: no byte of it is
 * read as a request before its handshake is complete, and only records are sent.
 *
 * Units:  ns on the core's clock.
 * Owner:  streams and their memory are OpenSSL's; the table is taken from the region.
 * Thread: core-local, except tls_shared_*.
 * Errors: a peer's fault closes its connection and is counted (TLS_COUNTERS).
 * Bounds: a core has TLS_HANDSHAKES_MAX handshakes at a time, and makes one step of one of them a
 *         turn. A handshake may take TLS_HANDSHAKE_NS, and its hello may take as long to arrive.
 *         Connections: as many as the service accepts.
 */
#ifndef CLOCKOO_TLS_CONNS_H
#define CLOCKOO_TLS_CONNS_H

#include "serve/serve_tls.h"
#include "tls_stream.h"

#include <stdatomic.h>

#define TLS_HANDSHAKES_MAX 512u
#define TLS_HANDSHAKE_NS   10000000000ull
/* Hellos that have waited for less than this are answered in order of arrival, which gives the
 * shortest longest wait. */
#define TLS_IN_ORDER_NS 3000000ull
/* A handshake that was answered this long ago yields its place at once. While all are younger, all
 * places of a core change hands at most once in this time, the oldest first. */
#define TLS_PLACE_NS  250000000ull
#define TLS_UNREAD_NS 10000000000ull /* for the last reply to be read by the peer */

/* Records that a core reads in a turn; after a quarter of them a visit reads few. A record of one
 * byte takes 1 us; a segment has 60 of them. */
#define TLS_RECORDS_A_TURN 256u
#define TLS_RECORDS_FEW    8u

/* A key update costs as much as a tenth of a handshake. */
#define TLS_REKEYS_A_TURN 4u         /* key updates of a core in a turn; at most one a connection */
#define TLS_REKEY_BYTES   (1u << 20) /* bytes that a connection reads between two updates */
#define TLS_REKEYS_EARLY  4u         /* updates of a connection that need not keep that distance */

#define TLS_COUNTERS(X)                                                                            \
	X(TLS_HANDSHAKES, "TLS handshakes completed")                                              \
	X(TLS_RESUMED, "of them, by a session ticket")                                             \
	X(TLS_HANDSHAKE_ERRORS, "TLS handshakes that failed")                                      \
	X(TLS_HANDSHAKE_TIMEOUTS, "of them, those that took too long")                             \
	X(TLS_HANDSHAKE_YIELDED, "TLS handshakes whose place another one took")                    \
	X(TLS_PROTO_ERRORS, "TLS connections closed: a wrong record")                              \
	X(TLS_RECORDS, "TLS records of requests")                                                  \
	X(TLS_REKEYS, "key updates of peers")                                                      \
	X(TLS_REKEYS_REFUSED, "TLS connections closed: key updates in a row")                      \
	X(TLS_CUT, "TLS connections closed by the peer without notice")                            \
	X(TLS_UNREAD, "TLS connections reset: their end was not read")                             \
	X(TLS_NO_ROOM, "TLS connections closed: no slot or memory")                                \
	X(TLS_STEPS, "steps of handshakes")                                                        \
	X(TLS_HELLOS, "of them, those that answered a hello")                                      \
	X(TLS_DEFERRED, "steps of handshakes put off to a later turn")
enum tls_counter { TLS_COUNTERS(COUNTER_SYMBOL) TLS_COUNTER_COUNT };
extern const struct counter_name tls_counter_names[TLS_COUNTER_COUNT];

#define TLS_CORES_MAX 128u

/* The context that all cores use, and its successor. */
struct tls_shared {
	struct tls_context *context[2]; /* version % 2 is in use */
	_Atomic uint32_t version;
	_Atomic uint32_t seen[TLS_CORES_MAX];
	uint32_t cores;
};

struct tls_conns_config {
	uint32_t core;
	uint32_t conns_max;      /* connections of the stack */
	uint16_t plain_port;     /* the stack's port without TLS; 0: none */
	uint32_t handshakes_max; /* 0: TLS_HANDSHAKES_MAX */
	uint64_t seed;
	struct tls_shared *shared;
};

size_t tls_conns_bytes(const struct tls_conns_config *cfg);
/* Creates one core's TLS connections and attaches them to the service. */
struct tls_conns *tls_conns_create(struct region *region, const struct tls_conns_config *cfg,
				   struct serve *serve, struct stack *stack);
const struct counter *tls_counters(const struct tls_conns *tc); /* TLS_COUNTER_COUNT of them */

void tls_shared_begin(struct tls_shared *sh, struct tls_context *first, uint32_t cores);
/* Makes handshakes use the next context from each core's next turn on. False: some core has not
 * seen the previous change yet; the caller then keeps next. */
bool tls_shared_replace_mt(struct tls_shared *sh, struct tls_context *next);
/* True if all cores use the last context. */
bool tls_shared_settled_mt(const struct tls_shared *sh);
/* Frees the contexts. Called when no core turns any longer. */
void tls_shared_end(struct tls_shared *sh);

#endif
