/*
 * Drivers of clouds' NICs. Goal: the RSS key reaches a driver that takes it only by a call of its
 * own, before the start; counters of allowances are read if the driver has them, and are unknown
 * otherwise. Method: net_null, and functions that come before ethdev's own in this program.
 */
#include "one_port.h"

#include <rte_ethdev.h>
#include <rte_mempool.h>

static struct one_port one;
static bool is_ena, fails, update_fails;
static uint32_t updates; /* calls that set the RSS key */
static uint64_t update_hf;
static bool update_was_late; /* the port had started */

/* ---- in place of ethdev's ---- */

static const char *const ena_names[] = {"wd_expired", "pps_allowance_exceeded",
					"conntrack_allowance_available"};

int
rte_eth_xstats_get_id_by_name(uint16_t port, const char *name, uint64_t *id)
{
	(void)port;
	for (uint64_t i = 0; is_ena && i < sizeof ena_names / sizeof ena_names[0]; i++)
		if (strcmp(ena_names[i], name) == 0)
			return *id = i, 0;
	return -EINVAL;
}

int
rte_eth_xstats_get_by_id(uint16_t port, const uint64_t *ids, uint64_t *values, unsigned int size)
{
	(void)port;
	check_eq(size, 1);
	check(ids[0] < sizeof ena_names / sizeof ena_names[0]);
	values[0] = 100 + ids[0];
	return fails ? -EIO : 1;
}

int
rte_eth_dev_rss_hash_update(uint16_t port, struct rte_eth_rss_conf *conf)
{
	struct rte_eth_link link;

	updates++;
	update_hf = conf->rss_hf;
	update_was_late = rte_eth_link_get_nowait(port, &link) == 0 && link.link_status != 0;
	return update_fails ? -EINVAL : 0;
}

/* ---- ports ---- */

static void
start(enum rss_key_by key_by)
{
	one.profile.spread = SPREAD_RSS;
	one.profile.queues_max = 2;
	one.profile.rss_key_by = (uint32_t)key_by;
	one_port_start_device(&one);
}

static void
the_port_stops(void)
{
	check_eq(rte_eth_dev_stop(one.device.id), 0);
	for (uint32_t i = 0; i < one.device.cores; i++)
		rte_mempool_free(one.device.ports[i].pool);
}

TEARDOWN(the_next_test_sets_it_up_again)
{
	the_port_stops();
	updates = 0;
}

TEST(the_key_is_given_by_a_call_where_the_driver_ignores_the_configurations)
{
	start(RSS_KEY_BY_CONFIGURE);
	check_eq(one.device.queues, 2);
	check_eq(updates, 0);
}

TEST(the_call_precedes_the_start)
{
	start(RSS_KEY_BY_UPDATE);
	check_eq(updates, 1);
	check(update_hf != 0 && !update_was_late);
}

TEST(a_key_that_is_refused_ends_the_start)
{
	struct error err = {0};
	struct steer_plan plan;
	struct device_request req = {&one.config, &one.profile, &plan, ONE_PORT_FRAMES, NULL};

	start(RSS_KEY_BY_UPDATE);
	the_port_stops();
	update_fails = true;
	check(steer_plan_make(&plan, &one.config, &one.profile, &one.device.caps, &err));
	check(!device_start(&one.device, &req, &err));
	check_ptr(strstr(err.text, "the driver refused to take its RSS key: "));
	update_fails = false;
	start(RSS_KEY_BY_UPDATE);
}

TEST(allowances_of_an_ena_are_read)
{
	uint64_t allowances[NIC_ALLOWANCE_COUNT];

	is_ena = true;
	start(RSS_KEY_BY_CONFIGURE);
	device_allowances(&one.device, allowances);
	check_eq(allowances[NIC_ALLOWANCE_PPS], 101);
	check_eq(allowances[NIC_ALLOWANCE_CONNTRACK_LEFT], 102);
	check_eq(allowances[NIC_ALLOWANCE_BW_IN], NIC_ALLOWANCE_UNKNOWN);
	check_eq(nic_allowances_exceeded(allowances), 101);
	fails = true;
	device_allowances(&one.device, allowances);
	check_eq(allowances[NIC_ALLOWANCE_PPS], NIC_ALLOWANCE_UNKNOWN);
	is_ena = fails = false;
}

TEST(another_nic_has_no_allowances)
{
	uint64_t allowances[NIC_ALLOWANCE_COUNT];

	start(RSS_KEY_BY_CONFIGURE);
	device_allowances(&one.device, allowances);
	for (uint32_t i = 0; i < NIC_ALLOWANCE_COUNT; i++)
		check_eq(allowances[i], NIC_ALLOWANCE_UNKNOWN);
}

static void
begin(void)
{
	one_port_start_eal(&one, "null", "0@0,1@0", "test_cloud_port");
}

int
main(void)
{
	return tests_run(begin, eal_stop);
}
