/*
 * impair.c - a bad link between two interfaces, for kernels without netem.
 *
 * Moves frames from each interface to the other and loses, doubles, delays and spoils some of
 * them, by a seed. It prints "ready" when it runs, and ends on SIGTERM or SIGINT with one line of
 * JSON: how many frames were changed in each way, and how busy it was, which shows whether it was
 * the bottleneck.
 *
 *     impair IFACE IFACE [--lose PERCENT] [--twice PERCENT] [--late PERCENT] [--late-us US]
 *            [--spoil PERCENT] [--delay-us US] [--seed N]
 */
#include "bench_load.h"
#include "impair_line.h"
#include "packet_socket.h"

#include "base/time_units.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#define SIDES       2u
#define IDLE_NS     100000000u
#define ROUNDS_MAX  16u /* bursts of one direction before the other's turn */
#define DELAY_US    60000000u
#define BUSY_TURNS  4u
#define SIGNAL_POLL 2u /* index among the poll descriptors, after the sides */

struct impair {
	int fd[SIDES], signals;
	struct line line[SIDES]; /* of the frames received on that side */
	uint64_t refused, overrun;
	uint64_t start_ns, start_cpu_ns;
	/* The current second, and the busiest one so far. */
	uint64_t second_ns, second_cpu_ns, second_out;
	double busy_peak, frames_s_peak;
};

static uint32_t
receive(struct impair *im, uint32_t side)
{
	struct line *line = &im->line[side];
	const uint32_t room = line_room(line);
	struct mmsghdr messages[LINE_BURST];
	struct iovec parts[LINE_BURST];
	int n;

	if (room == 0)
		return 0;
	for (uint32_t i = 0; i < room; i++) {
		parts[i] = (struct iovec){line_slot(line, i)->bytes, FRAME_BYTES};
		messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1}};
	}
	n = recvmmsg(im->fd[side], messages, room, MSG_DONTWAIT, NULL);
	if (n <= 0)
		return 0;
	for (int i = 0; i < n; i++)
		line_slot(line, (uint32_t)i)->len = messages[i].msg_len;
	line_take(line, (uint32_t)n, bench_ns());
	return (uint32_t)n;
}

static uint32_t
deliver(struct impair *im, uint32_t side)
{
	const uint64_t now_ns = bench_ns();
	struct line *line = &im->line[side];
	const void *frames[PACKET_BURST];
	uint32_t len[PACKET_BURST], n = 0;

	/* A sent frame stays in its slot until the next receive, so all go out in one call. */
	for (const struct line_frame *f; n < PACKET_BURST; n++) {
		f = line_due(line, now_ns);
		if (f == NULL)
			break;
		frames[n] = f->bytes;
		len[n] = f->len;
		line_sent(line);
	}
	if (n != 0)
		im->refused += packet_send(im->fd[!side], frames, len, n);
	return n;
}

static uint32_t
turn(struct impair *im)
{
	uint32_t moved = 0;

	for (uint32_t side = 0; side < SIDES; side++) {
		for (uint32_t i = 0; i < ROUNDS_MAX; i++) {
			const uint32_t n = receive(im, side);

			moved += n;
			if (n < LINE_BURST)
				break;
		}
		for (uint32_t i = 0; i < ROUNDS_MAX; i++) {
			const uint32_t n = deliver(im, side);

			moved += n;
			if (n < PACKET_BURST)
				break;
		}
	}
	return moved;
}

/* Waits until a frame arrives or is due. False: it is time to end. */
static bool
await_frame(struct impair *im)
{
	struct pollfd poll_fd[] = {
		{im->fd[0], POLLIN, 0}, {im->fd[1], POLLIN, 0}, {im->signals, POLLIN, 0}};
	const uint64_t now_ns = bench_ns();
	uint64_t wait_ns = IDLE_NS;
	struct timespec t;

	for (uint32_t side = 0; side < SIDES; side++) {
		const uint64_t due_ns = line_next_ns(&im->line[side]);
		const uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 0;

		if (left_ns < wait_ns)
			wait_ns = left_ns;
		if (line_room(&im->line[side]) == 0)
			poll_fd[side].events = 0;
	}
	t = (struct timespec){0, (long)wait_ns};
	ppoll(poll_fd, sizeof poll_fd / sizeof poll_fd[0], &t, NULL);
	return poll_fd[SIGNAL_POLL].revents == 0;
}

static uint64_t
frames_out(const struct impair *im)
{
	return im->line[0].counts.out + im->line[1].counts.out;
}

/* Notes how busy the last second was. The busiest one shows whether this program was the
 * bottleneck. */
