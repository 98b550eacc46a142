/*
 * front_fates.h - writes whose connection ended before their answer: cells that have a writer until
 * the server is done with that connection.
 *
 * Shape:  a core's table. A lost write is noted with its cell and its connection, that is server
 *         and local port, and stays a writer of its cell. A list of the server's connections that
 *         was asked for after that and does not have the port says that nothing of it is executed
 *         any more: its writers leave. Lists are numbered by *passes*; one says nothing of what was
 *         noted after it had begun.
 * Units:  ports in host order.
 * Owner:  struct front_fates: a core, zeros.
 * Thread: core-local; cells are shared.
 * Errors: what finds no place is unknown for good (front_write_lost_mt).
 * Bounds: FRONT_FATES cells on FRONT_FATES_CONNS connections. add: constant time. The others look
 *         at all of them once.
 * Source: FRONT.md 3, "fate of a write unknown", "fence".
 */
#ifndef CLOCKOO_FRONT_FATES_H
#define CLOCKOO_FRONT_FATES_H

#include "front_cells.h"

#define FRONT_FATES       4096u /* four times the requests of a lane: they share hashes */
#define FRONT_FATES_CONNS 64u

/* A connection that has ended. */
struct front_fates_conn {
	uint16_t server, port;
	uint32_t count;  /* of its cells; 0: it is free */
	uint32_t pass;   /* begun before its last write was noted */
	uint32_t listed; /* the last pass that has met it */
};

struct front_fates {
	uint32_t pass;
	struct front_fates_conn conn[FRONT_FATES_CONNS];
	struct {
		uint16_t cell;
		uint16_t conn; /* and 1; 0: it is free */
	} fate[FRONT_FATES];
};

enum front_fate {
	FRONT_FATE_NOTED,   /* its writer stays */
	FRONT_FATE_STANDS,  /* one such stands in the cell: this writer has left */
	FRONT_FATE_UNKNOWN, /* for good */
};

/* A write of this key is lost. */
enum front_fate front_fates_add(struct front_fates *f, struct front_cells *cells, uint32_t server,
				uint16_t port, uint64_t hash);
bool front_fates_has(const struct front_fates *f, uint32_t server);

/* A server is asked for a list: its pass. It has this port; its end: how many cells have lost a
 * writer. */
uint32_t front_fates_begin(struct front_fates *f);
void front_fates_listed(struct front_fates *f, uint32_t pass, uint32_t server, uint16_t port);
uint32_t front_fates_end(struct front_fates *f, struct front_cells *cells, uint32_t pass,
			 uint32_t server);

/* Its lists are another process's from now on: what is noted of it is unknown for good. */
void front_fates_drop(struct front_fates *f, struct front_cells *cells, uint32_t server);

#endif
