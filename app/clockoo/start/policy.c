/*
 * policy.c - fills serve's policy and the rows of `stats settings` from the configuration.
 */
#include "policy.h"
#include "proto/mc_req.h"
#include "serve/serve_policy.h"

#include <string.h>
#include <unistd.h>

static_assert(CONFIG_NETS_MAX <= SERVE_NETWORKS_MAX, "serve takes whatever --udp-allow may name");

/* Sets the facts about this process that `stats` shows. */
static void
describe(struct serve_shared *shared, const struct users *users, const struct policy_facts *f)
{
	const struct config *c = f->config;
	const struct ip_addr ip = config_first_address(c);

	*ip_addr_text(f->inter, &ip) = '\0';
	struct serve_info info = {
		.pid = (uint32_t)getpid(),
		.earlier_s =
			(uint32_t)((f->process->begun_ns - f->process->start_ns) / 1000000000u),
		.conns_max = c->conns_max,
		.backlog = c->backlog,
		.tls = c->tls.on,
		.ssl = {.chain_cert = config_given(c->tls.chain_cert),
			.key = config_given(c->tls.key[0] != '\0' ? c->tls.key : c->tls.chain_cert),
			.ciphers = config_given(c->tls.ciphers),
			.ca_cert = config_given(c->tls.ca_cert),
			.keyformat = c->tls.keyformat,
			.verify_mode = c->tls.verify_mode,
			.min_version = c->tls.min_version},
		.value_max = f->sizes->store.value_max,
		.requests_max = c->conn_requests_max,
		.tcp_port = (uint16_t)c->tcp_port,
		.plain_port = (uint16_t)c->tls.plain_port,
		.udp_port = (uint16_t)c->udp_port,
		.ip = ip,
		.verbosity = c->verbosity,
		.memory = {.frames = f->sizes->pool_bytes,
			   .connections = sizes_connections(f->sizes, c),
			   .tables = sizes_tables(f->sizes, c),
			   .rings = nic_all_ring_bytes(f->nic, c),
			   .program = f->sizes->program_bytes},
		.restart = *f->restart,
		.no_evict = c->no_evict,
		.inter = f->inter,
		.steering = steer_mode(&f->nic->plan),
		.steer_rules = f->nic->device.rules.made,
		.steer_refused = f->nic->device.rules.refused,
		.auth_file = users->path[0] != '\0' ? users->path : NULL,
	};
	memcpy(info.more_ports, f->sizes->stack.tcp.more_ports, sizeof info.more_ports);
	serve_shared_set_info(shared, &info);
}

/* Returns the policy as far as the configuration has it. The caller adds users and networks. */
static struct serve_policy
policy_of(const struct config *c)
{
	static const uint8_t protocols[] = {
		[PROTOCOL_AUTO] = MC_PROTOCOL_UNKNOWN,
		[PROTOCOL_ASCII] = MC_PROTOCOL_TEXT,
		[PROTOCOL_BINARY] = MC_PROTOCOL_BINARY,
	};

	return (struct serve_policy){
		.protocol = protocols[c->protocol],
		.no_flush = c->no_flush,
		.no_dumps = c->no_dumps,
		.no_watch = c->no_watch,
		.shutdown = c->shutdown,
		.udp_admin = c->udp_admin,
		.detail = c->detail,
		.track_sizes = c->track_sizes,
		.prefix_delimiter = c->prefix_delimiter,
		.idle_timeout_s = c->idle_timeout_s,
		.udp_rate_limit = true,
		.udp_bytes_per_s = c->udp_budget,
		.network_count = c->udp_allow_count,
	};
}

void
policy_set(struct serve_shared *shared, struct users *users, const struct policy_facts *facts)
{
	const struct config *c = facts->config;
	struct serve_policy p = policy_of(c);

	p.auth = users->path[0] != '\0';
	for (uint32_t i = 0; i < c->udp_allow_count; i++)
		p.networks[i] =
			(struct serve_network){c->udp_allow[i].ip, c->udp_allow[i].prefix_len};
	describe(shared, users, facts);
	serve_shared_set_policy(shared, &p);
	users_apply(users, shared);
}

void
policy_change(struct serve_shared *shared, struct config *asked, struct config *config,
	      const struct config *now)
{
	struct config *const both[] = {asked, config};
	struct serve_policy p;

	/* Only the control thread reads these options now. */
	for (uint32_t i = 0; i < sizeof both / sizeof both[0]; i++) {
		both[i]->no_flush = now->no_flush;
		both[i]->no_dumps = now->no_dumps;
		both[i]->no_watch = now->no_watch;
		both[i]->shutdown = now->shutdown;
		both[i]->udp_admin = now->udp_admin;
		both[i]->idle_timeout_s = now->idle_timeout_s;
		both[i]->flash.admit = now->flash.admit;
		both[i]->flash.budget_mb = now->flash.budget_mb;
		memcpy(both[i]->allow, now->allow, sizeof now->allow);
		memcpy(both[i]->deny, now->deny, sizeof now->deny);
		memcpy(both[i]->addresses, now->addresses, sizeof now->addresses);
		memcpy(both[i]->routes, now->routes, sizeof now->routes);
	}
	p = policy_of(config);
	serve_policy_update_mt(shared, &p);
}

bool
policy_may_change(const char *option)
{
	static const char *const names[] = {
		"disable-flush-all", "disable-dumping", "disable-watch",
		"enable-shutdown",   "idle_timeout",    "flash-admit",
		"flash-budget",      "allow",           "deny",
		"udp-admin",         "addresses",       "routes",
	};

	for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(option, names[i]) == 0)
			return true;
	return false;
}
