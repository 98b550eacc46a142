/*
 * The curve of CUBIC in integers. Goal: the curve is RFC 9438's, as exact as bytes and
 * milliseconds allow, for every window and segment size, and never overflows. Method: against
 * long double.
 */
#include "tcp/tcp_cubic.h"

#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS     200000u
#define C          0.4L
#define WINDOW_MAX (64u << 20)

static uint64_t state = 5;

static uint64_t
random_bits(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 11;
}

static uint32_t
below(uint32_t n)
{
	return (uint32_t)(random_bits() % n);
}

TEST(the_root_is_the_largest_whose_cube_fits)
{
	check_eq(cubic_root(0), 0);
	check_eq(cubic_root(7), 1);
	check_eq(cubic_root(8), 2);
	check_eq(cubic_root(UINT64_MAX), 2642245);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		const uint64_t n = random_bits() >> below(53);
		const uint64_t r = cubic_root(n);

		check(r * r * r <= n);
		check((r + 1) * (r + 1) * (r + 1) > n);
	}
}

/* Section 4.2, figure 2: K is the cube root of (W_max - cwnd_epoch) / C. */
TEST(k_is_the_time_of_the_climb)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		const uint32_t bytes = below(WINDOW_MAX), mss = 64 + below(8897);
		const long double k = cbrtl((long double)bytes / mss / C) * 1000;

		/* K is a multiple of 4 ms. */
		check(fabsl(k - cubic_k_ms(bytes, mss)) <= 4.001L);
	}
}

/* The window of section 4.2, figure 1. */
TEST(the_window_is_on_the_curve)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		const uint32_t mss = 64 + below(8897), origin = mss + below(WINDOW_MAX);
		const uint32_t k = below(60000), t = below(k + CUBIC_MS_MAX);
		const long double away = ((long double)t - k) / 1000;
		long double w = C * away * away * away * mss + origin;

		w = w < 0 ? 0 : w > UINT32_MAX ? UINT32_MAX : w;
		check(fabsl(w - cubic_window(origin, mss, t, k)) <= 1);
	}
}

TEST(after_k_the_window_is_where_the_loss_was)
{
	for (uint32_t i = 0; i < 1000; i++) {
		const uint32_t mss = 536 + below(8000), w_max = 100 * mss + below(WINDOW_MAX);
		const uint32_t cwnd = w_max / 10 * 7;
		const uint32_t k = cubic_k_ms(w_max - cwnd, mss);

		check_eq(cubic_window(w_max, mss, k, k), w_max);
		/* At the epoch's beginning the window is cwnd, but for the 4 ms. */
		check(llabs((long long)cubic_window(w_max, mss, 0, k) - cwnd) <
		      (long long)w_max / 100 + mss);
	}
}

/* Times longer than any epoch neither overflow nor shrink the window. */
TEST(far_times_stay_in_bounds)
{
	check_eq(cubic_window(1000, 9000, UINT32_MAX, 0), 1843201000);
	check_eq(cubic_window(1000, 9000, 0, UINT32_MAX), 0);
	check_eq(cubic_window(UINT32_MAX, 16384, UINT32_MAX, 0), UINT32_MAX);
}
