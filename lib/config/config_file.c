/*
 * config_file.c - the configuration file: each key sets its option.
 */
#include "config_file.h"
#include "nearest.h"
#include "text_file.h"
#include "yaml_keys.h"

#include <ctype.h>
#include <string.h>

const struct config_section config_sections[] = {
	{"network", "IP addresses, VLAN and MTU"},
	{"port", "the NIC"},
	{"cores", "worker cores: one thread, one queue, one CPU each"},
	{"memory", "memory for items"},
	{"steering", "distribution of flows to cores"},
	{"cache", "limits of items"},
	{"front", "a fleet of servers behind this one"},
	{"flash", "a second tier on flash"},
	{"protocol", "ports, limits and commands of clients"},
	{"auth", "authentication"},
	{"tls", "TLS of TCP connections"},
	{"telemetry", "statistics and logging"},
	{"process", "user, daemon and files of the process"},
	{NULL, NULL},
};

struct reader {
	struct config *cfg;
	struct config_source *src;
};

const struct option_row *
config_file_row(const char *key)
{
	for (uint32_t i = 0; i < option_count(); i++) {
		const struct option_row *row = option_at(i);

		if (row->key != NULL && strcmp(row->key, key) == 0)
			return row;
	}
	return NULL;
}

static bool
is_row(const char *key, size_t len)
{
	for (uint32_t i = 0; i < option_count(); i++) {
		const struct option_row *row = option_at(i);

		if (row->key != NULL && strlen(row->key) == len && memcmp(row->key, key, len) == 0)
			return true;
	}
	return false;
}

bool
config_section_has(const struct config_section *section, const char *key)
{
	const size_t len = strlen(section->name);

	return strncmp(key, section->name, len) == 0 && key[len] == '.';
}

