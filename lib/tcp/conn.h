/*
 * conn.h - byte streams over TCP, for the service. Public.
 *
 * Units:  times are ns on the caller's clock; ports in host order.
 * Owner:  views into received data (conn_peek) are valid until stack_release().
 * Thread: core-local, except *_mt.
 * Errors: invalid segments are dropped and counted by reason (TCP_COUNTERS).
 * Bounds: connections: conns_max. Unsent and unacknowledged bytes: chunks * CHUNK_BYTES.
 */
#ifndef CLOCKOO_CONN_H
#define CLOCKOO_CONN_H

#include "base/bytes.h"
#include "base/ip_addr.h"
#include "base/prf.h"

#include <stdbool.h>

struct access_list;
struct local_addrs;
struct conn;
struct conn_sources;
struct pending_connects;
struct pmtu_reports;
/* The handle that users keep. Its first member is a struct tcp (tcp_core.h). */
struct stack;

enum congestion {
	CC_CUBIC,   /* RFC 9438 */
	CC_NEWRENO, /* RFC 5681, RFC 6582 */
	CC_DCTCP,   /* RFC 8257; CUBIC on connections without ECN */
};

/* Explicit congestion notification, RFC 3168. */
enum tcp_ecn {
	ECN_PASSIVE, /* used with peers that ask for it */
	ECN_ON,      /* our own SYNs ask for it, too */
	ECN_OFF,
};

#define TCP_MORE_PORTS_MAX 12u

struct tcp_config {
	uint16_t port, other_port; /* 0 = off */
	uint32_t more_count;       /* listening ports beside these two */
	uint16_t more_ports[TCP_MORE_PORTS_MAX];
	uint32_t conns_max;
	uint32_t active_reserve; /* slots of conns_max that only our own active opens may take */
	bool pipes;              /* some connections are pipes (conn_pipe.h) */
	uint32_t chunks;         /* send chunks of this core */
	enum congestion congestion;
	enum tcp_ecn ecn;
	uint64_t keepalive_idle_ns;
	bool timestamps;                   /* RFC 7323, with peers that offer them */
	uint32_t conns_per_source;         /* 0 = any number */
	struct conn_sources *sources;      /* shared by all cores; NULL without a limit */
	struct pmtu_reports *pmtu_reports; /* shared by all cores; NULL with one core */
	/* This core's number, and the number of cores; 0, 0 = the only core. */
	uint32_t core, cores;
	struct pending_connects *connects; /* shared by all cores; NULL with one core */
	/* Lines of the SYN history, a power of two; 0 = no SYN is deferred. */
	uint32_t syn_lines;
	/* Bytes of values that the port may hold, if it takes loans (lending.h); 0: none. */
	uint64_t lent_bytes_max;
	struct prf_key secret; /* key of sequence numbers, cookies and ports */
};

/* The reason for which an active open failed. */
enum conn_failure {
	CONNECT_REFUSED,     /* the peer reset it */
	CONNECT_TIMED_OUT,   /* no answer */
	CONNECT_UNREACHABLE, /* the next hop does not answer */
	CONNECT_STOPPED,     /* the stack drains */
};

/* Keeps a value valid beyond its release (conn_external_lendable). */
struct lender {
	void (*hold)(const void *owner); /* called only while the value is not released */
	void (*release)(const void *owner);
	uint32_t (*bytes)(const void *owner); /* returns the bytes that a hold keeps */
};

/* Callbacks of the service. */
struct stack_user {
	void *arg;
	void (*opened)(void *arg, struct conn *c); /* handshake complete */
	void (*gone)(void *arg, struct conn *c);   /* c is invalid after this */
	/* Called instead of opened() after conn_connect(). NULL if the service never connects. */
	void (*failed)(void *arg, struct conn *c, enum conn_failure why);
};

#define CHUNK_BYTES      2048u
#define CONN_RESERVE_MAX 1984u /* contiguous bytes one conn_reserve can ask for */
/* A connection with more than this queued is not writable. */
#define CONN_SENDQ_BYTES (256u * 1024u)

/* Connections that are readable, at end of stream, or writable again after a refusal; oldest first.
 * A popped connection returns only by a new event or conn_requeue(). */
struct conn *stack_pop_ready(struct stack *s);
void conn_requeue(struct stack *s, struct conn *c);

uint32_t conn_slot(const struct conn *c); /* 0..conns_max-1, stable for its life */
/* The peer's address and port; valid from opened() to gone(). */
void conn_peer(const struct conn *c, struct ip_addr *ip, uint16_t *port);
/* The number of the local address (net/local_addrs.h). */
uint16_t conn_local(const struct conn *c);
struct ip_addr conn_local_ip(const struct stack *s, const struct conn *c);
/* Returns our address with this number; zero: there is none. */
struct ip_addr stack_local_ip(const struct stack *s, uint16_t local);

