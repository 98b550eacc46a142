/*
 * vec16.h - sixteen bytes compared at once: SSE4.1 on x86-64, Advanced SIMD on arm64.
 *
 * Shape:  a vec16 is 16 bytes, or 8 or 4 words in the byte order of the CPU. A comparison sets all
 *         bits of a lane that is equal, and clears those of the others.
 *
 * Thread: any. A load of bytes that another thread changes may see old and new ones together.
 */
#ifndef CLOCKOO_VEC16_H
#define CLOCKOO_VEC16_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

#include <smmintrin.h>

typedef __m128i vec16;

static inline vec16
vec16_load(const void *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

static inline vec16
vec16_load_aligned(const void *p)
{
	return _mm_load_si128((const __m128i *)p);
}

static inline vec16
vec16_zero(void)
{
	return _mm_setzero_si128();
}

static inline vec16
vec16_of_8(uint8_t byte)
{
	return _mm_set1_epi8((char)byte);
}

static inline vec16
vec16_of_16(uint16_t word)
{
	return _mm_set1_epi16((short)word);
}

static inline vec16
vec16_of_32(uint32_t word)
{
	return _mm_set1_epi32((int)word);
}

static inline vec16
vec16_equal_8(vec16 a, vec16 b)
{
	return _mm_cmpeq_epi8(a, b);
}

static inline vec16
vec16_equal_16(vec16 a, vec16 b)
{
	return _mm_cmpeq_epi16(a, b);
}

static inline vec16
vec16_equal_32(vec16 a, vec16 b)
{
	return _mm_cmpeq_epi32(a, b);
}

static inline vec16
vec16_or(vec16 a, vec16 b)
{
	return _mm_or_si128(a, b);
}

static inline vec16
vec16_and(vec16 a, vec16 b)
{
	return _mm_and_si128(a, b);
}

static inline vec16
vec16_xor(vec16 a, vec16 b)
{
	return _mm_xor_si128(a, b);
}

/* Returns the smaller byte of each two, unsigned. */
static inline vec16
vec16_min_8(vec16 a, vec16 b)
{
	return _mm_min_epu8(a, b);
}

/* Returns the 16 words of a and b as bytes, saturated as signed numbers: signs stay. */
static inline vec16
vec16_pack_16(vec16 a, vec16 b)
{
	return _mm_packs_epi16(a, b);
}

/* Returns the 8 words of a and b as words of 16 bits, saturated as signed numbers. */
static inline vec16
vec16_pack_32(vec16 a, vec16 b)
{
	return _mm_packs_epi32(a, b);
}

/* Returns the highest bit of each byte: bit i is byte i's. */
static inline uint32_t
vec16_signs(vec16 v)
{
	return (uint32_t)_mm_movemask_epi8(v);
}

static inline bool
vec16_is_zero(vec16 v)
{
	return _mm_testz_si128(v, v);
}

/* Returns the number of the first least byte of eight, 0 being the lowest of the word. */
static inline uint32_t
least_byte(uint64_t bytes)
{
	const __m128i words = _mm_cvtepu8_epi16(_mm_cvtsi64_si128((int64_t)bytes));

	return (uint32_t)_mm_extract_epi16(_mm_minpos_epu16(words), 1);
}

#elif defined(__aarch64__) && !defined(__AARCH64EB__)

#include <arm_neon.h>

typedef uint8x16_t vec16;

static inline vec16
vec16_load(const void *p)
{
	return vld1q_u8((const uint8_t *)p);
}

static inline vec16
vec16_load_aligned(const void *p)
{
	return vec16_load(p);
}

static inline vec16
vec16_zero(void)
{
	return vdupq_n_u8(0);
}

static inline vec16
vec16_of_8(uint8_t byte)
{
	return vdupq_n_u8(byte);
}

static inline vec16
vec16_of_16(uint16_t word)
{
	return vreinterpretq_u8_u16(vdupq_n_u16(word));
}

static inline vec16
vec16_of_32(uint32_t word)
{
	return vreinterpretq_u8_u32(vdupq_n_u32(word));
}

static inline vec16
vec16_equal_8(vec16 a, vec16 b)
{
	return vceqq_u8(a, b);
}

static inline vec16
vec16_equal_16(vec16 a, vec16 b)
{
	return vreinterpretq_u8_u16(vceqq_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
}

static inline vec16
vec16_equal_32(vec16 a, vec16 b)
{
	return vreinterpretq_u8_u32(vceqq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}

static inline vec16
vec16_or(vec16 a, vec16 b)
{
	return vorrq_u8(a, b);
}

static inline vec16
vec16_and(vec16 a, vec16 b)
{
	return vandq_u8(a, b);
}

static inline vec16
vec16_xor(vec16 a, vec16 b)
{
	return veorq_u8(a, b);
}

static inline vec16
vec16_min_8(vec16 a, vec16 b)
{
	return vminq_u8(a, b);
}

static inline vec16
vec16_pack_16(vec16 a, vec16 b)
{
	return vreinterpretq_u8_s8(vcombine_s8(vqmovn_s16(vreinterpretq_s16_u8(a)),
					       vqmovn_s16(vreinterpretq_s16_u8(b))));
}

static inline vec16
vec16_pack_32(vec16 a, vec16 b)
{
	return vreinterpretq_u8_s16(vcombine_s16(vqmovn_s32(vreinterpretq_s32_u8(a)),
						 vqmovn_s32(vreinterpretq_s32_u8(b))));
}

/* Each sign is moved to its bit of its half, and the bits of a half are added up. */
static inline uint32_t
vec16_signs(vec16 v)
{
	static const int8_t place[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
	const uint8x16_t bits = vshlq_u8(vshrq_n_u8(v, 7), vld1q_s8(place));

	return (uint32_t)vaddv_u8(vget_low_u8(bits)) | (uint32_t)vaddv_u8(vget_high_u8(bits)) << 8;
}

static inline bool
vec16_is_zero(vec16 v)
{
	return vmaxvq_u8(v) == 0;
}

static inline uint32_t
least_byte(uint64_t bytes)
{
	const uint8x8_t v = vcreate_u8(bytes);
	const uint8x8_t least = vceq_u8(v, vdup_n_u8(vminv_u8(v)));

	return (uint32_t)__builtin_ctzll(vget_lane_u64(vreinterpret_u64_u8(least), 0)) / 8;
}

#else
#error "vec16.h knows x86-64 and little-endian arm64"
#endif

#endif
