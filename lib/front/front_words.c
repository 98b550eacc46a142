/*
 * front_words.c - converts keys to words, and back.
 */
#include "front_words.h"

static const char name[] = "peer";
static const char end[] = "\r\n";

#define NAME_BYTES (sizeof name - 1)
#define END_BYTES  (sizeof end - 1)
#define WORD_HEAD  2u /* a space and the letter */

static void
begin(struct front_words *words)
{
	uint8_t *at = mc_udp_put(words->bytes, 0, 0, 1);

	memcpy(at, name, NAME_BYTES);
	words->len = MC_UDP_FRAME_BYTES + NAME_BYTES;
	words->all = false;
	memset(words->seen, 0, sizeof words->seen);
}

/* Returns where the word's bytes go; NULL: there is no room. */
static uint8_t *
word_begin(struct front_words *words, char letter, uint32_t len)
{
	uint8_t *at;

	if (words->len == 0)
		begin(words);
	if (words->len + WORD_HEAD + len + END_BYTES > FRONT_WORDS_BYTES)
		return NULL;
	at = words->bytes + words->len;
	at[0] = ' ';
	at[1] = (uint8_t)letter;
	words->len += WORD_HEAD + len;
	return at + WORD_HEAD;
}

static bool
key_add(struct front_words *words, struct view key)
{
	const bool plain = mc_key_is_text(key);
	uint8_t *at;

	if (!plain && key.len > MC_KEY_DECODED_MAX)
		return false;
	at = word_begin(words, plain ? 'k' : 'b', plain ? key.len : (key.len + 2) / 3 * 4);
	if (at == NULL)
		return false;
	if (plain)
		memcpy(at, key.data, key.len);
	else
		mc_put_base64(at, key);
	return true;
}

bool
front_words_add(struct front_words *words, struct view key, uint64_t hash)
{
	uint64_t *seen = &words->seen[hash % FRONT_WORDS_SEEN];

	if (words->len != 0 && hash != 0 && *seen == hash)
		return true;
	if (!key_add(words, key))
		return false;
	*seen = hash;
	return true;
}

bool
front_words_add_all(struct front_words *words)
{
	if (words->len != 0 && words->all)
		return true;
	if (word_begin(words, 'f', 0) == NULL)
		return false;
	words->all = true;
	return true;
}

struct view
front_words_end(struct front_words *words)
{
	memcpy(words->bytes + words->len, end, END_BYTES);
	return (struct view){words->bytes, words->len + END_BYTES};
}

/* ---- received words ---- */

bool
front_words_begin(struct view request, struct view *rest)
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

enum front_word
front_words_next(struct view *rest, struct view *key, uint8_t room[MC_KEY_DECODED_MAX])
{
	const uint8_t *next;
	struct view word;
	uint32_t len;

	if (rest->len < WORD_HEAD || rest->data[0] != ' ')
		return FRONT_WORD_END;
	next = memchr(rest->data + 1, ' ', rest->len - 1);
	len = next != NULL ? (uint32_t)(next - rest->data) : rest->len;
	if (len < WORD_HEAD)
		return FRONT_WORD_END;
	word = (struct view){rest->data + WORD_HEAD, len - WORD_HEAD};
	const char letter = (char)rest->data[1];

	*rest = (struct view){rest->data + len, rest->len - len};
	if (letter == 'f' && word.len == 0)
		return FRONT_WORD_ALL;
	return key_read(letter, word, key, room) ? FRONT_WORD_KEY : FRONT_WORD_END;
}
