/*
 * Budgets of pools. Goal: a share binds only while its pool is short; a single source may take
 * all but the reserve; shares are equal among prefixes, then addresses, then holders; a borrower
 * leaves most of what is left; the reserve is for holders that have nothing; a holder that leaves
 * leaves no trace, also when a shortage ends in between. Method: a model that counts holders by
 * address and prefix without cells, and random joins.
 */
#include "base/budget.h"

#include "support/test.h"

#include <stdlib.h>

#define TOTAL   1000u
#define RESERVE 200u
#define HOLDERS 600u
#define ROUNDS  20000u

static struct budget b;
static struct region region;

static void
begin(void)
{
	region = (struct region){.size = budget_bytes()};
	region.base = calloc(1, region.size);
	check_ptr(region.base);
	budget_create(&b, &region, TOTAL, RESERVE, 7);
}

static void
end(void)
{
	free(region.base);
}

static struct ip_addr
address(uint32_t network, uint32_t host)
{
	return ip_addr_v4(0x0a000000 + (network << 8) + host);
}

/* Takes one unit at a time for as long as it may; returns how many the holder then has. */
static uint32_t
take_all(struct budget_place *p, const struct ip_addr *ip, uint32_t held)
{
	for (; budget_may_take(&b, p, ip, held, 1); held++)
		budget_take(&b, 1);
	return held;
}

TEST(alone_one_takes_all_but_the_reserve)
{
	const struct ip_addr ip = address(1, 1);
	struct budget_place p = {0};

	begin();
	check_eq(take_all(&p, &ip, 0), TOTAL - RESERVE);
	check_eq(b.left, RESERVE);
	end();
}

TEST(a_share_binds_only_while_the_pool_is_short)
{
	const struct ip_addr ip = address(1, 1), others = address(2, 1);
	struct budget_place p = {0}, q = {0};

	begin();
	budget_take(&b, 500);
	/* 500 units are left; a shortage begins below 400. */
	check(budget_may_take(&b, &p, &ip, 400, 1));
	budget_take(&b, 101);
	check(budget_may_take(&b, &q, &others, 1, 1));
	check(!budget_may_take(&b, &p, &ip, 400, 1)); /* the holder has half of 800 */
	budget_give(&b, 150);
	budget_look(&b);
	check(!budget_may_take(&b, &p, &ip, 400, 1)); /* the shortage ends with 600 left */
	budget_give(&b, 60);
	budget_look(&b);
	check(budget_may_take(&b, &p, &ip, 400, 1));
	end();
}

TEST(the_reserve_is_for_who_holds_nothing)
{
	const struct ip_addr ip = address(1, 1);
	struct budget_place p = {0}, q[RESERVE] = {0};

	begin();
	take_all(&p, &ip, 0);
	for (uint32_t i = 0; i < RESERVE; i++) {
		check(budget_may_take(&b, &q[i], &ip, 0, 1));
		budget_take(&b, 1);
		check(!budget_may_take(&b, &q[i], &ip, 1, 1));
	}
	check_eq(b.left, 0);
	check(!budget_may_take(&b, &p, &ip, 0, 1));
	end();
}

TEST(a_borrower_leaves_much_more_than_it_holds_and_the_reserve)
{
	begin();
	budget_take(&b, TOTAL - RESERVE - 3 * BUDGET_LENT_PART - 1);
	check(budget_may_borrow(&b, 3, 1));
	check(!budget_may_borrow(&b, 3, 2));
	check(!budget_may_borrow(&b, 4, 1));
	budget_take(&b, 3 * BUDGET_LENT_PART + 1);
	check(!budget_may_borrow(&b, 0, 1));
	end();
}

