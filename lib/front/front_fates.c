/*
 * front_fates.c - keeps cells of lost writes in a hash table, and their connections in a short
 * list.
 */
#include "front_fates.h"

#include "base/check.h"

#define PROBES 16u

static_assert(FRONT_CELLS == 1u << 16, "a cell's number is 16 bits");

/* ---- connections ---- */

/* Returns the index of a connection, or of a free entry for it; FRONT_FATES_CONNS: there is
 * neither. */
static uint32_t
conn_of(const struct front_fates *f, uint32_t server, uint16_t port)
{
	uint32_t found = FRONT_FATES_CONNS;

	for (uint32_t i = 0; i < FRONT_FATES_CONNS; i++) {
		const struct front_fates_conn *c = &f->conn[i];

		if (c->count != 0 && c->server == server && c->port == port)
			return i;
		if (c->count == 0)
			found = i;
	}
	return found;
}

bool
front_fates_has(const struct front_fates *f, uint32_t server)
{
	for (uint32_t i = 0; i < FRONT_FATES_CONNS; i++)
		if (f->conn[i].count != 0 && f->conn[i].server == server)
			return true;
	return false;
}

/* ---- cells ---- */

/* Returns the place of a cell, or a free one for it; FRONT_FATES: there is neither. Places are
 * freed in any order, so a free one does not end the search. */
static uint32_t
place_of(const struct front_fates *f, uint32_t conn, uint16_t cell)
{
	uint32_t found = FRONT_FATES;

	for (uint32_t i = 0; i < PROBES; i++) {
		const uint32_t at = (cell + conn * PROBES + i) % FRONT_FATES;

		if (f->fate[at].conn == conn + 1 && f->fate[at].cell == cell)
			return at;
		if (f->fate[at].conn == 0 && found == FRONT_FATES)
			found = at;
	}
	return found;
}

enum front_fate
front_fates_add(struct front_fates *f, struct front_cells *cells, uint32_t server, uint16_t port,
		uint64_t hash)
{
	const uint16_t cell = hash % FRONT_CELLS;
	const uint32_t at_conn = conn_of(f, server, port);
	const uint32_t at = at_conn < FRONT_FATES_CONNS ? place_of(f, at_conn, cell) : FRONT_FATES;
	struct front_fates_conn *conn;

	if (at == FRONT_FATES) {
		front_write_lost_mt(cells, hash);
		return FRONT_FATE_UNKNOWN;
	}
	conn = &f->conn[at_conn];
	conn->server = (uint16_t)server;
	conn->port = port;
	conn->pass = f->pass;
	if (f->fate[at].conn != 0) {
		front_write_end_mt(cells, hash);
		return FRONT_FATE_STANDS;
	}
	f->fate[at].conn = (uint16_t)(at_conn + 1);
	f->fate[at].cell = cell;
	conn->count++;
	return FRONT_FATE_NOTED;
}

/* Ends all cells of a connection, whose entry is then free. */
static uint32_t
conn_end(struct front_fates *f, struct front_cells *cells, uint32_t conn,
	 void (*end)(struct front_cells *cells, uint64_t hash))
{
	const uint32_t count = f->conn[conn].count;

	for (uint32_t i = 0; i < FRONT_FATES; i++)
		if (f->fate[i].conn == conn + 1) {
			f->fate[i].conn = 0;
			f->conn[conn].count--;
			end(cells, f->fate[i].cell);
		}
	ensure(f->conn[conn].count == 0);
	return count;
}

void
front_fates_drop(struct front_fates *f, struct front_cells *cells, uint32_t server)
{
	for (uint32_t i = 0; i < FRONT_FATES_CONNS; i++)
		if (f->conn[i].count != 0 && f->conn[i].server == server)
			conn_end(f, cells, i, front_write_lost_mt);
}

/* ---- passes ---- */

uint32_t
front_fates_begin(struct front_fates *f)
{
	return ++f->pass;
}

void
front_fates_listed(struct front_fates *f, uint32_t pass, uint32_t server, uint16_t port)
{
	for (uint32_t i = 0; i < FRONT_FATES_CONNS; i++)
		if (f->conn[i].server == server && f->conn[i].port == port)
			f->conn[i].listed = pass;
}

uint32_t
front_fates_end(struct front_fates *f, struct front_cells *cells, uint32_t pass, uint32_t server)
{
	uint32_t ended = 0;

	for (uint32_t i = 0; i < FRONT_FATES_CONNS; i++) {
		const struct front_fates_conn *c = &f->conn[i];

		if (c->count != 0 && c->server == server && c->listed != pass && c->pass < pass)
			ended += conn_end(f, cells, i, front_write_end_mt);
	}
	return ended;
}
