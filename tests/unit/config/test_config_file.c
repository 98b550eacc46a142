/*
 * The configuration file. Goal: a key of the file means what its option means; every mistake is
 * one line that names file, line, key and the allowed values, whichever part found it; the
 * command line wins; the output of --print-config reads back as the same configuration, byte for
 * byte. Method: tables of texts against fields or lines, of options against what is printed and
 * read again.
 */
#include "support/test.h"
#include "broken_files.h"
#include "config/config_file.h"
#include "config/nearest.h"
#include "profile/profile.h"
#include "config/yaml_keys.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_BYTES 32768

/* Reads the text as config_parse reads a file, from memory. */
static bool
read_text(struct config *cfg, struct config_source *src, const char *text, struct error *f)
{
	config_defaults(cfg);
	*src = (struct config_source){.default_file = NULL};
	return config_file_read(cfg, src, "f.yaml", text, strlen(text), f) &&
	       (config_finish(cfg, f) || config_error_locate(src, f));
}

TEST(a_mistake_earns_one_line_with_file_line_and_key)
{
	for (uint32_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
		struct config_source src;
		struct config cfg;
		struct error f;

		if (read_text(&cfg, &src, broken[i].text, &f))
			fail_msg("accepted: %s", broken[i].text);
		check_str(f.text, broken[i].line);
	}
}

#define NUMBER(field) offsetof(struct config, field)

