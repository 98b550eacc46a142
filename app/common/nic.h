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

#include "bond/bond.h"
#include "config/config.h"
#include "kernel/kernel_port.h"
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
	struct machine machine; /* as read; its folder is closed */
	struct steer_plan plan;
	struct device device;
	struct tsc_clock clock;
	struct device other;        /* the bond's second member */
	struct bond *bond;          /* NULL: one NIC */
	struct kernel_port *kernel; /* core 0's, if the NIC leaves frames to the kernel; or NULL */
	struct host other_host;
	struct handover *handover; /* NULL: flows reach their core without it */
	struct huge_block rings;   /* of handover, bond and kernel */
	struct user_net *user;     /* NULL: the port is not user */
	struct cable cable;        /* between port user and the cores */
	int claim;                 /* nic_claim.h; held while the process runs */
	int prefix;                /* name_claim.h; released before the memory file */
	bool removed_stale_socket; /* a socket that a crash left was removed */
	const char *lends_not;     /* why values are copied although --offloads has tx_loans */
};

/* Reads profile and host, and makes the plan. Chooses cfg->lcores if they are not set. */
bool nic_prepare(struct nic *nic, struct config *cfg, struct error *err);

/* Returns the memory of the rings between cores, of a bond and of the kernel's copies; 0 if there
 * is none. */
uint64_t nic_ring_bytes(const struct steer_plan *plan, const struct config *cfg);

/* Returns the memory of the rings that the kernel makes for a port; 0 if it makes none. */
uint64_t nic_kernel_ring_bytes(const struct profile *profile, const struct config *cfg,
			       uint32_t queues);

/* Returns the memory of both kinds of rings of a started port. */
uint64_t nic_all_ring_bytes(const struct nic *nic, const struct config *cfg);

/* Returns the memory of the frames of all cores. frames: for each core. */
uint64_t nic_pool_bytes(const struct nic *nic, const struct config *cfg, uint32_t frames);

/* True if the machine has all that a start needs, with block_bytes of memory for the program. */
bool nic_check_resources(const struct nic *nic, const struct config *cfg, uint64_t block_bytes,
			 uint32_t frames, struct error *err);

/* Starts DPDK, the port and the clock. */
bool nic_start(struct nic *nic, const struct config *cfg, uint32_t frames, struct error *err);
/* Lets clients connect, where a port refuses them until its cores are about to run. */
bool nic_listen(struct nic *nic, struct error *err);
void nic_stop(struct nic *nic);

/* Returns the ring of copies for core 0; NULL unless the NIC leaves frames to the kernel. */
struct kernel_ring *nic_kernel_ring(struct nic *nic);
/* Lets the port read values in this block, where it can. Call before the cores are built. */
void nic_lend(struct nic *nic, const struct config *cfg, const struct huge_block *block);

/* Returns the port of one core: that of its queue, or one that hands over frames. */
struct port *nic_port(struct nic *nic, uint32_t core);

/* True if the port carries frames: its NIC has a link, or a member of its bond distributes. The
 * bond learns its members' links by this call, which is made ten times a second. */
bool nic_link_up(struct nic *nic);

/* Returns the bond's second member, or NULL. */
static inline struct device *
nic_other(struct nic *nic)
{
	return nic->bond != NULL ? &nic->other : NULL;
}

/* Sums up both members' frames since start, where there is a bond. */
void nic_losses(struct nic *nic, struct device_losses *losses);

/* Returns the configuration of a port whose only NIC is the bond's second member. */
struct config nic_other_config(const struct config *cfg);

/* True unless a flow that moves to the bond's other member would reach another core there: both
 * members spread by the plan's key and table, or by the kernel's one hash, or cores hand frames
 * over. */
bool nic_members_spread_alike(const struct steer_plan *plan, const struct profile *profile,
			      const struct config *cfg, struct error *err);

/* Returns the operator's name of a bond's member. */
const char *nic_member_name(const struct config *cfg, uint32_t member);

/* Prints one line for each way in which steering differs from what the operator may expect. */
void nic_warn(const struct nic *nic, const char *program);

#endif
