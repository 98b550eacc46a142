/*
 * auth_file.c - reads the users of -Y, as memcached does.
 */
#include "auth_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* room for all lines, and one byte more by which a file that is too long is recognised */
#define TEXT_BYTES (AUTH_USERS_MAX * (AUTH_LINE_BYTES + AUTH_ROLE_BYTES) + 1)

/* Reads the file. Returns its length, or -1. A pipe or a device is refused: it could block the
 * reader for ever. */
static ssize_t
read_text(char text[TEXT_BYTES], const char *path, struct error *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	size_t used = 0;
	ssize_t n = -1;

	if (fd < 0) {
		error_set(err, "--auth-file: cannot read %s: %s", path, strerror(errno));
		return -1;
	}
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		error_set(err, "--auth-file: %s is not a regular file", path);
		return -1;
	}
	while (used < TEXT_BYTES && (n = read(fd, text + used, TEXT_BYTES - used)) > 0)
		used += (size_t)n;
	close(fd);
	if (n < 0) {
		error_set(err, "--auth-file: cannot read %s: %s", path, strerror(errno));
		return -1;
	}
	return (ssize_t)used;
}

bool
auth_file_is_open(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & (S_IROTH | S_IWOTH)) != 0;
}

/* Cuts the role off the end of the name and password. A user without one gets AUTH_ADMIN. */
static enum auth_role
role_take(const char *line, size_t *len)
{
	static const char *const roles[] = {
		[AUTH_READ] = ":read", [AUTH_WRITE] = ":write", [AUTH_ADMIN] = ":admin"};
	const char *colon = memchr(line, ':', *len);

	for (uint32_t i = AUTH_READ; colon != NULL && i <= AUTH_ADMIN; i++) {
		const size_t n = strlen(roles[i]);
		const size_t password = *len - (size_t)(colon + 1 - line);

		if (password >= n && memcmp(line + *len - n, roles[i], n) == 0) {
			*len -= n;
			return (enum auth_role)i;
		}
	}
	return AUTH_ADMIN;
}

/* Parses line[0..len), without its line end. Returns the error, or NULL. */
static const char *
read_line(struct auth_user *user, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	size_t name_len, word_len;

	if (len != 0 && line[len - 1] == '\r')
		len--;
	user->role = role_take(line, &len);
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

bool
auth_file_load(struct auth_users *users, const char *path, struct error *err)
{
	char text[TEXT_BYTES];
	const ssize_t len = read_text(text, path, err);
	struct auth_users read = {0};

	for (ssize_t at = 0; at < len;) {
		const char *line = text + at;
		const char *end = memchr(line, '\n', (size_t)(len - at));
		const size_t line_len = end != NULL ? (size_t)(end - line) : (size_t)(len - at);
		const char *wrong;

		if (read.count == AUTH_USERS_MAX)
			return error_set(err, "--auth-file: %s: line %u: more than %u users", path,
					 read.count + 1, AUTH_USERS_MAX);
		wrong = read_line(&read.user[read.count], line, line_len);
		if (wrong != NULL)
			return error_set(err, "--auth-file: %s: line %u: %s", path, read.count + 1,
					 wrong);
		read.count++;
		at += (ssize_t)line_len + 1;
	}
	if (len < 0)
		return false;
	if (read.count == 0)
		return error_set(err, "--auth-file: %s: no user in it", path);
	*users = read;
	return true;
}