static const struct {
	const char *text;
	size_t at;
	uint32_t value;
} numbers[] = {
	{"", NUMBER(mtu), 1500},
	{"# nothing\n", NUMBER(memory_mb), 64},
	{"network:\n", NUMBER(mtu), 1500},
	{"network: {mtu: 9000}\n", NUMBER(mtu), 9000},
	{"network:\n  mtu: 9000 # jumbo\n", NUMBER(mtu), 9000},
	{"network:\n  mtu:\n    9000\n", NUMBER(mtu), 9000},
	{"network:\n  \"mtu\": '9000'\n", NUMBER(mtu), 9000},
	{"network:\n  address: 192.168.1.2/30\n", NUMBER(ipv4), 0xc0a80102},
	{"network:\n  vlan: 7\n  vlan_priority: 5\n", NUMBER(vlan_priority), 5},
	{"port:\n  rx_ring: 96\n", NUMBER(rx_ring), 96},
	{"port:\n  burst: 32\n", NUMBER(burst), 32},
	{"port:\n  offloads: []\n", NUMBER(offloads), 0},
	{"port:\n  offloads: none\n", NUMBER(offloads), 0},
	{"port:\n  offloads: [tx_fast_free, rx_cksum]\n", NUMBER(offloads),
	 OFFLOAD_TX_FAST_FREE | OFFLOAD_RX_CKSUM},
	{"cores:\n  count: 8\n", NUMBER(cores), 8},
	{"cores:\n  count: 8\n", NUMBER(queues), 8},
	{"cores:\n  list: [2, 3, 8-11]\n", NUMBER(cores), 6},
	{"cores:\n  list: [2, 3, 8-11]\n", NUMBER(lcores.at[5].cpu), 11},
	{"cores:\n  list:\n    - 0@4\n    - 1@6\n", NUMBER(lcores.at[1].cpu), 6},
	{"cores:\n  list: 5\n", NUMBER(lcores.at[0].cpu), 5},
	{"cores:\n  list: [0@0, 1@0]\n  share: yes\n", NUMBER(cores), 2},
	{"cores:\n  hyperthreads: workers\n", NUMBER(hyperthreads), HYPERTHREADS_WORKERS},
	{"cache:\n  eviction: 2q\n", NUMBER(eviction), EVICTION_2Q},
	{"cache:\n  eviction: clock\n", NUMBER(eviction), EVICTION_CLOCK},
	{"cores:\n  control_cpu: 1\n", NUMBER(control_cpu), 1},
	{"memory:\n  limit: 3072\n  nodes: [2048, 1024]\n", NUMBER(node_mb[1]), 1024},
	{"memory:\n  numa: [0, 2-3]\n", NUMBER(numa), 13},
	{"memory:\n  numa: 1\n", NUMBER(numa), 2},
	{"memory:\n  hugepage_size: 1g\n", NUMBER(hugepage), HUGEPAGE_1G},
	{"steering:\n  mode: flow-director\n", NUMBER(steering), STEERING_FLOW_DIRECTOR},
	{"cache:\n  max_item_size: 2m\n", NUMBER(item_max_bytes), 2u << 20},
	{"protocol:\n  tcp_port: 0\n  udp_port: 1\n", NUMBER(tcp_port), 0},
	{"protocol:\n  udp_allow: [10.0.0.0/8, \"2001:db8::/32\"]\n", NUMBER(udp_allow_count), 2},
	{"protocol:\n  udp_allow: 10.0.0.0/8,192.0.2.7\n", NUMBER(udp_allow_count), 2},
	{"protocol:\n  udp_allow: []\n", NUMBER(udp_allow_count), 0},
	{"protocol:\n  commands: binary\n", NUMBER(protocol), PROTOCOL_BINARY},
	{"protocol:\n  idle_timeout: 90\n", NUMBER(idle_timeout_s), 90},
	{"telemetry:\n  verbose: 2\n", NUMBER(verbosity), 2},
	{"front:\n  hash: md5\n", NUMBER(front.hash), 1},
	{"front:\n  distribution: jump\n", NUMBER(front.distribution), 3},
	{"front:\n  order: given\n", NUMBER(front.order), 1},
	{"front:\n  protocol: text\n", NUMBER(front.protocol), 1},
	{"front:\n  on_failure: error\n", NUMBER(front.on_failure), 1},
	{"front:\n  timeout: 400ms\n", NUMBER(front.timeout_ms), 400},
	{"front:\n  connect_timeout: 60s\n", NUMBER(front.connect_timeout_ms), 60000},
	{"front:\n  server_retry_timeout: 100ms\n", NUMBER(front.server_retry_timeout_ms), 100},
	{"front:\n  server_failure_limit: 3\n", NUMBER(front.server_failure_limit), 3},
	{"front:\n  server_connections: 2\n", NUMBER(front.server_connections), 2},
	{"front:\n  items: 1000\n", NUMBER(front.items), 1000},
	{"front:\n  items: memory\n", NUMBER(front.items), CONFIG_FRONT_ITEMS_MEMORY},
	{"front:\n  ttl: 2s\n", NUMBER(front.ttl_ms), 2000},
	{"front:\n  items: auto\n", NUMBER(front.items), CONFIG_FRONT_ITEMS_AUTO},
	{"", NUMBER(front.items), CONFIG_FRONT_ITEMS_BY_MODE},
	{"front:\n  mode: sole\n", NUMBER(front.mode), 1},
	{"", NUMBER(front.mode), 0},
	{"", NUMBER(front.ttl_ms), 1000},
	{"front:\n  gutter_ttl: 1500ms\n", NUMBER(front.gutter_ttl_ms), 1500},
	{"front:\n  reload: flush\n", NUMBER(front.reload), 1},
	{"front:\n  warm: 60s\n", NUMBER(front.warm_ms), 60000},
	{"", NUMBER(front.warm_ms), 0},
	{"front:\n  warm: 0\n", NUMBER(front.warm_ms), 0},
	{"front:\n  warm: 15m\n", NUMBER(front.warm_ms), 900000},
	{"front:\n  warm: 1h\n", NUMBER(front.warm_ms), 3600000},
	{"", NUMBER(front.gutter_ttl_ms), 10000},
	{"flash:\n  device: /f\n  size: 2g\n", NUMBER(flash.size_mb), 2048},
	{"flash:\n  device: /f\n  admit: used\n", NUMBER(flash.admit), FLASH_ADMIT_USED},
	{"flash:\n  device: /f\n  layout: log\n", NUMBER(flash.layout), FLASH_LAYOUT_LOG},
	{"flash:\n  device: /f\n  io: threads\n", NUMBER(flash.io), FLASH_IO_THREADS},
	{"flash:\n  device: /f\n  large: 10\n", NUMBER(flash.large), 10},
	{"flash:\n  device: /f\n  item_max: 4k\n", NUMBER(flash.item_max_bytes), 4096},
	{"flash:\n  device: /f\n  item_size: 600\n", NUMBER(flash.item_size), 600},
	{"flash:\n  device: /f\n  budget: 50\n", NUMBER(flash.budget_mb), 50},
	{"flash:\n  device: /f\n  deadline: 20ms\n", NUMBER(flash.deadline_ms), 20},
	{"", NUMBER(front.hash), CONFIG_FRONT_FNV1A_64},
	{"", NUMBER(front.timeout_ms), 1000},
	{"", NUMBER(front.connect_timeout_ms), 500},
	{"", NUMBER(front.server_retry_timeout_ms), 30000},
	{"", NUMBER(front.server_failure_limit), 2},
	{"", NUMBER(front.server_connections), 1},
};

