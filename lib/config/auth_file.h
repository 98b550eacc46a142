/*
 * auth_file.h - the file of users of -Y.
 *
 * One user a line, "user:password", as memcached reads it: the name ends at the first colon, the
 * password at the end of the line (a carriage return before it is no part of it). Neither may be
 * empty, no byte may be zero.
 *
 * Shape:  plain data; a name and its password stand in bytes one after the other.
 * Thread: any; reads a file, no heap.
 * Errors: struct error names file and line, and never a word of the line. users is then unchanged.
 * Bounds: AUTH_USERS_MAX lines of AUTH_LINE_BYTES with their line end, as memcached's.
 */
#ifndef CLOCKOO_AUTH_FILE_H
#define CLOCKOO_AUTH_FILE_H

#include "errors.h"

#include <stdint.h>

#define AUTH_USERS_MAX  8u
#define AUTH_LINE_BYTES 256u
#define AUTH_USER_BYTES (AUTH_LINE_BYTES - 2) /* without colon and line end */

struct auth_user {
	uint8_t name_len, word_len;
	uint8_t bytes[AUTH_USER_BYTES];
};

struct auth_users {
	uint32_t count;
	struct auth_user user[AUTH_USERS_MAX];
};

bool auth_file_load(struct auth_users *users, const char *path, struct error *err);

#endif
