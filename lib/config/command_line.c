/*
 * command_line.c - options in the order they stand, after the file they come on top of.
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
	const char *file;            /* after --config or --check */
	enum config_verdict verdict; /* CONFIG_RUN, unless --check or --print-config was there */
	bool said[CONFIG_ROWS_MAX];
};

/* Two names of one number, such as --threads and --cores, are one option. */
static void
note_said(struct cursor *c, const struct option_row *row)
{
	for (uint32_t i = 0; i < option_row_count; i++)
		if (option_rows[i].kind == OPTION_NUMBER && row->kind == OPTION_NUMBER &&
		    option_rows[i].at == row->at)
			c->said[i] = true;
	c->said[option_number(row)] = true;
}

static enum config_verdict
apply(struct config *cfg, struct cursor *c, const struct option_row *row, const char *value,
      struct fault *f)
{
	uint32_t *count = (uint32_t *)(void *)((char *)cfg + row->at);

	note_said(c, row);
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
		c->verdict = CONFIG_CHECK;
		return CONFIG_RUN;
	case OPTION_PRINT:
		c->verdict = CONFIG_PRINT;
		return CONFIG_RUN;
	case OPTION_PLAN:
		c->verdict = CONFIG_PLAN;
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
	return apply(cfg, c, row, value, f);
}

/* -m64, -m 64, -vv */
static enum config_verdict
take_letters(struct config *cfg, struct cursor *c, struct fault *f)
{
	for (const char *p = c->argv[c->at] + 1; *p != '\0'; p++) {
		const struct option_row *row = option_lettered(*p);
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
		verdict = apply(cfg, c, row, value, f);
		if (verdict != CONFIG_RUN || row->arg != NULL)
			return verdict;
	}
	return CONFIG_RUN;
}

static enum config_verdict
take_words(struct config *cfg, struct cursor *c, struct fault *f)
{
	for (c->at = 1; c->at < c->argc; c->at++) {
		const char *word = c->argv[c->at];
		enum config_verdict verdict;

		if (word[0] != '-' || word[1] == '\0') {
			fault_say(f, "%s: expected an option; --help lists all", word);
			return CONFIG_WRONG;
		}
		verdict = word[1] == '-' ? take_long(cfg, c, f) : take_letters(cfg, c, f);
		if (verdict != CONFIG_RUN)
			return verdict;
	}
	return CONFIG_RUN;
}

/* Is the option's name on the command line but not other's, which the file gave? Then the command
 * line means to be without other. */
static bool
displaces(const struct cursor *c, struct config_source *src, const char *name, const char *other)
{
	const uint32_t by = option_number(option_named(name, strlen(name)));
	const uint32_t gone = option_number(option_named(other, strlen(other)));

	if (!c->said[by] || c->said[gone] || src->line[gone] == 0)
		return false;
	src->line[gone] = 0;
	return true;
}

/* Options that say the same thing in two ways: the command line's way wins whole. */
static void
let_line_win(struct config *cfg, const struct cursor *c, struct config_source *src)
{
	for (uint32_t i = 0; i < option_count(); i++)
		if (c->said[i])
			src->line[i] = 0;
	if (displaces(c, src, "threads", "lcores"))
		cfg->lcores.count = 0;
	if (displaces(c, src, "lcores", "threads"))
		cfg->cores = 0;
	if (displaces(c, src, "threads", "queues") || displaces(c, src, "lcores", "queues"))
		cfg->queues = 0;
	if (displaces(c, src, "memory-limit", "node-memory"))
		cfg->node_count = 0;
	if (displaces(c, src, "port", "profile"))
		cfg->profile[0] = '\0';
	if (displaces(c, src, "listen", "address"))
		cfg->address_said = false;
}

/* The file to read, or NULL. */
static const char *
file_to_read(const struct cursor *c, const struct config_source *src)
{
	if (src->again != NULL)
		return src->again;
	if (c->file != NULL)
		return c->verdict != CONFIG_CHECK && strcmp(c->file, "none") == 0 ? NULL : c->file;
	if (src->default_file == NULL || (access(src->default_file, F_OK) != 0 && errno == ENOENT))
		return NULL;
	return src->default_file;
}

static bool
finish(struct config *cfg, const struct config_source *src, enum config_verdict verdict,
       struct fault *f)
{
	struct config copy = *cfg;

	/* What config_finish derives is not what was set. */
	if (!config_finish(verdict == CONFIG_PRINT ? &copy : cfg, f))
		return config_condemn(src, f);
	/* -l has no key of its own: it is the address. */
	if (copy.listen != 0) {
		cfg->ipv4 = copy.listen;
		cfg->address_said = true;
	}
	return true;
}

enum config_verdict
config_parse(struct config *cfg, struct config_source *src, int argc, char *const *argv,
	     struct fault *f)
{
	struct cursor c = {.argc = argc, .argv = argv};
	enum config_verdict verdict;
	const char *file;
	bool share;

	src->file[0] = '\0';
	memset(src->line, 0, sizeof src->line);
	/* Once to learn which file comes first, and to stop early at what no file can mend. */
	config_defaults(cfg);
	verdict = take_words(cfg, &c, f);
	if (verdict != CONFIG_RUN)
		return verdict;
	file = file_to_read(&c, src);
	share = cfg->share_cpus; /* it allows what the file alone may not say */
	config_defaults(cfg);
	cfg->share_cpus = share;
	if (file != NULL && !config_file_load(cfg, src, file, f)) {
		f->code = FAULT_CONFIG;
		return CONFIG_WRONG;
	}
	if (take_words(cfg, &c, f) != CONFIG_RUN)
		return CONFIG_WRONG;
	let_line_win(cfg, &c, src);
	return finish(cfg, src, c.verdict, f) ? c.verdict : CONFIG_WRONG;
}
