/*
 * Connections that live long. Goal: the record of a loss more than half the sequence space ago
 * does not keep the next loss from being repaired. Method: a connection whose counters claim that
 * much was sent since; sending it would take minutes.
 */
#include "tcp/tcp.h"

#include "support/test.h"

TEST(an_old_recovery_holds_nothing_back)
{
	static const struct {
		uint32_t since; /* bytes acknowledged since the last recovery ended */
		bool holds;     /* RFC 6582 section 3.2: bytes that were in flight then count */
	} rows[] = {
		{0, true},           {1, false},          {100000, false},     {0x7fffffff, false},
		{0x80000000, false}, {0x80000001, false}, {0xfff00000, false}, {0xffffff00, true},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		static struct conn c;

		c = (struct conn){.recover = 0xffffff80u};
		c.snd_una = c.recover + rows[i].since;
		c.snd_nxt = c.snd_max = c.snd_una + 10000;
		conn_enter_disorder(&c);
		check(c.flags & CONN_DISORDER);
		check_eq(!seq_after(c.snd_una, c.recover), rows[i].holds);
	}
}
