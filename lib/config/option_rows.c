/*
 * option_rows.c - the tables of options and of the names after -o, and how a row is found.
 */
#include "options.h"

#include <assert.h>
#include <string.h>

#define AT(field)      offsetof(struct config, field)
#define SIZE(field)    (uint32_t)sizeof(((struct config *)0)->field)
#define FLAG(field)    OPTION_FLAG, AT(field), 0, 0, NULL
#define ALWAYS_ON(arg) OPTION_ALWAYS_ON, 0, 0, 0, arg
#define IGNORED(arg)   OPTION_IGNORED, 0, 0, 0, arg
#define REFUSED(arg)   OPTION_REFUSED, 0, 0, 0, arg
#define FIXED_CLASSES  "the slab classes are fixed"
#define ALWAYS_CAS     "every item has a CAS value, at no cost"
#define NO_UNIX        "Unix domain sockets are not supported"
#define NO_LRU         "eviction is 2Q or CLOCK: there are no HOT, WARM and COLD LRUs"
#define CRAWLER        "expired items are always reclaimed in the background"
#define REBALANCER     "slab pages are always rebalanced in the background"
#define INDEX_RESIZE   "the hash table is always resized automatically"
#define SEEDED_HASH    "the hash is always a seeded XXH3"
#define FIXED_CHUNKS   "values above 64 KB are stored in chunks of fixed size"
#define OTHER_FLASH    "the second tier is another one than extstore: see the options of flash"
#define NO_PROXY       "the built-in proxy is not supported"
#define STATIC_BUFFERS "buffers are allocated once at start, sized by -c"
#define PRIVILEGES     "there is no seccomp filter; use -u, and systemd's SystemCallFilter"

/* The letters and long names are memcached's where it has the option. --port is the exception: in
 * memcached it is the TCP port, here it is a NIC (README, decisions). */
