/*
 * eal.h - starts DPDK's environment (EAL), and reduces its output to one line.
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
	char *words[EAL_ARGS_MAX + 1]; /* point into text, NULL at the end; EAL reorders them */
	uint32_t used;
	char text[EAL_TEXT_BYTES];
};

/* Makes the command line. memory_mb: MB that EAL reserves at the start; only with --no-huge. */
void eal_args_make(struct eal_args *args, const struct config *cfg, const struct profile *profile,
		   const char *device, uint32_t memory_mb);

/* Adds another device of the same profile. */
void eal_args_add_device(struct eal_args *args, const struct profile *profile, const char *device);

/* Starts EAL. verbose lets EAL print. */
bool eal_start(struct eal_args *args, bool verbose, struct error *err);
void eal_stop(void);

/* The state of stderr_capture_begin, after which nothing reaches stderr until
 * stderr_capture_end. */
struct stderr_capture {
	int stderr_fd; /* the original stderr; -1: stderr is not captured */
	int capture_fd;
};
void stderr_capture_begin(struct stderr_capture *q, bool verbose);
/* Ends the capture. line: the first captured line that looks like an error; empty if there is
 * none. */
void stderr_capture_end(struct stderr_capture *q, char *line, size_t size);

#endif
