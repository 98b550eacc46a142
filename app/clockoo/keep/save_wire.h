/*
 * save_wire.h - messages between `clockoo save` and a running appliance, over the command's socket
 * (command_socket.h).
 *
 * The command sends one request, with the descriptor of an empty file. The appliance answers with a
 * refusal at any time, or with SAVE_OVER and struct save_summary when the file is on the disk. A
 * command that closes its side ends the snapshot.
 */
#ifndef CLOCKOO_SAVE_WIRE_H
#define CLOCKOO_SAVE_WIRE_H

#include "command_socket.h"

#include <stdint.h>

#define SAVE_COMMAND   "save"
#define SAVE_WIRE      0x636c6b73u /* differs for each form of these messages */
#define SAVE_HOW_BYTES 40u
#define SAVE_OVER      'Z'

struct save_request {
	uint32_t magic;
	char path[CONFIG_PATH_BYTES]; /* of the file once it is complete: absolute, without links */
};

struct save_summary {
	uint64_t items, value_bytes, took_ns, skew_ns;
	char how[SAVE_HOW_BYTES];
};

#endif
