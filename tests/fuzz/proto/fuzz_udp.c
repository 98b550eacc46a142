/*
 * Goal:   a datagram is judged by its eight bytes and read within its length; a message cut into
 *         datagrams can be put together again, in any order of them. Method: the input is a row
 *         of datagrams, each in a block of its own size; then the input itself is framed, and
 *         collected as a client does.
 */
#include "fuzz_target.h"
#include "input.h"
#include "proto/mc_udp.h"
#include "unit/proto/request_trace.h"

#include <stdlib.h>
#include <string.h>

#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

#define DATAGRAM_MAX 1024u
#define MESSAGE_MAX  4096u

static struct request_trace trace;

static void
datagram(const uint8_t *bytes, uint32_t len)
{
	uint8_t *exact = malloc(len != 0 ? len : 1);
	const struct view whole = {exact, len};
	struct view text;
	uint16_t id;

	memcpy(exact, bytes, len);
	switch (mc_udp_parse(whole, &id, &text)) {
	case MC_UDP_OK:
		must(len > MC_UDP_FRAME_BYTES && bytes[4] == 0 && bytes[5] == 1);
		must(id == (bytes[0] << 8 | bytes[1]));
		must(text.data == exact + MC_UDP_FRAME_BYTES && text.len == len - 8);
		trace_start(&trace);
		trace_arrived(&trace, text.data, text.len);
		must(trace.done <= text.len);
		break;
	case MC_UDP_SHORT:
		must(len <= MC_UDP_FRAME_BYTES);
		break;
	default:
		must(bytes[4] != 0 || bytes[5] != 1);
		break;
	}
	free(exact);
}

/* Collects a datagram of a reply as a client does, in any order. */
static void
collect(uint8_t *message, const uint8_t *frame, uint32_t len, uint32_t total)
{
	const uint32_t sequence = (uint32_t)frame[2] << 8 | frame[3];

	must(((uint32_t)frame[4] << 8 | frame[5]) == total && sequence < total);
	must(frame[6] == 0 && frame[7] == 0);
	memcpy(message + sequence * MC_UDP_DATAGRAM_DATA_MAX, frame + 8, len - 8);
}

static void
message(const uint8_t *bytes, uint32_t len, uint16_t id)
{
	static uint8_t again[MESSAGE_MAX + MC_UDP_DATAGRAM_DATA_MAX];
	const uint32_t total = mc_udp_datagrams(len);

	must(total ==
	     (len == 0 ? 1 : (len + MC_UDP_DATAGRAM_DATA_MAX - 1) / MC_UDP_DATAGRAM_DATA_MAX));
	for (uint32_t i = 0; i < total; i++) {
		const uint32_t sequence = total - 1 - i; /* the last one first */
		const uint32_t from = sequence * MC_UDP_DATAGRAM_DATA_MAX;
		const uint32_t n = len - from < MC_UDP_DATAGRAM_DATA_MAX ? len - from
									 : MC_UDP_DATAGRAM_DATA_MAX;
		uint8_t frame[MC_UDP_PAYLOAD_MAX];
		uint8_t *at = mc_udp_put(frame, id, (uint16_t)sequence, (uint16_t)total);

		memcpy(at, bytes + from, n);
		must(frame[0] == id >> 8 && frame[1] == (uint8_t)id);
		collect(again, frame, n + 8, total);
	}
	must(memcmp(again, bytes, len) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};

	if (size > MESSAGE_MAX)
		return 0;
	while (in.left > 2) {
		uint32_t len = (uint32_t)take_u8(&in) << 8;

		len = (len | take_u8(&in)) % DATAGRAM_MAX;
		len = len < in.left ? len : (uint32_t)in.left;
		datagram(in.data, len);
		in.data += len;
		in.left -= len;
	}
	message(data, (uint32_t)size, (uint16_t)(size * 257));
	return 0;
}
