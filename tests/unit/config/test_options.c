/*
 * The command line. Goal: every option reaches its field by each of its spellings; a wrong value
 * is refused with one line that names the option and what is allowed; no option is applied in
 * part. Method: tables of words, and the field they fill or the line they cause.
 */
#include "support/test.h"
#include "config/config.h"

#include <stdlib.h>

#define WORDS_MAX 6

static enum config_action
parse(struct config *cfg, const char *const *words, struct error *f)
{
	char *argv[WORDS_MAX + 2] = {(char *)(uintptr_t) "clockoo"};
	struct config_source src = {.default_file = NULL};
	int argc = 1;

	for (; argc <= WORDS_MAX && words[argc - 1] != NULL; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
	f->text[0] = '\0';
	return config_parse(cfg, &src, argc, argv, f);
}

TEST(without_options_the_defaults_are_memcacheds)
{
	const char *const words[] = {NULL};
	struct config cfg;
	struct error f;

	check_eq(parse(&cfg, words, &f), CONFIG_RUN);
	check_eq(cfg.memory_mb, 64);
	check_eq(cfg.item_max_bytes, 1u << 20);
	check_eq(cfg.tcp_port, 11211);
	check_eq(cfg.udp_port, 0);
	check_eq(cfg.conns_max, 1024);
	check_eq(cfg.conn_requests_max, 20);
	check_eq(cfg.cores, 1);
	check_eq(cfg.mtu, 1500);
	check_eq(cfg.ipv4, 0x0a630001);
	check_eq(cfg.prefix_len, 24);
	check_str(cfg.port, "af_packet");
	check(!cfg.yield && !cfg.live && !cfg.no_huge && !cfg.telemetry_dpdk);
}

#define NUMBER(field) offsetof(struct config, field)

static const struct {
	const char *words[WORDS_MAX];
	size_t at;
	uint32_t value;
} numbers[] = {
	{{"-m", "8"}, NUMBER(memory_mb), 8},
	{{"-m8"}, NUMBER(memory_mb), 8},
	{{"-m", "2"}, NUMBER(memory_mb), 2},
	{{"-m", "1024m"}, NUMBER(memory_mb), 1024},
	{{"-m", "64", "--memory-max", "128M"}, NUMBER(memory_max_mb), 128},
	{{"--memory-max", "128"}, NUMBER(memory_max_mb), 128},
	{{"--memory-max", "128", "--node-memory", "64,64"}, NUMBER(node_mb[1]), 64},
	{{"--keep-for", "1"}, NUMBER(keep_for_s), 1},
	{{"--keep-for", "7776000"}, NUMBER(keep_for_s), KEEP_FOR_MAX},
	{{"--keep-for", "always"}, NUMBER(keep_for_s), KEEP_FOR_ALWAYS},
	{{"--keep-for", "never"}, NUMBER(keep_for_s), KEEP_FOR_NEVER},
	{{"--memory-save-compress", "0"}, NUMBER(save_compress), SAVE_COMPRESS_0},
	{{"--memory-save-compress", "1"}, NUMBER(save_compress), SAVE_COMPRESS_1},
	{{"--memory-save-compress", "no"}, NUMBER(save_compress), SAVE_COMPRESS_NO},
	{{"--memory-save", "/x"}, NUMBER(save_compress), SAVE_COMPRESS_NO},
	{{"-e", "/x"}, NUMBER(keep_for_s), KEEP_FOR_DEFAULT},
	{{"--numa", "nic"}, NUMBER(numa), CONFIG_NUMA_NIC},
	{{"--numa", "interleave"}, NUMBER(numa), CONFIG_NUMA_ALL},
	{{"--numa", "0"}, NUMBER(numa), 1},
	{{"--numa", "1,3-5,15"}, NUMBER(numa), 0x803a},
	{{"--memory-limit=1048576"}, NUMBER(memory_mb), 1048576},
	{{"--memory-limit", "100"}, NUMBER(memory_mb), 100},
	{{"-I", "1k"}, NUMBER(item_max_bytes), 1u << 10},
	{{"-I", "1024"}, NUMBER(item_max_bytes), 1u << 10},
	{{"-I2M"}, NUMBER(item_max_bytes), 2u << 20},
	{{"--max-item-size", "1048577"}, NUMBER(item_max_bytes), 1048577},
	{{"-I", "128m", "-m", "256"}, NUMBER(item_max_bytes), 128u << 20},
	{{"-p", "0", "-U", "1"}, NUMBER(tcp_port), 0},
	{{"-p", "65535"}, NUMBER(tcp_port), 65535},
	{{"-U", "11211"}, NUMBER(udp_port), 11211},
	{{"-U", "11222"}, NUMBER(tcp_port), 11222},
	{{"-U", "11222", "-p", "11211"}, NUMBER(tcp_port), 11211},
	{{"-U", "0"}, NUMBER(tcp_port), 11211},
	{{"-c", "4194304"}, NUMBER(conns_max), 4194304},
	{{"-t", "64"}, NUMBER(cores), 64},
	{{"--cores", "2"}, NUMBER(cores), 2},
	{{"--lcores", "0@0,1@0,7"}, NUMBER(cores), 3},
	{{"-R", "1"}, NUMBER(conn_requests_max), 1},
	{{"--mtu", "9000"}, NUMBER(mtu), 9000},
	{{"-vv"}, NUMBER(verbosity), 2},
	{{"-vvvvvv"}, NUMBER(verbosity), 3},
	{{"-vm", "9"}, NUMBER(memory_mb), 9},
	{{"--address", "192.168.1.2/30"}, NUMBER(ipv4), 0xc0a80102},
	{{"--address", "192.168.1.2/30"}, NUMBER(prefix_len), 30},
	{{"--address", "10.0.0.0/31"}, NUMBER(ipv4), 0x0a000000},
	{{"--address", "10.0.0.255/32"}, NUMBER(prefix_len), 32},
	{{"--gateway", "10.99.0.254"}, NUMBER(gateway), 0x0a6300fe},
	{{"-l", "192.0.2.9"}, NUMBER(ipv4), 0xc0000209},
	{{"-l", "192.0.2.9:11300"}, NUMBER(tcp_port), 11300},
	{{"-l", "0.0.0.0"}, NUMBER(ipv4), 0x0a630001},
	{{"-l", "*"}, NUMBER(ipv4), 0x0a630001},
	{{"-l", "*:11300"}, NUMBER(tcp_port), 11300},
	{{"-l", "192.0.2.9,notls:192.0.2.9:11212", "-Z", "-o", "ssl_chain_cert=/c"},
	 NUMBER(tls.plain_port),
	 11212},
	{{"-l", "notls:192.0.2.9:11211,192.0.2.9:11300", "-Z", "-o", "ssl_chain_cert=/c"},
	 NUMBER(tcp_port),
	 11300},
	{{"-l", "notls:0.0.0.0:11212", "-Z", "-o", "ssl_chain_cert=/c"},
	 NUMBER(tls.plain_port),
	 11212},
	{{"-l", "192.0.2.9:11300,192.0.2.9:11301"}, NUMBER(tcp_port), 11300},
	{{"-l", "192.0.2.9:11300,192.0.2.9:11301"}, NUMBER(listeners.more_count), 1},
	{{"-l", "192.0.2.9:11300", "-l", "192.0.2.9:11301"},
	 NUMBER(listeners.more_ports[0]),
	 11301},
	{{"-l", "192.0.2.9:11300,192.0.2.9"}, NUMBER(tcp_port), 11211},
	{{"-l", "192.0.2.9:11300,192.0.2.9"}, NUMBER(listeners.more_ports[0]), 11300},
	{{"-l", "192.0.2.9:11300,*:11300"}, NUMBER(listeners.more_count), 0},
	{{"-l", "192.0.2.9:11300", "-U", "11211"}, NUMBER(udp_port), 11300},
	{{"-l", "192.0.2.9", "-U", "11212"}, NUMBER(udp_port), 11212},
	{{"-l", "192.0.2.9:11300"}, NUMBER(udp_port), 0},
	{{"-l", "127.0.0.1", "--port", "user"}, NUMBER(listeners.count), 1},
	{{"--port", "user"}, NUMBER(listeners.count), 1},
	{{"--port", "user"}, NUMBER(listeners.at[0].ip.b[12]), 0x0100007f},
	{{"--port", "user"}, NUMBER(ipv4), CONFIG_USER_ADDRESS},
	{{"--port", "user"}, NUMBER(gateway), CONFIG_USER_HOST},
	{{"-l", "::1,[::]:11300", "-l", "0.0.0.0", "--port", "user"}, NUMBER(listeners.count), 3},
	{{"-l", "::1,[::]:11300", "--port", "user"}, NUMBER(listeners.at[0].ip.b[12]), 0x01000000},
	{{"-l", "::1,[::]:11300", "--port", "user"}, NUMBER(listeners.at[1].port), 11300},
	{{"-l", "127.0.0.1:11300", "--port", "user"}, NUMBER(tcp_port), 11211},
	{{"-lnotls:127.0.0.1:11300", "--port", "user", "-Z", "-o", "ssl_chain_cert=/c"},
	 NUMBER(tls.plain_port),
	 11300},
	{{"-l0.0.0.0:1,0.0.0.0:2,::", "--port=user", "-Z", "-ossl_chain_cert=/c",
	  "--tls-plain-port=11300"},
	 NUMBER(listeners.count),
	 5},
	{{"-l0.0.0.0,notls:127.0.0.1", "--port=user", "-Z", "-ossl_chain_cert=/c",
	  "--tls-plain-port=11300"},
	 NUMBER(listeners.count),
	 2},
	{{"-b", "7", "--port", "user"}, NUMBER(backlog), 7},
	{{"-Z", "-o", "ssl_chain_cert=/c,ssl_keyformat=2"}, NUMBER(tls.keyformat), 2},
	{{"--tls-plain-port", "11212", "-Z", "-o", "ssl_chain_cert=/c"},
	 NUMBER(tls.plain_port),
	 11212},
	{{"-l", "192.0.2.9", "--address", "192.0.2.9/28"}, NUMBER(prefix_len), 28},
	{{"--udp-budget", "2k"}, NUMBER(udp_budget), 2048},
	{{"--udp-allow", "10.0.0.0/8,192.0.2.7"}, NUMBER(udp_allow_count), 2},
	{{"--udp-allow", "10.0.0.0/8,192.0.2.7"}, NUMBER(udp_allow[0].prefix_len), 96 + 8},
	{{"--udp-allow", "10.0.0.0/8,192.0.2.7"}, NUMBER(udp_allow[1].ip.b[12]), 0x070200c0},
	{{"--udp-allow", "10.0.0.0/8,192.0.2.7"}, NUMBER(udp_allow[1].prefix_len), 128},
	{{"--udp-allow", "none"}, NUMBER(udp_allow_count), 0},
	{{"--address", "192.168.1.2/30"}, NUMBER(udp_allow[0].ip.b[12]), 0x0201a8c0},
	{{"--address", "192.168.1.2/30"}, NUMBER(udp_allow[0].prefix_len), 96 + 30},
	/* IPv6 addresses by their last four bytes, as the machine loads them */
	{{"--address6", "2001:db8::102/64"}, NUMBER(ipv6.b[12]), 0x02010000},
	{{"--address6", "2001:db8::102/64"}, NUMBER(prefix6_len), 64},
	{{"--address6", "2001:db8::102/64"}, NUMBER(udp_allow_count), 3},
	{{"--address6", "2001:db8::102/64"}, NUMBER(udp_allow[2].ip.b[12]), 0x02010000},
	{{"--address6", "2001:db8::102/64"}, NUMBER(udp_allow[2].prefix_len), 64},
	{{"--address6", "2001:db8::1/64", "--gateway6", "fe80::fe"},
	 NUMBER(gateway6.b[12]),
	 0xfe000000},
	{{"--address6", "2001:db8::1/64", "--gateway6", "2001:db8::fe"},
	 NUMBER(gateway6.b[12]),
	 0xfe000000},
	{{"--ipv6", "on", "--gateway6", "auto"}, NUMBER(gateway6_auto), true},
	{{"--ipv6", "on", "--gateway6", "auto", "--gateway6", "fe80::1"},
	 NUMBER(gateway6_auto),
	 false},
	{{"-Z", "-U", "0", "-o", "ssl_chain_cert=c,ssl_key=k,ssl_verify_mode=1"},
	 NUMBER(tls.verify_mode),
	 1},
	{{"--udp-allow", "2001:db8::/32,10.0.0.0/8"}, NUMBER(udp_allow[0].prefix_len), 32},
	{{"--udp-allow", "2001:db8::/32,10.0.0.0/8"}, NUMBER(udp_allow[0].ip.b[0]), 0xb80d0120},
	{{"--udp-allow", "2001:db8::7"}, NUMBER(udp_allow[0].prefix_len), 128},
	{{"--vlan", "4094"}, NUMBER(vlan), 4094},
	{{"--vlan", "7", "--vlan-priority", "5"}, NUMBER(vlan_priority), 5},
	{{"-B", "binary"}, NUMBER(protocol), PROTOCOL_BINARY},
	{{"--protocol=ascii"}, NUMBER(protocol), PROTOCOL_ASCII},
	{{"-B", "auto"}, NUMBER(protocol), PROTOCOL_AUTO},
	{{"--congestion", "newreno"}, NUMBER(congestion), CONGESTION_NEWRENO},
	{{"--congestion=newreno", "--congestion=cubic"}, NUMBER(congestion), CONGESTION_CUBIC},
	{{"--congestion", "dctcp"}, NUMBER(congestion), CONGESTION_DCTCP},
	{{"--ecn", "on"}, NUMBER(ecn), CONFIG_ECN_ON},
	{{"--ecn=off", "--ecn=passive"}, NUMBER(ecn), CONFIG_ECN_PASSIVE},
	{{"--poll", "adaptive"}, NUMBER(poll), POLL_ADAPTIVE},
	{{"--poll", "adaptive", "--poll", "spin"}, NUMBER(poll), POLL_SPIN},
	{{"-o", "idle_timeout=90"}, NUMBER(idle_timeout_s), 90},
	{{"-o", "modern,,idle_timeout=7,slab_automove"}, NUMBER(idle_timeout_s), 7},
	{{"-m", "9", "-m", "10"}, NUMBER(memory_mb), 10},
	{{"-o", "ext_path=/a:b:1G"}, NUMBER(flash.size_mb), 1024},
	{{"-o", "ext_path=/f:256m", "--flash-size", "2t"}, NUMBER(flash.size_mb), 2097152},
	{{"--flash-device", "/f", "--flash-size", "300"}, NUMBER(flash.size_mb), 300},
	{{"--flash-device", "/f", "--flash-size", "5G"}, NUMBER(flash.size_mb), 5120},
	{{"--flash-device", "/f"}, NUMBER(flash.size_mb), 0},
	{{"--flash-device", "/f"}, NUMBER(flash.admit), FLASH_ADMIT_ALL},
	{{"--flash-device", "/f"}, NUMBER(flash.item_size), 256},
	{{"--flash-device", "/f"}, NUMBER(flash.item_max_bytes), 1u << 20},
	{{"--flash-device", "/f"}, NUMBER(flash.deadline_ms), 100},
	{{"--flash-device", "/f", "--flash-admit", "used"}, NUMBER(flash.admit), FLASH_ADMIT_USED},
	{{"--flash-device", "/f"}, NUMBER(flash.layout), FLASH_LAYOUT_AUTO},
	{{"--flash-device", "/f", "--flash-layout", "hash"},
	 NUMBER(flash.layout),
	 FLASH_LAYOUT_HASH},
	{{"--flash-device", "/f"}, NUMBER(flash.io), FLASH_IO_AUTO},
	{{"--flash-device", "/f", "--flash-io", "threads"}, NUMBER(flash.io), FLASH_IO_THREADS},
	{{"--flash-device", "/f", "--flash-io", "io_uring"}, NUMBER(flash.io), FLASH_IO_URING},
	{{"--flash-device", "/f"}, NUMBER(flash.large), 25},
	{{"--flash-device", "/f", "--flash-large", "50"}, NUMBER(flash.large), 50},
	{{"--flash-device", "/f", "--flash-budget", "200"}, NUMBER(flash.budget_mb), 200},
	{{"--flash-device", "/f", "--flash-item-max", "1k"},
	 NUMBER(flash.item_max_bytes),
	 1u << 10},
	{{"--flash-device", "/f", "--flash-deadline", "1s"}, NUMBER(flash.deadline_ms), 1000},
};

TEST(a_number_reaches_its_field)
{
	for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		struct config cfg;
		struct error f;
		uint32_t got;

		if (parse(&cfg, numbers[i].words, &f) != CONFIG_RUN)
			fail_msg("%s: %s", numbers[i].words[0], f.text);
		memcpy(&got, (char *)&cfg + numbers[i].at, sizeof got);
		if (got != numbers[i].value)
			fail_msg("%s: %u", numbers[i].words[0], got);
	}
}

