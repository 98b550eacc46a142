/*
 * pid_file.h - memcached's -P: a file with the process's ID.
 *
 * Owner:  this process has the file from pid_file_write to pid_file_remove. If the user of -u may
 *         not remove it, it is emptied: a script could otherwise kill another process by it.
 * Thread: main.
 */
#ifndef CLOCKOO_PID_FILE_H
#define CLOCKOO_PID_FILE_H

#include "config/config.h"

struct pid_file {
	int fd; /* -1: none */
	char path[2 * CONFIG_PATH_BYTES];
};

/* Writes the file. Does nothing if name is empty. */
bool pid_file_write(struct pid_file *p, const char *name, struct error *err);
/* Returns the process that the file names if it lives, otherwise 0. */
uint32_t pid_file_read(const char *name);
void pid_file_remove(struct pid_file *p);

#endif
