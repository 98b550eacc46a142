/*
 * invalidations.c - converts keys to invalidations, and back.
 */
#include "invalidations.h"

static const char name[] = "peer";
static const char end[] = "\r\n";

#define NAME_BYTES (sizeof name - 1)
#define END_BYTES  (sizeof end - 1)
#define HEAD_BYTES 2u /* a space and the letter */

static void
begin(struct invalidations *sent)
{
	uint8_t *at = mc_udp_put(sent->bytes, 0, 0, 1);

	memcpy(at, name, NAME_BYTES);
	sent->len = MC_UDP_FRAME_BYTES + NAME_BYTES;
	sent->all = false;
	memset(sent->seen, 0, sizeof sent->seen);
}

/* Returns where the key's bytes go; NULL: there is no room. */
static uint8_t *
one_begin(struct invalidations *sent, char letter, uint32_t len)
{
	uint8_t *at;

	if (sent->len == 0)
		begin(sent);
	if (sent->len + HEAD_BYTES + len + END_BYTES > INVALIDATIONS_BYTES)
		return NULL;
	at = sent->bytes + sent->len;
	at[0] = ' ';
	at[1] = (uint8_t)letter;
	sent->len += HEAD_BYTES + len;
	return at + HEAD_BYTES;
}

static bool
key_add(struct invalidations *sent, struct view key)
{
	const bool plain = mc_key_is_text(key);
	uint8_t *at;

	if (!plain && key.len > MC_KEY_DECODED_MAX)
		return false;
	at = one_begin(sent, plain ? 'k' : 'b', plain ? key.len : (key.len + 2) / 3 * 4);
	if (at == NULL)
		return false;
	if (plain)
		memcpy(at, key.data, key.len);
	else
		mc_put_base64(at, key);
	return true;
}

bool
invalidations_add(struct invalidations *sent, struct view key, uint64_t hash)
{
	uint64_t *seen = &sent->seen[hash % INVALIDATIONS_SEEN];

	if (sent->len != 0 && hash != 0 && *seen == hash)
		return true;
	if (!key_add(sent, key))
		return false;
	*seen = hash;
	return true;
}

bool
invalidations_add_all(struct invalidations *sent)
{
	if (sent->len != 0 && sent->all)
		return true;
	if (one_begin(sent, 'f', 0) == NULL)
		return false;
	sent->all = true;
	return true;
}

struct view
invalidations_end(struct invalidations *sent)
{
	memcpy(sent->bytes + sent->len, end, END_BYTES);
	return (struct view){sent->bytes, sent->len + END_BYTES};
}

/* ---- received ones ---- */

bool
invalidations_begin(struct view request, struct view *rest)
{
	const uint8_t *stop;

	if (request.len < NAME_BYTES || memcmp(request.data, name, NAME_BYTES) != 0)
		return false;
	stop = memchr(request.data, '\n', request.len);
	if (stop == NULL)
		return false;
	if (stop[-1] == '\r')
		stop--;
	*rest = (struct view){request.data + NAME_BYTES,
			      (uint32_t)(stop - request.data) - NAME_BYTES};
	return rest->len == 0 || rest->data[0] == ' ';
}

static bool
key_read(char letter, struct view word, struct view *key, uint8_t *room)
{
	uint32_t len = word.len;

	if (len == 0 || len > MC_KEY_MAX)
		return false;
	*key = word;
	if (letter == 'k')
		return mc_key_is_text(word);
	len = letter == 'b' ? mc_base64_len(word) : 0;
	if (len == 0 || len > MC_KEY_DECODED_MAX)
		return false;
	mc_base64_decode(room, word);
	*key = (struct view){room, len};
	return true;
}

enum invalidation_kind
invalidations_next(struct view *rest, struct view *key, uint8_t room[MC_KEY_DECODED_MAX])
{
	const uint8_t *next;
	struct view word;
	uint32_t len;

	if (rest->len < HEAD_BYTES || rest->data[0] != ' ')
		return INVALIDATION_END;
	next = memchr(rest->data + 1, ' ', rest->len - 1);
	len = next != NULL ? (uint32_t)(next - rest->data) : rest->len;
	if (len < HEAD_BYTES)
		return INVALIDATION_END;
	word = (struct view){rest->data + HEAD_BYTES, len - HEAD_BYTES};
	const char letter = (char)rest->data[1];

	*rest = (struct view){rest->data + len, rest->len - len};
	if (letter == 'f' && word.len == 0)
		return INVALIDATION_ALL;
	return key_read(letter, word, key, room) ? INVALIDATION_KEY : INVALIDATION_END;
}
