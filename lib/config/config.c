/*
 * config.c - defaults, and the checks of several options together.
 */
#include "config.h"
#include "options.h"

#include <assert.h>
#include <string.h>

#define FLASH_ITEM_SIZE      256u
#define FLASH_ITEM_MAX_BYTES (1u << 20)
#define FLASH_DEADLINE_MS    100u
#define FLASH_LARGE          25u

static_assert(CONFIG_FLASH_PATH == CONFIG_PATH_BYTES && CONFIG_LOGIN_PATH == CONFIG_PATH_BYTES,
	      "paths are of one length");

void
config_defaults(struct config *cfg)
{
	memset(cfg, 0,
	       sizeof *cfg); /* padding included, since configurations are compared bytewise */
	cfg->memory_mb = 64;
	cfg->item_max_bytes = 1u << 20;
	cfg->tcp_port = 11211;
	cfg->conns_max = 1024;
	cfg->backlog = CONFIG_BACKLOG;
	cfg->tls.min_version = 2;
	cfg->tls.keyformat = 1;
	cfg->conn_requests_max = 20;
	cfg->udp_budget = 64u << 10;
	cfg->prefix_delimiter = ':';
	cfg->keep_for_s = KEEP_FOR_DEFAULT;
	cfg->save_compress = SAVE_COMPRESS_NO;
	cfg->mtu = 1500;
	cfg->drain_time_s = 30;
	cfg->keepalive_s = 7200; /* RFC 9293 section 3.8.4: two hours at least */
	cfg->ipv4 = 10u << 24 | 99u << 16 | 0u << 8 | 1u;
	cfg->prefix_len = 24;
	cfg->control_cpu = CONFIG_NO_CPU;
	cfg->offloads = CONFIG_PROFILE_OFFLOADS;
	cfg->front.hash = CONFIG_FRONT_FNV1A_64;
	cfg->front.server_connections = 1;
	cfg->front.timeout_ms = 1000;
	cfg->front.connect_timeout_ms = 500;
	cfg->front.server_failure_limit = 2;
	cfg->front.items = CONFIG_FRONT_ITEMS_BY_MODE;
	cfg->front.ttl_ms = 1000;
	cfg->front.server_retry_timeout_ms = 30000;
	cfg->front.gutter_ttl_ms = 10000;
	cfg->flash.item_size = FLASH_ITEM_SIZE;
	cfg->flash.large = FLASH_LARGE;
	cfg->flash.item_max_bytes = FLASH_ITEM_MAX_BYTES;
	cfg->flash.deadline_ms = FLASH_DEADLINE_MS;
	strcpy(cfg->port, "af_packet");
	strcpy(cfg->file_prefix, "clockoo");
}

bool
config_set(struct config *cfg, const char *name, const char *value, struct error *err)
{
	const struct option_row *row = option_by_name(name, strlen(name));

	if (row == NULL)
		row = extended_by_name(name, strlen(name));
	if (row == NULL)
		return error_set(err, "%s: unknown option", name);
	return option_set(cfg, row, value, err);
}

static bool
same_network(const struct config *cfg, uint32_t ip)
{
	const uint32_t mask = cfg->prefix_len == 0 ? 0 : UINT32_MAX << (32 - cfg->prefix_len);

	return ((ip ^ cfg->ipv4) & mask) == 0;
}

static bool
is_network_or_broadcast(const struct config *cfg, uint32_t ip)
{
	const struct ip_addr addr = ip_addr_v4(ip);

	return ip_addr_is_network_or_broadcast(&addr, IP_ADDR_V4_BITS + cfg->prefix_len);
}

/* Returns an address of the network inside the process. */
static struct ip_addr
user_address6(uint8_t last)
{
	return (struct ip_addr){{[0] = CONFIG_USER_PREFIX6, [IP_ADDR_BYTES - 1] = last}};
}

/* True if no rule depends on the address of a client. Over port user the clients of this host, and
 * those behind a container's port, all have one address: a list would admit all of them or none,
 * and a limit would apply to all together. */
