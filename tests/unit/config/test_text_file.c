/*
 * test_text_file.c - text files that options name.
 *
 * Goal:   a file is read whole or refused in one line, and a byte order mark at its start makes no
 *         difference to any reader of such files.
 * Method: files of the test's own; each reader of the room with and without the mark.
 *         (test_front_servers.c has the front's.)
 */
#include "config/auth_file.h"
#include "config/config_file.h"
#include "config/net_list.h"
#include "config/text_file.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK "\xef\xbb\xbf"

static char path[] = "/tmp/text_file_XXXXXX";

static void
put(const char *text)
{
	FILE *out = fopen(path, "we");

	check_ptr(out);
	check(fputs(text, out) >= 0);
	check_eq(fclose(out), 0);
}

TEST(a_mark_is_left_out_at_the_start_only)
{
	static const struct {
		const char *file, *text;
	} files[] = {{"a\n", "a\n"},
		     {MARK "a\n", "a\n"},
		     {"\xef\xbb", "\xef\xbb"},
		     {MARK MARK "a", MARK "a"},
		     {"a" MARK, "a" MARK}};
	char text[16];
	struct error err;

	for (uint32_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		const size_t len = strlen(files[i].text);

		put(files[i].file);
		check_eq(text_file_read(text, sizeof text - 1, "", path, &err), len);
		check_bytes(text, files[i].text, len);
	}
}

TEST(a_file_is_read_whole_or_refused_in_one_line)
{
	struct error err;
	char text[5];

	put("1234");
	check_eq(text_file_read(text, 4, "--o: ", path, &err), 4);
	check_bytes(text, "1234", 4);
	put("12345");
	check_eq(text_file_read(text, 4, "--o: ", path, &err), -1);
	check_eq(strncmp(err.text, "--o: /tmp/text_file_", 20), 0);
	check_ptr(strstr(err.text, " has more than 4 bytes"));
	for (uint32_t mark = 0; mark < 2; mark++) {
		put(mark != 0 ? MARK : "");
		check_eq(text_file_read(text, 4, "--o: ", path, &err), -1);
		check_ptr(strstr(err.text, " is empty"));
	}
	check_eq(text_file_read(text, 4, "--o: ", "/dev/zero", &err), -1);
	check_str(err.text, "--o: /dev/zero is not a regular file");
	check_eq(text_file_read(text, 4, "--o: ", ".", &err), -1);
	check_str(err.text, "--o: . is not a regular file");
	check_eq(text_file_read(text, 4, "", "no-such-file", &err), -1);
	check_str(err.text, "cannot read no-such-file: No such file or directory");
	unlink(path);
	check_eq(mkfifo(path, 0600), 0);
	check_eq(text_file_read(text, 4, "", path, &err), -1); /* does not wait for a writer */
	check_ptr(strstr(err.text, "not a regular file"));
	unlink(path);
}

TEST(every_reader_takes_a_file_with_a_mark)
{
	struct config_source src = {.default_file = NULL};
	static struct config cfg;
	struct auth_users users;
	struct config_net nets[2];
	struct net_list list = {.nets = nets, .max = 2};
	struct error err;

	put(MARK "10.0.0.0/8\n192.0.2.7\n");
	if (!net_list_load(&list, "allow", path, &err))
		fail_msg("networks: %s", err.text);
	check_eq(list.count, 2);
	check_eq(nets[0].prefix_len, 96 + 8);
	put(MARK "user:pass:read\n");
	if (!auth_file_load(&users, path, &err))
		fail_msg("users: %s", err.text);
	check_eq(users.user[0].name_len, 4);
	put(MARK "front:\n  servers: [\"a:1:1\"]\n  peers: 10.0.0.2:11211\n");
	config_defaults(&cfg);
	if (!config_file_load(&cfg, &src, path, &err))
		fail_msg("configuration: %s", err.text);
	check_str(cfg.front.peers, "10.0.0.2:11211");
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