/* The list of servers in block style, in flow style, and as one value. */
static const struct {
	const char *text, *servers;
} fleets[] = {
	{"", ""},
	{"front:\n  servers: a:1:1\n", "a:1:1"},
	{"front:\n  servers: /etc/servers\n", "/etc/servers"},
	{"front:\n  servers: [a:1:1 x, b:1:1]\n", "a:1:1 x,b:1:1"},
	{"front:\n  servers:\n    - a:1:1 x # first\n    - \"b:1:1 y\"\n", "a:1:1 x,b:1:1 y"},
	{"front:\n  servers:\n  - 127.0.0.1:11211:1 server1\n  - 127.0.0.1:11212:1\n",
	 "127.0.0.1:11211:1 server1,127.0.0.1:11212:1"},
};

TEST(servers_are_listed_as_in_nutcrackers_file)
{
	for (uint32_t i = 0; i < sizeof fleets / sizeof fleets[0]; i++) {
		struct config_source src;
		struct config cfg;
		struct error f;

		if (!read_text(&cfg, &src, fleets[i].text, &f))
			fail_msg("%s", f.text);
		check_str(cfg.front.servers, fleets[i].servers);
		check_eq(config_has_front(&cfg), fleets[i].servers[0] != '\0');
	}
}

TEST(a_key_reaches_the_field_of_its_option)
{
	for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		struct config_source src;
		struct config cfg;
		struct error f;
		uint32_t got;

		if (!read_text(&cfg, &src, numbers[i].text, &f))
			fail_msg("%s", f.text);
		memcpy(&got, (char *)&cfg + numbers[i].at, sizeof got);
		if (got != numbers[i].value)
			fail_msg("%s: %u", numbers[i].text, got);
	}
}

static const struct {
	const char *word;
	bool yes;
} answers[] = {{"yes", true}, {"true", true}, {"no", false}, {"false", false}};

TEST(a_flag_is_yes_or_no_in_yamls_words)
{
	for (uint32_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
		struct config_source src;
		struct config cfg;
		struct error f;
		char text[64];

		snprintf(text, sizeof text, "cache:\n  disable_evictions: %s\n", answers[i].word);
		check(read_text(&cfg, &src, text, &f));
		check_eq(cfg.no_evict, answers[i].yes);
	}
}

/* Checks that the printed form of *cfg reads back and prints the same bytes, before and after
 * config_finish. */
static void
check_reads_back(const struct config *cfg)
{
	static char text[TEXT_BYTES];
	FILE *out = fmemopen(text, sizeof text, "w");
	struct config_source src = {.default_file = NULL};
	struct config again, finished = *cfg;
	struct error f;

	check_ptr(out);
	config_print(cfg, out);
	check(ftell(out) < TEXT_BYTES - 1);
	fclose(out);
	config_defaults(&again);
	if (!config_file_read(&again, &src, "printed", text, strlen(text), &f))
		fail_msg("%s", f.text);
	check_bytes(&again, cfg, sizeof again);
	if (!config_finish(&finished, &f) || !config_finish(&again, &f))
		fail_msg("%s", f.text);
	check_bytes(&again, &finished, sizeof again);
}

TEST(the_defaults_printed_read_back_as_the_defaults)
{
	struct config cfg;

	config_defaults(&cfg);
	check_reads_back(&cfg);
}

/* Settings, one in each row. A second and a third pair are options that
 * the first one requires. */