static bool
user_sees_no_source(const struct config *cfg, struct error *err)
{
	const char *option = cfg->allow[0] != '\0'        ? "allow"
			     : cfg->deny[0] != '\0'       ? "deny"
			     : cfg->conns_per_source != 0 ? "conns-per-source"
							  : NULL;

	return option == NULL ||
	       error_set(err,
			 "--%s: over port user many clients have one address; leave it out, "
			 "and let the host's firewall decide",
			 option);
}

/* Fills in the addresses of port user, which only libslirp knows. Clients connect to the host's
 * sockets instead. */
static bool
finish_user(struct config *cfg, struct error *err)
{
	if (!config_is_user(cfg))
		return true;
	if (cfg->address_given || cfg->gateway != 0 || !ip_addr_is_zero(&cfg->ipv6) ||
	    !ip_addr_is_zero(&cfg->gateway6) || cfg->gateway6_auto || cfg->addresses[0] != '\0' ||
	    cfg->routes[0] != '\0')
		return error_set(err,
				 "--%s: port user serves on this host's own addresses; leave "
				 "it out, and name them with --listen",
				 cfg->address_given             ? "address"
				 : cfg->gateway != 0            ? "gateway"
				 : !ip_addr_is_zero(&cfg->ipv6) ? "address6"
				 : cfg->addresses[0] != '\0'    ? "addresses"
				 : cfg->routes[0] != '\0'       ? "routes"
								: "gateway6");
	if (cfg->vlan != 0)
		return error_set(err, "--vlan: port user has no wire to tag; leave it out");
	if (cfg->cores > CONFIG_USER_WORKERS)
		return error_set(err, "--threads: port user has at most %d workers; ask for fewer",
				 CONFIG_USER_WORKERS);
	if (!user_sees_no_source(cfg, err))
		return false;
	cfg->ipv4 = CONFIG_USER_ADDRESS;
	cfg->prefix_len = 24;
	cfg->gateway = CONFIG_USER_HOST;
	if (cfg->ipv6_use != IPV6_OFF) {
		cfg->ipv6 = user_address6(CONFIG_USER_ADDRESS6);
		cfg->prefix6_len = 64;
		cfg->gateway6 = user_address6(CONFIG_USER_HOST6);
	}
	cfg->probe = CONFIG_PROBE_OFF;
	cfg->no_huge |= cfg->hugepage == HUGEPAGE_ANY; /* no part of the machine must be set up */
	return true;
}

/* Settles the IPv4 address. If --address and -l are both given, they must be the same. -l alone is
 * the address, in a network of the default size. */
static bool
finish_address(struct config *cfg, struct error *err)
{
	if (cfg->listen != 0 && cfg->address_given && cfg->listen != cfg->ipv4)
		return error_set(err,
				 "--listen and --address name two addresses; give one of them");
	if (cfg->listen != 0)
		cfg->ipv4 = cfg->listen;
	if (cfg->ipv4 == 0 && cfg->gateway != 0)
		return error_set(err, "--gateway with --address none: leave one of them out");
	if (cfg->ipv4 == 0 && cfg->addresses[0] == '\0' && !config_has_ipv6(cfg))
		return error_set(err, "--address none: no address is left; give --address6, "
				      "--addresses or --ipv6 on");
	if (cfg->ipv4 != 0 && is_network_or_broadcast(cfg, cfg->ipv4))
		return error_set(err, "--address: that is the network or broadcast address; "
				      "give the address of one");
	if (cfg->gateway != 0 && cfg->gateway == cfg->ipv4)
		return error_set(err, "--gateway: that is our own address");
	if (cfg->gateway != 0 && !same_network(cfg, cfg->gateway))
		return error_set(err, "--gateway: not on the network of --address; give a router "
				      "that is, or a shorter prefix");
	if (cfg->gateway != 0 && is_network_or_broadcast(cfg, cfg->gateway))
		return error_set(err, "--gateway: that is the network or broadcast address; "
				      "give the address of one");
	if (!cfg->udp_allow_given && cfg->ipv4 != 0) {
		cfg->udp_allow[0] = (struct config_net){ip_addr_v4(cfg->ipv4),
							IP_ADDR_V4_BITS + cfg->prefix_len};
		cfg->udp_allow_count = 1;
	}
	return true;
}

