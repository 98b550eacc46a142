/*
 * front.h - a front: a core's service requests from a fleet of memcached servers what the core's
 * store lacks.
 *
 * Shape:  a backend for retrievals and writes (backend.h). A core has its own connections to each
 *         server, and pipelines requests on all of them. A key always uses the same connection, its
 *         lane. Retrievals are sent one by one, or several as `get k1 .. k64`. The store has copies
 *         of the most requested keys (copies.h). They answer get, gets, binary get, and mg that
 *         shows no more than value, flags, size, key and cas.
 *
 * Units:  ns of the clock of serve_turn().
 *
 * Owner:  the caller owns the fleet and what the cores share; both outlive the front. The front
 *         owns the item of an answer, which is never published, until the service releases it.
 *
 * Thread: core-local; the fleet is shared, and is read once a turn.
 *
 * Errors: a connection is reset if it ends, is late, or sends an answer that fits no request; its
 *         open requests fail. It is late if an answer has been open for timeout_ns, or for
 *         FRONT_SLOW_MAX times that while FRONT_MOVES_BYTES of it arrive in each timeout_ns. The
 *         lane is reopened at once, and after failure_limit consecutive failures with pauses
 *         between, FRONT_REOPEN_NS at first; then its requests fail at once until it is open. If
 *         there is no memory for a value, the value takes that of answers which clients do not
 *         read. Without such answers it waits for half of the timeout; then it is skipped, and its
 *         request fails.
 *
 * Bounds: FRONT_REQUESTS requests; a lane has at most as many as are free. FRONT_BATCHES batches,
 *         of which a lane has FRONT_LANE_BATCHES_MAX. A turn reads FRONT_READ_TURN bytes from
 *         FRONT_LOOKS lanes, FRONT_READ_VISIT from each in its turn, and completes
 *         FRONT_ANSWERS_PER_TURN requests.
 */
#ifndef CLOCKOO_FRONT_H
#define CLOCKOO_FRONT_H

#include "base/region.h"
#include "copies/copies.h"
#include "front_fleet.h"
#include "front_ports.h"
#include "front_stats.h"
#include "backend/backend.h"

#define FRONT_REQUESTS         (2 * PENDING_MAX)
#define FRONT_BATCHES          PENDING_MAX
#define FRONT_LANE_BATCHES_MAX 1024u
#define FRONT_LOOKS            64u
#define FRONT_ANSWERS_PER_TURN 512u
#define FRONT_READ_TURN        (256u << 10)
#define FRONT_READ_VISIT       (64u << 10)
/* A value waits for memory for one part in this many of the timeout. */
#define FRONT_MEMORY_PART 2u
/* Answers to other clients that a turn gives up for the memory of a value, at most. */
#define FRONT_YIELDS_MAX 16u
/* A lane to which this many bytes move in each timeout is slow, not late. */
#define FRONT_MOVES_BYTES (16u << 10)
#define FRONT_SLOW_MAX    8u          /* timeouts for which an answer may be slow */
#define FRONT_RELAY_MIN   (16u << 10) /* bytes; a longer value may leave while it arrives */
/* Bytes that must have arrived before the next part of it leaves. */
#define FRONT_RELAY_STEP    (16u << 10)
#define FRONT_HANDOVERS_MAX 1024u /* keys that a core fetches from former servers at a time */
/* Times that a request is sent to the key's server again after a hand-over. */
#define FRONT_HANDOVER_ASKS 64u
/* A former server that is behind by one part in this many of the timeout is not asked. */
#define FRONT_HANDOVER_SLOW_PART 8u
/* Bytes; a longer value is not combined with a pending set of its key. */
#define FRONT_COMBINED_MAX (64u << 10)
/* pause before the first attempt to reopen; each following pause is half as long again */
#define FRONT_REOPEN_NS 100000000ull
/* The longest pause before an ejected server is probed. */
#define FRONT_PROBE_MAX_NS 60000000000ull
/* Interval of checks for a reply that reached another core. */
#define FRONT_REPLY_LOOK_NS 250000ull
/* A connection that ends sooner after it opened counts as a failure. */
#define FRONT_STABLE_NS 1000000000ull
/* A server may be unable to prove that it executes no more requests of an earlier process
 * (front_fence.c). Nothing of it is cached for this many seconds. That time is no proof. */
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

