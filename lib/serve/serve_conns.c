/*
 * serve_conns.c - stats conns: who is connected to which core.
 *
 * Each core keeps a card of every connection slot for the others to read; it is written when the
 * connection comes and goes, and once a second while it is used.
 */
#include "serve_stream.h"

/* As memcached's file descriptors: numbers that tell connections apart, and no more. */
#define NUMBER_TCP    1u
#define NUMBER_UDP    2u
#define NUMBERS_FIRST 16u

uint32_t
session_number(const struct serve *sv, const struct session *ss)
{
	const uint32_t slot = ss == NULL ? 0 : (uint32_t)(ss - sv->sessions);

	return ss == NULL ? 0 : NUMBERS_FIRST + sv->cfg.core * sv->cfg.conns_max + slot;
}

static void
conn_row(struct sheet *sheet, const struct stream *st, uint32_t number, const char *name,
	 struct view value)
{
	char text[ROW_NAME_MAX + 1];
	uint8_t *at = mc_put_u64((uint8_t *)text, number);

	*at++ = ':';
	strcpy((char *)at, name);
	row_text(sheet, st, text, value);
}

/* "tcp:10.99.0.1:11211" */
static void
conn_address(struct sheet *sheet, const struct stream *st, uint32_t number, const char *name,
	     uint64_t peer)
{
	uint8_t text[32];
	struct sheet word = {text, text + sizeof text};

	sheet_text(&word, "tcp:");
	sheet_ipv4(&word, (uint32_t)(peer >> 16));
	*word.at++ = ':';
	sheet_number(&word, peer & 0xffff);
	conn_row(sheet, st, number, name, (struct view){text, (uint32_t)(word.at - text)});
}

static void
conn_seconds(struct sheet *sheet, const struct stream *st, uint32_t number, uint32_t seconds)
{
	uint8_t digits[MC_U64_DIGITS_MAX];
	const uint8_t *end = mc_put_u64(digits, seconds);

	conn_row(sheet, st, number, "secs_since_last_cmd",
		 (struct view){digits, (uint32_t)(end - digits)});
}

#define TEXT(text)                                                                                 \
	(struct view)                                                                              \
	{                                                                                          \
		(const uint8_t *)(text), sizeof(text) - 1                                          \
	}

static uint64_t
ours(const struct serve_shared *sh)
{
	return (uint64_t)sh->facts.ip << 16 | sh->facts.tcp_port;
}

static bool
ports_step(struct serve *sv, struct stream *st, struct sheet *sheet)
{
	const struct serve_shared *sh = sv->shared;
	uint32_t n = 0;

	if (row_due(sheet, &st->row, &n) && sh->facts.tcp_port != 0)
		conn_address(sheet, st, NUMBER_TCP, "addr", ours(sh));
	if (row_due(sheet, &st->row, &n) && sh->facts.tcp_port != 0)
		conn_row(sheet, st, NUMBER_TCP, "state", TEXT("conn_listening"));
	if (row_due(sheet, &st->row, &n) && sh->facts.tcp_port != 0)
		conn_seconds(sheet, st, NUMBER_TCP, sv->clock.now_s - STORE_CLOCK_START);
	if (row_due(sheet, &st->row, &n) && sh->facts.udp_port != 0)
		conn_row(sheet, st, NUMBER_UDP, "UDP", TEXT("UDP"));
	return st->row < n;
}

/* The rows of the connection on a card, which may be another one by the next sheet. */
static bool
card_step(struct serve *sv, struct stream *st, struct sheet *sheet, const struct conn_card *card,
	  uint32_t number)
{
	const uint64_t peer = atomic_load_explicit(&card->peer, memory_order_relaxed);
	const uint32_t active_s = atomic_load_explicit(&card->active_s, memory_order_relaxed);
	const bool watching = atomic_load_explicit(&card->watching, memory_order_relaxed) != 0;
	uint32_t n = 0;

	if (row_due(sheet, &st->row, &n))
		conn_address(sheet, st, number, "addr", peer);
	if (row_due(sheet, &st->row, &n))
		conn_address(sheet, st, number, "listen_addr", ours(sv->shared));
	if (row_due(sheet, &st->row, &n))
		conn_row(sheet, st, number, "state",
			 watching ? TEXT("conn_watch") : TEXT("conn_read"));
	if (row_due(sheet, &st->row, &n))
		conn_seconds(sheet, st, number,
			     sv->clock.now_s > active_s ? sv->clock.now_s - active_s : 0);
	return st->row < n;
}

/* st->at is the core plus 1, 0 the ports; st->sub the slot. */
static bool
cards_step(struct serve *sv, struct stream *st, struct sheet *sheet)
{
	const struct serve *other = sv->shared->serves[st->at - 1];

	for (uint32_t i = 0; i < CARDS_A_STEP; i++, st->sub++) {
		const struct conn_card *card;

		if (other == NULL || st->sub >= other->cfg.conns_max) {
			st->at++;
			st->sub = st->row = 0;
			return true;
		}
		card = &other->admin.cards[st->sub];
		if (st->row == 0 && atomic_load_explicit(&card->peer, memory_order_relaxed) == 0)
			continue;
		if (card_step(sv, st, sheet, card,
			      session_number(other, &other->sessions[st->sub])))
			return true;
		st->row = 0;
	}
	return true;
}

bool
conns_step(struct serve *sv, struct stream *st, struct sheet *sheet)
{
	if (st->at > sv->shared->cores)
		return false;
	if (st->at > 0)
		return cards_step(sv, st, sheet);
	if (!ports_step(sv, st, sheet)) {
		st->at = 1;
		st->row = 0;
	}
	return true;
}
