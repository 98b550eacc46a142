/*
 * Requests of clockoo capture that no client of ours makes. Goal: what is let through lies within
 * the limits, and its filter ends with every frame and reads nothing outside of it. Method: the
 * bytes as a request, as they are and with the words that a fuzzer would not find put right; each
 * accepted filter is run over frames in blocks of exactly their size.
 */
#include "capture/capture_filter.h"
#include "base/check.h"
#include "fuzz_target.h"

#include <stdlib.h>

static void
filter_run(const struct capture_request *r, uint32_t len)
{
	uint8_t *frame = malloc(len != 0 ? len : 1);

	for (uint32_t i = 0; i < len; i++)
		frame[i] = (uint8_t)(i * 7 + len);
	(void)capture_filter_match(r, frame, len);
	free(frame);
}

static void
request_judge(const struct capture_request *r, size_t bytes)
{
	static const uint32_t lens[] = {0, 1, 13, 14, 60, 1514};

	if (!capture_request_is_good(r, bytes))
		return;
	ensure(r->insn_count <= CAPTURE_INSNS_MAX && r->snap <= CAPTURE_SNAP_MAX);
	ensure(r->size >= CAPTURE_SIZE_MIN &&
	       strnlen(r->filter, sizeof r->filter) < sizeof r->filter);
	if (r->insn_count == 0 || !capture_filter_is_valid(r->insns, r->insn_count))
		return;
	for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++)
		filter_run(r, lens[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct capture_request r;
	const size_t head = capture_request_bytes(0);

	if (size > sizeof r)
		return 0;
	memset(&r, 0, sizeof r);
	memcpy(&r, data, size);
	request_judge(&r, size);
	/* The whole input as instructions, behind a head that is right. */
	r = (struct capture_request){
		.magic = CAPTURE_MAGIC,
		.snap = CAPTURE_SNAP_MAX,
		.seconds = 1,
		.size = CAPTURE_SIZE,
		.insn_count = (uint32_t)(size / sizeof r.insns[0]),
	};
	if (r.insn_count > CAPTURE_INSNS_MAX)
		return 0;
	memcpy(r.insns, data, r.insn_count * sizeof r.insns[0]);
	request_judge(&r, head + r.insn_count * sizeof r.insns[0]);
	return 0;
}
