/*
 * The end that sends of a port that only carries frames. Goal: a server that gets no CPU for a
 * while, before its first frame, amid the measurement or at its end, changes no figure but the
 * rate; frames that a port drops are lost; an end that never answers ends the measurement. Method:
 * a port that counts frames and returns them while the test says so, on a clock of the test.
 */
#include "echo_turns.h"

#include "support/test.h"

#define MS      1000000ull
#define SPAN_MS 100u

struct counting_port {
	struct port port;
	uint32_t kept; /* frames on their way */
	bool answers;
	uint8_t bytes[BURST_MAX][128];
};

static struct counting_port *
counting(struct port *port)
{
	return (struct counting_port *)(void *)port;
}

static void
counting_rx(struct port *port, struct burst *b, uint32_t count)
{
	struct counting_port *p = counting(port);

	b->count = !p->answers ? 0 : p->kept < count ? p->kept : count;
	p->kept -= b->count;
}

static uint32_t
counting_tx(struct port *port, const struct burst *b)
{
	counting(port)->kept += b->count;
	return b->count;
}

static void
counting_alloc(struct port *port, struct burst *b, uint32_t count)
{
	b->count = count;
	for (uint32_t i = 0; i < count; i++) {
		b->data[i] = counting(port)->bytes[i];
		b->ol_flags[i] = 0;
	}
}

static void
counting_drop(struct port *port, struct frame *const *frames, uint32_t count)
{
	(void)port, (void)frames, (void)count;
}

static const struct port_ops OPS = {
	.rx = counting_rx,
	.tx = counting_tx,
	.alloc = counting_alloc,
	.drop = counting_drop,
};

static struct counting_port port;
static struct echo_asker asker;
static uint64_t now_ms;

static void
begin(void)
{
	port = (struct counting_port){.port.ops = &OPS, .answers = true};
	now_ms = 1;
	echo_ask_begin(&asker, &port.port, NULL, SPAN_MS * MS, now_ms * MS);
}

/* Runs a turn each ms, ms of them or fewer. Returns true once the measurement is over. */
static bool
run(uint64_t ms, bool answers)
{
	port.answers = answers;
	for (uint64_t end = now_ms + ms; now_ms < end; now_ms++)
		if (echo_ask(&asker, now_ms * MS) == 0)
			return true;
	return false;
}

TEST(a_server_that_answers_is_measured_in_the_second_half)
{
	begin();
	check(run(1000, true));
	check_eq(asker.lost, 0);
	check(asker.turns >= SPAN_MS && asker.turns <= SPAN_MS + 2);
	check(asker.answered >= asker.turns);
}

TEST(the_time_begins_with_the_first_frame_that_comes_back)
{
	begin();
	check(!run(10 * SPAN_MS, false));
	check(run(1000, true));
	check(asker.turns >= SPAN_MS && asker.answered >= asker.turns);
}

TEST(a_server_that_stops_amid_the_measurement_is_awaited)
{
	begin();
	check(!run(SPAN_MS / 2, true));
	check(!run(10 * SPAN_MS, false));
	check(run(1000, true));
	check(asker.answered != 0);
}

TEST(frames_that_never_come_back_are_lost)
{
	begin();
	check(!run(SPAN_MS + 50, true));
	port.kept = 0;
	check(!run(3 * SPAN_MS, false));
	check_eq(asker.lost, ECHO_WINDOW);
	port.kept = 0;
	check(run(1000, true));
	check_eq(asker.lost, 2 * ECHO_WINDOW);
}

TEST(an_end_that_never_answers_ends_the_measurement)
{
	begin();
	check(run(2 * SPAN_MS + ECHO_PATIENCE_NS / MS + 2, false));
	check_eq(asker.answered, 0);
}
