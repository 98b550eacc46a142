/*
 * front_fleet.h - the state of a fleet as the cores see it: addresses of servers, rings, and how
 * each server's keys are treated.
 *
 * The control thread prepares a complete state beside the one in use, and exchanges the two between
 * turns of the cores. A state that a core may see is never written. What cores find out about
 * servers is in reports beside the states.
 *
 * Shape:  two states. The control thread fills the draft and publishes it. A core asks once a turn
 *         which state is current; until the next turn it may keep numbers of it, but no pointers
 *         beyond that. A core has settled a state when no request of an earlier state is open. A
 *         server has the same place as long as it is in the fleet; rings refer to places.
 * Owner:  the caller: front_exchange_bytes() of zeros, aligned to a cache line.
 * Thread: _mt: the core that the call names. The others: the control thread; front_exchange_init
 *         before any core turns.
 * Errors: front_exchange_draft: NULL while some core has not settled the current state; the caller
 *         tries again later.
 * Bounds: `room` places, at most FRONT_SERVERS_MAX; CORES_MAX cores. Calls take constant time,
 *         except for init and copies of rings.
 *
 * Invariants (tests/unit/front/test_front_fleet):
 * - A state that a core has does not change until that core asks again.
 * - Generations grow by one. No request is open that began under the generation before the
 *   previous one.
 */
#ifndef CLOCKOO_FRONT_FLEET_H
#define CLOCKOO_FRONT_FLEET_H

#include "base/check.h"
#include "base/ip_addr.h"
#include "config/lcores.h"
#include "front_config.h"
#include "front_listing.h"
#include "front_warm.h"

#include <stdalign.h>
#include <stdatomic.h>

/* How the keys are treated that a ring assigns to a server. */
enum front_condition {
	FRONT_PLACE_IN_USE,
	FRONT_PLACE_REFUSED, /* requests for them fail at once */
	FRONT_PLACE_AWAY,    /* the server that stands in for it has them */
	FRONT_PLACE_VACANT,  /* no server has this place */
};

/* The part that a server plays in the fleet. */
enum front_role {
	FRONT_ROLE_SERVER,
	FRONT_ROLE_GUTTER,   /* it stands in for servers that are away */
	FRONT_ROLE_JOINING,  /* a reload adds it; it has no keys yet */
	FRONT_ROLE_DRAINING, /* a reload removed it; it hands its keys over */
};

struct front_state {
	/* Number of the state: the first published one is 1; 0 has no servers. */
	uint32_t generation;
	uint32_t count; /* places */
	bool special;   /* a server is not in use, keys move, or keys are handed over */
	struct front_address address[FRONT_SERVERS_MAX];
	struct front_server server[FRONT_SERVERS_MAX];
	uint8_t condition[FRONT_SERVERS_MAX]; /* enum front_condition */
	uint8_t role[FRONT_SERVERS_MAX];      /* enum front_role, for the rows of `stats front` */
	/* A new number requests a probe of a server that is not in use, after pause_ms. 0: no
	 * probe. */
	uint32_t probe[FRONT_SERVERS_MAX];
	uint32_t pause_ms[FRONT_SERVERS_MAX];
	struct front_login login; /* of connections that are opened from now on */
	/* By place: the host of its server, a name or an address. */
	char (*host)[FRONT_HOST_BYTES];
	/* Rings of this state. All but the first may have no points. */
	struct front_ring *ring;  /* the server of each key */
	struct front_ring *stand; /* the stand-in of a server that is away */
	/* During a reload: a key whose server here is another one is refused. */
	struct front_ring *next;
	/* After a reload: the server of each key before it, which hands the key over. */
	struct front_ring *was;
	struct front_ring *before; /* after a chained reload: the server of each key before both */
};

/* The reason why a connection to a server, or a request to it, failed. */
enum front_failure {
	FRONT_FAILURE_UNKNOWN,
	FRONT_FAILURE_REFUSED,     /* its port has no listener */
	FRONT_FAILURE_UNREACHABLE, /* the next hop does not answer */
	FRONT_FAILURE_SILENT,      /* no answer to the attempt to connect */
	FRONT_FAILURE_NO_CONN,     /* no connection of this core is free */
	FRONT_FAILURE_CLOSED,      /* the server ended the connection */
	FRONT_FAILURE_LATE,        /* no answer to a request in time */
	FRONT_FAILURE_BROKEN,      /* the answer does not match the request */
	FRONT_FAILURE_LOGIN,       /* the server refuses the login */
	FRONT_FAILURE_NO_LOGIN,    /* the server requires a login, and there is none */
	FRONT_FAILURE_NOT_TLS,     /* the server does not speak TLS */
	FRONT_FAILURE_TLS_SILENT,  /* its handshake did not end in time */
	FRONT_FAILURE_TLS_CLOSED,  /* the server ended the connection amid the handshake */
	FRONT_FAILURE_TLS_REFUSED, /* the server refused the handshake */
	FRONT_FAILURE_TLS_OTHER,   /* the handshake failed */
	FRONT_FAILURE_CERT_EXPIRED,
	FRONT_FAILURE_CERT_EARLY,  /* it is not valid yet */
	FRONT_FAILURE_CERT_NAME,   /* it has another name */
	FRONT_FAILURE_CERT_ISSUER, /* no certificate of front.tls_ca has issued it */
	FRONT_FAILURE_CERT_OTHER,  /* it does not verify */
	FRONT_FAILURE_CERT_OWN,    /* the server refuses front.tls_cert, or requires one */
	FRONT_FAILURE_NO_PATH,     /* there is no such Unix socket */
	FRONT_FAILURE_DENIED,      /* the kernel does not permit it */
	FRONT_FAILURE_KERNEL_OTHER,
	FRONT_FAILURE_COUNT,
};

