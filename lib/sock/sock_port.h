/*
 * sock_port.h - memory shared by one core and the helper: a place for each connection through the
 * kernel to a server, with a ring of bytes for each direction.
 *
 * Shape:  the core makes requests: an odd number in `asked` opens a connection to `target`, the
 *         next even number closes it. The helper reports the result of the last number that it
 *         executed. Bytes pass in rings of positions that only grow; each has one writer. A bit of
 *         `to_helper` or `to_core` names a place with news.
 * Units:  positions in bytes since the place was opened, modulo 2^32.
 * Owner:  the caller owns the memory, zeros; sock_port_create assigns the rings. A place is the
 *         core's while it is closed, so its positions begin anew with each connection.
 * Thread: sock_port_* by the core. The helper's functions are in sock_helper.h.
 * Errors: enum sock_failure.
 * Bounds: SOCK_PLACES_MAX places of SOCK_RING_BYTES each way. The core never waits. Its only system
 *         call is a write to an eventfd, when the helper sleeps.
 *
 * Invariants (tests/unit/sock, with mutants):
 * - K1 Bytes leave a ring in their order, once, and only after they were written.
 * - K2 The helper touches the rings of a place only between an open and a close that it has seen.
 *   The core uses them again only once the helper has reported CLOSED.
 * - K3 While a place has news for the helper, the helper is awake or is being woken.
 * - K4 A full ring stops only its writer. The reader that makes room wakes it.
 * - K5 An end is reported after the last byte that arrived.
 */
#ifndef CLOCKOO_SOCK_PORT_H
#define CLOCKOO_SOCK_PORT_H

#include "base/bytes.h"
#include "base/check.h"
#include "base/ip_addr.h"
#include "base/region.h"

#include <stdalign.h>
#include <stdatomic.h>

#define SOCK_PLACES_MAX 1024u
#define SOCK_RING_BYTES 32768u /* a power of two */
#define SOCK_PATH_BYTES 108u   /* path of a Unix socket, with a zero byte */
#define SOCK_WORDS      (SOCK_PLACES_MAX / 64)

struct sock_target {
	struct ip_addr ip;
	uint16_t port;
	char path[SOCK_PATH_BYTES]; /* path of a Unix socket; empty: ip and port are used */
};

enum sock_state {
	SOCK_CLOSED, /* the place is the core's */
	SOCK_OPENED,
	SOCK_ENDED, /* the server has ended the connection, or it broke */
	SOCK_FAILED,
};

enum sock_failure {
	SOCK_REFUSED,
	SOCK_SILENT,
	SOCK_UNREACHABLE,
	SOCK_NO_PATH, /* there is no such Unix socket */
	SOCK_DENIED,
	SOCK_OTHER, /* for example, the kernel has no descriptor or memory */
};

/* The helper's report about a place: the number of the last request, and its result. */
#define SOCK_SAID(number, state, failure)                                                          \
	((uint64_t)(number) << 32 | (uint64_t)(failure) << 8 | (uint64_t)(state))

struct sock_place {
	/* Written by the core. */
	alignas(CACHE_LINE_BYTES) _Atomic uint32_t asked;
	_Atomic uint32_t put; /* end of the bytes in `out` */
	_Atomic uint32_t got; /* bytes of `in` that are read */
	struct sock_target target;
	/* Written by the helper. */
	alignas(CACHE_LINE_BYTES) _Atomic uint64_t said; /* SOCK_SAID */
	_Atomic uint32_t taken;                          /* bytes of `out` that are sent */
	_Atomic uint32_t arrived;                        /* end of the bytes in `in` */
	_Atomic uint32_t in_is_full;                     /* the helper waits for room in `in` */
	uint8_t *out, *in;                               /* SOCK_RING_BYTES each; constant */
};

/* Shared by all cores and the helper. */
struct sock_signal {
	alignas(CACHE_LINE_BYTES) _Atomic uint32_t asleep; /* 1: the helper sleeps, or will */
	_Atomic bool over;
	int fd; /* an eventfd */
};

struct sock_port {
	struct sock_signal *signal;
	struct sock_place *places;
	uint32_t count;
	uint64_t wakes; /* how often this core has woken the helper */
	alignas(CACHE_LINE_BYTES) _Atomic uint64_t to_helper[SOCK_WORDS];
	alignas(CACHE_LINE_BYTES) _Atomic uint64_t to_core[SOCK_WORDS];
};

size_t sock_port_bytes(uint32_t count);
struct sock_port *sock_port_create(struct region *region, uint32_t count,
				   struct sock_signal *signal);

/* Opens a closed place. Until the helper has executed this, sock_port_state returns false. */
void sock_port_open(struct sock_port *p, uint32_t place, const struct sock_target *target);
/* Closes a place that was opened. Bytes that were not sent yet may be lost. */
void sock_port_close(struct sock_port *p, uint32_t place);
/* Returns true, and the state, once the helper has executed the last request. */
bool sock_port_state(const struct sock_port *p, uint32_t place, enum sock_state *state,
		     enum sock_failure *failure);

/* Returns contiguous room for bytes to be sent. sock_port_put sends what was written there. */
uint8_t *sock_port_room(const struct sock_port *p, uint32_t place, uint32_t *bytes);
void sock_port_put(struct sock_port *p, uint32_t place, uint32_t bytes);
/* Returns the contiguous bytes that have arrived; they stay until sock_port_get. */
struct view sock_port_view(const struct sock_port *p, uint32_t place);
void sock_port_get(struct sock_port *p, uint32_t place, uint32_t bytes);

/* True if the helper has news. */
static inline bool
sock_port_has_news(const struct sock_port *p)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < (p->count + 63) / 64; i++)
		any |= atomic_load_explicit(&p->to_core[i], memory_order_relaxed);
	return any != 0;
}

/* Takes the news of 64 places: a bit for each place that has some. */
static inline uint64_t
sock_port_news(struct sock_port *p, uint32_t word)
{
	if (likely(atomic_load_explicit(&p->to_core[word], memory_order_relaxed) == 0))
		return 0;
	/* Pairs with the helper's fetch_or: what it has written before is visible. */
	return atomic_exchange_explicit(&p->to_core[word], 0, memory_order_acquire);
}

#endif
