/*
 * one_82599.h - DPDK's ixgbe driver on one model of the 82599 at speed, with one queue and one
 * core.
 *
 * Owner:  the test, which stops the device. There is one model in a process.
 * Errors: a missing resource fails the test.
 */
#ifndef CLOCKOO_ONE_82599_H
#define CLOCKOO_ONE_82599_H

#include "support/test.h"
#include "dpdk/device.h"
#include "dpdk/eal.h"
#include "nic82599/speed82599.h"

#define RING      128u
#define FRAMES    512u /* of the pool beside the rings */
#define MEMORY_MB 288u

static struct pci_folder folder;
static struct nic82599 nic;
static struct speed82599 speed;
static struct config config;
static struct profile profile;
static struct steer_plan plan;
static struct device device;

static inline struct port *
port(void)
{
	return &device.ports[0].port;
}

/* Makes the configuration, whose profile the test may change, and the model of the NIC. prefix: the
 * file prefix of the test's EAL. */
static inline void
nic_make(const char *prefix)
{
	struct error err = {0};

	config_defaults(&config);
	config.no_huge = true;
	check(config_set(&config, "port", PCI_FOLDER_ADDRESS, &err));
	check(config_set(&config, "file-prefix", prefix, &err));
	config.cores = 1;
	check(lcores_parse(&config.lcores, "0@0", &err));
	if (!profile_load(&profile, PROFILE_DIR "/ixgbe.yaml", "ixgbe", &err))
		fail_msg("%s", err.text);
	profile.rx_ring = profile.tx_ring = RING;
	pci_folder_make(&folder, VENDOR_INTEL, DEVICE_82599_KX4);
	nic82599_start_shared(&nic);
}

/* Starts the model's thread, EAL and the device. */
static inline void
nic_start(const struct speed82599_options *options, const struct device_request *req)
{
	struct error err = {0};
	struct eal_args args;

	speed82599_start(&speed, &nic, options);
	eal_args_make(&args, &config, &profile, config.pci, MEMORY_MB);
	if (!eal_start(&args, false, &err) || !device_find(&device, &profile, &err) ||
	    !steer_plan_make(&plan, &config, &profile, &device.caps, &err) ||
	    !device_start(&device, req, &err))
		fail_msg("%s", err.text);
}

/* Ends EAL and removes the model. The device has been stopped. */
static inline void
nic_end(void)
{
	eal_stop();
	speed82599_stop(&speed);
	pci_folder_remove(&folder);
}

#endif
