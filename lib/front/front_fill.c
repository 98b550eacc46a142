/*
 * front_fill.c - takes memory for values that servers send, as items that are filled while they
 * arrive.
 */
#include "front_core.h"

static uint32_t
fill_expiry(const struct front_lane *l)
{
	if ((l->reply.meta & FRONT_META_TTL) == 0 || l->reply.ttl_s < 0)
		return 0;
	return serve_now_s(l->front->serve) + (uint32_t)l->reply.ttl_s;
}

static enum store_result
fill_begin(struct front_lane *l, struct front_request *request)
{
	struct front *f = l->front;
	const uint32_t len = l->reply.value_len;
	const struct view view = {.data = request->bytes, .len = request->len};
	enum store_result r;

	front_request_use_more(request);
	/* One answer alone may exceed the limit. */
	if (f->answer_bytes != 0 && f->answer_bytes + len > f->cfg.answer_bytes_max)
		return STORE_NOT_YET;
	r = store_begin(f->store, &request->fill, view, request->hash, len, l->reply.client_flags,
			fill_expiry(l));
	if (r == STORE_OK)
		f->answer_bytes += len;
	return r;
}

enum store_result
front_fill_begin(struct front_lane *l, struct front_request *request)
{
	enum store_result r = fill_begin(l, request);

	for (uint32_t i = 0; i < FRONT_YIELDS_MAX && r == STORE_NOT_YET; i++) {
		if (!backend_answer_yield(l->front->serve))
			return r;
		r = fill_begin(l, request);
	}
	return r;
}

bool
front_fill_may_wait(struct front_lane *l)
{
	const struct front *f = l->front;

	if (l->memory_ns == 0)
		l->memory_ns = f->now_ns;
	return f->now_ns - l->memory_ns < f->cfg.timeout_ns / FRONT_MEMORY_PART;
}
