/*
 * mc_binary.c - requests of the binary protocol. Lengths are checked as soon as the header has
 * arrived. A request with impossible lengths is answered and closes the connection; one with an
 * unknown opcode is skipped.
 */
#include "mc_binary.h"

#include "mc_command.h"

#define BODY_LEN_MAX  (1u << 30) /* as in memcached; a longer body means a broken stream */
#define MECHANISM_MAX 32u
#define NO_CREATE     UINT32_MAX /* exptime of an incr or decr that must find its key */

#define VERB_ROW(opcode, name, verb, quiet, extras, key, value)                                    \
	[opcode] = {1, verb, quiet, extras, MC_PART_##key, MC_PART_##value},
#define OPCODES 256u

static const struct opcode_syntax {
	uint8_t known, verb, quiet, extras, key, value;
} opcode_syntaxes[OPCODES] = {MC_OPCODES(VERB_ROW)};

static inline uint32_t
be32_at(const uint8_t *p)
{
	return __builtin_bswap32(load_u32(p));
}

static inline uint64_t
be64_at(const uint8_t *p)
{
	return __builtin_bswap64(load_u64(p));
}

/* The parts of a request whose lengths have passed the header's checks. */
struct packet {
	const uint8_t *extras;
	uint32_t extras_len;
	uint32_t value_len;
	uint32_t front; /* bytes before the value */
};

/* Answers with an error and closes, since the start of the next request is unknown. */
static struct mc_result
error_and_close(struct mc_req *req, enum mc_error error)
{
	mc_bad(req, error);
	req->flags |= MC_CLOSE_AFTER;
	return mc_result_of(MC_OK, MC_BIN_HEAD_BYTES);
}

/* Answers with an error and skips the request's body. */
static struct mc_result
skip(struct mc_req *req, enum mc_error error, uint32_t used, uint32_t body_len)
{
	mc_bad(req, error);
	if (body_len > 0)
		req->flags |= MC_HAS_BODY;
	req->body_len = body_len;
	return mc_result_of(MC_OK, used);
}

static inline bool
part_fits(uint8_t part, uint32_t len)
{
	return part == MC_PART_OPTIONAL || (part == MC_PART_REQUIRED) == (len > 0);
}

static bool
parts_fit(const struct opcode_syntax *s, uint32_t extras_len, uint32_t key_len, uint32_t value_len)
{
	const bool may_lack_extras = s->verb == MC_BIN_FLUSH && extras_len == 0;

	return (extras_len == s->extras || may_lack_extras) && part_fits(s->key, key_len) &&
	       part_fits(s->value, value_len);
}

/* Returns an exptime. On the wire it has 32 bits without a sign; a value too large for int32_t is a
 * date beyond 2038. */
static inline int32_t
exptime_of(uint32_t wire)
{
	return wire > INT32_MAX ? INT32_MAX : (int32_t)wire;
}

/* Reads incr and decr: <delta> <initial> <exptime>. */
static void
arith_read(struct mc_req *req, const uint8_t *extras)
{
	const uint32_t exptime = be32_at(extras + 16);

	memset(&req->meta, 0, sizeof req->meta);
	req->delta = be64_at(extras);
	if (exptime == NO_CREATE)
		return;
	req->meta.flags = MC_FLAG_VIVIFY;
	req->meta.initial = be64_at(extras + 8);
	req->meta.vivify_exptime = exptime_of(exptime);
}

/* Finds the stats that the key names, by the words of a text line. */
static void
stat_read(struct mc_req *req)
{
	struct mc_admin *admin = &req->admin;
	struct mc_tokens w;

	memset(admin, 0, sizeof *admin);
	admin->stats = MC_STATS;
	if (req->key.len == 0)
		return;
	w.count = 0;
	/* A key may contain a line feed, a line may not. */
	if (memchr(req->key.data, '\n', req->key.len) == NULL)
		mc_tokenize(&w, req->key.data, req->key.len);
	admin->stats =
		w.count > 0 ? (uint8_t)mc_verb_subcommand(MC_STATS, w.token[0]) : (uint8_t)MC_BAD;
	if (admin->stats == MC_STATS_CACHEDUMP)
		admin->stats = MC_BAD; /* its reply is text */
	if (admin->stats == MC_STATS_DETAIL && (w.count < 2 || !mc_detail_parse(admin, w.token[1])))
		admin->stats = MC_BAD;
}

/* Reads the credentials, which must have arrived completely. Longer ones than MC_AUTH_MAX match no
 * user. */
static struct mc_result
sasl_read(struct mc_req *req, const uint8_t *p, const struct packet *pk, uint32_t len)
{
	memset(&req->admin, 0, sizeof req->admin);
	if (req->key.len > MECHANISM_MAX)
		return skip(req, MC_ERR_FORMAT, pk->front, pk->value_len);
	if (pk->value_len > MC_AUTH_MAX)
		return skip(req, MC_ERR_AUTH_LONG, pk->front, pk->value_len);
	if (len - pk->front < pk->value_len)
		return mc_result_of(MC_MORE, 0);
	req->admin.text = (struct view){p + pk->front, pk->value_len};
	return mc_result_of(MC_OK, pk->front + pk->value_len);
}

static struct mc_result
fields_read(struct mc_req *req, const uint8_t *p, const struct packet *pk, uint32_t len)
{
	switch (req->verb) {
	case MC_BIN_SET:
	case MC_BIN_ADD:
	case MC_BIN_REPLACE:
		req->client_flags = be32_at(pk->extras);
		req->exptime = exptime_of(be32_at(pk->extras + 4));
		break;
	case MC_BIN_GAT:
	case MC_BIN_TOUCH:
		req->exptime = exptime_of(be32_at(pk->extras));
		break;
	case MC_BIN_FLUSH:
		if (pk->extras_len > 0)
			req->exptime = exptime_of(be32_at(pk->extras));
		break;
	case MC_BIN_INCR:
	case MC_BIN_DECR:
		arith_read(req, pk->extras);
		break;
	case MC_BIN_STAT:
		stat_read(req);
		break;
	case MC_BIN_SASL_AUTH:
	case MC_BIN_SASL_STEP:
		return sasl_read(req, p, pk, len);
	default:
		break;
	}
	return mc_result_of(MC_OK, pk->front);
}

/* Reads the rest of a request with valid lengths, once it has arrived. */
static struct mc_result
packet_read(struct mc_req *req, const uint8_t *p, uint32_t len, const struct mc_bin_head *head)
{
	const struct opcode_syntax *s = &opcode_syntaxes[head->opcode];
	const uint32_t key_len = be16_get(head->key_len);
	const struct packet pk = {
		.extras = p + MC_BIN_HEAD_BYTES,
		.extras_len = head->extras_len,
		.value_len = be32_get(head->body_len) - key_len - head->extras_len,
		.front = MC_BIN_HEAD_BYTES + head->extras_len + key_len,
	};

	if (!parts_fit(s, pk.extras_len, key_len, pk.value_len))
		return error_and_close(req, MC_ERR_FORMAT);
	if (len < pk.front)
		return mc_result_of(MC_MORE, 0);
	req->verb = s->verb;
	if (s->quiet)
		req->flags |= MC_QUIET;
	req->key = (struct view){pk.extras + pk.extras_len, key_len};
	req->cas = be64_get(head->cas);
	if (s->value == MC_PART_OPTIONAL && s->verb < MC_BIN_QUIT) {
		req->flags |= MC_HAS_BODY;
		req->body_len = pk.value_len;
	}
	return fields_read(req, p, &pk, len);
}

struct mc_result
mc_binary_parse(struct mc_parser *ps, struct mc_req *req, const uint8_t *p, uint32_t len)
{
	struct mc_bin_head head;
	uint32_t key_len, body_len;

	if (len > 0 && p[0] != MC_BIN_REQUEST_MAGIC)
		return mc_result_of(MC_CLOSE, 0);
	if (len < MC_BIN_HEAD_BYTES)
		return mc_result_of(MC_MORE, 0);
	memcpy(&head, p, sizeof head);
	memset(req, 0, offsetof(struct mc_req, meta));
	req->key.data = p;
	req->flags = MC_BINARY | MC_FIRST | MC_LAST;
	req->opcode = head.opcode;
	req->opaque = head.opaque;
	key_len = be16_get(head.key_len);
	body_len = be32_get(head.body_len);
	if (key_len + head.extras_len > body_len)
		return error_and_close(req, MC_ERR_UNKNOWN);
	if (body_len > BODY_LEN_MAX || key_len > MC_KEY_MAX)
		return error_and_close(req, MC_ERR_FORMAT);
	if (!opcode_syntaxes[head.opcode].known)
		return skip(req, MC_ERR_UNKNOWN, MC_BIN_HEAD_BYTES, body_len);
	return packet_read(req, p, len, &head);
}

uint32_t
mc_binary_need(const uint8_t *p, uint32_t len)
{
	struct mc_bin_head head;
	uint32_t need;

	if (len < MC_BIN_HEAD_BYTES)
		return MC_BIN_HEAD_BYTES;
	memcpy(&head, p, sizeof head);
	need = MC_BIN_HEAD_BYTES + head.extras_len + be16_get(head.key_len);
	if (opcode_syntaxes[head.opcode].verb == MC_BIN_SASL_AUTH ||
	    opcode_syntaxes[head.opcode].verb == MC_BIN_SASL_STEP)
		need = MC_BIN_HEAD_BYTES + be32_get(head.body_len);
	return need < MC_LINE_MAX ? need : MC_LINE_MAX;
}
