/*
 * A NIC that leaves frames to the kernel (network.kernel: nic). Goal: it is isolated before it is
 * configured, gives the cache its ports over both families and nothing else, by the plan's hash, is
 * asked for nothing that an isolated port does not have, and is so again after a reset; a driver
 * that refuses any of it is named. Method: lib/dpdk over a NIC that records its
 * set-up (forgetful_nic.h), with the profile of ConnectX; no real one is used.
 */
#include "forgetful_nic.h"
#include "one_port.h"

#include <netinet/in.h>

#define CORES     2u
#define PORT      11211u
#define OWN_FIRST 61000u
#define PORTS     65536u

static struct one_port one;
static struct steer_plan plan;
static struct device_request request;
static struct nic_setup first;

/* Returns the rules that give such a packet to the cache. */
static uint32_t
rules_for(uint8_t ip_version, uint8_t protocol, uint32_t port)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nic.now.rules; i++) {
		const struct nic_rule *r = &nic.now.rule[i];

		n += r->ip_version == ip_version && r->protocol == protocol &&
		     ((ntohs(r->dst_port) ^ port) & ntohs(r->dst_port_mask)) == 0;
	}
	return n;
}

TEST(the_cache_gets_its_ports_and_the_kernel_all_else)
{
	check(nic.now.isolated);
	for (uint32_t port = 0; port < PORTS; port++) {
		const uint32_t tcp = port == PORT || port >= OWN_FIRST;
		const uint32_t udp = port == PORT;

		check_eq(rules_for(4, IPPROTO_TCP, port), tcp);
		check_eq(rules_for(6, IPPROTO_TCP, port), tcp);
		check_eq(rules_for(4, IPPROTO_UDP, port), udp);
		check_eq(rules_for(6, IPPROTO_UDP, port), udp);
	}
}

TEST(every_rule_names_a_port_and_spreads_over_all_queues)
{
	for (uint32_t i = 0; i < nic.now.rules; i++) {
		check(nic.now.rule[i].protocol != 0 && nic.now.rule[i].dst_port_mask != 0);
		check_eq(nic.now.rule[i].queues, CORES);
		check_bytes(nic.now.rule[i].key, plan.rss_key, sizeof nic.now.rule[i].key);
	}
}

TEST(nothing_is_asked_for_that_an_isolated_port_does_not_have)
{
	check_eq(nic.now.groups, 0);
	check_eq(nic.now.reta[1], 0);
	device_join(&one.device,
		    &(struct device_joins){.groups = 1, .group = (uint8_t[1][6]){{1}}});
	check_eq(nic.now.groups, 0);
}

TEST(a_reset_isolates_it_again)
{
	struct error err = {0};

	nic.has_reset = true;
	check(device_reset(&one.device, &request, &err));
	check_eq(nic.resets, 1);
	check_bytes(&nic.now, &first, sizeof first);
	nic.now.rules = 0;
	check(device_restore(&one.device, &request, &err));
	check_eq(nic.now.rules, first.rules);
}

TEST(a_driver_that_cannot_leave_frames_to_the_kernel_is_named)
{
	struct error err = {0};

	nic.cannot_isolate = true;
	check(!device_reset(&one.device, &request, &err));
	check_ptr(strstr(err.text, "--kernel nic: the driver cannot leave frames to the kernel: "));
	nic.cannot_isolate = false;
	check(device_reset(&one.device, &request, &err));
}

TEST(one_refused_rule_fails_the_start)
{
	struct error err = {0};

	nic.rules_max = first.rules - 1;
	check(!device_reset(&one.device, &request, &err));
	check_ptr(strstr(err.text, "--kernel nic: the NIC refused the rule \"TCP over IPv6 ports"));
	nic.rules_max = NIC_RULES;
	check(device_reset(&one.device, &request, &err));
}

static void
start(void)
{
	struct error err = {0};

	one_port_start_eal(&one, "ring", "0@0", "test_isolation");
	if (!profile_load(&one.profile, PROFILE_DIR "/mlx5.yaml", "mlx5", &err))
		fail_msg("%s", err.text);
	one.config.cores = one.config.queues = CORES;
	check(config_set(&one.config, "udp-port", "11211", &err));
	check(config_set(&one.config, "kernel", "nic", &err));
	check(config_set(&one.config, "front-servers", "10.0.0.9:11211", &err));
	nic.rules_max = NIC_RULES;
	request = (struct device_request){&one.config, &one.profile, &plan, 1024, NULL};
	if (!device_find(&one.device, &one.profile, &err) ||
	    !steer_plan_make(&plan, &one.config, &one.profile, &one.device.caps, &err) ||
	    !device_start(&one.device, &request, &err))
		fail_msg("%s", err.text);
	first = nic.now;
}

static void
stop(void)
{
	device_stop(&one.device);
	eal_stop();
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		tests_filter(argv[1]);
	return tests_run(start, stop);
}
