/*
 * mc_meta.c - reply lines of meta commands and of the debug and dump commands, composed flag by
 * flag in the order of the request.
 */
#include "mc_meta.h"

#include "mc_reply.h"

#define WORD(symbol, word) [symbol] = word,
static const char code_words[MC_META_CODE_COUNT][3] = {MC_META_CODES(WORD)};

static inline uint8_t *
put_text(uint8_t *at, const char *text)
{
	return mc_put_view(at, (struct view){(const uint8_t *)text, (uint32_t)strlen(text)});
}

/* Writes the key, with the flag that marks base64. */
static uint8_t *
put_key(uint8_t *at, struct view key, bool base64)
{
	if (!base64)
		return mc_put_view(at, key);
	at = mc_put_base64(at, key);
	return put_text(at, " b");
}

static uint8_t *
put_ttl(uint8_t *at, int32_t ttl_s)
{
	return ttl_s < 0 ? put_text(at, "-1") : mc_put_u64(at, (uint32_t)ttl_s);
}

static uint8_t *
put_flag(uint8_t *at, uint8_t letter, const struct mc_meta *meta, const struct mc_meta_item *item)
{
	*at++ = ' ';
	*at++ = letter;
	switch (letter) {
	case 'c':
		return mc_put_u64(at, item->cas);
	case 'f':
		return mc_put_u64(at, item->client_flags);
	case 'h':
		*at++ = item->fetched ? '1' : '0';
		return at;
	case 'k':
		return put_key(at, item->key, item->base64);
	case 'l':
		return mc_put_u64(at, item->idle_s);
	case 's':
		return mc_put_u64(at, item->size);
	case 't':
		return put_ttl(at, item->ttl_s);
	default: /* O */
		return mc_put_view(at, (struct view){meta->opaque, meta->opaque_len});
	}
}

static uint8_t *
put_flags(uint8_t *at, const struct mc_meta *meta, const struct mc_meta_item *item)
{
	for (uint32_t i = 0; i < meta->order_count; i++)
		if (item->shown & mc_meta_bit(meta->order[i]))
			at = put_flag(at, meta->order[i], meta, item);
	if (item->sent)
		at = put_text(at, " Z");
	if (item->stale)
		at = put_text(at, " X");
	if (item->won)
		at = put_text(at, " W");
	return mc_put_line_end(at);
}

uint8_t *
mc_put_meta(uint8_t *at, enum mc_meta_code code, const struct mc_meta *meta,
	    const struct mc_meta_item *item)
{
	memcpy(at, code_words[code], 2);
	return put_flags(at + 2, meta, item);
}

uint8_t *
mc_put_meta_value_head(uint8_t *at, uint32_t len, const struct mc_meta *meta,
		       const struct mc_meta_item *item)
{
	memcpy(at, "VA ", 3);
	return put_flags(mc_put_u64(at + 3, len), meta, item);
}

/* ---- metadata of an item ---- */

static uint8_t *
put_i64(uint8_t *at, int64_t v)
{
	if (v < 0) {
		*at++ = '-';
		return mc_put_u64(at, 0 - (uint64_t)v);
	}
	return mc_put_u64(at, (uint64_t)v);
}

/* Writes " exp=... la=... cas=... fetch=... cls=... size=...". */
static uint8_t *
put_item_info(uint8_t *at, const struct mc_item_info *f)
{
	at = put_i64(put_text(at, " exp="), f->exptime);
	at = mc_put_u64(put_text(at, " la="), f->access);
	at = mc_put_u64(put_text(at, " cas="), f->cas);
	at = put_text(at, f->fetched ? " fetch=yes" : " fetch=no");
	at = mc_put_u64(put_text(at, " cls="), f->slab_class);
	return mc_put_u64(put_text(at, " size="), f->size);
}

uint8_t *
mc_put_debug(uint8_t *at, const struct mc_item_info *f)
{
	at = put_text(at, "ME ");
	at = f->base64 ? mc_put_base64(at, f->key) : mc_put_view(at, f->key);
	return mc_put_line_end(put_item_info(at, f));
}

/* The line ends in a space and a bare line feed, as memcached's does: scripts match the space. */
uint8_t *
mc_put_metadump(uint8_t *at, const struct mc_item_info *f)
{
	at = mc_put_uri(put_text(at, "key="), f->key);
	at = put_item_info(at, f);
	at = mc_put_u64(put_text(at, " flags="), f->client_flags);
	return put_text(at, " \n");
}

uint8_t *
mc_put_mgdump(uint8_t *at, const struct mc_item_info *f)
{
	return mc_put_line_end(put_key(put_text(at, "mg "), f->key, f->base64));
}

/* True for characters that need no escape anywhere (RFC 3986 section 2.3). */
static inline bool
is_unreserved(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

uint8_t *
mc_put_uri(uint8_t *at, struct view key)
{
	static const char hex[] = "0123456789ABCDEF";

	for (uint32_t i = 0; i < key.len; i++) {
		const uint8_t c = key.data[i];

		if (is_unreserved(c)) {
			*at++ = c;
			continue;
		}
		*at++ = '%';
		*at++ = (uint8_t)hex[c >> 4];
		*at++ = (uint8_t)hex[c & 15];
	}
	return at;
}
