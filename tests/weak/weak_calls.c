/*
 * weak_calls.c - the functions that gcc's -fsanitize=thread calls, and the C library's that the
 * product calls by these names (meson.build).
 */
#include "weak_internal.h"

#include <string.h>

#define FROM ((uintptr_t)__builtin_return_address(0))

#define PLAIN(name, n, write)                                                                      \
	void weak_##name(const void *p) __asm__("__tsan_" #name);                                  \
	void weak_##name(const void *p)                                                            \
	{                                                                                          \
		weak_plain((uintptr_t)p, n, write, FROM);                                          \
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
	void weak_##name(const void *p, unsigned long n) __asm__("__tsan_" #name);                 \
	void weak_##name(const void *p, unsigned long n)                                           \
	{                                                                                          \
		weak_plain((uintptr_t)p, (uint32_t)n, write, FROM);                                \
	}
RANGE(read_range, false)
RANGE(write_range, true)

#define NOTHING(name, ...)                                                                         \
	void weak_##name(__VA_ARGS__) __asm__("__tsan_" #name);                                    \
	void weak_##name(__VA_ARGS__)                                                              \
	{                                                                                          \
	}
NOTHING(init, void)
NOTHING(func_entry, void *caller __attribute__((unused)))
NOTHING(func_exit, void)

void weak_thread_fence(int order) __asm__("__tsan_atomic_thread_fence");
void
weak_thread_fence(int order)
{
	weak_fence(order, FROM);
}

#define CHANGE(bits, name, how)                                                                    \
	uint##bits##_t weak_##name##bits(volatile void *p, uint##bits##_t v,                       \
					 int order) __asm__("__tsan_atomic" #bits "_" #name);      \
	uint##bits##_t weak_##name##bits(volatile void *p, uint##bits##_t v, int order)            \
	{                                                                                          \
		return (uint##bits##_t)weak_change_word(p, how, v, bits / 8, order, FROM);         \
	}
#define COMPARE(bits, kind)                                                                        \
	int weak_compare_##kind##bits(volatile void *p, void *was, uint##bits##_t v, int order,    \
				      int order_failed) __asm__("__tsan_atomic" #bits              \
								"_compare_exchange_" #kind);       \
	int weak_compare_##kind##bits(volatile void *p, void *was, uint##bits##_t v, int order,    \
				      int order_failed)                                            \
	{                                                                                          \
		return weak_compare(p, was, v, bits / 8, order, order_failed, FROM);               \
	}
#define ATOMIC(bits)                                                                               \
	uint##bits##_t weak_load##bits(const volatile void *p,                                     \
				       int order) __asm__("__tsan_atomic" #bits "_load");          \
	uint##bits##_t weak_load##bits(const volatile void *p, int order)                          \
	{                                                                                          \
		return (uint##bits##_t)weak_read(p, bits / 8, order, FROM);                        \
	}                                                                                          \
	void weak_store##bits(volatile void *p, uint##bits##_t v,                                  \
			      int order) __asm__("__tsan_atomic" #bits "_store");                  \
	void weak_store##bits(volatile void *p, uint##bits##_t v, int order)                       \
	{                                                                                          \
		weak_write(p, v, bits / 8, order, FROM);                                           \
	}                                                                                          \
	CHANGE(bits, exchange, WEAK_EXCHANGE)                                                      \
	CHANGE(bits, fetch_add, WEAK_ADD)                                                          \
	CHANGE(bits, fetch_sub, WEAK_SUB)                                                          \
	CHANGE(bits, fetch_and, WEAK_AND)                                                          \
	CHANGE(bits, fetch_or, WEAK_OR)                                                            \
	CHANGE(bits, fetch_xor, WEAK_XOR)                                                          \
	COMPARE(bits, strong)                                                                      \
	COMPARE(bits, weak)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

/* ---- the C library ---- */

void *weak_memcpy(void *to, const void *from, size_t n);
void *
weak_memcpy(void *to, const void *from, size_t n)
{
	weak_plain((uintptr_t)from, (uint32_t)n, false, FROM);
	weak_plain((uintptr_t)to, (uint32_t)n, true, FROM);
	return memcpy(to, from, n);
}

void *weak_memmove(void *to, const void *from, size_t n);
void *
weak_memmove(void *to, const void *from, size_t n)
{
	weak_plain((uintptr_t)from, (uint32_t)n, false, FROM);
	weak_plain((uintptr_t)to, (uint32_t)n, true, FROM);
	return memmove(to, from, n);
}

void *weak_memset(void *to, int byte, size_t n);
void *
weak_memset(void *to, int byte, size_t n)
{
	weak_plain((uintptr_t)to, (uint32_t)n, true, FROM);
	return memset(to, byte, n);
}

int weak_memcmp(const void *a, const void *b, size_t n);
int
weak_memcmp(const void *a, const void *b, size_t n)
{
	weak_plain((uintptr_t)a, (uint32_t)n, false, FROM);
	weak_plain((uintptr_t)b, (uint32_t)n, false, FROM);
	return memcmp(a, b, n);
}
