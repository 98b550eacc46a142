/*
 * access_list.c - makes a table of allowed and denied networks, and looks up addresses in it.
 *
 * Networks are entered in sorted order. A network within another one follows it and overwrites a
 * part of its entries, so the longest prefix remains.
 */
#include "access_list.h"

#include "base/prefetch.h"

#include <stdlib.h>

#define ROOT_BITS (IP_ADDR_V4_BITS + 16)
#define ROW_BITS  (IP_ADDR_V4_BITS + 24)

static int
compare_nets(const void *a, const void *b)
{
	const struct access_net *one = a, *other = b;
	const int order = memcmp(one->ip.b, other->ip.b, sizeof one->ip.b);

	return order != 0 ? order : (int)one->prefix_len - (int)other->prefix_len;
}

void
access_nets_sort(struct access_net *nets, uint32_t count)
{
	qsort(nets, count, sizeof nets[0], compare_nets);
}

static bool
same_net(const struct access_net *a, const struct access_net *b)
{
	return a->prefix_len == b->prefix_len && ip_addr_equal(&a->ip, &b->ip);
}

uint32_t
access_nets_same(const struct access_net *nets, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (same_net(&nets[i - 1], &nets[i]))
			return i;
	return count;
}

/* Returns in how many different networks of `bits` bits the longer IPv4 networks begin. */
static uint32_t
count_longer(const struct access_net *nets, uint32_t count, uint32_t bits)
{
	const struct access_net *last = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!ip_addr_is_v4(&nets[i].ip) || nets[i].prefix_len <= bits)
			continue;
		if (last == NULL || !ip_addr_same_prefix(&last->ip, &nets[i].ip, bits))
			n++;
		last = &nets[i];
	}
	return n;
}

static uint32_t
count_v6(const struct access_net *nets, uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		n += !ip_addr_is_v4(&nets[i].ip);
	return n;
}

static size_t
words_needed(const struct access_net *nets, uint32_t count)
{
	return ACCESS_ROOTS + ACCESS_ROOT_WORDS +
	       (size_t)count_longer(nets, count, ROOT_BITS) * ACCESS_ROW_WORDS +
	       (size_t)count_longer(nets, count, ROW_BITS) * ACCESS_BITS_WORDS;
}

size_t
access_list_bytes(const struct access_net *nets, uint32_t count)
{
	return sizeof(struct access_list) + words_needed(nets, count) * sizeof(uint32_t) +
	       2ull * count_v6(nets, count) * sizeof(struct ip_position) + 3 * CACHE_LINE_BYTES;
}

/* ---- IPv4 ---- */

struct table {
	uint32_t *words;
	uint32_t used, size;
};

static uint32_t
words_take(struct table *t, uint32_t n)
{
	const uint32_t at = t->used;

	t->used += n;
	ensure(t->used <= t->size);
	return at;
}

static void
words_fill(struct table *t, uint32_t at, uint32_t n, uint32_t value)
{
	for (uint32_t i = 0; i < n; i++)
		t->words[at + i] = value;
}

/* Returns the root of an address by its first two bytes, as they are loaded from the wire. */
static uint32_t *
root_of(struct table *t, uint32_t first)
{
	return &t->words[ACCESS_ROOTS + (first >> 8 | (first & 0xff) << 8)];
}

/* Returns the row of an address; gives it a row of its own first, if it shares one. */
static uint32_t
row_of(struct table *t, uint32_t ip)
{
	uint32_t *root = root_of(t, ip >> 16), row;

	if (*root != ACCESS_ALLOWED_ROW && *root != ACCESS_DENIED_ROW)
		return *root;
	row = words_take(t, ACCESS_ROW_WORDS);
	words_fill(t, row, ACCESS_ROW_WORDS, *root == ACCESS_DENIED_ROW);
	*root = row;
	return row;
}

static uint32_t
bits_of(struct table *t, uint32_t ip)
{
	uint32_t *entry = &t->words[row_of(t, ip) + (ip >> 8 & 0xff)], bits;

	if (*entry > 1)
		return *entry;
	bits = words_take(t, ACCESS_BITS_WORDS);
	words_fill(t, bits, ACCESS_BITS_WORDS, *entry == 1 ? UINT32_MAX : 0);
	*entry = bits;
	return bits;
}

static void
enter_v4(struct table *t, uint32_t ip, uint32_t len, bool deny)
{
	const uint32_t rest = len <= 16 ? 16 - len : len <= 24 ? 24 - len : 32 - len;

	if (len <= 16) {
		for (uint32_t i = 0; i < 1u << rest; i++)
			*root_of(t, (ip >> 16) + i) = deny ? ACCESS_DENIED_ROW : ACCESS_ALLOWED_ROW;
		return;
	}
	if (len <= 24) {
		words_fill(t, row_of(t, ip) + (ip >> 8 & 0xff), 1u << rest, deny);
		return;
	}
	for (uint32_t i = 0; i < 1u << rest; i++) {
		const uint32_t host = (ip & 0xff) + i;
		uint32_t *word = &t->words[bits_of(t, ip) + host / 32];

		*word = (*word & ~(1u << host % 32)) | (uint32_t)deny << host % 32;
	}
}