/* Ninety-nine holders of one address, nine other addresses of its /24, and one of another /24. */
TEST(shares_are_equal_by_prefix_then_address_then_holder)
{
	struct budget_place crowd[99] = {0}, near[9] = {0}, far = {0};
	const struct ip_addr one = address(1, 1), there = address(2, 1);

	begin();
	budget_take(&b, TOTAL - RESERVE);
	budget_look(&b);
	for (uint32_t i = 0; i < 99; i++)
		budget_join(&b, &crowd[i], &one);
	for (uint32_t i = 0; i < 9; i++)
		budget_join(&b, &near[i], &(struct ip_addr[]){address(1, 2 + i)}[0]);
	budget_join(&b, &far, &there);
	budget_join(&b, &far, &there); /* a second join counts once */
	check_eq(b.holders, 109);
	check_eq(budget_share(&b, &far), 400);
	check_eq(budget_share(&b, &near[0]), 40);
	check_eq(budget_share(&b, &crowd[0]), 1); /* of 40 units; a share is at least 1 */
	end();
}

/* Each place holds one unit; their source is checked after each. */
TEST(a_source_is_over_when_it_has_more_than_its_part)
{
	struct budget_place crowd[900] = {0}, other = {0};
	const struct ip_addr one = address(1, 1), there = address(2, 1);

	begin();
	budget_count_always(&b);
	for (uint32_t i = 0; i < 800; i++)
		budget_join(&b, &crowd[i], &one);
	check(!budget_source_is_over(&b, &crowd[0])); /* the source is alone */
	budget_join(&b, &crowd[800], &one);
	check(budget_source_is_over(&b, &crowd[0]));
	for (uint32_t i = 400; i <= 800; i++)
		budget_leave(&b, &crowd[i]);
	budget_join(&b, &other, &there);
	check(!budget_source_is_over(&b, &other));
	check(!budget_source_is_over(&b, &crowd[0]));
	budget_join(&b, &crowd[400], &one);
	check(budget_source_is_over(&b, &crowd[0]));
	budget_look(&b);
	check(budget_has_joined(&b, &other));
	end();
}

TEST(a_56_is_a_prefix_and_a_64_an_address)
{
	struct ip_addr a = {{0x20, 1, 0xd, 0xb8, 0, 0, 1, 1, 1}}, same_64 = a, same_56 = a,
		       other = a;
	struct budget_place p[4] = {0};

	same_64.b[15] = 9;
	same_56.b[7] = 2;
	other.b[6] = 2;
	begin();
	budget_take(&b, TOTAL - RESERVE);
	budget_look(&b);
	budget_join(&b, &p[0], &a);
	budget_join(&b, &p[1], &same_64);
	check_eq(budget_share(&b, &p[0]), 400);
	budget_join(&b, &p[2], &same_56);
	check_eq(budget_share(&b, &p[2]), 400);
	check_eq(budget_share(&b, &p[0]), 200);
	budget_join(&b, &p[3], &other);
	check_eq(budget_share(&b, &p[3]), 400);
	check_eq(budget_share(&b, &p[0]), 100);
	end();
}

struct model {
	struct budget_place place;
	struct ip_addr ip;
	uint32_t network;
	bool in;
};

static uint32_t
model_share(const struct model *all, const struct model *of)
{
	static bool networks[64], hosts[64 * 8];
	uint32_t prefixes = 0, addresses = 0, holders = 0, share;

	memset(networks, 0, sizeof networks);
	memset(hosts, 0, sizeof hosts);
	for (const struct model *m = all; m < all + HOLDERS; m++) {
		const uint32_t host = m->network * 8 + m->ip.b[15];

		if (!m->in)
			continue;
		prefixes += !networks[m->network];
		addresses += m->network == of->network && !hosts[host];
		holders += ip_addr_equal(&m->ip, &of->ip);
		networks[m->network] = hosts[host] = true;
	}
	share = (TOTAL - RESERVE) / prefixes / addresses / holders;
	return share > 0 ? share : 1;
}