static const struct {
	const char *words[WORDS_MAX];
	const char *line; /* must be in the error */
} wrong[] = {
	{{"--front-servers", "10.0.0.9:1:1", "--front-tls-cert", "/cert"},
	 "--front-tls-cert without --front-tls-ca: servers are spoken to in the clear"},
	{{"--front-servers", "10.0.0.9:1:1", "--front-tls-ca", "/ca", "--front-tls-key", "/key"},
	 "--front-tls-key without --front-tls-cert"},
	{{"--front-servers", "10.0.0.9:1:1", "--front-tls-ca", "/ca", "--front-tls-cert", "cert"},
	 "--front-tls-cert: cert: expected an absolute path"},
	{{"--front-servers", "10.0.0.9:1:1", "--front-tls-ca", "/ca", "--front-tls-name", ".a"},
	 "--front-tls-name: .a: any server below that name would do"},
	{{"-m", "0"}, "--memory-limit: \"0\": expected a number from 1 to 1048576, in megabytes"},
	{{"--memory-max", "63"}, "--memory-max: 63 MB, less than -m 64; give more, or none"},
	{{"--memory-max", "128", "--node-memory", "0,64"},
	 "--node-memory: 64 MB on all nodes together; --memory-max 128 is configured"},
	{{"-e", "/x", "--memory-save", "/x"}, "are the same file; give one of them another path"},
	{{"--keep-for", "0"},
	 "--keep-for: \"0\": expected seconds from 1 to 7776000, always or never"},
	{{"--keep-for", "7776001"}, "always or never"},
	{{"--keep-for", "1m"}, "always or never"},
	{{"--numa", "16"}, "--numa: \"16\": expected nic, interleave, or a list of NUMA nodes"},
	{{"--numa", "2-1"}, "--numa: \"2-1\": expected nic"},
	{{"--numa", "0,"}, "--numa: \"0,\": expected nic"},
	{{"--numa", "0-"}, "--numa: \"0-\": expected nic"},
	{{"--numa", "99999999999999999999"}, "each below 16"},
	{{"--numa", "0", "--node-memory", "64"},
	 "--numa with --node-memory: leave one of them out"},
	{{"-m", "1048577"}, "from 1 to 1048576"},
	{{"-m", ""}, "from 1 to 1048576"},
	{{"-m", "64x"}, "\"64x\""},
	{{"-m", "1g"}, "\"1g\": expected a number from 1 to 1048576, in megabytes"},
	{{"-m", "m"}, "\"m\""},
	{{"-m", "64mm"}, "\"64mm\""},
	{{"-m", "-1"}, "\"-1\""},
	{{"-m", " 64"}, "\" 64\""},
	{{"-m", "18446744073709551680"}, "from 1 to"},
	{{"-m"}, "--memory-limit: expected a value (MB)"},
	{{"--memory-limit"}, "--memory-limit: expected a value (MB)"},
	{{"-I", "1023"}, "--max-item-size: \"1023\": expected 1k to 128m"},
	{{"-I", "129m", "-m", "1024"}, "expected 1k to 128m"},
	{{"-I", "131073k", "-m", "1024"}, "expected 1k to 128m"},
	{{"-I", "4097g"}, "expected 1k to 128m"},
	{{"-I", "m"}, "expected 1k to 128m"},
	{{"-I", ""}, "expected 1k to 128m"},
	{{"-I", "1mm"}, "expected 1k to 128m"},
	{{"-I", "33m"}, "-m 64 allows half of it"},
	{{"-p", "65536"}, "from 0 to 65535"},
	{{"--flash-device", "/f", "--flash-size", "255m"},
	 "--flash-size: \"255m\": expected 256m to 2t, in megabytes or with m, g or t"},
	{{"--flash-device", "/f", "--flash-size", "0"}, "expected 256m to 2t"},
	{{"--flash-device", "/f", "--flash-size", "3t"}, "expected 256m to 2t"},
	{{"--flash-device", "/f", "--flash-size", "4194304t"}, "expected 256m to 2t"},
	{{"--flash-device", "/f", "--flash-size", "1gg"}, "expected 256m to 2t"},
	{{"--flash-device", "/f", "--flash-size", ""}, "expected 256m to 2t"},
	{{"--flash-size", "1g"}, "--flash-size without --flash-device: name the file"},
	{{"--flash-state", "/m"}, "--flash-state without --flash-device: name the file"},
	{{"--flash-budget", "1"}, "--flash-budget without --flash-device: name the file"},
	{{"--flash-admit", "used"}, "--flash-admit without --flash-device: name the file"},
	{{"--flash-item-size", "255"}, "--flash-item-size without --flash-device: name the file"},
	{{"--flash-item-max", "1k"}, "--flash-item-max without --flash-device: name the file"},
	{{"--flash-layout", "log"}, "--flash-layout without --flash-device: name the file"},
	{{"--flash-io", "threads"}, "--flash-io without --flash-device: name the file"},
	{{"--flash-io", "aio"}, "--flash-io: \"aio\": expected auto, io_uring or threads"},
	{{"--flash-large", "24"}, "--flash-large without --flash-device: name the file"},
	{{"--flash-deadline", "99ms"}, "--flash-deadline without --flash-device: name the file"},
	{{"--flash-compress"}, "--flash-compress without --flash-device: name the file"},
	{{"--flash-device", ""}, "--flash-device: expected 1 to 255 characters, not 0"},
	{{"--flash-layout", "tree"}, "--flash-layout: \"tree\": expected auto, log or hash"},
	{{"--flash-large", "51"}, "--flash-large: \"51\": expected"},
	{{"--flash-device", "/f", "--flash-layout", "hash", "--flash-item-size", "1017"},
	 "--flash-layout hash: it is for items up to 1016 bytes, and --flash-item-size is 1017"},
	{{"--flash-device", "/f", "-M"}, "--flash-device with -M: flash has what memory evicts"},
	{{"--flash-device", "/f", "--flash-state", "/m", "--memory-file", "/m"},
	 "--flash-state and --memory-file: /m: each needs a file of its own"},
	{{"--flash-device", "/f", "--front-servers", "a:1:1"},
	 "--flash-device with --front-servers: a front keeps no items of its own; leave one"},
	{{"--flash-admit", "none"}, "--flash-admit: \"none\": expected all or used"},
	{{"--flash-item-size", "63"}, "expected a number from 64 to 65536"},
	{{"--flash-item-max", "2036k"}, "expected 1k to 2035k, in bytes or with a k or m"},
	{{"--flash-deadline", "1001ms"}, "expected a time from 1ms to 1s, with ms, s, m or h"},
	{{"-o", "ext_path=/f"}, "-o ext_path: \"/f\": expected FILE:SIZE, of 256m to 2t"},
	{{"-o", "ext_path=:1G"}, "-o ext_path: \":1G\": expected FILE:SIZE"},
	{{"-o", "ext_path=/f:64m"}, "expected FILE:SIZE, of 256m to 2t with m, g or t"},
	{{"-o", "ext_path=/f:1G,ext_path=/g:1G"},
	 "-o ext_path: \"/g:1G\" beside /f; give one device"},
	{{"-p", "0"}, "nothing to serve"},
	{{"-t", "0"}, "from 1 to 64"},
	{{"-t", "65"}, "from 1 to 64"},
	{{"-z"}, "-z: unknown option"},
	{{"-vz"}, "-z: unknown option"},
	{{"--"}, "unknown option"},
	{{"--mem", "3"}, "--mem: unknown option; did you mean --memory-limit?"},
	{{"--thread", "4"}, "--thread: unknown option; did you mean --threads?"},
	{{"--conn_limit=4"}, "--conn_limit: unknown option; did you mean --conn-limit?"},
	{{"--idle-timeout", "4"}, "--idle-timeout: unknown option; did you mean -o idle_timeout?"},
	{{"--hash_algoritm=x"}, "--hash_algoritm: unknown option; did you mean -o hash_algorithm?"},
	{{"--qwertyuiop"}, "--qwertyuiop: unknown option; --help lists all"},
	{{"--no-huge=yes"}, "--no-huge: takes no value"},
	{{"start"}, "start: expected an option"},
	{{"-"}, "-: expected an option"},
	{{"-v", "doctor"}, "doctor: a command, not an option; it stands before all options"},
	{{"-v", "doctors"}, "doctors: expected an option"},
	{{"--address", "10.99.0.1"}, "such as 10.99.0.1/24"},
	{{"--address", "10.99.0.256/24"}, "--address"},
	{{"--address", "10.99.0/24"}, "--address"},
	{{"--address", "10.99.0.1/33"}, "--address"},
	{{"--address", "10.99.0.1/"}, "--address"},
	{{"--address", "0010.99.0.1/24"}, "--address"},
	{{"--address", "10.99.0.1/24x"}, "--address"},
	{{"--address", "127.0.0.1/8"}, "unicast address"},
	{{"--address", "224.0.0.1/4"}, "unicast address"},
	{{"--address", "0.0.0.0/0"}, "unicast address"},
	{{"--address", "10.0.0.0/8"}, "--address: that is the network or broadcast address"},
	{{"--address", "10.99.0.255/24"}, "--address: that is the network or broadcast address"},
	{{"-l", "10.99.0.255"}, "--address: that is the network or broadcast address"},
	{{"--gateway", "10.99.0.1"}, "--gateway: that is our own address"},
	{{"--gateway", "10.98.0.1"}, "not on the network"},
	{{"--gateway", "10.99.0.1/24"}, "--gateway"},
	{{"--address6", "2001:db8::1"}, "such as 2001:db8::1/64"},
	{{"--address6", "2001:db8::1/129"}, "--address6"},
	{{"--address6", "10.99.0.1/24"}, "--address6"},
	{{"--address6", "::ffff:10.99.0.1/120"}, "--address6"},
	{{"--address6", "1:2:3:4:5:6:7:8:9/64"}, "--address6"},
	{{"--address6", "::1/128"}, "unicast address"},
	{{"--address6", "::/0"}, "unicast address"},
	{{"--address6", "ff02::1/64"}, "unicast address"},
	{{"--address6", "fe80::1/64"}, "from the MAC"},
	{{"--address6", "2001:db8::1/64", "--mtu", "1279"}, "--mtu 1280"},
	{{"--address6", "2001:db8::1/64", "--gateway6", "2001:db8::1"}, "our own address"},
	{{"--address6", "2001:db8::1/64", "--gateway6", "2001:db9::1"}, "not on the network"},
	{{"--gateway6", "2001:db8::1"}, "not on the network"},
	{{"--gateway6", "ff02::2"}, "--gateway6"},
	{{"--gateway6", "auto"}, "--gateway6 auto: IPv6 is off"},
	{{"--ipv6", "off", "--gateway6", "auto"}, "--gateway6 auto: IPv6 is off"},
	{{"--vlan", "0"}, "--vlan"},
	{{"--vlan", "4095"}, "--vlan"},
	{{"--vlan-priority", "1"}, "there is no tag"},
	{{"--vlan", "7", "--vlan-priority", "8"}, "--vlan-priority"},
	{{"--lcores", ""}, "--lcores"},
	{{"--lcores", "0@"}, "--lcores"},
	{{"--lcores", "0@0,"}, "--lcores"},
	{{"--lcores", "0@0;1@1"}, "--lcores"},
	{{"--lcores", "0@128"}, "numbers below 128"},
	{{"--lcores", "4294967296"}, "numbers below 128"},
	{{"--lcores", "1@0,1@1"}, "core 1 is listed twice"},
	{{"--lcores", "0@0", "-t", "2"}, "-t says 2 cores and --lcores 1"},
	{{"--port", "11211"}, "-p 11211"},
	{{"-l", "127.0.0.1"}, "there is no loopback on a NIC"},
	{{"-l", "localhost"}, "expected an address, perhaps with :PORT"},
	{{"-l", "10.99.0.1,10.99.0.2"}, "the appliance has one address"},
	{{"-l", "[::1]:11211"}, "on a NIC give an IPv6 address with --address6"},
	{{"-l", "[::1", "--port", "user"}, "expected an address, perhaps with :PORT"},
	{{"-l", "::ffff:1.2.3.4", "--port", "user"}, "expected an address, perhaps with :PORT"},
	{{"-l", "127.0.0.1:0", "--port", "user"}, "expected an address, perhaps with :PORT"},
	{{"--port", "user", "--address", "10.1.1.1/24"},
	 "--address: port user serves on this host's own addresses"},
	{{"--port", "user", "--gateway6", "fe80::1"}, "--gateway6: port user serves"},
	{{"--port", "user", "--ipv6", "on", "--gateway6", "auto"}, "--gateway6: port user serves"},
	{{"--port", "user", "--vlan", "7"}, "--vlan: port user has no wire"},
	{{"--port", "user", "-t", "17"}, "--threads: port user has at most 16 workers"},
	{{"--port", "user", "--allow", "10.0.0.0/8"},
	 "--allow: over port user all clients have one"},
	{{"--port", "user", "--deny", "127.0.0.1"}, "--deny: over port user all clients have one"},
	{{"--port", "user", "--conns-per-source", "3"},
	 "--conns-per-source: over port user many clients have one address"},
	{{"-l", "10.99.0.1:65536"}, "expected an address, perhaps with :PORT"},
	{{"-l", "10.99.0.1:112110"}, "expected an address, perhaps with :PORT"},
	{{"-l", "10.99.0.1:"}, "expected an address, perhaps with :PORT"},
	{{"-l", "10.99.0.1,"}, "expected an address, perhaps with :PORT"},
	{{"-l", "mtls:10.99.0.1:11212"}, "expected an address, perhaps with :PORT"},
	{{"-l", "notls:10.99.0.2:11212,10.99.0.1"}, "the appliance has one address"},
	{{"-l", "notls:10.99.0.1:11212"}, "--tls-plain-port without --enable-ssl"},
	{{"-l", "notls:10.99.0.1", "-Z", "-o", "ssl_chain_cert=/c"}, "that is the port of TLS"},
	{{"--tls-plain-port", "65536"}, "expected a number"},
	{{"-l", "10.99.0.1:11300,10.99.0.1:11301", "-U", "11211"}, "with -U give one port"},
	{{"-l", "10.99.0.1,notls:10.99.0.1:11300,notls:10.99.0.1:11301", "-Z", "-o",
	  "ssl_chain_cert=/c"},
	 "one port is in the clear beside TLS, and 11300 is it already"},
	{{"-l", "10.99.0.1:1,10.99.0.1:2,notls:10.99.0.1:2", "-Z", "-o", "ssl_chain_cert=/c"},
	 "that is the port of TLS"},
	{{"-l", "10.1.1.1:1,10.1.1.1:2,10.1.1.1:3,10.1.1.1:4,10.1.1.1:5,10.1.1.1:6,10.1.1.1:7,"
		"10.1.1.1:8,10.1.1.1:9,10.1.1.1:10,10.1.1.1:11,10.1.1.1:12,10.1.1.1:13,"
		"10.1.1.1:14"},
	 "--listen: more than 13 ports"},
	{{"-l", "224.0.0.1"}, "a unicast address"},
	{{"-l", "10.99.0.2", "--address", "10.99.0.1/24"}, "name two addresses"},
	{{"--udp-allow", ""}, "expected networks"},
	{{"--udp-allow", "10.0.0.0/33"}, "expected networks"},
	{{"--udp-allow", "10.0.0.0/"}, "expected networks"},
	{{"--udp-allow", "10.0.0.0/8,"}, "expected networks"},
	{{"--udp-allow", "10.0.0.0/8;10.0.0.0/8"}, "expected networks"},
	{{"--udp-allow", "1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
			 "1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1"},
	 "more than 16 networks"},
	{{"-D", ""}, "expected one character"},
	{{"-D", "ab"}, "expected one character"},
	{{"-B", "meta"}, "expected auto, ascii or binary"},
	{{"--congestion", "reno"}, "expected cubic, newreno or dctcp"},
	{{"--ecn", "yes"}, "expected passive, on or off"},
	{{"--congestion", "dctcp", "--ecn", "off"}, "--congestion dctcp needs ECN"},
	{{"--poll", "sleep"}, "expected spin or adaptive"},
	{{"-U", "1", "-Y", "users"}, "no authentication over UDP"},
	{{"-U", "1", "-S"}, "no authentication over UDP"},
	{{"-Y", ""}, "--auth-file"},
	{{"-d", "--live"}, "nobody would see the lines"},
	{{"--telemetry-http", ""}, "expected IP:PORT"},
	{{"--telemetry-http", "127.0.0.1"}, "expected IP:PORT"},
	{{"--telemetry-http", "127.0.0.1:0"}, "expected IP:PORT"},
	{{"--telemetry-http", "127.0.0.1:65536"}, "expected IP:PORT"},
	{{"--telemetry-http", "localhost:9150"}, "expected IP:PORT"},
	{{"--telemetry-http", "::1:9150"}, "expected IP:PORT"},
	{{"--telemetry-http", "[::1]9150"}, "expected IP:PORT"},
	{{"--telemetry-http", "[::1"}, "expected IP:PORT"},
	{{"--telemetry-http",
	  "/23456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
	  "8901234567890123456789"},
	 "more than 107 characters"},
	{{"--telemetry-http", "10.99.0.1:9150"}, "the cache's own address"},
	{{"--telemetry-http", "10.1.0.9:9150", "-l", "10.1.0.9"}, "the cache's own address"},
	{{"--telemetry-http", "[2001:db8::1]:9150", "--address6", "2001:db8::1/64"},
	 "the cache's own address"},
	{{"-s", "path"}, "Unix domain sockets are not supported"},
	{{"-o"}, "expected a value"},
	{{"-o", "nonsense"}, "\"nonsense\": unknown option"},
	{{"-o", "modern,idle_timeou=1"},
	 "\"idle_timeou\": unknown option; did you mean -o idle_timeout?"},
	{{"-o", "threads=4"}, "\"threads\": unknown option; did you mean --threads?"},
	{{"-o", "idle_timeout"}, "idle_timeout=S"},
	{{"-o", "idle_timeout="}, "idle_timeout=S"},
	{{"-o", "idle_timeout=x"}, "expected a number"},
	{{"-o", "modern=1"}, "takes no value"},
	{{"-o", "hashpower"}, "hashpower=N"},
	{{"-o", "proxy_config=file"}, "the built-in proxy is not supported"},
	{{"-Z"}, "--enable-ssl: give the certificate and its key"},
	{{"-Z", "-o", "ssl_key=k"}, "--enable-ssl: give the certificate and its key"},
	{{"-Z", "-o", "ssl_chain_cert=c,ssl_key=k", "-U", "11211"}, "-U with --enable-ssl: "},
	{{"-Z", "-o", "ssl_chain_cert=c,ssl_key=k,ssl_verify_mode=2"},
	 "give the certificates by which"},
	{{"-o", "ssl_min_version=4"}, "ssl_min_version"},
	{{"-o", "proxy_config=file"}, "the built-in proxy is not supported"},
	{{"--port", "../pci"}, "--port"},
	{{"--port", ""}, "--port"},
	{{"--port", "0000:03:00"}, "--port"},
	{{"--port", "env:NO_SUCH_VARIABLE"}, "the environment has no such variable"},
	{{"--port", "env:"}, "the environment has no such variable"},
	{{"--iface", "sixteen_letters_"}, "--iface: expected 0 to 15 characters, not 16"},
	{{"--file-prefix", ""}, "--file-prefix"},
	{{"--vdev-args", "a\nb", "-\x1b"}, "-?: unknown option"},
};

