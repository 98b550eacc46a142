/*
 * udp_rate_limit.c - a count-min sketch with conservative update: only the smaller cells grow.
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

static bool
is_exempt(const struct udp_rate_limit *g, const struct ip_addr *ip)
{
	for (uint32_t i = 0; i < g->network_count; i++)
		if (ip_addr_same_prefix(ip, &g->ip[i], g->prefix_len[i]))
			return true;
	return false;
}

static struct sketch_cell *
cell_of(struct udp_rate_limit *g, uint32_t row, uint64_t hash, uint32_t second)
{
	struct sketch_cell *cell =
		&g->cells[row][(uint32_t)(hash >> (32 * row)) & (SKETCH_CELLS - 1)];

	if (cell->second != second)
		*cell = (struct sketch_cell){.second = second};
	return cell;
}

bool
udp_rate_limit_allows(struct udp_rate_limit *g, const struct ip_addr *ip, uint64_t hash,
		      uint32_t second, uint64_t asked, uint64_t answer)
{
	struct sketch_cell *cell[SKETCH_ROWS];
	uint32_t used = UINT32_MAX;

	/* What is no longer than what was sent could be sent without us. */
	if (answer <= asked || is_exempt(g, ip))
		return true;
	for (uint32_t row = 0; row < SKETCH_ROWS; row++) {
		cell[row] = cell_of(g, row, hash, second);
		if (cell[row]->bytes < used)
			used = cell[row]->bytes;
	}
	if (answer - asked > g->bytes_per_s - used)
		return false;
	/* Conservative update (Estan and Varghese, SIGCOMM 2002): a cell that counts more than the
	 * source can have got already is left alone. */
	used += (uint32_t)(answer - asked);
	for (uint32_t row = 0; row < SKETCH_ROWS; row++)
		if (cell[row]->bytes < used)
			cell[row]->bytes = used;
	return true;
}