TEST(any_order_of_joins_and_leaves_counts_right)
{
	static struct model m[HOLDERS];
	uint64_t x = 88172645463325252ull;

	begin();
	budget_take(&b, TOTAL - RESERVE);
	budget_look(&b);
	memset(m, 0, sizeof m);
	for (uint32_t i = 0; i < HOLDERS; i++) {
		m[i].network = i % 64;
		m[i].ip = address(i % 64, i / 64 % 8);
	}
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct model *one;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		one = &m[x % HOLDERS];
		if (x >> 40 & 1)
			budget_join(&b, &one->place, &one->ip);
		else
			budget_leave(&b, &one->place);
		one->in = x >> 40 & 1;
		if (one->in)
			check_eq(budget_share(&b, &one->place), model_share(m, one));
		if ((x >> 41 & 1023) == 0) { /* a shortage ends, and the next one begins */
			budget_give(&b, TOTAL - RESERVE);
			budget_look(&b);
			budget_take(&b, TOTAL - RESERVE);
			budget_look(&b);
			for (uint32_t k = 0; k < HOLDERS; k++)
				m[k].in = false;
		}
	}
	for (uint32_t i = 0; i < HOLDERS; i++)
		budget_leave(&b, &m[i].place);
	check_eq(b.prefixes, 0);
	check_eq(b.holders, 0);
	end();
}

/* More sources than cells: some share a cell, and none is refused or counted for ever. */
TEST(more_sources_than_cells_are_counted)
{
	static struct budget_place p[4 * BUDGET_CELLS];

	begin();
	budget_take(&b, TOTAL - RESERVE);
	budget_look(&b);
	memset(p, 0, sizeof p);
	for (uint32_t i = 0; i < 4 * BUDGET_CELLS; i++) {
		const struct ip_addr ip = address(i, 1);

		budget_join(&b, &p[i], &ip);
		check(budget_share(&b, &p[i]) >= 1);
	}
	for (uint32_t i = 0; i < 4 * BUDGET_CELLS; i++)
		budget_leave(&b, &p[i]);
	check_eq(b.prefixes, 0);
	check_eq(b.holders, 0);
	for (uint32_t i = 0; i < BUDGET_CELLS; i++)
		check(b.addresses[i].count == 0 && b.networks[i].count == 0);
	end();
}

/* ---- who yields a place ---- */

#define LINE 100u

struct ranked {
	struct list link;
	uint32_t rank;
};

static uint32_t
rank_of(void *arg, struct list *link)
{
	++*(uint32_t *)arg;
	return container_of(link, struct ranked, link)->rank;
}

/* Links holders of these ranks, in this order, and returns the one that yields. */
static struct ranked *
loser_of(struct list *line, struct ranked *r, const uint32_t *ranks, uint32_t n, uint32_t *looks)
{
	struct list *link;

	list_init(line);
	for (uint32_t i = 0; i < n; i++) {
		r[i].rank = ranks[i];
		list_push_back(line, &r[i].link);
	}
	*looks = 0;
	link = budget_loser(line, rank_of, looks);
	return link != NULL ? container_of(link, struct ranked, link) : NULL;
}

TEST(the_first_of_the_lowest_rank_yields)
{
	struct ranked r[4];
	struct list line;
	uint32_t looks;

	check(loser_of(&line, r, NULL, 0, &looks) == NULL);
	check(loser_of(&line, r, (const uint32_t[]){3, 1, 2, 1}, 4, &looks) == &r[1]);
	check_eq(looks, 4);
	check(loser_of(&line, r, (const uint32_t[]){3, 0, 2, 0}, 4, &looks) == &r[1]);
	check_eq(looks, 2);
}

TEST(holders_that_keep_their_places_go_to_the_end)
{
	struct ranked r[LINE];
	uint32_t ranks[LINE], looks;
	struct list line;

	check(loser_of(&line, r, (const uint32_t[]){BUDGET_KEEPS, 5, BUDGET_KEEPS, 4}, 4, &looks) ==
	      &r[3]);
	check_eq(looks, 4);
	check(line.next == &r[1].link);
	check(line.prev == &r[2].link);
	for (uint32_t i = 0; i < LINE; i++)
		ranks[i] = i < BUDGET_LOOKS ? BUDGET_KEEPS : 1;
	check(loser_of(&line, r, ranks, LINE, &looks) == NULL);
	check_eq(looks, BUDGET_LOOKS);
	check(budget_loser(&line, rank_of, &looks) == &r[BUDGET_LOOKS].link);
}
