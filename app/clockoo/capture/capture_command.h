/*
 * capture_command.h - `clockoo capture`: gets frames of a running appliance and writes them to a
 * file.
 *
 * Thread: main.
 * Errors: one line on stderr. The exit status is 64 for wrong options and 1 for other faults. After
 *         a fault the file has whole blocks only; an empty file is removed.
 */
#ifndef CLOCKOO_CAPTURE_COMMAND_H
#define CLOCKOO_CAPTURE_COMMAND_H

/* Runs the command; argv begins after `capture`. Returns the exit status. */
int capture_command(int argc, char **argv, const char *default_config);

#endif
