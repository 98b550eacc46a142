/*
 * traced.c - the functions that gcc's -fsanitize=thread calls. Atomic accesses are made here.
 */
#include "traced.h"

#define FROM             __builtin_return_address(0)
#define SEE(p, n, write) traced_access((uintptr_t)(p), n, write, FROM)

/* ---- plain accesses ---- */

#define PLAIN(name, n, write)                                                                      \
	void traced_##name(const void *p) __asm__("__tsan_" #name);                                \
	void traced_##name(const void *p)                                                          \
	{                                                                                          \
		SEE(p, n, write);                                                                  \
	}

#define PLAIN_OF(n)                                                                                \
	PLAIN(read##n, n, false)                                                                   \
	PLAIN(write##n, n, true)                                                                   \
	PLAIN(unaligned_read##n, n, false)                                                         \
	PLAIN(unaligned_write##n, n, true)

PLAIN_OF(1)
PLAIN_OF(2)
PLAIN_OF(4)
PLAIN_OF(8)
PLAIN_OF(16)

#define RANGE(name, write)                                                                         \
	void traced_##name(const void *p, unsigned long n) __asm__("__tsan_" #name);               \
	void traced_##name(const void *p, unsigned long n)                                         \
	{                                                                                          \
		SEE(p, (uint32_t)n, write);                                                        \
	}

RANGE(read_range, false)
RANGE(write_range, true)

/* ---- calls without an access ---- */

#define NOTHING(name, ...)                                                                         \
	void traced_##name(__VA_ARGS__) __asm__("__tsan_" #name);                                  \
	void traced_##name(__VA_ARGS__)                                                            \
	{                                                                                          \
	}

NOTHING(init, void)
NOTHING(func_entry, void *caller __attribute__((unused)))
NOTHING(func_exit, void)
NOTHING(atomic_thread_fence, int order __attribute__((unused)))

/* ---- atomic accesses: in one thread, so their order does not matter ---- */

#define ATOMIC_CHANGE(bits, name)                                                                  \
	uint##bits##_t traced_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v,  \
						    int order) __asm__("__tsan_atomic" #bits       \
								       "_" #name);                 \
	uint##bits##_t traced_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v,  \
						    int order __attribute__((unused)))             \
	{                                                                                          \
		SEE(p, bits / 8, true);                                                            \
		return __atomic_##name(p, v, __ATOMIC_SEQ_CST);                                    \
	}

#define ATOMIC_COMPARE(bits, kind)                                                                 \
	bool traced_atomic##bits##_compare_##kind(                                                 \
		volatile uint##bits##_t *p, uint##bits##_t *was, uint##bits##_t v, int order,      \
		int failed) __asm__("__tsan_atomic" #bits "_compare_exchange_" #kind);             \
	bool traced_atomic##bits##_compare_##kind(                                                 \
		volatile uint##bits##_t *p, uint##bits##_t *was, uint##bits##_t v,                 \
		int order __attribute__((unused)), int failed __attribute__((unused)))             \
	{                                                                                          \
		SEE(p, bits / 8, true);                                                            \
		return __atomic_compare_exchange_n(p, was, v, false, __ATOMIC_SEQ_CST,             \
						   __ATOMIC_SEQ_CST);                              \
	}

#define ATOMIC_OF(bits)                                                                            \
	uint##bits##_t traced_atomic##bits##_load(const volatile uint##bits##_t *p,                \
						  int order) __asm__("__tsan_atomic" #bits         \
								     "_load");                     \
	uint##bits##_t traced_atomic##bits##_load(const volatile uint##bits##_t *p,                \
						  int order __attribute__((unused)))               \
	{                                                                                          \
		SEE(p, bits / 8, false);                                                           \
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                       \
	}                                                                                          \
	void traced_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v,             \
					 int order) __asm__("__tsan_atomic" #bits "_store");       \
	void traced_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v,             \
					 int order __attribute__((unused)))                        \
	{                                                                                          \
		SEE(p, bits / 8, true);                                                            \
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                          \
	}                                                                                          \
	ATOMIC_CHANGE(bits, fetch_add)                                                             \
	ATOMIC_CHANGE(bits, fetch_sub)                                                             \
	ATOMIC_CHANGE(bits, fetch_and)                                                             \
	ATOMIC_CHANGE(bits, fetch_or)                                                              \
	ATOMIC_COMPARE(bits, strong)                                                               \
	ATOMIC_COMPARE(bits, weak)                                                                 \
	uint##bits##_t traced_atomic##bits##_exchange(                                             \
		volatile uint##bits##_t *p, uint##bits##_t v,                                      \
		int order) __asm__("__tsan_atomic" #bits "_exchange");                             \
	uint##bits##_t traced_atomic##bits##_exchange(                                             \
		volatile uint##bits##_t *p, uint##bits##_t v, int order __attribute__((unused)))   \
	{                                                                                          \
		SEE(p, bits / 8, true);                                                            \
		return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                \
	}

ATOMIC_OF(8)
ATOMIC_OF(16)
ATOMIC_OF(32)
ATOMIC_OF(64)
