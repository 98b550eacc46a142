/*
 * load_options.c - the table of clockoo-load's own options, their setters, --help and the manual
 * page; the appliance's options that have a meaning here are passed to its table.
 */
#include "load_options.h"
#include "config/config_man.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_UDP     256u
#define TIMEOUT_UDP_S 1
#define TIMEOUT_TCP_S 5 /* TCP sends again by itself, from 200 ms on */
#define CONNS_LIMIT   100000u
#define FLIGHTS_LIMIT (4u << 20) /* connections times depth */

enum row_kind {
	ROW_COUNT, /* uint32_t; k and m multiply by 1000 */
	ROW_REAL,  /* double */
	ROW_WORD,  /* uint32_t: one of words, by place */
	ROW_TEXT,  /* char[most] */
	ROW_FLAG,
	ROW_SERVER,
	ROW_POPULARITY,
	ROW_SWEEP,
	ROW_VARY,
};

struct row {
	const char *name;
	enum row_kind kind;
	size_t at;
	double least, most;
	const char *arg; /* with | between the words of ROW_WORD */
	const char *help;
};

#define AT(field)         offsetof(struct load_options, field)
#define FIELD_SIZE(field) (double)sizeof(((struct load_options *)0)->field)

static const struct row rows[] = {
	{"server", ROW_SERVER, 0, 0, 0, "IP[:PORT]", "server address (10.99.0.1:11211)"},
	{"transport", ROW_WORD, AT(transport), 0, 0, "udp|tcp", "(tcp)"},
	{"protocol", ROW_WORD, AT(protocol), 0, 0, "text|meta", "(text)"},
	{"connections", ROW_COUNT, AT(conns), 1, CONNS_LIMIT, "N",
	 "TCP connections, all cores together (50)"},
	{"depth", ROW_COUNT, AT(depth), 1, LOAD_WINDOW_MAX, "N",
	 "requests in flight: per connection (1), over UDP per core (256, 4096 with a rate)"},
	{"udp-ports", ROW_COUNT, AT(udp_ports), 1, LOAD_PORTS_MAX, "N",
	 "UDP source ports, a power of two, for the server's RSS (16)"},
	{"burst", ROW_COUNT, AT(burst), 1, BURST_MAX, "N",
	 "packets per RX burst (64; over TCP a quarter of the connections)"},
	{"no-timestamps", ROW_FLAG, AT(no_timestamps), 0, 0, NULL,
	 "disable TCP timestamps (RFC 7323)"},
	{"rate", ROW_REAL, AT(rate), 1, 1e9, "N",
	 "open loop: requests per second, all cores together (closed loop)"},
	{"arrivals", ROW_WORD, AT(arrivals), 0, 0, "constant|poisson",
	 "arrival process of an open loop (poisson)"},
	{"keys", ROW_COUNT, AT(keys), 1, KEYS_MAX, "N", "number of keys (1m)"},
	{"popularity", ROW_POPULARITY, 0, 0, 0, "DIST",
	 "uniform, zipf:S, or hot:X:Y, X % of requests to Y % of keys (uniform)"},
	{"key-size", ROW_TEXT, AT(key_size), 0, FIELD_SIZE(key_size), "SIZE",
	 "bytes: N, A-B, usr or etc (16)"},
	{"value-size", ROW_TEXT, AT(value_size), 0, FIELD_SIZE(value_size), "SIZE",
	 "bytes: N, A-B, usr or etc (32)"},
	{"sets", ROW_REAL, AT(sets), 0, 100, "PERCENT", "of the requests are sets (5)"},
	{"deletes", ROW_REAL, AT(deletes), 0, 100, "PERCENT", "of the requests are deletes (0)"},
	{"multiget", ROW_COUNT, AT(multiget), 1, MULTIGET_MAX, "N", "keys per get (1)"},
	{"seconds", ROW_REAL, AT(seconds), 0.001, 86400, "S", "seconds to measure per run (5)"},
	{"warmup", ROW_REAL, AT(warmup), 0, 3600, "S", "seconds of warm-up before each run (1)"},
	{"requests", ROW_COUNT, AT(requests), 1, 4e9, "N",
	 "end a run after this many requests per core, if sooner"},
	{"timeout", ROW_REAL, AT(timeout), 0.001, 3600, "S",
	 "seconds after which an unanswered request is lost (1, over TCP 5)"},
	{"no-fill", ROW_FLAG, AT(no_fill), 0, 0, NULL, "do not store all keys first"},
	{"fill-only", ROW_FLAG, AT(fill_only), 0, 0, NULL, "store all keys and stop"},
	{"sweep", ROW_SWEEP, 0, 0, 0, "avg=T|p99=T",
	 "find the highest rate that meets this latency; T such as 1ms or 200us"},
	{"sweep-from", ROW_REAL, AT(sweep_from), 1, 1e9, "N", "the first rate of a sweep (50k)"},
	{"vary", ROW_VARY, 0, 0, 0, "WHAT=LIST",
	 "one run, or sweep, for each: connections=1,10,50 or depth=1,8,32"},
	{"json", ROW_TEXT, AT(json), 0, FIELD_SIZE(json), "FILE", "write the results as JSON"},
	{"plot", ROW_TEXT, AT(plot), 0, FIELD_SIZE(plot), "FILE",
	 "plot latency against throughput, as PNG"},
	{"seed", ROW_COUNT, AT(seed), 0, 4e9, "N", "seed of the random numbers (1)"},
	{"quiet", ROW_FLAG, AT(quiet), 0, 0, NULL, "no progress on stderr"},
};
#define ROWS (sizeof rows / sizeof rows[0])

