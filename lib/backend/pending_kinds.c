/*
 * pending_kinds.c - which kinds of requests a backend may be asked for, and when.
 */
#include "pending_parts.h"

#include "proto/mc_fast_path.h"
#include "serve/serve_execute.h"

bool
pending_reads(const struct mc_req *req)
{
	switch (req->verb) {
	case MC_GET:
	case MC_GETS:
	case MC_BIN_GET:
		return true;
	case MC_MG:
		return (req->meta.flags & MG_EFFECTS) == 0;
	default:
		return false;
	}
}

static bool
has_effect(const struct mc_req *req)
{
	if (req->verb == MC_MG)
		return (req->meta.flags & MG_EFFECTS) != 0;
	return (verb_traits[req->verb] & VERB_WRITES) != 0 || req->verb == MC_FLUSH_ALL ||
	       req->verb == MC_BIN_FLUSH;
}

bool
pending_is_write(const struct serve *sv, const struct mc_req *req)
{
	return req->verb != MC_GET && sv->backend_mode >= BACKEND_WRITES && has_effect(req);
}

bool
pending_is_keyed_read(const struct mc_req *req)
{
	const uint8_t whole = MC_FIRST | MC_LAST;

	return pending_reads(req) && (req->flags & whole) == whole &&
	       (req->flags & (MC_KEY_BASE64 | MC_CLOSE_AFTER)) == 0;
}

bool
pending_is_keyed_write(const struct mc_req *req)
{
	if (req->flags & (MC_KEY_BASE64 | MC_CLOSE_AFTER))
		return false;
	switch (req->verb) {
	case MC_SET ... MC_CAS:
	case MC_DELETE:
	case MC_INCR ... MC_DECR:
	case MC_TOUCH:
	case MC_MS:
	case MC_MD:
	case MC_MA:
	case MC_BIN_SET ... MC_BIN_PREPEND:
	case MC_BIN_DELETE:
	case MC_BIN_INCR ... MC_BIN_DECR:
	case MC_BIN_TOUCH:
		return true;
	default:
		return false;
	}
}

uint16_t
pending_plain_get_bytes(const struct op *op)
{
	const uint8_t flags = op->req.flags;
	const uint32_t bytes = op->req.key.len + (flags & MC_FIRST ? MC_GET_PREFIX_BYTES : 0) +
			       (flags & MC_LAST ? MC_BODY_END : 1);

	return op->req.verb == MC_GET && op->raw.len == bytes ? (uint16_t)bytes : 0;
}

bool
pending_promotes(const struct mc_req *req)
{
	switch (req->verb) {
	case MC_BIN_SET:
	case MC_MS:
		return store_mode_of(req) != STORE_SET;
	case MC_DELETE:
		return (req->flags & MC_NOREPLY) == 0;
	case MC_MG:
		return (req->meta.flags & MG_EFFECTS) != 0;
	default:
		return (verb_traits[req->verb] & VERB_PROMOTES) != 0;
	}
}