static bool
finish_cores(struct config *cfg, struct error *err)
{
	if (cfg->lcores.count != 0 && cfg->cores != 0 && cfg->cores != cfg->lcores.count)
		return error_set(err, "-t says %u cores and --lcores %u; give one of them",
				 cfg->cores, cfg->lcores.count);
	if (cfg->lcores.count != 0)
		cfg->cores = cfg->lcores.count;
	if (cfg->cores == 0)
		cfg->cores = 1;
	if (cfg->queues == 0)
		cfg->queues = cfg->cores;
	if (cfg->queues > cfg->cores)
		return error_set(err,
				 "--queues: %u for %u cores: two queues on one core; a core polls "
				 "one, give at most %u",
				 cfg->queues, cfg->cores, cfg->cores);
	if (cfg->queues < cfg->cores && cfg->steering != STEERING_SOFTWARE)
		return error_set(err,
				 "--queues: %u for %u cores: each core needs one; give %u, "
				 "or --steering software",
				 cfg->queues, cfg->cores, cfg->cores);
	for (uint32_t i = 0; i < cfg->lcores.count; i++)
		if (cfg->lcores.at[i].cpu == cfg->control_cpu)
			return error_set(err, "--control-cpu: CPU %u is core %u's; give another",
					 cfg->control_cpu, cfg->lcores.at[i].id);
	if (lcores_share_cpus(&cfg->lcores))
		cfg->yield = true;
	return true;
}

static bool
finish_memory(const struct config *cfg, struct error *err)
{
	uint64_t sum = 0;

	if (cfg->item_max_bytes > ((uint64_t)cfg->memory_mb << 20) / 2)
		return error_set_code(err, ERROR_USAGE,
				      "--max-item-size: %u bytes; -m %u allows half of it at most",
				      cfg->item_max_bytes, cfg->memory_mb);
	if (cfg->memory_save[0] != '\0' && strcmp(cfg->memory_save, cfg->memory_file) == 0)
		return error_set(err, "--memory-save and --memory-file are the same file; "
				      "give one of them another path");
	if (cfg->no_huge && cfg->hugepage != HUGEPAGE_ANY)
		return error_set(err, "--hugepage-size with --no-huge: leave one of them out");
	for (uint32_t i = 0; i < cfg->node_count; i++)
		sum += cfg->node_mb[i];
	if (cfg->node_count != 0 && cfg->numa != CONFIG_NUMA_NIC)
		return error_set(err, "--numa with --node-memory: leave one of them out");
	if (cfg->memory_max_mb != 0 && cfg->memory_max_mb < cfg->memory_mb)
		return error_set(err, "--memory-max: %u MB, less than -m %u; give more, or none",
				 cfg->memory_max_mb, cfg->memory_mb);
	if (cfg->node_count != 0 && sum != config_reserved_mb(cfg))
		return error_set(
			err, "--node-memory: %llu MB on all nodes together; %s %u is configured",
			(unsigned long long)sum, cfg->memory_max_mb != 0 ? "--memory-max" : "-m",
			config_reserved_mb(cfg));
	return true;
}

static bool
finish_udp(const struct config *cfg, struct error *err)
{
	/* UDP cannot authenticate, since the source of a datagram proves nothing. */
	if (cfg->udp_port != 0 && (cfg->auth_file[0] != '\0' || cfg->sasl))
		return error_set_code(err, ERROR_USAGE,
				      "-U with -Y or -S: there is no authentication over UDP; "
				      "leave one of them out");
	if (cfg->udp_port_per_core && cfg->udp_port == 0)
		return error_set(err,
				 "--udp-port-per-core without -U: give the first port with -U");
	if (cfg->udp_port_per_core && cfg->udp_port + cfg->cores - 1 > UINT16_MAX)
		return error_set(err,
				 "--udp-port-per-core: -U %u and %u cores go beyond 65535; give a "
				 "lower first port",
				 cfg->udp_port, cfg->cores);
	return true;
}