/* The appliance's options that have a meaning here. */
static const char *const port_options[] = {
	"port",     "profile", "rx-ring", "tx-ring", "iface",         "socket", "vdev-args",
	"address",  "gateway", "mtu",     "no-huge", "yield",         "cores",  "file-prefix",
	"data-dir", "lcores",  "verbose", "vlan",    "vlan-priority",
};
#define PORT_OPTIONS (sizeof port_options / sizeof port_options[0])

/* A number, perhaps with k or m behind it; *end is what follows. */
static bool
parse_real(const char *text, double *value, const char **end)
{
	char *rest;

	if (!isdigit((unsigned char)text[0]))
		return false;
	*value = strtod(text, &rest);
	if (*rest == 'k' || *rest == 'm')
		*value *= *rest++ == 'k' ? 1e3 : 1e6;
	*end = rest;
	return true;
}

static bool
parse_whole_real(const char *text, double least, double most, double *value)
{
	const char *end;

	return parse_real(text, value, &end) && *end == '\0' && *value >= least && *value <= most;
}

static bool
set_number(struct load_options *o, const struct row *row, const char *value, struct error *err)
{
	void *field = (char *)o + row->at;
	double n;

	if (!parse_whole_real(value, row->least, row->most, &n))
		return error_set(err, "--%s: \"%s\": expected a number from %.10g to %.10g",
				 row->name, value, row->least, row->most);
	if (row->kind == ROW_COUNT)
		*(uint32_t *)field = (uint32_t)n;
	else
		*(double *)field = n;
	return true;
}

static bool
set_word(struct load_options *o, const struct row *row, const char *value, struct error *err)
{
	const char *word = row->arg;

	for (uint32_t i = 0; *word != '\0'; i++) {
		const size_t len = strcspn(word, "|");

		if (strlen(value) == len && memcmp(word, value, len) == 0) {
			*(uint32_t *)(void *)((char *)o + row->at) = i;
			return true;
		}
		word += len + (word[len] == '|');
	}
	return error_set(err, "--%s: \"%s\": expected %s", row->name, value, row->arg);
}

static bool
set_text(struct load_options *o, const struct row *row, const char *value, struct error *err)
{
	const size_t len = strlen(value);

	if (len == 0 || len >= (size_t)row->most)
		return error_set(err, "--%s: expected 1 to %.0f characters", row->name,
				 row->most - 1);
	memcpy((char *)o + row->at, value, len + 1);
	return true;
}

static bool
set_server(struct load_options *o, const char *value, struct error *err)
{
	unsigned int part[4], port = o->server_port;
	int used = 0, more = 0;

	if (sscanf(value, "%3u.%3u.%3u.%3u%n", &part[0], &part[1], &part[2], &part[3], &used) !=
		    4 ||
	    part[0] > 255 || part[1] > 255 || part[2] > 255 || part[3] > 255 ||
	    (value[used] != '\0' &&
	     (sscanf(value + used, ":%5u%n", &port, &more) != 1 || value[used + more] != '\0')) ||
	    port == 0 || port > 65535)
		return error_set(err,
				 "--server: \"%s\": expected an address such as 10.99.0.1:11211",
				 value);
	o->server = part[0] << 24 | part[1] << 16 | part[2] << 8 | part[3];
	o->server_port = (uint16_t)port;
	return true;
}

