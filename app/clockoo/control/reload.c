/*
 * reload.c - SIGHUP: the configuration and the users are read again; each changed key is applied
 * or reported.
 */
#include "reload.h"
#include "base/time_units.h"
#include "fleet/fleet.h"
#include "start/policy.h"
#include "access/tls_cores.h"

#include <stdio.h>
#include <string.h>

struct report {
	const char *file;
	bool named;   /* some key was reported */
	bool servers; /* the fleet takes another list */
};

static bool
is_servers(const char *option)
{
	return strcmp(option, "front-servers") == 0 || strcmp(option, "front-gutter") == 0;
}

static void
report_key(void *arg, const char *option, const char *key, const char *value)
{
	struct report *r = arg;

	r->named = true;
	if (policy_may_change(option) || (r->servers && is_servers(option)))
		fprintf(stderr, "clockoo: reload: %s: %s is %s now\n", r->file, key, value);
	else
		fprintf(stderr, "clockoo: reload: %s: %s changes only after a restart\n", r->file,
			key);
}

/* Adds the keys that this file sets to those set since the start: a key that leaves the file has
 * changed too. */
static void
merge_lines(struct config_source *all, const struct config_source *src)
{
	for (uint32_t i = 0; i < CONFIG_ROWS_MAX; i++)
		if (all->line[i] == 0)
			all->line[i] = src->line[i];
}

/* Gives the fleet another list of servers. The lines of a file of servers can change while no key
 * does. */
static void
reload_servers(struct report *r, struct appliance *a, const struct config *now,
	       struct front_look *look)
{
	struct config *const both[] = {&a->asked, &a->config};
	struct error err;

	if (a->fleet == NULL || look == NULL || fleet_has(a->fleet, look)) {
		front_look_free(look);
		return;
	}
	r->named = true;
	if (!fleet_reload(a->fleet, look, clock_ns(CLOCK_MONOTONIC), &err)) {
		fprintf(stderr, "clockoo: reload: %s: %s; the servers are those of before\n",
			r->file, err.text);
		front_look_free(look);
		return;
	}
	fprintf(stderr, "clockoo: reload: %s: front.servers: %u servers take over\n", r->file,
		look->config.servers.count);
	for (uint32_t i = 0; i < sizeof both / sizeof both[0]; i++) {
		memcpy(both[i]->front.servers, now->front.servers, sizeof now->front.servers);
		memcpy(both[i]->front.gutter, now->front.gutter, sizeof now->front.gutter);
	}
}

/* Reads the lists of networks again: their files may have changed without a changed key. */
static void
reload_access(struct report *r, struct appliance *a, struct access_look *look)
{
	char words[ACCESS_WORDS_BYTES];

	access_look_words(look, words);
	if (!access_change(&a->access, look))
		return;
	r->named = true;
	fprintf(stderr, "clockoo: reload: %s: network.allow and network.deny: %s\n", r->file,
		words);
}

static void
reload_config(struct appliance *a)
{
	/* The path is absolute, since -d has left the directory. The file must still exist. */
	struct config_source src = {.again = a->config_path};
	struct report report = {.file = src.file};
	struct access_look access = {0};
	struct front_look *look;
	struct config now;
	struct error err;

	if (config_parse(&now, &src, a->argc, a->argv, &err) != CONFIG_RUN ||
	    !access_look_make(&access, &now, &err) || !front_look_make(&look, &now, &err)) {
		access_look_free(&access);
		config_error_locate(&src, &err);
		fprintf(stderr, "clockoo: reload: %s; the configuration is unchanged\n", err.text);
		return;
	}
	report.servers = a->fleet != NULL && look != NULL;
	config_differ(&(struct config_loaded){&a->asked, &a->source},
		      &(struct config_loaded){&now, &src}, report_key, &report);
	reload_servers(&report, a, &now, look);
	reload_access(&report, a, &access);
	if (!report.named)
		fprintf(stderr, "clockoo: reload: %s: nothing changed\n", src.file);
	merge_lines(&a->source, &src);
	policy_change(a, &now);
}

/* Without a configuration file the servers may have one of their own. */
static void
reload_servers_file(struct appliance *a)
{
	const struct config asked = a->asked;
	struct report report = {.file = asked.front.servers};
	struct front_look *look;
	struct error err;

	if (!front_look_make(&look, &asked, &err))
		fprintf(stderr, "clockoo: reload: %s; the servers are those of before\n", err.text);
	else
		reload_servers(&report, a, &asked, look);
}

/* Reads the files of networks again, where no configuration file is used. */
static void
reload_access_files(struct appliance *a)
{
	struct report report = {.file = "command line"};
	struct access_look look;
	struct error err;

	if (!access_look_make(&look, &a->asked, &err))
		fprintf(stderr, "clockoo: reload: %s; who is let in is unchanged\n", err.text);
	else
		reload_access(&report, a, &look);
}

void
reload_all(struct appliance *a)
{
	const bool has_access = a->asked.allow[0] != '\0' || a->asked.deny[0] != '\0';

	if (a->source.file[0] == '\0' && has_access)
		reload_access_files(a);
	if (a->source.file[0] != '\0')
		reload_config(a);
	else if (a->fleet != NULL)
		reload_servers_file(a);
	else if (a->users.path[0] == '\0' && !has_access && a->tls == NULL)
		fprintf(stderr, "clockoo: reload: there is no configuration file to reload\n");
	users_reload(&a->users);
	if (a->tls != NULL)
		tls_cores_reload(a->tls, &a->config);
}
