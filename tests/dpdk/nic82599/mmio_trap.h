/*
 * mmio_trap.h - every access to a mapped register becomes a call.
 *
 * A load or store to a page past the end of a mapped file raises SIGBUS. The handler decodes the
 * one instruction, calls the device, and resumes the program after it. It knows the forms that
 * compilers make of DPDK's register reads and writes, 32 bits wide and aligned; any other ends
 * the process and prints its bytes, so that a new compiler cannot make a test lie.
 *
 * Thread: accesses of several threads come one at a time; read and write run in a signal handler.
 * Errors: SIGBUS elsewhere, or an unknown instruction: a line on stderr and abort().
 */
#ifndef CLOCKOO_MMIO_TRAP_H
#define CLOCKOO_MMIO_TRAP_H

#include <stdint.h>

struct mmio_device {
	const char *file; /* the end of the mapped file's path */
	uint32_t (*read)(void *arg, uint32_t at);
	void (*write)(void *arg, uint32_t at, uint32_t value);
	/* Called once, when the mapping is found and before its first access is handled; it may map
	 * memory over some of its pages, which then trap no longer. NULL: none. */
	void (*mapped)(void *arg, uint8_t *bar);
	void *arg;
};

/* Starts the trap, once. device must live as long as the process. */
void mmio_trap_start(const struct mmio_device *device);

/* True if this action of SIGBUS is the trap's. */
struct sigaction;
int mmio_trap_is_ours(const struct sigaction *action);
/* Sets the action of SIGBUS outside the mapping; without it such a signal ends the process. */
void mmio_trap_other(const struct sigaction *action);

/* Takes the signal again after another handler was set: cmocka does so before each function. */
void mmio_trap_again(void);

#endif