static bool
set_popularity(struct load_options *o, const char *value, struct error *err)
{
	double requests, keys;
	const char *end;

	if (strcmp(value, "uniform") == 0) {
		o->dist.kind = KEYS_UNIFORM;
		return true;
	}
	if (strncmp(value, "zipf:", 5) == 0 &&
	    parse_whole_real(value + 5, 0.01, ZIPF_S_MAX, &o->dist.zipf_s)) {
		o->dist.kind = KEYS_ZIPF;
		return true;
	}
	if (strncmp(value, "hot:", 4) == 0 && parse_real(value + 4, &requests, &end) &&
	    requests <= 100 && *end == ':' && parse_whole_real(end + 1, 1e-6, 100, &keys)) {
		o->dist.kind = KEYS_HOT;
		o->dist.hot_requests = requests / 100;
		o->dist.hot_keys = keys / 100;
		return true;
	}
	return error_set(err, "--popularity: \"%s\": expected uniform, zipf:0.99 or hot:90:10",
			 value);
}

static bool
set_sweep(struct load_options *o, const char *value, struct error *err)
{
	const bool mean = strncmp(value, "avg=", 4) == 0, p99 = strncmp(value, "p99=", 4) == 0;
	char *end = NULL;
	const double n = mean || p99 ? strtod(value + 4, &end) : 0;
	const bool ms = end != NULL && strcmp(end, "ms") == 0;

	if (n <= 0 || end == NULL || (!ms && strcmp(end, "us") != 0))
		return error_set(err, "--sweep: \"%s\": expected avg=1ms, p99=200us or the like",
				 value);
	o->slo = mean ? SLO_MEAN : SLO_P99;
	o->slo_us = ms ? n * 1000 : n;
	return true;
}

static bool
set_vary(struct load_options *o, const char *value, struct error *err)
{
	const bool conns = strncmp(value, "connections=", 12) == 0;
	const char *at = value + (conns ? 12 : 6);

	if (!conns && strncmp(value, "depth=", 6) != 0)
		return error_set(err, "--vary: \"%s\": expected connections=LIST or depth=LIST",
				 value);
	o->vary = conns ? VARY_CONNECTIONS : VARY_DEPTH;
	o->vary_count = 0;
	for (;;) {
		double n;

		if (o->vary_count == LOAD_VARY_MAX || !parse_real(at, &n, &at) || n < 1 ||
		    n > (conns ? CONNS_LIMIT : LOAD_WINDOW_MAX) || (*at != ',' && *at != '\0'))
			return error_set(err,
					 "--vary: \"%s\": expected up to %u numbers with commas",
					 value, LOAD_VARY_MAX);
		o->vary_values[o->vary_count++] = (uint32_t)n;
		if (*at++ == '\0')
			return true;
	}
}

static bool
set(struct load_options *o, const struct row *row, const char *value, struct error *err)
{
	switch (row->kind) {
	case ROW_COUNT:
	case ROW_REAL:
		return set_number(o, row, value, err);
	case ROW_WORD:
		return set_word(o, row, value, err);
	case ROW_TEXT:
		return set_text(o, row, value, err);
	case ROW_SERVER:
		return set_server(o, value, err);
	case ROW_POPULARITY:
		return set_popularity(o, value, err);
	case ROW_SWEEP:
		return set_sweep(o, value, err);
	case ROW_VARY:
		return set_vary(o, value, err);
	case ROW_FLAG:
		break;
	}
	*(bool *)((char *)o + row->at) = true;
	return true;
}

/* "N", "A-B", or a name. */
static bool
size_distribution_parse(struct size_distribution *dist, const char *name, const char *text,
			const uint32_t bounds[2], struct error *err)
{
	const bool key = strcmp(name, "key-size") == 0;
	double least, most;
	const char *end;

	if (strcmp(text, "usr") == 0) {
		key ? size_distribution_usr_keys(dist) : size_distribution_usr_values(dist);
		return true;
	}
	if (strcmp(text, "etc") == 0) {
		key ? size_distribution_etc_keys(dist, bounds[0], bounds[1])
		    : size_distribution_etc_values(dist, bounds[0], bounds[1]);
		return true;
	}
	if (parse_real(text, &least, &end)) {
		most = least;
		if (*end == '-' && !parse_real(end + 1, &most, &end))
			end = "?";
		if (*end == '\0' && least <= most && least >= bounds[0] && most <= bounds[1]) {
			size_distribution_uniform(dist, (uint32_t)least, (uint32_t)most);
			return true;
		}
	}
	return error_set(err, "--%s: \"%s\": expected N or A-B, from %u to %u, usr or etc", name,
			 text, bounds[0], bounds[1]);
}

