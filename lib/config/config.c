#include "config.h"
#include "options.h"

#include <string.h>

static const struct option_row *
row_lettered(char letter)
{
	for (uint32_t i = 0; i < option_row_count; i++)
		if (letter != 0 && option_rows[i].letter == letter)
			return &option_rows[i];
	return NULL;
}

void
config_defaults(struct config *cfg)
{
	*cfg = (struct config){
		.memory_mb = 64,
		.item_max_bytes = 1u << 20,
		.tcp_port = 11211,
		.conns_max = 1024,
		.conn_requests_max = 20,
		.udp_budget = 64u << 10,
		.prefix_delimiter = ':',
		.mtu = 1500,
		.ipv4 = 10u << 24 | 99u << 16 | 0u << 8 | 1u,
		.prefix_len = 24,
		.port = "af_packet",
		.file_prefix = "clockoo",
	};
}

bool
config_set(struct config *cfg, const char *name, const char *value, struct fault *f)
{
	const struct option_row *row = option_named(name, strlen(name));

	if (row == NULL)
		row = extended_named(name, strlen(name));
	if (row == NULL)
		return fault_say(f, "%s: there is no such option", name);
	return option_store(cfg, row, value, f);
}

static bool
same_network(const struct config *cfg, uint32_t ip)
{
	const uint32_t mask = cfg->prefix_len == 0 ? 0 : UINT32_MAX << (32 - cfg->prefix_len);

	return ((ip ^ cfg->ipv4) & mask) == 0;
}

/* RFC 1122, 3.2.1.3: a host part of zeros or ones is no host's; RFC 3021 but for links of two. */
static bool
names_all_of_network(const struct config *cfg)
{
	const uint32_t hosts =
		cfg->prefix_len == 0 ? UINT32_MAX : (1u << (32 - cfg->prefix_len)) - 1;
	const uint32_t host = cfg->ipv4 & hosts;

	return cfg->prefix_len < 31 && (host == 0 || host == hosts);
}

/* -l beside --address: they must agree. Alone it is the address, in a network of the default size.
 */
static bool
settle_address(struct config *cfg, struct fault *f)
{
	if (cfg->listen != 0 && cfg->address_said && cfg->listen != cfg->ipv4)
		return fault_say(f, "--listen and --address name two addresses; give one of them");
	if (cfg->listen != 0)
		cfg->ipv4 = cfg->listen;
	if (names_all_of_network(cfg))
		return fault_say(f, "--address: that is the network itself or all of its hosts; "
				    "give the address of one");
	if (cfg->gateway == cfg->ipv4)
		return fault_say(f, "--gateway: that is our own address");
	if (cfg->gateway != 0 && !same_network(cfg, cfg->gateway))
		return fault_say(f, "--gateway: not on the network of --address; give a router "
				    "that is, or a shorter prefix");
	if (!cfg->udp_allow_said) {
		cfg->udp_allow[0] = (struct config_net){ip_addr_v4(cfg->ipv4),
							IP_ADDR_V4_BITS + cfg->prefix_len};
		cfg->udp_allow_count = 1;
	}
	return true;
}

bool
config_finish(struct config *cfg, struct fault *f)
{
	if (cfg->tcp_port == 0 && cfg->udp_port == 0)
		return fault_say(f, "-p and -U are both 0: nothing to serve; set one of them");
	if (cfg->item_max_bytes > ((uint64_t)cfg->memory_mb << 20) / 2)
		return fault_say_as(f, FAULT_USAGE,
				    "--max-item-size: %u bytes; -m %u allows half of it at most",
				    cfg->item_max_bytes, cfg->memory_mb);
	/* A datagram proves nothing about who sent it, so it could not be let in. */
	if (cfg->udp_port != 0 && (cfg->auth_file[0] != '\0' || cfg->sasl))
		return fault_say_as(f, FAULT_USAGE,
				    "-U with -Y or -S: there is no authentication over UDP; "
				    "leave one of them out");
	if (cfg->daemon && cfg->live)
		return fault_say(f, "-d with --live: nobody would see the lines; leave one out");
	if (!settle_address(cfg, f) || !settle_address6(cfg, f))
		return false;
	if (cfg->vlan_priority != 0 && cfg->vlan == 0)
		return fault_say(f, "--vlan-priority without --vlan: there is no tag to hold it");
	if (cfg->lcores.count != 0 && cfg->cores != 0 && cfg->cores != cfg->lcores.count)
		return fault_say(f, "-t says %u cores and --lcores %u; give one of them",
				 cfg->cores, cfg->lcores.count);
	if (cfg->lcores.count != 0)
		cfg->cores = cfg->lcores.count;
	if (cfg->cores == 0)
		cfg->cores = 1;
	if (lcores_share(&cfg->lcores))
		cfg->yield = true;
	return true;
}

