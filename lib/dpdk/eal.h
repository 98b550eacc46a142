/*
 * eal.h - starts DPDK's environment with our words and keeps its words off the operator's screen.
 *
 * eal_args makes the command line of EAL as plain data; eal_start runs it. What EAL and drivers
 * print while starting is caught, and the line that names the cause becomes part of our one line.
 *
 * Owner:  EAL is one per process, and cannot be started twice (rte_eal_init(3)).
 * Thread: the main thread, which EAL pins to the first core's CPU.
 * Errors: struct fault.
 * Bounds: EAL_ARGS_MAX words.
 */
#ifndef CLOCKOO_EAL_H
#define CLOCKOO_EAL_H

#include "config/config.h"
#include "config/profile.h"

#define EAL_ARGS_MAX   32u
#define EAL_TEXT_BYTES 2048u

struct eal_args {
	int count;
	char *words[EAL_ARGS_MAX + 1]; /* into text, NULL at the end; EAL reorders them */
	uint32_t used;
	char text[EAL_TEXT_BYTES];
};

/* memory_mb: what EAL shall set aside at start; used with --no-huge only. */
void eal_args_make(struct eal_args *args, const struct config *cfg, const struct profile *profile,
		   const char *device, uint32_t memory_mb);

/* noisy: let EAL print. */
bool eal_start(struct eal_args *args, bool noisy, struct fault *f);
void eal_stop(void);

/* Nobody else on this network namespace may run under the same file prefix. The claim lasts as
 * long as the process; returns its descriptor, -1 with *f set. */
int eal_claim_prefix(const char *prefix, struct fault *f);

/* Between quiet_begin and quiet_end nothing reaches stderr. */
struct quiet {
	int stderr_fd; /* the real one; -1: not silenced */
	int caught_fd;
};
void quiet_begin(struct quiet *q, bool noisy);
/* The first line caught that reads like an error; empty if none. */
void quiet_end(struct quiet *q, char *line, size_t size);

#endif
