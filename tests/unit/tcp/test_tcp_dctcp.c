/*
 * DCTCP's alpha (RFC 8257 section 3.3). Goal: alpha follows the share of marked bytes of each
 * window, as real numbers do, and a window ends when its data is acknowledged. Method: windows of
 * ACKs with chosen marks, beside the RFC's formula in floating point.
 */
#include "tcp/tcp.h"
#include "support/test.h"

#include <math.h>

#define MSS      1000u
#define WINDOWS  200u
#define SEGS     40u
#define ONE      65536.0
#define G        (1 / 16.0)
#define ROUNDING 32.0 /* parts of ONE: sixteen steps are each rounded down */

static struct conn
begin(uint32_t una)
{
	struct conn c = {.snd_una = una, .snd_nxt = una, .snd_max = una};

	c.cc.dctcp = (struct dctcp_state){.alpha = 65536, .begin = una, .end = una};
	return c;
}

/* Acknowledges SEGS segments one by one, the last `marked` of them with ECE. The next window was
 * sent before the last ACK arrives. */
static void
window(struct conn *c, uint32_t marked)
{
	for (uint32_t i = 0; i < SEGS; i++) {
		const uint32_t ack = c->snd_una + MSS;

		dctcp_on_ack(c, ack, i >= SEGS - marked);
		c->snd_una = ack;
		c->snd_nxt = c->snd_max = ack + SEGS * MSS;
	}
}

TEST(alpha_follows_the_share_of_marks)
{
	static const uint32_t marks[] = {0, SEGS, SEGS / 2, 1, 7};
	struct conn c = begin(UINT32_MAX - 100 * MSS); /* the numbers wrap */

	for (uint32_t k = 0; k < sizeof marks / sizeof *marks; k++) {
		for (uint32_t w = 0; w < WINDOWS; w++)
			window(&c, marks[k]);
		check(fabs(c.cc.dctcp.alpha / ONE - (double)marks[k] / SEGS) < ROUNDING / ONE);
	}
}

TEST(a_window_moves_alpha_by_a_sixteenth)
{
	struct conn c = begin(1);
	double alpha = 1;

	c.snd_nxt = c.snd_max = 1 + MSS;
	for (uint32_t w = 0; w < 20; w++) {
		/* One segment is a window of its own. */
		dctcp_on_ack(&c, c.snd_una + MSS, w % 3 == 0);
		c.snd_una += MSS;
		c.snd_nxt = c.snd_max = c.snd_una + MSS;
		alpha = alpha * (1 - G) + (w % 3 == 0) * G;
		check(fabs(c.cc.dctcp.alpha / ONE - alpha) < ROUNDING / ONE);
	}
}

TEST(a_duplicate_or_old_ack_moves_nothing)
{
	struct conn c = begin(1);
	uint32_t alpha;

	c.snd_nxt = c.snd_max = 1 + 4 * MSS;
	dctcp_on_ack(&c, 1 + MSS, false);
	c.snd_una = 1 + MSS;
	alpha = c.cc.dctcp.alpha;
	dctcp_on_ack(&c, 1 + MSS, true);
	dctcp_on_ack(&c, 1, true);
	check_eq(c.cc.dctcp.alpha, alpha);
	check_eq(c.cc.dctcp.marked, 0);
}

int
main(void)
{
	return tests_run(NULL, NULL);
}
