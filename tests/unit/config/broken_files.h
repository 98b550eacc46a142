/*
 * broken_files.h - configurations with one mistake each, and the line that each one causes.
 */
#ifndef CLOCKOO_BROKEN_FILES_H
#define CLOCKOO_BROKEN_FILES_H

static const struct {
	const char *text;
	const char *line;
} broken[] = {
	{"network: [1", "f.yaml:2: did not find expected ',' or ']' while parsing a flow sequence; "
			"expected \"key: value\" lines, indented by spaces"},
	{"network:\n  mtu: 1500\n mtu: 3",
	 "f.yaml:3: did not find expected key while parsing a block mapping; expected \"key: "
	 "value\" lines, indented by spaces"},
	{"network:\n\tmtu: 1500",
	 "f.yaml:2: found character that cannot start any token while scanning for the next token; "
	 "expected \"key: value\" lines, indented by spaces"},
	{"network: {mtu: 1500", "f.yaml:2: did not find expected ',' or '}' while parsing a flow "
				"mapping; expected \"key: value\" lines, indented by spaces"},
	{"\"network: x", "f.yaml:1: found unexpected end of stream while scanning a quoted scalar; "
			 "expected \"key: value\" lines, indented by spaces"},
	{"network: mtu: 1500", "f.yaml:1: mapping values are not allowed in this context; expected "
			       "\"key: value\" lines, indented by spaces"},
	{"just words", "f.yaml:1: expected \"key: value\" lines"},
	{"- network", "f.yaml:1: expected \"key: value\" lines"},
	{"--- \nnetwork:\n  mtu: 1500\n---\ncores:\n  count: 1\n",
	 "f.yaml:5: a second document (---); expected one"},
	{"network: &a\n  mtu: 1500\ncores: *a\n",
	 "f.yaml:3: cores: an alias (*); write the value again"},
	{"cores:\n  list: [&a 1,\n    *a]\n",
	 "f.yaml:2: cores.list: an alias (*); write the value again"},
	{"network: {&a mtu: *a}\n", "f.yaml:1: network.mtu: an alias (*); write the value again"},
	{"network:\n  mtu: !!int 1500\n", "f.yaml:2: network.mtu: a tag (!); leave it out"},
	{"network:\n  mtu: *nowhere\n",
	 "f.yaml:2: found undefined alias; expected \"key: value\" lines, indented by spaces"},
	{"? [a, b]\n: c\n", "f.yaml:1: a key that is no scalar"},
	{"network:\n  mtu: \"15\\000\"\n", "f.yaml:2: network.mtu: a NUL byte in the value"},
	{"a: {b: {c: {d: {e: {f: {g: {h: 1}}}}}}}\n",
	 "f.yaml:1: a: unknown section; there are: network, port, cores, memory, "
	 "steering, cache, front, flash, protocol, auth, tls, telemetry, process"},
	{"net\xff: 1\n",
	 "f.yaml: byte 3: invalid leading UTF-8 octet; expected a text file of UTF-8"},
	{"mtu: 1500\n", "f.yaml:1: mtu: unknown key; did you mean network.mtu?"},
	{"networks:\n  mtu: 1500\n", "f.yaml:1: networks: unknown key; did you mean network?"},
	{"network:\n  mtuu: 1500\n",
	 "f.yaml:2: network.mtuu: unknown key; did you mean network.mtu?"},
	{"network:\n  adress: 10.0.0.1/8\n",
	 "f.yaml:2: network.adress: unknown key; did you mean network.address?"},
	{"network:\n  threads: 4\n",
	 "f.yaml:2: network.threads: unknown key; did you mean cores.count?"},
	{"memory:\n  memory-limit: 64\n",
	 "f.yaml:2: memory.memory-limit: unknown key; did you mean memory.limit?"},
	{"memory:\n  limits: 64\n",
	 "f.yaml:2: memory.limits: unknown key; did you mean memory.limit?"},
	{"wibble:\n  wobble: 1\n",
	 "f.yaml:1: wibble: unknown section; there are: network, port, cores, memory, "
	 "steering, cache, front, flash, protocol, auth, tls, telemetry, process"},
	{"network:\n  wuzzle: 1\n",
	 "f.yaml:2: network.wuzzle: unknown key; in network are: listen, backlog, address, "
	 "addresses, routes, gateway, ipv6, address6, gateway6, probe, drain, drain_time, allow, "
	 "deny, vlan, vlan_priority, mtu, bond, bond_member, kernel"},
	{"protocol:\n  ssasl: yes\n",
	 "f.yaml:2: protocol.ssasl: unknown key; did you mean auth.sasl?"},
	{"port:\n  rxring: 96\n", "f.yaml:2: port.rxring: unknown key; did you mean port.rx_ring?"},
	{"port:\n  rx_ring:\n    size: 96\n",
	 "f.yaml:2: port.rx_ring: a mapping; expected one value (N)"},
	{"cores:\n  list:\n    - cpu: 1\n",
	 "f.yaml:3: cores.list[0]: a mapping; expected one value per item"},
	{"network: 5\n", "f.yaml:1: network: a section; expected keys below it, indented"},
	{"network: [mtu, 1500]\n",
	 "f.yaml:1: network: a section; expected keys below it, indented"},
	{"network:\n  mtu: [1500]\n", "f.yaml:2: network.mtu: a list; expected one value (BYTES)"},
	{"network:\n  mtu:\n", "f.yaml:2: network.mtu: no value; give one, or leave the line out"},
	{"network:\n  mtu: many\n",
	 "f.yaml:2: network.mtu: \"many\": expected a number from 576 to 9000"},
	{"network:\n  mtu: -1500\n",
	 "f.yaml:2: network.mtu: \"-1500\": expected a number from 576 to 9000"},
	{"network:\n  mtu: 1500.0\n",
	 "f.yaml:2: network.mtu: \"1500.0\": expected a number from 576 to 9000"},
	{"network:\n  mtu: 0x5dc\n",
	 "f.yaml:2: network.mtu: \"0x5dc\": expected a number from 576 to 9000"},
	{"cache:\n  disable_evictions: maybe\n",
	 "f.yaml:2: cache.disable_evictions: \"maybe\": expected yes or no"},
	{"cache:\n  disable_evictions: 1\n",
	 "f.yaml:2: cache.disable_evictions: \"1\": expected yes or no"},
	{"cache:\n  max_item_size: 1g\n",
	 "f.yaml:2: cache.max_item_size: \"1g\": expected 1k to 128m, in bytes or with a k or m"},
	{"process:\n  file_prefix: \"\"\n",
	 "f.yaml:2: process.file_prefix: expected 1 to 31 characters, not 0"},
	{"protocol:\n  commands: meta\n",
	 "f.yaml:2: protocol.commands: \"meta\": expected auto, ascii or binary"},
	{"protocol:\n  congestion: reno\n",
	 "f.yaml:2: protocol.congestion: \"reno\": expected cubic, newreno or dctcp"},
	{"protocol:\n  ecn: yes\n", "f.yaml:2: protocol.ecn: \"yes\": expected passive, on or off"},
	{"steering:\n  mode: magic\n",
	 "f.yaml:2: steering.mode: \"magic\": expected auto, flow-director, rss, software or none"},
	{"cores:\n  hyperthreads: both\n",
	 "f.yaml:2: cores.hyperthreads: \"both\": expected idle or workers"},
	{"memory:\n  hugepage_size: 4k\n",
	 "f.yaml:2: memory.hugepage_size: \"4k\": expected any, 2m or 1g"},
	{"protocol:\n  udp_allow: [10.0.0.0/8,\n    10.0.0.0/33]\n",
	 "f.yaml:3: protocol.udp_allow: \"10.0.0.0/8,10.0.0.0/33\": expected networks such as "
	 "10.0.0.0/8,2001:db8::/32, or none"},
	{"network:\n  ipv6: off\n  address6: 2001:db8::1/64\n",
	 "f.yaml:2: network.ipv6 off with network.address6: leave one of them out"},
	{"network:\n  probe: rfc\n",
	 "f.yaml:2: network.probe: \"rfc\": expected auto, short, long or off"},
	{"network:\n  ipv6: maybe\n",
	 "f.yaml:2: network.ipv6: \"maybe\": expected auto, on or off"},
	{"network:\n  mtu: 1500\n  allow: []\n",
	 "f.yaml:3: network.allow: no network; leave it out to let everybody in"},
	{"network:\n  allow: none\n",
	 "f.yaml:2: network.allow: no network; leave it out to let everybody in"},
	{"network:\n  allow: [10.0.0.0/8,\n    10.0.0.0/33]\n",
	 "f.yaml:3: network.allow: \"10.0.0.0/33\": expected a network such as 10.0.0.0/8 or "
	 "2001:db8::/32"},
	{"network:\n  addresses: [192.0.2.5,\n    192.0.2.300]\n",
	 "f.yaml:3: network.addresses: \"192.0.2.300\": expected an address such as 192.0.2.5/24 "
	 "or "
	 "2001:db8::5, perhaps with \"vlan ID\" behind it"},
	{"network:\n  addresses: [192.0.2.5/24 vlan 4095]\n",
	 "f.yaml:2: network.addresses: \"192.0.2.5/24 vlan 4095\": expected a VLAN of 1 to 4094"},
	{"network:\n  routes: [10.0.0.1/8 via 192.0.2.1]\n",
	 "f.yaml:2: network.routes: \"10.0.0.1/8\": bits behind the prefix are set; did you mean "
	 "10.0.0.0/8?"},
	{"network:\n  drain: slow\n",
	 "f.yaml:2: network.drain: \"slow\": expected reset, silent, close or anycast"},
	{"network:\n  deny: [10.0.0.1/8]\n", "f.yaml:2: network.deny: \"10.0.0.1/8\": bits behind "
					     "the prefix are set; did you mean 10.0.0.0/8?"},
	{"network:\n  deny: [\"2001:db8::1/64\"]\n",
	 "f.yaml:2: network.deny: \"2001:db8::1/64\": bits behind the prefix are set; did you mean "
	 "2001:db8::/64?"},
	{"network:\n  deny: [10.0.0.0/8, /etc/x]\n",
	 "f.yaml:2: network.deny: \"/etc/x\": expected a network such as 10.0.0.0/8 or "
	 "2001:db8::/32"},
	{"network:\n  deny: host.example\n",
	 "f.yaml:2: network.deny: \"host.example\": expected a network such as 10.0.0.0/8 or "
	 "2001:db8::/32"},
	{"protocol:\n  udp_allow: [\"10.0.0.0/8,1.2.3.4\"]\n",
	 "f.yaml:2: protocol.udp_allow: \"10.0.0.0/8,1.2.3.4\": expected one value per item"},
	{"memory:\n  nodes: [1, two]\n", "f.yaml:2: memory.nodes: \"1,two\": expected MB of each "
					 "NUMA node, such as 1024,1024, each at most 1048576"},
	{"memory:\n  nodes: []\n",
	 "f.yaml:2: memory.nodes: an empty list; give a value, or leave the line out"},
	{"telemetry:\n  stat_key_prefix: ab\n",
	 "f.yaml:2: telemetry.stat_key_prefix: \"ab\": expected one character"},
	{"network:\n  mtu: 9001\n",
	 "f.yaml:2: network.mtu: \"9001\": expected a number from 576 to 9000"},
	{"network:\n  vlan: 4095\n",
	 "f.yaml:2: network.vlan: \"4095\": expected a number from 1 to 4094"},
	{"memory:\n  limit: 0\n",
	 "f.yaml:2: memory.limit: \"0\": expected a number from 1 to 1048576, in megabytes"},
	{"protocol:\n  tcp_port: 65536\n",
	 "f.yaml:2: protocol.tcp_port: \"65536\": expected a number from 0 to 65535"},
	{"cores:\n  count: 0\n", "f.yaml:2: cores.count: \"0\": expected a number from 1 to 64"},
	{"cores:\n  count: 65\n", "f.yaml:2: cores.count: \"65\": expected a number from 1 to 64"},
	{"port:\n  rx_ring: 32\n",
	 "f.yaml:2: port.rx_ring: \"32\": expected a number from 64 to 32768"},
	{"port:\n  burst: 65\n", "f.yaml:2: port.burst: \"65\": expected a number from 1 to 64"},
	{"port:\n  iface: a_name_too_long_for_linux\n",
	 "f.yaml:2: port.iface: expected 0 to 15 characters, not 25"},
	{"network:\n  mtu: 1500\n  vlan: 3\n  mtu: 9000\n",
	 "f.yaml:4: network.mtu: duplicate key, also on line 2; give it once"},
	{"network:\n  mtu: 1500\ncores:\n  count: 1\nnetwork:\n  vlan: 7\n",
	 "f.yaml:5: network: duplicate key, also on line 1; give it once"},
	{"network:\n  address: 10.0.0.1\n", "f.yaml:2: network.address: \"10.0.0.1\": expected an "
					    "IPv4 address and prefix length such as 10.99.0.1/24"},
	{"network:\n  address: 10.0.0.0/8\n",
	 "f.yaml:2: network.address: that is the network or broadcast address; give the "
	 "address of one"},
	{"network:\n  address: 127.0.0.1/8\n",
	 "f.yaml:2: network.address: \"127.0.0.1/8\": expected a unicast address, not a "
	 "multicast, loopback or unspecified one"},
	{"network:\n  address: 10.0.0.1/8\n  gateway: 11.0.0.1\n",
	 "f.yaml:3: network.gateway: not on the network of network.address; give a router that is, "
	 "or a shorter prefix"},
	{"network:\n  gateway: 10.99.0.1\n", "f.yaml:2: network.gateway: that is our own address"},
	{"network:\n  gateway: 10.99.0.255\n", "f.yaml:2: network.gateway: that is the network "
					       "or broadcast address; give the address "
					       "of one"},
	{"network:\n  address: 10.0.0.1/8\n  gateway: 10.0.0.0\n",
	 "f.yaml:3: network.gateway: that is the network or broadcast address; give the "
	 "address "
	 "of one"},
	{"port:\n  offloads: [rx_cksum,\n    tx_chksum]\n",
	 "f.yaml:3: port.offloads: \"tx_chksum\": expected none, or some of rx_cksum, tx_ip_cksum, "
	 "tx_udp_cksum, tx_tcp_cksum, tx_fast_free, tx_loans"},
	{"port:\n  offloads: \"rx_cksum,\"\n",
	 "f.yaml:2: port.offloads: \"\": expected none, or some of rx_cksum, tx_ip_cksum, "
	 "tx_udp_cksum, tx_tcp_cksum, tx_fast_free, tx_loans"},
	{"process:\n  file_prefix: ../x\n",
	 "f.yaml:2: process.file_prefix: \"../x\": expected a name of letters, digits and '_', and "
	 "after the first of them '.' and '-'"},
	{"process:\n  file_prefix: a/../b\n", "f.yaml:2: process.file_prefix: \"a/../b\": expected "
					      "a name of letters, digits and '_', and "
					      "after the first of them '.' and '-'"},
	{"network:\n  address: 010.0.0.1/24\n",
	 "f.yaml:2: network.address: \"010.0.0.1/24\": expected an IPv4 address and prefix length "
	 "such as 10.99.0.1/24"},
	{"telemetry:\n  verbose: [1]\n",
	 "f.yaml:2: telemetry.verbose: a list; expected one value (a number)"},
	{"telemetry:\n  verbose: {all: 1}\n",
	 "f.yaml:2: telemetry.verbose: a mapping; expected one value (a number)"},
	{"telemetry:\n  http: 9150\n",
	 "f.yaml:2: telemetry.http: \"9150\": expected IP:PORT such as 127.0.0.1:9150 or "
	 "[::1]:9150, the path of a Unix socket, or none"},
	{"telemetry:\n  live: [yes]\n",
	 "f.yaml:2: telemetry.live: a list; expected one value (yes or no)"},
	{"network:\n  address6: fe80::1/64\n",
	 "f.yaml:2: network.address6: \"fe80::1/64\": the link-local address (fe80::) is derived "
	 "from the MAC; give one of another network"},
	{"network:\n  address6: 2001:db8::1/64\n  mtu: 1000\n",
	 "f.yaml:2: network.address6: IPv6 needs network.mtu 1280 at least (RFC 8200)"},
	{"network:\n  gateway6: 2001:db8::1\n",
	 "f.yaml:2: network.gateway6: not on the network of network.address6; give a router that "
	 "is, or its link-local address (fe80::)"},
	{"port:\n  nic: 11211\n",
	 "f.yaml:2: port.nic: \"11211\" is a number; port.nic names a NIC (a profile or a PCI "
	 "address), the TCP port is protocol.tcp_port 11211"},
	{"port:\n  nic: ../x\n",
	 "f.yaml:2: port.nic: \"../x\": expected a profile of drivers-config such as af_packet, or "
	 "a PCI address such as 0000:03:00.0"},
	{"port:\n  profile: ../x\n",
	 "f.yaml:2: port.profile: \"../x\": expected a profile of drivers-config such as ixgbe"},
	{"cores:\n  list: [1, [2]]\n",
	 "f.yaml:2: cores.list: a list within a list; expected values"},
	{"cores:\n  count: 2\nport:\n  queues: 1\n",
	 "f.yaml:4: port.queues: 1 for 2 cores: each core needs one; give 2, or "
	 "steering.mode software"},
	{"cores:\n  list: [0@0, 1@0]\n",
	 "f.yaml:2: cores.list: a CPU is listed twice; give each worker "
	 "a CPU of its own, or say cores.share yes"},
	{"cores:\n  list: [1, 1]\n",
	 "f.yaml:2: cores.list: \"1,1\": core 1 is listed twice; each core ID may appear once"},
	{"cores:\n  list: [1,\n   2,\n   2-4]\n",
	 "f.yaml:4: cores.list: \"1,2,2-4\": core 2 is listed twice; each core ID may appear once"},
	{"cores:\n  list: [1, 200]\n", "f.yaml:2: cores.list: \"1,200\": expected core@CPU pairs "
				       "such as 0@0,1@1, or CPUs such as 2-5,8, numbers below 128"},
	{"cores:\n  list: [4-2]\n", "f.yaml:2: cores.list: \"4-2\": expected core@CPU pairs such "
				    "as 0@0,1@1, or CPUs such as 2-5,8, numbers below 128"},
	{"cores:\n  list: [1, 2]\n  count: 3\n",
	 "f.yaml:3: cores.count says 3 cores and cores.list 2; give one of them"},
	{"cores:\n  list: [1, 2]\n  control_cpu: 2\n",
	 "f.yaml:3: cores.control_cpu: CPU 2 is core 2's; give another"},
	{"cores:\n  count: 2\nport:\n  queues: 3\n",
	 "f.yaml:4: port.queues: 3 for 2 cores: two queues on one core; a core polls one, give at "
	 "most 2"},
	{"protocol:\n  tcp_port: 0\n", "f.yaml:2: protocol.tcp_port and protocol.udp_port are both "
				       "0: nothing to serve; set one of them"},
	{"cache:\n  max_item_size: 64m\nmemory:\n  limit: 100\n",
	 "f.yaml:2: cache.max_item_size: 67108864 bytes; memory.limit 100 allows half of it at "
	 "most"},
	{"protocol:\n  udp_port: 11211\nauth:\n  file: users\n",
	 "f.yaml:2: protocol.udp_port with auth.file or auth.sasl: there is no authentication over "
	 "UDP; leave one of them out"},
	{"network:\n  kernel: a/b\n",
	 "f.yaml:2: network.kernel: \"a/b\": expected the name of an interface"},
	{"network:\n  kernel: v0\nport:\n  iface: v0\n",
	 "f.yaml:2: network.kernel and port.iface: v0: that is the port itself; name the tap "
	 "interface"},
	{"network:\n  kernel: clockoo0\nport:\n  nic: user\n",
	 "f.yaml:2: network.kernel: port user has no NIC to share; leave it out"},
	{"network:\n  bond: trunk\n",
	 "f.yaml:2: network.bond: \"trunk\": expected none, lacp, lacp-slow or active-backup"},
	{"network:\n  bond: lacp\nport:\n  iface: v0\n",
	 "f.yaml:2: network.bond: give the second NIC: network.bond_member"},
	{"network:\n  bond_member: v1\n",
	 "f.yaml:2: network.bond_member without network.bond: give lacp or active-backup, or leave "
	 "it out"},
	{"network:\n  bond: lacp\n  bond_member: v1\nport:\n  nic: tap\n",
	 "f.yaml:2: network.bond: port.nic tap has no second member; give a NIC by its PCI "
	 "address, or af_packet with port.iface"},
	{"network:\n  bond: lacp\n  bond_member: v1\nport:\n  nic: 0000:03:00.0\n",
	 "f.yaml:3: network.bond_member: \"v1\": expected a PCI address, as port.nic has"},
	{"network:\n  bond: lacp\n  bond_member: 0000:03:00.1\nport:\n  iface: v0\n",
	 "f.yaml:3: network.bond_member: \"0000:03:00.1\": expected an interface, as port.iface "
	 "names one"},
	{"network:\n  bond: lacp\n  bond_member: v0\nport:\n  iface: v0\n",
	 "f.yaml:3: network.bond_member: v0 is the first member already; name another"},
	{"network:\n  vlan_priority: 3\n",
	 "f.yaml:2: network.vlan_priority without network.vlan: there is no tag to hold it"},
	{"process:\n  daemon: yes\ntelemetry:\n  live: yes\n",
	 "f.yaml:2: process.daemon with telemetry.live: nobody would see the lines; leave one out"},
	{"memory:\n  limit: 1024\n  nodes: [512, 256]\n",
	 "f.yaml:3: memory.nodes: 768 MB on all nodes together; memory.limit 1024 is configured"},
	{"memory:\n  no_huge: yes\n  hugepage_size: 2m\n",
	 "f.yaml:3: memory.hugepage_size with memory.no_huge: leave one of them out"},
	{"steering:\n  udp_port_per_core: yes\n",
	 "f.yaml:2: steering.udp_port_per_core without protocol.udp_port: give the first port with "
	 "protocol.udp_port"},
	{"steering:\n  udp_port_per_core: yes\nprotocol:\n  udp_port: 65535\ncores:\n  count: 2\n",
	 "f.yaml:2: steering.udp_port_per_core: protocol.udp_port 65535 and 2 cores go beyond "
	 "65535; give a lower first port"},
	{"front:\n  servers: []\n",
	 "f.yaml:2: front.servers: an empty list; give a value, or leave the line out"},
	{"front:\n  servers: [a:1:1, \"b:1:1,c:1:1\"]\n",
	 "f.yaml:2: front.servers: \"b:1:1,c:1:1\": expected one value per item"},
	{"front:\n  servers: [/etc/a, /etc/b]\n", "f.yaml:2: front.servers: expected a list of "
						  "servers, or the path of one file that has them"},
	{"front:\n  servers:\n    - a:1:1\n    - \"b\\x01\"\n",
	 "f.yaml:4: front.servers: a control character in \"a:1:1,b?\""},
	{"front:\n  servers: {host: a}\n",
	 "f.yaml:2: front.servers: a mapping; expected one value (LIST)"},
	{"front:\n  servers:\n    - host: a\n",
	 "f.yaml:3: front.servers[0]: a mapping; expected one value per item"},
	{"front:\n  hash: sha1\n",
	 "f.yaml:2: front.hash: \"sha1\": expected one_at_a_time, md5, crc16, crc32, crc32a, "
	 "fnv1_64, fnv1a_64, fnv1_32, fnv1a_32, hsieh, murmur or jenkins"},
	{"front:\n  distribution: random\n",
	 "f.yaml:2: front.distribution: \"random\": expected ketama, consistent, modula or jump"},
	{"front:\n  order: any\n", "f.yaml:2: front.order: \"any\": expected sorted or given"},
	{"front:\n  hash_tag: \"{\"\n",
	 "f.yaml:2: front.hash_tag: expected 2 to 2 characters, not 1"},
	{"front:\n  protocol: binary\n",
	 "f.yaml:2: front.protocol: \"binary\": expected auto, text or meta"},
	{"front:\n  on_failure: hit\n",
	 "f.yaml:2: front.on_failure: \"hit\": expected miss or error"},
	{"front:\n  timeout: 400\n", "f.yaml:2: front.timeout: \"400\": expected a time from 1ms "
				     "to 60s, with ms, s, m or h behind it"},
	{"front:\n  timeout: 0ms\n", "f.yaml:2: front.timeout: \"0ms\": expected a time from 1ms "
				     "to 60s, with ms, s, m or h behind it"},
	{"front:\n  timeout: 61s\n", "f.yaml:2: front.timeout: \"61s\": expected a time from 1ms "
				     "to 60s, with ms, s, m or h behind it"},
	{"front:\n  timeout: 4294967297ms\n",
	 "f.yaml:2: front.timeout: \"4294967297ms\": expected "
	 "a time from 1ms to 60s, with ms, s, m or h behind it"},
	{"front:\n  timeout: 1 s\n", "f.yaml:2: front.timeout: \"1 s\": expected a time from 1ms "
				     "to 60s, with ms, s, m or h behind it"},
	{"front:\n  server_retry_timeout: 99ms\n",
	 "f.yaml:2: front.server_retry_timeout: \"99ms\": expected a time from 100ms to 3600s, "
	 "with ms, s, m or h behind it"},
	{"front:\n  warm: 1d\n",
	 "f.yaml:2: front.warm: \"1d\": expected a time from 0ms to 86400s, with ms, s, m or h "
	 "behind it"},
	{"front:\n  warm: 60\n",
	 "f.yaml:2: front.warm: \"60\": expected a time from 0ms to 86400s, with ms, s, m or h "
	 "behind it"},
	{"front:\n  warm: 0x\n",
	 "f.yaml:2: front.warm: \"0x\": expected a time from 0ms to 86400s, with ms, s, m or h "
	 "behind it"},
	{"front:\n  warm: 25h\n",
	 "f.yaml:2: front.warm: \"25h\": expected a time from 0ms to 86400s, with ms, s, m or h "
	 "behind it"},
	{"front:\n  server_connections: 17\n",
	 "f.yaml:2: front.server_connections: \"17\": expected a number from 1 to 16"},
	{"front:\n  items: 65537\n",
	 "f.yaml:2: front.items: \"65537\": expected auto, memory, or a number from 0 to 65536"},
	{"front:\n  items: all\n",
	 "f.yaml:2: front.items: \"all\": expected auto, memory, or a number from 0 to 65536"},
	{"front:\n  ttl: 15ms\n", "f.yaml:2: front.ttl: \"15ms\": expected a time from 16ms to "
				  "3600s, with ms, s, m or h behind it"},
	{"front:\n  preconnect: true\n",
	 "f.yaml:2: front.preconnect: unknown key; in front are: servers, hash, distribution, "
	 "order, hash_tag, hash_skip, protocol, server_connections, timeout, connect_timeout, "
	 "server_failure_limit, server_retry_timeout, on_failure, mode, items, ttl, "
	 "auto_eject_hosts, "
	 "gutter, gutter_ttl, reload, warm, peers, login, tls_ca, tls_name"},
	{"front:\n  servers: a:1:1\nsteering:\n  mode: flow-director\n",
	 "f.yaml:4: steering.mode: flow-director, with front.servers: its rules look at the "
	 "sender's port, which is one for all servers; use auto"},
	{"front:\n  servers: a:1:1\nmemory:\n  file: /dev/shm/x\n",
	 "f.yaml:4: memory.file with front.servers: copies of a fleet's items may not outlive a "
	 "restart; leave one of them out"},
	{"flash:\n  device: /f\nfront:\n  servers: a:1:1\n",
	 "f.yaml:2: flash.device with front.servers: a front keeps no items of its own; leave one "
	 "of them out"},
	{"flash:\n  device: /f\n  size: 100m\n",
	 "f.yaml:3: flash.size: \"100m\": expected 256m to 2t, in megabytes or with m, g or t"},
	{"flash:\n  deadline: 2s\n", "f.yaml:2: flash.deadline: \"2s\": expected a time from 1ms "
				     "to 1s, with ms, s, m or h behind it"},
	{"flash:\n  size: 1g\n", "f.yaml:2: flash.size without flash.device: name the file or "
				 "block device, or leave it out"},
	{"flash:\n  device: /f\ncache:\n  disable_evictions: yes\n",
	 "f.yaml:2: flash.device with cache.disable_evictions: flash has what memory evicts; leave "
	 "one of them out"},
	{"front:\n  servers: a:1:1\nmemory:\n  save: /var/x\n",
	 "f.yaml:4: memory.save with front.servers: copies of a fleet's items may not outlive a "
	 "restart; leave one of them out"},
};

#endif
