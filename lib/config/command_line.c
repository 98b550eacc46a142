/*
 * command_line.c - reads the configuration file, then the options on top of it in their order.
 */
#include "config_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Where the command line is read: the rest of the word, then the next word. */
struct cursor {
	int argc;
	char *const *argv;
	int at;
	const char *file;          /* after --config or --check */
	enum config_action action; /* CONFIG_RUN, unless --check or --print-config was there */
	bool given[CONFIG_ROWS_MAX];
};

/* Two names of one number, such as --threads and --cores, are one option. */
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
apply(struct config *cfg, struct cursor *c, const struct option_row *row, const char *value,
      struct error *err)
{
	uint32_t *count = (uint32_t *)(void *)((char *)cfg + row->at);

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
	case OPTION_COUNT:
		*count += *count < row->max;
		return CONFIG_RUN;
	case OPTION_FLAG:
		value = "yes";
		break;
	default:
		break;
	}
	return option_set(cfg, row, value, err) ? CONFIG_RUN : CONFIG_ERROR;
}

/* The word after the option is its value. */
static const char *
next_token(struct cursor *c, const struct option_row *row, struct error *err)
{
	if (c->at + 1 >= c->argc) {
		error_set(err, "--%s: expected a value (%s) after it", row->name, row->arg);
		return NULL;
	}
	return c->argv[++c->at];
}

static enum config_action
parse_long(struct config *cfg, struct cursor *c, struct error *err)
{
	const char *name = c->argv[c->at] + 2;
	const char *equals = strchr(name, '=');
	const size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row = option_by_name(name, len);
	const char *value = equals != NULL ? equals + 1 : NULL;

	if (row == NULL) {
		option_unknown(false, name, len, err);
		return CONFIG_ERROR;
	}
	if (row->arg == NULL && value != NULL) {
		error_set(err, "--%s: takes no value", row->name);
		return CONFIG_ERROR;
	}
	if (row->arg != NULL && value == NULL && (value = next_token(c, row, err)) == NULL)
		return CONFIG_ERROR;
	return apply(cfg, c, row, value, err);
}

/* -m64, -m 64, -vv */
static enum config_action
parse_letters(struct config *cfg, struct cursor *c, struct error *err)
{
	for (const char *p = c->argv[c->at] + 1; *p != '\0'; p++) {
		const struct option_row *row = option_by_letter(*p);
		enum config_action action;
		const char *value = NULL;

		if (row == NULL) {
			error_set(err, "-%c: unknown option; --help lists all", *p);
			return CONFIG_ERROR;
		}
		if (row->arg != NULL) {
			value = p[1] != '\0' ? p + 1 : next_token(c, row, err);
			if (value == NULL)
				return CONFIG_ERROR;
		}
		action = apply(cfg, c, row, value, err);
		if (action != CONFIG_RUN || row->arg != NULL)
			return action;
	}
	return CONFIG_RUN;
}

static enum config_action
parse_words(struct config *cfg, struct cursor *c, struct error *err)
{
	for (c->at = 1; c->at < c->argc; c->at++) {
		const char *word = c->argv[c->at];
		enum config_action action;

		if (word[0] != '-' || word[1] == '\0') {
			error_set(err, "%s: expected an option; --help lists all", word);
			return CONFIG_ERROR;
		}
		action = word[1] == '-' ? parse_long(cfg, c, err) : parse_letters(cfg, c, err);
		if (action != CONFIG_RUN)
			return action;
	}
	return CONFIG_RUN;
}

/* Is the option's name on the command line but not other's, which the file gave? Then the command
 * line means to be without other. */
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

/* Options that say the same thing in two ways: the command line's way wins whole. */
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
}

/* The file to read, or NULL. */
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

static bool
finish(struct config *cfg, const struct config_source *src, enum config_action action,
       struct error *err)
{
	struct config copy = *cfg;

	/* What config_finish derives is not what was set. */
	if (!config_finish(action == CONFIG_PRINT ? &copy : cfg, err))
		return config_error_permanent(src, err);
	/* -l has no key of its own: it is the address. */
	if (copy.listen != 0) {
		cfg->ipv4 = copy.listen;
		cfg->address_given = true;
	}
	return true;
}

enum config_action
config_parse(struct config *cfg, struct config_source *src, int argc, char *const *argv,
	     struct error *err)
{
	struct cursor c = {.argc = argc, .argv = argv};
	enum config_action action;
	const char *file;
	bool share;

	src->file[0] = '\0';
	memset(src->line, 0, sizeof src->line);
	/* The first pass finds the file, and stops at errors that no file can change. */
	config_defaults(cfg);
	action = parse_words(cfg, &c, err);
	if (action != CONFIG_RUN)
		return action;
	file = file_to_read(&c, src);
	share = cfg->share_cpus; /* it allows what the file alone may not say */
	config_defaults(cfg);
	cfg->share_cpus = share;
	if (file != NULL && !config_file_load(cfg, src, file, err)) {
		err->code = ERROR_CONFIG;
		return CONFIG_ERROR;
	}
	if (parse_words(cfg, &c, err) != CONFIG_RUN)
		return CONFIG_ERROR;
	apply_precedence(cfg, &c, src);
	return finish(cfg, src, c.action, err) ? c.action : CONFIG_ERROR;
}
