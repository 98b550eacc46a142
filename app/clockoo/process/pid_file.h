/*
 * pid_file.h - memcached's -P: a file with the process ID.
 *
 * Owner:  the file, from pid_file_write to pid_file_remove. Where the user of -u may not remove it,
 *         it is emptied, so that no script kills another process by it.
 * Thread: main.
 */
#ifndef CLOCKOO_PID_FILE_H
#define CLOCKOO_PID_FILE_H

#include "config/config.h"

struct pid_file {
	int fd; /* -1 = none */
	char path[2 * CONFIG_PATH_BYTES];
};

/* Writes the file. An empty name means no file. */
bool pid_file_write(struct pid_file *p, const char *name, struct error *err);
/* Returns the process that the named file names if it lives, else 0. */
uint32_t pid_file_read(const char *name);
void pid_file_remove(struct pid_file *p);

#endif
