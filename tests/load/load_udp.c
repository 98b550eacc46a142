/*
 * load_udp.c - requests in datagrams, distinguished by the ID of memcached's frame.
 *
 * Shape:  the low 12 bits of an ID are the flight's slot, the others count the slot's uses. A
 *         late reply to a request that timed out has an old ID, so it is not taken for the reply
 *         to the next request of the slot. The slot of a lost request is in quarantine until such
 *         a reply can no longer come.
 */
#include "load_internal.h"

#include "proto/mc_udp.h"

size_t
load_udp_bytes(const struct load_config *cfg)
{
	const size_t one = sizeof(struct flight) + sizeof(struct udp_reply) + 2 * sizeof(uint16_t) +
			   REPLY_LINE_MAX + cfg->workload->multiget * sizeof(uint32_t);

	return LOAD_WINDOW_MAX * one + cfg->local_ports * sizeof(struct udp_flow) +
	       8 * CACHE_LINE_BYTES;
}

void
load_udp_create(struct load_core *c, struct region *region)
{
	const size_t n = LOAD_WINDOW_MAX;
	uint8_t *lines;

	c->flights = region_take(region, n * sizeof *c->flights, CACHE_LINE_BYTES);
	c->keys = region_take(region, n * c->w->multiget * sizeof *c->keys, CACHE_LINE_BYTES);
	c->replies = region_take(region, n * sizeof *c->replies, CACHE_LINE_BYTES);
	c->free = region_take(region, n * sizeof *c->free, CACHE_LINE_BYTES);
	c->quarantine = region_take(region, n * sizeof *c->quarantine, CACHE_LINE_BYTES);
	ensure((c->cfg.local_ports & (c->cfg.local_ports - 1)) == 0);
	c->flows = region_take(region, c->cfg.local_ports * sizeof *c->flows, CACHE_LINE_BYTES);
	lines = region_take(region, n * REPLY_LINE_MAX, CACHE_LINE_BYTES);
	for (uint32_t i = 0; i < n; i++) {
		c->flights[i].id = (uint16_t)i;
		c->replies[i].reader.line = lines + (size_t)i * REPLY_LINE_MAX;
		c->free[c->free_count++] = (uint16_t)(n - 1 - i);
	}
	c->peer = (struct udp_peer){
		.port = c->cfg.port,
		.ip = c->cfg.server,
		.our_port = c->cfg.local_port,
	};
}

static inline uint32_t *
keys_of(struct load_core *c, uint32_t slot)
{
	return c->keys + (size_t)slot * c->w->multiget;
}

/* Writes the request of a flight into a datagram; there is room for one. */
static void
emit(struct load_core *c, struct flight *f, const struct request *req)
{
	uint8_t *at = udp_flow_begin(c->stack), *p;
	uint32_t len;

	p = mc_udp_put(at, f->id, 0, 1);
	p += request_put(c->w, req, p);
	if (req->op == LOAD_SET) {
		const uint32_t value_len = workload_value_len(c->w, req->keys[0]);
		struct item_value v;

		item_value_begin(&v, req->keys[0], value_len, req->version);
		item_value_put(&v, p, value_len);
		p += value_len;
		*p++ = '\r';
		*p++ = '\n';
	}
	len = (uint32_t)(p - at);
	udp_flow_commit(c->stack, &c->flows[f->id & (c->cfg.local_ports - 1)], len);
	counter_add(&load_counters_for(c, f)[LOAD_SENT_BYTES], len);
}

static bool
resolve(struct load_core *c)
{
	if (likely(c->resolved && c->now_ns < c->resolve_at_ns))
		return true;
	c->resolved = udp_resolve(c->stack, &c->peer);
	c->resolve_at_ns = c->now_ns + RESOLVE_EVERY_NS;
	for (uint32_t i = 0; c->resolved && i < c->cfg.local_ports; i++)
		udp_flow_make(c->stack, &c->peer, (uint16_t)(c->cfg.local_port + i), &c->flows[i]);
	return c->resolved;
}

static inline uint32_t
least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void
load_udp_send(struct load_core *c)
{
	uint32_t room;

	if (c->in_flight >= c->command.depth || !load_may_send(c) || !resolve(c))
		return;
	room = least(udp_flow_room(c->stack),
		     least(c->command.depth - c->in_flight, c->free_count));
	for (; room != 0 && load_may_send(c); room--) {
		const uint32_t slot = c->free[--c->free_count];
		struct flight *f = &c->flights[slot];
		const struct request req = load_next_request(c, f, keys_of(c, slot));

		f->tries = 1;
		reply_begin(&c->replies[slot].reader);
		c->replies[slot].sequence = 0;
		emit(c, f, &req);
	}
}

static void
slot_free(struct load_core *c, struct flight *f)
{
	f->tries = 0;
	f->id = (uint16_t)(f->id + UDP_ID_STEP);
	c->free[c->free_count++] = f->id & UDP_SLOT_MASK;
}

static void
slot_release_oldest(struct load_core *c)
{
	slot_free(c, &c->flights[c->quarantine[c->quarantine_head++ & UDP_SLOT_MASK]]);
	c->quarantine_count--;
}

