/*
 * auth_file.h - the file of users of -Y.
 *
 * Each line is one user, "user:password", as memcached reads it: the name ends at the first colon,
 * the password at the end of the line (without a carriage return before it). Neither may be empty,
 * and no byte may be zero. A suffix :read, :write or :admin after the password is the user's role:
 * a reader may get, a writer may also store and delete, an admin may do all. A user without a
 * suffix is an admin. If a password itself ends in one of these suffixes, or in a field that is
 * nearly one (other capitals, blanks, one letter off), a role must follow it; otherwise the line is
 * refused. A byte order mark is skipped.
 *
 * Shape:  plain data; a name and its password lie in bytes, one after the other.
 * Thread: any; reads a file, no heap.
 * Errors: struct error names file and line, and never a word of the line. users is then unchanged.
 * Bounds: AUTH_FILE_BYTES of file; AUTH_USERS_MAX lines of AUTH_LINE_BYTES, line end included, as
 *         in memcached.
 */
#ifndef CLOCKOO_AUTH_FILE_H
#define CLOCKOO_AUTH_FILE_H

#include "errors.h"

#include <stdint.h>

#define AUTH_FILE_BYTES (64u << 10)
#define AUTH_USERS_MAX  8u
#define AUTH_LINE_BYTES 256u
#define AUTH_ROLE_BYTES 6u                    /* bytes that the longest role adds to a line */
#define AUTH_USER_BYTES (AUTH_LINE_BYTES - 2) /* without the colon and the line end */

/* Roles, with the numbers of enum mc_role of proto. */
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

/* The warning about a file for which auth_file_is_open() is true: the key, and the file. */
#define AUTH_FILE_OPEN_FORMAT "%s: %s: any user of this machine can read or change it: chmod o= it"

/* True if users other than the file's owner and group can read or change the file. */
bool auth_file_is_open(const char *path);

bool auth_file_load(struct auth_users *users, const char *path, struct error *err);
/* Reads the file of --front-login, which has one user. Its role has no meaning at a server. */
bool auth_file_load_login(struct auth_user *user, const char *path, struct error *err);

#endif
