/*
 * nic.h - starts the port of a configuration: profile, host, cores, plan, DPDK, clock. Both
 * programs use it.
 *
 * nic_prepare and nic_check_resources find every fault that can be found without DPDK. nic_start
 * starts DPDK.
 *
 * Owner:  the caller, from nic_start to nic_stop.
 * Thread: main.
 * Errors: struct error; nothing is left running then.
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

/* EAL's own tables, and the rounding of pools to whole pages. */
#define EAL_MB 8u
/* The program and the libraries with their heaps: 7 MB with any port (DPDK 22.11). */
#define PROGRAM_MB 8u

struct nic {
	struct profile profile;
	struct host host;
	struct machine machine; /* as read; its files are closed */
	struct steer_plan plan;
	struct device device;
	struct tsc_clock clock;
	struct device other;        /* the bond's second NIC */
	struct bond *bond;          /* NULL without a bond */
	struct kernel_port *kernel; /* core 0's port with network.kernel: nic; otherwise NULL */
	struct host other_host;
	struct handover *handover; /* NULL if frames need no hand-over to their core */
	struct huge_block rings;   /* memory of handover, bond and kernel */
	struct user_net *user;     /* NULL unless the port is user */
	struct cable cable;        /* between port user and the cores */
	int claim;                 /* see nic_claim.h; held while the process runs */
	int prefix;                /* see name_claim.h; released before the memory file */
	bool removed_stale_socket; /* a crash had left a socket, which was removed */
	const char *lends_not;     /* why the port copies values although --offloads has tx_loans */
};

/* Reads profile and host, and makes the plan. Chooses cfg->lcores if it is empty. */
bool nic_prepare(struct nic *nic, struct config *cfg, struct error *err);

/* Returns the memory of rings between cores, of the bond and of the kernel's copies. */
uint64_t nic_ring_bytes(const struct steer_plan *plan, const struct config *cfg);

/* Returns the memory that the kernel takes for the port's rings. */
uint64_t nic_kernel_ring_bytes(const struct profile *profile, const struct config *cfg,
			       uint32_t queues);

/* Returns the sum of nic_ring_bytes and nic_kernel_ring_bytes, for a started port. */
uint64_t nic_all_ring_bytes(const struct nic *nic, const struct config *cfg);

/* Returns the memory of all cores' frames. frames is the number per core. */
uint64_t nic_pool_bytes(const struct nic *nic, const struct config *cfg, uint32_t frames);

/* True if the machine has the hugepages and other resources of a start. block_bytes is the
 * program's block. */
bool nic_check_resources(const struct nic *nic, const struct config *cfg, uint64_t block_bytes,
			 uint32_t frames, struct error *err);

/* Starts DPDK, the port and the clock. */
bool nic_start(struct nic *nic, const struct config *cfg, uint32_t frames, struct error *err);
/* Lets clients connect. Some ports refuse them until the cores are about to turn. */
bool nic_listen(struct nic *nic, struct error *err);
void nic_stop(struct nic *nic);

/* Returns the ring with the kernel's copies for core 0; NULL without network.kernel: nic. */
struct kernel_ring *nic_kernel_ring(struct nic *nic);
/* Lets the port send values from this block without a copy, if it can. Called before the cores are
 * built. */
void nic_lend(struct nic *nic, const struct config *cfg, const struct huge_block *block);

/* Returns the port of a core: that of its queue, or one that hands frames over. */
struct port *nic_port(struct nic *nic, uint32_t core);

/* True if the port can send and receive: its NIC has a link, or a NIC of its bond carries frames.
 * Called ten times a second: the
 * bond learns the links of its NICs by this call. */
bool nic_link_up(struct nic *nic);

/* Returns the bond's second NIC; NULL without a bond. */
static inline struct device *
nic_other(struct nic *nic)
{
	return nic->bond != NULL ? &nic->other : NULL;
}

/* Returns the frames and losses since the start, of both NICs of a bond together. */
void nic_losses(struct nic *nic, struct device_losses *losses);

/* Returns the configuration of a port that has only the bond's second NIC. */
struct config nic_other_config(const struct config *cfg);

/* True if a flow that moves to the bond's other NIC stays on its core: both NICs spread by the
 * plan's key and table, or by the kernel's one hash, or cores hand frames over. */
bool nic_members_spread_alike(const struct steer_plan *plan, const struct profile *profile,
			      const struct config *cfg, struct error *err);

/* Returns the operator's name of a NIC of the bond. */
const char *nic_member_name(const struct config *cfg, uint32_t member);

/* Prints a line for each respect in which steering differs from what the operator may expect. */
void nic_warn(const struct nic *nic, const char *program);

#endif
