/*
 * load_options.c - the table of options, its defaults, and checks of several options together.
 */
#include "load_options.h"
#include "config/config_man.h"
#include "config/options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_UDP     256u
#define TIMEOUT_UDP_S 1
#define TIMEOUT_TCP_S 5 /* TCP retransmits by itself, from 200 ms on */
#define CONNS_LIMIT   100000u
#define FLIGHTS_LIMIT (4u << 20) /* connections times depth */

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
	    parse_whole_amount(value + 5, 0.01, ZIPF_S_MAX, &o->dist.zipf_s)) {
		o->dist.kind = KEYS_ZIPF;
		return true;
	}
	if (strncmp(value, "hot:", 4) == 0 && parse_amount(value + 4, &requests, &end) &&
	    requests <= 100 && *end == ':' && parse_whole_amount(end + 1, 1e-6, 100, &keys)) {
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

		if (o->vary_count == LOAD_VARY_MAX || !parse_amount(at, &n, &at) || n < 1 ||
		    n > (conns ? CONNS_LIMIT : LOAD_WINDOW_MAX) || (*at != ',' && *at != '\0'))
			return error_set(err,
					 "--vary: \"%s\": expected up to %u numbers with commas",
					 value, LOAD_VARY_MAX);
		o->vary_values[o->vary_count++] = (uint32_t)n;
		if (*at++ == '\0')
			return true;
	}
}

#define AT(field)   offsetof(struct load_options, field)
#define SIZE(field) sizeof(((struct load_options *)0)->field)

/* Options that a function of their own reads, by its index. */
enum custom { CUSTOM_SERVER, CUSTOM_POPULARITY, CUSTOM_SWEEP, CUSTOM_VARY };

static bool (*const set_custom[])(struct load_options *o, const char *value, struct error *err) = {
	set_server, set_popularity, set_sweep, set_vary};

#define CUSTOM(which, arg)         0, OPTION_CUSTOM, which, 0, 0, arg
#define WORD(field, words)         0, OPTION_WORD, AT(field), 0, 0, words
#define AMOUNT(field, min, max)    0, OPTION_AMOUNT, AT(field), min, max, "N"
#define REAL(field, min, max, arg) 0, OPTION_REAL, AT(field), min, max, arg
#define TEXT(field, arg)           0, OPTION_TEXT, AT(field), 1, SIZE(field), arg
#define FLAG(field)                0, OPTION_FLAG, AT(field), 0, 0, NULL
#define HELP(text)                 text, false, NULL

static const struct option_row rows[] = {
	{"server", CUSTOM(CUSTOM_SERVER, "IP[:PORT]"), HELP("server address (10.99.0.1:11211)")},
	{"transport", WORD(transport, "udp|tcp"), HELP("(tcp)")},
	{"protocol", WORD(protocol, "text|meta"), HELP("(text)")},
	{"connections", AMOUNT(conns, 1, CONNS_LIMIT),
	 HELP("TCP connections, all cores together (50)")},
	{"depth", AMOUNT(depth, 1, LOAD_WINDOW_MAX),
	 HELP("requests in flight: per connection (1), over UDP per core (256, 4096 with a rate)")},
	{"udp-ports", AMOUNT(udp_ports, 1, LOAD_PORTS_MAX),
	 HELP("UDP source ports, a power of two, for the server's RSS (16)")},
	{"burst", AMOUNT(burst, 1, BURST_MAX),
	 HELP("packets per RX burst (64; over TCP a quarter of the connections)")},
	{"no-timestamps", FLAG(no_timestamps), HELP("disable TCP timestamps (RFC 7323)")},
	{"rate", REAL(rate, 1, 1e9, "N"),
	 HELP("open loop: requests per second, all cores together (closed loop)")},
	{"arrivals", WORD(arrivals, "constant|poisson"),
	 HELP("arrival process of an open loop (poisson)")},
	{"keys", AMOUNT(keys, 1, KEYS_MAX), HELP("number of keys (1m)")},
	{"popularity", CUSTOM(CUSTOM_POPULARITY, "DIST"),
	 HELP("uniform, zipf:S, or hot:X:Y, X % of requests to Y % of keys (uniform)")},
	{"key-size", TEXT(key_size, "SIZE"), HELP("bytes: N, A-B, usr or etc (16)")},
	{"value-size", TEXT(value_size, "SIZE"), HELP("bytes: N, A-B, usr or etc (32)")},
	{"sets", REAL(sets, 0, 100, "PERCENT"), HELP("of the requests are sets (5)")},
	{"deletes", REAL(deletes, 0, 100, "PERCENT"), HELP("of the requests are deletes (0)")},
	{"multiget", AMOUNT(multiget, 1, MULTIGET_MAX), HELP("keys per get (1)")},
	{"seconds", REAL(seconds, 0.001, 86400, "S"), HELP("seconds to measure per run (5)")},
	{"warmup", REAL(warmup, 0, 3600, "S"), HELP("seconds of warm-up before each run (1)")},
	{"requests", AMOUNT(requests, 1, 4e9),
	 HELP("end a run after this many requests per core, if sooner")},
	{"timeout", REAL(timeout, 0.001, 3600, "S"),
	 HELP("seconds after which an unanswered request is lost (1, over TCP 5)")},
	{"no-fill", FLAG(no_fill), HELP("do not store all keys first")},
	{"fill-only", FLAG(fill_only), HELP("store all keys and stop")},
	{"sweep", CUSTOM(CUSTOM_SWEEP, "avg=T|p99=T"),
	 HELP("find the highest rate that meets this latency; T such as 1ms or 200us")},
	{"sweep-from", REAL(sweep_from, 1, 1e9, "N"), HELP("the first rate of a sweep (50k)")},
	{"vary", CUSTOM(CUSTOM_VARY, "WHAT=LIST"),
	 HELP("one run, or sweep, for each: connections=1,10,50 or depth=1,8,32")},
	{"json", TEXT(json, "FILE"), HELP("write the results as JSON, which charts.py draws")},
	{"seed", AMOUNT(seed, 0, 4e9), HELP("seed of the random numbers (1)")},
	{"quiet", FLAG(quiet), HELP("no progress on stderr")},
	{"help", 'h', OPTION_HELP, 0, 0, 0, NULL, HELP("print this help and exit")},
	{"version", 'V', OPTION_VERSION, 0, 0, 0, NULL, HELP("print the version and exit")},
};
#define ROWS (sizeof rows / sizeof rows[0])

