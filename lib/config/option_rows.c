#include "options.h"

#include <assert.h>
#include <string.h>

#define AT(field)    offsetof(struct config, field)
#define SIZE(field)  (uint32_t)sizeof(((struct config *)0)->field)
#define FLAG(field)  OPTION_FLAG, AT(field), 0, 0, NULL
#define GIVEN(arg)   OPTION_GIVEN, 0, 0, 0, arg
#define IDLE(arg)    OPTION_IDLE, 0, 0, 0, arg
#define REFUSED(arg) OPTION_REFUSED, 0, 0, 0, arg
#define FIXED_SLOTS  "slot sizes are fixed and close together"
#define OWN_BACKLOG  "-c bounds new connections too"
#define ALWAYS_CAS   "every item has a CAS anyway, at no cost"
#define NO_WARM_FILE "a restart begins with an empty cache"
#define NO_TLS       "there is no TLS here; put a TLS proxy in front"
#define NO_UNIX      "the appliance serves a network, not the processes of its own machine"
#define NO_LRU       "CLOCK takes the place of hot, warm and cold lists"
#define OWN_CRAWLER  "every core looks for expired items between its turns, at its own pace"
#define OWN_MOVER    "pages always move to the sizes that need them, at their own pace"
#define OWN_INDEX    "the index sizes itself"
#define OWN_HASH     "the hash is always a seeded XXH3"
#define NO_CHUNKS    "values above 64 KB lie in chunks of fixed sizes"
#define NO_FLASH     "there is no flash storage (extstore)"
#define NO_PROXY     "there is no built-in proxy"
#define OWN_BUFFERS  "buffers are taken once at start, sized by -c"
#define NO_DROP      "use -u, and systemd's SystemCallFilter"

/* The letters and their long names are memcached's where it has the option. --port is not: there
 * it is the TCP port, here a NIC (README, decisions). */
