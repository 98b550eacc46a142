/*
 * every_command.h - streams with a request of every command of the tables, right and wrong.
 *
 * For tests that hold for all commands: each stream is one request or a few, whole, with its
 * body.
 *
 * Owner:  the streams stay as long as the process.
 */
#ifndef CLOCKOO_EVERY_COMMAND_H
#define CLOCKOO_EVERY_COMMAND_H

#include "base/bytes.h"

#define EVERY_TEXT_MAX   256u
#define EVERY_BINARY_MAX 128u

/* Makes lines of text, bodies included; returns how many. */
uint32_t every_text(struct view streams[EVERY_TEXT_MAX]);
/* Makes packets, one of every opcode and some that are wrong but leave the connection open;
 * returns how many. */
uint32_t every_binary(struct view streams[EVERY_BINARY_MAX]);

#endif
