/*
 * A reload's addresses: all cores get one new table. The previous table stays valid until every
 * core uses the new one, and only then are the addresses announced (net/ADDRESSES.md, A7).
 */
#include "access/own_addrs.h"
#include "net/neigh_table.h"
#include "net/net.h"

#include "support/test.h"

#include <stdlib.h>

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};

static bool settled, accepts;
static const struct local_addrs *given;
static uint32_t given_count, announced;

bool
serve_settled_mt(const struct serve_shared *shared)
{
	return settled;
}

bool
serve_addrs_replace_mt(struct serve_shared *shared, const struct local_addrs *addrs)
{
	if (!accepts)
		return false;
	given = addrs;
	given_count++;
	return true;
}

void
neigh_announce_mt(struct neigh_table *neigh)
{
	announced++;
}

void
device_join(struct device *device, const struct device_joins *joins)
{
}

/* A list of count addresses from 10.0.0.1 on. */
static struct addr_list
list_of(uint32_t count)
{
	struct addr_list list = {.addr = calloc(count, sizeof *list.addr), .addr_count = count};

	for (uint32_t i = 0; i < count; i++)
		list.addr[i] = (struct config_addr){.ip = ip_addr_v4(0x0a000001u + i),
						    .prefix_len = 96 + 24};
	return list;
}

static void
change(struct own_addrs *a, uint32_t count, bool differs)
{
	struct addr_list list = list_of(count);

	check(own_addrs_change(a, &list) == differs);
}

static void
apply(struct own_addrs *a, bool cores_have_it, bool ends)
{
	settled = cores_have_it;
	check(own_addrs_apply(a, NULL, NULL) == ends);
}

static struct own_addrs
begin(void)
{
	struct own_addrs a = {0};
	struct addr_list list = list_of(1);
	struct error err;

	accepts = true;
	given = NULL;
	given_count = announced = 0;
	check(own_addrs_begin(&a, &list, mac, &(struct net_config){.ipv6_off = true}, &err));
	addr_list_free(&list);
	return a;
}

static bool
has(const struct own_addrs *a, uint32_t ip)
{
	const struct ip_addr addr = ip_addr_v4(ip);

	return local_addrs_find(a->now.table, &addr, LINK_FIRST) != LOCAL_NONE;
}

TEST(addresses_are_announced_after_all_cores_have_them)
{
	struct own_addrs a = begin();

	change(&a, 3, true);
	apply(&a, false, false);
	check_eq(given_count, 0);
	apply(&a, true, false);
	check_eq(given_count, 1);
	check(given == a.now.table && has(&a, 0x0a000003u));
	apply(&a, false, false);
	check_eq(announced, 0);
	apply(&a, true, true);
	check_eq(announced, 1);
	check(own_addrs_is_applied(&a));
	apply(&a, true, false);
	check_eq(announced, 1);
	own_addrs_end(&a);
}

TEST(a_list_that_comes_during_a_change_waits_for_its_end)
{
	struct own_addrs a = begin();

	change(&a, 3, true);
	apply(&a, true, false);
	change(&a, 2, true);
	apply(&a, false, false);
	check_eq(given_count, 1);
	check(has(&a, 0x0a000003u));
	apply(&a, true, true);
	check_eq(given_count, 2);
	check(!has(&a, 0x0a000003u) && !own_addrs_is_applied(&a));
	apply(&a, true, true);
	check_eq(announced, 2);
	own_addrs_end(&a);
}

TEST(the_last_of_several_lists_is_the_one_that_counts)
{
	struct own_addrs a = begin();

	change(&a, 3, true);
	change(&a, 2, true);
	apply(&a, true, false);
	apply(&a, true, true);
	check_eq(given_count, 1);
	check(has(&a, 0x0a000002u) && !has(&a, 0x0a000003u));
	own_addrs_end(&a);
}

TEST(the_list_in_use_changes_nothing)
{
	struct own_addrs a = begin();

	change(&a, 1, false);
	apply(&a, true, false);
	check_eq(given_count + announced, 0);
	own_addrs_end(&a);
}

TEST(a_table_that_the_cores_cannot_take_yet_is_offered_again)
{
	struct own_addrs a = begin();

	change(&a, 3, true);
	accepts = false;
	apply(&a, true, false);
	check(!own_addrs_is_applied(&a) && !has(&a, 0x0a000003u));
	accepts = true;
	apply(&a, true, false);
	apply(&a, true, true);
	check(has(&a, 0x0a000003u));
	own_addrs_end(&a);
}
