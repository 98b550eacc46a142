#include "fast_path_compare.h"

#include "proto/mc_fast_path.h"

#include <stdlib.h>

static void
must(bool same)
{
	if (!same)
		abort();
}

/* Parses a get by its own function, which leaves the parser's state to its caller. Returns the
 * bytes it took; 0: none. */
static uint32_t
get_parse_fast(const struct mc_parser *ps, const uint8_t *p, uint32_t len, struct mc_get *get)
{
	if (ps->swallow || (ps->in_line && ps->verb != MC_GET))
		return 0;
	return ps->in_line ? mc_key_parse_fast(p, len, get) : mc_get_parse_fast(p, len, get);
}

static void
same_get(const struct mc_get *get, bool in_line, uint32_t used, const uint8_t *p,
	 const struct mc_req *req, const struct mc_parser *ps, struct mc_result r)
{
	must(r.status == MC_OK && r.used == used && req->verb == MC_GET);
	must(req->flags == ((in_line ? 0 : MC_FIRST) | (get->last ? MC_LAST : 0)));
	must(req->key.data == p + (in_line ? 0 : MC_GET_PREFIX_BYTES) &&
	     req->key.len == get->key_len);
	must(ps->in_line == !get->last && ps->verb == MC_GET && !ps->swallow);
}

/* Compares the fields that a reader of the request may use. */
static void
same_request(const struct mc_req *a, const struct mc_req *b)
{
	must(a->verb == b->verb && a->flags == b->flags && a->error == b->error);
	must(a->key.data == b->key.data && a->key.len == b->key.len);
	if (a->verb != MC_SET)
		return;
	must(a->client_flags == b->client_flags && a->exptime == b->exptime && a->cas == b->cas);
	must(a->body_len == b->body_len && a->body_end == b->body_end);
}

uint32_t
paths_agree(const uint8_t *p, uint32_t len)
{
	struct mc_parser ps = {.protocol = MC_PROTOCOL_TEXT};
	uint32_t taken = 0;

	for (uint32_t at = 0; at < len;) {
		struct mc_parser twin = ps;
		struct mc_req req = {0}, set = {0}, other = {0};
		struct mc_get get = {0};
		const bool in_line = ps.in_line != 0;
		const uint32_t used = get_parse_fast(&ps, p + at, len - at, &get);
		const struct mc_result r = mc_text_parse_slow(&ps, &req, p + at, len - at);
		const struct mc_result s = mc_text_parse(&twin, &other, p + at, len - at);

		must(s.status == r.status && s.used == r.used);
		must(memcmp(&twin, &ps, sizeof ps) == 0);
		if (r.status == MC_OK)
			same_request(&other, &req);
		if (used != 0)
			same_get(&get, in_line, used, p + at, &req, &ps, r);
		taken += used != 0 || (!in_line && mc_set_begins(p + at, len - at) &&
				       mc_set_parse_fast(&set, p + at, len - at) != 0);
		if (r.status == MC_CLOSE || r.used == 0)
			break;
		at += r.used;
		if (r.status != MC_OK || (req.flags & MC_HAS_BODY) == 0)
			continue;
		if (req.body_len + req.body_end > len - at)
			break;
		at += req.body_len + req.body_end;
	}
	return taken;
}
