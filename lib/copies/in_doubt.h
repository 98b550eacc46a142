/*
 * in_doubt.h - writes in doubt: their connection ended before their answer came. Each remains a
 * writer of its version word until its server can execute nothing more from that connection.
 *
 * Shape:  a table for each core. A lost write is noted with its version word and its connection,
 *         which is the server and the local port. If a later list of the server's connections lacks
 *         that port, the server executes nothing more from it, and the connection's writers leave.
 *         Each list is a *pass* with a number. A list proves nothing about writes that were noted
 *         after its pass began.
 * Units:  ports in host order.
 * Owner:  struct in_doubt: a core, zeros.
 * Thread: core-local; version words are shared.
 * Errors: a write for which the table has no place is in doubt for ever (version_write_lost_mt).
 * Bounds: IN_DOUBT_MAX version words on IN_DOUBT_CONNS connections. add: constant time. The others
 *         visit every entry once.
 * Source: COHERENCE.md, "outcome of a write unknown", "fence".
 */
#ifndef CLOCKOO_IN_DOUBT_H
#define CLOCKOO_IN_DOUBT_H

#include "versions.h"

/* Four times the requests of a lane, since several hashes share a word. */
#define IN_DOUBT_MAX   4096u
#define IN_DOUBT_CONNS 64u

/* A connection that has ended, with writes in doubt. */
struct in_doubt_conn {
	uint16_t server, port;
	uint32_t count;  /* its version words in the table; 0: the entry is free */
	uint32_t pass;   /* the pass that had begun last when its last write was noted */
	uint32_t listed; /* the last pass whose list had it */
};

struct in_doubt {
	uint32_t pass;
	struct in_doubt_conn conn[IN_DOUBT_CONNS];
	struct {
		uint16_t word;
		uint16_t conn; /* index plus 1; 0: free */
	} write[IN_DOUBT_MAX];
};

enum in_doubt_result {
	IN_DOUBT_NOTED, /* its writer remains in the version word */
	/* The connection already has a writer in this version word; this one has left. */
	IN_DOUBT_BEFORE,
	IN_DOUBT_FOR_EVER,
};

/* Notes a lost write of this key. */
enum in_doubt_result in_doubt_add(struct in_doubt *d, struct versions *versions, uint32_t server,
				  uint16_t port, uint64_t hash);
bool in_doubt_has(const struct in_doubt *d, uint32_t server);

/* in_doubt_pass_begin: begins a pass, when a server is asked for its list. in_doubt_listed: notes a
 * port in the list. in_doubt_pass_end: ends the pass, and returns how many version words have lost
 * a writer. */
uint32_t in_doubt_pass_begin(struct in_doubt *d);
void in_doubt_listed(struct in_doubt *d, uint32_t pass, uint32_t server, uint16_t port);
uint32_t in_doubt_pass_end(struct in_doubt *d, struct versions *versions, uint32_t pass,
			   uint32_t server);

/* Leaves the writes to a server in doubt for ever, since its lists are another process's from now
 * on. */
void in_doubt_drop(struct in_doubt *d, struct versions *versions, uint32_t server);

#endif