/* A device plugin of Kubernetes names its device so. */
TEST(a_port_can_be_named_by_the_environment)
{
	struct config cfg;
	struct error err;

	config_defaults(&cfg);
	setenv("PCIDEVICE_TEST", "0000:65:02.A", 1);
	check(config_set(&cfg, "port", "env:PCIDEVICE_TEST", &err));
	check_str(cfg.pci, "0000:65:02.a");
	setenv("PCIDEVICE_TEST", "0000:65:02.1,0000:65:02.2", 1);
	check(!config_set(&cfg, "port", "env:PCIDEVICE_TEST", &err));
	check_ptr(strstr(err.text, "0000:65:02.1,0000:65:02.2"));
}

TEST(a_wrong_word_is_refused_with_one_line_that_names_it)
{
	for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct config cfg;
		struct error f;

		check_eq(parse(&cfg, wrong[i].words, &f), CONFIG_ERROR);
		if (strstr(f.text, wrong[i].line) == NULL)
			fail_msg("%s: \"%s\"", wrong[i].words[0], f.text);
		check_null(strchr(f.text, '\n'));
	}
}

static const struct {
	const char *word;
	const char *port, *pci;
} ports[] = {
	{"tap", "tap", ""},
	{"0000:03:00.0", "pci", "0000:03:00.0"},
	{"0000:AF:00.1", "pci", "0000:af:00.1"},
	{"af:1f.7", "pci", "af:1f.7"},
};