/* True if the path is absolute, or not given. */
static bool
is_absolute(const char *option, const char *path, struct error *err)
{
	return path[0] == '\0' || path[0] == '/' ||
	       error_set(err, "%s: %s: expected an absolute path", option, path);
}

/* Checks the options of a front. Its copies belong to this process: while that is down, it does not
 * see what its clients write. */
static bool
finish_front(const struct config *cfg, struct error *err)
{
	if (!config_has_front(cfg))
		return true;
	if (cfg->front.gutter[0] != '\0' && !cfg->front.auto_eject_hosts)
		return error_set(err, "--front-gutter without --front-auto-eject-hosts: no server "
				      "leaves, so none stands in");
	if (cfg->steering == STEERING_FLOW_DIRECTOR)
		return error_set(err, "--steering: flow-director, with --front-servers: its rules "
				      "look at the sender's port, which is one for all servers; "
				      "use auto");
	if (cfg->memory_file[0] != '\0')
		return error_set(err, "--memory-file with --front-servers: copies of a fleet's "
				      "items may not outlive a restart; leave one of them out");
	if (cfg->memory_save[0] != '\0')
		return error_set(err, "--memory-save with --front-servers: copies of a fleet's "
				      "items may not outlive a restart; leave one of them out");
	if (!is_absolute("--front-login", cfg->front.login, err) ||
	    !is_absolute("--front-tls-ca", cfg->front.tls_ca, err) ||
	    !is_absolute("--front-tls-cert", cfg->front.tls_cert, err) ||
	    !is_absolute("--front-tls-key", cfg->front.tls_key, err))
		return false;
	if (cfg->front.tls_cert[0] != '\0' && cfg->front.tls_ca[0] == '\0')
		return error_set(err, "--front-tls-cert without --front-tls-ca: servers are spoken "
				      "to in the clear, and ask for no certificate");
	if (cfg->front.tls_key[0] != '\0' && cfg->front.tls_cert[0] == '\0')
		return error_set(err, "--front-tls-key without --front-tls-cert: give the "
				      "certificate that the key belongs to");
	if (cfg->front.tls_name[0] != '\0' && cfg->front.tls_ca[0] == '\0')
		return error_set(err, "--front-tls-name without --front-tls-ca: servers are spoken "
				      "to in the clear, and show no certificate");
	if (cfg->front.tls_name[0] == '.')
		return error_set(err,
				 "--front-tls-name: %s: any server below that name would do; "
				 "give a name without a dot in front",
				 cfg->front.tls_name);
	if (cfg->front.peers[0] != '\0' && (cfg->udp_port == 0 || cfg->protocol == PROTOCOL_BINARY))
		return error_set(err, "--front-peers: fronts tell each other by lines of text over "
				      "UDP; give a UDP port (-U), and not -B binary");
	return true;
}

/* True if no option of flash is set without a device, where it would have no effect. Default values
 * are accepted, since --print-config prints them. */
static bool
flash_is_unset(const struct config_flash *f, struct error *err)
{
	const char *option = f->size_mb != 0                             ? "size"
			     : f->state[0] != '\0'                       ? "state"
			     : f->budget_mb != 0                         ? "budget"
			     : f->admit != FLASH_ADMIT_ALL               ? "admit"
			     : f->layout != FLASH_LAYOUT_AUTO            ? "layout"
			     : f->io != FLASH_IO_AUTO                    ? "io"
			     : f->large != FLASH_LARGE                   ? "large"
			     : f->item_size != FLASH_ITEM_SIZE           ? "item-size"
			     : f->item_max_bytes != FLASH_ITEM_MAX_BYTES ? "item-max"
			     : f->deadline_ms != FLASH_DEADLINE_MS       ? "deadline"
			     : f->compress                               ? "compress"
									 : NULL;

	return option == NULL ||
	       error_set(err,
			 "--flash-%s without --flash-device: name the file or block device, or "
			 "leave it out",
			 option);
}