/* Where the command line is read: the rest of the word, then the next word. */
struct cursor {
	int argc;
	char *const *argv;
	int at;
};

static enum config_verdict
apply(struct config *cfg, const struct option_row *row, const char *value, struct fault *f)
{
	uint32_t *count = (uint32_t *)(void *)((char *)cfg + row->at);

	if (row->kind == OPTION_HELP)
		return CONFIG_HELP;
	if (row->kind == OPTION_VERSION)
		return CONFIG_VERSION;
	if (row->kind == OPTION_LICENSE)
		return CONFIG_LICENSE;
	if (row->kind == OPTION_COUNT) {
		*count += *count < row->max;
		return CONFIG_RUN;
	}
	if (row->kind == OPTION_FLAG)
		value = "yes";
	return option_store(cfg, row, value, f) ? CONFIG_RUN : CONFIG_WRONG;
}

/* The word after the option is its value. */
static const char *
next_word(struct cursor *c, const struct option_row *row, struct fault *f)
{
	if (c->at + 1 >= c->argc) {
		fault_say(f, "--%s: expected a value (%s) after it", row->name, row->arg);
		return NULL;
	}
	return c->argv[++c->at];
}

static enum config_verdict
take_long(struct config *cfg, struct cursor *c, struct fault *f)
{
	const char *name = c->argv[c->at] + 2;
	const char *equals = strchr(name, '=');
	const size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row = option_named(name, len);
	const char *value = equals != NULL ? equals + 1 : NULL;

	if (row == NULL) {
		fault_say(f, "--%.*s: there is no such option; --help lists all", (int)len, name);
		return CONFIG_WRONG;
	}
	if (row->arg == NULL && value != NULL) {
		fault_say(f, "--%s: takes no value", row->name);
		return CONFIG_WRONG;
	}
	if (row->arg != NULL && value == NULL && (value = next_word(c, row, f)) == NULL)
		return CONFIG_WRONG;
	return apply(cfg, row, value, f);
}

/* -m64, -m 64, -vv */
static enum config_verdict
take_letters(struct config *cfg, struct cursor *c, struct fault *f)
{
	for (const char *p = c->argv[c->at] + 1; *p != '\0'; p++) {
		const struct option_row *row = row_lettered(*p);
		enum config_verdict verdict;
		const char *value = NULL;

		if (row == NULL) {
			fault_say(f, "-%c: there is no such option; --help lists all", *p);
			return CONFIG_WRONG;
		}
		if (row->arg != NULL) {
			value = p[1] != '\0' ? p + 1 : next_word(c, row, f);
			if (value == NULL)
				return CONFIG_WRONG;
		}
		verdict = apply(cfg, row, value, f);
		if (verdict != CONFIG_RUN || row->arg != NULL)
			return verdict;
	}
	return CONFIG_RUN;
}

enum config_verdict
config_parse(struct config *cfg, int argc, char *const *argv, struct fault *f)
{
	struct cursor c = {argc, argv, 1};

	config_defaults(cfg);
	for (; c.at < argc; c.at++) {
		const char *word = argv[c.at];
		enum config_verdict verdict;

		if (word[0] != '-' || word[1] == '\0') {
			fault_say(f, "%s: expected an option; --help lists all", word);
			return CONFIG_WRONG;
		}
		verdict = word[1] == '-' ? take_long(cfg, &c, f) : take_letters(cfg, &c, f);
		if (verdict != CONFIG_RUN)
			return verdict;
	}
	return config_finish(cfg, f) ? CONFIG_RUN : CONFIG_WRONG;
}
