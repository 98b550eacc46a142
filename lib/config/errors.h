/*
 * errors.h - the reason for which the program cannot continue, as one line for the operator.
 *
 * A function that can fail takes a struct error and returns false after writing what is wrong
 * and what to do. Only main prints it.
 *
 * Shape:  text is one line without its line end: control bytes in it become '?'.
 * Thread: the caller's.
 * Bounds: ERROR_BYTES; longer lines are cut.
 */
#ifndef CLOCKOO_ERRORS_H
#define CLOCKOO_ERRORS_H

#include <stdbool.h>

#define ERROR_BYTES 512u

/* Exit codes of the program: memcached's, from sysexits(3), and two that memcached does not have.
 */
enum error_code {
	ERROR_STOPPED = 0, /* a stop was requested before the first request */
	ERROR_GENERAL = 1,
	ERROR_USAGE = 64,
	ERROR_NO_USER = 67,
	ERROR_OS = 71,
	ERROR_PORT = 74,   /* the NIC was removed; another start may find it again */
	ERROR_CONFIG = 78, /* the file is wrong, so another start would fail in the same way */
};

struct error {
	enum error_code code; /* set together with the text */
	char text[ERROR_BYTES];
};

/* Sets the text, and the code ERROR_GENERAL. Always returns false, so that a caller can return
 * it. */
bool error_set(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Does as error_set, with another code. */
bool error_set_code(struct error *err, enum error_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
