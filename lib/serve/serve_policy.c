/*
 * serve_policy.c - what is allowed, and the words between program and cores.
 */
#include "serve_internal.h"

#include "serve_policy.h"

void
serve_shared_set_policy(struct serve_shared *sh, const struct serve_policy *policy)
{
	ensure(policy->network_count <= SERVE_NETWORKS_MAX);
	sh->admin.policy = *policy;
	if (policy->prefix_delimiter == 0)
		sh->admin.policy.prefix_delimiter = ':';
	atomic_store_explicit(&sh->admin.detail, policy->detail, memory_order_relaxed);
}

void
serve_policy_update_mt(struct serve_shared *sh, const struct serve_policy *policy)
{
	struct serve_policy *now = &sh->admin.policy;

	/* Each stands for itself, so a core may see some of them earlier than others. */
	now->no_flush = policy->no_flush;
	now->no_dumps = policy->no_dumps;
	now->no_watch = policy->no_watch;
	now->shutdown = policy->shutdown;
	now->idle_timeout_s = policy->idle_timeout_s;
}

/* Has every core begun a turn since the table was changed last? */
static bool
users_grace_period_over(const struct serve_shared *sh, uint32_t turn)
{
	for (uint32_t i = 0; i < sh->cores; i++)
		/* Acquire: pairs with the release in users_refresh, so that a core's last look into
		 * the other table comes before we write it. */
		if (atomic_load_explicit(&sh->admin.users_version_seen[i], memory_order_acquire) !=
		    turn)
			return false;
	return true;
}

bool
serve_users_replace_mt(struct serve_shared *sh, const struct serve_users *users)
{
	const uint32_t turn = atomic_load_explicit(&sh->admin.users_version, memory_order_relaxed);

	ensure(users->count <= SERVE_USERS_MAX);
	if (!users_grace_period_over(sh, turn))
		return false;
	sh->admin.users[(turn + 1) % 2] = *users;
	/* Release: pairs with the acquire in users_refresh. */
	atomic_store_explicit(&sh->admin.users_version, turn + 1, memory_order_release);
	return true;
}

enum serve_stop
serve_stop_requested_mt(const struct serve_shared *sh)
{
	return (enum serve_stop)atomic_load_explicit(&sh->admin.stop, memory_order_relaxed);
}

void
serve_rusage_set_mt(struct serve_shared *sh, uint64_t user_us, uint64_t system_us)
{
	atomic_store_explicit(&sh->admin.user_us, user_us, memory_order_relaxed);
	atomic_store_explicit(&sh->admin.system_us, system_us, memory_order_relaxed);
}

uint32_t
serve_verbosity_mt(const struct serve_shared *sh)
{
	return atomic_load_explicit(&sh->admin.verbosity, memory_order_relaxed);
}
