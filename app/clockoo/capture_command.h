/*
 * capture_command.h - `clockoo capture`: asks a running appliance for frames, and writes the file.
 *
 * Thread: main.
 * Errors: one line on stderr; 64 for words that are wrong, 1 for all else. What was begun of a file
 *         when something failed stays as far as it is whole; a file with nothing in it is removed.
 */
#ifndef CLOCKOO_CAPTURE_COMMAND_H
#define CLOCKOO_CAPTURE_COMMAND_H

/* The words behind `capture`. Returns the exit status. */
int capture_command(int argc, char **argv, const char *default_config);

#endif
