/*
 * The file of users. Goal: a good file gives its users byte for byte; anything else is refused by
 * line number, without a word of the line in the message, and changes nothing. Method: a table of
 * files, written to a directory of the test's own.
 */
#include "support/test.h"
#include "config/auth_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "auth_file_XXXXXX";

#define FILE_OF(text) text, sizeof text - 1
#define A50           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A250          A50 A50 A50 A50 A50

static void
put(const char *text, size_t len)
{
	FILE *out = fopen(path, "w");

	check_ptr(out);
	check_eq(fwrite(text, 1, len, out), len);
	fclose(out);
}

static const struct {
	const char *text;
	size_t len;
	uint32_t count;
	const char *last; /* name and password of the last user */
	uint32_t name_len;
} good[] = {
	{FILE_OF("user:pass\n"), 1, "userpass", 4},
	{FILE_OF("user:pass"), 1, "userpass", 4},
	{FILE_OF("user:pass\r\n"), 1, "userpass", 4},
	{FILE_OF("a:b\nuser:pa:ss\n"), 2, "userpa:ss", 4},
	{FILE_OF("a:b\n u : p \n"), 2, " u  p ", 3},
	{FILE_OF("a:1\na:2\na:3\na:4\na:5\na:6\na:7\na:8\n"), 8, "a8", 1},
	{FILE_OF(A250 ":aaaa\n"), 1, A250 "aaaa", 250},
	{FILE_OF("\xef\xbb\xbfuser:pass\n"), 1, "userpass", 4},
	{FILE_OF("user:pass\n\xef\xbb\xbfu:p\n"), 2, "\xef\xbb\xbfup", 4},
};

TEST(a_good_file_gives_its_users_byte_for_byte)
{
	for (uint32_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		const size_t len = strlen(good[i].last);
		struct auth_users users;
		const struct auth_user *u;
		struct error err;

		put(good[i].text, good[i].len);
		if (!auth_file_load(&users, path, &err))
			fail_msg("file %u: %s", i, err.text);
		check_eq(users.count, good[i].count);
		u = &users.user[users.count - 1];
		check_eq(u->name_len, good[i].name_len);
		check_eq(u->name_len + u->word_len, len);
		check_bytes(u->bytes, good[i].last, len);
	}
}

/* The role follows the password. The password may have colons, or be the word of a role. */
TEST(a_user_has_the_role_that_stands_behind_its_password)
{
	const struct {
		const char *text, *bytes;
		enum auth_role role;
	} rows[] = {
		{"u:pw:read\n", "upw", AUTH_READ},
		{"u:pw:write\r\n", "upw", AUTH_WRITE},
		{"u:pw:admin", "upw", AUTH_ADMIN},
		{"u:pw\n", "upw", AUTH_ADMIN},
		{"u:p:w:read\n", "up:w", AUTH_READ},
		{"u:read\n", "uread", AUTH_ADMIN},
		{"u:x:read:admin\n", "ux:read", AUTH_ADMIN},
		{A250 ":aaaa:write\n", A250 "aaaa", AUTH_WRITE},
		/* A word that is nearly a role may end a password if a role follows it. */
		{"u:x:Admin:read\n", "ux:Admin", AUTH_READ},
		{"u:Admin\n", "uAdmin", AUTH_ADMIN},
		{"u:pw:backend\n", "upw:backend", AUTH_ADMIN},
		{"u:pw:administrator-of-all\n", "upw:administrator-of-all", AUTH_ADMIN},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct auth_users users;
		struct error err;

		put(rows[i].text, strlen(rows[i].text));
		if (!auth_file_load(&users, path, &err))
			fail_msg("file %u: %s", i, err.text);
		check_eq(users.user[0].role, rows[i].role);
		check_eq(users.user[0].name_len + users.user[0].word_len, strlen(rows[i].bytes));
		check_bytes(users.user[0].bytes, rows[i].bytes, strlen(rows[i].bytes));
	}
}

