/*
 * Files of users that operators might write. Goal: for any bytes, a refusal is one line that
 * names file and line and has no word of the file in it, and changes nothing; each user that is
 * accepted has a name, a password and a role, and reads back the same when the role is written
 * behind it. Method: the bytes as a file; what was read is written as a file with all roles.
 */
#include "config/auth_file.h"
#include "fuzz_file.h"
#include "fuzz_target.h"

#include <string.h>

#define BEGINNING "--auth-file: "
#define FILE_ROOM (AUTH_USERS_MAX * (AUTH_LINE_BYTES + AUTH_ROLE_BYTES))

static void
check_line(const struct error *err, const char *path)
{
	const char *at = err->text + sizeof BEGINNING - 1;

	ensure(memchr(err->text, 0, sizeof err->text) != NULL);
	ensure(strncmp(err->text, BEGINNING, sizeof BEGINNING - 1) == 0);
	ensure(strncmp(at, path, strlen(path)) == 0);
	for (; *at != '\0'; at++)
		ensure(*at >= ' ' && *at < 0x7f);
}

static size_t
users_write(char text[FILE_ROOM], const struct auth_users *users)
{
	static const char *const roles[] = {
		[AUTH_READ] = "read", [AUTH_WRITE] = "write", [AUTH_ADMIN] = "admin"};
	size_t used = 0;

	for (uint32_t i = 0; i < users->count; i++) {
		const struct auth_user *u = &users->user[i];

		ensure(u->name_len != 0 && u->word_len != 0);
		ensure(u->role >= AUTH_READ && u->role <= AUTH_ADMIN);
		ensure(memchr(u->bytes, ':', u->name_len) == NULL);
		ensure(memchr(u->bytes, '\0', (size_t)u->name_len + u->word_len) == NULL);
		memcpy(text + used, u->bytes, u->name_len);
		used += u->name_len;
		text[used++] = ':';
		memcpy(text + used, u->bytes + u->name_len, u->word_len);
		used += u->word_len;
		used += (size_t)sprintf(text + used, ":%s\n", roles[u->role]);
	}
	return used;
}

/* A mark in front of the first name would be skipped, and is a name's own only behind another. */
static void
check_again(const struct auth_users *users)
{
	char text[FILE_ROOM + 1], path[FUZZ_FILE_PATH_BYTES];
	const size_t size = users_write(text, users);
	struct auth_users again;
	struct error err;

	if (memcmp(text, "\xef\xbb\xbf", 3) == 0)
		return;
	fuzz_file_put(path, text, size);
	ensure(auth_file_load(&again, path, &err) && again.count == users->count);
	for (uint32_t i = 0; i < users->count; i++) {
		const struct auth_user *a = &users->user[i], *b = &again.user[i];

		ensure(a->role == b->role && a->name_len == b->name_len &&
		       a->word_len == b->word_len &&
		       memcmp(a->bytes, b->bytes, (size_t)a->name_len + a->word_len) == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct auth_users before;
	struct auth_users users = before;
	char path[FUZZ_FILE_PATH_BYTES];
	struct error err;

	fuzz_file_put(path, data, size);
	if (auth_file_load(&users, path, &err)) {
		ensure(users.count - 1 < AUTH_USERS_MAX);
		check_again(&users);
	} else {
		check_line(&err, path);
		ensure(memcmp(&users, &before, sizeof users) == 0);
	}
	return 0;
}