const struct option_row option_rows[] = {
	{"memory-limit", 'm', OPTION_MEGABYTES, AT(memory_mb), 1, CONFIG_MEMORY_MAX_MB, "MB",
	 "item memory in megabytes (64)", false, "memory.limit"},
	{"memory-max", 0, OPTION_MEGABYTES, AT(memory_max_mb), 1, CONFIG_MEMORY_MAX_MB, "MB",
	 "memory reserved at start, in megabytes: the most that cache_memlimit can set (-m)", false,
	 "memory.max"},
	{"max-item-size", 'I', OPTION_SIZE, AT(item_max_bytes), 1u << 10, 128u << 20, "BYTES",
	 "maximum item size; k and m are suffixes (1m, at most 128m)", true, "cache.max_item_size"},
	{"tcp-port", 'p', OPTION_NUMBER, AT(tcp_port), 0, 65535, "PORT",
	 "TCP port to listen on, 0 is off (that of -U, else 11211)", true, "protocol.tcp_port"},
	{"udp-port", 'U', OPTION_NUMBER, AT(udp_port), 0, 65535, "PORT",
	 "UDP port to listen on, 0 is off (0)", true, "protocol.udp_port"},
	{"udp-allow", 0, OPTION_NETS, AT(udp_allow), 0, CONFIG_NETS_MAX, "NETS",
	 "networks whose UDP replies have no rate limit: 10.0.0.0/8,192.0.2.7, or none (own "
	 "network)",
	 false, "protocol.udp_allow"},
	{"udp-budget", 0, OPTION_SIZE, AT(udp_budget), 1u << 10, 128u << 20, "BYTES",
	 "bytes per second of UDP replies to an address outside --udp-allow; four times that to "
	 "its /24 or /56, sixteen times to all such addresses (64k)",
	 false, "protocol.udp_budget"},
	{"udp-admin", 0, FLAG(udp_admin),
	 "allow over UDP, where sources can be forged, commands that change the server or more "
	 "than one key",
	 false, "protocol.udp_admin"},
	{"listen", 'l', OPTION_LISTEN, AT(listeners), 0, 0, "IP",
	 "address to listen on, optionally with :PORT, which -U follows; more behind commas; "
	 "notls:IP:PORT is --tls-plain-port. Port user: addresses of this host (127.0.0.1), or "
	 "0.0.0.0 and :: for all. A NIC: its one address, also as 0.0.0.0 or *, perhaps with "
	 "several ports",
	 true, "network.listen"},
	{"listen-backlog", 'b', OPTION_NUMBER, AT(backlog), 1, 65535, "N",
	 "port user: connections that may wait to be accepted (1024)", true, "network.backlog"},
	{"conn-limit", 'c', OPTION_NUMBER, AT(conns_max), 1, 4u << 20, "N",
	 "max simultaneous connections (1024)", false, "protocol.conn_limit"},
	{"conns-per-source", 0, OPTION_NUMBER, AT(conns_per_source), 0, 4u << 20, "N",
	 "max simultaneous connections of an IPv4 address, IPv6 link-local address or /64; 0 is no "
	 "limit (0)",
	 false, "protocol.conns_per_source"},
	{"disable-timestamps", 0, FLAG(no_timestamps),
	 "disable TCP timestamps (RFC 7323): 12 bytes less per segment", false,
	 "protocol.disable_timestamps"},
	{"threads", 't', OPTION_NUMBER, AT(cores), 1, CORES_MAX, "N",
	 "number of worker threads, each pinned to a CPU of its own (1)", false, "cores.count"},
	{"cores", 0, OPTION_NUMBER, AT(cores), 1, CORES_MAX, "N", "the same as -t", false, NULL},
	{"lcores", 0, OPTION_LCORES, AT(lcores), 0, 0, "LIST",
	 "lcores of the workers and their CPUs, in EAL's form: 0@0,1@1", false, "cores.list"},
	{"share-cpus", 0, FLAG(share_cpus), "allow several worker threads on one CPU", false,
	 "cores.share"},
	{"hyperthreads", 0, OPTION_HYPERTHREADS, AT(hyperthreads), 0, 0, "NAME",
	 "use of the second hyper-thread of a worker's core: idle or workers (idle)", false,
	 "cores.hyperthreads"},
	{"control-cpu", 0, OPTION_NUMBER, AT(control_cpu), 0, LCORE_ID_END - 1, "CPU",
	 "CPU of the control thread (one without a worker)", false, "cores.control_cpu"},
	{"max-reqs-per-event", 'R', OPTION_NUMBER, AT(conn_requests_max), 1, 65535, "N",
	 "max requests per connection and event, to prevent starvation (20)", false,
	 "protocol.max_reqs_per_event"},
	{"protocol", 'B', OPTION_PROTOCOL, AT(protocol), 0, 0, "NAME",
	 "ascii, binary or auto: negotiated by the first byte (auto)", true, "protocol.commands"},
	{"disable-evictions", 'M', FLAG(no_evict),
	 "return an error when memory is exhausted instead of evicting", false,
	 "cache.disable_evictions"},
	{"eviction", 0, OPTION_EVICTION, AT(eviction), 0, 0, "NAME",
	 "which items a full cache evicts: 2q: first those that are new and unused; or clock: "
	 "those not used lately (2q)",
	 false, "cache.eviction"},
	{"auth-file", 'Y', OPTION_TEXT, AT(auth_file), 1, SIZE(auth_file), "FILE",
	 "require authentication: file of user:password lines, reloaded on SIGHUP", false,
	 "auth.file"},
	{"enable-sasl", 'S', FLAG(sasl),
	 "require SASL authentication; without -Y users are read from MEMCACHED_SASL_PWDB", false,
	 "auth.sasl"},
	{"disable-flush-all", 'F', FLAG(no_flush), "disable the flush_all command", false,
	 "protocol.disable_flush_all"},
	{"disable-dumping", 'X', FLAG(no_dumps),
	 "disable stats cachedump, stats detail, lru_crawler metadump and mgdump", false,
	 "telemetry.disable_dumping"},
	{"disable-watch", 'W', FLAG(no_watch), "disable the watch command", false,
	 "telemetry.disable_watch"},
	{"enable-shutdown", 'A', FLAG(shutdown), "enable the shutdown command", false,
	 "protocol.enable_shutdown"},
	{"stat-key-prefix", 'D', OPTION_DELIMITER, AT(prefix_delimiter), 0, 0, "CHAR",
	 "collect stats detail; CHAR ends the prefix of a key (:, not collected)", false,
	 "telemetry.stat_key_prefix"},
	{"front-servers", 0, OPTION_SERVERS, AT(front.servers), 0, 0, "LIST",
	 "servers of the fleet: host:port:weight [name] for each, as in nutcracker's file, or a "
	 "file with one server a line (none)",
	 false, "front.servers"},
	{"front-hash", 0, OPTION_FRONT_HASH, AT(front.hash), 0, 0, "NAME",
	 "hash of keys: one_at_a_time, md5, crc16, crc32, crc32a, fnv1_64, fnv1a_64, fnv1_32, "
	 "fnv1a_32, hsieh, murmur or jenkins (fnv1a_64)",
	 false, "front.hash"},
	{"front-distribution", 0, OPTION_FRONT_DISTRIBUTION, AT(front.distribution), 0, 0, "NAME",
	 "how a hash finds its server: ketama (nutcracker; libmemcached with weights), consistent "
	 "(libmemcached without), modula or jump (memcached's proxy) (ketama)",
	 false, "front.distribution"},
	{"front-order", 0, OPTION_FRONT_ORDER, AT(front.order), 0, 0, "NAME",
	 "order of the servers, for modula: sorted, as in nutcracker, or given, as in libmemcached "
	 "(sorted)",
	 false, "front.order"},
	{"front-hash-tag", 0, OPTION_TEXT, AT(front.hash_tag), 2, SIZE(front.hash_tag), "AB",
	 "two characters; of a key that has both, only the part between them is hashed: {} "
	 "(none)",
	 false, "front.hash_tag"},
	{"front-hash-skip", 0, OPTION_TEXT, AT(front.hash_skip), 1, SIZE(front.hash_skip), "PREFIX",
	 "beginning of keys that is not hashed: libmemcached's namespace (none)", false,
	 "front.hash_skip"},
	{"front-protocol", 0, OPTION_FRONT_PROTOCOL, AT(front.protocol), 0, 0, "NAME",
	 "protocol to the servers: text, meta, or auto: the best that each knows (auto)", false,
	 "front.protocol"},
	{"front-server-connections", 0, OPTION_NUMBER, AT(front.server_connections), 1,
	 CONFIG_FRONT_CONNECTIONS_MAX, "N", "connections of a worker to each server (1)", false,
	 "front.server_connections"},
	{"front-timeout", 0, OPTION_TIME, AT(front.timeout_ms), 1, 60000, "TIME",
	 "longest wait for a server's answer, such as 500ms; eight times that while the server "
	 "keeps sending (1s)",
	 false, "front.timeout"},
	{"front-connect-timeout", 0, OPTION_TIME, AT(front.connect_timeout_ms), 1, 60000, "TIME",
	 "longest wait for a connection to a server (500ms)", false, "front.connect_timeout"},
	{"front-server-failure-limit", 0, OPTION_NUMBER, AT(front.server_failure_limit), 1, 1000,
	 "N", "failures in a row after which a server is down: its keys fail at once (2)", false,
	 "front.server_failure_limit"},
	{"front-server-retry-timeout", 0, OPTION_TIME, AT(front.server_retry_timeout_ms), 100,
	 3600000, "TIME", "longest pause before a server that is down is tried again (30s)", false,
	 "front.server_retry_timeout"},
	{"front-on-failure", 0, OPTION_FRONT_ON_FAILURE, AT(front.on_failure), 0, 0, "NAME",
	 "reply to a get whose server does not answer: miss or error (miss)", false,
	 "front.on_failure"},
	{"front-mode", 0, OPTION_FRONT_MODE, AT(front.mode), 0, 0, "NAME",
	 "who writes to the servers: shared: other clients too, so a copy is at most --front-ttl "
	 "old; or sole: this front alone, or copies are wrong (shared)",
	 false, "front.mode"},
	{"front-items", 0, OPTION_ITEMS, AT(front.items), 0, 0, "N",
	 "copies of the most requested items: a number, 0: none, auto: enough to bound the load of "
	 "every server (see --plan), or memory: as many as fit into -m (shared: auto; sole: 0)",
	 false, "front.items"},
	{"front-ttl", 0, OPTION_TIME, AT(front.ttl_ms), 16, 3600000, "TIME",
	 "shared: maximum age of a copy; sole: life of a copy whose server does not report when "
	 "the item expires; below 1s there are no such copies (1s)",
	 false, "front.ttl"},
	{"front-auto-eject-hosts", 0, FLAG(front.auto_eject_hosts),
	 "remove a server that is down, for at least --front-server-retry-timeout; others serve "
	 "its keys; sole: it is flushed before it returns",
	 false, "front.auto_eject_hosts"},
	{"front-gutter", 0, OPTION_SERVERS, AT(front.gutter), 0, 0, "LIST",
	 "servers that serve the keys of removed servers, given as --front-servers (the others of "
	 "the fleet)",
	 false, "front.gutter"},
	{"front-gutter-ttl", 0, OPTION_TIME, AT(front.gutter_ttl_ms), 1000, 3600000, "TIME",
	 "longest life of an item that is stored in place of a removed server (10s)", false,
	 "front.gutter_ttl"},
	{"front-reload", 0, OPTION_FRONT_RELOAD, AT(front.reload), 0, 0, "NAME",
	 "items of servers that a reload gives keys of others: keep or flush (keep)", false,
	 "front.reload"},
	{"front-warm", 0, OPTION_TIME, AT(front.warm_ms), 0, 86400000, "TIME",
	 "sole: for so long after a reload, keys are handed over by the servers that had them "
	 "before; 0: they are not (0)",
	 false, "front.warm"},
	{"front-peers", 0, OPTION_SERVERS, AT(front.peers), 0, 0, "LIST",
	 "UDP address:port of other fronts of these servers, which are notified of the keys that "
	 "this front writes, best effort (none)",
	 false, "front.peers"},
	{"front-login", 0, OPTION_TEXT, AT(front.login), 1, SIZE(front.login), "FILE",
	 "log in to the servers: file with one user:password, reloaded on SIGHUP (none)", false,
	 "front.login"},
	{"front-tls-ca", 0, OPTION_TEXT, AT(front.tls_ca), 1, SIZE(front.tls_ca), "FILE",
	 "speak TLS to the servers, and only to those with a certificate that one of this PEM file "
	 "has issued; reloaded on SIGHUP (none: in the clear)",
	 false, "front.tls_ca"},
	{"front-tls-cert", 0, OPTION_TEXT, AT(front.tls_cert), 1, SIZE(front.tls_cert), "FILE",
	 "PEM file of the certificate, with its chain, that servers may ask for (none)", false,
	 "front.tls_cert"},
	{"front-tls-key", 0, OPTION_TEXT, AT(front.tls_key), 1, SIZE(front.tls_key), "FILE",
	 "PEM file of its key (that of --front-tls-cert)", false, "front.tls_key"},
	{"front-tls-name", 0, OPTION_TEXT, AT(front.tls_name), 1, SIZE(front.tls_name), "NAME",
	 "name or address that the servers' certificates have (that of --front-servers)", false,
	 "front.tls_name"},
	{"flash-device", 0, OPTION_TEXT, AT(flash.device), 1, SIZE(flash.device), "FILE",
	 "file or block device of a second tier, for the items that memory evicts (none)", false,
	 "flash.device"},
	{"flash-size", 0, OPTION_SPACE, AT(flash.size_mb), CONFIG_FLASH_MIN_MB, CONFIG_FLASH_MAX_MB,
	 "SIZE",
	 "size of the tier in megabytes, or with the suffix m, g or t; a file is created or grown "
	 "to it (size of the device)",
	 false, "flash.size"},
	{"flash-state", 0, OPTION_TEXT, AT(flash.state), 1, SIZE(flash.state), "FILE",
	 "memory file, on a hugetlbfs or tmpfs, from which a start recovers flash after a kill "
	 "(--memory-file's path with the suffix .flash; without either, a kill loses flash)",
	 false, "flash.state"},
	{"flash-budget", 0, OPTION_NUMBER, AT(flash.budget_mb), 0, 1u << 20, "MB",
	 "limit of writes to flash, in megabytes a second; 0 is no limit (0)", false,
	 "flash.budget"},
	{"flash-admit", 0, OPTION_FLASH_ADMIT, AT(flash.admit), 0, 0, "NAME",
	 "which evicted items go to flash: all, or used: those requested in memory or evicted "
	 "before (all)",
	 false, "flash.admit"},
	{"flash-layout", 0, OPTION_FLASH_LAYOUT, AT(flash.layout), 0, 0, "NAME",
	 "log: written once, 6.5 bytes of memory an item; hash: written twice, 2.2 bytes; auto: "
	 "hash from 16 GB on (auto)",
	 false, "flash.layout"},
	{"flash-io", 0, OPTION_FLASH_IO, AT(flash.io), 0, 0, "NAME",
	 "how flash is read and written: io_uring; threads, slower, where io_uring is refused; "
	 "auto (auto)",
	 false, "flash.io"},
	{"flash-large", 0, OPTION_NUMBER, AT(flash.large), 5, 50, "PERCENT",
	 "with layout hash, the part of flash for items above 1016 bytes, which stay a log (25)",
	 false, "flash.large"},
	{"flash-item-size", 0, OPTION_NUMBER, AT(flash.item_size), 64, 65536, "BYTES",
	 "mean size of an item on flash, key, value and 8 to 24 bytes: it sizes the index (256)",
	 false, "flash.item_size"},
	{"flash-item-max", 0, OPTION_SIZE, AT(flash.item_max_bytes), 1u << 10,
	 CONFIG_FLASH_ITEM_MAX, "BYTES",
	 "largest value on flash; k and m are suffixes (1m, at most 2035k)", false,
	 "flash.item_max"},
	{"flash-deadline", 0, OPTION_TIME, AT(flash.deadline_ms), 1, 1000, "TIME",
	 "longest wait for flash, after which a get is a miss (100ms)", false, "flash.deadline"},
	{"flash-compress", 0, FLAG(flash.compress),
	 "compress values of 128 to 8192 bytes on flash, where that saves an eighth", false,
	 "flash.compress"},
	{"daemon", 'd', FLAG(daemon), "run as a daemon; after start-up log to syslog", false,
	 "process.daemon"},
	{"pidfile", 'P', OPTION_TEXT, AT(pid_file), 1, SIZE(pid_file), "FILE",
	 "save the process ID in FILE after start-up, remove it on exit", false, "process.pidfile"},
	{"user", 'u', OPTION_TEXT, AT(user), 1, SIZE(user), "NAME",
	 "user to run as after start-up, when started as root", false, "process.user"},
	{"lock-memory", 'k', FLAG(lock_memory),
	 "lock all memory; with --no-huge only: hugepages are never swapped", false, "memory.lock"},
	{"enable-coredumps", 'r', FLAG(coredumps), "maximize the core file limit", false,
	 "process.coredumps"},
	{"extended", 'o', OPTION_EXTENDED, 0, 0, 0, "LIST",
	 "comma separated list of extended options", false, NULL},
	{"port", 0, OPTION_PORT, AT(port), 0, SIZE(port), "NIC",
	 "PCI address of the NIC, or a profile of drivers-config: user needs no NIC and no "
	 "privilege; env:NAME is either from the environment (af_packet)",
	 false, "port.nic"},
	{"iface", 0, OPTION_TEXT, AT(iface), 0, 15 + 1, "NAME",
	 "kernel interface of af_packet and tap", false, "port.iface"},
	{"socket", 0, OPTION_TEXT, AT(socket), 0, 107 + 1, "PATH",
	 "Unix socket of vhost, virtio_user and memif", false, "port.socket"},
	{"vdev-args", 0, OPTION_TEXT, AT(vdev_args), 0, SIZE(vdev_args), "ARGS",
	 "additional device arguments, appended to the profile's", false, "port.vdev_args"},
	{"profile", 0, OPTION_PROFILE, AT(profile), 0, SIZE(profile), "NAME",
	 "NIC profile for a PCI address (the one that lists its PCI ID, else pci)", false,
	 "port.profile"},
	{"queues", 0, OPTION_NUMBER, AT(queues), 1, CORES_MAX, "N",
	 "number of RX/TX queue pairs, at most one per worker (one per worker)", false,
	 "port.queues"},
	{"rx-ring", 0, OPTION_NUMBER, AT(rx_ring), CONFIG_RING_MIN, CONFIG_RING_MAX, "N",
	 "RX descriptors per queue (the profile's)", false, "port.rx_ring"},
	{"tx-ring", 0, OPTION_NUMBER, AT(tx_ring), CONFIG_RING_MIN, CONFIG_RING_MAX, "N",
	 "TX descriptors per queue (the profile's)", false, "port.tx_ring"},
	{"burst", 0, OPTION_NUMBER, AT(burst), 1, CONFIG_BURST_MAX, "N",
	 "packets per RX burst (the profile's)", false, "port.burst"},
	{"offloads", 0, OPTION_OFFLOADS, AT(offloads), 0, 0, "LIST",
	 "NIC offloads to use: rx_cksum,tx_udp_cksum and so on, or none (the profile's)", false,
	 "port.offloads"},
	{"address", 0, OPTION_ADDRESS, AT(ipv4), 0, 32, "IP/LEN",
	 "IPv4 address and prefix length of the server, or none (10.99.0.1/24)", false,
	 "network.address"},
	{"addresses", 0, OPTION_ADDRESSES, AT(addresses), 0, 0, "LIST",
	 "further addresses of both families, or a file with such: 192.0.2.5,2001:db8::5/64 vlan "
	 "100 is one address without a network, and one in a VLAN; a reload adds and removes them, "
	 "and connections to removed ones are reset (none)",
	 false, "network.addresses"},
	{"routes", 0, OPTION_ROUTES, AT(routes), 0, 0, "LIST",
	 "routes, or a file with such: 198.51.100.0/24 via 192.0.2.1 mtu 1400,default via fe80::1; "
	 "of networks that have an address the smallest decides (none)",
	 false, "network.routes"},
	{"gateway", 0, OPTION_GATEWAY, AT(gateway), 0, 0, "IP", "IPv4 default gateway (none)",
	 false, "network.gateway"},
	{"ipv6", 0, OPTION_IPV6, AT(ipv6_use), 0, 0, "NAME",
	 "IPv6: on (the link-local address at least), off, or auto: on with --address6 (auto)",
	 false, "network.ipv6"},
	{"address6", 0, OPTION_ADDRESS6, AT(ipv6), 0, 128, "IP/LEN",
	 "IPv6 address and prefix length, besides the link-local address (none)", false,
	 "network.address6"},
	{"gateway6", 0, OPTION_GATEWAY6, AT(gateway6), 0, 0, "IP",
	 "IPv6 default gateway; auto: the router that advertises itself, by its preference and "
	 "lifetime; else advertisements are ignored (none)",
	 false, "network.gateway6"},
	{"probe", 0, OPTION_PROBE, AT(probe), 0, 0, "NAME",
	 "before our addresses are used, ask whether another host has them, and do not start if "
	 "so: short: 0.2 to 0.35 s; long: RFC 5227's own 4 to 7 s, for switches that forward late; "
	 "off; auto: short, off where the port is no network (auto)",
	 false, "network.probe"},
	{"drain", 0, OPTION_DRAIN, AT(drain), 0, 0, "NAME",
	 "connections during clockoo drain: reset: new ones get a reset; silent: no answer, as if "
	 "the host were gone; close: each one is closed behind its next answer, so that its client "
	 "opens another; anycast: as close, before a stop, too, and clockoo ready says no once "
	 "none is open: a router would lead the others to another host, which resets them (reset)",
	 false, "network.drain"},
	{"drain-time", 0, OPTION_NUMBER, AT(drain_time_s), 0, 86400, "SECONDS",
	 "how long clockoo drain lets connections go on before the stop (30)", false,
	 "network.drain_time"},
	{"keepalive", 0, OPTION_NUMBER, AT(keepalive_s), 1, 86400, "SECONDS",
	 "a TCP peer that has sent nothing for so long gets up to nine probes, 75 s apart, or "
	 "SECONDS if that is less; without an answer its connection ends (7200)",
	 false, "network.keepalive"},
	{"allow", 0, OPTION_NET_LIST, AT(allow), 0, 0, "NETS",
	 "networks that are let in, over TCP, UDP and ping: 10.0.0.0/8,2001:db8::/32, or a file "
	 "with such; of networks here and in --deny that have an address the smallest decides "
	 "(all)",
	 false, "network.allow"},
	{"deny", 0, OPTION_NET_LIST, AT(deny), 0, 0, "NETS",
	 "networks that are not let in, given as --allow (none)", false, "network.deny"},
	{"vlan", 0, OPTION_NUMBER, AT(vlan), 1, 4094, "ID",
	 "802.1Q VLAN ID of all frames, RX and TX (untagged)", false, "network.vlan"},
	{"vlan-priority", 0, OPTION_NUMBER, AT(vlan_priority), 0, 7, "N",
	 "802.1Q priority of transmitted frames (0)", false, "network.vlan_priority"},
	{"mtu", 0, OPTION_NUMBER, AT(mtu), 576, 9000, "BYTES", "largest IP packet in bytes (1500)",
	 false, "network.mtu"},
	{"bond", 0, OPTION_BOND, AT(bond), 0, 0, "NAME",
	 "two NICs as one port: lacp (802.3ad; the partner sends each second), lacp-slow (each 30 "
	 "s), active-backup, or none (none)",
	 false, "network.bond"},
	{"bond-member", 0, OPTION_TEXT, AT(bond_member), 0, SIZE(bond_member), "NIC",
	 "the bond's second NIC, like the first: its PCI address, or with af_packet its interface "
	 "(none)",
	 false, "network.bond_member"},
	{"kernel", 0, OPTION_TEXT, AT(kernel), 0, 15 + 1, "NAME",
	 "tap interface by which the kernel uses the same NIC: it gets what is not the cache's, "
	 "and "
	 "what it sends leaves; clockoo-nic kernel makes one. nic: ConnectX, whose own interface "
	 "keeps what is not the cache's (none)",
	 false, "network.kernel"},
	{"steering", 0, OPTION_STEERING, AT(steering), 0, 0, "NAME",
	 "distribution of flows to cores: auto, flow-director, rss, software or none (auto)", false,
	 "steering.mode"},
	{"udp-port-per-core", 0, FLAG(udp_port_per_core),
	 "worker i listens on UDP port -U + i, so that clients choose the worker", false,
	 "steering.udp_port_per_core"},
	{"congestion", 0, OPTION_CONGESTION, AT(congestion), 0, 0, "NAME",
	 "TCP congestion control: cubic, newreno, or dctcp for networks whose switches mark "
	 "packets "
	 "(ECN) at a short queue; dctcp asks for ECN, and is cubic with peers that refuse (cubic)",
	 false, "protocol.congestion"},
	{"ecn", 0, OPTION_ECN, AT(ecn), 0, 0, "NAME",
	 "TCP congestion marks (RFC 3168): passive: with peers that ask; on: our own connections "
	 "ask too; off (passive)",
	 false, "protocol.ecn"},
	{"no-huge", 0, FLAG(no_huge),
	 "use regular pages instead of hugepages: slower, needs no setup", false, "memory.no_huge"},
	{"hugepage-size", 0, OPTION_HUGEPAGE, AT(hugepage), 0, 0, "NAME",
	 "hugepage size of the item memory: any, 2m or 1g (any: 2m, then 1g)", false,
	 "memory.hugepage_size"},
	{"node-memory", 0, OPTION_NODES, AT(node_mb), 0, CONFIG_NODES_MAX, "LIST",
	 "megabytes of -m on NUMA node 0, on node 1 and so on: 1024,1024 (all on the NIC's node)",
	 false, "memory.nodes"},
	{"memory-file", 'e', OPTION_TEXT, AT(memory_file), 1, SIZE(memory_file), "FILE",
	 "file on a hugetlbfs or tmpfs for the item memory, so that items outlive a restart (none)",
	 false, "memory.file"},
	{"keep-for", 0, OPTION_KEEP_FOR, AT(keep_for_s), 0, 0, "S",
	 "longest time without service, in seconds, after which items are kept: a number, always "
	 "or never (60)",
	 false, "memory.keep_for"},
	{"memory-save", 0, OPTION_TEXT, AT(memory_save), 1, SIZE(memory_save), "FILE",
	 "file on a disk: a graceful stop saves the items there, the next start loads them while "
	 "it serves, within --keep-for (none)",
	 false, "memory.save"},
	{"memory-save-compress", 0, OPTION_SAVE_COMPRESS, AT(save_compress), 0, 0, "LEVEL",
	 "igzip level of --memory-save: 0, 1 or no (no)", false, "memory.save_compress"},
	{"numa", 0, OPTION_NUMA, AT(numa), 0, 0, "NODES",
	 "NUMA nodes of the item memory: nic, interleave (all nodes), or a list to interleave "
	 "over: 0,2-3 (nic)",
	 false, "memory.numa"},
	{"poll", 0, OPTION_POLL, AT(poll), 0, 0, "NAME",
	 "what an idle core does: spin, or adaptive: sleep ever longer (spin)", false,
	 "cores.poll"},
	{"yield", 0, FLAG(yield),
	 "idle cores sleep to yield their CPU (automatic when cores share one)", false,
	 "cores.yield"},
	{"file-prefix", 0, OPTION_TEXT, AT(file_prefix), 1, SIZE(file_prefix), "NAME",
	 "DPDK file prefix, unique for each running instance (clockoo)", false,
	 "process.file_prefix"},
	{"data-dir", 0, OPTION_TEXT, AT(data_dir), 1, SIZE(data_dir), "DIR",
	 "directory of the NIC profiles (drivers-config beside the program)", false,
	 "process.data_dir"},
	{"sysfs", 0, OPTION_TEXT, AT(sysfs), 0, SIZE(sysfs), "DIR",
	 "another machine for --check, --plan and doctor: directory with its sys and proc, or file "
	 "of clockoo-nic record",
	 false, NULL},
	{"config", 0, OPTION_CONFIG, 0, 0, 0, "FILE",
	 "configuration file, or none (/etc/clockoo/clockoo.yaml, if it exists)", false, NULL},
	{"check", 0, OPTION_CHECK, 0, 0, 0, "FILE", "check this configuration file and exit", false,
	 NULL},
	{"print-config", 0, OPTION_PRINT, 0, 0, 0, NULL,
	 "print the settings as a configuration file with comments and exit", false, NULL},
	{"plan", 0, OPTION_PLAN, 0, 0, 0, NULL,
	 "print cores, queues, rules, memory and warnings of this machine, or of --sysfs, and exit",
	 false, NULL},
	{"live", 0, FLAG(live), "print one line of statistics every second", false,
	 "telemetry.live"},
	{"telemetry-http", 0, OPTION_HTTP, AT(http), 0, 0, "WHERE",
	 "IP:PORT of the kernel, or path of a Unix socket, where HTTP serves /metrics and a page "
	 "to all who can connect, such as 127.0.0.1:9150 (none)",
	 false, "telemetry.http"},
	{"telemetry-dpdk", 0, FLAG(telemetry_dpdk),
	 "DPDK's telemetry socket, for Telegraf and collectd: the port's figures, and what stats "
	 "shows as /clockoo/...",
	 false, "telemetry.dpdk"},
	{"enable-ssl", 'Z', FLAG(tls.on),
	 "TLS of TCP connections; wants -o ssl_chain_cert, and no -U", false, "tls.enable"},
	{"tls-plain-port", 0, OPTION_NUMBER, AT(tls.plain_port), 0, 65535, "PORT",
	 "with -Z, TCP port without TLS, as memcached's -l notls:IP:PORT; 0 is none (0)", false,
	 "tls.plain_port"},
	{"verbose", 'v', OPTION_COUNT, AT(verbosity), 0, 3, NULL,
	 "log more at start; twice: also EAL's log", false, "telemetry.verbose"},
	{"help", 'h', OPTION_HELP, 0, 0, 0, NULL, "print this help and exit", false, NULL},
	{"version", 'V', OPTION_VERSION, 0, 0, 0, NULL, "print the version and exit", false, NULL},
	{"license", 'i', OPTION_LICENSE, 0, 0, 0, NULL, "print the license and exit", false, NULL},
	{"enable-largepages", 'L', ALWAYS_ON(NULL),
	 "hugepages are always used unless --no-huge is given", false, NULL},
	{"slab-growth-factor", 'f', IGNORED("FACTOR"), FIXED_CLASSES, false, NULL},
	{"slab-min-size", 'n', IGNORED("BYTES"), FIXED_CLASSES, false, NULL},
	{"disable-cas", 'C', IGNORED(NULL), ALWAYS_CAS, false, NULL},
	{"napi-ids", 'N', IGNORED("N"), "flows are assigned to threads by the NIC's RSS hash",
	 false, NULL},
	{"unix-mask", 'a', IGNORED("MASK"), NO_UNIX, false, NULL},
	{"unix-socket", 's', REFUSED("PATH"), NO_UNIX, true, NULL},
};
const uint32_t option_row_count = sizeof option_rows / sizeof option_rows[0];

