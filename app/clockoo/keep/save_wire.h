/*
 * save_wire.h - messages between `clockoo save` and a running appliance. They pass over the
 * command's socket (command_socket.h).
 *
 * The command sends one request with the descriptor of an empty file. The appliance answers with
 * COMMAND_REFUSED at any time, or with SAVE_OVER and struct save_summary once the file is on the
 * disk. If the command closes its side, the snapshot is cancelled.
 */
#ifndef CLOCKOO_SAVE_WIRE_H
#define CLOCKOO_SAVE_WIRE_H

#include "command_socket.h"

#include <stdint.h>

#define SAVE_COMMAND   "save"
#define SAVE_WIRE      0x636c6b73u /* changes with the form of these messages */
#define SAVE_HOW_BYTES 40u
#define SAVE_OVER      'Z'

struct save_request {
	uint32_t magic;
	char path[CONFIG_PATH_BYTES]; /* name of the complete file: absolute, without links */
};

struct save_summary {
	uint64_t items, value_bytes, took_ns, skew_ns;
	char how[SAVE_HOW_BYTES];
};

#endif
