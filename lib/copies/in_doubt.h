/*
 * in_doubt.h - writes in doubt: their connection ended before their answer, so each stays a writer
 * of its version word until the server is done with that connection.
 *
 * Shape:  a per-core table. A lost write is noted with its version word and its connection, which
 *         is server and local port. If a later list of the server's connections lacks the port,
 *         nothing sent on it is executed any more, and its writers leave. Lists are numbered by
 *         *passes*; a list is no evidence about writes noted after it began.
 * Units:  ports in host order.
 * Owner:  struct in_doubt: a core, zeros.
 * Thread: core-local; version words are shared.
 * Errors: a write that finds no place is in doubt for ever (version_write_lost_mt).
 * Bounds: IN_DOUBT_MAX version words on IN_DOUBT_CONNS connections. add: constant time. The others
 *         visit all of them once.
 * Source: COHERENCE.md, "outcome of a write unknown", "fence".
 */
#ifndef CLOCKOO_IN_DOUBT_H
#define CLOCKOO_IN_DOUBT_H

#include "versions.h"

#define IN_DOUBT_MAX   4096u /* four times the requests of a lane, since hashes share words */
#define IN_DOUBT_CONNS 64u

/* A connection that has ended. */
struct in_doubt_conn {
	uint16_t server, port;
	uint32_t count;  /* of its version words; 0: free */
	uint32_t pass;   /* the last pass begun before its last write was noted */
	uint32_t listed; /* the last pass that listed it */
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
	IN_DOUBT_NOTED,  /* its writer stays in the version word */
	IN_DOUBT_BEFORE, /* the version word already has such a writer, so this one has left */
	IN_DOUBT_FOR_EVER,
};

/* Notes a lost write of this key. */
enum in_doubt_result in_doubt_add(struct in_doubt *d, struct versions *versions, uint32_t server,
				  uint16_t port, uint64_t hash);
bool in_doubt_has(const struct in_doubt *d, uint32_t server);

/* in_doubt_pass_begin starts a pass when a server is asked for its list. in_doubt_listed notes a
 * listed port. in_doubt_pass_end ends the pass and returns how many version words have lost a
 * writer. */
uint32_t in_doubt_pass_begin(struct in_doubt *d);
void in_doubt_listed(struct in_doubt *d, uint32_t pass, uint32_t server, uint16_t port);
uint32_t in_doubt_pass_end(struct in_doubt *d, struct versions *versions, uint32_t pass,
			   uint32_t server);

/* Leaves the writes to a server in doubt for ever: its lists are now another process's. */
void in_doubt_drop(struct in_doubt *d, struct versions *versions, uint32_t server);

#endif
