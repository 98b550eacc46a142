/*
 * front_fates.h - writes whose connection ended before their answer: cells that have a writer until
 * the server is done with that connection.
 *
 * Shape:  a core's table. A lost write is noted with its cell and its connection, which is server
 *         and local port, and stays a writer of its cell. If a later list of the server's
 *         connections lacks the port, nothing sent on it is executed any more, and its writers
 *         leave. Lists are numbered by *passes*; a list is no evidence about writes noted after
 *         it began.
 * Units:  ports in host order.
 * Owner:  struct front_fates: a core, zeros.
 * Thread: core-local; cells are shared.
 * Errors: a write that finds no place is unknown for ever (front_write_lost_mt).
 * Bounds: FRONT_FATES cells on FRONT_FATES_CONNS connections. add: constant time. The others
 *         visit all of them once.
 * Source: FRONT.md 3, "fate of a write unknown", "fence".
 */
#ifndef CLOCKOO_FRONT_FATES_H
#define CLOCKOO_FRONT_FATES_H

#include "front_cells.h"

#define FRONT_FATES       4096u /* four times the requests of a lane, since cells share hashes */
#define FRONT_FATES_CONNS 64u

/* A connection that has ended. */
struct front_fates_conn {
	uint16_t server, port;
	uint32_t count;  /* of its cells; 0: free */
	uint32_t pass;   /* the last pass begun before its last write was noted */
	uint32_t listed; /* the last pass that listed it */
};

struct front_fates {
	uint32_t pass;
	struct front_fates_conn conn[FRONT_FATES_CONNS];
	struct {
		uint16_t cell;
		uint16_t conn; /* index plus 1; 0: free */
	} fate[FRONT_FATES];
};

enum front_fate {
	FRONT_FATE_NOTED,   /* its writer stays in the cell */
	FRONT_FATE_STANDS,  /* the cell already has such a writer, so this one has left */
	FRONT_FATE_UNKNOWN, /* for ever */
};

/* Notes a lost write of this key. */
enum front_fate front_fates_add(struct front_fates *f, struct front_cells *cells, uint32_t server,
				uint16_t port, uint64_t hash);
bool front_fates_has(const struct front_fates *f, uint32_t server);

/* front_fates_begin starts a pass when a server is asked for its list. front_fates_listed notes a
 * listed port. front_fates_end ends the pass and returns how many cells have lost a writer. */
uint32_t front_fates_begin(struct front_fates *f);
void front_fates_listed(struct front_fates *f, uint32_t pass, uint32_t server, uint16_t port);
uint32_t front_fates_end(struct front_fates *f, struct front_cells *cells, uint32_t pass,
			 uint32_t server);

/* Makes all that is noted for a server unknown for ever: its lists are now another process's. */
void front_fates_drop(struct front_fates *f, struct front_cells *cells, uint32_t server);

#endif
