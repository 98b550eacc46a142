/*
 * command_line.c - reads the configuration file, then the options on top of it in their order.
 */
#include "config_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define COMMAND "doctor" /* app/clockoo/main.c handles it as the first word */

/* The state of reading the command line. */
struct cursor {
	struct config *cfg;
	const char *file; /* from --config or --check */
	enum config_action
		action; /* CONFIG_RUN, or what --check, --print-config or --plan asks for */
	bool given[CONFIG_ROWS_MAX];
};

/* Records that the option was given. Two names for one number, such as --threads and --cores, count
 * as one option. */
static void
mark_given(struct cursor *c, const struct option_row *row)
{
	for (uint32_t i = 0; i < option_row_count; i++)
		if (option_rows[i].kind == OPTION_NUMBER && row->kind == OPTION_NUMBER &&
		    option_rows[i].at == row->at)
			c->given[i] = true;
	c->given[option_number(row)] = true;
}

static enum config_action
apply(void *arg, const struct option_row *row, const char *value, struct error *err)
{
	struct cursor *c = arg;

	mark_given(c, row);
	switch (row->kind) {
	case OPTION_HELP:
		return CONFIG_HELP;
	case OPTION_VERSION:
		return CONFIG_VERSION;
	case OPTION_LICENSE:
		return CONFIG_LICENSE;
	case OPTION_CONFIG:
		c->file = value;
		return CONFIG_RUN;
	case OPTION_CHECK:
		c->file = value;
		c->action = CONFIG_CHECK;
		return CONFIG_RUN;
	case OPTION_PRINT:
		c->action = CONFIG_PRINT;
		return CONFIG_RUN;
	case OPTION_PLAN:
		c->action = CONFIG_PLAN;
		return CONFIG_RUN;
	default:
		return option_set_word(c->cfg, row, value, err) ? CONFIG_RUN : CONFIG_ERROR;
	}
}

/* True if the command line gives option `name`, and only the file gives `other`. Then the command
 * line replaces `other`, and the line of that is forgotten. */
static bool
overrides(const struct cursor *c, struct config_source *src, const char *name, const char *other)
{
	const uint32_t by = option_number(option_by_name(name, strlen(name)));
	const uint32_t gone = option_number(option_by_name(other, strlen(other)));

	if (!c->given[by] || c->given[gone] || src->line[gone] == 0)
		return false;
	src->line[gone] = 0;
	return true;
}

static bool
is_set(const struct cursor *c, const struct config_source *src, const char *name)
{
	const uint32_t n = option_number(option_by_name(name, strlen(name)));

	return c->given[n] || src->line[n] != 0;
}

/* As in memcached, if -U is given without -p, it is also the port of TCP. */
static void
follow_udp_port(struct config *cfg, const struct cursor *c, const struct config_source *src)
{
	const uint32_t udp = option_number(option_by_letter('U'));

	if (c->given[udp] && cfg->udp_port != 0 && !is_set(c, src, "tcp-port"))
		cfg->tcp_port = cfg->udp_port;
}

/* Handles pairs of options for one setting: the one on the command line replaces the file's. */
static void
apply_precedence(struct config *cfg, const struct cursor *c, struct config_source *src)
{
	for (uint32_t i = 0; i < option_count(); i++)
		if (c->given[i])
			src->line[i] = 0;
	if (overrides(c, src, "threads", "lcores"))
		cfg->lcores.count = 0;
	if (overrides(c, src, "lcores", "threads"))
		cfg->cores = 0;
	if (overrides(c, src, "threads", "queues") || overrides(c, src, "lcores", "queues"))
		cfg->queues = 0;
	if (overrides(c, src, "memory-limit", "node-memory"))
		cfg->node_count = 0;
	if (overrides(c, src, "port", "profile"))
		cfg->profile[0] = '\0';
	if (overrides(c, src, "listen", "address"))
		cfg->address_given = false;
	follow_udp_port(cfg, c, src);
}

/* Returns the path of the file to read, or NULL. */
static const char *
file_to_read(const struct cursor *c, const struct config_source *src)
{
	if (src->again != NULL)
		return src->again;
	if (c->file != NULL)
		return c->action != CONFIG_CHECK && strcmp(c->file, "none") == 0 ? NULL : c->file;
	if (src->default_file == NULL || (access(src->default_file, F_OK) != 0 && errno == ENOENT))
		return NULL;
	return src->default_file;
}

/* Finishes *copy, a copy of *cfg. An -l that has no meaning on a NIC is left out, and marked in
 * *cfg. */
static bool
finish_converted(struct config *copy, struct config *cfg, struct error *err)
{
	static const char listen[] = "--listen";

	if (config_finish(copy, err))
		return true;
	if (strncmp(err->text, listen, sizeof listen - 1) != 0 || config_is_user(cfg))
		return false;
	option_mark(cfg, option_by_letter('l'));
	*copy = *cfg;
	option_forget_listen(copy);
	return config_finish(copy, err);
}

static bool
finish(struct config *cfg, const struct config_source *src, enum config_action action,
       struct error *err)
{
	struct config copy = *cfg;
	/* config_finish derives values that were not set, so --print-config finishes a copy. */
	struct config *const done = action == CONFIG_PRINT ? &copy : cfg;

	if (action == CONFIG_PRINT ? !finish_converted(&copy, cfg, err) : !config_finish(cfg, err))
		return config_error_permanent(src, err);
	/* On a NIC -l has no key: it sets the address and the ports. */
	if (!config_is_user(cfg)) {
		cfg->tcp_port = done->tcp_port;
		cfg->udp_port = done->udp_port;
		cfg->listeners.more_count = done->listeners.more_count;
		cfg->tls.plain_port = done->tls.plain_port;
	}
	if (done->listen != 0) {
		cfg->ipv4 = done->listen;
		cfg->address_given = true;
	}
	return true;
}

static void
refuse_option(const char *name, size_t len, struct error *err)
{
	option_unknown(false, name, len, err);
}

static bool
asks_to_print(int argc, char *const *argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--print-config") == 0)
			return true;
	return false;
}

enum config_action
config_parse(struct config *cfg, struct config_source *src, int argc, char *const *argv,
	     struct error *err)
{
	struct cursor c = {.cfg = cfg};
	const struct option_reader reader = {
		argc, argv, COMMAND, option_by_name, option_by_letter, refuse_option, apply, &c,
	};
	enum config_action action;
	const char *file;
	bool share;

	src->file[0] = '\0';
	memset(src->line, 0, sizeof src->line);
	/* A first pass finds the name of the file, and stops at errors that no file can change. */
	config_defaults(cfg);
	cfg->converting = asks_to_print(argc, argv);
	action = options_read(&reader, err);
	if (action != CONFIG_RUN)
		return action;
	file = file_to_read(&c, src);
	/* Set on the command line, it permits what the file alone may not ask for. */
	share = cfg->share_cpus;
	config_defaults(cfg);
	cfg->share_cpus = share;
	cfg->converting = c.action == CONFIG_PRINT;
	if (file != NULL && !config_file_load(cfg, src, file, err)) {
		err->code = ERROR_CONFIG;
		return CONFIG_ERROR;
	}
	if (c.given[option_number(option_by_letter('l'))])
		option_forget_listen(cfg);
	if (options_read(&reader, err) != CONFIG_RUN)
		return CONFIG_ERROR;
	apply_precedence(cfg, &c, src);
	return finish(cfg, src, c.action, err) ? c.action : CONFIG_ERROR;
}