static const char *const settings[][6] = {
	{"memory-limit", "1024", NULL, NULL},
	{"memory-limit", "2", "memory-max", "1024"},
	{"max-item-size", "3m", NULL, NULL},
	{"max-item-size", "5k", NULL, NULL},
	{"max-item-size", "1025", NULL, NULL},
	{"tcp-port", "0", "udp-port", "11211"},
	{"udp-allow", "10.0.0.0/8,192.0.2.7,2001:db8::/32", NULL, NULL},
	{"udp-allow", "none", NULL, NULL},
	{"udp-budget", "128m", NULL, NULL},
	{"conn-limit", "4194304", "conns-per-source", "7"},
	{"disable-timestamps", "yes", NULL, NULL},
	{"threads", "8", NULL, NULL},
	{"lcores", "2,3,0@5,1@5", "share-cpus", "yes"},
	{"hyperthreads", "workers", "control-cpu", "0"},
	{"poll", "adaptive", NULL, NULL},
	{"max-reqs-per-event", "1", NULL, NULL},
	{"protocol", "ascii", NULL, NULL},
	{"disable-evictions", "yes", NULL, NULL},
	{"eviction", "clock", NULL, NULL},
	{"auth-file", "/etc/clockoo/users", "enable-sasl", "yes"},
	{"disable-flush-all", "yes", NULL, NULL},
	{"disable-dumping", "yes", "disable-watch", "yes"},
	{"enable-shutdown", "yes", NULL, NULL},
	{"stat-key-prefix", "\"", NULL, NULL},
	{"stat-key-prefix", "#", NULL, NULL},
	{"daemon", "yes", "pidfile", "a file: with #odd \\ letters \"\t"},
	{"user", "no", NULL, NULL},
	{"lock-memory", "yes", "enable-coredumps", "yes"},
	{"port", "tap", "iface", "v0"},
	{"port", "0000:03:00.0", "profile", "ixgbe"},
	{"socket", "a b", "vdev-args", "x=1,y=[2]"},
	{"queues", "1", "rx-ring", "96"},
	{"offloads", "none", NULL, NULL},
	{"offloads", "rx_cksum,tx_udp_cksum,tx_fast_free", NULL, NULL},
	{"offloads", "tx_tcp_cksum,tx_loans", NULL, NULL},
	{"tx-ring", "32768", "burst", "1"},
	{"address", "192.168.1.2/30", "gateway", "192.168.1.1"},
	{"address6", "2001:db8::1/64", "gateway6", "fe80::1"},
	{"allow", "10.0.0.0/8,2001:db8::/32,192.0.2.7", "deny", "/etc/clockoo/deny"},
	{"deny", "10.0.0.0/9", NULL, NULL},
	{"addresses", "192.0.2.5,2001:db8::5/64 vlan 7", "routes", "10.0.0.0/8 via 10.99.0.2"},
	{"addresses", "/etc/clockoo/addresses", "routes", "/etc/clockoo/routes"},
	{"address", "none", "address6", "2001:db8::1/64"},
	{"drain", "silent", "drain-time", "0"},
	{"udp-admin", "yes", NULL, NULL},
	{"ipv6", "on", NULL, NULL},
	{"ipv6", "off", NULL, NULL},
	{"probe", "long", NULL, NULL},
	{"probe", "off", NULL, NULL},
	{"vlan", "4094", "vlan-priority", "7"},
	{"kernel", "clockoo0", NULL, NULL},
	{"bond", "lacp", "bond-member", "v1"},
	{"bond", "lacp-slow", "bond-member", "v1"},
	{"bond", "active-backup", "bond-member", "v1"},
	{"mtu", "9000", NULL, NULL},
	{"congestion", "newreno", NULL, NULL},
	{"congestion", "dctcp", "ecn", "on"},
	{"ecn", "off", NULL, NULL},
	{"steering", "rss", NULL, NULL},
	{"udp-port-per-core", "yes", "udp-port", "11211"},
	{"no-huge", "yes", NULL, NULL},
	{"hugepage-size", "2m", NULL, NULL},
	{"node-memory", "0,64", NULL, NULL},
	{"memory-file", "/run/x y", "keep-for", "always"},
	{"keep-for", "never", NULL, NULL},
	{"memory-save", "/var/x y", "memory-save-compress", "1"},
	{"keep-for", "90", NULL, NULL},
	{"numa", "0,2-3", NULL, NULL},
	{"numa", "interleave", NULL, NULL},
	{"yield", "yes", NULL, NULL},
	{"file-prefix", "null", NULL, NULL},
	{"data-dir", "drivers-config", NULL, NULL},
	{"live", "yes", "verbose", "3"},
	{"telemetry-dpdk", "yes", NULL, NULL},
	{"enable-ssl", "yes", "ssl_chain_cert", "/etc/clockoo/cache.pem"},
	{"ssl_chain_cert", "/etc/clockoo/cache.pem", NULL, NULL},
	{"tls-plain-port", "11212", "enable-ssl", "yes", "ssl_chain_cert", "/c.pem"},
	{"ssl_key", "/etc/clockoo/cache.key", NULL, NULL},
	{"ssl_keyformat", "2", NULL, NULL},
	{"ssl_verify_mode", "2", NULL, NULL},
	{"ssl_ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256:!aNULL", NULL, NULL},
	{"ssl_ca_cert", "/etc/clockoo/clients.pem", NULL, NULL},
	{"ssl_min_version", "3", NULL, NULL},
	{"telemetry-http", "127.0.0.1:9150", NULL, NULL},
	{"telemetry-http", "[::1]:9150", NULL, NULL},
	{"telemetry-http", "/run/x y", NULL, NULL},
	{"port", "user", "listen", "127.0.0.1,[::1]:11300", "listen-backlog", "9"},
	{"idle_timeout", "60", "track_sizes", "yes"},
	{"front-servers", "10.0.0.1:11211:1", NULL, NULL},
	{"front-servers", "::1:11211:1 a, b:2:3 \"c\\,d:1:1", NULL, NULL},
	{"front-servers", "/etc/clockoo/servers #1", "front-order", "given"},
	{"front-hash", "jenkins", "front-distribution", "modula"},
	{"front-hash-tag", "{}", "front-hash-skip", "app: "},
	{"front-protocol", "meta", "front-server-connections", "16"},
	{"front-timeout", "1ms", "front-connect-timeout", "2s"},
	{"front-server-failure-limit", "1", "front-server-retry-timeout", "1500ms"},
	{"front-on-failure", "error", NULL, NULL},
	{"front-items", "0", "front-ttl", "16ms"},
	{"front-items", "memory", "front-mode", "sole"},
	{"front-items", "65536", NULL, NULL},
	{"front-auto-eject-hosts", "yes", "front-gutter", "10.0.0.9:11211:1,b:1:1 c"},
	{"front-gutter-ttl", "90s", "front-reload", "flush"},
	{"front-mode", "sole", "front-warm", "1500ms"},
	{"front-peers", "10.0.0.2:11211,2001:db8::2:11211", NULL, NULL},
	{"front-login", "/etc/clockoo/login", NULL, NULL},
	{"front-tls-ca", "/etc/clockoo/ca.pem", "front-tls-name", "cache.example"},
	{"flash-device", "/var/x y", "flash-size", "2t"},
	{"flash-device", "/dev/nvme0n1", "flash-size", "3g"},
	{"flash-device", "/f", "flash-state", "/dev/shm/x y"},
	{"flash-device", "f", "flash-size", "2049"},
	{"flash-device", "/f", "flash-admit", "used"},
	{"flash-device", "/f", "flash-item-size", "600"},
	{"flash-device", "/f", "flash-budget", "200"},
	{"flash-device", "/f", "flash-layout", "hash"},
	{"flash-device", "/f", "flash-io", "io_uring"},
	{"flash-device", "/f", "flash-large", "30"},
	{"flash-device", "/f", "flash-item-max", "4k"},
	{"flash-device", "/f", "flash-deadline", "20ms"},
	{"flash-device", "/f", "flash-compress", "yes"},
};