TEST(a_port_is_a_profile_or_a_pci_address)
{
	for (uint32_t i = 0; i < sizeof ports / sizeof ports[0]; i++) {
		const char *const words[] = {"--port", ports[i].word, NULL};
		struct config cfg;
		struct error f;

		check_eq(parse(&cfg, words, &f), CONFIG_RUN);
		check_str(cfg.port, ports[i].port);
		check_str(cfg.pci, ports[i].pci);
	}
}

#define FLAG(field) offsetof(struct config, field)

static const struct {
	const char *words[WORDS_MAX];
	size_t at;
} flags[] = {
	{{"-A"}, FLAG(shutdown)},
	{{"--enable-shutdown"}, FLAG(shutdown)},
	{{"-M"}, FLAG(no_evict)},
	{{"-F"}, FLAG(no_flush)},
	{{"-X"}, FLAG(no_dumps)},
	{{"-W"}, FLAG(no_watch)},
	{{"-S"}, FLAG(sasl)},
	{{"-d"}, FLAG(daemon)},
	{{"-k"}, FLAG(lock_memory)},
	{{"-r"}, FLAG(coredumps)},
	{{"-D", "/"}, FLAG(detail)},
	{{"-o", "track_sizes"}, FLAG(track_sizes)},
	{{"-vdA"}, FLAG(shutdown)},
	{{"--flash-device", "/f", "--flash-compress"}, FLAG(flash.compress)},
};

