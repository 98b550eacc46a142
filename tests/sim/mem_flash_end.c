/*
 * mem_flash_end.c - shares one device in memory between cores, each with an end of its own: the tag
 * of a transfer names its end, and a poll queues results for other ends.
 */
#include "mem_flash_end.h"

#define END_SHIFT 48u

static uint32_t
end_submit(struct flash_device *device, const struct flash_io *ios, uint32_t n)
{
	struct mem_flash_end *e = (struct mem_flash_end *)device;
	struct flash_device *media = &e->media->device;
	uint32_t taken = 0;

	for (; taken < n; taken++) {
		struct flash_io io = ios[taken];

		io.tag |= (uint64_t)(e - e->ends) << END_SHIFT;
		if (media->ops->submit(media, &io, 1) == 0)
			break;
	}
	return taken;
}

static uint32_t
end_poll(struct flash_device *device, struct flash_result *results, uint32_t n)
{
	struct mem_flash_end *e = (struct mem_flash_end *)device;
	struct flash_device *media = &e->media->device;
	struct flash_result r;
	uint32_t count = 0;

	while (media->ops->poll(media, &r, 1) == 1) {
		struct mem_flash_end *of = &e->ends[r.tag >> END_SHIFT];

		r.tag &= (1ull << END_SHIFT) - 1;
		of->results[of->count++] = r;
	}
	while (count < n && e->count != 0)
		results[count++] = e->results[--e->count];
	return count;
}

void
mem_flash_ends_open(struct mem_flash_end *ends, uint32_t count, struct mem_flash *media,
		    uint32_t depth)
{
	static const struct flash_device_ops ops = {end_submit, end_poll};

	for (uint32_t i = 0; i < count; i++)
		ends[i] = (struct mem_flash_end){
			.device = {&ops, media->device.bytes, depth}, .media = media, .ends = ends};
}
