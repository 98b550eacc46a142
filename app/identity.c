#include "identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

bool
identity_find(struct identity *id, const char *user, struct fault *f)
{
	const struct passwd *entry;

	*id = (struct identity){0};
	if (user[0] == '\0' || geteuid() != 0)
		return true;
	entry = getpwnam(user);
	if (entry == NULL)
		return fault_say_as(f, FAULT_NO_USER, "--user: there is no user \"%s\"", user);
	*id = (struct identity){true, entry->pw_uid, entry->pw_gid};
	return true;
}

bool
identity_take(const struct identity *id, const struct config *cfg, struct fault *f)
{
	if (!id->change)
		return true;
	if (initgroups(cfg->user, id->gid) != 0 || setgid(id->gid) != 0 || setuid(id->uid) != 0)
		return fault_say_as(f, FAULT_OS, "--user: cannot become %s: %s", cfg->user,
				    strerror(errno));
	if (id->uid != 0 && setuid(0) == 0)
		return fault_say_as(f, FAULT_OS, "--user: still root after becoming %s", cfg->user);
	/* The kernel takes core dumps away from who changes its user (prctl(2)). */
	if (cfg->coredumps)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return true;
}
