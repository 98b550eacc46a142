/*
 * drop_alarm.h - reports drops and refusals that an operator can cure: once a minute one line, with
 * the reason, its count and the cure.
 *
 * A reason is due once its count has grown by its least number since its last report. If several
 * are due, the one whose last report is the oldest comes first.
 *
 * Shape:  DROP_REASONS has a row per reason: least number, words, cure, and the counters by symbol.
 * Units:  ns of any clock that does not go back.
 * Thread: the control thread. Reading the counters does not disturb the cores.
 * Bounds: one line per DROP_ALARM_NS.
 */
#ifndef CLOCKOO_DROP_ALARM_H
#define CLOCKOO_DROP_ALARM_H

#include "telemetry/telemetry.h"

#define DROP_ALARM_NS    60000000000ull
#define DROP_SYMBOLS_MAX 6u

/* Counters of the port. DROP_REASONS names them as if a module had them. */
struct drop_nic {
	uint64_t missed, no_buffer;
	uint64_t over_allowance; /* packets that the cloud dropped or delayed */
};

/* The reasons. The least number is above 1 where single events are normal: a bad cable makes a few
 * wrong checksums, and a client without an answer sends its SYN again. */
#define DROP_REASONS(X)                                                                            \
	X(CHECKSUMS, 2, "frames dropped, their TCP or UDP checksum is wrong",                      \
	  "if the client is at the other end of a veth or tap: ethtool -K IFACE tx off, there",    \
	  "DROP_TCP_CKSUM", "DROP_UDP_CKSUM")                                                      \
	X(NIC_MISSED, 100, "frames lost in the NIC, no descriptor was free",                       \
	  "more cores (-t), --rx-ring, or no other work on their CPUs: clockoo doctor", NULL)      \
	X(NIC_NO_BUFFER, 100, "frames lost in the NIC, no buffer was free",                        \
	  "connections hold them: lower -c, or find clients that do not read: stats conns", NULL)  \
	X(ALLOWANCES, 100,                                                                         \
	  "packets dropped or delayed by the cloud, above the instance's allowance",               \
	  "stats net, nic_..._allowance_exceeded: a larger instance, or more of them", NULL)       \
	X(FRAMES, 100, "TCP segments dropped, connections hold all frames they may",               \
	  "clients send faster than they are served: more cores (-t) or smaller requests",         \
	  "TCP_DROP_RX_FRAMES_MAX")                                                                \
	X(CONNECTIONS, 10, "connections refused, the limit is reached",                            \
	  "raise -c, or find who opens so many: stats sources", "CONN_REJECTED",                   \
	  "TCP_REFUSED_CONNS_MAX", "TCP_REFUSED_TABLE")                                            \
	X(SOURCES, 10, "connections refused, their source has as many as it may",                  \
	  "raise --conns-per-source, or find who opens so many: stats sources",                    \
	  "TCP_REFUSED_SOURCE", "TCP_REFUSED_SOURCES_FULL")                                        \
	X(VALUES, 10, "values refused for lack of memory", "raise -m, or store smaller values",    \
	  "STORE_NO_MEMORY_COUNT")                                                                 \
	X(CHUNKS, 10, "UDP replies not sent, no memory to compose them in",                        \
	  "ask for large values over TCP, or for fewer keys a datagram", "UDP_DROP_NO_MEMORY")     \
	X(DATAGRAMS, 100, "UDP requests dropped, more came than were answered",                    \
	  "more cores (-t), or --udp-allow, whose networks are read first", "DROP_UDP_BACKLOG")    \
	X(BUDGET, 100, "UDP replies not sent, their source is above its limit",                    \
	  "if it is a client: --udp-allow with its network, or --udp-budget",                      \
	  "UDP_DROP_RATE_LIMIT")                                                                   \
	X(RESET, 10, "connections reset, they held what others waited for",                        \
	  "find clients that do not read, or do not finish what they send: stats conns",           \
	  "TCP_EVICTED_SLOW_READER", "TCP_EVICTED_SLOW_WRITER", "CONN_SLOW_BODY",                  \
	  "CONN_SLOW_REQUEST", "ADMIN_YIELDED")                                                    \
	X(HTTP, 10, "connections of telemetry.http closed, others needed their places",            \
	  "find who opens so many: ss -t, at its port", "HTTP_YIELDED")                            \
	X(HANDSHAKES, 100, "TLS handshakes ended, others needed their places",                     \
	  "more cores (-t), or find who opens so many: stats sources", "TLS_HANDSHAKE_YIELDED")    \
	X(ANSWERS, 1000, "answers of servers given up for others' memory, asked for again",        \
	  "raise -m, or find clients that do not read: stats conns", "AWAITS_YIELDED")

#define DROP_SYMBOL(symbol, ...) DROP_##symbol,
enum drop_reason { DROP_REASONS(DROP_SYMBOL) DROP_REASON_COUNT };

struct drop_alarm {
	uint64_t said[DROP_REASON_COUNT];    /* count at the reason's last report */
	uint64_t said_ns[DROP_REASON_COUNT]; /* time of the reason's last report; 0: none */
	uint64_t line_ns;                    /* time of the last report of any reason; 0: none */
};

struct drop_line {
	uint64_t count; /* since start */
	const char *words, *cure;
};

/* Fills in the reason that is due; false if none is. now_ns is not 0. */
bool drop_alarm_check(struct drop_alarm *alarm, const struct telemetry *t,
		      const struct drop_nic *nic, uint64_t now_ns, struct drop_line *line);

#endif
