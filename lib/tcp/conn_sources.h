/*
 * conn_sources.h - connections of each source over all cores: --conns-per-source.
 *
 * A source is an IPv4 address, or the first 64 bits of an IPv6 one (RFC 7421 section 2); on-link
 * IPv6 addresses count singly. Connections count from the end of their handshake, so that a spoofed
 * source uses up nothing.
 *
 * Shape:  cells of (tag, count), eight a cache line; a source is in one of two lines. A cell with
 *         count 0 is free. A connection remembers its cell, so removal is one subtraction.
 * Thread: conn_sources_*_mt by any core, when a connection opens or closes.
 * Errors: SOURCES_OVER_LIMIT: the source is at its limit. SOURCES_FULL: both lines hold other
 *         sources.
 * Bounds: twice as many cells as connections; SOURCES_TRIES_MAX attempts against other cores.
 */
#ifndef CLOCKOO_CONN_SOURCES_H
#define CLOCKOO_CONN_SOURCES_H

#include "base/ip_addr.h"
#include "base/region.h"

#define SOURCES_TRIES_MAX 64u
#define SOURCES_NONE      UINT32_MAX /* the connection is not counted */

struct conn_sources;

enum sources_result { SOURCES_ADDED, SOURCES_OVER_LIMIT, SOURCES_FULL };

size_t conn_sources_bytes(uint32_t conns);
/* Makes a table for conns connections of all cores. A source may have at most limit of them. */
struct conn_sources *conn_sources_create(struct region *region, uint32_t conns, uint32_t limit,
					 uint64_t seed);

/* True if the source is at its limit. Reads two cache lines; called for SYNs. */
bool conn_sources_at_limit_mt(const struct conn_sources *cs, const struct ip_addr *ip);
/* Counts a connection. *place: what its removal needs. */
enum sources_result conn_sources_add_mt(struct conn_sources *cs, const struct ip_addr *ip,
					uint32_t *place);
void conn_sources_remove_mt(struct conn_sources *cs, uint32_t place);

#endif
