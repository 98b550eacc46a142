#include "reload.h"
#include "policy.h"

#include <stdio.h>

struct report {
	const char *file;
	bool named; /* any key */
};

static void
say_key(void *arg, const char *option, const char *key, const char *value)
{
	struct report *r = arg;

	r->named = true;
	if (policy_may_change(option))
		fprintf(stderr, "clockoo: reload: %s: %s is %s now\n", r->file, key, value);
	else
		fprintf(stderr, "clockoo: reload: %s: %s changes only by a restart\n", r->file,
			key);
}

/* What the file of the start set, or one since: a key that goes from it again has changed too. */
static void
remember(struct config_source *all, const struct config_source *src)
{
	for (uint32_t i = 0; i < CONFIG_ROWS_MAX; i++)
		if (all->line[i] == 0)
			all->line[i] = src->line[i];
}

static void
reload_config(struct appliance *a)
{
	/* By its whole path: -d has left the folder. And it must still be there. */
	struct config_source src = {.again = a->config_path};
	struct report report = {.file = src.file};
	struct config now;
	struct fault f;

	if (config_parse(&now, &src, a->argc, a->argv, &f) != CONFIG_RUN) {
		config_blame(&src, &f);
		fprintf(stderr, "clockoo: reload: %s; everything stays as it was\n", f.text);
		return;
	}
	config_differ(&(struct config_told){&a->asked, &a->source},
		      &(struct config_told){&now, &src}, say_key, &report);
	if (!report.named)
		fprintf(stderr, "clockoo: reload: %s: nothing changed\n", src.file);
	remember(&a->source, &src);
	policy_change(a, &now);
}

void
reload_all(struct appliance *a)
{
	if (a->source.file[0] != '\0')
		reload_config(a);
	else if (a->users.path[0] == '\0')
		fprintf(stderr, "clockoo: reload: there is no file to read again\n");
	users_reload(&a->users);
}
