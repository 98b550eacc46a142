/*
 * test_front_options.c - the operator's options as a front's configuration.
 *
 * Goal:   each word means the enum of its name, each time its nanoseconds; servers come from the
 *         list or the file; a fleet of too many connections is refused.
 * Method: every word of every option, read as the command line reads it, against the names here.
 */
#include "config/options.h"
#include "front/front_options.h"
#include "front/front_plan.h"
#include "copies/admission.h"
#include "support/test.h"

#include <stdlib.h>
#include <unistd.h>

static struct config options;
static struct front_config front;

static void
set(const char *name, const char *value)
{
	struct error err;

	if (!config_set(&options, name, value, &err))
		fail_msg("%s", err.text);
}

static void
begin(const char *servers)
{
	config_defaults(&options);
	set("front-servers", servers);
}

static void
read_options(void)
{
	struct error err;

	memset(&front, 0xa5, sizeof front);
	if (!front_options_read(&front, &options, &err))
		fail_msg("%s", err.text);
}

TEST(defaults_are_nutcrackers)
{
	begin("a:11211:1");
	read_options();
	check_eq(front.hash, FRONT_HASH_FNV1A_64);
	check_eq(front.distribution, FRONT_KETAMA);
	check(!front.given_order && front.tag[0] == 0 && front.skip[0] == 0);
	check_eq(front.server_retry_timeout_ns, 30000000000ull);
	check_eq(front.server_failure_limit, 2);
	check_eq(front.server_connections, 1);
	check_eq(front.timeout_ns, 1000000000ull);
	check_eq(front.connect_timeout_ns, 500000000ull);
	check_eq(front.protocol, FRONT_PROTOCOL_AUTO);
	check(front.misses_on_failure);
	check(front.shared); /* no option states that all writes come through this front */
	check_eq(front.items, FRONT_ITEMS_AUTO);
	check_eq(front.ttl_ns, 1000000000ull);
	check_eq(front.servers.count, 1);
	check(!front.auto_eject_hosts && !front.reload_flushes);
	check_eq(front.gutter.count, 0);
	check_eq(front.gutter_ttl_s, 10);
}

TEST(every_hash_and_distribution_has_its_name)
{
	const char *const *words = option_choices(OPTION_FRONT_HASH);
	uint32_t n = 0;

	begin("a:11211:1");
	for (; words[n] != NULL; n++) {
		set("front-hash", words[n]);
		read_options();
		check_str(front_hash_name(front.hash), words[n]);
	}
	check_eq(n, FRONT_HASHES_COUNT);
	words = option_choices(OPTION_FRONT_DISTRIBUTION);
	for (n = 0; words[n] != NULL; n++) {
		set("front-distribution", words[n]);
		read_options();
		check_str(front_distribution_name(front.distribution), words[n]);
	}
	check_eq(n, FRONT_JUMP + 1);
}

TEST(words_and_times_reach_their_fields)
{
	struct front_fleet fleet;

	begin("b:1:1,a:2:3");
	set("front-order", "given");
	set("front-hash-tag", "{}");
	set("front-hash-skip", "app:");
	set("front-protocol", "text");
	set("front-on-failure", "error");
	set("front-timeout", "250ms");
	set("front-connect-timeout", "2s");
	set("front-server-retry-timeout", "3600s");
	set("front-server-failure-limit", "7");
	set("front-server-connections", "16");
	set("front-auto-eject-hosts", "yes");
	set("front-gutter", "c:1:1");
	set("front-gutter-ttl", "1001ms");
	set("front-reload", "flush");
	read_options();
	check(front.auto_eject_hosts && front.reload_flushes);
	check_str(front.gutter.server[0].name, "c:1");
	check_eq(front.gutter_ttl_s, 2);
	check_eq(front.protocol, FRONT_PROTOCOL_TEXT);
	check(!front.misses_on_failure);
	check_eq(front.timeout_ns, 250000000ull);
	check_eq(front.connect_timeout_ns, 2000000000ull);
	check_eq(front.server_retry_timeout_ns, 3600000000000ull);
	check_eq(front.server_failure_limit, 7);
	check_eq(front.server_connections, 16);
	fleet = front_config_fleet(&front);
	check(fleet.given_order && fleet.tag[0] == '{' && fleet.tag[1] == '}');
	check_str(fleet.skip, "app:");
	check_eq(fleet.nservers, 2);
	check_str(fleet.servers[1].name, "a:2");
	check_eq(fleet.servers[1].weight, 3);
	set("front-protocol", "meta");
	set("front-mode", "sole");
	read_options();
	check(!front.shared);
	check_eq(front.items, 0);
	set("front-items", "auto");
	read_options();
	check_eq(front.items, FRONT_ITEMS_AUTO);
	set("front-items", "memory");
	set("front-ttl", "16ms");
	read_options();
	check_eq(front.items, FRONT_ITEMS_MEMORY);
	check_eq(front.ttl_ns, 16000000ull);
	set("front-mode", "shared");
	set("front-items", "65536");
	read_options();
	check(front.shared);
	check_eq(front.items, ADMISSION_ITEMS_MAX);
	check_eq(front.protocol, FRONT_PROTOCOL_META);
}