/* The appliance's options that have a meaning here. */
static const char *const port_options[] = {
	"port",     "profile", "rx-ring", "tx-ring", "iface",         "socket", "vdev-args",
	"address",  "gateway", "mtu",     "no-huge", "yield",         "cores",  "file-prefix",
	"data-dir", "lcores",  "verbose", "vlan",    "vlan-priority",
};
#define PORT_OPTIONS (sizeof port_options / sizeof port_options[0])

/* Reads "N", "A-B", or a name. */
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
	if (parse_amount(text, &least, &end)) {
		most = least;
		if (*end == '-' && !parse_amount(end + 1, &most, &end))
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
	cfg->ipv4++; /* the default is the address after the appliance's */
	strcpy(cfg->file_prefix, "clockoo-load");
}

/* Returns the default depth. An open loop must not wait for slots; a closed
 * loop has a fixed depth. */
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
	/* A memif's server makes the socket, and the generator connects to it. */
	if (strcmp(cfg->port, "memif") == 0)
		strcpy(cfg->port, "memif_client");
	if (cfg->ipv4 == o->server)
		return error_set(err, "--server: that is our own --address");
	if (!config_finish(cfg, err))
		return false;
	cfg->listeners.count = 0; /* a client has no listeners */
	return true;
}

static bool
is_own(const struct option_row *row)
{
	return row == option_find(rows, ROWS, row->name, strlen(row->name));
}

/* Returns the appliance's row, if it has a meaning here. */
static const struct option_row *
port_row(const struct option_row *row)
{
	for (uint32_t i = 0; row != NULL && i < PORT_OPTIONS; i++)
		if (strcmp(port_options[i], row->name) == 0)
			return row;
	return NULL;
}

static const struct option_row *
by_name(const char *name, size_t len)
{
	const struct option_row *own = option_find(rows, ROWS, name, len);

	return own != NULL ? own : port_row(option_by_name(name, len));
}

static const struct option_row *
by_letter(char letter)
{
	for (uint32_t i = 0; i < ROWS; i++)
		if (rows[i].letter == letter)
			return &rows[i];
	return port_row(option_by_letter(letter));
}

static void
unknown(const char *name, size_t len, struct error *err)
{
	error_set(err, "--%.*s: unknown option; --help lists all", (int)len, name);
}

struct targets {
	struct load_options *own;
	struct config *port;
};

static enum config_action
apply(void *arg, const struct option_row *row, const char *value, struct error *err)
{
	const struct targets *t = arg;
	bool good;

	if (row->kind == OPTION_HELP)
		return CONFIG_HELP;
	if (row->kind == OPTION_VERSION)
		return CONFIG_VERSION;
	good = row->kind == OPTION_CUSTOM ? set_custom[row->at](t->own, value, err)
	       : is_own(row)              ? option_set_word(t->own, row, value, err)
					  : option_set_word(t->port, row, value, err);
	return good ? CONFIG_RUN : CONFIG_ERROR;
}

enum config_action
load_options_parse(struct load_options *o, struct config *cfg, int argc, char *const *argv,
		   struct error *err)
{
	struct targets targets = {o, cfg};
	const struct option_reader reader = {
		argc, argv, NULL, by_name, by_letter, unknown, apply, &targets,
	};
	enum config_action action;

	defaults(o, cfg);
	action = options_read(&reader, err);
	return action != CONFIG_RUN ? action : finish(o, cfg, err) ? CONFIG_RUN : CONFIG_ERROR;
}

void
load_options_help(FILE *out)
{
	fputs("clockoo-load loads a memcached server through a DPDK port, without the kernel, and "
	      "checks\nevery value. It stores all keys, then measures.\n\n",
	      out);
	option_rows_help(rows, ROWS, out);
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
	option_rows_man(rows, ROWS, out);
	fputs(".SS The port\nThe same options as in \\fBclockoo\\fR(8):\n", out);
	for (uint32_t i = 0; i < PORT_OPTIONS; i++) {
		fputs(i == 0 ? "\\fB\\-\\-" : ", \\fB\\-\\-", out);
		config_man_text(out, port_options[i]);
		fputs("\\fR", out);
	}
	fputs(".\n", out);
}
