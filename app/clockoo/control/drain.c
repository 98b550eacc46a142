/*
 * drain.c - the stages of a drain.
 */
#include "drain.h"

void
drain_begin(struct drain *d, enum config_drain how, uint64_t time_ns, uint64_t now_ns)
{
	const uint64_t closing_ns = time_ns / 2 < DRAIN_CLOSING_NS ? time_ns / 2 : DRAIN_CLOSING_NS;

	*d = (struct drain){
		.how = how,
		.stage = how == CONFIG_DRAIN_ANYCAST ? DRAIN_CLOSING : DRAIN_LEAVING,
		.since_ns = now_ns,
		.closing_end_ns = now_ns + closing_ns,
		.end_ns = now_ns + time_ns,
		.open_ns = now_ns,
	};
}

bool
drain_stop(struct drain *d, enum config_drain how, uint64_t time_ns, uint64_t now_ns)
{
	if (how != CONFIG_DRAIN_ANYCAST || d->stops)
		return true;
	if (d->stage == DRAIN_OFF)
		drain_begin(d, how, time_ns, now_ns);
	d->stops = true;
	return false;
}

enum serve_drain
drain_asks(const struct drain *d)
{
	switch (d->how) {
	case CONFIG_DRAIN_SILENT:
		return SERVE_DRAIN_SILENT;
	case CONFIG_DRAIN_CLOSE:
		return SERVE_DRAIN_CLOSE;
	case CONFIG_DRAIN_ANYCAST:
		return d->stage == DRAIN_CLOSING ? SERVE_DRAIN_CLOSE
		       : d->stage == DRAIN_LAST  ? SERVE_DRAIN_CLOSE_LAST
						 : SERVE_DRAIN_CLOSE_IDLE;
	default:
		return SERVE_DRAIN_RESET;
	}
}

/* True if the present stage has reached its end. */
static bool
stage_is_over(const struct drain *d, const struct drain_conns *conns, uint64_t now_ns)
{
	const bool none = conns->open + conns->leaving == 0;
	const uint64_t quiet_ns =
		d->how == CONFIG_DRAIN_ANYCAST ? DRAIN_ROUTERS_NS : DRAIN_QUIET_NS;

	switch (d->stage) {
	case DRAIN_CLOSING:
		return conns->open == 0 || now_ns >= d->closing_end_ns;
	case DRAIN_LAST:
	case DRAIN_IDLE:
		return none || now_ns - d->since_ns >= DRAIN_LAST_NS;
	default:
		return now_ns - d->open_ns >= quiet_ns;
	}
}

/* Returns the stage after the present one. */
static enum drain_stage
next_stage(const struct drain *d, const struct drain_conns *conns)
{
	const bool none = conns->open + conns->leaving == 0;

	return d->stage == DRAIN_LAST && none ? DRAIN_LEAVING : d->stage + 1;
}

enum drain_stage
drain_step(struct drain *d, const struct drain_conns *conns, bool settled, uint64_t now_ns)
{
	if (d->stage == DRAIN_OFF)
		return DRAIN_OFF;
	if (conns->open != 0 || !settled)
		d->open_ns = now_ns;
	if (!settled)
		d->since_ns = now_ns;
	if (now_ns >= d->end_ns) {
		d->stage = DRAIN_ENDED;
	} else if (settled && stage_is_over(d, conns, now_ns)) {
		d->stage = next_stage(d, conns);
		d->since_ns = d->open_ns = now_ns;
		d->applied = false;
	}
	return d->stage;
}