TEST(a_last_field_that_is_nearly_a_role_is_refused)
{
	const struct {
		const char *text, *role;
	} rows[] = {
		{"u:p:Admin\n", "admin"},  {"u:p:ADMIN\r\n", "admin"},
		{"u:p:admin \n", "admin"}, {"u:p: admin\n", "admin"},
		{"u:p:\tRead\n", "read"},  {"u:p:reads\n", "read"},
		{"u:p:admins\n", "admin"}, {"u:p:adimn\n", "admin"},
		{"u:p:wirte\n", "write"},  {"u:p:writes\n", "write"},
		{"u:p:writ\n", "write"},   {"u:p:red", "read"},
		{"u:p:read \r\n", "read"}, {"u:a:b:Write\n", "write"},
		{"u:p:read:reed", "read"}, {"u:p:readonly", "read"},
		{"u:p:Read-Only", "read"}, {"u:p:administrator", "admin"},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct auth_users users = {.count = 77};
		char words[64];
		struct error err;

		put(rows[i].text, strlen(rows[i].text));
		if (auth_file_load(&users, path, &err))
			fail_msg("file %u: taken", i);
		snprintf(words, sizeof words, "line 1: its last field is nearly the role %s;",
			 rows[i].role);
		if (strstr(err.text, words) == NULL)
			fail_msg("file %u: %s", i, err.text);
		check_eq(users.count, 77);
	}
}

TEST(a_file_that_others_can_read_is_recognized)
{
	put("u:pw\n", 5);
	check_eq(chmod(path, 0640), 0);
	check(!auth_file_is_open(path));
	check_eq(chmod(path, 0644), 0);
	check(auth_file_is_open(path));
	check_eq(chmod(path, 0602), 0);
	check(auth_file_is_open(path));
	check_eq(chmod(path, 0600), 0);
	check(!auth_file_is_open("no-such-file"));
}

static const struct {
	const char *text;
	size_t len;
	const char *line;
} bad[] = {
	{FILE_OF(""), " is empty"},
	{FILE_OF("secret\n"), "line 1: expected user:password"},
	{FILE_OF("a:secret\n\n"), "line 2: expected user:password"},
	{FILE_OF("a:secret\nsecret\n"), "line 2: expected user:password"},
	{FILE_OF(":secret\n"), "line 1: user and password may not be empty"},
	{FILE_OF("secret:\n"), "line 1: user and password may not be empty"},
	{FILE_OF("secret:\r\n"), "line 1: user and password may not be empty"},
	{FILE_OF("secret::read\n"), "line 1: user and password may not be empty"},
	{FILE_OF("a:sec\0ret\n"), "line 1: a NUL byte"},
	{FILE_OF(A250 ":secret\n"), "line 1: more than 256 bytes"},
	{FILE_OF("a:1\na:2\na:3\na:4\na:5\na:6\na:7\na:8\na:secret\n"),
	 "line 9: more than 8 users"},
};

TEST(a_bad_file_is_refused_by_line_and_changes_nothing)
{
	for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct auth_users users, before;
		struct error err;

		memset(&users, 0x5a, sizeof users);
		before = users;
		put(bad[i].text, bad[i].len);
		check(!auth_file_load(&users, path, &err));
		if (strstr(err.text, bad[i].line) == NULL || strstr(err.text, "sec") != NULL)
			fail_msg("file %u: %s", i, err.text);
		check_bytes(&users, &before, sizeof users);
	}
}

TEST(login_of_a_front_is_one_user)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"user:pa ss:write\n", NULL},
		{"", "--front-login: auth_file"},
		{"user:sec\nother:sec\n", "2 users"},
		{"us er:sec\n", "a space in the name"},
		{"sec\n", "line 1: expected user:password"},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct auth_user user;
		struct error err = {.text = ""};

		put(rows[i].text, strlen(rows[i].text));
		check_eq(auth_file_load_login(&user, path, &err), rows[i].why == NULL);
		if (rows[i].why != NULL && strstr(err.text, rows[i].why) == NULL)
			fail_msg("file %u: %s", i, err.text);
		check(strstr(err.text, "sec") == NULL);
		if (rows[i].why == NULL)
			check_bytes(user.bytes, "userpa ss", 9);
	}
}

TEST(what_is_no_ordinary_file_is_refused)
{
	struct auth_users users;
	struct error err;

	check(!auth_file_load(&users, "no-such-file", &err));
	check_ptr(strstr(err.text, "cannot read no-such-file"));
	check(!auth_file_load(&users, "/dev/zero", &err));
	check_ptr(strstr(err.text, "not a regular file"));
	check(!auth_file_load(&users, ".", &err));
	unlink(path);
	check_eq(mkfifo(path, 0600), 0);
	check(!auth_file_load(&users, path, &err)); /* opening a FIFO does not wait for a writer */
	check_ptr(strstr(err.text, "not a regular file"));
}

int
main(void)
{
	const int fd = mkstemp(path);
	int failed;

	if (fd < 0)
		return 2;
	close(fd);
	failed = tests_run(NULL, NULL);
	unlink(path);
	return failed;
}