const struct option_row option_rows[] = {
	{"memory-limit", 'm', OPTION_NUMBER, AT(memory_mb), 1, CONFIG_MEMORY_MAX_MB, "MB",
	 "memory for stored items (64)", false, "memory.limit"},
	{"memory-max", 0, OPTION_NUMBER, AT(memory_max_mb), 1, CONFIG_MEMORY_MAX_MB, "MB",
	 "memory set aside at start, up to which cache_memlimit may raise -m (-m)", false,
	 "memory.max"},
	{"max-item-size", 'I', OPTION_SIZE, AT(item_max_bytes), 1u << 10, 128u << 20, "BYTES",
	 "largest value; k and m multiply (1m, up to 128m)", true, "cache.max_item_size"},
	{"tcp-port", 'p', OPTION_NUMBER, AT(tcp_port), 0, 65535, "PORT",
	 "TCP port, 0 is off (11211)", true, "protocol.tcp_port"},
	{"udp-port", 'U', OPTION_NUMBER, AT(udp_port), 0, 65535, "PORT", "UDP port, 0 is off (0)",
	 true, "protocol.udp_port"},
	{"udp-allow", 0, OPTION_NETS, AT(udp_allow), 0, CONFIG_NETS_MAX, "NETS",
	 "who may get any amount of UDP replies: 10.0.0.0/8,192.0.2.7, none (our network)", false,
	 "protocol.udp_allow"},
	{"udp-budget", 0, OPTION_SIZE, AT(udp_budget), 1u << 10, 128u << 20, "BYTES",
	 "UDP reply bytes a second to any other address (64k)", false, "protocol.udp_budget"},
	{"listen", 'l', OPTION_LISTEN, AT(listen), 0, 0, "IP",
	 "--address without LEN, perhaps with :PORT; 0.0.0.0 and * change nothing", true, NULL},
	{"conn-limit", 'c', OPTION_NUMBER, AT(conns_max), 1, 4u << 20, "N",
	 "connections at a time, all cores together (1024)", false, "protocol.conn_limit"},
	{"conns-per-source", 0, OPTION_NUMBER, AT(conns_per_source), 0, 4u << 20, "N",
	 "of those, from one IPv4 address, link-local one or IPv6 /64; 0 is any number (0)", false,
	 "protocol.conns_per_source"},
	{"disable-timestamps", 0, FLAG(no_timestamps),
	 "send no TCP timestamps: 12 bytes less in each segment", false,
	 "protocol.disable_timestamps"},
	{"threads", 't', OPTION_NUMBER, AT(cores), 1, CORES_MAX, "N",
	 "worker cores, each with a CPU of its own (1)", false, "cores.count"},
	{"cores", 0, OPTION_NUMBER, AT(cores), 1, CORES_MAX, "N", "the same as -t", false, NULL},
	{"lcores", 0, OPTION_LCORES, AT(lcores), 0, 0, "LIST",
	 "worker cores and their CPUs, such as 0@0,1@1", false, "cores.list"},
	{"share-cpus", 0, FLAG(share_cpus),
	 "several worker cores on one CPU are meant: they take turns", false, "cores.share"},
	{"hyperthreads", 0, OPTION_HYPERTHREADS, AT(hyperthreads), 0, 0, "NAME",
	 "the second thread of a worker's physical core: idle, or a worker too: workers (idle)",
	 false, "cores.hyperthreads"},
	{"control-cpu", 0, OPTION_NUMBER, AT(control_cpu), 0, LCORE_ID_END - 1, "CPU",
	 "where the control thread runs (a CPU without a worker)", false, "cores.control_cpu"},
	{"max-reqs-per-event", 'R', OPTION_NUMBER, AT(conn_requests_max), 1, 65535, "N",
	 "requests of one connection before others have their turn (20)", false,
	 "protocol.max_reqs_per_event"},
	{"protocol", 'B', OPTION_PROTOCOL, AT(protocol), 0, 0, "NAME",
	 "ascii, binary or auto: the first byte of a connection tells (auto)", true,
	 "protocol.commands"},
	{"disable-evictions", 'M', FLAG(no_evict),
	 "refuse to store when memory is full instead of evicting", false,
	 "cache.disable_evictions"},
	{"auth-file", 'Y', OPTION_TEXT, AT(auth_file), 1, SIZE(auth_file), "FILE",
	 "lines of user:password, read again on SIGHUP: clients must authenticate", false,
	 "auth.file"},
	{"enable-sasl", 'S', FLAG(sasl),
	 "as -Y; without -Y the file is the one MEMCACHED_SASL_PWDB names", false, "auth.sasl"},
	{"disable-flush-all", 'F', FLAG(no_flush), "refuse flush_all", false,
	 "protocol.disable_flush_all"},
	{"disable-dumping", 'X', FLAG(no_dumps),
	 "refuse stats cachedump, stats detail, lru_crawler metadump and mgdump", false,
	 "telemetry.disable_dumping"},
	{"disable-watch", 'W', FLAG(no_watch), "refuse watch", false, "telemetry.disable_watch"},
	{"enable-shutdown", 'A', FLAG(shutdown), "obey the shutdown command", false,
	 "protocol.enable_shutdown"},
	{"stat-key-prefix", 'D', OPTION_DELIMITER, AT(prefix_delimiter), 0, 0, "CHAR",
	 "count by the part of a key before CHAR, for stats detail (:, off)", false,
	 "telemetry.stat_key_prefix"},
	{"daemon", 'd', FLAG(daemon),
	 "go to the background when ready; what is said then goes to syslog", false,
	 "process.daemon"},
	{"pidfile", 'P', OPTION_TEXT, AT(pid_file), 1, SIZE(pid_file), "FILE",
	 "write the process number there when ready; removed at the end", false, "process.pidfile"},
	{"user", 'u', OPTION_TEXT, AT(user), 1, SIZE(user), "NAME",
	 "who to be once NIC and memory are taken, when started as root", false, "process.user"},
	{"lock-memory", 'k', FLAG(lock_memory), "with --no-huge: never swap; hugepages never are",
	 false, "memory.lock"},
	{"enable-coredumps", 'r', FLAG(coredumps), "raise the limit of core files", false,
	 "process.coredumps"},
	{"extended", 'o', OPTION_EXTENDED, 0, 0, 0, "LIST",
	 "names of the second list, with commas between", false, NULL},
	{"port", 0, OPTION_PORT, AT(port), 0, SIZE(port), "NIC",
	 "a profile of drivers-config (af_packet) or a PCI address", false, "port.nic"},
	{"iface", 0, OPTION_TEXT, AT(iface), 0, 15 + 1, "NAME",
	 "kernel interface for af_packet and tap", false, "port.iface"},
	{"socket", 0, OPTION_TEXT, AT(socket), 0, 107 + 1, "PATH",
	 "socket of vhost, virtio_user and memif", false, "port.socket"},
	{"vdev-args", 0, OPTION_TEXT, AT(vdev_args), 0, SIZE(vdev_args), "ARGS",
	 "more driver arguments, after the profile's", false, "port.vdev_args"},
	{"profile", 0, OPTION_PROFILE, AT(profile), 0, SIZE(profile), "NAME",
	 "profile for a PCI address (the one that knows the device, else pci)", false,
	 "port.profile"},
	{"queues", 0, OPTION_NUMBER, AT(queues), 1, CORES_MAX, "N",
	 "queue pairs to use (one a worker core)", false, "port.queues"},
	{"rx-ring", 0, OPTION_NUMBER, AT(rx_ring), CONFIG_RING_MIN, CONFIG_RING_MAX, "N",
	 "descriptors of a receive queue (the profile's)", false, "port.rx_ring"},
	{"tx-ring", 0, OPTION_NUMBER, AT(tx_ring), CONFIG_RING_MIN, CONFIG_RING_MAX, "N",
	 "descriptors of a send queue (the profile's)", false, "port.tx_ring"},
	{"burst", 0, OPTION_NUMBER, AT(burst), 1, CONFIG_BURST_MAX, "N",
	 "frames asked of the driver at once (the profile's)", false, "port.burst"},
	{"offloads", 0, OPTION_OFFLOADS, AT(offloads), 0, 0, "LIST",
	 "what the NIC does for us: rx_cksum,tx_udp_cksum and so on, none (the profile's)", false,
	 "port.offloads"},
	{"address", 0, OPTION_ADDRESS, AT(ipv4), 0, 32, "IP/LEN",
	 "our IPv4 address and prefix length (10.99.0.1/24)", false, "network.address"},
	{"gateway", 0, OPTION_GATEWAY, AT(gateway), 0, 0, "IP", "router for other networks (none)",
	 false, "network.gateway"},
	{"address6", 0, OPTION_ADDRESS6, AT(ipv6), 0, 128, "IP/LEN",
	 "an IPv6 address beside the one of the link, which is made from the MAC (none)", false,
	 "network.address6"},
	{"gateway6", 0, OPTION_GATEWAY6, AT(gateway6), 0, 0, "IP",
	 "router for other IPv6 networks; advertisements are not believed (none)", false,
	 "network.gateway6"},
	{"vlan", 0, OPTION_NUMBER, AT(vlan), 1, 4094, "ID",
	 "802.1Q tag of every frame, in and out (untagged)", false, "network.vlan"},
	{"vlan-priority", 0, OPTION_NUMBER, AT(vlan_priority), 0, 7, "N",
	 "priority in the tag of what we send (0)", false, "network.vlan_priority"},
	{"mtu", 0, OPTION_NUMBER, AT(mtu), 576, 9000, "BYTES", "largest IP packet (1500)", false,
	 "network.mtu"},
	{"steering", 0, OPTION_STEERING, AT(steering), 0, 0, "NAME",
	 "how a flow finds its core: auto, flow-director, rss, software or none (auto)", false,
	 "steering.mode"},
	{"udp-port-per-core", 0, FLAG(udp_port_per_core),
	 "core i answers UDP on port -U + i: a client chooses its core", false,
	 "steering.udp_port_per_core"},
	{"congestion", 0, OPTION_CONGESTION, AT(congestion), 0, 0, "NAME",
	 "what sets the pace of TCP: cubic or newreno (cubic)", false, "protocol.congestion"},
	{"no-huge", 0, FLAG(no_huge),
	 "ordinary memory instead of hugepages: slower, needs no setup", false, "memory.no_huge"},
	{"hugepage-size", 0, OPTION_HUGEPAGE, AT(hugepage), 0, 0, "NAME",
	 "of the store's memory: any, 2m or 1g (any: 2m, then 1g)", false, "memory.hugepage_size"},
	{"node-memory", 0, OPTION_NODES, AT(node_mb), 0, CONFIG_NODES_MAX, "LIST",
	 "MB of -m on NUMA node 0, 1 and so on (all on the NIC's node)", false, "memory.nodes"},
	{"poll", 0, OPTION_POLL, AT(poll), 0, 0, "NAME",
	 "what an idle core does: spin, or adaptive: wait, the longer the longer nothing came "
	 "(spin)",
	 false, "cores.poll"},
	{"yield", 0, FLAG(yield), "idle cores give their CPU away (automatic when cores share one)",
	 false, "cores.yield"},
	{"file-prefix", 0, OPTION_TEXT, AT(file_prefix), 1, SIZE(file_prefix), "NAME",
	 "name of this instance; each running one needs its own (clockoo)", false,
	 "process.file_prefix"},
	{"data-dir", 0, OPTION_TEXT, AT(data_dir), 1, SIZE(data_dir), "DIR",
	 "where the NIC profiles are (drivers-config beside the program)", false,
	 "process.data_dir"},
	{"sysfs", 0, OPTION_TEXT, AT(sysfs), 0, SIZE(sysfs), "DIR",
	 "with --check, --plan, doctor: another machine's sys and proc, or their record", false,
	 NULL},
	{"config", 0, OPTION_CONFIG, 0, 0, 0, "FILE",
	 "read this file first; none: no file (/etc/clockoo/clockoo.yaml, if it is there)", false,
	 NULL},
	{"check", 0, OPTION_CHECK, 0, 0, 0, "FILE",
	 "say what is wrong in this file, or that nothing is, and stop", false, NULL},
	{"print-config", 0, OPTION_PRINT, 0, 0, 0, NULL,
	 "print what is set as a configuration file with comments, and stop", false, NULL},
	{"plan", 0, OPTION_PLAN, 0, 0, 0, NULL,
	 "print cores, queues, rules, memory and warnings for this or --sysfs's machine, and stop",
	 false, NULL},
	{"live", 0, FLAG(live), "print one line of figures every second", false, "telemetry.live"},
	{"verbose", 'v', OPTION_COUNT, AT(verbosity), 0, 3, NULL,
	 "say more at start; twice: EAL too", false, "telemetry.verbose"},
	{"help", 'h', OPTION_HELP, 0, 0, 0, NULL, "print this and stop", false, NULL},
	{"version", 'V', OPTION_VERSION, 0, 0, 0, NULL, "print the version and stop", false, NULL},
	{"license", 'i', OPTION_LICENSE, 0, 0, 0, NULL, "print the licence and stop", false, NULL},
	{"enable-largepages", 'L', GIVEN(NULL), "hugepages are taken unless --no-huge says no",
	 false, NULL},
	{"slab-growth-factor", 'f', IDLE("FACTOR"), FIXED_SLOTS, false, NULL},
	{"slab-min-size", 'n', IDLE("BYTES"), FIXED_SLOTS, false, NULL},
	{"listen-backlog", 'b', IDLE("N"), OWN_BACKLOG, false, NULL},
	{"disable-cas", 'C', IDLE(NULL), ALWAYS_CAS, false, NULL},
	{"memory-file", 'e', IDLE("FILE"), NO_WARM_FILE, false, NULL},
	{"napi-ids", 'N', IDLE("N"), "a flow stays on its core by the NIC's own hash", false, NULL},
	{"unix-mask", 'a', IDLE("MASK"), NO_UNIX, false, NULL},
	{"unix-socket", 's', REFUSED("PATH"), NO_UNIX, true, NULL},
	{"enable-ssl", 'Z', REFUSED(NULL), NO_TLS, true, NULL},
};
const uint32_t option_row_count = sizeof option_rows / sizeof option_rows[0];

