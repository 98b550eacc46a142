/*
 * The VLANs that a NIC receives. Goal: beside the kernel (network.kernel: a tap), which has VLANs
 * of its own, no NIC drops tagged frames, also after a reset: it does not filter, or has an entry
 * for every VLAN if it must filter; without the kernel it has entries for the appliance's. Method:
 * lib/dpdk over a NIC that records its settings (forgetful_nic.h), under the names of several
 * drivers.
 */
#include "forgetful_nic.h"
#include "one_port.h"

#define CORES     2u
#define OUR_VLAN  7u
#define ALL_VLANS 4095u /* from 0 to 4094 */

static struct one_port one;
static struct steer_plan plan;
static struct device_request request;

/* Sets the port up anew. */
static void
set_up(const char *driver, const char *kernel, uint32_t vlan, const char *addresses)
{
	struct error err = {0};

	snprintf(one.device.driver, sizeof one.device.driver, "%s", driver);
	snprintf(one.config.kernel, sizeof one.config.kernel, "%s", kernel);
	snprintf(one.config.addresses, sizeof one.config.addresses, "%s", addresses);
	one.config.vlan = vlan;
	nic.has_reset = true;
	if (!device_reset(&one.device, &request, &err))
		fail_msg("%s", err.text);
}

TEST(without_the_kernel_a_nic_is_told_of_our_vlan)
{
	static const char *const drivers[] = {"net_virtio", "net_ixgbe", "net_iavf"};

	for (uint32_t i = 0; i < 3; i++) {
		set_up(drivers[i], "", OUR_VLAN, "");
		check(nic.now.filters_vlans);
		check_eq(nic.vlans, 1);
		check_eq(nic.now.vlan, OUR_VLAN);
		set_up(drivers[i], "", 0, "");
		check(!nic.now.filters_vlans);
	}
}

TEST(beside_the_kernel_a_nic_does_not_filter)
{
	set_up("net_ixgbe", "clockoo0", 0, "");
	check(!nic.now.filters_vlans);
	set_up("net_ixgbe", "clockoo0", OUR_VLAN, "");
	check(!nic.now.filters_vlans);
	set_up("net_ixgbe", "clockoo0", 0, "10.0.7.2/24 vlan 7");
	check(!nic.now.filters_vlans);
}

TEST(beside_the_kernel_virtio_is_told_of_every_vlan)
{
	for (uint32_t vlan = 0; vlan <= OUR_VLAN; vlan += OUR_VLAN) {
		set_up("net_virtio", "clockoo0", vlan, "");
		check(nic.now.filters_vlans);
		check_eq(nic.vlans, ALL_VLANS);
		check_eq(nic.now.vlan, ALL_VLANS - 1);
	}
}

/* The host of a virtual function gives it few VLANs, none that it did not name. */
TEST(a_virtual_function_is_told_of_our_vlan_only)
{
	set_up("net_iavf", "clockoo0", OUR_VLAN, "");
	check(nic.now.filters_vlans);
	check_eq(nic.vlans, 1);
	check_eq(nic.now.vlan, OUR_VLAN);
}

static void
start(void)
{
	struct error err = {0};

	one_port_start_eal(&one, "ring", "0@0", "test_kernel_vlans");
	if (!profile_load(&one.profile, PROFILE_DIR "/ixgbe.yaml", "ixgbe", &err))
		fail_msg("%s", err.text);
	one.config.cores = one.config.queues = CORES;
	check(config_set(&one.config, "udp-port", "11211", &err));
	memcpy(nic.mac_at_reset, nic.now.mac, sizeof nic.mac_at_reset);
	request = (struct device_request){&one.config, &one.profile, &plan, 1024, NULL};
	if (!device_find(&one.device, &one.profile, &err) ||
	    !steer_plan_make(&plan, &one.config, &one.profile, &one.device.caps, &err) ||
	    !device_start(&one.device, &request, &err))
		fail_msg("%s", err.text);
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