TEST(a_flag_is_off_until_said)
{
	const char *const none[] = {NULL};
	struct config cfg;
	struct error f;

	check_eq(parse(&cfg, none, &f), CONFIG_RUN);
	for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		check(!*((bool *)&cfg + flags[i].at));
	check_eq(cfg.prefix_delimiter, ':');
	for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
		if (parse(&cfg, flags[i].words, &f) != CONFIG_RUN)
			fail_msg("%s: %s", flags[i].words[0], f.text);
		if (!*((bool *)&cfg + flags[i].at))
			fail_msg("%s has no effect", flags[i].words[0]);
	}
}

static const struct {
	const char *words[WORDS_MAX];
	enum error_code code;
} codes[] = {
	{{"-c", "0"}, ERROR_GENERAL},
	{{"-t", "0"}, ERROR_GENERAL},
	{{"-R", "0"}, ERROR_GENERAL},
	{{"-o", "nonsense"}, ERROR_GENERAL},
	{{"--nonsense"}, ERROR_GENERAL},
	{{"-B", "nonsense"}, ERROR_USAGE},
	{{"-I", "1023"}, ERROR_USAGE},
	{{"-I", "33m"}, ERROR_USAGE},
	{{"-p", "65536"}, ERROR_USAGE},
	{{"-U", "65536"}, ERROR_USAGE},
	{{"-Y", "users", "-U", "1"}, ERROR_USAGE},
	{{"-S", "-U", "1"}, ERROR_USAGE},
	{{"-s", "path"}, ERROR_USAGE},
};