/* Checks the options of flash. A core has one backend, so flash and a front exclude each other.
 * Without evictions no item reaches flash. */
static bool
finish_flash(const struct config *cfg, struct error *err)
{
	if (cfg->flash.device[0] == '\0')
		return flash_is_unset(&cfg->flash, err);
	if (cfg->memory_file[0] != '\0' && strcmp(cfg->flash.state, cfg->memory_file) == 0)
		return error_set(err,
				 "--flash-state and --memory-file: %s: each needs a file of its "
				 "own; name another one, or leave --flash-state out",
				 cfg->memory_file);
	if (config_has_front(cfg))
		return error_set(err, "--flash-device with --front-servers: a front keeps no items "
				      "of its own; leave one of them out");
	if (cfg->no_evict)
		return error_set(err, "--flash-device with -M: flash has what memory evicts; leave "
				      "one of them out");
	if (cfg->flash.layout == FLASH_LAYOUT_HASH && cfg->flash.item_size > CONFIG_FLASH_HASHED)
		return error_set(err,
				 "--flash-layout hash: it is for items up to %u bytes, and "
				 "--flash-item-size is %u: leave one of them out",
				 CONFIG_FLASH_HASHED, cfg->flash.item_size);
	return true;
}

/* True if name is a valid file prefix. EAL creates a directory of that name in /run/dpdk, which
 * must be this instance's own. */
static bool
is_prefix(const char *name)
{
	return name[0] != '.' && name[0] != '-' &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				 "._-")] == '\0';
}

static bool
is_ours(const struct config *cfg, const struct ip_addr *ip)
{
	const struct ip_addr ip4 = ip_addr_v4(cfg->listen != 0 ? cfg->listen : cfg->ipv4);

	return ip_addr_equal(ip, &ip4) ||
	       (!ip_addr_is_zero(&cfg->ipv6) && ip_addr_equal(ip, &cfg->ipv6));
}

static bool
finish_tls(const struct config *cfg, struct error *err)
{
	if (!cfg->tls.on && cfg->tls.plain_port != 0)
		return error_set(err, "--tls-plain-port without --enable-ssl: all ports are in "
				      "the clear; leave it out, or give -Z");
	if (!cfg->tls.on)
		return true;
	if (cfg->tls.plain_port != 0 && config_listens(cfg, cfg->tls.plain_port))
		return error_set(err,
				 "--tls-plain-port %u: that is the port of TLS; give another, or "
				 "another -p",
				 cfg->tls.plain_port);
	if (cfg->tls.chain_cert[0] == '\0')
		return error_set(err, "--enable-ssl: give the certificate and its key: -o "
				      "ssl_chain_cert=FILE,ssl_key=FILE");
	if (cfg->tls.verify_mode == TLS_CERT_REQUIRED && cfg->tls.ca_cert[0] == '\0')
		return error_set(err,
				 "-o ssl_verify_mode=%u: give the certificates by which "
				 "clients' are verified: -o ssl_ca_cert=FILE",
				 cfg->tls.verify_mode);
	if (cfg->udp_port != 0)
		return error_set(err, "-U with --enable-ssl: over UDP all would go in the clear; "
				      "leave one of them out");
	return true;
}

/* Rules of the NIC name ports, and a rule for a port matches untagged frames only. */
static bool
finish_shared_nic(const struct config *cfg, struct error *err)
{
	if (cfg->vlan != 0 || strstr(cfg->addresses, "vlan") != NULL)
		return error_set(err, "--kernel nic: VLANs need a tap interface; name one");
	if (config_has_bond(cfg))
		return error_set(err, "--kernel nic: a bond needs a tap interface; name one");
	if (cfg->steering == STEERING_NONE || cfg->steering == STEERING_FLOW_DIRECTOR)
		return error_set(err, "--kernel nic: --steering: expected auto, rss or software");
	return true;
}