const struct option_row extended_rows[] = {
	{"idle_timeout", 0, OPTION_NUMBER, AT(idle_timeout_s), 0, 1u << 24, "S",
	 "close a connection without a request for so long; 0 is never (0)", false,
	 "protocol.idle_timeout"},
	{"track_sizes", 0, FLAG(track_sizes), "count items by size, for stats sizes", false,
	 "cache.track_sizes"},
	{"maxconns_fast", 0, GIVEN(NULL), "a connection too many is told so and closed at once",
	 false, NULL},
	{"modern", 0, GIVEN(NULL), "there is nothing older", false, NULL},
	{"lru_crawler", 0, GIVEN(NULL), OWN_CRAWLER, false, NULL},
	{"slab_reassign", 0, GIVEN(NULL), OWN_MOVER, false, NULL},
	{"no_maxconns_fast", 0, IDLE(NULL), "a connection too many is always told so and closed",
	 false, NULL},
	{"no_modern", 0, IDLE(NULL), "there is nothing older", false, NULL},
	{"no_lru_crawler", 0, IDLE(NULL), OWN_CRAWLER, false, NULL},
	{"lru_crawler_sleep", 0, IDLE("US"), OWN_CRAWLER, false, NULL},
	{"lru_crawler_tocrawl", 0, IDLE("N"), OWN_CRAWLER, false, NULL},
	{"no_slab_reassign", 0, IDLE(NULL), OWN_MOVER, false, NULL},
	{"slab_automove", 0, IDLE("[N]"), OWN_MOVER, false, NULL},
	{"no_slab_automove", 0, IDLE(NULL), OWN_MOVER, false, NULL},
	{"slab_automove_ratio", 0, IDLE("RATIO"), OWN_MOVER, false, NULL},
	{"slab_automove_window", 0, IDLE("N"), OWN_MOVER, false, NULL},
	{"slab_automove_freeratio", 0, IDLE("RATIO"), OWN_MOVER, false, NULL},
	{"lru_maintainer", 0, IDLE(NULL), NO_LRU, false, NULL},
	{"no_lru_maintainer", 0, IDLE(NULL), NO_LRU, false, NULL},
	{"hot_lru_pct", 0, IDLE("N"), NO_LRU, false, NULL},
	{"warm_lru_pct", 0, IDLE("N"), NO_LRU, false, NULL},
	{"hot_max_factor", 0, IDLE("N"), NO_LRU, false, NULL},
	{"warm_max_factor", 0, IDLE("N"), NO_LRU, false, NULL},
	{"temporary_ttl", 0, IDLE("S"), NO_LRU, false, NULL},
	{"tail_repair_time", 0, IDLE("[S]"), NO_LRU, false, NULL},
	{"hashpower", 0, IDLE("N"), OWN_INDEX, false, NULL},
	{"no_hashexpand", 0, IDLE(NULL), OWN_INDEX, false, NULL},
	{"hash_algorithm", 0, IDLE("NAME"), OWN_HASH, false, NULL},
	{"slab_sizes", 0, IDLE("LIST"), FIXED_SLOTS, false, NULL},
	{"slab_chunk_max", 0, IDLE("KB"), NO_CHUNKS, false, NULL},
	{"no_chunked_items", 0, IDLE(NULL), NO_CHUNKS, false, NULL},
	{"read_buf_mem_limit", 0, IDLE("MB"), OWN_BUFFERS, false, NULL},
	{"resp_obj_mem_limit", 0, IDLE("MB"), OWN_BUFFERS, false, NULL},
	{"inline_ascii_resp", 0, IDLE(NULL), OWN_BUFFERS, false, NULL},
	{"no_inline_ascii_resp", 0, IDLE(NULL), OWN_BUFFERS, false, NULL},
	{"watcher_logbuf_size", 0, IDLE("KB"), OWN_BUFFERS, false, NULL},
	{"worker_logbuf_size", 0, IDLE("KB"), OWN_BUFFERS, false, NULL},
	{"drop_privileges", 0, IDLE(NULL), NO_DROP, false, NULL},
	{"no_drop_privileges", 0, GIVEN(NULL), NO_DROP, false, NULL},
	{"relaxed_privileges", 0, IDLE(NULL), NO_DROP, false, NULL},
	{"sock_cookie_id", 0, IDLE("N"), "sockets of the kernel are not used", false, NULL},
	{"ext_path", 0, IDLE("PATH"), NO_FLASH, false, NULL},
	{"ext_page_size", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ext_wbuf_size", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ext_threads", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ext_io_depth", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ext_item_size", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ext_item_age", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ext_low_ttl", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ext_drop_unread", 0, IDLE(NULL), NO_FLASH, false, NULL},
	{"ext_recache_rate", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ext_compact_under", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ext_drop_under", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ext_max_frag", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ext_max_sleep", 0, IDLE("N"), NO_FLASH, false, NULL},
	{"ssl_chain_cert", 0, REFUSED("FILE"), NO_TLS, true, NULL},
	{"ssl_key", 0, REFUSED("FILE"), NO_TLS, true, NULL},
	{"ssl_keyformat", 0, REFUSED("N"), NO_TLS, true, NULL},
	{"ssl_verify_mode", 0, REFUSED("N"), NO_TLS, true, NULL},
	{"ssl_ciphers", 0, REFUSED("LIST"), NO_TLS, true, NULL},
	{"ssl_ca_cert", 0, REFUSED("FILE"), NO_TLS, true, NULL},
	{"ssl_wbuf_size", 0, REFUSED("KB"), NO_TLS, true, NULL},
	{"ssl_session_cache", 0, REFUSED(NULL), NO_TLS, true, NULL},
	{"ssl_kernel_tls", 0, REFUSED(NULL), NO_TLS, true, NULL},
	{"ssl_min_version", 0, REFUSED("N"), NO_TLS, true, NULL},
	{"proxy_config", 0, REFUSED("FILE"), NO_PROXY, true, NULL},
	{"proxy_arg", 0, REFUSED("ARG"), NO_PROXY, true, NULL},
	{"proxy_uring", 0, REFUSED(NULL), NO_PROXY, true, NULL},
	{"proxy_memprofile", 0, REFUSED(NULL), NO_PROXY, true, NULL},
};
const uint32_t extended_row_count = sizeof extended_rows / sizeof extended_rows[0];

static_assert(sizeof option_rows / sizeof option_rows[0] +
			      sizeof extended_rows / sizeof extended_rows[0] <=
		      CONFIG_ROWS_MAX,
	      "a row without its bit");

static const struct option_row *
row_named(const struct option_row *rows, uint32_t count, const char *name, size_t len)
{
	for (uint32_t i = 0; i < count; i++)
		if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
			return &rows[i];
	return NULL;
}

const struct option_row *
option_named(const char *name, size_t len)
{
	return row_named(option_rows, option_row_count, name, len);
}

const struct option_row *
extended_named(const char *name, size_t len)
{
	return row_named(extended_rows, extended_row_count, name, len);
}

const struct option_row *
option_lettered(char letter)
{
	for (uint32_t i = 0; i < option_row_count; i++)
		if (letter != 0 && option_rows[i].letter == letter)
			return &option_rows[i];
	return NULL;
}

uint32_t
option_number(const struct option_row *row)
{
	for (uint32_t i = 0; i < option_row_count; i++)
		if (row == &option_rows[i])
			return i;
	return option_row_count + (uint32_t)(row - extended_rows);
}

const struct option_row *
option_at(uint32_t number)
{
	return number < option_row_count ? &option_rows[number]
					 : &extended_rows[number - option_row_count];
}

uint32_t
option_count(void)
{
	return option_row_count + extended_row_count;
}
