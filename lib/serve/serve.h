/*
 * serve.h - requests in, replies out: the only place where protocol meets storage.
 *
 * The core calls parse, prefetch, execute, in this order, until serve_has_work() says that nothing
 * is left or nothing fits.
 *
 *   parse    bytes of ready connections and datagrams -> at most OPS_MAX operations
 *   prefetch hash every key, prefetch its buckets, then its items
 *   execute  run the operations in order; write replies
 *
 * Shape:  an operation is one parsed request (one key) and where its answer goes. A request of
 *         more than one datagram's reply is one message.
 * Owner:  a connection's session (open line, body being received) is indexed by conn_slot.
 * Thread: core-local. Counters are read by telemetry.
 * Errors: every bad request has its answer (mc_req.h); nothing reaches a log.
 * Bounds: OPS_MAX operations a pass, HITS_PER_TURN hits a turn beside them; conn_requests_max
 *         requests of one connection a turn (memcached's -R); UDP_MESSAGES_MAX replies of many
 *         datagrams waiting for room.
 */
#ifndef CLOCKOO_SERVE_H
#define CLOCKOO_SERVE_H

#include "base/counter.h"
#include "base/region.h"
#include "base/turn_times.h"
#include "stack/stack.h"
#include "store/store.h"

/* So many that the first prefetch has arrived before the last one is issued. */
#define OPS_MAX 64u
/* Passes of parse-prefetch-execute in one turn: what is left waits for the next one. With OPS_MAX
 * each they make no more answers than the transmit queue has places. */
#define PASSES_MAX       4u
#define UDP_MESSAGES_MAX 512u
#define UDP_MESSAGE_DATAGRAMS_MAX                                                                  \
	4096u /* datagrams of one reply: no client receives more in a row                          \
	       */

struct serve;
struct serve_shared; /* what `stats` needs of the whole appliance */

#define SERVE_COUNTERS(X)                                                                          \
	X(CMD_GET, "keys requested by get and gets")                                               \
	X(CMD_SET, "storage commands for which memory was allocated")                              \
	X(CMD_FLUSH, "flush_all")                                                                  \
	X(CMD_TOUCH, "keys requested by touch, gat and gats")                                      \
	X(CMD_META, "meta commands")                                                               \
	X(GET_HITS, "of CMD_GET, keys found")                                                      \
	X(GET_MISSES, "of CMD_GET, keys not found")                                                \
	X(DELETE_HITS, "deletes of a key that was there")                                          \
	X(DELETE_MISSES, "deletes of a key that was not")                                          \
	X(INCR_HITS, "increments done")                                                            \
	X(INCR_MISSES, "increments of a key that was not there")                                   \
	X(DECR_HITS, "decrements done")                                                            \
	X(DECR_MISSES, "decrements of a key that was not there")                                   \
	X(CAS_HITS, "cas stored")                                                                  \
	X(CAS_MISSES, "cas of a key that was not there")                                           \
	X(CAS_BADVAL, "cas refused: the item had changed")                                         \
	X(TOUCH_HITS, "touches of a key that was there")                                           \
	X(TOUCH_MISSES, "touches of a key that was not")                                           \
	X(STORE_TOO_LARGE_COUNT, "values refused for their size")                                  \
	X(STORE_NO_MEMORY_COUNT, "values refused for lack of memory")                              \
	X(REQ_TCP, "requests over TCP")                                                            \
	X(REQ_UDP, "requests over UDP")                                                            \
	X(REQ_BAD, "requests answered with an error")                                              \
	X(CONN_OPENED, "connections opened")                                                       \
	X(CONN_ENDED, "connections ended")                                                         \
	X(CONN_REJECTED, "connections rejected: connection limit (-c)")                            \
	X(CONN_YIELDS, "connections deferred: request limit of a turn (-R)")                       \
	X(WORK_NS, "time such work takes, about: long replies, copies of large values")            \
	X(WORK_WAITS, "connections put off because the turn's share of such work was done")        \
	X(CONN_DEFERRED, "replies deferred: no room in the transmit queue")                        \
	X(CONN_SLOW_BODY, "connections reset: a body too slow for the memory others wait for")     \
	X(BEGUN_WAITS, "values not begun at once: others are being sent for which there is more")  \
	X(CONN_SLOW_REQUEST, "connections reset: request stalled, no read buffer left")            \
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
	X(AWAITS_EXPIRED, "asks of a supplier that had no answer in time")                         \
	X(AWAITS_YIELDED, "answers of a supplier given up for others' memory, asked for again")    \
	X(AWAITS_FAILED, "keys missed without an answer of the supplier")                          \
	X(AWAITS_AGAIN, "asked for again: evicted before the request was executed")                \
	X(AUTH_CMDS, "authentication attempts")                                                    \
	X(AUTH_ERRORS, "authentication failures")                                                  \
	X(CONN_IDLE_KICKS, "connections closed: idle timeout")                                     \
	X(EVENTS_LOGGED, "events logged for watchers")                                             \
	X(EVENTS_SENT, "events sent to watchers")                                                  \
	X(EVENTS_SKIPPED, "events skipped: watcher too slow")                                      \
	X(ADMIN_YIELDED, "connections reset: others waited for their watch, or stats sizes")

