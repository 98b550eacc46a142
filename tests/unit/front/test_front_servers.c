/*
 * test_front_servers.c - lists of servers, as nutcracker writes them.
 *
 * Goal:   a good list gives hosts, ports, weights, and the names that nutcracker computes; anything
 *         else is refused in one line that names the entry or the file's line; nothing is guessed.
 * Method: tables of lists; the same entries as lines of a file of the test's own.
 */
#include "front/front_servers.h"
#include "support/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct front_servers servers;
static char path[] = "front_servers_XXXXXX";

#define D10  "0123456789"
#define D70  D10 D10 D10 D10 D10 D10 D10
#define D250 D70 D70 D70 D10 D10 D10 D10

static const struct {
	const char *list;
	uint32_t count;
	const char *name, *host; /* of the last server */
	uint16_t port;
	uint32_t weight;
} good[] = {
	{"10.0.0.1:11211:1", 1, "10.0.0.1", "10.0.0.1", 11211, 1},
	{"10.0.0.1:11212:1", 1, "10.0.0.1:11212", "10.0.0.1", 11212, 1},
	{"10.0.0.1:11212:7 a", 1, "a", "10.0.0.1", 11212, 7},
	{"  10.0.0.1:1:1   a  ", 1, "a", "10.0.0.1", 1, 1},
	{"cache-7.example_net:65535:1000000", 1, "cache-7.example_net:65535", "cache-7.example_net",
	 65535, FRONT_WEIGHT_MAX},
	{"::1:11211:1", 1, "::1", "::1", 11211, 1},
	{"fe80::1%eth0:11211:1", 1, "fe80::1%eth0", "fe80::1%eth0", 11211, 1},
	{"a:01:01", 1, "a:1", "a", 1, 1},
	{"kernel:127.0.0.1:11211:1", 1, "127.0.0.1", "127.0.0.1", 11211, 1},
	{"kernel:::1:11212:1 x", 1, "x", "::1", 11212, 1},
	{"unix:/run/memcached.sock:3", 1, "/run/memcached.sock:", "/run/memcached.sock", 0, 3},
	{"unix:/run/a:b.sock:1 x", 1, "x", "/run/a:b.sock", 0, 1},
	{"a:1:1,b:1:1", 2, "b:1", "b", 1, 1},
	{"a:1:1 x, a:1:1 y , a:1:2 z", 3, "z", "a", 1, 2},
	{D250 "abc:1:1 x", 1, "x", D250 "abc", 1, 1},
	{"a:1:1 " D70 "12345", 1, D70 "12345", "a", 1, 1},
	{D70 "123:1:1", 1, D70 "123:1", D70 "123", 1, 1},
};

static void
check_last(size_t i)
{
	const uint32_t last = servers.count - 1;

	check_eq(servers.count, good[i].count);
	check_str(servers.server[last].name, good[i].name);
	check_str(servers.host[last].host, good[i].host);
	check_eq(servers.host[last].port, good[i].port);
	check_eq(servers.server[last].weight, good[i].weight);
}

TEST(a_good_list_gives_hosts_ports_weights_and_names)
{
	struct error err;

	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		if (!front_servers_read(&servers, good[i].list, &err))
			fail_msg("%s: %s", good[i].list, err.text);
		check_last(i);
	}
}

