/*
 * nic.h - from a configuration to a running port: profile, host, cores, plan, DPDK, clock.
 *
 * Shared by both programs. nic_prepare and nic_check_resources refuse all that can be refused
 * without DPDK; nic_start runs it.
 *
 * Owner:  the caller, from nic_start to nic_stop.
 * Thread: main.
 * Errors: struct error; on false nothing is left running.
 */
#ifndef CLOCKOO_NIC_H
#define CLOCKOO_NIC_H

#include "config/config.h"
#include "profile/profile.h"
#include "dpdk/device.h"
#include "dpdk/host.h"
#include "dpdk/huge_block.h"
#include "dpdk/tsc_clock.h"
#include "machine.h"
#include "user_net.h"
#include "pkt/handover.h"
#include "steer/plan.h"

/* EAL's own tables, and the rounding of pools up to pages. */
#define EAL_MB 8u
/* The program, the libraries and their heaps: 7 MB measured with any port (DPDK 22.11). */
#define PROGRAM_MB 8u

struct nic {
	struct profile profile;
	struct host host;
	struct machine machine; /* read; its tree is closed */
	struct steer_plan plan;
	struct device device;
	struct tsc_clock clock;
	struct handover *handover; /* NULL: flows reach their core without it */
	struct huge_block rings;   /* of handover */
	struct user_net *user;     /* NULL: the port is another one than user */
	struct cable cable;        /* between it and the cores */
	int claim;                 /* nic_claim.h; this one's for as long as it runs */
	int prefix;                /* name_claim.h; given up before the memory file */
	bool removed_stale_socket; /* a socket that a crash left was removed */
};

/* Profile, host and plan; chooses cfg->lcores if they are not set. */
bool nic_prepare(struct nic *nic, struct config *cfg, struct error *err);

/* The memory of the rings between cores, where the plan wants any. */
uint64_t nic_ring_bytes(const struct steer_plan *plan, const struct config *cfg);

/* The memory of the rings that the kernel makes for a port; 0: it makes none. */
uint64_t nic_kernel_ring_bytes(const struct profile *profile, const struct config *cfg,
			       uint32_t queues);

/* Both, of a started port. */
uint64_t nic_all_ring_bytes(const struct nic *nic, const struct config *cfg);

/* The memory of the frames that cores may hold: frames each. */
uint64_t nic_pool_bytes(const struct nic *nic, const struct config *cfg, uint32_t frames);

/* Does the machine have all that is needed, with block_bytes of memory for the program? */
bool nic_check_resources(const struct nic *nic, const struct config *cfg, uint64_t block_bytes,
			 uint32_t frames, struct error *err);

/* DPDK, the port and the clock. */
bool nic_start(struct nic *nic, const struct config *cfg, uint32_t frames, struct error *err);
void nic_stop(struct nic *nic);

/* The port of one core: its queue's, or the one that hands frames over. */
struct port *nic_port(struct nic *nic, uint32_t core);

/* One line for each way in which flows are steered otherwise than the operator may expect. */
void nic_warn(const struct nic *nic, const char *program);

#endif
