/*
 * The filter of the copies from the kernel's interface. Goal: what the cache must learn from
 * passes; what asks for an answer does not, as the kernel gives it, and nothing else. Method: the
 * kernel applies the filter to a pair of Unix sockets as to a packet socket.
 */
#include "support/test.h"
#include "tap/kernel_copy.h"

#include <sys/socket.h>
#include <unistd.h>

#define FRAME_BYTES 80u
#define IP4_AT      14u
#define ICMP6_AT    54u

static int ends[2];

SETUP(open_pair)
{
	check_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), 0);
	check(kernel_copy_filter(ends[1]));
}

TEARDOWN(close_pair)
{
	close(ends[0]);
	close(ends[1]);
}

/* True if the frame passes, whole. */
static bool
passes(const uint8_t frame[FRAME_BYTES])
{
	uint8_t got[2 * FRAME_BYTES];

	(void)!write(ends[0], frame, FRAME_BYTES);
	return read(ends[1], got, sizeof got) == FRAME_BYTES;
}

static bool
arp_passes(uint8_t op)
{
	uint8_t frame[FRAME_BYTES] = {[12] = 0x08, [13] = 0x06, [21] = op};

	return passes(frame);
}

/* words: of the IPv4 header. */
static bool
icmp_passes(uint8_t protocol, uint8_t type, uint8_t words, uint8_t fragment)
{
	uint8_t frame[FRAME_BYTES] = {[12] = 0x08, [IP4_AT] = 0x40};

	frame[IP4_AT] |= words;
	frame[IP4_AT + 7] = fragment;
	frame[IP4_AT + 9] = protocol;
	frame[IP4_AT + 4 * words] = type;
	return passes(frame);
}

static bool
icmp6_passes(uint8_t next, uint8_t type)
{
	uint8_t frame[FRAME_BYTES] = {[12] = 0x86, [13] = 0xdd, [20] = next, [ICMP6_AT] = type};

	return passes(frame);
}

TEST(an_arp_reply_passes_and_a_request_does_not)
{
	check(arp_passes(2));
	check(!arp_passes(1));
}

TEST(icmp_errors_pass)
{
	for (uint32_t type = 0; type < 256; type++) {
		const bool is_error = (type >= 3 && type <= 5) || type == 11 || type == 12;

		check_eq(icmp_passes(1, (uint8_t)type, 5, 0), is_error);
	}
	check(icmp_passes(1, 3, 8, 0));
	check(!icmp_passes(1, 3, 5, 1));
	check(!icmp_passes(6, 3, 5, 0));
	check(!icmp_passes(17, 3, 5, 0));
}

TEST(icmp6_errors_and_answers_of_neighbours_and_routers_pass)
{
	for (uint32_t type = 0; type < 256; type++) {
		const bool is_error = type >= 1 && type <= 4;
		const bool is_news = type == 134 || type == 136 || type == 137;

		check_eq(icmp6_passes(58, (uint8_t)type), is_error || is_news);
	}
	check(!icmp6_passes(6, 136));
}

TEST(other_protocols_do_not_pass)
{
	uint8_t lldp[FRAME_BYTES] = {[12] = 0x88, [13] = 0xcc};
	uint8_t tagged[FRAME_BYTES] = {[12] = 0x81, [17] = 0x06, [16] = 0x08, [25] = 2};

	check(!passes(lldp));
	check(!passes(tagged));
}
