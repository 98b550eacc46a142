/*
 * reload.c - SIGHUP: the configuration and the users are read again; each changed key is applied
 * or reported.
 */
#include "reload.h"
#include "fleet.h"
#include "front/front_servers.h"
#include "policy.h"

#include <stdio.h>
#include <string.h>

struct report {
	const char *file;
	bool named; /* any key */
};

static void
report_key(void *arg, const char *option, const char *key, const char *value)
{
	struct report *r = arg;

	r->named = true;
	if (policy_may_change(option))
		fprintf(stderr, "clockoo: reload: %s: %s is %s now\n", r->file, key, value);
	else
		fprintf(stderr, "clockoo: reload: %s: %s changes only after a restart\n", r->file,
			key);
}

/* What the file of the start set, or one since: a key that goes from it again has changed too. */
static void
merge_lines(struct config_source *all, const struct config_source *src)
{
	for (uint32_t i = 0; i < CONFIG_ROWS_MAX; i++)
		if (all->line[i] == 0)
			all->line[i] = src->line[i];
}

/* A file of servers has lines that no key shows. */
static void
report_servers(struct report *r, const struct appliance *a, const struct config *now,
	       const struct front_look *look)
{
	if (a->fleet == NULL || look == NULL ||
	    strcmp(a->asked.front.servers, now->front.servers) != 0 ||
	    front_servers_same(&a->fleet->look->config.servers, &look->config.servers))
		return;
	r->named = true;
	fprintf(stderr, "clockoo: reload: %s: front.servers: %s changes only after a restart\n",
		r->file, now->front.servers);
}

static void
reload_config(struct appliance *a)
{
	/* By its whole path: -d has left the directory. And it must still be there. */
	struct config_source src = {.again = a->config_path};
	struct report report = {.file = src.file};
	struct front_look *look;
	struct config now;
	struct error err;

	if (config_parse(&now, &src, a->argc, a->argv, &err) != CONFIG_RUN ||
	    !front_look_make(&look, &now, &err)) {
		config_error_locate(&src, &err);
		fprintf(stderr, "clockoo: reload: %s; the configuration is unchanged\n", err.text);
		return;
	}
	config_differ(&(struct config_loaded){&a->asked, &a->source},
		      &(struct config_loaded){&now, &src}, report_key, &report);
	report_servers(&report, a, &now, look);
	front_look_free(look);
	if (!report.named)
		fprintf(stderr, "clockoo: reload: %s: nothing changed\n", src.file);
	merge_lines(&a->source, &src);
	policy_change(a, &now);
}

void
reload_all(struct appliance *a)
{
	if (a->source.file[0] != '\0')
		reload_config(a);
	else if (a->users.path[0] == '\0')
		fprintf(stderr, "clockoo: reload: there is no configuration file to reload\n");
	users_reload(&a->users);
}