bool
load_options_workload(const struct load_options *o, struct workload *w, struct error *err)
{
	static const uint32_t keys[2] = {ITEM_KEY_MIN, ITEM_KEY_MAX}, values[2] = {0, 128u << 20};

	*w = (struct workload){
		.protocol = o->protocol,
		.keys = o->dist,
		.set_share = o->sets / 100,
		.delete_share = o->deletes / 100,
		.multiget = o->multiget,
	};
	w->keys.n = o->keys;
	if (!size_distribution_parse(&w->key_size, "key-size", o->key_size, keys, err) ||
	    !size_distribution_parse(&w->value_size, "value-size", o->value_size, values, err))
		return false;
	workload_init(w);
	return true;
}

static void
defaults(struct load_options *o, struct config *cfg)
{
	*o = (struct load_options){
		.server = 10u << 24 | 99u << 16 | 0u << 8 | 1u,
		.server_port = 11211,
		.transport = LOAD_TCP,
		.conns = 50,
		.udp_ports = 16,
		.arrivals = ARRIVALS_POISSON,
		.keys = 1000000,
		.key_size = "16",
		.value_size = "32",
		.sets = 5,
		.multiget = 1,
		.seconds = 5,
		.warmup = 1,
		.seed = 1,
		.sweep_from = 50000,
	};
	config_defaults(cfg);
	cfg->ipv4++; /* the appliance's default is the one before */
	strcpy(cfg->file_prefix, "clockoo-load");
}

/* An open loop must not wait for slots; a closed one is as deep as it is told. */
static uint32_t
default_depth(const struct load_options *o)
{
	if (o->transport == LOAD_TCP)
		return 1;
	return o->rate > 0 || o->slo != SLO_NONE ? LOAD_WINDOW_MAX : DEPTH_UDP;
}

static bool
finish(struct load_options *o, struct config *cfg, struct error *err)
{
	uint64_t conns = o->conns, depth;

	if (o->sets + o->deletes > 100)
		return error_set(err, "--sets and --deletes are more than 100 percent together");
	if ((o->udp_ports & (o->udp_ports - 1)) != 0)
		return error_set(err, "--udp-ports: %u: expected a power of two", o->udp_ports);
	if (o->slo != SLO_NONE && o->rate > 0)
		return error_set(err, "--sweep finds the rate: leave --rate out");
	if (o->vary == VARY_CONNECTIONS && o->transport == LOAD_UDP)
		return error_set(err, "--vary connections: there are none over UDP");
	if (o->timeout == 0)
		o->timeout = o->transport == LOAD_UDP ? TIMEOUT_UDP_S : TIMEOUT_TCP_S;
	if (o->depth == 0)
		o->depth = default_depth(o);
	depth = o->depth;
	for (uint32_t i = 0; i < o->vary_count; i++) {
		uint64_t *most = o->vary == VARY_CONNECTIONS ? &conns : &depth;

		*most = o->vary_values[i] > *most ? o->vary_values[i] : *most;
	}
	if (o->transport == LOAD_TCP && depth > LOAD_DEPTH_MAX)
		return error_set(err, "--depth: at most %u over TCP", LOAD_DEPTH_MAX);
	if (o->transport == LOAD_TCP && conns * depth > FLIGHTS_LIMIT)
		return error_set(err, "--connections and --depth: more than %u requests in flight",
				 FLIGHTS_LIMIT);
	/* Of a memif's two sides the server makes the socket and the generator comes to it. */
	if (strcmp(cfg->port, "memif") == 0)
		strcpy(cfg->port, "memif_client");
	if (cfg->ipv4 == o->server)
		return error_set(err, "--server: that is our own --address");
	return config_finish(cfg, err);
}

static const struct row *
row_named(const char *name, size_t len)
{
	for (uint32_t i = 0; i < ROWS; i++)
		if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0)
			return &rows[i];
	return NULL;
}

static bool
is_port_option(const char *name, size_t len)
{
	for (uint32_t i = 0; i < PORT_OPTIONS; i++)
		if (strlen(port_options[i]) == len && memcmp(port_options[i], name, len) == 0)
			return true;
	return false;
}

