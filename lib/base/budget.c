/*
 * budget.c - counts the holders of a scarce pool by address, and addresses by prefix, in cells that
 * a hash finds.
 */
#include "budget.h"

#include "check.h"
#include "hash.h"

#define PREFIX_V4_BYTES 3u /* /24 */
#define PREFIX_V6_BYTES 7u /* /56 */
/* A host has all addresses of an IPv6 network (RFC 7421 section 2), so such a network counts like
 * one IPv4 address. */
#define SOURCE_V6_BYTES 8u

size_t
budget_bytes(void)
{
	return 2 * BUDGET_CELLS * sizeof(struct budget_cell) + CACHE_LINE_BYTES;
}

void
budget_create(struct budget *b, struct region *region, uint32_t total, uint32_t reserve,
	      uint64_t seed)
{
	struct budget_cell *cells =
		region_take(region, 2 * BUDGET_CELLS * sizeof *cells, CACHE_LINE_BYTES);

	ensure(reserve < total);
	*b = (struct budget){
		.total = total,
		.left = total,
		.reserve = reserve,
		.low = reserve + (total - reserve) / BUDGET_SHORT_PART,
		.enough = reserve + 2 * ((total - reserve) / BUDGET_SHORT_PART),
		.seed = seed,
		.addresses = cells,
		.networks = cells + BUDGET_CELLS,
	};
}

void
budget_count_always(struct budget *b)
{
	b->is_short = true;
	b->shortage = 1;
	b->low = b->enough = UINT32_MAX;
}

/* Returns the cell for these bytes: their own, or an empty one; otherwise one that other bytes use,
 * too. */
static uint16_t
cell_find(const struct budget *b, struct budget_cell *cells, const uint8_t *bytes, uint32_t len)
{
	const uint64_t hash = hash_bytes(bytes, len, b->seed);
	const uint32_t tag = (uint32_t)(hash >> 32);
	struct budget_cell *free = NULL;

	for (uint32_t i = 0; i < BUDGET_PROBES; i++) {
		struct budget_cell *cell = &cells[(hash + i) % BUDGET_CELLS];
		const bool counts = cell->shortage == b->shortage && cell->count > 0;

		if (counts && cell->tag == tag)
			return (uint16_t)(cell - cells);
		if (!counts && free == NULL)
			free = cell;
	}
	if (free == NULL)
		return (uint16_t)(hash % BUDGET_CELLS);
	*free = (struct budget_cell){.shortage = b->shortage, .tag = tag};
	return (uint16_t)(free - cells);
}

/* Returns the cell of the address. A new cell refers to that of its prefix. */
static uint16_t
source_find(const struct budget *b, const struct ip_addr *ip)
{
	const bool v4 = ip_addr_is_v4(ip);
	const uint8_t *bytes = v4 ? ip->b + IP_ADDR_V4_BITS / 8 : ip->b;
	const uint16_t at = cell_find(b, b->addresses, bytes, v4 ? 4 : SOURCE_V6_BYTES);

	if (b->addresses[at].count == 0)
		b->addresses[at].network =
			cell_find(b, b->networks, bytes, v4 ? PREFIX_V4_BYTES : PREFIX_V6_BYTES);
	return at;
}

void
budget_join(struct budget *b, struct budget_place *p, const struct ip_addr *ip)
{
	struct budget_cell *address, *network;

	if (budget_has_joined(b, p))
		return;
	*p = (struct budget_place){.shortage = b->shortage, .source = source_find(b, ip)};
	address = &b->addresses[p->source];
	network = &b->networks[address->network];
	if (address->count++ == 0 && network->count++ == 0)
		b->prefixes++;
	b->holders++;
}

void
budget_leave(struct budget *b, struct budget_place *p)
{
	struct budget_cell *address, *network;

	if (budget_has_joined(b, p)) {
		address = &b->addresses[p->source];
		network = &b->networks[address->network];
		ensure(address->count > 0 && network->count > 0);
		if (--address->count == 0 && --network->count == 0)
			b->prefixes--;
		b->holders--;
	}
	p->shortage = 0;
}

static uint32_t
part_of_address(const struct budget *b, const struct budget_cell *address)
{
	const uint32_t of_network = (b->total - b->reserve) / b->prefixes;

	return of_network / b->networks[address->network].count;
}

uint32_t
budget_share(const struct budget *b, const struct budget_place *p)
{
	const struct budget_cell *address = &b->addresses[p->source];
	const uint32_t share = part_of_address(b, address) / address->count;

	return share > 0 ? share : 1;
}

bool
budget_source_is_over(const struct budget *b, const struct budget_place *p)
{
	const struct budget_cell *address = &b->addresses[p->source];

	return address->count > part_of_address(b, address);
}

struct list *
budget_loser(struct list *line, uint32_t (*rank)(void *arg, struct list *link), void *arg)
{
	const struct list *const last = line->prev;
	struct list *loser = NULL, *at = line->next, *next;
	uint32_t least = BUDGET_KEEPS;

	for (uint32_t i = 0; i < BUDGET_LOOKS && at != line && least > 0; i++, at = next) {
		const uint32_t is = rank(arg, at);

		next = at == last ? line : at->next;
		if (is == BUDGET_KEEPS) {
			list_unlink(at);
			list_push_back(line, at);
		} else if (is < least) {
			loser = at;
			least = is;
		}
	}
	return loser;
}

bool
budget_may_take_short(struct budget *b, struct budget_place *p, const struct ip_addr *ip,
		      uint32_t held, uint32_t n)
{
	budget_look(b);
	if (!b->is_short)
		return b->left >= n;
	if (held == 0)
		return b->left >= n;
	budget_join(b, p, ip);
	return b->left >= b->reserve + n && held + n <= budget_share(b, p);
}

bool
budget_may_borrow(const struct budget *b, uint32_t held, uint32_t n)
{
	return b->left >= b->reserve + n + BUDGET_LENT_PART * held;
}