/* Active open (RFC 9293 section 3.10.1). Call between stack_input() and stack_output(). Either
 * opened() or failed() follows, unless the connection is closed or aborted before; until then it
 * must not be read or written. NULL: refused, and counted by reason. */
struct conn_target {
	struct ip_addr ip;
	uint16_t port;
	uint16_t local_port; /* 0: an unpredictable port is chosen (RFC 6056) */
	/* True if replies to this local port arrive at this core, or the caller wants it for
	 * another reason. ours: the local address. NULL: every port fits. */
	bool (*port_fits)(const void *arg, const struct ip_addr *ours, uint16_t local_port);
	const void *arg;
};
struct conn *conn_connect(struct stack *s, const struct conn_target *to);
/* Returns the core that received the reply to our SYN and dropped it, before opened() or failed();
 * CONN_CORE_NONE if none is known. */
#define CONN_CORE_NONE UINT32_MAX
uint32_t conn_reply_core(const struct stack *s, const struct conn *c);
uint16_t conn_local_port(const struct conn *c);

/* Returns the contiguous bytes at the read position; len 0: none. */
struct view conn_peek(const struct conn *c);
/* Returns the same bytes as conn_peek(). *since_ns: the turn in which the first of them was
 * received, with all data before it; 0: there are none. If more than two turns added to one frame,
 * the time is interpolated between the first and the last of them. */
struct view conn_peek_since(const struct conn *c, uint64_t *since_ns);
/* Copies at most len unread bytes, from the offset `from` behind the read position on. Returns the
 * number of bytes copied. */
uint32_t conn_peek_copy(const struct conn *c, uint32_t from, uint8_t *to, uint32_t len);
/* Advances the read position by n <= conn_peek().len; the bytes stay valid until stack_release().
 */
void conn_advance(struct stack *s, struct conn *c, uint32_t n);
/* Returns the number of bytes that the service has not read. */
uint32_t conn_unread(const struct conn *c);
/* The service promises to read the next `bytes` bytes in the turn in which they arrive. They get
 * frames even while connections whose data is unread hold all they may. 0 ends the promise. */
void conn_expect(struct conn *c, uint64_t bytes);
/* A body of `bytes` bytes waits unread for memory of the service; 0: the wait is over. During the
 * wait the peer is offered a narrow window, of only a few frames if the body is long. */
void conn_body_waits(struct conn *c, uint64_t bytes);
/* True if data was dropped for lack of frames and nothing in order was received since. The peer is
 * silent until its retransmission timer fires; then the connection becomes ready. */
bool conn_awaits_retransmission(const struct conn *c);
/* True if the advertised window leaves room for more than a full segment. */
bool conn_window_is_open(const struct conn *c);
/* Sends a delayed acknowledgment at once, for which the peer may wait. */
void conn_acknowledge(struct stack *s, struct conn *c);
/* Returns the smoothed round-trip time in us; 0: none was measured yet. */
uint32_t conn_rtt_us(const struct conn *c);
/* Returns how many queued bytes the peer has not acknowledged. */
uint32_t conn_unacknowledged(const struct conn *c);
/* Returns how many more bytes both windows allow beyond those that are queued. */
uint32_t conn_sendable(struct stack *s, struct conn *c);
/* True if the peer has acknowledged all that was sent to it, and its window has no room for a
 * segment. */
bool conn_peer_is_full(struct stack *s, struct conn *c);
bool conn_has_ended(const struct conn *c); /* all bytes before the peer's FIN were received */
bool conn_eof(const struct conn *c);       /* all bytes before the peer's FIN were read */

/* True if there is room for `replies` reservations of CONN_RESERVE_MAX bytes. They are then
 * credited until the end of the turn. If false, the connection becomes ready when there is room. */
bool conn_writable(struct stack *s, struct conn *c, uint32_t replies);
/* True if the service was refused room to write and there still is none, because the peer does not
 * read. */
bool conn_is_refused(const struct conn *c);
/* Credits as many of `replies` as there is room for, and returns the number. If it is 0, the
 * connection becomes ready again when there is room. */
uint32_t conn_credit_take(struct stack *s, struct conn *c, uint32_t replies);
/* True if the send queue holds all it may. The connection becomes ready again when it holds
 * less. */
bool conn_is_full(struct stack *s, struct conn *c);
/* Reserves as many of `chunks` as are left, for no connection in particular. No other connection
 * gets them until they are returned or the turn ends. Returns the number. */
uint32_t conn_credit_keep(struct stack *s, uint32_t chunks);
/* Returns credits of this turn that are not needed. */
void conn_credit_return(struct stack *s, uint32_t replies);
/* Returns contiguous room at the end of the send queue; never NULL with a credit. */
uint8_t *conn_reserve(struct stack *s, struct conn *c, uint32_t bytes);
/* Like conn_reserve(). *room: the size of the room, so that one commit can cover several
 * replies. */
