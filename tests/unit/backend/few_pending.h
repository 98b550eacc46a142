/*
 * few_pending.h - shared by tests of the ends of pending requests: a rig with a table of few
 * places (FEW_PENDING), whose backend can be held up.
 *
 * Shape:  begin() is called by a test's setup, stop() is its teardown: no request to the backend
 *         may be left.
 */
#ifndef CLOCKOO_FEW_PENDING_H
#define CLOCKOO_FEW_PENDING_H

#include "late_backend.h"
#include "support/test.h"

#define TIMEOUT_TURNS (LATE_TIMEOUT_NS / LATE_TURN_NS)
#define OPEN          (backend_pending(late_rig(late)->serve))

static struct late *late;
static struct rig *rig;

static void
begin(const struct late_config *cfg)
{
	late = late_create(cfg);
	rig = late_rig(late);
}

static void
turns(uint32_t n)
{
	for (; n > 0; n--)
		late_turn(late);
}

/* Checks that no request to the backend is left. */
TEARDOWN(stop)
{
	late_hold(late, false);
	turns(4 * TIMEOUT_TURNS);
	for (uint32_t i = 0; i < FAKE_CONNS; i++)
		rig_lose_slot(rig, i);
	turns(4);
	check_eq(OPEN, 0);
	check_eq(rig_chunks_used(rig), 0);
	late_destroy(late);
}

static struct conn *
say(const char *text)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, text);
	return c;
}

#define SAYS(c, text) check_str(rig_sent(c, NULL), text)

/* s1 and s2 have 31 and 62 bytes, s5 is a miss. */
#define S1        "VALUE s1 1 31\r\nbipwdkryfmtahovcjqxelszgnubipwd\r\n"
#define S0        "VALUE l 0 1\r\nx\r\n"
#define NO_ANSWER "SERVER_ERROR no answer in time\r\n"

/* Returns a line of keys of one lane. */
static const char *
line_of(char kind, uint32_t lane, uint32_t count, uint32_t from)
{
	static char line[512];
	char key[16];

	strcpy(line, "get");
	for (uint32_t n = from; count > 0; n++) {
		const struct view v = {(const uint8_t *)key,
				       (uint32_t)sprintf(key, "%c%u", kind, n)};

		if (n % 5 == 0 || store_hash(rig->core, v) % LATE_LANES != lane)
			continue;
		strcat(strcat(line, " "), key);
		count--;
	}
	return strcat(line, "\r\n");
}

/* Takes all places that a lane may have. */
static void
fill_lane(uint32_t lane)
{
	for (uint32_t i = 0; i < 5; i++) {
		say(line_of('d', lane, 12, 100 * i));
		turns(1);
	}
	check_eq(OPEN, PENDING_MAX / 2);
}

#endif
