/*
 * mc_binary.h - responses of the binary protocol.
 *
 * Shape:  a response is a 24-byte header, extras, key and value; composers write header, extras and
 *         key into room that the caller has; the value follows.
 * Thread: pure functions.
 * Bounds: MC_BIN_VALUE_HEAD_MAX bytes before a value, MC_BIN_STATUS_MAX for a status with its text,
 *         MC_BIN_NUMBER_BYTES for a number.
 * Source: memcached doc/protocol-binary.xml; the error texts and which response has which part
 *         as in 1.6.45.
 */
#ifndef CLOCKOO_MC_BINARY_H
#define CLOCKOO_MC_BINARY_H

#include "mc_req.h"

struct mc_bin_head {
	uint8_t magic;
	uint8_t opcode;
	struct be16 key_len;
	uint8_t extras_len;
	uint8_t data_type;
	struct be16 status;   /* in a request: vbucket */
	struct be32 body_len; /* extras, key and value */
	struct be32 opaque;
	struct be64 cas;
};
static_assert(sizeof(struct mc_bin_head) == MC_BIN_HEAD_BYTES, "wire format");

#define MC_BIN_VALUE_HEAD_MAX (MC_BIN_HEAD_BYTES + 4 + MC_KEY_MAX)
#define MC_BIN_STATUS_MAX     (MC_BIN_HEAD_BYTES + 64)
#define MC_BIN_NUMBER_BYTES   (MC_BIN_HEAD_BYTES + 8)

/* The fields of a request that its response repeats; few enough to keep while a value is
 * incomplete. */
struct mc_bin_echo {
	uint8_t opcode;
	struct be32 opaque;
};

static inline struct mc_bin_echo
mc_bin_echo(const struct mc_req *req)
{
	return (struct mc_bin_echo){req->opcode, req->opaque};
}

/* True for GetK, GetKQ, GATK and GATKQ, whose hits and misses show the key. */
bool mc_bin_shows_key(uint8_t opcode);

/* Writes a header: of an empty success, or of a response with body_len bytes. */
uint8_t *mc_put_bin_head(uint8_t *at, struct mc_bin_echo echo, enum mc_bin_status status,
			 uint32_t body_len, uint64_t cas);
/* Writes a status with its text. */
uint8_t *mc_put_bin_status(uint8_t *at, struct mc_bin_echo echo, enum mc_bin_status status);
/* Writes a miss that shows its key: at most MC_BIN_HEAD_BYTES + MC_KEY_MAX. */
uint8_t *mc_put_bin_miss(uint8_t *at, struct mc_bin_echo echo, struct view key);

struct mc_bin_value {
	struct view key; /* len 0: not shown */
	uint32_t client_flags;
	uint32_t len; /* length of the value that follows; touch: 0 */
	uint64_t cas;
};

/* Writes header, flags and key of Get, GAT or Touch, after which the value follows. */
uint8_t *mc_put_bin_value_head(uint8_t *at, struct mc_bin_echo echo, const struct mc_bin_value *v);
/* Writes the result of incr or decr. */
uint8_t *mc_put_bin_number(uint8_t *at, struct mc_bin_echo echo, uint64_t number, uint64_t cas);
/* Writes version or SASL: at most MC_BIN_HEAD_BYTES + text.len. */
uint8_t *mc_put_bin_text(uint8_t *at, struct mc_bin_echo echo, struct view text);
/* Writes one statistic, or their end if name and value are empty: at most MC_BIN_HEAD_BYTES +
 * name.len + value.len bytes. */
uint8_t *mc_put_bin_stat(uint8_t *at, struct mc_bin_echo echo, struct view name, struct view value);

#endif