static const struct {
	const char *list, *line;
} bad[] = {
	{"", "\"\": expected host:port:weight and maybe a name, such as 10.0.0.1:11211:1 a"},
	{"a", "\"a\": expected host:port:weight"},
	{"a:1", "\"a:1\": expected host:port:weight"},
	{":1:1", "\":1:1\": expected host:port:weight"},
	{"a b:1:1", "\"a b:1:1\": expected host:port:weight"},
	{"a:1:1,", "\"\": expected host:port:weight"},
	{"a:1:1,,b:1:1", "\"\": expected host:port:weight"},
	{"a;b:1:1", "\"a;b:1:1\": expected host:port:weight"},
	{"/tmp/s:1", "\"/tmp/s:1\": expected host:port:weight"},
	{"/tmp/s:1:1", "\"/tmp/s:1:1\": a Unix socket stands as unix:/path:weight"},
	{"unix:s:1", "\"unix:s:1\": expected an absolute path"},
	{"unix::1", "\"unix::1\": expected an absolute path"},
	{"unix:/a b:1", "\"unix:/a b:1\": expected host:port:weight"},
	{"unix:/s", "\"unix:/s\": expected host:port:weight"},
	{"unix:/" D70 D10 D10 D10 "1234567:1 x", "a path of 108 bytes; at most 107"},
	{"kernel::1:1", "\"kernel::1:1\": expected host:port:weight"},
	{"kernel:a:0:1", "port \"0\": expected"},
	{"kernel:unix:/a:1", "port \"/a\": expected"},
	{"[::1]:11211:1", "\"[::1]:11211:1\": an IPv6 address stands without brackets"},
	{"a:0:1", "\"a:0:1\": port \"0\": expected a number from 1 to 65535"},
	{"a:65536:1", "port \"65536\": expected a number from 1 to 65535"},
	{"a:4294967297:1", "port \"4294967297\": expected"},
	{"a:x:1", "port \"x\": expected"},
	{"a:-1:1", "port \"-1\": expected"},
	{"a::1", "port \"\": expected"},
	{"a:1:0", "\"a:1:0\": weight 0: no key would be there; leave the server out"},
	{"a:1:", "weight \"\": expected a number from 1 to 1000000"},
	{"a:1:1000001", "weight \"1000001\": expected a number from 1 to 1000000"},
	{"a:1:18446744073709551617", "weight \"18446744073709551617\": expected"},
	{"a:1:1.5", "weight \"1.5\": expected"},
	{"a:1:1 b\xe4", "a name that is no plain word"},
	{"a:1:1 b\x01", "a name that is no plain word"},
	{"a:1:1,b:1:1,a:1:2", "\"a:1:2\": the second server of the name a:1; give each another"},
	{"a:1:1 x,b:1:1 x", "\"b:1:1 x\": the second server of the name x; give each another"},
	{"a:1:1 b:2,b:2:1", "\"b:2:1\": the second server of the name b:2"},
	{"a:1:1 " D70 "123456", "a name of 76 bytes; at most 75: give a shorter one behind it"},
	{D70 "1234:1:1", "a name of 76 bytes; at most 75: give a shorter one behind it"},
	{D250 "abcd:1:1 x", "a host of 254 bytes; at most 253"},
};

TEST(anything_else_is_refused_in_one_line)
{
	struct error err;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		if (front_servers_read(&servers, bad[i].list, &err))
			fail_msg("%s: accepted", bad[i].list);
		if (strncmp(err.text, "--front-servers: ", 17) != 0 ||
		    strstr(err.text, bad[i].line) == NULL || strchr(err.text, '\n') != NULL)
			fail_msg("%s: %s", bad[i].list, err.text);
	}
}

static bool
read_lines(const char *text, struct error *err)
{
	return front_servers_read_lines(&servers, "F", text_view(text), err);
}

TEST(a_file_has_a_server_a_line)
{
	static const struct {
		const char *text;
		uint32_t count;
		const char *name; /* of the last server */
	} files[] = {
		{"a:1:1", 1, "a:1"},
		{"a:1:1\nb:1:1\n", 2, "b:1"},
		{"a:1:1\r\n\r\nb:1:1 x\r\n", 2, "x"},
		{"# all of them\n a:1:1 # the first\n\n\tb:1:1 x#1\n", 2, "x#1"},
		{"  - a:1:1 x\n  - b:1:1 y\n-\tc:1:1 z\n", 3, "z"},
	};
	struct error err;

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		if (!read_lines(files[i].text, &err))
			fail_msg("%s: %s", files[i].text, err.text);
		check_eq(servers.count, files[i].count);
		check_str(servers.server[servers.count - 1].name, files[i].name);
	}
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		if (good[i].count != 1)
			continue;
		check(read_lines(good[i].list, &err));
		check_last(i);
	}
}

