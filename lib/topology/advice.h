/*
 * advice.h - findings about a machine: what in it is wrong or slow for the appliance, and how to
 * fix that.
 *
 * Each rule makes one finding from what was read and planned: ok, a warning (it costs speed), a
 * failure (it will not start), or unknown. --plan prints warnings and failures, doctor prints
 * all.
 *
 * Shape:  one entry for each rule, in a fixed order. fix is a command, or what to change; empty if
 *         there is nothing to fix.
 * Thread: pure functions over what was read; a few rules read a file of the tree themselves.
 * Bounds: ADVICE_MAX entries, longer lines are cut.
 */
#ifndef CLOCKOO_ADVICE_H
#define CLOCKOO_ADVICE_H

#include "config/config.h"
#include "placement.h"
#include "pci_nic.h"

#define ADVICE_MAX       40u
#define ADVICE_WORDS     192u
#define ADVICE_FIX_BYTES 384u

enum advice_severity { ADVICE_UNKNOWN, ADVICE_OK, ADVICE_WARN, ADVICE_FAIL };

struct advice {
	enum advice_severity severity;
	const char *subject;
	char words[ADVICE_WORDS];
	char fix[ADVICE_FIX_BYTES];
};

struct advice_list {
	uint32_t count;
	struct advice at[ADVICE_MAX];
};

/* The input of the rules. */
struct advice_input {
	const struct tree *tree;
	const struct topology *topology;
	const struct placement *placement;
	const struct pci_nic *nic; /* NULL: the port is not a NIC on the PCI bus */
	const struct config *config;
	uint64_t block_bytes; /* the memory of one block, in pages of one size */
	uint64_t pool_bytes;  /* memory for frames, in pages of any size */
	const char *nic_tool; /* as the operator calls it: tools/nic, or its installed path */
	bool root;            /* the caller may lock memory and open devices */
};

/* Adds findings about what slows cores, clocks and memory. */
void advice_speed(struct advice_list *list, const struct advice_input *c);
/* Adds findings about the NIC and the access to it. */
void advice_nic(struct advice_list *list, const struct advice_input *c);
/* Adds findings about what a start needs: memory and ports. */
void advice_start(struct advice_list *list, const struct advice_input *c);

/* Adds a finding about the nodes on which the memory of the running process is (numa_maps). */
void advice_running(struct advice_list *list, const struct advice_input *c, uint32_t pid);

/* A reservation by which a node gets the wanted free bytes: the new total of its pages of one
 * size. */
struct advice_reservation {
	const char *size; /* 2M or 1G */
	uint64_t pages;
};

struct advice_reservation advice_reservation(const struct topology *t, const struct config *cfg,
					     uint32_t node, uint64_t bytes);

/* Returns the worst severity in the list. */
enum advice_severity advice_worst(const struct advice_list *list);

const char *advice_severity_name(enum advice_severity severity);

/* Adds one entry without a fix, for the rules here and those of the caller. */
struct advice *advice_add(struct advice_list *list, enum advice_severity severity,
			  const char *subject, const char *words, ...)
	__attribute__((format(printf, 4, 5)));
void advice_fix(struct advice *a, const char *words, ...) __attribute__((format(printf, 2, 3)));

#endif