static bool
finish_kernel(const struct config *cfg, struct error *err)
{
	if (cfg->kernel[0] == '\0')
		return true;
	if (config_is_user(cfg))
		return error_set(err, "--kernel: port user has no NIC to share; leave it out");
	if (config_shares_nic(cfg))
		return finish_shared_nic(cfg, err);
	if (strcmp(cfg->kernel, cfg->iface) == 0)
		return error_set(err,
				 "--kernel and --iface: %s: that is the port itself; name the tap "
				 "interface",
				 cfg->kernel);
	if (cfg->kernel[strcspn(cfg->kernel, "/: \t")] != '\0')
		return error_set(err, "--kernel: \"%s\": expected the name of an interface",
				 cfg->kernel);
	return true;
}

static bool
finish_bond(const struct config *cfg, struct error *err)
{
	const char *first = cfg->pci[0] != '\0' ? cfg->pci : cfg->iface;

	if (!config_has_bond(cfg))
		return cfg->bond_member[0] == '\0' ||
		       error_set(err,
				 "--bond-member without --bond: give lacp or active-backup, or "
				 "leave it out");
	if (cfg->bond_member[0] == '\0')
		return error_set(err, "--bond: give the second NIC: --bond-member");
	if (cfg->pci[0] == '\0' && strcmp(cfg->port, "af_packet") != 0)
		return error_set(err,
				 "--bond: --port %s has no second member; give a NIC by its PCI "
				 "address, or af_packet with --iface",
				 cfg->port);
	if ((cfg->pci[0] != '\0') != option_is_pci_address(cfg->bond_member))
		return error_set(err, "--bond-member: \"%s\": expected %s", cfg->bond_member,
				 cfg->pci[0] != '\0' ? "a PCI address, as --port has"
						     : "an interface, as --iface names one");
	if (strcmp(cfg->bond_member, first) == 0)
		return error_set(err, "--bond-member: %s is the first member already; name another",
				 first);
	return true;
}

bool
config_finish(struct config *cfg, struct error *err)
{
	if (!is_prefix(cfg->file_prefix))
		return error_set(err,
				 "--file-prefix: \"%s\": expected a name of letters, digits and "
				 "'_', and after the first of them '.' and '-'",
				 cfg->file_prefix);
	if (!finish_listen(cfg, err) || !finish_user(cfg, err))
		return false;
	if (cfg->tcp_port == 0 && cfg->udp_port == 0)
		return error_set(err, "-p and -U are both 0: nothing to serve; set one of them");
	if (cfg->daemon && cfg->live)
		return error_set(err, "-d with --live: nobody would see the lines; leave one out");
	if (!config_http_is_path(&cfg->http) && cfg->http.text[0] != '\0' &&
	    cfg->kernel[0] == '\0' && is_ours(cfg, &cfg->http.ip))
		return error_set(err,
				 "--telemetry-http: %s: that is the cache's own address, which the "
				 "kernel does not have; give one of the kernel's, such as "
				 "127.0.0.1:9150",
				 cfg->http.text);
	if (!finish_kernel(cfg, err) || !finish_bond(cfg, err))
		return false;
	if (!finish_memory(cfg, err) || !finish_address(cfg, err) || !finish_address6(cfg, err))
		return false;
	if (cfg->vlan_priority != 0 && cfg->vlan == 0 && cfg->addresses[0] == '\0')
		return error_set(err, "--vlan-priority without --vlan: there is no tag to hold it");
	if (cfg->congestion == CONGESTION_DCTCP && cfg->ecn == CONFIG_ECN_OFF)
		return error_set(err, "--congestion dctcp needs ECN; leave --ecn off out");
	return finish_cores(cfg, err) && finish_udp(cfg, err) && finish_tls(cfg, err) &&
	       finish_front(cfg, err) && finish_flash(cfg, err);
}