TEST(an_error_names_the_line_of_the_file)
{
	static const struct {
		const char *text, *line;
	} files[] = {
		{"", "--front-servers: F: no server in it"},
		{"# none\n\n", "--front-servers: F: no server in it"},
		{"a:1:1\n\nb:1:0\n", "--front-servers: F:3: weight 0"},
		{"a:1:1,b:1:1\n", "--front-servers: F:1: expected host:port:weight"},
		{"a:1:1\n# b\na:1:1", "--front-servers: F:3: the second server of the name a:1"},
		{"-a:1:1 x\n- -\n", "--front-servers: F:2: expected host:port:weight"},
	};
	struct error err;

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		check(!read_lines(files[i].text, &err));
		check_eq(strncmp(err.text, files[i].line, strlen(files[i].line)), 0);
	}
}

/* Returns servers as lines: a:1:1, a:2:1 and so on. */
static char *
many(uint32_t count)
{
	static char text[FRONT_FILE_BYTES];
	uint32_t len = 0;

	for (uint32_t i = 1; i <= count; i++)
		len += (uint32_t)snprintf(text + len, sizeof text - len, "a:%u:1\n", i);
	return text;
}

TEST(a_fleet_has_a_bound)
{
	struct error err;

	check(read_lines(many(FRONT_SERVERS_MAX), &err));
	check_eq(servers.count, FRONT_SERVERS_MAX);
	check(!read_lines(many(FRONT_SERVERS_MAX + 1), &err));
	check_str(err.text, "--front-servers: F:1025: more than 1024 servers");
}

static void
write_file(const char *text, size_t len)
{
	FILE *out = fopen(path, "w");

	check_ptr(out);
	check_eq(fwrite(text, 1, len, out), len);
	fclose(out);
}

TEST(a_file_is_read_whole_or_not_at_all)
{
	static char text[FRONT_FILE_BYTES + 1];
	struct error err;

	write_file("a:1:1 x\n", 8);
	check(front_servers_load(&servers, path, &err));
	check_str(servers.server[0].name, "x");
	memset(text, '\n', sizeof text);
	memcpy(text + sizeof text - 1 - 5, "b:1:1", 5);
	write_file(text, FRONT_FILE_BYTES);
	check(front_servers_load(&servers, path, &err));
	write_file(text, FRONT_FILE_BYTES + 1);
	check(!front_servers_load(&servers, path, &err));
	check_ptr(strstr(err.text, " has more than 131072 bytes"));
	write_file("\xef\xbb\xbf"
		   "b:1:1 y\n",
		   11);
	check(front_servers_load(&servers, path, &err));
	check_str(servers.server[0].name, "y");
	check(!front_servers_load(&servers, ".", &err));
	check_str(err.text, "--front-servers: . is not a regular file");
	unlink(path);
	check(!front_servers_load(&servers, path, &err));
	check_ptr(strstr(err.text, "No such file"));
	check_eq(mkfifo(path, 0600), 0);
	check(!front_servers_load(&servers, path, &err));
	check_ptr(strstr(err.text, "not a regular file"));
	unlink(path);
}

TEST(servers_are_the_same_if_all_of_them_are)
{
	static const char *const other[] = {
		"a:1:1 x",         "a:1:1 x,b:2:3 z", "a:1:1 x,b:2:4 y",      "a:1:1 x,c:2:3 y",
		"a:1:1 x,b:3:3 y", "b:2:3 y,a:1:1 x", "a:1:1 x,b:2:3 y,c:1:1"};
	static struct front_servers first;
	struct error err;

	check(front_servers_read(&first, "a:1:1 x,b:2:3 y", &err));
	check(front_servers_read(&servers, " a:01:1 x , b:2:3 y", &err));
	check(front_servers_same(&first, &servers));
	for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
		check(front_servers_read(&servers, other[i], &err));
		check(!front_servers_same(&first, &servers));
		check(!front_servers_same(&servers, &first));
	}
}

int
main(void)
{
	const int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	return tests_run(NULL, NULL);
}