/* Denies the martian sources of source_valid() in classify.c, since a core that has a table skips
 * that check. */
static void
deny_martians(struct table *t)
{
	enter_v4(t, 0, 8, true);
	enter_v4(t, 127u << 24, 8, true);
	enter_v4(t, 224u << 24, 3, true);
}

static void
make_v4(struct table *t, const struct access_net *nets, uint32_t count, bool denies)
{
	words_fill(t, ACCESS_ALLOWED_ROW, ACCESS_ROW_WORDS, 0);
	words_fill(t, ACCESS_DENIED_ROW, ACCESS_ROW_WORDS, 1);
	words_fill(t, ACCESS_ROOTS, ACCESS_ROOT_WORDS,
		   denies ? ACCESS_DENIED_ROW : ACCESS_ALLOWED_ROW);
	t->used = ACCESS_ROOTS + ACCESS_ROOT_WORDS;
	for (uint32_t i = 0; i < count; i++)
		if (ip_addr_is_v4(&nets[i].ip))
			enter_v4(t, ip_addr_v4_get(&nets[i].ip),
				 nets[i].prefix_len - IP_ADDR_V4_BITS, !nets[i].allow);
	deny_martians(t);
}

/* ---- IPv6 ---- */

struct ranges {
	struct ip_position *starts;
	uint32_t count;
	bool denies_first;
};

/* Begins a range at an address, unless the verdict there is the same already. Replaces a range that
 * begins at the same address. */
static void
verdict_begin(struct ranges *r, struct ip_position at, bool deny)
{
	if (r->count != 0 && ip_position_equal(&r->starts[r->count - 1], &at))
		r->count--;
	if ((r->denies_first ^ (r->count & 1)) != deny)
		r->starts[r->count++] = at;
}

/* The networks that contain the one being entered, the widest first. */
struct nest {
	const struct access_net *net[IP_ADDR_BITS + 1];
	uint32_t depth;
};

static void
net_leave(struct nest *n, struct ranges *r)
{
	const struct access_net *left = n->net[--n->depth];
	struct ip_position behind;

	if (ip_position_behind(&left->ip, left->prefix_len, &behind))
		verdict_begin(r, behind,
			      n->depth != 0 ? !n->net[n->depth - 1]->allow : r->denies_first);
}

static void
make_v6(struct ranges *r, const struct access_net *nets, uint32_t count)
{
	struct nest n = {.depth = 0};

	for (uint32_t i = 0; i < count; i++) {
		if (ip_addr_is_v4(&nets[i].ip))
			continue;
		while (n.depth != 0 && !ip_addr_same_prefix(&n.net[n.depth - 1]->ip, &nets[i].ip,
							    n.net[n.depth - 1]->prefix_len))
			net_leave(&n, r);
		verdict_begin(r, ip_position_of(&nets[i].ip), !nets[i].allow);
		n.net[n.depth++] = &nets[i];
	}
	while (n.depth != 0)
		net_leave(&n, r);
}

static bool
allows_v6(const struct access_list *list, const struct ip_addr *ip)
{
	const struct ip_position at = ip_position_of(ip);
	const struct ip_position *from = list->starts;
	uint32_t left = list->start_count;

	while (left > 1) {
		const uint32_t half = left / 2;

		from += ip_position_at_or_before(from + half, &at) ? half : 0;
		left -= half;
	}
	if (list->start_count == 0 || !ip_position_at_or_before(from, &at))
		return !list->denies_first;
	return (list->denies_first ^ ((uint32_t)(from - list->starts + 1) & 1)) == 0;
}

/* ---- both ---- */

const struct access_list *
access_list_make(struct region *region, const struct access_net *nets, uint32_t count)
{
	const uint32_t v6 = count_v6(nets, count);
	struct access_list *list = region_take(region, sizeof *list, CACHE_LINE_BYTES);
	struct table table = {.size = (uint32_t)words_needed(nets, count)};
	struct ranges ranges = {.denies_first = false};

	ensure(count <= ACCESS_NETS_MAX && access_nets_same(nets, count) == count);
	for (uint32_t i = 0; i < count; i++)
		ranges.denies_first |= nets[i].allow;
	table.words = region_take(region, table.size * sizeof(uint32_t), CACHE_LINE_BYTES);
	ranges.starts = region_take(region, 2ull * v6 * sizeof *ranges.starts, CACHE_LINE_BYTES);
	make_v4(&table, nets, count, ranges.denies_first);
	make_v6(&ranges, nets, count);
	*list = (struct access_list){
		.words = table.words,
		.starts = ranges.starts,
		.start_count = ranges.count,
		.denies_first = ranges.denies_first,
		.count = count,
		.bytes = access_list_bytes(nets, count),
	};
	return list;
}

bool
access_allows(const struct access_list *list, const struct ip_addr *ip)
{
	const uint8_t *v4 = ip->b + IP_ADDR_V4_BITS / 8;
	uint32_t entry;

	if (!ip_addr_is_v4(ip))
		return allows_v6(list, ip);
	entry = access_row_entry(list->words, v4);
	return entry == 0 || access_bit_allows(list->words, entry, v4);
}