enum serve_counter { SERVE_COUNTERS(COUNTER_SYMBOL) SERVE_COUNTER_COUNT };

struct serve_config {
	uint32_t conns_max;         /* the stack's */
	uint32_t conns_spare;       /* of them, to answer connections beyond -c */
	uint32_t links_max;         /* of them, for a supplier's own (backend/backend_link.h) */
	uint32_t conn_requests_max; /* -R: requests (lines) of one connection a turn */
	uint32_t core;              /* index of this core, for its store_core */
};

/* One clock read a turn; the wall clock is an offset from it, which changes where that clock is
 * set. */
struct serve_clock {
	uint64_t now_ns;
	int64_t unix_ns; /* wall clock of now */
	int64_t unix_s;  /* its second, which begins when the store's does */
	uint32_t now_s;  /* the store's clock */
};

size_t serve_shared_bytes(uint32_t cores);
struct serve_shared *serve_shared_create(struct region *region, struct store *store, uint32_t cores,
					 const char *version);

/* What `stats` and `stats settings` say about the process; conns_max is obeyed, too. */
/* Bytes of the process beside the store, as its parts were made; for `stats`. */
struct serve_memory {
	uint64_t frames;
	uint64_t connections; /* and their requests */
	uint64_t tables;      /* of cores, and of what they share */
	uint64_t rings;       /* between cores, and the kernel's */
	uint64_t program;     /* and libraries, with their heap */
};

/* What the start found in --memory-file. */
struct serve_restart {
	const char *kind;    /* NULL: there is no such file */
	uint64_t kept, lost; /* items */
	uint64_t us;
};

struct serve_info {
	uint32_t earlier_s; /* of the store's clock: processes before this one */
	uint32_t pid;
	uint32_t conns_max; /* -c, of all cores; 0 is any number */
	uint32_t value_max;
	uint32_t requests_max; /* -R */
	uint16_t tcp_port;
	uint16_t plain_port; /* beside that of TLS; 0: none */
	uint16_t udp_port;
	uint16_t more_ports[TCP_MORE_PORTS_MAX]; /* TCP ports beside tcp_port; 0: none */
	struct ip_addr ip[LOCAL_COUNT];          /* ours */
	uint32_t verbosity;
	struct serve_memory memory;
	struct serve_restart restart;
	bool no_evict; /* -M */
	bool no_cas;   /* -C */
	bool tls;      /* -Z */
	struct {
		const char *chain_cert, *key, *ciphers, *ca_cert; /* NULL: not given */
		uint32_t keyformat, verify_mode, min_version;     /* memcached's numbers */
	} ssl;
	uint32_t steer_rules, steer_refused; /* that the NIC took, and those it did not */
	/* Text outlives the service; NULL is none. */
	const char *inter;     /* as given with -l */
	const char *auth_file; /* -Y */
	const char *steering;  /* how flows find their core */
};
/* All of it is known before any core turns. What is allowed: serve_policy.h. */
void serve_shared_set_info(struct serve_shared *shared, const struct serve_info *info);

size_t serve_bytes(const struct serve_config *cfg);
struct serve *serve_create(struct region *region, const struct serve_config *cfg,
			   struct serve_shared *shared, struct stack *stack);

void serve_turn(struct serve *sv, const struct serve_clock *clock); /* before stage 5 */
void serve_parse(struct serve *sv);                                 /* 5 */
void serve_prefetch(struct serve *sv);                              /* 6 */
void serve_execute(struct serve *sv);                               /* 7 */
bool serve_has_work(const struct serve *sv); /* another pass may get something done */

/* Requests of the last pass, or of one that has not ended, which is read by a handler of a crash.
 */
uint32_t serve_pass_requests(const struct serve *sv);
/* The name of the command of one of them; of what is none, "". */
const char *serve_pass_request_name(const struct serve *sv, uint32_t i);

/* For `stats`; once, before any core turns. They outlive the service. */
void serve_turn_times_set(struct serve *sv, const struct turn_times *times);

/* At a stop, when no connection is left: messages over UDP that wait are not sent. No item is held
 * then. */
void serve_drop_messages(struct serve *sv);
const struct counter *serve_counters(const struct serve *sv); /* SERVE_COUNTER_COUNT of them */
extern const struct counter_name serve_counter_names[SERVE_COUNTER_COUNT];

#endif
