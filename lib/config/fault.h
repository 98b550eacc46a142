/*
 * fault.h - why the program cannot go on, as one line for the operator.
 *
 * A function that can fail takes a struct fault and returns false after writing what is wrong
 * and what to do. Only main prints it.
 *
 * Shape:  text is one line without its line end: control bytes in it become '?'.
 * Thread: the caller's.
 * Bounds: FAULT_BYTES, longer lines are cut.
 */
#ifndef CLOCKOO_FAULT_H
#define CLOCKOO_FAULT_H

#include <stdbool.h>

#define FAULT_BYTES 512u

/* How the program ends: memcached's exit codes, from sysexits(3), and one for the configuration
 * file, which memcached does not have. */
enum fault_code {
	FAULT_GENERAL = 1,
	FAULT_USAGE = 64,
	FAULT_NO_USER = 67,
	FAULT_OS = 71,
	FAULT_CONFIG = 78, /* the file is wrong: the next start would say the same */
};

struct fault {
	enum fault_code code; /* set with the text */
	char text[FAULT_BYTES];
};

/* Always false, so that a caller can return it. The code is FAULT_GENERAL. */
bool fault_say(struct fault *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with another code. */
bool fault_say_as(struct fault *f, enum fault_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