uint8_t *conn_reserve_room(struct stack *s, struct conn *c, uint32_t bytes, uint32_t *room);
void conn_commit(struct stack *s, struct conn *c, uint32_t bytes);
/* Like conn_commit(), for at most the room that the last conn_reserve_room() returned. */
void conn_commit_room(struct stack *s, struct conn *c, uint32_t bytes, uint32_t room);
/* Queues a copy of the bytes, at most CONN_RESERVE_MAX, and uses up a credit. */
void conn_write(struct stack *s, struct conn *c, struct view bytes);
/* True if there is room for a piece of a value, which conn_write_external queues. If false, the
 * connection becomes ready again when there is. */
bool conn_piece_fits(struct stack *s, struct conn *c);
/* Like conn_piece_fits(), and credits one reply for what follows the value. */
bool conn_piece_writable(struct stack *s, struct conn *c);
/* Notes whether the service holds a chunk of the connection's requests: it counts as queued. */
void conn_holds_chunk(struct stack *s, const struct conn *c, bool holds);
/* The service holds memory for `bytes` bytes of a value that are not queued yet. They count as
 * queued bytes of the connection in fairness and eviction. */
void conn_holds_behind(struct stack *s, const struct conn *c, uint32_t bytes);
/* Queues an external buffer, which must stay valid until release(arg) is called: when its bytes are
 * acknowledged or the connection is freed. False: no descriptor is left, and nothing is queued. */
bool conn_write_external(struct stack *s, struct conn *c, const uint8_t *data, uint32_t len,
			 void (*release)(const void *arg), const void *arg);
/* Allows the stack to lend the last queued buffer to the port instead of copying it. The stack then
 * holds `arg` through the user's lender. */
void conn_external_lendable(struct conn *c);

void conn_close(struct stack *s, struct conn *c); /* FIN after the queued bytes */
/* Like conn_close(), without further callbacks: gone() is called before it returns. */
void conn_close_detach(struct stack *s, struct conn *c);
void conn_abort(struct stack *s, struct conn *c); /* RST; gone() is called before it returns */

/* Reports that requests wait unread for memory of the service. For ten seconds no wide windows are
 * advertised, so that later requests are not promised more frames than there are. */
void stack_requests_wait(struct stack *s);
/* Reports memory pressure: the service needs the memory that external buffers pin. For some seconds
 * a connection is reset if it acknowledges less than 1/part of its queued bytes in two seconds. */
void stack_memory_pressure(struct stack *s, uint32_t part);

/* Chunks for the service itself, which keeps partial requests in them. */
uint8_t *stack_chunk_get(struct stack *s); /* CHUNK_BYTES; NULL when none is free */
/* Takes a chunk for one credit; never NULL. */
uint8_t *stack_chunk_get_credited(struct stack *s);
void stack_chunk_put(struct stack *s, uint8_t *chunk);
/* Turns the chunk back into a credit of this turn, for one reply of any connection. */
void stack_chunk_credit(struct stack *s, uint8_t *chunk);

/* ---- access ---- */

/* The answer to a SYN to a listening port. Open connections are not affected. */
enum conn_refusal {
	REFUSE_NONE,
	REFUSE_RESET,  /* a RST, with the rate limit of other closed ports */
	REFUSE_SILENT, /* no answer */
};
void stack_refuse(struct stack *s, enum conn_refusal how);

/* Sets the sources (net/access_list.h; NULL: all) that may open connections, send datagrams and get
 * echo replies. Call between stack_input() and stack_output(). */
void stack_access_set(struct stack *s, const struct access_list *list);
/* Sets the table of our addresses, made after the one in use. Call between stack_input() and
 * stack_output(). */
void stack_addrs_set(struct stack *s, const struct local_addrs *addrs);
/* Resets open connections whose source is no longer allowed, except our own active opens, and those
 * to an address of ours that has left. Examines ACCESS_SLOTS_MAX slots from `from` on. Returns the
 * slot to continue at; 0: all were examined. */
#define ACCESS_SLOTS_MAX 256u
uint32_t stack_access_enforce(struct stack *s, uint32_t from);

/* ---- telemetry ---- */

struct stack_usage {
	uint32_t conns, conns_max, chunks_used, chunks, rx_frames_held;
	uint32_t conns_open; /* opened by peers; counted from opened() to gone() */
};
void stack_usage_mt(const struct stack *s, struct stack_usage *out);

/* Present number of connections in each state, from SYN-SENT on, in the order of the names. */
#define STACK_CONN_STATES 9u
extern const char *const stack_conn_state_names[STACK_CONN_STATES];
uint32_t stack_conns_in_state_mt(const struct stack *s, uint32_t state);

#endif
