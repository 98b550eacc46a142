/*
 * machine.h - the machine on which a program runs or for which it plans, and the CPUs of workers
 * and control thread.
 *
 * Owner:  the caller, from machine_read to machine_close.
 * Thread: main, at start.
 * Errors: struct error.
 */
#ifndef CLOCKOO_MACHINE_H
#define CLOCKOO_MACHINE_H

#include "config/config.h"
#include "topology/pci_nic.h"
#include "topology/placement.h"

struct machine {
	struct tree tree;
	struct topology topology;
	struct pci_nic nic; /* the NIC of --port; absent if the port is no NIC */
	int32_t nic_node;
	struct placement placement;
};

/* Reads the machine. where is "/", or the folder of --sysfs. On failure nothing is left open. */
bool machine_read(struct machine *m, const struct config *cfg, const char *where,
		  struct error *err);
void machine_close(struct machine *m);

/* Adds the isolated CPUs on which this process may run. Isolated CPUs (isolcpus=) are in no
 * process's set, but a process may ask for them. */
void machine_add_isolated(const struct machine *m, struct cpu_list *cpus);

/* Chooses the CPUs of workers and control thread; sets cfg->lcores if it is empty. usable NULL: all
 * CPUs are usable. */
bool machine_place(struct machine *m, struct config *cfg, const struct cpu_list *usable,
		   struct error *err);

#endif
