/*
 * auth_file.c - reads the users of -Y, as memcached does.
 */
#include "auth_file.h"
#include "nearest.h"
#include "text_file.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define OPTION_BYTES 32u /* for an option's name in an error */

/* Bytes of the longest role and a few more. Longer fields are parts of passwords. */
#define ROLE_LOOK_BYTES 16u
#define NEAR_ROLE(role)                                                                            \
	"its last field is nearly the role " role "; write :" role                                 \
	", or :read, :write or :admin behind a password that ends so"

bool
auth_file_is_open(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & (S_IROTH | S_IWOTH)) != 0;
}

static const char *const roles[] = {
	[AUTH_READ] = "read", [AUTH_WRITE] = "write", [AUTH_ADMIN] = "admin"};

/* Returns the beginning of the last field, after a colon that is not the one that ends the name;
 * NULL: there is none. */
static const char *
last_field(const char *line, size_t len)
{
	const char *name_end = memchr(line, ':', len);
	const char *last = memrchr(line, ':', len);

	return last != name_end ? last + 1 : NULL;
}

/* Takes the role off the end of the name and password. A user without one gets AUTH_ADMIN. */
static enum auth_role
role_take(const char *line, size_t *len)
{
	const char *field = last_field(line, *len);
	const size_t n = field != NULL ? (size_t)(line + *len - field) : 0;

	for (uint32_t i = AUTH_READ; field != NULL && i <= AUTH_ADMIN; i++) {
		if (n == strlen(roles[i]) && memcmp(field, roles[i], n) == 0) {
			*len -= n + 1;
			return (enum auth_role)i;
		}
	}
	return AUTH_ADMIN;
}

/* Writes the field in small letters, without the blanks around it. False: it is too long for a
 * role. */
static bool
role_normalize(char to[ROLE_LOOK_BYTES], const char *field, size_t len)
{
	while (len > 0 && isspace((unsigned char)field[0])) {
		field++;
		len--;
	}
	while (len > 0 && isspace((unsigned char)field[len - 1]))
		len--;
	if (len >= ROLE_LOOK_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		to[i] = (char)tolower((unsigned char)field[i]);
	to[len] = '\0';
	return true;
}

/* Returns an error if the last field of a line without a role is probably meant as one: it is one
 * except for capitals, blanks and one letter, or begins as one (readonly, administrator). NULL: it
 * is not. */
static const char *
near_role(const char *line, size_t len)
{
	static const char *const words[] = {
		[AUTH_READ] = NEAR_ROLE("read"),
		[AUTH_WRITE] = NEAR_ROLE("write"),
		[AUTH_ADMIN] = NEAR_ROLE("admin"),
	};
	const char *field = last_field(line, len);
	char look[ROLE_LOOK_BYTES];

	if (field == NULL || !role_normalize(look, field, (size_t)(line + len - field)))
		return NULL;
	for (uint32_t i = AUTH_READ; i <= AUTH_ADMIN; i++)
		if (nearest_distance(look, roles[i]) <= 1 ||
		    strncmp(look, roles[i], strlen(roles[i])) == 0)
			return words[i];
	return NULL;
}

/* Parses line[0..len), without its line end. Returns the error, or NULL. */
static const char *
read_line(struct auth_user *user, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len), *wrong;
	size_t name_len, word_len, before;

	if (len != 0 && line[len - 1] == '\r')
		len--;
	before = len;
	user->role = role_take(line, &len);
	wrong = len == before ? near_role(line, len) : NULL;
	if (wrong != NULL)
		return wrong;
	if (colon == NULL)
		return "expected user:password";
	name_len = (size_t)(colon - line);
	word_len = len - name_len - 1;
	if (name_len == 0 || word_len == 0)
		return "user and password may not be empty";
	if (name_len + word_len > AUTH_USER_BYTES)
		return "more than 256 bytes";
	if (memchr(line, '\0', len) != NULL)
		return "a NUL byte";
	user->name_len = (uint8_t)name_len;
	user->word_len = (uint8_t)word_len;
	memcpy(user->bytes, line, name_len);
	memcpy(user->bytes + name_len, colon + 1, word_len);
	return NULL;
}

/* Reads the users of the file that an option names. */
static bool
load_users(struct auth_users *users, const char *option, const char *path, struct error *err)
{
	char text[AUTH_FILE_BYTES + 1], before[OPTION_BYTES];
	ssize_t len;
	struct auth_users read = {0};

	snprintf(before, sizeof before, "%s: ", option);
	len = text_file_read(text, AUTH_FILE_BYTES, before, path, err);
	for (ssize_t at = 0; at < len;) {
		const char *line = text + at;
		const char *end = memchr(line, '\n', (size_t)(len - at));
		const size_t line_len = end != NULL ? (size_t)(end - line) : (size_t)(len - at);
		const char *wrong;

		if (read.count == AUTH_USERS_MAX)
			return error_set(err, "%s: %s: line %u: more than %u users", option, path,
					 read.count + 1, AUTH_USERS_MAX);
		wrong = read_line(&read.user[read.count], line, line_len);
		if (wrong != NULL)
			return error_set(err, "%s: %s: line %u: %s", option, path, read.count + 1,
					 wrong);
		read.count++;
		at += (ssize_t)line_len + 1;
	}
	if (len < 0)
		return false;
	*users = read;
	return true;
}

bool
auth_file_load(struct auth_users *users, const char *path, struct error *err)
{
	return load_users(users, "--auth-file", path, err);
}

bool
auth_file_load_login(struct auth_user *user, const char *path, struct error *err)
{
	struct auth_users users;

	if (!load_users(&users, "--front-login", path, err))
		return false;
	if (users.count != 1)
		return error_set(err, "--front-login: %s: %u users; a front logs in as one", path,
				 users.count);
	*user = users.user[0];
	return memchr(user->bytes, ' ', user->name_len) == NULL ||
	       error_set(err,
			 "--front-login: %s: a space in the name, which memcached's login "
			 "has no way to say",
			 path);
}