/* The protocol that the servers are spoken to in. */
enum front_speech {
	FRONT_SPEECH_PROBED, /* by each server's answer to `mn` */
	FRONT_SPEECH_TEXT,
	FRONT_SPEECH_META,
};

/* The two ends of a connection to a server; both addresses are of one family. */
struct front_path {
	struct ip_addr server, ours;
	uint16_t server_port, our_port;
};
#define FRONT_CORE_UNKNOWN UINT32_MAX

struct front_settings {
	struct front_exchange *fleet;
	struct copies_shared shared; /* of all cores; without versions nothing is cached */
	uint32_t ttl_s; /* life of copies if a server does not report when its item expires */
	/* Above 0: other clients write to the servers, too; a copy answers for at most this long
	 * after its request. 0: no other client writes; a copy answers until its key is written. */
	uint64_t copy_ns;
	/* Reads the turn's clock in poll(). A turn may begin long before its frames are taken, so
	 * copies with an age limit are judged by this clock. NULL: by the time at which the turn
	 * began. */
	uint64_t (*clock_ns)(const void *arg);
	const void *clock_arg;
	/* Seconds after the start in which nothing is cached of a server that is not fenced. */
	uint32_t quiet_s;
	uint32_t core;
	struct front_ports *ports; /* of all cores; NULL with one core */
	/* Returns the core that the server's frames will reach, or FRONT_CORE_UNKNOWN. Called while
	 * a local port is chosen. NULL: any port will do. */
	uint32_t (*core_of)(const void *arg, const struct front_path *path);
	const void *core_of_arg;
	/* In shared mode, the fronts that are notified of writes and whose notes are accepted. */
	struct peers_list peers;
	uint32_t servers; /* number of places in the fleet */
	/* Connections of this core to each server; servers * connections <= BACKEND_LANES_MAX. */
	uint32_t connections;
	uint32_t conns_max; /* connections that the stack can have */
	enum front_speech speech;
	bool misses_on_failure;
	uint64_t timeout_ns; /* limit of the wait for an answer */
	uint64_t connect_timeout_ns;
	uint64_t retry_timeout_ns; /* the longest pause before a server is tried again */
	uint32_t failure_limit;
	int32_t gutter_ttl_s; /* longest life of values written to a stand-in */
	/* Limit of the bytes of values that wait to be sent to clients. */
	uint64_t answer_bytes_max;
	struct front_stats *stats; /* counts of all cores; NULL: the front's own are used */
	/* With a layer of links (backend_link.h): the name in the certificates of all servers.
	 * NULL: each server's host. */
	const char *tls_name;
};

struct front;

/* Returns the number of connections that a front may have, including old ones that are closing. */
static inline uint32_t
front_links_max(const struct front_settings *settings)
{
	return 3 * settings->servers * settings->connections;
}

/* Returns the bytes of region that front_create takes. */
size_t front_bytes(const struct front_settings *settings);
/* Creates a front and attaches it to the service. Call it once, before the core turns. */
struct front *front_create(struct region *region, const struct front_settings *settings,
			   struct serve *sv, struct stack *stack, struct store_core *store);

enum front_lane_state {
	LANE_DOWN, /* no connection; the lane opens one when it is due */
	LANE_CONNECTING,
	LANE_PROBING, /* open; its first requests are not answered yet */
	LANE_UP,
};

/* The state of a lane, for tests and telemetry. */
struct front_lane_info {
	enum front_lane_state state;
	bool meta;
	uint32_t requests, batches; /* not answered yet */
	uint32_t failures;          /* consecutive failures */
};
struct front_lane_info front_lane_info(const struct front *f, uint32_t lane);
/* Returns the number of requests in progress, and of those whose values wait to be sent to
 * clients. */
uint32_t front_requests_open(const struct front *f);

const struct counter *front_counters(const struct front *f); /* FRONT_COUNTER_COUNT of them */
extern const struct counter_name front_counter_names[FRONT_COUNTER_COUNT];

#endif
