/*
 * serve.h - requests in, replies out: the only place where protocol meets storage.
 *
 * The core calls parse, prefetch and execute in this order, and repeats them while
 * serve_has_work() returns true.
 *
 *   parse    bytes of ready connections and datagrams -> at most OPS_MAX operations
 *   prefetch hash every key, prefetch its buckets, then its items
 *   execute  run the operations in order; write replies
 *
 * Shape:  an operation is one parsed request for one key, with the destination of its reply. A
 *         reply that needs more than one datagram is one message.
 * Owner:  each connection has a session, with its partial line or incomplete body; sessions are
 *         indexed by conn_slot.
 * Thread: core-local. Counters are read by telemetry.
 * Errors: every bad request has its reply (mc_req.h); nothing is logged.
 * Bounds: a pass has OPS_MAX operations, and a turn HITS_PER_TURN hits beside those of its passes.
 *         A turn takes conn_requests_max requests of one connection (memcached's -R).
 *         UDP_MESSAGES_MAX replies of several datagrams wait for room.
 */
#ifndef CLOCKOO_SERVE_H
#define CLOCKOO_SERVE_H

#include "base/counter.h"
#include "base/region.h"
#include "base/turn_times.h"
#include "stack/stack.h"
#include "store/store.h"

/* Most operations of a pass. With this many the first prefetch has arrived when the last one is
 * issued. */
#define OPS_MAX 64u
/* Most passes of parse, prefetch and execute in one turn; further requests wait for the next turn.
 * Together the passes make at most as many replies as the transmit queue has places. */
#define PASSES_MAX       4u
#define UDP_MESSAGES_MAX 512u
/* Most datagrams of a reply; no client receives more in a row. */
#define UDP_MESSAGE_DATAGRAMS_MAX 4096u

struct serve;
struct serve_shared; /* state of the whole appliance that `stats` shows */

#define SERVE_COUNTERS(X)                                                                          \
	X(CMD_GET, "keys requested by get and gets")                                               \
	X(CMD_SET, "storage commands for which memory was allocated")                              \
	X(CMD_FLUSH, "flush_all")                                                                  \
	X(CMD_TOUCH, "keys requested by touch, gat and gats")                                      \
	X(CMD_META, "meta commands")                                                               \
	X(GET_HITS, "keys of CMD_GET that were found")                                             \
	X(GET_MISSES, "keys of CMD_GET that were not found")                                       \
	X(DELETE_HITS, "deletes of a key that existed")                                            \
	X(DELETE_MISSES, "deletes of a key that did not exist")                                    \
	X(INCR_HITS, "increments done")                                                            \
	X(INCR_MISSES, "increments of a key that did not exist")                                   \
	X(DECR_HITS, "decrements done")                                                            \
	X(DECR_MISSES, "decrements of a key that did not exist")                                   \
	X(CAS_HITS, "cas stored")                                                                  \
	X(CAS_MISSES, "cas of a key that did not exist")                                           \
	X(CAS_BADVAL, "cas refused: the item had changed")                                         \
	X(TOUCH_HITS, "touches of a key that existed")                                             \
	X(TOUCH_MISSES, "touches of a key that did not exist")                                     \
	X(STORE_TOO_LARGE_COUNT, "values refused for their size")                                  \
	X(STORE_NO_MEMORY_COUNT, "values refused for lack of memory")                              \
	X(REQ_TCP, "requests over TCP")                                                            \
	X(REQ_UDP, "requests over UDP")                                                            \
	X(REQ_BAD, "requests answered with an error")                                              \
	X(CONN_OPENED, "connections opened")                                                       \
	X(CONN_ENDED, "connections ended")                                                         \
	X(CONN_REJECTED, "connections rejected: connection limit (-c)")                            \
	X(CONN_YIELDS, "connections deferred: request limit of a turn (-R)")                       \
	X(WORK_NS, "ns of long replies and copies of large values, estimated")                     \
	X(WORK_WAITS, "connections delayed: the turn's share of WORK_NS was used up")              \
	X(CONN_DEFERRED, "replies deferred: no room in the transmit queue")                        \
	X(CONN_SLOW_BODY, "connections reset: a slow body held memory that others wait for")       \
	X(BEGUN_WAITS, "values that waited for the memory of incomplete values")                   \
	X(CONN_SLOW_REQUEST, "requests given up: stalled, others needed their read buffer")        \
	X(UDP_DROP_SHORT, "datagrams of 8 bytes or less")                                          \
	X(UDP_DROP_MULTI_DATAGRAM, "requests that claim more than one datagram")                   \
	X(UDP_DROP_TRUNCATED, "requests whose line or body is truncated")                          \
	X(UDP_DROP_HTTP, "datagrams from a browser, or of a wrong magic")                          \
	X(UDP_DROP_REPLY, "datagrams that are a reply, not a request")                             \
	X(UDP_DROP_ERROR_LIMIT, "errors not sent: rate limit of the source")                       \
	X(UDP_DROP_NO_MEMORY, "replies not sent: no memory to compose them in")                    \
	X(UDP_DROP_TOO_LONG, "replies not sent: more than UDP_MESSAGE_DATAGRAMS_MAX datagrams")    \
	X(UDP_DROP_RATE_LIMIT, "replies not sent: rate limit of the source")                       \
	X(UDP_DROP_AUTH, "datagrams dropped: authentication is required")                          \
	X(AWAITS_EXPIRED, "requests to a backend that had no answer in time")                      \
	X(AWAITS_YIELDED, "answers of a backend dropped to free memory, requested again")          \
	X(AWAITS_FAILED, "keys missed without an answer of the backend")                           \
	X(AWAITS_AGAIN, "keys requested again: evicted before their request was executed")         \
	X(AUTH_CMDS, "authentication attempts")                                                    \
	X(AUTH_ERRORS, "authentication failures")                                                  \
	X(CONN_IDLE_KICKS, "connections closed: idle timeout")                                     \
	X(EVENTS_LOGGED, "events logged for watchers")                                             \
	X(EVENTS_SENT, "events sent to watchers")                                                  \
	X(EVENTS_SKIPPED, "events skipped: watcher too slow")                                      \
	X(ADMIN_YIELDED, "connections reset: others waited for their watch or stats sizes")

