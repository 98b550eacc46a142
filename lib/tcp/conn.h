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
struct conn;
struct conn_sources;
struct pending_connects;
struct pmtu_reports;
/* The handle that users hold: it begins with a struct tcp (tcp_core.h). */
struct stack;

enum congestion {
	CC_CUBIC,   /* RFC 9438 */
	CC_NEWRENO, /* RFC 5681, RFC 6582 */
};

#define TCP_MORE_PORTS_MAX 12u

struct tcp_config {
	uint16_t port, other_port; /* 0 = off */
	uint32_t more_count;       /* ports beside these */
	uint16_t more_ports[TCP_MORE_PORTS_MAX];
	uint32_t conns_max;
	uint32_t active_reserve; /* of conns_max: slots that peers' connections leave free for ours
				  */
	bool pipes;              /* some of these are pipes (conn_pipe.h) */
	uint32_t chunks;         /* send chunks of this core */
	enum congestion congestion;
	uint64_t keepalive_idle_ns;
	bool timestamps;                   /* RFC 7323, with peers that offer them */
	uint32_t conns_per_source;         /* 0 = any number */
	struct conn_sources *sources;      /* of all cores; NULL without a limit */
	struct pmtu_reports *pmtu_reports; /* of all cores; NULL with one */
	uint32_t core, cores;              /* this one's number, of so many; 0, 0 = the only one */
	struct pending_connects *connects; /* of all cores; NULL with one */
	uint32_t syn_lines;    /* of syn_history.h, a power of two; 0 = no SYN is deferred */
	struct prf_key secret; /* sequence numbers, cookies, ports */
};

/* Why an active open failed. */
enum conn_failure {
	CONNECT_REFUSED,     /* the peer reset it */
	CONNECT_TIMED_OUT,   /* no answer */
	CONNECT_UNREACHABLE, /* the next hop does not answer */
	CONNECT_STOPPED,     /* the stack drains */
};