TEST(servers_come_from_a_file_by_its_path)
{
	char path[] = "/tmp/front_options_XXXXXX";
	const int fd = mkstemp(path);
	struct error err;

	check_eq(write(fd, "a:1:1\nb:1:2 x\n", 14), 14);
	close(fd);
	begin(path);
	read_options();
	check_eq(front.servers.count, 2);
	check_str(front.servers.server[1].name, "x");
	unlink(path);
	check(!front_options_read(&front, &options, &err));
	check_ptr(strstr(err.text, "No such file"));
	set("front-servers", "a:1");
	check(!front_options_read(&front, &options, &err));
	check_ptr(strstr(err.text, "--front-servers: \"a:1\": expected host:port:weight"));
	set("front-servers", "a:1:1");
	set("front-gutter", "a:1");
	check(!front_options_read(&front, &options, &err));
	check_ptr(strstr(err.text, "--front-gutter: \"a:1\": expected host:port:weight"));
}

static const char *
refused_peers(const char *peers)
{
	static struct error err;

	begin("a:1:1");
	set("front-peers", peers);
	memset(&front, 0xa5, sizeof front);
	check(!front_options_read(&front, &options, &err));
	return err.text;
}

TEST(login_is_the_command_that_a_connection_begins_with)
{
	char path[] = "/tmp/front_login_XXXXXX";
	const int fd = mkstemp(path);
	const char text[] = "front:pa ss:write\n";

	check_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
	close(fd);
	begin("a:11211:1");
	read_options();
	check_str(front.login.line, "");
	set("front-login", path);
	read_options();
	check_str(front.login.line, "set clockoo-login 0 -1 11\r\nfront pa ss\r\n");
	unlink(path);
}

TEST(peers_have_addresses)
{
	static const char *const wrong[] = {"10.0.0.2",   "10.0.0.2:",      "10.0.0.2:0",
					    "b:11211",    "10.0.0.2:65536", ":11211",
					    "10.0.0.2:x", "10.0.0.2:1 x",   "/etc/peers",
					    "0.0.0.0:11", "10.0.0.2:-1",    "10.0.0.2:1:1"};
	struct ip_addr v6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 2}}, v4 = ip_addr_v4(0x0a000002);
	struct error err;

	begin("a:1:1");
	set("front-peers", "10.0.0.2:11211,2001:db8::2:11212");
	read_options();
	check_eq(front.peers.count, 2);
	check(ip_addr_equal(&front.peers.address[0].ip, &v4));
	check(ip_addr_equal(&front.peers.address[1].ip, &v6));
	check_eq(front.peers.address[0].port, 11211);
	check_eq(front.peers.address[1].port, 11212);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		check_ptr(strstr(refused_peers(wrong[i]), "expected a front's address"));
	begin("a:1:1");
	set("front-peers", "10.0.0.2:11211");
	set("front-mode", "sole");
	check(!front_options_read(&front, &options, &err));
	check_ptr(strstr(err.text, "--front-mode sole"));
	begin("a:1:1");
	set("front-peers", "10.0.0.2:11211");
	set("front-items", "0");
	check(!front_options_read(&front, &options, &err));
	check_ptr(strstr(err.text, "--front-items 0"));
}

TEST(keys_are_handed_over_in_sole_mode_by_servers_that_know_meta)
{
	struct error err;

	begin("a:1:1");
	set("front-warm", "1500ms");
	check(!front_options_read(&front, &options, &err));
	check_ptr(strstr(err.text, "--front-warm with --front-mode shared"));
	set("front-mode", "sole");
	read_options();
	check_eq(front.warm_ns, 1500000000ull);
	set("front-protocol", "text");
	check(!front_options_read(&front, &options, &err));
	check_ptr(strstr(err.text, "--front-warm with --front-protocol text"));
	set("front-warm", "0s");
	read_options();
	check_eq(front.warm_ns, 0);
}

TEST(a_worker_has_a_bound_of_connections)
{
	char list[1024] = "";
	struct error err;
	uint32_t len = 0;

	for (uint32_t i = 1; i <= 65; i++)
		len += (uint32_t)snprintf(list + len, sizeof list - len, "%sa:%u:1",
					  i == 1 ? "" : ",", i);
	begin(list);
	set("front-server-connections", "15");
	read_options();
	set("front-server-connections", "16");
	check(!front_options_read(&front, &options, &err));
	check_str(err.text,
		  "--front-server-connections: 16 to each of 65 servers: 1040 of a worker; at "
		  "most 1024");
}