/* Puts the slot into quarantine: a reply to its request may still come. */
static void
slot_quarantine(struct load_core *c, struct flight *f)
{
	if (c->quarantine_count == QUARANTINE_MAX)
		slot_release_oldest(c);
	f->tries = 0;
	f->sent_ns = c->now_ns + QUARANTINE_TIMEOUTS * c->cfg.timeout_ns;
	c->quarantine[(c->quarantine_head + c->quarantine_count++) & UDP_SLOT_MASK] =
		f->id & UDP_SLOT_MASK;
}

/* Returns the flight that the frame's ID names, if it is under way and
 * this is its next datagram. */
static struct flight *
flight_of(struct load_core *c, const struct mc_udp_frame *frame)
{
	const uint16_t id = be16_get(frame->id);
	struct flight *f = &c->flights[id & UDP_SLOT_MASK];

	if (f->tries == 0 || f->id != id ||
	    be16_get(frame->sequence) != c->replies[id & UDP_SLOT_MASK].sequence)
		return NULL;
	return f;
}

static void
malformed(struct load_core *c, struct flight *f)
{
	counter_add(&load_counters_for(c, f)[LOAD_BROKEN], 1);
	c->in_flight--;
	slot_free(c, f);
}

static void
take_reply(struct load_core *c, struct flight *f, const struct mc_udp_frame *frame,
	   struct view text)
{
	const uint32_t slot = f->id & UDP_SLOT_MASK;
	struct udp_reply *reply = &c->replies[slot];
	const struct request req = load_request_of(c, f, keys_of(c, slot));
	const struct reply_sink sink = {load_counters_for(c, f), &c->result.mismatch};
	const bool last = ++reply->sequence == be16_get(frame->total);
	enum reply_status status;
	uint32_t used;

	counter_add(&sink.tally[LOAD_RECEIVED_BYTES], text.len + sizeof *frame);
	status = reply_read(&reply->reader, c->w, &req, &sink, text, &used);
	/* A reply ends where its last datagram does. */
	if (unlikely(status == REPLY_MALFORMED || (status == REPLY_DONE) != last ||
		     used != text.len)) {
		malformed(c, f);
		return;
	}
	if (!last)
		return;
	load_finish(c, f);
	slot_free(c, f);
}

/* Fetches the flights of received datagrams before they are read. */
static void
fetch(struct load_core *c, const struct datagram *d, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const uint16_t id = __builtin_bswap16(load_u16(d[i].payload.data));
		const uint32_t slot = id & UDP_SLOT_MASK;

		prefetch(&c->flights[slot]);
		prefetch(&c->replies[slot]);
	}
}

void
load_udp_receive(struct load_core *c)
{
	uint32_t count;
	struct datagram *all = stack_datagrams(c->stack, &count);

	fetch(c, all, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct view in = all[i].payload;
		struct mc_udp_frame frame;
		struct flight *f = NULL;

		if (likely(in.len > sizeof frame && all[i].from.port == c->cfg.port &&
			   ip_addr_equal(&all[i].from.ip, &c->cfg.server))) {
			memcpy(&frame, in.data, sizeof frame);
			f = flight_of(c, &frame);
		}
		if (unlikely(f == NULL)) {
			counter_add(&c->result.all[LOAD_LATE], 1);
			continue;
		}
		take_reply(c, f, &frame,
			   (struct view){in.data + sizeof frame, in.len - (uint32_t)sizeof frame});
	}
}

/* Sends a lost request of the fill again, as a new one, since all keys must be stored. */
static bool
send_again(struct load_core *c, struct flight *f)
{
	const uint32_t slot = f->id & UDP_SLOT_MASK;
	const struct request req = load_request_of(c, f, keys_of(c, slot));

	if (c->command.task != LOAD_FILL || f->tries == FILL_TRIES || !c->resolved)
		return false;
	f->id = (uint16_t)(f->id + UDP_ID_STEP);
	f->sent_ns = c->now_ns;
	f->tries++;
	reply_begin(&c->replies[slot].reader);
	c->replies[slot].sequence = 0;
	if (udp_flow_room(c->stack) != 0) /* without room the next timeout tries again */
		emit(c, f, &req);
	return true;
}

void
load_udp_overdue(struct load_core *c)
{
	for (uint32_t i = 0; i < OVERDUE_AT_ONCE; i++) {
		struct flight *f = &c->flights[c->overdue_at++ & UDP_SLOT_MASK];

		if (likely(f->tries == 0 || c->now_ns - f->sent_ns < c->cfg.timeout_ns) ||
		    send_again(c, f))
			continue;
		counter_add(&load_counters_for(c, f)[LOAD_LOST], 1);
		c->in_flight--;
		slot_quarantine(c, f);
	}
	for (uint32_t i = 0; i < OVERDUE_AT_ONCE && c->quarantine_count != 0; i++) {
		const uint32_t oldest = c->quarantine[c->quarantine_head & UDP_SLOT_MASK];

		if (c->flights[oldest].sent_ns > c->now_ns)
			break;
		slot_release_oldest(c);
	}
}
