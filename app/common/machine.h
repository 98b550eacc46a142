/*
 * machine.h - the machine that a program runs on or is planned for, and the placement on it.
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
	struct pci_nic nic; /* of --port; absent if the port is no NIC */
	int32_t nic_node;
	struct placement placement;
};

/* Reads the machine. where: "/", or the folder of --sysfs. On false nothing is left open. */
bool machine_read(struct machine *m, const struct config *cfg, const char *where,
		  struct error *err);
void machine_close(struct machine *m);

/* Adds isolated CPUs that this process may run on. Isolated CPUs (isolcpus=) are in no process's
 * set, yet a process may ask for them. */
void machine_add_isolated(const struct machine *m, struct cpu_list *cpus);

/* Chooses the CPUs of workers and control thread, and cfg->lcores if they are not set. usable: NULL
 * for every CPU. */
bool machine_place(struct machine *m, struct config *cfg, const struct cpu_list *usable,
		   struct error *err);

#endif
