/*
 * tls_shared.c - replaces the context that all cores use.
 */
#include "tls_conns.h"

#include "base/check.h"

void
tls_shared_begin(struct tls_shared *sh, struct tls_context *first, uint32_t cores)
{
	ensure(cores <= TLS_CORES_MAX);
	*sh = (struct tls_shared){.context = {first}, .cores = cores};
}

bool
tls_shared_settled_mt(const struct tls_shared *sh)
{
	const uint32_t version = atomic_load_explicit(&sh->version, memory_order_relaxed);

	for (uint32_t i = 0; i < sh->cores; i++)
		if (atomic_load_explicit(&sh->seen[i], memory_order_acquire) != version)
			return false;
	return true;
}

bool
tls_shared_replace_mt(struct tls_shared *sh, struct tls_context *next)
{
	const uint32_t version = atomic_load_explicit(&sh->version, memory_order_relaxed);
	const uint32_t other = (version + 1) % 2;

	if (!tls_shared_settled_mt(sh))
		return false;
	tls_context_free(sh->context[other]);
	sh->context[other] = next;
	atomic_store_explicit(&sh->version, version + 1, memory_order_release);
	return true;
}

void
tls_shared_end(struct tls_shared *sh)
{
	tls_context_free(sh->context[0]);
	tls_context_free(sh->context[1]);
}