/* Findings of the cores about a server. */
struct front_report {
	alignas(64) _Atomic uint32_t failures; /* consecutive ones, of all cores */
	_Atomic uint64_t failed_ns;            /* time of the last one */
	_Atomic uint8_t why;                   /* reason of the last one: enum front_failure */
	/* Number of the last probe (front_state.probe) that it has answered. */
	_Atomic uint32_t probed;
	/* Numbers of flushes. While they differ, it has items that a flush should have removed, and
	 * it is flushed before it is used. */
	_Atomic uint32_t flush_due, flush_done;
	/* A key that another server has now may have an old value here, since a delete of it has
	 * failed. */
	_Atomic bool outdated;
	/* The server can execute no more requests of an earlier process with this address. */
	_Atomic bool fenced;
	/* The local ports of all cores' connections that the server has answered on; 0: none. A
	 * port for which there is no room here is taken for an earlier process's. */
	_Atomic uint16_t port[FRONT_LISTING_PORTS];
};

struct front_exchange {
	_Atomic(struct front_state *) now;
	uint32_t cores, room;
	struct front_state *draft; /* the state that is not `now` */
	struct front_warm *warm;   /* NULL: no key is handed over */
	struct {
		/* Generation of the state that this core has settled. */
		alignas(64) _Atomic uint32_t settled;
	} core[CORES_MAX];
	struct front_report report[FRONT_SERVERS_MAX];
	struct front_state state[2];
};

/* Returns the bytes of an exchange with this many places. */
size_t front_exchange_bytes(uint32_t room);

void front_exchange_init(struct front_exchange *x, uint32_t cores, uint32_t room);

/* Returns a copy of the current state, for the caller to change and publish. NULL: some core has
 * not settled the current state yet. */
struct front_state *front_exchange_draft(struct front_exchange *x);
void front_exchange_publish(struct front_exchange *x);
void front_exchange_ring_copy(struct front_ring *to, const struct front_ring *from);

/* Returns the current state. A core calls it once a turn, before it uses a state. */
static inline const struct front_state *
front_exchange_turn_mt(const struct front_exchange *x)
{
	/* Acquire: pairs with the release in front_exchange_publish; the state's content is
	 * visible. */
	return atomic_load_explicit(&x->now, memory_order_acquire);
}

/* Records that this core has settled the state, and so uses no earlier one. */
static inline void
front_exchange_settled_mt(struct front_exchange *x, uint32_t core, const struct front_state *now)
{
	/* Release: pairs with the acquire in front_exchange_draft; reads of the other state are
	 * over. */
	atomic_store_explicit(&x->core[core].settled, now->generation, memory_order_release);
}

/* Counts a failure. Connections that existed, or were attempted, at the time of a counted failure
 * are not counted again. Returns the number of consecutive failures. */
static inline uint32_t
front_report_failure_mt(struct front_report *r, uint64_t began_ns, uint64_t now_ns)
{
	if (began_ns < atomic_load_explicit(&r->failed_ns, memory_order_relaxed))
		return atomic_load_explicit(&r->failures, memory_order_relaxed);
	atomic_store_explicit(&r->failed_ns, now_ns, memory_order_relaxed);
	return atomic_fetch_add_explicit(&r->failures, 1, memory_order_relaxed) + 1;
}

static inline void
front_report_good_mt(struct front_report *r)
{
	if (unlikely(atomic_load_explicit(&r->failures, memory_order_relaxed) != 0))
		atomic_store_explicit(&r->failures, 0, memory_order_relaxed);
}

/* Records that the server owes a flush. To be called before the flush is reported as failed, or as
 * done without this server. */
static inline void
front_report_owe_mt(struct front_report *r)
{
	atomic_fetch_add_explicit(&r->flush_due, 1, memory_order_release);
}

/* Records that the server may have an old value of a key that another server has now. The control
 * thread reads it once the core has settled the state. */
static inline void
front_report_outdated_mt(struct front_report *r)
{
	atomic_store_explicit(&r->outdated, true, memory_order_relaxed);
}

static inline bool
front_report_owes_mt(const struct front_report *r)
{
	return atomic_load_explicit(&r->flush_due, memory_order_acquire) !=
	       atomic_load_explicit(&r->flush_done, memory_order_acquire);
}

#endif
