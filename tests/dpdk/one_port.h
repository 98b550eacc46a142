/*
 * one_port.h - EAL with one lcore on CPU 0, and one port of a software driver, without hugepages.
 *
 * Owner:  the test, which stops its device and ends EAL.
 * Errors: a missing resource fails the test.
 */
#ifndef CLOCKOO_ONE_PORT_H
#define CLOCKOO_ONE_PORT_H

#include "support/test.h"
#include "dpdk/device.h"
#include "dpdk/eal.h"

#define ONE_PORT_FRAMES 1024u

struct one_port {
	struct config config;
	struct profile profile;
	struct device device;
	uint32_t free_at_start; /* frames of the pool */
};

/* Starts EAL for a port of this kind with these --lcores. prefix: of EAL's
 * files, the test's own. */
static inline void
one_port_start_eal(struct one_port *p, const char *kind, const char *lcores, const char *prefix)
{
	struct error err = {0};
	struct eal_args args;
	char path[512], dev[DEVICE_BYTES];

	config_defaults(&p->config);
	p->config.no_huge = true;
	p->config.share_cpus = true;
	check(config_set(&p->config, "port", kind, &err));
	check(config_set(&p->config, "lcores", lcores, &err));
	check(config_set(&p->config, "file-prefix", prefix, &err));
	snprintf(path, sizeof path, PROFILE_DIR "/%s.yaml", kind);
	if (!config_finish(&p->config, &err) || !profile_load(&p->profile, path, kind, &err) ||
	    !profile_device(&p->profile, &p->config, 1, dev, &err))
		fail_msg("%s", err.text);
	eal_args_make(&args, &p->config, &p->profile, dev, 64);
	if (!eal_start(&args, false, &err))
		fail_msg("%s", err.text);
}

/* Starts the port's device, which EAL knows. */
static inline void
one_port_start_device(struct one_port *p)
{
	struct error err = {0};
	struct steer_plan plan;
	struct device_request req = {&p->config, &p->profile, &plan, ONE_PORT_FRAMES, NULL};

	if (!device_find(&p->device, &p->profile, &err) ||
	    !steer_plan_make(&plan, &p->config, &p->profile, &p->device.caps, &err) ||
	    !device_start(&p->device, &req, &err))
		fail_msg("%s", err.text);
	p->free_at_start = device_frames_free(&p->device, 0);
}

#endif
