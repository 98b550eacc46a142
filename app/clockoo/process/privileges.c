/*
 * privileges.c - the user of -u: looked up at first, changed to when NIC and memory are taken.
 */
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

bool
privileges_lookup(struct privileges *id, const char *user, struct error *err)
{
	const struct passwd *entry;

	*id = (struct privileges){0};
	if (user[0] == '\0' || geteuid() != 0)
		return true;
	entry = getpwnam(user);
	if (entry == NULL)
		return error_set_code(err, ERROR_NO_USER, "--user: no such user \"%s\"", user);
	*id = (struct privileges){true, entry->pw_uid, entry->pw_gid};
	return true;
}

bool
privileges_drop(const struct privileges *id, const struct config *cfg, struct error *err)
{
	if (!id->change)
		return true;
	if (initgroups(cfg->user, id->gid) != 0 || setgid(id->gid) != 0 || setuid(id->uid) != 0)
		return error_set_code(err, ERROR_OS, "--user: cannot switch to user %s: %s",
				      cfg->user, strerror(errno));
	if (id->uid != 0 && setuid(0) == 0)
		return error_set_code(err, ERROR_OS, "--user: still root after switching to %s",
				      cfg->user);
	/* The kernel disables core files when a process changes its user (prctl(2)). */
	if (cfg->coredumps)
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return true;
}
