/*
 * Goal:   a binary request is read as the fields it was written from, false lengths never lead to
 *         a read past the bytes, and a response has the fields put into it. Method: a packet is
 *         composed from the input with shifts (binary_packet.h), parsed whole and in pieces; a
 *         response is composed for it and read back with shifts. Part of the inputs is a stream
 *         of the input's own bytes.
 */
#include "fuzz_target.h"
#include "input.h"
#include "pieces.h"
#include "proto/mc_binary.h"
#include "unit/proto/binary_packet.h"

#include <stdlib.h>
#include <string.h>

#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

#define VALUE_MAX 64u

static uint64_t
get_be(const uint8_t *at, uint32_t bytes)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < bytes; i++)
		v = v << 8 | at[i];
	return v;
}

/* Returns the row of a request with these parts, or NULL. */
static const struct mc_opcode *
row_of(const struct packet *p)
{
	for (uint32_t i = 0; i < MC_OPCODE_COUNT; i++) {
		const struct mc_opcode *o = &mc_opcodes[i];

		if (o->opcode == p->opcode)
			return o;
	}
	return NULL;
}

static bool
parts_fit(const struct mc_opcode *o, const struct packet *p)
{
	const bool extras =
		p->extras_len == o->extras || (o->verb == MC_BIN_FLUSH && p->extras_len == 0);

	return extras &&
	       (o->key == MC_PART_OPTIONAL || (o->key == MC_PART_REQUIRED) == (p->key_len > 0)) &&
	       (o->value == MC_PART_OPTIONAL || p->value_len == 0);
}

static void
fields_agree(const struct mc_req *req, const struct packet *p, const struct mc_opcode *o)
{
	const uint8_t *extras = p->extras;

	must(req->verb == o->verb && req->cas == p->cas);
	must(((req->flags & MC_QUIET) != 0) == o->quiet);
	must(req->key.len == p->key_len && memcmp(req->key.data, p->key, p->key_len) == 0);
	switch (req->verb) {
	case MC_BIN_SET:
	case MC_BIN_ADD:
	case MC_BIN_REPLACE:
		must(req->client_flags == get_be(extras, 4));
		must(req->body_len == p->value_len && (req->flags & MC_HAS_BODY));
		break;
	case MC_BIN_INCR:
	case MC_BIN_DECR:
		must(req->delta == get_be(extras, 8));
		must((req->meta.flags == 0) == (get_be(extras + 16, 4) == UINT32_MAX));
		must(req->meta.flags == 0 || req->meta.initial == get_be(extras + 8, 8));
		break;
	case MC_BIN_SASL_AUTH:
	case MC_BIN_SASL_STEP:
		must(req->admin.text.len == p->value_len);
		break;
	default:
		break;
	}
}

static void
request_agrees(const struct mc_req *req, const struct packet *p)
{
	const struct mc_opcode *o = row_of(p);

	must(req->flags & MC_BINARY);
	must(req->opcode == p->opcode && be32_get(req->opaque) == p->opaque);
	if (p->key_len > MC_KEY_MAX || (o != NULL && !parts_fit(o, p)))
		must(req->verb == MC_BAD && req->error == MC_ERR_FORMAT &&
		     (req->flags & MC_CLOSE_AFTER));
	else if (o == NULL)
		must(req->verb == MC_BAD && req->error == MC_ERR_UNKNOWN &&
		     req->body_len == p->extras_len + p->key_len + p->value_len);
	else if (req->verb != MC_BAD) /* a mechanism's name may be too long */
		fields_agree(req, p, o);
	else
		must(o->verb == MC_BIN_SASL_AUTH || o->verb == MC_BIN_SASL_STEP);
}

static void
response_agrees(const uint8_t *at, const struct packet *p, uint32_t key_len, uint32_t body_len,
		uint64_t cas)
{
	must(at[0] == 0x81 && at[1] == p->opcode);
	must(get_be(at + 2, 2) == key_len && get_be(at + 8, 4) == body_len);
	must(get_be(at + 12, 4) == p->opaque && get_be(at + 16, 8) == cas);
}

static void
response_compose(const struct mc_req *req, const struct packet *p, struct input *in)
{
	const struct mc_bin_echo echo = mc_bin_echo(req);
	const uint32_t key_len = p->key_len <= MC_KEY_MAX ? p->key_len : 0;
	const struct mc_bin_value v = {
		.key = {p->key, key_len},
		.client_flags = (uint32_t)take_number(in),
		.len = (uint32_t)take_number(in) & INT32_MAX,
		.cas = take_number(in),
	};
	uint8_t *text = malloc(MC_BIN_VALUE_HEAD_MAX);
	const uint8_t *end = mc_put_bin_value_head(text, echo, &v);

	must((uint32_t)(end - text) == 28 + key_len);
	response_agrees(text, p, key_len, 4 + key_len + v.len, v.cas);
	must(get_be(text + 24, 4) == v.client_flags);
	must(key_len == 0 || memcmp(text + 28, p->key, key_len) == 0);
	mc_put_bin_number(text, echo, v.cas, v.cas);
	response_agrees(text, p, 0, 8, v.cas);
	must(get_be(text + 24, 8) == v.cas);
	end = mc_put_bin_miss(text, echo, v.key);
	response_agrees(text, p, key_len, key_len, 0);
	free(text);
}

static void
round_trip(struct input *in)
{
	static const uint8_t lengths[PIECE_LENGTHS] = {0, 22, 3, 60};
	static uint8_t parts[3][256], stream[24 + 3 * 256];
	struct packet p = {.opcode = take_u8(in)};
	const struct mc_opcode *o = row_of(&p);
	const uint8_t choice = take_u8(in);
	struct mc_parser ps = {0};
	struct mc_req req;
	uint32_t len;

	p.extras_len = o != NULL && choice & 1 ? o->extras : take_u8(in) % 32;
	p.key_len = choice & 2 ? take_u8(in) : choice & 4 ? 1 : 0;
	p.value_len = choice & 8 ? take_u8(in) % VALUE_MAX : 0;
	p.opaque = (uint32_t)take_number(in);
	p.cas = take_number(in);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t j = 0; j < sizeof parts[i] && in->left > 40; j++)
			parts[i][j] = take_u8(in);
	p.extras = parts[0];
	p.key = parts[1];
	p.value = parts[2];
	len = (uint32_t)(put_packet(stream, &p) - stream);
	must(mc_parse(&ps, &req, stream, len).status == MC_OK);
	request_agrees(&req, &p);
	response_compose(&req, &p, in);
	pieces_agree(lengths, stream, len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t stream[1024] = {MC_BIN_REQUEST_MAGIC};

	if (size < PIECE_LENGTHS + 1 || size > sizeof stream - 1)
		return 0;
	if (take_u8(&in) & 1) {
		round_trip(&in);
		return 0;
	}
	memcpy(stream + 1, in.data, in.left);
	pieces_agree(data, stream, (uint32_t)in.left + 1);
	return 0;
}