static bool
is_flag(const struct row *row, const char *name, size_t len)
{
	static const char *const flags[] = {"no-huge", "yield", "verbose"};

	if (row != NULL)
		return row->kind == ROW_FLAG;
	for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (strlen(flags[i]) == len && memcmp(flags[i], name, len) == 0)
			return true;
	return false;
}

static bool
set_port_option(struct config *cfg, const char *name, size_t len, const char *value,
		struct error *err)
{
	char long_name[CONFIG_NAME_BYTES];

	snprintf(long_name, sizeof long_name, "%.*s", (int)len, name);
	if (strcmp(long_name, "verbose") == 0) {
		cfg->verbosity++;
		return true;
	}
	return config_set(cfg, long_name, value != NULL ? value : "yes", err);
}

/* One option, and the word after it if it takes one: how many words that were; 0: wrong. */
static int
parse_option(struct load_options *o, struct config *cfg, int left, char *const *argv,
	     struct error *err)
{
	const char *name = argv[0] + 2, *equals = strchr(name, '=');
	const size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
	const struct row *row = row_named(name, len);
	const bool flag = is_flag(row, name, len);
	const char *value = equals != NULL ? equals + 1 : !flag && left > 1 ? argv[1] : NULL;

	if (row == NULL && !is_port_option(name, len)) {
		error_set(err, "--%.*s: unknown option; --help lists all", (int)len, name);
		return 0;
	}
	if (flag != (value == NULL)) {
		error_set(err,
			  flag ? "--%.*s: takes no value" : "--%.*s: expected a value after it",
			  (int)len, name);
		return 0;
	}
	if (row != NULL ? !set(o, row, value, err) : !set_port_option(cfg, name, len, value, err))
		return 0;
	return flag || equals != NULL ? 1 : 2;
}

enum config_action
load_options_parse(struct load_options *o, struct config *cfg, int argc, char *const *argv,
		   struct error *err)
{
	defaults(o, cfg);
	for (int i = 1, used; i < argc; i += used) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return CONFIG_HELP;
		if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-V") == 0)
			return CONFIG_VERSION;
		if (strncmp(argv[i], "--", 2) != 0) {
			error_set(err, "%s: expected an option; --help lists all", argv[i]);
			return CONFIG_ERROR;
		}
		used = parse_option(o, cfg, argc - i, argv + i, err);
		if (used == 0)
			return CONFIG_ERROR;
	}
	return finish(o, cfg, err) ? CONFIG_RUN : CONFIG_ERROR;
}

void
load_options_help(FILE *out)
{
	fputs("clockoo-load loads a memcached server through a DPDK port, without the kernel, and "
	      "checks\nevery value. It stores all keys, then measures.\n\n",
	      out);
	for (uint32_t i = 0; i < ROWS; i++) {
		char head[64];

		snprintf(head, sizeof head, "--%s %s", rows[i].name,
			 rows[i].arg != NULL ? rows[i].arg : "");
		fprintf(out, "  %-32s %s\n", head, rows[i].help);
	}
	fputs("\nPort options, the same as in clockoo --help:\n ", out);
	for (uint32_t i = 0; i < PORT_OPTIONS; i++)
		fprintf(out, " --%s", port_options[i]);
	fputs("\n\nWithout a NIC, the appliance's side first:\n"
	      "  clockoo --port vhost --socket /tmp/c.sock       "
	      "clockoo-load --port virtio_user --socket /tmp/c.sock\n"
	      "  clockoo --port memif --socket /tmp/c.sock       "
	      "clockoo-load --port memif --socket /tmp/c.sock\n"
	      "With one, bound by clockoo-nic:\n"
	      "  clockoo-load --port 0000:03:00.0 --address 192.0.2.7/24 --server 192.0.2.10",
	      out);
	fputs("\n\nEnds with 0 if every value was right, 2 if one was wrong, 1 if it could not "
	      "run.\n",
	      out);
}

void
load_options_man(FILE *out)
{
	for (uint32_t i = 0; i < ROWS; i++) {
		config_man_head(out, 0, rows[i].name, rows[i].arg);
		config_man_text(out, rows[i].help);
		fputc('\n', out);
	}
	fputs(".SS The port\nThe same options as in \\fBclockoo\\fR(8):\n", out);
	for (uint32_t i = 0; i < PORT_OPTIONS; i++) {
		fputs(i == 0 ? "\\fB\\-\\-" : ", \\fB\\-\\-", out);
		config_man_text(out, port_options[i]);
		fputs("\\fR", out);
	}
	fputs(".\n", out);
}
