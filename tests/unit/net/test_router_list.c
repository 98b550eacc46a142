/*
 * Routers that advertise themselves. Goal: the chosen router stays while its lifetime lasts and
 * none is preferred to it; one that ends is left; forged ones take no place from a better one.
 * Method: advertisements and times by hand.
 */
#include "support/test.h"
#include "net/router_list.h"

#define LONG_NS  1000u
#define SHORT_NS 100u

static struct router_list list;
static struct ip_addr chosen;

static struct ip_addr
router_ip(uint8_t last)
{
	return (struct ip_addr){{0xfe, 0x80, [15] = last}};
}

/* Notes a router; until_ns 0: it gives up its place. */
static bool
note(uint8_t last, int8_t preference, uint64_t until_ns, uint64_t now_ns)
{
	const struct router r = {router_ip(last), until_ns, preference};

	return router_list_note_mt(&list, &r, now_ns);
}

static void
begin(void)
{
	list = (struct router_list){0};
	chosen = (struct ip_addr){0};
}

/* Checks the router that is chosen now, by its last byte; 0: none. */
static void
check_chosen(uint64_t now_ns, uint8_t last)
{
	(void)router_list_choose_mt(&list, now_ns, &chosen);
	check_eq(chosen.b[15], last);
	check(!router_list_choose_mt(&list, now_ns, &chosen));
}

TEST(the_first_of_equals_stays)
{
	begin();
	check_chosen(0, 0);
	check(note(2, ROUTER_MEDIUM, LONG_NS, 0));
	check_chosen(1, 2);
	check(note(1, ROUTER_MEDIUM, LONG_NS, 1));
	check_chosen(2, 2);
	check(note(3, ROUTER_LOW, LONG_NS, 1));
	check_chosen(2, 2);
}

TEST(a_preferred_one_takes_over)
{
	begin();
	check(note(1, ROUTER_LOW, LONG_NS, 0));
	check_chosen(1, 1);
	check(note(2, ROUTER_MEDIUM, LONG_NS, 1));
	check_chosen(2, 2);
	check(note(1, ROUTER_HIGH, LONG_NS, 2));
	check_chosen(3, 1);
}

TEST(one_whose_lifetime_is_over_is_left)
{
	begin();
	check(note(1, ROUTER_HIGH, SHORT_NS, 0));
	check(note(2, ROUTER_LOW, LONG_NS, 0));
	check_chosen(SHORT_NS - 1, 1);
	check_chosen(SHORT_NS, 2);
	check(note(1, ROUTER_HIGH, LONG_NS, SHORT_NS));
	check_chosen(SHORT_NS + 1, 1);
	check(note(1, ROUTER_MEDIUM, 0, SHORT_NS + 1));
	check_chosen(SHORT_NS + 2, 2);
	check_chosen(LONG_NS, 0);
}

TEST(many_take_no_place_from_a_better_one)
{
	begin();
	check(note(1, ROUTER_MEDIUM, LONG_NS, 0));
	check_chosen(1, 1);
	for (uint32_t i = 2; i < 200; i++)
		(void)note((uint8_t)i, ROUTER_MEDIUM, LONG_NS, 1);
	check_chosen(2, 1);
	check(!note(200, ROUTER_MEDIUM, LONG_NS, 2));
	check(note(201, ROUTER_HIGH, LONG_NS, 2));
	check_chosen(3, 201);
	check(note(200, ROUTER_MEDIUM, 2 * LONG_NS, LONG_NS));
}

TEST(a_core_does_not_wait_for_another)
{
	begin();
	check(spin_try(&list.lock));
	check(!note(1, ROUTER_MEDIUM, LONG_NS, 0));
	check(!router_list_choose_mt(&list, 0, &chosen));
	spin_unlock(&list.lock);
	check(note(1, ROUTER_MEDIUM, LONG_NS, 0));
	check_chosen(1, 1);
}
