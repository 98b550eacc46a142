/*
 * user_net_absent.c - port user of a program built without libslirp: refused.
 */
#include "user_net.h"

bool
user_net_is_built(struct error *err)
{
	return error_set(err, "--port user: this program was built without libslirp: install "
			      "libslirp-dev and build it again");
}

bool
user_net_open(struct user_net **u, const struct config *cfg, struct error *err)
{
	*u = NULL;
	(void)cfg;
	return user_net_is_built(err);
}

bool
user_net_check(const struct config *cfg, struct error *err)
{
	(void)cfg;
	return user_net_is_built(err);
}

bool
user_net_start(struct user_net *u, struct cable *cable, struct error *err)
{
	(void)u;
	(void)cable;
	return user_net_is_built(err);
}

bool
user_net_listen(struct user_net *u, struct error *err)
{
	(void)u;
	return user_net_is_built(err);
}

uint64_t
user_net_dropped_mt(const struct user_net *u)
{
	(void)u;
	return 0;
}

void
user_net_close(struct user_net *u)
{
	(void)u;
}