enum serve_counter { SERVE_COUNTERS(COUNTER_SYMBOL) SERVE_COUNTER_COUNT };

struct serve_config {
	uint32_t conns_max; /* as the stack's */
	/* Connections of conns_max that are kept for rejecting clients beyond -c. */
	uint32_t conns_spare;
	/* Connections of conns_max that a backend may open (backend/backend_link.h). */
	uint32_t links_max;
	uint32_t conn_requests_max; /* -R: most requests (lines) of one connection in a turn */
	uint32_t core;              /* index of this core, and of its store_core */
};

/* The times of one turn, from a single clock read. The wall clock is an offset from that clock;
 * the offset changes when the wall clock is set. */
struct serve_clock {
	uint64_t now_ns;
	int64_t unix_ns; /* wall clock */
	/* Wall clock in whole seconds, which begin when those of the store's clock do. */
	int64_t unix_s;
	uint32_t now_s; /* the store's clock */
};

size_t serve_shared_bytes(uint32_t cores);
struct serve_shared *serve_shared_create(struct region *region, struct store *store, uint32_t cores,
					 const char *version);

/* Memory of the process besides the store's, in bytes, by part, for `stats`. */
struct serve_memory {
	uint64_t frames;
	uint64_t connections; /* connections and their requests */
	uint64_t tables;      /* the cores' own tables, and those that they share */
	uint64_t rings;       /* rings between cores and to the kernel */
	uint64_t program;     /* program and libraries with their heap */
};

/* The items that the start found in --memory-file, for `stats`. */
struct serve_restart {
	const char *kind;    /* NULL: no such file */
	uint64_t kept, lost; /* numbers of items */
	uint64_t us;
};

struct serve_info {
	/* Seconds of the store's clock that passed while earlier processes served. */
	uint32_t earlier_s;
	uint32_t pid;
	uint32_t conns_max; /* -c, for all cores together; 0: unlimited */
	uint32_t backlog;   /* -b */
	uint32_t value_max;
	uint32_t requests_max; /* -R */
	uint16_t tcp_port;
	uint16_t plain_port; /* if tcp_port speaks TLS: the port that does not; 0: none */
	uint16_t udp_port;
	uint16_t more_ports[TCP_MORE_PORTS_MAX]; /* further TCP ports; 0: none */
	struct ip_addr ip;                       /* the first address of the appliance */
	uint32_t verbosity;
	struct serve_memory memory;
	struct serve_restart restart;
	bool no_evict; /* -M */
	bool no_cas;   /* -C */
	bool tls;      /* -Z */
	struct {
		const char *chain_cert, *key, *ciphers, *ca_cert; /* NULL: not given */
		uint32_t keyformat, verify_mode, min_version;     /* numbers as in memcached */
	} ssl;
	/* Rules that the NIC has accepted, and that it has refused. */
	uint32_t steer_rules, steer_refused;
	/* The strings outlive the service; NULL: not given. */
	const char *inter;     /* the text of -l */
	const char *auth_file; /* -Y */
	const char *steering;  /* how flows reach their core */
};
/* Sets what `stats` and `stats settings` show of the process, and the limit of connections. Called
 * before any core runs. Permissions are in serve_policy.h. */
void serve_shared_set_info(struct serve_shared *shared, const struct serve_info *info);

size_t serve_bytes(const struct serve_config *cfg);
struct serve *serve_create(struct region *region, const struct serve_config *cfg,
			   struct serve_shared *shared, struct stack *stack);

void serve_turn(struct serve *sv, const struct serve_clock *clock); /* before stage 5 */
void serve_parse(struct serve *sv);                                 /* stage 5 */
void serve_prefetch(struct serve *sv);                              /* stage 6 */
void serve_execute(struct serve *sv);                               /* stage 7 */
/* True if another pass may make progress in this turn. */
bool serve_has_work(const struct serve *sv);

/* Returns how many requests the last pass has, or the present one. A crash handler may call this
 * during a pass. */
uint32_t serve_pass_requests(const struct serve *sv);
/* Returns the command name of request i of that pass; "" if the request is no command. */
const char *serve_pass_request_name(const struct serve *sv, uint32_t i);

/* Gives the service the turn times of its core, for `stats`. Called once, before any core runs.
 * They outlive the service. */
void serve_turn_times_set(struct serve *sv, const struct turn_times *times);

/* Drops the UDP messages that wait to be sent, and unpins their items. Called at a stop, after the
 * last connection. */
void serve_drop_messages(struct serve *sv);
const struct counter *serve_counters(const struct serve *sv); /* SERVE_COUNTER_COUNT elements */
extern const struct counter_name serve_counter_names[SERVE_COUNTER_COUNT];

#endif
