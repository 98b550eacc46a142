/*
 * eal.h - starts DPDK's environment, and reduces what it prints to one line.
 *
 * eal_args makes the command line of EAL as plain data; eal_start runs it. What EAL and drivers
 * print while starting is captured; the line that names the cause becomes part of the error.
 *
 * Owner:  EAL is one per process, and cannot be started twice (rte_eal_init(3)).
 * Thread: the main thread, which EAL pins to the first core's CPU.
 * Errors: struct error.
 * Bounds: EAL_ARGS_MAX words.
 */
#ifndef CLOCKOO_EAL_H
#define CLOCKOO_EAL_H

#include "config/config.h"
#include "profile/profile.h"

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

/* verbose: let EAL print. */
bool eal_start(struct eal_args *args, bool verbose, struct error *err);
void eal_stop(void);

/* Between stderr_capture_begin and stderr_capture_end nothing reaches stderr. */
struct stderr_capture {
	int stderr_fd; /* the real one; -1: not silenced */
	int capture_fd;
};
void stderr_capture_begin(struct stderr_capture *q, bool verbose);
/* The first line caught that reads like an error; empty if none. */
void stderr_capture_end(struct stderr_capture *q, char *line, size_t size);

#endif