TEST(a_refusal_has_memcacheds_exit_code)
{
	for (uint32_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		struct config cfg;
		struct error f;

		check_eq(parse(&cfg, codes[i].words, &f), CONFIG_ERROR);
		if (f.code != codes[i].code)
			fail_msg("%s: code %d", codes[i].words[0], (int)f.code);
	}
}

/* Options that start scripts for memcached pass. */
static const struct {
	const char *words[WORDS_MAX];
	const char *warning; /* part of the one line; NULL = none */
} idle[] = {
	{{"-f", "1.07"}, "--slab-growth-factor is ignored"},
	{{"-n48"}, "--slab-min-size is ignored"},
	{{"-C"}, "--disable-cas is ignored"},
	{{"-b", "4096"}, "--listen-backlog: port user: connections that may wait"},
	{{"-b", "4096", "--port", "user"}, NULL},
	{{"-L"}, NULL},
	{{"-o", "modern,maxconns_fast,lru_crawler,slab_reassign"}, NULL},
	{{"-o", "slab_automove=1"}, "-o slab_automove is ignored"},
	{{"-o", "slab_automove"}, "-o slab_automove is ignored"},
	{{"-o", "no_hashexpand"}, "-o no_hashexpand is ignored"},
	{{"-o", "hash_algorithm=murmur3"}, "-o hash_algorithm is ignored"},
	{{"-o", "ext_path=/f:1G"},
	 "-o ext_path: the same as --flash-device FILE --flash-size SIZE"},
	{{"-o", "ext_threads=2"}, "-o ext_threads is ignored: the second tier is another one"},
	{{"-o", "hashpower=20", "-o", "hashpower=21"}, "-o hashpower is ignored"},
	{{"-m", "64", "-c", "1024"}, NULL},
	{{"--front-timeout", "2s", "--front-items", "9"},
	 "front.timeout has no effect without front.servers"},
	{{"--front-timeout", "2s", "--front-servers", "10.0.0.9:1:1"}, NULL},
};