static void
note_second(struct impair *im, uint64_t now_ns)
{
	const uint64_t cpu_ns = bench_cpu_ns(), out = frames_out(im);
	const double ns = (double)(now_ns - im->second_ns);
	const double busy = (double)(cpu_ns - im->second_cpu_ns) / ns;
	const double frames_s = (double)(out - im->second_out) * NS_PER_S / ns;

	im->busy_peak = busy > im->busy_peak ? busy : im->busy_peak;
	im->frames_s_peak = frames_s > im->frames_s_peak ? frames_s : im->frames_s_peak;
	im->second_ns = now_ns;
	im->second_cpu_ns = cpu_ns;
	im->second_out = out;
}

static void
report(const struct impair *im)
{
	struct line_counts sum = {0};

	for (uint32_t side = 0; side < SIDES; side++) {
		const struct line_counts *c = &im->line[side].counts;

		sum.in += c->in;
		sum.out += c->out;
		sum.lost += c->lost;
		sum.twice += c->twice;
		sum.late += c->late;
		sum.spoiled += c->spoiled;
		sum.no_slot += c->no_slot;
	}
	printf("{\"part\": \"impair\", \"in\": %lu, \"out\": %lu, \"lost\": %lu, \"twice\": %lu, "
	       "\"late\": %lu, \"spoiled\": %lu, \"no_slot\": %lu, \"refused\": %lu, "
	       "\"overrun\": %lu, \"cpu_s\": %.3f, \"wall_s\": %.3f, \"busy_peak\": %.3f, "
	       "\"frames_s_peak\": %.0f}\n",
	       sum.in, sum.out, sum.lost, sum.twice, sum.late, sum.spoiled, sum.no_slot,
	       im->refused, im->overrun, (double)(bench_cpu_ns() - im->start_cpu_ns) / 1e9,
	       (double)(bench_ns() - im->start_ns) / 1e9, im->busy_peak, im->frames_s_peak);
	fflush(stdout);
}

static void
read_chance(const char *percent, void *chance)
{
	char *end;
	const double v = strtod(percent, &end);

	if (*end != '\0' || !(v >= 0 && v <= 100)) {
		fprintf(stderr, "impair: \"%s\": expected 0 to 100 percent\n", percent);
		exit(1);
	}
	*(uint32_t *)chance = (uint32_t)(v * CHANCE_ONE / 100 + 0.5);
}

static struct impairment
options_of(int argc, char **argv, uint64_t *seed)
{
	struct impairment how = {0};
	uint32_t late_us = 1000, delay_us = 0;

	const struct bench_option known[] = {BENCH_READ("lose", read_chance, &how.lose),
					     BENCH_READ("twice", read_chance, &how.twice),
					     BENCH_READ("late", read_chance, &how.late),
					     BENCH_READ("spoil", read_chance, &how.spoil),
					     BENCH_NUMBER("late-us", &late_us, 0, DELAY_US),
					     BENCH_NUMBER("delay-us", &delay_us, 0, DELAY_US),
					     BENCH_NUMBER("seed", seed, 0, UINT32_MAX),
					     {0}};

	bench_options(argc, argv, known);
	how.late_ns = 1000ull * late_us;
	how.delay_ns = 1000ull * delay_us;
	return how;
}

/* Opens SIGTERM and SIGINT as a descriptor to poll, so that none is missed between two waits. */
static int
signals_open(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	if (fd < 0) {
		perror("impair: signalfd");
		exit(1);
	}
	return fd;
}

int
main(int argc, char **argv)
{
	static struct impair im;
	uint64_t seed = 1;
	const struct impairment how = options_of(argc, argv, &seed);
	uint32_t busy = 0;

	if (argc - optind != SIDES) {
		fprintf(stderr, "impair: two interfaces are expected\n");
		return 1;
	}
	im.signals = signals_open();
	prctl(PR_SET_TIMERSLACK, 1ul); /* 50 us by default, a considerable part of a delay */
	for (uint32_t side = 0; side < SIDES; side++) {
		line_create(&im.line[side], &how, seed * SIDES + side);
		im.fd[side] = packet_open(argv[optind + (int)side]);
	}
	im.start_ns = im.second_ns = bench_ns();
	im.start_cpu_ns = im.second_cpu_ns = bench_cpu_ns();
	puts("ready");
	fflush(stdout);
	for (;;) {
		/* Clocks and signals are read before each wait, and sometimes if there is never
		 * one. */
		if (turn(&im) != 0 && ++busy % BUSY_TURNS != 0)
			continue;
		if (!await_frame(&im))
			break;
		if (bench_ns() - im.second_ns >= NS_PER_S)
			note_second(&im, bench_ns());
	}
	for (uint32_t side = 0; side < SIDES; side++)
		im.overrun += packet_overrun(im.fd[side]);
	report(&im);
	return 0;
}