const struct option_row extended_rows[] = {
	{"idle_timeout", 0, OPTION_NUMBER, AT(idle_timeout_s), 0, 1u << 24, "S",
	 "seconds before idle connections are closed; 0 is never (0)", false,
	 "protocol.idle_timeout"},
	{"track_sizes", 0, FLAG(track_sizes), "count items by size, for stats sizes", false,
	 "cache.track_sizes"},
	{"maxconns_fast", 0, ALWAYS_ON(NULL),
	 "connections above the limit get an error and are closed immediately", false, NULL},
	{"modern", 0, ALWAYS_ON(NULL), "the modern defaults are always on", false, NULL},
	{"lru_crawler", 0, ALWAYS_ON(NULL), CRAWLER, false, NULL},
	{"slab_reassign", 0, ALWAYS_ON(NULL), REBALANCER, false, NULL},
	{"no_maxconns_fast", 0, IGNORED(NULL),
	 "connections above the limit always get an error and are closed", false, NULL},
	{"no_modern", 0, IGNORED(NULL), "the modern defaults are always on", false, NULL},
	{"no_lru_crawler", 0, IGNORED(NULL), CRAWLER, false, NULL},
	{"lru_crawler_sleep", 0, IGNORED("US"), CRAWLER, false, NULL},
	{"lru_crawler_tocrawl", 0, IGNORED("N"), CRAWLER, false, NULL},
	{"no_slab_reassign", 0, IGNORED(NULL), REBALANCER, false, NULL},
	{"slab_automove", 0, IGNORED("[N]"), REBALANCER, false, NULL},
	{"no_slab_automove", 0, IGNORED(NULL), REBALANCER, false, NULL},
	{"slab_automove_ratio", 0, IGNORED("RATIO"), REBALANCER, false, NULL},
	{"slab_automove_window", 0, IGNORED("N"), REBALANCER, false, NULL},
	{"slab_automove_freeratio", 0, IGNORED("RATIO"), REBALANCER, false, NULL},
	{"lru_maintainer", 0, IGNORED(NULL), NO_LRU, false, NULL},
	{"no_lru_maintainer", 0, IGNORED(NULL), NO_LRU, false, NULL},
	{"hot_lru_pct", 0, IGNORED("N"), NO_LRU, false, NULL},
	{"warm_lru_pct", 0, IGNORED("N"), NO_LRU, false, NULL},
	{"hot_max_factor", 0, IGNORED("N"), NO_LRU, false, NULL},
	{"warm_max_factor", 0, IGNORED("N"), NO_LRU, false, NULL},
	{"temporary_ttl", 0, IGNORED("S"), NO_LRU, false, NULL},
	{"tail_repair_time", 0, IGNORED("[S]"), NO_LRU, false, NULL},
	{"hashpower", 0, IGNORED("N"), INDEX_RESIZE, false, NULL},
	{"no_hashexpand", 0, IGNORED(NULL), INDEX_RESIZE, false, NULL},
	{"hash_algorithm", 0, IGNORED("NAME"), SEEDED_HASH, false, NULL},
	{"slab_sizes", 0, IGNORED("LIST"), FIXED_CLASSES, false, NULL},
	{"slab_chunk_max", 0, IGNORED("KB"), FIXED_CHUNKS, false, NULL},
	{"no_chunked_items", 0, IGNORED(NULL), FIXED_CHUNKS, false, NULL},
	{"read_buf_mem_limit", 0, IGNORED("MB"), STATIC_BUFFERS, false, NULL},
	{"resp_obj_mem_limit", 0, IGNORED("MB"), STATIC_BUFFERS, false, NULL},
	{"inline_ascii_resp", 0, IGNORED(NULL), STATIC_BUFFERS, false, NULL},
	{"no_inline_ascii_resp", 0, IGNORED(NULL), STATIC_BUFFERS, false, NULL},
	{"watcher_logbuf_size", 0, IGNORED("KB"), STATIC_BUFFERS, false, NULL},
	{"worker_logbuf_size", 0, IGNORED("KB"), STATIC_BUFFERS, false, NULL},
	{"drop_privileges", 0, IGNORED(NULL), PRIVILEGES, false, NULL},
	{"no_drop_privileges", 0, ALWAYS_ON(NULL), PRIVILEGES, false, NULL},
	{"relaxed_privileges", 0, IGNORED(NULL), PRIVILEGES, false, NULL},
	{"sock_cookie_id", 0, IGNORED("N"), "kernel sockets are not used", false, NULL},
	{"ext_path", 0, OPTION_EXT_PATH, 0, CONFIG_FLASH_MIN_MB, CONFIG_FLASH_MAX_MB, "FILE:SIZE",
	 "the same as --flash-device FILE --flash-size SIZE: the tier is another one than extstore",
	 false, NULL},
	{"ext_page_size", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ext_wbuf_size", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ext_threads", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ext_io_depth", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ext_item_size", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ext_item_age", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ext_low_ttl", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ext_drop_unread", 0, IGNORED(NULL), OTHER_FLASH, false, NULL},
	{"ext_recache_rate", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ext_compact_under", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ext_drop_under", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ext_max_frag", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ext_max_sleep", 0, IGNORED("N"), OTHER_FLASH, false, NULL},
	{"ssl_chain_cert", 0, OPTION_TEXT, AT(tls.chain_cert), 1, SIZE(tls.chain_cert), "FILE",
	 "the server's certificate and its intermediate certificates, PEM; read again on "
	 "SIGHUP",
	 false, "tls.chain_cert"},
	{"ssl_key", 0, OPTION_TEXT, AT(tls.key), 1, SIZE(tls.key), "FILE",
	 "the key of that certificate; read again on SIGHUP (in ssl_chain_cert)", false, "tls.key"},
	{"ssl_keyformat", 0, OPTION_NUMBER, AT(tls.keyformat), 1, 2, "N",
	 "format of the key: 1: PEM, 2: DER (1)", false, "tls.keyformat"},
	{"ssl_verify_mode", 0, OPTION_NUMBER, AT(tls.verify_mode), 0, 3, "N",
	 "certificates of clients: 0: not requested, 1: verified if sent, 2: required, 3: "
	 "required once (0)",
	 false, "tls.verify_mode"},
	{"ssl_ciphers", 0, OPTION_TEXT, AT(tls.ciphers), 1, SIZE(tls.ciphers), "LIST",
	 "ciphers of TLS 1.2, as OpenSSL names them (OpenSSL's own list)", false, "tls.ciphers"},
	{"ssl_ca_cert", 0, OPTION_TEXT, AT(tls.ca_cert), 1, SIZE(tls.ca_cert), "FILE",
	 "certificates by which clients' are verified, PEM; read again on SIGHUP", false,
	 "tls.ca_cert"},
	{"ssl_min_version", 0, OPTION_NUMBER, AT(tls.min_version), 0, 3, "N",
	 "least version: 0 to 3: TLS 1.0 to 1.3 (2)", false, "tls.min_version"},
	{"ssl_session_cache", 0, ALWAYS_ON(NULL), "sessions are resumed by tickets", false, NULL},
	{"ssl_wbuf_size", 0, IGNORED("KB"), STATIC_BUFFERS, false, NULL},
	{"ssl_kernel_tls", 0, IGNORED(NULL), "kernel sockets are not used", false, NULL},
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

const struct option_row *
option_find(const struct option_row *rows, uint32_t count, const char *name, size_t len)
{
	for (uint32_t i = 0; i < count; i++)
		if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
			return &rows[i];
	return NULL;
}

const struct option_row *
option_by_name(const char *name, size_t len)
{
	return option_find(option_rows, option_row_count, name, len);
}

const struct option_row *
extended_by_name(const char *name, size_t len)
{
	return option_find(extended_rows, extended_row_count, name, len);
}

const struct option_row *
option_by_letter(char letter)
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
