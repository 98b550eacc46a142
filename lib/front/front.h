/*
 * front.h - a front: requests what one core's service lacks from a fleet of memcached servers.
 *
 * Shape:  a backend of retrievals (backend.h). A core has its own connections to each server,
 *         all of them pipelined; a key always uses the same one of them, which is its lane.
 *         Retrievals are sent one by one, or gathered into `get k1 .. k64`. The store has copies of
 *         the most requested keys (copies.h), which answer get, gets, binary get, and mg that
 *         shows no more than value, flags, size, key and cas.
 *
 * Units:  ns of the clock of serve_turn().
 *
 * Owner:  the caller owns the fleet and what cores share, which outlive the front. An answer's item
 *         is the front's until the service releases it; it is never published.
 *
 * Thread: core-local; the fleet is shared, and read once a turn.
 *
 * Errors: a connection that ends, is late, or sends an answer to no request is reset, and its open
 *         requests fail. A lane is late if an answer is open for timeout_ns, or for FRONT_SLOW_MAX
 *         times that while FRONT_MOVES_BYTES of it move in each. It is reopened at once, and after
 *         failure_limit consecutive failures with pauses, FRONT_REOPEN_NS at first; until then its
 *         keys fail at once. A value without memory takes that of answers that clients do not read.
 *         Without those it waits for half of the timeout; then it is skipped, and has failed.
 *
 * Bounds: FRONT_REQUESTS requests, of which a lane has as many as are free; FRONT_BATCHES batches,
 *         FRONT_LANE_BATCHES_MAX a lane. A turn reads FRONT_READ_TURN bytes of FRONT_LOOKS lanes,
 *         FRONT_READ_VISIT of each, in turns, and gives FRONT_ANSWERS_PER_TURN answers.
 */
#ifndef CLOCKOO_FRONT_H
#define CLOCKOO_FRONT_H

#include "base/region.h"
#include "copies/copies.h"
#include "front_fleet.h"
#include "front_ports.h"
#include "front_stats.h"
#include "backend/backend.h"

#define FRONT_REQUESTS           (2 * PENDING_MAX)
#define FRONT_BATCHES            PENDING_MAX
#define FRONT_LANE_BATCHES_MAX   1024u
#define FRONT_LOOKS              64u
#define FRONT_ANSWERS_PER_TURN   512u
#define FRONT_READ_TURN          (256u << 10)
#define FRONT_READ_VISIT         (64u << 10)
#define FRONT_MEMORY_PART        2u  /* part of the timeout for which a value waits for memory */
#define FRONT_YIELDS_MAX         16u /* most answers given up for a value in a turn */
#define FRONT_MOVES_BYTES        (16u << 10) /* bytes a timeout that make a lane slow, but not late */
#define FRONT_SLOW_MAX           8u          /* timeouts of an answer that a lane may be slow */
#define FRONT_RELAY_MIN          (16u << 10) /* bytes of a value that may leave while it arrives */
#define FRONT_RELAY_STEP         (16u << 10) /* fewer bytes of it wait for more */
#define FRONT_HANDOVERS_MAX      1024u /* keys that a core fetches from former servers at once */
#define FRONT_HANDOVER_ASKS      64u   /* times that their server is asked again */
#define FRONT_HANDOVER_SLOW_PART 8u /* part of the timeout; a slower former server is not asked */
#define FRONT_COMBINED_MAX       (64u << 10)  /* bytes of a value that may replace a pending one */
#define FRONT_REOPEN_NS          100000000ull /* half as much more after each failure */
#define FRONT_PROBE_MAX_NS       60000000000ull /* longest pause, for an ejected server */
#define FRONT_REPLY_LOOK_NS      250000ull /* interval of checks whether a reply reached a core */
#define FRONT_STABLE_NS          1000000000ull /* a connection that ends sooner counts as a failure */
/* Time for which nothing is cached of a server that cannot prove that it executes no more requests
 * of an earlier process (front_fence.c). A time is no proof. */
#define FRONT_QUIET_S 60u

