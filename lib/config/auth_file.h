/*
 * auth_file.h - the file of users of -Y.
 *
 * One user a line, "user:password", as memcached reads it: the name ends at the first colon, the
 * password at the end of the line (a carriage return before it is no part of it). Neither may be
 * empty, no byte may be zero. Behind the password :read, :write or :admin may stand, what the user
 * may do: get; also store and delete; all, which is so without it too. So a password that ends in
 * one of these three, or in a field that is nearly one (other capitals, blanks, one letter off),
 * needs one of them behind it: without it the line is refused. A byte order mark is skipped.
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
#define AUTH_ROLE_BYTES 6u                    /* more, of the longest role */
#define AUTH_USER_BYTES (AUTH_LINE_BYTES - 2) /* without colon and line end */

/* As enum mc_role of proto. */
enum auth_role { AUTH_READ = 1, AUTH_WRITE, AUTH_ADMIN };

struct auth_user {
	uint8_t name_len, word_len;
	uint8_t role; /* enum auth_role */
	uint8_t bytes[AUTH_USER_BYTES];
};

struct auth_users {
	uint32_t count;
	struct auth_user user[AUTH_USERS_MAX];
};

/* Is there a file that others than its owner and group can read or change? */
bool auth_file_is_open(const char *path);

bool auth_file_load(struct auth_users *users, const char *path, struct error *err);

#endif