TEST(an_ignored_option_gets_one_warning)
{
	for (uint32_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
		char text[1024] = {0};
		FILE *out = fmemopen(text, sizeof text, "w");
		struct config cfg;
		struct error f;
		const char *line_end;

		check_ptr(out);
		if (parse(&cfg, idle[i].words, &f) != CONFIG_RUN)
			fail_msg("%s: %s", idle[i].words[0], f.text);
		config_warn(&cfg, out);
		fclose(out);
		line_end = strchr(text, '\n');
		if ((idle[i].warning == NULL) != (text[0] == '\0'))
			fail_msg("%s: \"%s\"", idle[i].words[1], text);
		if (idle[i].warning == NULL)
			continue;
		if (strstr(text, idle[i].warning) == NULL || line_end == NULL ||
		    line_end[1] != '\0')
			fail_msg("%s: \"%s\"", idle[i].words[0], text);
	}
}

TEST(cores_that_share_a_cpu_let_each_other_run)
{
	const char *const apart[] = {"--lcores", "0@0,1@1", NULL};
	const char *const together[] = {"--lcores", "0@1,5@1", NULL};
	struct config cfg;
	struct error f;

	check_eq(parse(&cfg, apart, &f), CONFIG_RUN);
	check(!cfg.yield);
	check_eq(parse(&cfg, together, &f), CONFIG_RUN);
	check(cfg.yield);
	check_eq(cfg.lcores.at[1].id, 5);
	check_eq(cfg.lcores.at[1].cpu, 1);
}

