#include "reload.h"
#include "policy.h"

#include <stdio.h>

static void
say_fixed(void *arg, const char *option, const char *key)
{
	const struct config_source *src = arg;

	if (!policy_may_change(option))
		fprintf(stderr, "clockoo: reload: %s: %s changes only by a restart\n", src->file,
			key);
}

static void
reload_config(struct appliance *a)
{
	/* By its whole path: -d has left the folder. And it must still be there. */
	struct config_source src = {.again = a->config_path};
	struct config now;
	struct fault f;

	if (config_parse(&now, &src, a->argc, a->argv, &f) != CONFIG_RUN) {
		config_blame(&src, &f);
		fprintf(stderr, "clockoo: reload: %s; everything stays as it was\n", f.text);
		return;
	}
	/* The planner chose the cores where nobody named them. */
	if (now.lcores.count == 0)
		now.lcores = a->config.lcores;
	config_differ(&a->config, &now, say_fixed, &src);
	policy_change(a, &now);
}

void
reload_all(struct appliance *a)
{
	if (a->source.file[0] != '\0')
		reload_config(a);
	users_reload(&a->users);
}
