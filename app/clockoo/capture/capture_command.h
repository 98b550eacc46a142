/*
 * capture_command.h - `clockoo capture`: asks a running appliance for frames, and writes the file.
 *
 * Thread: main.
 * Errors: one line on stderr; exit status 64 for wrong options, 1 for other faults. After a
 *         failure the file keeps its whole blocks; an empty file is removed.
 */
#ifndef CLOCKOO_CAPTURE_COMMAND_H
#define CLOCKOO_CAPTURE_COMMAND_H

/* Runs the command; argv begins after `capture`. Returns the exit status. */
int capture_command(int argc, char **argv, const char *default_config);

#endif
