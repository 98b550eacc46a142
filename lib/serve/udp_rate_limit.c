/*
 * udp_rate_limit.c - count-min sketches with conservative update, which raises only the smaller
 * cells.
 */
#include "udp_rate_limit.h"

void
udp_rate_limit_exempt(struct udp_rate_limit *g, const struct ip_addr *ip, uint32_t prefix_len)
{
	if (g->network_count == EXEMPT_NETWORKS_MAX)
		return;
	g->ip[g->network_count] = *ip;
	g->prefix_len[g->network_count++] = prefix_len;
}

struct view
udp_rate_limit_source(const struct ip_addr *ip)
{
	if (ip_addr_is_v4(ip))
		return (struct view){ip->b + IP_ADDR_V4_BITS / 8, 4};
	return (struct view){ip->b, 8};
}

struct view
udp_rate_limit_network(const struct ip_addr *ip)
{
	if (ip_addr_is_v4(ip))
		return (struct view){ip->b + IP_ADDR_V4_BITS / 8, 3};
	return (struct view){ip->b, 7};
}

bool
udp_rate_limit_spares(const struct udp_rate_limit *g, const struct ip_addr *ip, uint64_t asked,
		      uint64_t answer)
{
	/* The reply is not longer than the request, so it amplifies nothing. */
	if (answer <= asked)
		return true;
	for (uint32_t i = 0; i < g->network_count; i++)
		if (ip_addr_same_prefix(ip, &g->ip[i], g->prefix_len[i]))
			return true;
	return false;
}

static void
cell_renew(struct sketch_cell *cell, uint32_t second)
{
	if (cell->second != second)
		*cell = (struct sketch_cell){.second = second};
}

static struct sketch_cell *
cell_of(struct sketch *s, uint32_t row, uint64_t hash)
{
	return &s->cells[row][(uint32_t)(hash >> (32 * row)) & (SKETCH_CELLS - 1)];
}

/* Returns how many bytes the owner of this hash has got in this second, or more. */
static uint32_t
sketch_used(struct sketch *s, uint64_t hash, uint32_t second)
{
	uint32_t used = UINT32_MAX;

	for (uint32_t row = 0; row < SKETCH_ROWS; row++) {
		struct sketch_cell *cell = cell_of(s, row, hash);

		cell_renew(cell, second);
		if (cell->bytes < used)
			used = cell->bytes;
	}
	return used;
}

/* Raises the cells to `used`. A cell that is higher stays as it is: conservative update (Estan and
 * Varghese, SIGCOMM 2002). */
static void
sketch_raise(struct sketch *s, uint64_t hash, uint32_t used)
{
	for (uint32_t row = 0; row < SKETCH_ROWS; row++) {
		struct sketch_cell *cell = cell_of(s, row, hash);

		if (cell->bytes < used)
			cell->bytes = used;
	}
}

bool
udp_rate_limit_book(struct udp_rate_limit *g, const struct udp_source *source, uint32_t second,
		    uint64_t bytes)
{
	const uint64_t budget = g->bytes_per_s;
	uint64_t used, network_used;

	used = sketch_used(&g->sources, source->hash, second) + bytes;
	network_used = sketch_used(&g->networks, source->network_hash, second) + bytes;
	cell_renew(&g->total, second);
	if (used > budget || network_used > UDP_NETWORK_SHARES * budget ||
	    g->total.bytes + bytes > UDP_TOTAL_SHARES * budget)
		return false;
	sketch_raise(&g->sources, source->hash, (uint32_t)used);
	sketch_raise(&g->networks, source->network_hash, (uint32_t)network_used);
	g->total.bytes += (uint32_t)bytes;
	return true;
}