/* Callbacks of the service. */
struct stack_user {
	void *arg;
	void (*opened)(void *arg, struct conn *c); /* handshake complete */
	void (*gone)(void *arg, struct conn *c);   /* c is invalid after this */
	/* Instead of opened(), after conn_connect(). May be NULL if that is never called. */
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
/* The local address: enum local. */
uint8_t conn_local(const struct conn *c);
struct ip_addr conn_local_ip(const struct stack *s, const struct conn *c);

/* Active open (RFC 9293 section 3.10.1). Call between stack_input() and stack_output(). Either
 * opened() or failed() follows, unless the connection is closed or aborted before; until then it
 * must not be read or written. NULL: refused, and counted by reason. */
struct conn_target {
	struct ip_addr ip;
	uint16_t port;
	uint16_t local_port; /* 0: an unpredictable one (RFC 6056)... */
	/* ... of those that fit: replies to it come to this core, for example. NULL: all do. ours
	 * is the local address. */
	bool (*port_fits)(const void *arg, const struct ip_addr *ours, uint16_t local_port);
	const void *arg;
};
struct conn *conn_connect(struct stack *s, const struct conn_target *to);
/* Before opened() or failed(): the other core that the reply to our SYN has come to, where it is
 * lost; CONN_CORE_NONE: none, as far as is known. */
#define CONN_CORE_NONE UINT32_MAX
uint32_t conn_reply_core(const struct stack *s, const struct conn *c);
uint16_t conn_local_port(const struct conn *c);

/* The contiguous bytes at the read position; len 0: none. */
struct view conn_peek(const struct conn *c);
/* The same, and the turn in which the first of them was here with all before it (0: there are
 * none). Of what more than two turns brought into one frame, the middle is taken to have come
 * evenly. */
struct view conn_peek_since(const struct conn *c, uint64_t *since_ns);
/* Advances the read position by n <= conn_peek().len; the bytes stay valid until stack_release().
 */
void conn_advance(struct stack *s, struct conn *c, uint32_t n);
/* Bytes that wait there, all told. */
uint32_t conn_unread(const struct conn *c);
/* The service reads so many bytes of this connection in the turn in which they come, until it says
 * otherwise (0): there are frames for them even while others, which wait, hold all they may. */
void conn_expect(struct conn *c, uint64_t bytes);
/* A body of so many bytes waits unread for memory of the service; 0: it waits no longer. Until then
 * its peer is offered a narrow window, of a few frames if it is long. */
void conn_body_waits(struct conn *c, uint64_t bytes);
/* Data was dropped for want of frames, and nothing in order has come since: the peer will be silent
 * until its retransmission timer fires. Then the connection becomes ready. */
bool conn_awaits_retransmission(const struct conn *c);
/* The peer may send a full segment, as far as it was told, and more. */
bool conn_window_is_open(const struct conn *c);
/* Queued bytes that the peer has not acknowledged. */
uint32_t conn_unacknowledged(const struct conn *c);
bool conn_has_ended(const struct conn *c); /* all bytes before the peer's FIN are here */
bool conn_eof(const struct conn *c);       /* all bytes before the peer's FIN were read */

/* Is there room for `replies` reservations of CONN_RESERVE_MAX bytes? If not, the connection
 * becomes ready again when there is. If so, they are credited until the end of the turn. */
bool conn_writable(struct stack *s, struct conn *c, uint32_t replies);
/* The service was refused room to write, and there is none yet: the peer does not read, or not yet.
 */
bool conn_is_refused(const struct conn *c);
/* Credits as many of `replies` as there is room for, and returns the number; 0 as conn_writable().
 */
uint32_t conn_credit_take(struct stack *s, struct conn *c, uint32_t replies);
/* Does the send queue hold all it may? Then the connection becomes ready again when it holds less.
 */
bool conn_is_full(struct stack *s, struct conn *c);
/* Credits as many of `chunks` as are left, for nobody: until they are returned, or the turn ends,
 * nobody else has them. */
uint32_t conn_credit_keep(struct stack *s, uint32_t chunks);
/* Returns credits of this turn that are not needed. */
void conn_credit_return(struct stack *s, uint32_t replies);
/* Contiguous room at the end of the send queue; never NULL with a credit. */
uint8_t *conn_reserve(struct stack *s, struct conn *c, uint32_t bytes);
/* The same, with the size of the room, for several replies in one commit. */
uint8_t *conn_reserve_room(struct stack *s, struct conn *c, uint32_t bytes, uint32_t *room);
void conn_commit(struct stack *s, struct conn *c, uint32_t bytes);
/* Is there room for a piece of a value, which conn_write_external queues? If not, the connection
 * becomes ready again when there is. */
bool conn_piece_fits(struct stack *s, struct conn *c);
/* The same, and a credit for what stands behind the value. */
bool conn_piece_writable(struct stack *s, struct conn *c);
/* The service holds memory for so many bytes of a value that are not queued yet: they count as
 * queued where it is asked what the connection holds. */
void conn_holds_behind(struct stack *s, const struct conn *c, uint32_t bytes);
/* Queues an external buffer, which must stay valid until release(arg) is called: acknowledged, or
 * the connection is gone. False: no descriptor, nothing queued. */
bool conn_write_external(struct stack *s, struct conn *c, const uint8_t *data, uint32_t len,
			 void (*release)(const void *arg), const void *arg);

void conn_close(struct stack *s, struct conn *c); /* FIN after the queued bytes */
/* The same, without further callbacks: gone() is called before it returns. */
void conn_close_detach(struct stack *s, struct conn *c);
void conn_abort(struct stack *s, struct conn *c); /* RST; gone() is called before it returns */

/* Requests wait unread for memory of the service. For ten seconds, no wide windows are advertised:
 * those that wait next must not be promised more frames than there are. */
void stack_requests_wait(struct stack *s);
/* Memory pressure: the service needs what external buffers pin. For some seconds, connections that
 * do not acknowledge queued bytes are reset: those that get on by less than 1/part of them each two
 * seconds. */
void stack_memory_pressure(struct stack *s, uint32_t part);

/* A chunk for the service itself: a partial request. */
uint8_t *stack_chunk_get(struct stack *s); /* CHUNK_BYTES; NULL when none is free */
/* The same for one credit; never NULL. */
uint8_t *stack_chunk_get_credited(struct stack *s);
void stack_chunk_put(struct stack *s, uint8_t *chunk);
/* The same; it is a credit of this turn, for one reply to any connection. */
void stack_chunk_credit(struct stack *s, uint8_t *chunk);

/* ---- who is let in ---- */

/* From now on these sources (net/access_list.h; NULL: all) open connections, send datagrams and
 * are sent echoes. Call between stack_input() and stack_output(). */
void stack_access_set(struct stack *s, const struct access_list *list);
/* Resets connections that were open before, of sources that are no longer let in: a number of
 * slots from `from` on. Our own active opens stay. Returns where to go on; 0: all were looked at.
 */
#define ACCESS_SLOTS_MAX 256u
uint32_t stack_access_enforce(struct stack *s, uint32_t from);

/* ---- telemetry ---- */

struct stack_usage {
	uint32_t conns, conns_max, chunks_used, chunks, rx_frames_held;
	uint32_t conns_open; /* of peers, between opened() and gone() */
};
void stack_usage_mt(const struct stack *s, struct stack_usage *out);

/* Connections in one state, as of now: from SYN-SENT on, in the order of the names. */
#define STACK_CONN_STATES 9u
extern const char *const stack_conn_state_names[STACK_CONN_STATES];
uint32_t stack_conns_in_state_mt(const struct stack *s, uint32_t state);

#endif
