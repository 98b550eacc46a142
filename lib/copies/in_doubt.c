/*
 * in_doubt.c - keeps the version words of lost writes in a hash table, and their connections in a
 * short list.
 */
#include "in_doubt.h"

#include "base/check.h"

#define PROBES 16u

static_assert(VERSION_WORDS == 1u << 16, "a word's number is 16 bits");

/* ---- connections ---- */

/* Returns the index of a connection, or of a free entry for it; IN_DOUBT_CONNS: there is
 * neither. */
static uint32_t
conn_of(const struct in_doubt *d, uint32_t server, uint16_t port)
{
	uint32_t found = IN_DOUBT_CONNS;

	for (uint32_t i = 0; i < IN_DOUBT_CONNS; i++) {
		const struct in_doubt_conn *c = &d->conn[i];

		if (c->count != 0 && c->server == server && c->port == port)
			return i;
		if (c->count == 0)
			found = i;
	}
	return found;
}

bool
in_doubt_has(const struct in_doubt *d, uint32_t server)
{
	for (uint32_t i = 0; i < IN_DOUBT_CONNS; i++)
		if (d->conn[i].count != 0 && d->conn[i].server == server)
			return true;
	return false;
}

/* ---- version words ---- */

/* Returns the place of a version word, or a free one for it; IN_DOUBT_MAX: there is neither. Places
 * are freed in any order, so a free one does not end the search. */
static uint32_t
place_of(const struct in_doubt *d, uint32_t conn, uint16_t word)
{
	uint32_t found = IN_DOUBT_MAX;

	for (uint32_t i = 0; i < PROBES; i++) {
		const uint32_t at = (word + conn * PROBES + i) % IN_DOUBT_MAX;

		if (d->write[at].conn == conn + 1 && d->write[at].word == word)
			return at;
		if (d->write[at].conn == 0 && found == IN_DOUBT_MAX)
			found = at;
	}
	return found;
}

enum in_doubt_result
in_doubt_add(struct in_doubt *d, struct versions *versions, uint32_t server, uint16_t port,
	     uint64_t hash)
{
	const uint16_t word = hash % VERSION_WORDS;
	const uint32_t at_conn = conn_of(d, server, port);
	const uint32_t at = at_conn < IN_DOUBT_CONNS ? place_of(d, at_conn, word) : IN_DOUBT_MAX;
	struct in_doubt_conn *conn;

	if (at == IN_DOUBT_MAX) {
		version_write_lost_mt(versions, hash);
		return IN_DOUBT_FOR_EVER;
	}
	conn = &d->conn[at_conn];
	conn->server = (uint16_t)server;
	conn->port = port;
	conn->pass = d->pass;
	if (d->write[at].conn != 0) {
		version_write_end_mt(versions, hash);
		return IN_DOUBT_BEFORE;
	}
	d->write[at].conn = (uint16_t)(at_conn + 1);
	d->write[at].word = word;
	conn->count++;
	return IN_DOUBT_NOTED;
}

/* Calls end() for all version words of a connection, and frees the entries of both. Returns how
 * many there were. */
static uint32_t
conn_end(struct in_doubt *d, struct versions *versions, uint32_t conn,
	 void (*end)(struct versions *versions, uint64_t hash))
{
	const uint32_t count = d->conn[conn].count;

	for (uint32_t i = 0; i < IN_DOUBT_MAX; i++)
		if (d->write[i].conn == conn + 1) {
			d->write[i].conn = 0;
			d->conn[conn].count--;
			end(versions, d->write[i].word);
		}
	ensure(d->conn[conn].count == 0);
	return count;
}

void
in_doubt_drop(struct in_doubt *d, struct versions *versions, uint32_t server)
{
	for (uint32_t i = 0; i < IN_DOUBT_CONNS; i++)
		if (d->conn[i].count != 0 && d->conn[i].server == server)
			conn_end(d, versions, i, version_write_lost_mt);
}

/* ---- passes ---- */

uint32_t
in_doubt_pass_begin(struct in_doubt *d)
{
	return ++d->pass;
}

void
in_doubt_listed(struct in_doubt *d, uint32_t pass, uint32_t server, uint16_t port)
{
	for (uint32_t i = 0; i < IN_DOUBT_CONNS; i++)
		if (d->conn[i].server == server && d->conn[i].port == port)
			d->conn[i].listed = pass;
}

uint32_t
in_doubt_pass_end(struct in_doubt *d, struct versions *versions, uint32_t pass, uint32_t server)
{
	uint32_t ended = 0;

	for (uint32_t i = 0; i < IN_DOUBT_CONNS; i++) {
		const struct in_doubt_conn *c = &d->conn[i];

		if (c->count != 0 && c->server == server && c->listed != pass && c->pass < pass)
			ended += conn_end(d, versions, i, version_write_end_mt);
	}
	return ended;
}