#define FRONT_COUNTERS(X)                                                                          \
	X(FRONT_ASKED, "keys requested of servers")                                                \
	X(FRONT_REQUESTED, "requests sent to servers")                                             \
	X(FRONT_HITS, "of the keys, found")                                                        \
	X(FRONT_RELAYED, "of those, with a value that left while it arrived")                      \
	X(FRONT_RELAYS_LOST, "of those, cut short by their server: the client was reset")          \
	X(FRONT_MISSES, "of the keys, absent")                                                     \
	X(FRONT_FAILED, "of the keys, not answered by their server")                               \
	X(FRONT_REFUSED, "of those, not sent: server down, queue full, or not supported")          \
	X(FRONT_NO_MEMORY, "of those, no memory for the value")                                    \
	X(FRONT_FILLS, "of the keys, fetched for a copy")                                          \
	X(FRONT_COPIES_WAITED, "turns without copies: older ones were not flushed yet")            \
	X(FRONT_EXCHANGED, "sets whose value became a copy")                                       \
	X(FRONT_JOINED, "keys answered by another client's request")                               \
	X(FRONT_COMBINED, "sets combined with a later one of their key")                           \
	X(FRONT_WRITES_LOST, "writes of unknown fate: their keys have no copy")                    \
	X(FRONT_SETTLED, "of their keys, those that may have copies again")                        \
	X(FRONT_DROPS, "deletes of keys whose set was refused here")                               \
	X(FRONT_DROPS_FAILED, "of them, not answered: the item may still exist")                   \
	X(FRONT_PEERS_TOLD, "keys written, sent to other fronts")                                  \
	X(FRONT_PEERS_LOST, "of them, not sent to one of these fronts")                            \
	X(FRONT_PEERS_HEARD, "keys received from other fronts: their copies ended")                \
	X(FRONT_PEERS_REFUSED, "refused: not from front.peers, above the limit, or malformed")     \
	X(FRONT_HANDED_OVER, "keys handed over by their former server")                            \
	X(FRONT_HANDED_UNKNOWN, "of them, of unknown fate: writes of these keys fail for a while") \
	X(FRONT_CONNECTED, "connections opened to servers")                                        \
	X(FRONT_CONNECT_FAILED, "connections to servers not opened")                               \
	X(FRONT_OTHER_CORE, "connections tried again from another port: reply on another core")    \
	X(FRONT_SERVER_CLOSED, "connections closed by a server, or lost")                          \
	X(FRONT_SERVER_LATE, "connections reset: answer late")                                     \
	X(FRONT_SERVER_BROKEN, "connections reset: invalid answer")                                \
	X(FRONT_LOGIN_REFUSED, "connections reset: login refused, or required and not given")

enum front_counter { FRONT_COUNTERS(COUNTER_SYMBOL) FRONT_COUNTER_COUNT };

enum front_speech {
	FRONT_SPEECH_PROBED, /* by each server's answer to `mn` */
	FRONT_SPEECH_TEXT,
	FRONT_SPEECH_META,
};

/* A connection to a server; both addresses are of one family. */
struct front_path {
	struct ip_addr server, ours;
	uint16_t server_port, our_port;
};
#define FRONT_CORE_UNKNOWN UINT32_MAX

struct front_settings {
	struct front_exchange *fleet;
	struct copies_shared shared; /* of all cores; without versions nothing is cached */
	uint32_t ttl_s; /* life of copies if a server does not report when its item expires */
	/* Not 0: other clients write to the servers, too, and a copy answers for at most this
	 * long after its request. 0: no other client writes, and a copy answers until its key is
	 * written. */
	uint64_t copy_ns;
	/* Reads the turn's clock in poll(). A turn may begin long before its frames are taken,
	 * and copies that end by time must not answer later requests. NULL: the time at which the
	 * turn began. */
	uint64_t (*clock_ns)(const void *arg);
	const void *clock_arg;
	uint32_t quiet_s; /* after its start nothing is cached for this long of a server that is not
			     fenced */
	uint32_t core;
	struct front_ports *ports; /* of all cores; NULL with one core */
	/* Returns the core that the server's frames will reach, or FRONT_CORE_UNKNOWN. It is
	 * called while a port is chosen. NULL: any port will do. */
	uint32_t (*core_of)(const void *arg, const struct front_path *path);
	const void *core_of_arg;
	struct peers_list peers; /* shared mode: notified of writes, and accepted */
	uint32_t servers;        /* places of the fleet */
	uint32_t connections; /* of this core to each; servers * connections <= BACKEND_LANES_MAX */
	uint32_t conns_max;   /* the stack's */
	enum front_speech speech;
	bool misses_on_failure;
	uint64_t timeout_ns; /* of an answer */
	uint64_t connect_timeout_ns;
	uint64_t retry_timeout_ns; /* the longest pause before a server is tried again */
	uint32_t failure_limit;
	int32_t gutter_ttl_s;      /* what is written to a stand-in lives no longer */
	uint64_t answer_bytes_max; /* bytes of values that wait to be sent to clients */
	struct front_stats *stats; /* of all cores; NULL: this front's own */
	/* With a layer of links (backend_link.h): the name that all servers have; NULL: each its
	 * host's. */
	const char *tls_name;
};

struct front;

/* Returns the slots that its connections may take, including old ones that are closing. */
static inline uint32_t
front_links_max(const struct front_settings *settings)
{
	return 3 * settings->servers * settings->connections;
}

size_t front_bytes(const struct front_settings *settings);
/* Creates a front and attaches it to the service. Call it once, before the core turns. */
struct front *front_create(struct region *region, const struct front_settings *settings,
			   struct serve *sv, struct stack *stack, struct store_core *store);

enum front_lane_state {
	LANE_DOWN, /* no connection; opened again when due */
	LANE_CONNECTING,
	LANE_PROBING, /* open; its first requests are unanswered */
	LANE_UP,
};

/* The state of a lane, for tests and telemetry. */
struct front_lane_info {
	enum front_lane_state state;
	bool meta;
	uint32_t requests, batches; /* unanswered */
	uint32_t failures;          /* consecutive ones */
};
struct front_lane_info front_lane_info(const struct front *f, uint32_t lane);
/* Returns the requests in progress, and those whose values wait to be sent to clients. */
uint32_t front_requests_open(const struct front *f);

const struct counter *front_counters(const struct front *f); /* has FRONT_COUNTER_COUNT counters */
extern const struct counter_name front_counter_names[FRONT_COUNTER_COUNT];

#endif