static const struct config_section *
section_named(const char *name)
{
	for (const struct config_section *s = config_sections; s->name != NULL; s++)
		if (strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

/* Writes "a, b, c" to words: the keys of a section; if section is NULL, the sections. */
static void
list_known(const struct config_section *section, char *words, size_t size)
{
	const char *comma = "";
	size_t used = 0;

	words[0] = '\0';
	for (const struct config_section *s = config_sections;
	     section == NULL && s->name != NULL && used < size; s++, comma = ", ")
		used += (size_t)snprintf(words + used, size - used, "%s%s", comma, s->name);
	for (uint32_t i = 0; section != NULL && i < option_count() && used < size; i++) {
		const char *key = option_at(i)->key;

		if (key == NULL || !config_section_has(section, key))
			continue;
		used += (size_t)snprintf(words + used, size - used, "%s%s", comma,
					 key + strlen(section->name) + 1);
		comma = ", ";
	}
}

static const char *
last_word(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot != NULL ? dot + 1 : path;
}

/* Returns the key nearest to path: one with the same name in another section or, if there is none,
 * the most similar one. */
static const char *
closest_key(const char *path)
{
	struct nearest whole, last;

	nearest_begin(&whole, path);
	nearest_begin(&last, last_word(path));
	for (uint32_t i = 0; i < option_count(); i++) {
		const char *key = option_at(i)->key;

		if (key == NULL)
			continue;
		nearest_offer(&whole, key, key);
		nearest_offer(&last, key, last_word(key));
		if (option_at(i)->letter != 0 || option_at(i)->name != NULL)
			nearest_offer(&last, key, option_at(i)->name);
	}
	return last.best != NULL && (whole.best == NULL || last.distance == 0) ? last.best
									       : whole.best;
}

static bool
refuse_key(const struct yaml_key *key, struct error *err)
{
	char section[YAML_PATH_BYTES], words[ERROR_BYTES - YAML_PATH_BYTES];
	const struct config_section *there;
	const char *best = closest_key(key->path);

	snprintf(section, sizeof section, "%.*s", (int)strcspn(key->path, "."), key->path);
	there = section_named(section);
	if (there == NULL && key->shape == YAML_SECTION) {
		struct nearest n;

		nearest_begin(&n, section);
		for (const struct config_section *s = config_sections; s->name != NULL; s++)
			nearest_offer(&n, s->name, s->name);
		best = n.best;
	}
	if (best != NULL)
		return yaml_key_error(err, key, "unknown key; did you mean %s?", best);
	list_known(there, words, sizeof words);
	return yaml_key_error(err, key, "unknown %s; %s%s%s: %s", there != NULL ? "key" : "section",
			      there != NULL ? "in " : "", there != NULL ? there->name : "there are",
			      there != NULL ? " are" : "", words);
}

/* Returns a boolean of YAML as the option's own reader expects it. */
static const char *
flag_word(const char *text)
{
	if (strcmp(text, "true") == 0)
		return "yes";
	return strcmp(text, "false") == 0 ? "no" : text;
}

static bool
parse_value(struct reader *r, const struct option_row *row, const struct yaml_key *key,
	    struct error *err)
{
	const bool flag = row->kind == OPTION_FLAG;

	if (key->text[0] == '\0' && row->kind != OPTION_TEXT)
		return yaml_key_error(err, key, "no value; give one, or leave the line out");
	return option_set(r->cfg, row, flag ? flag_word(key->text) : key->text, err) ||
	       config_error_locate(r->src, err);
}

/* Parses a list item by item, so that an error has the line of its item. */
static bool
parse_list(struct reader *r, const struct option_row *row, const struct yaml_key *key,
	   struct error *err)
{
	char words[YAML_ITEMS_MAX * 48];
	size_t used = 0;

	if (key->count == 0 && (row->kind == OPTION_NETS || row->kind == OPTION_NET_LIST ||
				row->kind == OPTION_ADDRESSES || row->kind == OPTION_ROUTES ||
				row->kind == OPTION_OFFLOADS))
		return option_set(r->cfg, row, "none", err) || config_error_locate(r->src, err);
	if (key->count == 0)
		return yaml_key_error(err, key,
				      "an empty list; give a value, or leave the line out");
	for (uint32_t i = 0; i < key->count; i++) {
		const struct yaml_item *item = &key->items[i];

		r->src->line[option_number(row)] = item->line;
		used += (size_t)snprintf(words + used, sizeof words - used, "%s%s",
					 i == 0 ? "" : ",", item->text);
		if (used >= sizeof words || strchr(item->text, ',') != NULL)
			return yaml_key_error(err, key, "\"%.40s\": expected one value per item",
					      item->text);
		if (row->kind == OPTION_LISTEN)
			option_forget_listen(r->cfg);
		if (!option_set(r->cfg, row, words, err))
			return config_error_locate(r->src, err);
	}
	r->src->line[option_number(row)] = key->line;
	return true;
}

static bool
takes_list(const struct option_row *row)
{
	return row->kind == OPTION_NETS || row->kind == OPTION_LISTEN ||
	       row->kind == OPTION_NET_LIST || row->kind == OPTION_ADDRESSES ||
	       row->kind == OPTION_ROUTES || row->kind == OPTION_LCORES ||
	       row->kind == OPTION_NODES || row->kind == OPTION_NUMA ||
	       row->kind == OPTION_OFFLOADS || row->kind == OPTION_SERVERS;
}

/* Describes the form of a row's value in one to three words, for an error. */
static const char *
value_form(const struct option_row *row)
{
	if (row->kind == OPTION_COUNT)
		return "a number";
	return row->arg != NULL ? row->arg : "yes or no";
}

static bool
parse_key(void *ctx, const struct yaml_key *key, struct error *err)
{
	struct reader *r = ctx;
	const struct option_row *row = config_file_row(key->path);

	if (row == NULL) {
		const size_t list = strcspn(key->path, "[");

		if (key->path[list] != '\0' && is_row(key->path, list))
			return yaml_key_error(err, key, "a mapping; expected one value per item");
		if (section_named(key->path) == NULL)
			return (key->path[0] == '\0' && key->shape == YAML_SECTION) ||
			       refuse_key(key, err);
		/* An empty section, such as "network:" alone, sets nothing and is allowed. */
		if (key->shape == YAML_SECTION ||
		    (key->shape == YAML_VALUE && key->text[0] == '\0'))
			return true;
		return yaml_key_error(err, key, "a section; expected keys below it, indented");
	}
	r->src->line[option_number(row)] = key->line;
	switch (key->shape) {
	case YAML_VALUE:
		return parse_value(r, row, key, err);
	case YAML_LIST:
		if (takes_list(row))
			return parse_list(r, row, key, err);
		return yaml_key_error(err, key, "a list; expected one value (%s)", value_form(row));
	case YAML_SECTION:
		break;
	}
	return yaml_key_error(err, key, "a mapping; expected one value (%s)", value_form(row));
}

/* Refuses two workers on one CPU without cores.share: each would run at half speed. */
static bool
check_shared(const struct config *cfg, const struct config_source *src, struct error *err)
{
	static const char name[] = "lcores";
	const struct option_row *row = option_by_name(name, sizeof name - 1);

	if (src->line[option_number(row)] == 0 || cfg->share_cpus ||
	    !lcores_share_cpus(&cfg->lcores))
		return true;
	error_set(err, "--lcores: a CPU is listed twice; give each worker "
		       "a CPU of its own, or say --share-cpus yes");
	return config_error_locate(src, err);
}

/* Returns the first line of the text that has options as on a command line, such as "-m 64"; 0:
 * none. memcached.conf is such a file, which newcomers try first. */
static uint32_t
find_option_line(const char *text)
{
	uint32_t line = 1;

	for (const char *at = text; at != NULL; line++) {
		if (at[0] == '-' && (isalpha((unsigned char)at[1]) || at[1] == '-') &&
		    strncmp(at, "---", 3) != 0)
			return line;
		at = strchr(at, '\n');
		at += at != NULL;
	}
	return 0;
}

bool
config_file_load(struct config *cfg, struct config_source *src, const char *file, struct error *err)
{
	struct reader r = {cfg, src};
	const struct yaml_visitor v = {parse_key, &r};
	char text[YAML_FILE_BYTES + 1];
	uint32_t line;
	ssize_t len;

	if (strlen(file) >= sizeof src->file)
		return error_set(err, "--config: a path of more than %zu characters",
				 sizeof src->file - 1);
	strcpy(src->file, file);
	len = text_file_read(text, YAML_FILE_BYTES, "", file, err);
	if (len < 0)
		return false;
	if (yaml_keys_of_text(file, text, (size_t)len, &v, err))
		return check_shared(cfg, src, err);
	text[len] = '\0';
	line = find_option_line(text);
	return line != 0 &&
	       error_set_code(err, err->code,
			      "%s:%u: memcached.conf options, not YAML; convert them with: clockoo "
			      "--config none $(grep ^- %s) --print-config",
			      file, line, file);
}

bool
config_file_read(struct config *cfg, struct config_source *src, const char *file, const char *text,
		 size_t len, struct error *err)
{
	struct reader r = {cfg, src};
	const struct yaml_visitor v = {parse_key, &r};

	snprintf(src->file, sizeof src->file, "%s", file);
	return yaml_keys_of_text(file, text, len, &v, err) && check_shared(cfg, src, err);
}