TEST(help_and_version_win_over_what_follows)
{
	const char *const help[] = {"-h", "-m", "bad", NULL};
	const char *const version[] = {"--version", "--bad", NULL};
	const char *const license[] = {"-i", "--bad", NULL};
	struct config cfg;
	struct error f;

	check_eq(parse(&cfg, help, &f), CONFIG_HELP);
	check_eq(parse(&cfg, version, &f), CONFIG_VERSION);
	check_eq(parse(&cfg, license, &f), CONFIG_LICENSE);
}

TEST(a_name_and_a_value_from_anywhere_go_by_the_same_table)
{
	struct config cfg;
	struct error f;

	config_defaults(&cfg);
	check(config_set(&cfg, "memory-limit", "128", &f));
	check_eq(cfg.memory_mb, 128);
	check(config_set(&cfg, "no-huge", "yes", &f));
	check(cfg.no_huge);
	check(config_set(&cfg, "no-huge", "no", &f));
	check(!cfg.no_huge);
	check(!config_set(&cfg, "no-huge", "maybe", &f));
	check(!config_set(&cfg, "help", "yes", &f));
	check(config_set(&cfg, "track_sizes", "yes", &f));
	check(cfg.track_sizes);
	check(!config_set(&cfg, "nonsense", "1", &f));
	check_str(f.text, "nonsense: unknown option");
}

TEST(help_names_every_option_on_a_line_of_its_own)
{
	char text[32768] = {0};
	FILE *out = fmemopen(text, sizeof text, "w");

	check_ptr(out);
	config_help(out);
	fclose(out);
	check_ptr(strstr(text, "\n  -m, --memory-limit MB "));
	check_ptr(strstr(text, "\n      --lcores LIST "));
	check_ptr(strstr(text, "\n  -h, --help "));
	check_ptr(strstr(text, "\n  track_sizes "));
	check_ptr(strstr(text, " ssl_min_version"));
}

static const struct {
	struct lcore_request request;
	uint32_t cpus;
	bool fits;
} spreads[] = {
	{{1, false}, 1, true},   {{2, false}, 2, true},  {{3, false}, 2, false},
	{{64, false}, 64, true}, {{1, false}, 0, false}, {{3, true}, 2, true},
	{{32, true}, 2, true},   {{1, true}, 0, false},
};

TEST(cores_get_a_cpu_each_or_none_at_all)
{
	for (uint32_t i = 0; i < sizeof spreads / sizeof spreads[0]; i++) {
		struct cpu_list cpus = {.count = spreads[i].cpus};
		struct lcore_set set = {0};
		struct error f;

		for (uint32_t c = 0; c < cpus.count; c++)
			cpus.at[c] = 2 * c;
		check_eq(lcores_assign(&set, &cpus, &spreads[i].request, &f), spreads[i].fits);
		for (uint32_t c = 0; spreads[i].fits && c < set.count; c++)
			check_eq(set.at[c].cpu, 2 * (c % cpus.count));
		check_eq(set.count, spreads[i].fits ? spreads[i].request.cores : 0);
	}
}

TEST(a_core_on_a_cpu_that_is_not_there_is_refused)
{
	const struct cpu_list cpus = {2, {0, 3}};
	struct lcore_set set;
	struct error f;

	check(lcores_parse(&set, "0@0,1@3", &f));
	check(lcores_exist(&set, &cpus, &f));
	check(lcores_parse(&set, "0@0,1@2", &f));
	check(!lcores_exist(&set, &cpus, &f));
	check_ptr(strstr(f.text, "no CPU 2 for core 1; this process may use CPUs 0 3"));
}