TEST(any_setting_printed_reads_back_as_it_was)
{
	for (uint32_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
		struct config cfg, before;
		struct error f;

		config_defaults(&cfg);
		before = cfg;
		for (uint32_t k = 0; k < 6 && settings[i][k] != NULL; k += 2)
			if (!config_set(&cfg, settings[i][k], settings[i][k + 1], &f))
				fail_msg("%s", f.text);
		if (memcmp(&cfg, &before, sizeof cfg) == 0)
			fail_msg("--%s %s is the default", settings[i][0], settings[i][1]);
		check_reads_back(&cfg);
	}
}

/* An option that the table above lacks would never have been read back. */
TEST(every_key_is_among_the_settings_tried)
{
	for (uint32_t n = 0; n < option_count(); n++) {
		const struct option_row *row = option_at(n);
		bool tried = row->key == NULL;

		for (uint32_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
			for (uint32_t k = 0; k < 6 && settings[i][k] != NULL; k += 2)
				tried |= strcmp(row->name, settings[i][k]) == 0;
		if (!tried)
			fail_msg("--%s", row->name);
	}
}

TEST(a_key_stands_once_and_in_a_known_section)
{
	for (uint32_t n = 0; n < option_count(); n++) {
		const char *key = option_at(n)->key;
		bool found = false;

		if (key == NULL)
			continue;
		check(config_file_row(key) == option_at(n));
		for (const struct config_section *s = config_sections; s->name != NULL; s++)
			found |= config_section_has(s, key);
		if (!found)
			fail_msg("%s", key);
	}
}

#define WORDS_MAX 5

/* Writes a file. *path ends in six letters X for mkstemp. */
static void
write_file(char *path, const char *text)
{
	const int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");

	check_ptr(file);
	fputs(text, file);
	fclose(file);
}

static enum config_action
parse(struct config *cfg, struct config_source *src, const char *const *words, struct error *f)
{
	char *argv[WORDS_MAX + 2] = {(char *)(uintptr_t) "clockoo"};
	int argc = 1;

	for (; argc <= WORDS_MAX && words[argc - 1] != NULL; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
	return config_parse(cfg, src, argc, argv, f);
}

/* The file is read as the default one. */
static const struct {
	const char *text;
	const char *words[WORDS_MAX];
	size_t at;
	uint32_t value;
} contests[] = {
	{"network:\n  mtu: 9000\n", {NULL}, NUMBER(mtu), 9000},
	{"network:\n  mtu: 9000\n", {"--mtu", "1400"}, NUMBER(mtu), 1400},
	{"network:\n  mtu: 9000\n", {"--config", "none"}, NUMBER(mtu), 1500},
	{"memory:\n  limit: 128\n", {"-m", "256"}, NUMBER(memory_mb), 256},
	{"memory:\n  limit: 128\n  nodes: [64, 64]\n", {"-m", "256"}, NUMBER(node_count), 0},
	{"cores:\n  list: [1, 2, 3]\n", {"-t", "2"}, NUMBER(cores), 2},
	{"cores:\n  list: [1, 2, 3]\n", {"--cores", "2"}, NUMBER(lcores.count), 0},
	{"cores:\n  count: 3\n", {"--lcores", "5"}, NUMBER(cores), 1},
	{"cores:\n  list: [0@0, 1@0]\n", {"--share-cpus"}, NUMBER(cores), 2},
	{"cores:\n  count: 3\nport:\n  queues: 3\n", {"-t", "2"}, NUMBER(queues), 2},
	{"cores:\n  list: [1, 2]\n", {"--lcores", "0@0,1@0"}, NUMBER(cores), 2},
	{"network:\n  address: 10.0.0.1/8\n", {"-l", "10.0.0.2"}, NUMBER(ipv4), 0x0a000002},
	{"network:\n  address: 10.0.0.1/8\n", {"-l", "10.0.0.2"}, NUMBER(prefix_len), 8},
	{"telemetry:\n  verbose: 1\n", {"-v"}, NUMBER(verbosity), 2},
	{"protocol:\n  udp_port: 7\n", {"-U", "8"}, NUMBER(udp_port), 8},
};

TEST(the_command_line_wins_over_the_file)
{
	for (uint32_t i = 0; i < sizeof contests / sizeof contests[0]; i++) {
		char path[] = "config_XXXXXX";
		struct config_source src = {.default_file = path};
		struct config cfg;
		struct error f;
		uint32_t got;

		write_file(path, contests[i].text);
		if (parse(&cfg, &src, contests[i].words, &f) != CONFIG_RUN)
			fail_msg("%s", f.text);
		unlink(path);
		memcpy(&got, (char *)&cfg + contests[i].at, sizeof got);
		if (got != contests[i].value)
			fail_msg("%s%s: %u", contests[i].text, contests[i].words[0], got);
	}
}

/* --cores is another name of -t: its value replaces the file's, and must agree with --lcores. */
TEST(the_other_name_of_an_option_wins_as_well)
{
	const char *const many[] = {"--cores", "40", NULL};
	const char *const odd[] = {"--cores", "2", "--lcores", "5", NULL};
	char path[] = "config_XXXXXX";
	struct config_source src = {.default_file = path};
	struct config cfg;
	struct error f;

	write_file(path, "cores:\n  count: 3\n");
	check_eq(parse(&cfg, &src, many, &f), CONFIG_RUN);
	error_set(&f, "-t: %u cores requested", cfg.cores);
	config_error_locate(&src, &f);
	check_str(f.text, "-t: 40 cores requested");
	check_eq(parse(&cfg, &src, odd, &f), CONFIG_ERROR);
	check_str(f.text, "-t says 2 cores and --lcores 1; give one of them");
	unlink(path);
}

TEST(a_port_on_the_command_line_brings_its_own_profile)
{
	const char *const words[] = {"--port", "tap", NULL};
	char path[] = "config_XXXXXX";
	struct config_source src = {.default_file = path};
	struct config cfg;
	struct error f;

	write_file(path, "port:\n  nic: 0000:03:00.0\n  profile: ixgbe\n");
	check_eq(parse(&cfg, &src, words, &f), CONFIG_RUN);
	unlink(path);
	check_str(cfg.port, "tap");
	check_str(cfg.pci, "");
	check_str(cfg.profile, "");
}

TEST(a_named_file_must_be_there_and_the_default_one_need_not)
{
	const char *const none[] = {NULL}, *const named[] = {"--config", "no/such.yaml", NULL};
	struct config_source src = {.default_file = "no/default.yaml"};
	struct config cfg;
	struct error f;

	check_eq(parse(&cfg, &src, none, &f), CONFIG_RUN);
	check_str(src.file, "");
	check_eq(parse(&cfg, &src, named, &f), CONFIG_ERROR);
	check_str(f.text, "cannot read no/such.yaml: No such file or directory");
}

/* The last of several options with an action decides. */
TEST(check_and_print_read_the_file_and_run_nothing)
{
	char path[] = "config_XXXXXX";
	const char *const check_it[] = {"--check", path, NULL};
	const char *const print_it[] = {"--config", path, "--print-config", NULL};
	struct config_source src = {.default_file = NULL};
	struct config cfg;
	struct error f;

	write_file(path, "cores:\n  list: [4, 5]\n");
	check_eq(parse(&cfg, &src, check_it, &f), CONFIG_CHECK);
	check_str(src.file, path);
	check_eq(cfg.cores, 2);
	check_eq(parse(&cfg, &src, print_it, &f), CONFIG_PRINT);
	check_eq(cfg.cores, 0); /* the value as given, not as derived */
	check_eq(cfg.lcores.count, 2);
	unlink(path);
}

/* The option has no key: its value is printed as the address. */
TEST(listen_is_printed_as_the_address)
{
	const char *const words[] = {"-l", "10.1.2.3", "--print-config", NULL};
	struct config_source src = {.default_file = NULL};
	struct config cfg;
	struct error f;

	check_eq(parse(&cfg, &src, words, &f), CONFIG_PRINT);
	check_eq(cfg.ipv4, 0x0a010203);
	check(cfg.address_given);
}

/* Several ports have no other key than listen's; read again they are the same. */
TEST(ports_of_a_nic_are_printed_and_read_again)
{
	static const char *const lists[] = {"10.1.2.3:11300,10.1.2.3:11301",
					    "10.1.2.3:11300,10.1.2.3"};
	static char text[TEXT_BYTES];

	for (uint32_t i = 0; i < 2; i++) {
		const char *const words[] = {"-l", lists[i], "--print-config", NULL};
		FILE *out = fmemopen(text, sizeof text, "w");
		struct config_source src = {.default_file = NULL};
		struct config cfg, again;
		struct error f;

		check_eq(parse(&cfg, &src, words, &f), CONFIG_PRINT);
		config_print(&cfg, out);
		fclose(out);
		config_defaults(&again);
		check(config_file_read(&again, &src, "printed", text, strlen(text), &f));
		check(config_finish(&again, &f));
		check_eq(again.ipv4, 0x0a010203);
		check_eq(again.tcp_port, i == 0 ? 11300 : 11211);
		check_eq(again.listeners.more_count, 1);
		check_eq(again.listeners.more_ports[0], i == 0 ? 11301 : 11300);
	}
}

/* A memcached.conf is converted as a whole: options that a NIC cannot provide become comments
 * with the reason. */
TEST(what_cannot_be_converted_becomes_a_comment)
{
	const char *const words[] = {"-m128",          "-l", "127.0.0.1", "-s/run/x",
				     "--print-config", NULL};
	static char text[TEXT_BYTES];
	FILE *out = fmemopen(text, sizeof text, "w");
	struct config_source src = {.default_file = NULL};
	struct config cfg, again;
	struct error f;

	check_ptr(out);
	check_eq(parse(&cfg, &src, words, &f), CONFIG_PRINT);
	config_print(&cfg, out);
	fclose(out);
	check_ptr(strstr(text, "\n# --listen 127.0.0.1: no address of a NIC"));
	check_ptr(strstr(text, "\n# --unix-socket: Unix domain sockets are not supported\n"));
	config_defaults(&again);
	check(config_file_read(&again, &src, "printed", text, strlen(text), &f));
	check_eq(again.memory_mb, 128);
	check(!again.address_given);
}

/* With port user the same -l is an address of this host. -s is refused unless the configuration
 * is printed. */
TEST(what_can_be_had_is_no_comment)
{
	const char *const words[] = {"--port", "user", "-l", "127.0.0.1", "--print-config", NULL};
	const char *const refused[] = {"-s", "/run/x", NULL};
	struct config_source src = {.default_file = NULL};
	struct config cfg;
	struct error f;

	check_eq(parse(&cfg, &src, words, &f), CONFIG_PRINT);
	check_str(cfg.listeners.text, "127.0.0.1");
	check(!option_is_marked(&cfg, option_by_letter('l')));
	check_eq(parse(&cfg, &src, refused, &f), CONFIG_ERROR);
}

/* A reload reads the file of the start, from any working directory, and that
 * file must still exist. */
TEST(a_file_is_read_again_whatever_the_options_name)
{
	const char *const words[] = {"--config", "no/such.yaml", NULL};
	char path[] = "config_XXXXXX";
	struct config_source src = {.default_file = NULL, .again = path};
	struct config cfg;
	struct error f;

	write_file(path, "network:\n  mtu: 1400\n");
	check_eq(parse(&cfg, &src, words, &f), CONFIG_RUN);
	check_eq(cfg.mtu, 1400);
	unlink(path);
	check_eq(parse(&cfg, &src, words, &f), CONFIG_ERROR);
}

/* Errors found after parsing, for a file of "port: {iface: v0}" and "cores: {list: [0, 9]}", and
 * the line that names the file. */
static const struct {
	const char *said, *faulty;
} later[] = {
	{"--iface: there is no interface \"v0\"",
	 "f.yaml:2: port.iface: there is no interface \"v0\""},
	{"--port af_packet: needs --iface NAME",
	 "f.yaml:2: port.iface: port.nic af_packet: needs port.iface NAME"},
	{"--lcores: there is no CPU 9", "f.yaml:4: cores.list: there is no CPU 9"},
	{"-t: 2 cores requested; lower -t or --mtu", "-t: 2 cores requested; lower -t or --mtu"},
	{"-o idle_timeout: odd", "-o idle_timeout: odd"},
	{"the plan--lcores is odd", "the plan--lcores is odd"},
	{"no option at all", "no option at all"},
	{"--iface: raise it (ulimit -l unlimited)",
	 "f.yaml:2: port.iface: raise it (ulimit -l unlimited)"},
};

TEST(a_fault_found_later_names_the_line_that_set_it)
{
	struct config_source src;
	struct config cfg;
	struct error f;

	check(read_text(&cfg, &src, "port:\n  iface: v0\ncores:\n  list: [0, 9]\n", &f));
	for (uint32_t i = 0; i < sizeof later / sizeof later[0]; i++) {
		error_set_code(&f, ERROR_OS, "%s", later[i].said);
		check(!config_error_locate(&src, &f));
		check_str(f.text, later[i].faulty);
		check_eq(f.code, ERROR_OS);
	}
}

TEST(a_core_that_does_not_exist_is_named_with_those_that_do)
{
	const struct cpu_list cpus = {.count = 2, .at = {0, 1}};
	struct config_source src;
	struct config cfg;
	struct error f;

	check(read_text(&cfg, &src, "cores:\n  list: [0,\n    9]\n", &f));
	check(!lcores_exist(&cfg.lcores, &cpus, &f));
	config_error_locate(&src, &f);
	check_str(f.text,
		  "f.yaml:2: cores.list: there is no CPU 9 for core 9; this process may use "
		  "CPUs 0 1");
}

TEST(a_file_too_long_is_refused)
{
	static char text[YAML_FILE_BYTES + 2];
	char path[] = "config_XXXXXX";
	struct config_source src = {.default_file = NULL};
	struct config cfg;
	struct error f;

	memset(text, '#', sizeof text - 1);
	write_file(path, text);
	config_defaults(&cfg);
	check(!config_file_load(&cfg, &src, path, &f));
	unlink(path);
	check_ptr(strstr(f.text, " has more than 65536 bytes"));
	check(!config_file_load(&cfg, &src, ".", &f));
	check_str(f.text, ". is not a regular file");
	check_eq(mkfifo(path, 0600), 0); /* a reader of it would wait for a writer */
	check(!config_file_load(&cfg, &src, path, &f));
	unlink(path);
	check_ptr(strstr(f.text, " is not a regular file"));
}

/* A visitor that takes every key. */
static bool
take_all(void *ctx, const struct yaml_key *key, struct error *f)
{
	(*(uint32_t *)ctx)++;
	return true;
}

static const struct {
	const char *text;
	uint32_t keys;    /* visited, mappings and the root included */
	const char *line; /* NULL: the text is accepted */
} nests[] = {
	{"{a: {b: {c: {d: {e: {f: 1}}}}}}\n", 7, NULL},
	{"{a: {b: {c: {d: {e: {f: {g: 1}}}}}}}\n", 7, "n.yaml:1: a.b.c.d.e.f.g: nested too deeply"},
	{"a: &a [*a]\n", 1, "n.yaml:1: a: an alias (*); write the value again"},
	{"a: &a {b: *a}\n", 2, "n.yaml:1: a.b: an alias (*); write the value again"},
};

TEST(a_file_nested_too_deeply_or_into_itself_ends)
{
	for (uint32_t i = 0; i < sizeof nests / sizeof nests[0]; i++) {
		uint32_t keys = 0;
		const struct yaml_visitor v = {take_all, &keys};
		struct error f = {0};

		check_eq(yaml_keys_of_text("n.yaml", nests[i].text, strlen(nests[i].text), &v, &f),
			 nests[i].line == NULL);
		check_str(f.text, nests[i].line != NULL ? nests[i].line : "");
		check_eq(keys, nests[i].keys);
	}
}

static const struct {
	const char *a, *b;
	uint32_t distance;
} words[] = {
	{"", "", 0},       {"", "ab", 2},
	{"mtu", "mtu", 0}, {"mtu", "mut", 1},
	{"mtu", "mt", 1},  {"mtu", "mtus", 1},
	{"mtu", "mau", 1}, {"adress", "address", 1},
	{"ab", "ba", 1},   {"kitten", "sitting", 3},
};

TEST(the_distance_of_words_counts_slips_of_the_hand)
{
	for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		check_eq(nearest_distance(words[i].a, words[i].b), words[i].distance);
		check_eq(nearest_distance(words[i].b, words[i].a), words[i].distance);
	}
}
