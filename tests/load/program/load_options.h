/*
 * load_options.h - the options of clockoo-load.
 *
 * Options of the port are rows of the appliance's table (config/options.h); those of the load are
 * a table of load_options.c.
 *
 * Shape:  plain data, immutable after load_options_parse.
 * Units:  as named.
 * Thread: main.
 * Errors: struct error: the option, what is wrong, what is allowed.
 */
#ifndef CLOCKOO_LOAD_OPTIONS_H
#define CLOCKOO_LOAD_OPTIONS_H

#include "config/config.h"
#include "load/load_core.h"

#define LOAD_VARY_MAX 16u

enum load_slo { SLO_NONE, SLO_MEAN, SLO_P99 };
enum load_vary { VARY_NOTHING, VARY_CONNECTIONS, VARY_DEPTH };

struct load_options {
	uint32_t server; /* IPv4, host order */
	uint16_t server_port;
	uint32_t transport; /* enum load_transport */
	uint32_t protocol;  /* enum load_protocol */
	uint32_t conns;     /* all cores together */
	uint32_t depth;     /* 0 until it is chosen */
	uint32_t udp_ports; /* our own, for each core */
	uint32_t burst;     /* frames a turn; 0: chosen by the connections */
	bool no_timestamps;
	double rate;       /* all cores together; 0: closed loop */
	uint32_t arrivals; /* enum arrivals */
	uint32_t keys;
	struct key_distribution dist; /* kind and its numbers */
	char key_size[32], value_size[32];
	double sets, deletes; /* percentages of the requests */
	uint32_t multiget;
	double seconds, warmup, timeout;
	uint32_t requests; /* 0: by time */
	uint32_t seed;
	bool no_fill, fill_only, quiet;
	uint32_t slo; /* enum load_slo */
	double slo_us;
	double sweep_from;
	uint32_t vary; /* enum load_vary */
	uint32_t vary_count;
	uint32_t vary_values[LOAD_VARY_MAX];
	char json[CONFIG_PATH_BYTES];
};

/* cfg: the port's part, finished. */
enum config_action load_options_parse(struct load_options *o, struct config *cfg, int argc,
				      char *const *argv, struct error *err);
void load_options_help(FILE *out);
/* Prints the options as a part of a manual page (config/config_man.h). */
void load_options_man(FILE *out);

/* Makes the workload of the options. False with an error if a size is no size distribution. */
bool load_options_workload(const struct load_options *o, struct workload *w, struct error *err);

#endif
