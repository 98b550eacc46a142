/*
 * Order of pending requests. Goal: a client's replies depend neither on when the backend
 * answers, nor in which order, nor on other connections. Method: random conversations, in text
 * and meta commands, in binary packets and in datagrams; of keys that the backend has, lacks,
 * fails on or never answers, and of keys of the local store. For the reference, each request is
 * sent alone, to a backend that answers at once. Then several connections run at a time, cut
 * anywhere, with late answers, with values that are kept as copies and copies that are evicted;
 * connections that are lost amid pending requests leave their slot to the next one, while the
 * backend's answers still arrive. Writes of a conversation's own keys are done by the backend, or
 * by the store: each is requested exactly once. Or the backend is a second tier, to which items are
 * evicted at any time. The reference of a conversation with only keys of its own is a service
 * without a backend.
 */
#include "unit/serve/binary_talk.h"
#include "late_backend.h"
#include "serve/serve_internal.h"
#include "support/test.h"
#include "proto/mc_udp.h"

#include <stdlib.h>

#ifdef FEW_PENDING
/* Places are few, so requests wait for them. A pending request must not fail:
 * all are answered in time. */
#define SUPPLIED    "sssssf"
#define DELAY       6u
#define LETTER_KEYS 3u
#else
#define SUPPLIED    "ssssssssssssssfd"
#define DELAY       25u
#define LETTER_KEYS 100u
#endif

#define SEEDS            16u /* twice; an argument sets another number */
#define CONNS            5u
#define TALKS            20u /* begun in a seed */
#define BYTES_MAX        (256u << 10)
#define REQS_MAX         64u
#define TURNS_MAX        30000u
#define IDLE_TURNS       3u
#define SETTLE_TURNS_MAX 2000u
#define DATAGRAMS        40u
#define LETTERS_FIRST    900u /* numbers of their keys */
#define REPLIES_MAX      (12u << 20)
#define LETTER_MAX       (1500u << 10)

static uint64_t rng;
static bool writes;                          /* the backend does the writes */
static uint32_t kinds = sizeof SUPPLIED - 1; /* kinds of SUPPLIED in use */
static bool flash; /* the backend is a second tier, and items are evicted to it all the time */

static uint32_t
below(uint32_t n)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng >> 33) % n;
}

/* ---- conversations ---- */

struct talk {
	uint8_t bytes[BYTES_MAX];
	uint32_t len;
	uint32_t ends[REQS_MAX]; /* where each request ends */
	uint32_t count;
	uint8_t *reply; /* the reference's */
	uint32_t reply_len;
	uint32_t number;
	bool own;        /* only keys of its own */
	uint32_t writes; /* requests that write */
};

#define OWN_KEYS  6u
#define NUMBERS   40u   /* of keys, of each kind */
#define MANY      800u  /* in a line that is longer than a read buffer */
#define OWN_FIRST 1000u /* number of a key; 8 a conversation */

static void
add(struct talk *t, const void *bytes, uint32_t len)
{
	check(t->len + len <= BYTES_MAX);
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
}

static void
add_text(struct talk *t, const char *text)
{
	add(t, text, (uint32_t)strlen(text));
}

static void
supplied_key(char *key)
{
	sprintf(key, "%c%u", SUPPLIED[below(kinds)], below(NUMBERS));
}

/* Makes a key that has the conversation's number in it, so that no other one uses it. */
static void
local_key(const struct talk *t, char *key)
{
	sprintf(key, "l%u", OWN_FIRST + t->number * 8 + below(OWN_KEYS));
}

static void
any_key(const struct talk *t, char *key)
{
	if (t->own || below(5) == 0)
		local_key(t, key);
	else
		supplied_key(key);
}

static void
add_body(struct talk *t, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		add(t, &"abcdefghij"[(i + len) % 10], 1);
}

/* Adds a line of as many keys, of which there are `most` of each kind. */
static void
add_get(struct talk *t, uint32_t keys, uint32_t most)
{
	char key[16];

	add_text(t, below(4) == 0 ? "gets" : "get");
	for (uint32_t i = 0; i < keys; i++) {
		sprintf(key, "%c%u", SUPPLIED[below(kinds)], below(most));
		add_text(t, " ");
		add_text(t, key);
	}
	add_text(t, "\r\n");
}

static const char *
flags(const char *const *list, uint32_t count)
{
	static char text[64];

	text[0] = 0;
	for (uint32_t i = 0; i < count; i++)
		if (below(3) == 0)
			strcat(text, list[i]);
	return text;
}

#define FLAGS(...)                                                                                 \
	flags((const char *const[]){__VA_ARGS__},                                                  \
	      sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Adds a storage command with a value of any length; one in twenty has a wrong end. */
static void
add_stored(struct talk *t, const char *line, uint32_t len)
{
	const bool bad = below(20) == 0;

	add_text(t, line);
	if (len == 2 && !bad)
		add_text(t, "17"); /* a number, now and then */
	else
		add_body(t, len);
	add_text(t, bad ? "xy" : "\r\n");
	t->writes += !bad;
}

static void
add_storage(struct talk *t, const char *key)
{
	static const char *const verbs[] = {"set",     "set",    "set",     "add",
					    "replace", "append", "prepend", "cas"};
	static const char *const modes[] = {"", "", " MA N0", " MP", " ME", " MR"};
	const char *verb = verbs[below(8)];
	const uint32_t len = below(6) == 0 ? below(6000) : below(4) == 0 ? 2 : below(300);
	const bool cas = verb[0] == 'c', quiet = below(3) == 0;
	char line[96];

	if (below(3) == 0)
		sprintf(line, "ms %s %u%s%s\r\n", key, len, modes[below(6)],
			FLAGS(" k", " q", " Oxy", " s", " F7", " T0"));
	else
		sprintf(line, "%s %s %u 0 %u%s%s\r\n", verb, key, below(9), len,
			cas ? " 999999999999" : "", quiet ? " noreply" : "");
	add_stored(t, line, len);
}

/* Adds a get, or a command that changes a key of its own. */
static void
add_local(struct talk *t)
{
	char key[16], line[96];
	const char *noreply = below(3) == 0 ? " noreply" : "";
	uint32_t changes = 1;

	local_key(t, key);
	switch (below(12)) {
	case 0:
		sprintf(line, "get %s\r\n", key);
		changes = 0;
		break;
	case 1:
		sprintf(line, "mg %s v k\r\n", key);
		changes = 0;
		break;
	case 2:
		sprintf(line, "delete %s%s\r\n", key, noreply);
		break;
	case 3:
		sprintf(line, "%s %s %u%s\r\n", below(2) ? "incr" : "decr", key, below(30),
			noreply);
		break;
	case 4:
		sprintf(line, "touch %s 0%s\r\n", key, noreply);
		break;
	case 5:
		sprintf(line, "gat 0 %s %s\r\n", key, key);
		changes = 2;
		break;
	case 6:
		sprintf(line, "ma %s%s\r\n", key,
			FLAGS(" v", " k", " t", " q", " Ojk", " N0", " D5", " MD"));
		break;
	case 7:
		sprintf(line, "md %s%s\r\n", key, FLAGS(" k", " q", " Oz"));
		break;
	case 8:
		sprintf(line, "mg %s T0%s\r\n", key, FLAGS(" v", " k", " t", " q", " f", " s"));
		break;
	default:
		add_storage(t, key);
		return;
	}
	add_text(t, line);
	t->writes += changes;
}

/* Adds a command that the backend refuses: the key does not change, and the answer varies. */
static void
add_refused(struct talk *t)
{
	static const char *const verbs[] = {"delete %s\r\n",
					    "incr %s 4\r\n",
					    "touch %s 0\r\n",
					    "md %s q k\r\n",
					    "ma %s v t k\r\n",
					    "gat 0 %s\r\n",
					    "set %s 0 0 3\r\nabc\r\n",
					    "ms %s 3 k s\r\nabc\r\n",
					    "set %s 0 0 3 noreply\r\nabc\r\n",
					    "flush_all\r\n"};
	char key[16], line[64];

	supplied_key(key);
	sprintf(line, verbs[below(sizeof verbs / sizeof verbs[0])], key);
	add_text(t, line);
}

static void
add_meta(struct talk *t)
{
	static const char *const flags[] = {" v", " k", " f", " s", " Oab", " q", " t", " c"};
	char key[16];

	supplied_key(key);
	add_text(t, "mg ");
	add_text(t, key);
	for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (below(2) == 0)
			add_text(t, flags[i]);
	add_text(t, "\r\n");
}

static void
add_line(struct talk *t)
{
	static const char *const others[] = {
		"version\r\n",       "mn\r\n",           "bogus\r\n", "gat 0 s5\r\n",
		"gat 0 s10 s15\r\n", "mg s20 T30 v\r\n", "get\r\n",   "gat 0 f1\r\n",
		"mg s5 v N30\r\n"};

	if (t->own || below(3) == 0) {
		add_local(t);
		return;
	}
	switch (below(writes ? 13 : 12)) {
	case 12:
		add_refused(t);
		break;
	case 0:
		/* The last row makes an item that other conversations would see. */
		add_text(t, others[below(sizeof others / sizeof others[0] - flash)]);
		break;
	case 1:
	case 2:
	case 3:
		add_local(t);
		break;
	case 4:
	case 5:
		add_meta(t);
		break;
	case 6:
		if (below(4) == 0)
			add_get(t, 2 + below(MANY), MANY);
		else
			add_get(t, 2 + below(120), NUMBERS);
		break;
	case 7:
		add_get(t, 2 + below(8), NUMBERS);
		break;
	default:
		add_get(t, 1, NUMBERS);
		break;
	}
}

/* Makes a packet that writes. */
static void
packet_write(struct packet *p)
{
	static const uint8_t sets[] = {SET, SETQ, ADD, ADDQ, REPLACE, REPLACEQ},
			     appends[] = {APPEND, APPENDQ, PREPEND, PREPENDQ},
			     counts[] = {INCR, INCRQ, DECR, DECRQ},
			     gats[] = {GAT, GATQ, GATK, GATKQ};
	static const char zeros[20], *const values[] = {"a value, and not a short one", "41", "7"};
	static char large[5000];

	p->extras = zeros;
	p->value = values[below(3)];
	switch (below(7)) {
	case 0:
		*p = (struct packet){.op = below(2) ? DELETE : DELETEQ, .key = p->key};
		break;
	case 1:
		*p = (struct packet){.op = appends[below(4)], .key = p->key, .value = p->value};
		break;
	case 2: /* from 0 if the key is missing */
		*p = (struct packet){
			.op = counts[below(4)], .key = p->key, .extras = zeros, .extras_len = 20};
		break;
	case 3:
		*p = (struct packet){.op = below(3) ? gats[below(4)] : TOUCH,
				     .key = p->key,
				     .extras = zeros,
				     .extras_len = 4};
		break;
	default:
		p->op = sets[below(6)];
		p->extras_len = 8;
		if (below(8) == 0) {
			memset(large, 'L', sizeof large - 1);
			p->value = large;
			p->value_len = below(sizeof large - 1) + 1;
		}
		break;
	}
}

static void
add_packet(struct talk *t)
{
	static const uint8_t gets[] = {GET, GETQ, GETK, GETKQ};
	struct packet list[] = {{.op = gets[below(4)]}, LAST};
	uint8_t bytes[6000];
	char key[16];

	any_key(t, key);
	list[0].key = key;
	switch (below(8)) {
	case 0:
		list[0] = (struct packet){.op = below(2) == 0 ? NOOP : VERSION};
		break;
	case 1:
		if (!writes || t->own)
			break;
		supplied_key(key);
		packet_write(&list[0]);
		break;
	case 2:
	case 3:
	case 4:
		local_key(t, key);
		packet_write(&list[0]);
		t->writes++;
		break;
	default:
		break;
	}
	add(t, bytes, packets_put(bytes, list));
}

/* Adds a last request, whose reply follows the effect of all quiet ones. */
static void
talk_close(struct talk *t, bool binary)
{
	static const struct packet noop[] = {{.op = NOOP}, LAST};
	uint8_t bytes[64];

	if (binary)
		add(t, bytes, packets_put(bytes, noop));
	else
		add_text(t, "mn\r\n");
	t->ends[t->count++] = t->len;
}

static void
talk_make(struct talk *t, uint32_t number)
{
	const bool binary = below(3) == 0;

	*t = (struct talk){.number = number, .own = (writes || flash) && below(3) == 0};
	for (uint32_t n = 4 + below(REQS_MAX - 6); n > 0; n--) {
		if (binary)
			add_packet(t);
		else
			add_line(t);
		t->ends[t->count++] = t->len;
	}
	talk_close(t, binary);
}

/* ---- the reference ---- */

static void
settle(struct late *late, struct conn *c)
{
	uint32_t turns = 0;

	for (uint32_t idle = 0; idle < IDLE_TURNS; idle++) {
		check(turns++ < SETTLE_TURNS_MAX);
		rig_set_pieces(late_rig(late), 4096);
		late_turn(late);
		if (c != NULL)
			rig_acked(late_rig(late), c);
		if (backend_pending(late_rig(late)->serve) != 0)
			idle = 0;
	}
}

static void
talk_refer(struct late *late, struct talk *t)
{
	struct rig *rig = late_rig(late);
	struct conn *c = rig_open(rig);
	uint32_t from = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		rig_receive(rig, c, t->bytes + from, t->ends[i] - from);
		from = t->ends[i];
		settle(late, c);
		settle(late, c); /* a line of many keys takes some turns */
	}
	rig_sent(c, &t->reply_len);
	t->reply = malloc(t->reply_len + 1);
	memcpy(t->reply, rig_sent(c, NULL), t->reply_len);
	binary_clear_cas(t->reply, t->reply_len);
	rig_lose(rig, c);
}

/* ---- connections ---- */

struct client {
	struct conn *conn;
	struct talk *talk;
	uint32_t fed;
	bool ended;
};

static struct late *plain; /* no backend: the reference of talks with only keys of their own */
static struct client clients[CONNS];
static uint32_t talks, talks_begun, talks_ended; /* ever; in this run */

static void
client_begin(struct late *late, struct late *reference, struct client *cl)
{
	struct rig *rig = late_rig(late);

	cl->talk = malloc(sizeof *cl->talk);
	talk_make(cl->talk, talks++);
	talks_begun++;
	talk_refer(cl->talk->own ? plain : reference, cl->talk);
	cl->conn = rig_open(rig);
	cl->fed = 0;
	cl->ended = false;
}

/* Checks that the bytes received so far are a prefix of the reference's. Returns their number. */
static uint32_t
client_judge(struct late *late, struct client *cl)
{
	static uint8_t sent[REPLIES_MAX];
	uint32_t len;

	rig_sent(cl->conn, &len);
	rig_acked(late_rig(late), cl->conn);
	check(len <= cl->talk->reply_len && len <= sizeof sent);
	memcpy(sent, rig_sent(cl->conn, NULL), len);
	binary_clear_cas(sent, len);
	if (len > 0 && sent[0] != 0x81)
		check_bytes(sent, cl->talk->reply, len);
	return len;
}

static uint32_t
writes_of(const struct late *late, const struct talk *t)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < 8; i++)
		count += late_written(late, OWN_FIRST + t->number * 8 + i);
	return count;
}

/* Checks that each write was requested once if the conversation is whole, and at most once
 * otherwise. */
static void
writes_judge(struct late *late, const struct client *cl, bool whole)
{
	const uint32_t count = writes_of(late, cl->talk);

	if (whole)
		check_eq(count, writes ? cl->talk->writes : 0);
	check(count <= cl->talk->writes);
}

static void
talk_forget(struct late *late, const struct talk *t)
{
	for (uint32_t i = 0; i < OWN_KEYS; i++)
		late_forget(late, OWN_FIRST + t->number * 8 + i);
}

static void
client_end(struct late *late, struct late *reference, struct client *cl, bool whole)
{
	client_judge(late, cl);
	rig_lose(late_rig(late), cl->conn);
	writes_judge(late, cl, whole);
	talk_forget(late, cl->talk);
	talk_forget(reference, cl->talk);
	talk_forget(plain, cl->talk);
	free(cl->talk->reply);
	free(cl->talk);
	cl->talk = NULL;
	talks_ended++;
}

static bool
client_is_done(struct late *late, struct client *cl)
{
	uint32_t len;

	rig_sent(cl->conn, &len);
	if (cl->fed < cl->talk->len || len < cl->talk->reply_len)
		return false;
	if (cl->ended && !rig_closed(cl->conn))
		return false;
	check_eq(client_judge(late, cl), cl->talk->reply_len);
	if (len > 0 && cl->talk->reply[0] == 0x81) {
		static uint8_t sent[REPLIES_MAX];

		memcpy(sent, rig_sent(cl->conn, NULL), len);
		binary_clear_cas(sent, len);
		check_bytes(sent, cl->talk->reply, len);
	}
	return true;
}

static void
client_step(struct late *late, struct client *cl)
{
	struct rig *rig = late_rig(late);
	const uint32_t left = cl->talk->len - cl->fed;
	uint32_t n = below(3) == 0 ? 1 + below(30) : 1 + below(3000);

	n = n < left ? n : left;
	if (n > 0 && below(3) != 0 && !rig_closed(cl->conn)) {
		rig_receive(rig, cl->conn, cl->talk->bytes + cl->fed, n);
		cl->fed += n;
		if (cl->fed == cl->talk->len && below(2) == 0) {
			rig_eof(rig, cl->conn);
			cl->ended = true;
		}
	}
	if (below(3) == 0)
		rig_acked(rig, cl->conn);
}

/* ---- datagrams ---- */

#define LETTER_REQS 5u

struct letter {
	struct talk talk;
	bool sent;
	uint32_t messages, wanted; /* whole answers */
	uint32_t got, total;       /* datagrams of the last one, and their number */
	uint8_t reply[LETTER_MAX];
	uint32_t reply_len;
};

static struct letter *letters;
static uint64_t seeds = SEEDS;
static bool only_flash;
static uint64_t all_lost;
static bool losses; /* some connections are lost */

static void
letter_gather(struct letter *letter, const struct fake_sent *s)
{
	const uint32_t sequence = (uint32_t)s->bytes[2] << 8 | s->bytes[3];

	letter->got = letter->got == letter->total ? 0 : letter->got;
	check_eq(sequence, letter->got);
	letter->got++;
	letter->total = (uint32_t)s->bytes[4] << 8 | s->bytes[5];
	check(letter->reply_len + s->len - 8 <= sizeof letter->reply);
	memcpy(letter->reply + letter->reply_len, s->bytes + 8, s->len - 8);
	letter->reply_len += s->len - 8;
	letter->messages += letter->got == letter->total;
}

static void
letters_gather(struct late *late, struct letter *list)
{
	const struct fake_sent *sent;
	const uint32_t count = rig_datagrams_sent(late_rig(late), &sent);

	for (uint32_t i = 0; i < count; i++)
		letter_gather(&list[(uint32_t)sent[i].bytes[0] << 8 | sent[i].bytes[1]], &sent[i]);
	rig_forget_datagrams(late_rig(late));
}

static void
letter_clear(struct letter *letter)
{
	letter->talk.len = letter->talk.writes = letter->talk.count = 0;
	letter->sent = false;
	letter->messages = letter->got = letter->total = letter->reply_len = 0;
}

/* Adds a write of a key of its own, which the next round forgets, or a
 * get-and-touch of some keys. */
static void
letter_write(struct talk *t, uint32_t id)
{
	static const char *const lines[] = {
		"set l%u 5 0 3\r\nabc\r\n", "add l%u 0 0 3 noreply\r\nabc\r\n",
		"incr l%u 3\r\n",           "delete l%u\r\n",
		"touch l%u 0\r\n",          "ms l%u 2 k s\r\nab\r\n",
		"ma l%u N0 v t k\r\n",      "md l%u k Oxy\r\n",
		"mg l%u T0 v k\r\n",        "set l%u 0 0 1\r\nabc"};
	const uint32_t n = below(sizeof lines / sizeof lines[0] + 2);
	char line[64];

	if (n < sizeof lines / sizeof lines[0])
		sprintf(line, lines[n], LETTERS_FIRST + id);
	else if (flash)
		sprintf(line, "gat 0 l%u s5 l%u\r\n", LETTERS_FIRST + id, LETTERS_FIRST + id);
	else
		sprintf(line, "gat 0 s%u s%u s%u\r\n", below(40), below(40), below(40));
	add_text(t, line);
	/* The last row has a wrong end: it must be the datagram's last request. */
	t->writes += n + 1 < sizeof lines / sizeof lines[0];
	if (n + 1 == sizeof lines / sizeof lines[0])
		t->count = LETTER_REQS;
}

static void
letter_line(struct talk *t, uint32_t id)
{
	char line[64];

	t->count++;
	if ((writes || flash) && below(3) == 0)
		letter_write(t, id);
	else if (below(4) == 0)
		add_meta(t);
	else if (below(4) != 0)
		add_get(t, below(8) == 0 ? 2 + below(LETTER_KEYS) : 1, NUMBERS);
	else if (sprintf(line, "get l%u s1\r\n", LETTERS_FIRST + id) > 0)
		add_text(t, line);
}

/* Makes a datagram of requests and its reference, for which each request is sent alone. */
static void
letter_make(struct letter *letter, struct late *reference, uint32_t id)
{
	static struct letter other;
	struct talk *t = &letter->talk;
	const struct fake_sent *sent;
	uint32_t lines = below(2) == 0 ? 1 : 1 + below(LETTER_REQS), from = 0, count;

	letter_clear(letter);
	letter_clear(&other);
	if (flash && id % 2 == 0)
		late_put(reference, LETTERS_FIRST + id);
	/* A wait for a d key in one line may use up the time of the next ones. */
	kinds = sizeof SUPPLIED - (lines > 1 && SUPPLIED[sizeof SUPPLIED - 2] == 'd' ? 2 : 1);
	for (; t->count < lines; from = t->len) {
		letter_line(t, id);
		rig_datagram(late_rig(reference), (uint16_t)id, 1, t->bytes + from, t->len - from);
		settle(reference, NULL);
		settle(reference, NULL);
		count = rig_datagrams_sent(late_rig(reference), &sent);
		for (uint32_t i = 0; i < count; i++)
			letter_gather(&other, &sent[i]);
		rig_forget_datagrams(late_rig(reference));
	}
	kinds = sizeof SUPPLIED - 1;
	letter->wanted = other.messages;
	t->reply = malloc(other.reply_len + 1);
	t->reply_len = other.reply_len;
	memcpy(t->reply, other.reply, other.reply_len);
}

/* Checks that each datagram has its answers once, in order, or is counted as dropped. A datagram
 * that misses one answer may have others that depend on it. */
static void
letters_judge(struct late *late, struct late *reference)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < DATAGRAMS; i++) {
		struct letter *l = &letters[i];
		const uint32_t written = late_written(late, LETTERS_FIRST + i);

		check_eq(l->got, l->total);
		check(l->messages <= l->wanted && written <= (writes ? l->talk.writes : 0));
		if (l->messages < l->wanted || (writes && written < l->talk.writes)) {
			lost++;
		} else {
			check_eq(l->reply_len, l->talk.reply_len);
			check_bytes(l->reply, l->talk.reply, l->reply_len);
		}
		free(l->talk.reply);
		late_forget(late, LETTERS_FIRST + i);
		late_forget(reference, LETTERS_FIRST + i);
	}
	check(lost <= rig_count(late_rig(late), UDP_DROP_NO_MEMORY));
	all_lost += lost;
}

/* ---- the runs ---- */

static void
letters_send(struct late *late)
{
	const uint32_t i = below(DATAGRAMS);

	if (letters[i].sent || below(4) != 0)
		return;
	letters[i].sent = true;
	if (flash && i % 2 == 0) {
		late_put(late, LETTERS_FIRST + i);
		late_evict(late, LETTERS_FIRST + i);
	}
	rig_datagram(late_rig(late), (uint16_t)i, 1, letters[i].talk.bytes, letters[i].talk.len);
}

/* Evicts a copy. */
static void
copy_evict(struct late *late)
{
	struct rig *rig = late_rig(late);
	char text[16];
	const int len = sprintf(text, "s%u", below(40));
	const struct view key = {(const uint8_t *)text, (uint32_t)len};

	store_delete(rig->core, key, store_hash(rig->core, key));
}

/* Evicts items of conversations to the flash. */
static void
items_evict(struct late *late)
{
	for (uint32_t i = 0; flash && i < CONNS; i++)
		if (clients[i].talk != NULL)
			late_evict(late, OWN_FIRST + clients[i].talk->number * 8 + below(OWN_KEYS));
	if (flash)
		late_evict(late, LETTERS_FIRST + below(DATAGRAMS));
}

static bool
all_sent(void)
{
	for (uint32_t i = 0; i < DATAGRAMS; i++)
		if (!letters[i].sent)
			return false;
	return true;
}

static void
clients_turn(struct late *late, struct late *reference)
{
	for (uint32_t i = 0; i < CONNS; i++) {
		struct client *cl = &clients[i];

		if (cl->talk == NULL && talks_begun < TALKS)
			client_begin(late, reference, cl);
		if (cl->talk == NULL)
			continue;
		client_step(late, cl);
		if (losses && below(150) == 0)
			client_end(late, reference, cl, false);
		else if (client_is_done(late, cl))
			client_end(late, reference, cl, true);
	}
}

/* Returns the number of requests so far whose residence time was not recorded. */
static uint64_t
not_recorded(struct late *late)
{
	const struct rig *rig = late_rig(late);
	uint64_t left = rig_count(rig, REQ_TCP) + rig_count(rig, REQ_UDP);

	for (uint32_t row = 0; row < RESIDENCE_ROWS; row++)
		for (uint32_t i = 0; i < LOG_CELLS; i++)
			left -= counter_read(&rig->serve->residence.cells[row][i]);
	return left;
}

static uint64_t
dropped(struct late *late)
{
	return rig_count(late_rig(late), UDP_DROP_NO_MEMORY);
}

static void
run(struct late *late, struct late *reference, uint64_t seed)
{
	const uint64_t stale = late_stale(late), left = not_recorded(late), drops = dropped(late);
	uint32_t turn = 0;

	rng = seed;
	losses = seed % 4 != 1;
	talks_begun = talks_ended = 0;
	for (uint32_t i = 0; i < DATAGRAMS; i++)
		letter_make(&letters[i], reference, i);
	for (; turn < TURNS_MAX && (talks_ended < TALKS || !all_sent()); turn++) {
		clients_turn(late, reference);
		letters_send(late);
		if (below(3) == 0)
			copy_evict(late);
		items_evict(late);
		rig_set_pieces(late_rig(late), below(3) == 0 ? 0 : 1 + below(20));
		late_turn(late);
		letters_gather(late, letters);
	}
	check(turn < TURNS_MAX);
	for (uint32_t i = 0; i < 4 * LATE_TIMEOUT_NS / LATE_TURN_NS; i++) {
		late_turn(late);
		letters_gather(late, letters);
	}
	letters_judge(late, reference);
	check_eq(rig_chunks_used(late_rig(late)), 0);
	check_eq(backend_pending(late_rig(late)->serve), 0);
	check_eq(late_values(late), 0);
	check(flash || !losses || late_stale(late) > stale);
	/* Only requests of lost connections, or counted ones that were dropped, may have none. */
	check(not_recorded(late) - left <= (losses ? UINT32_MAX : dropped(late) - drops));
}

static void
runs(bool misses_on_failure, bool backend_writes, bool backend_brings, bool in_order)
{
	const struct late_config cfg = {.misses_on_failure = misses_on_failure,
					.writes = backend_writes,
					.in_order = in_order,
					.flash = backend_brings};
	struct late *reference = late_create(&cfg), *late = late_create(&cfg);

	writes = backend_writes;
	flash = backend_brings;
	plain = late_create(&(struct late_config){.plain = true});
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		late_pace(late, seed % 4 == 0 ? 2 : DELAY, seed % 3 == 0 ? 5 : 0);
		run(late, reference, 2 * seed + misses_on_failure);
	}
	for (uint32_t i = 0; i < 2 * LATE_TIMEOUT_NS / LATE_TURN_NS; i++)
		late_turn(reference);
	if (flash) {
		printf("brought %u, read %u\n", (uint32_t)late_promotions(late),
		       (uint32_t)late_read(late));
		check(late_promotions(late) > 10 * seeds && late_read(late) > 2 * seeds);
	}
	late_destroy(late);
	late_destroy(reference);
	late_destroy(plain);
}

TEST(replies_do_not_depend_on_when_the_backend_answers)
{
	letters = calloc(DATAGRAMS, sizeof *letters);
	all_lost = 0;
	if (!only_flash) {
		runs(false, true, false, false);
		runs(false, true, false, true);
		runs(true, true, false, false);
		runs(false, false, false, false);
	}
	runs(true, false, true, false);
#ifndef FEW_PENDING
	check(all_lost < 3 * seeds * DATAGRAMS / 100);
#endif
	free(letters);
}

/* The reply has numbers that depend on where the item was. */
TEST(an_item_that_was_evicted_is_shown_by_me)
{
	struct late *late = late_create(&(struct late_config){.flash = true, .delay_max = 2});
	struct conn *c = rig_open(late_rig(late));
	const char *sent;
	uint32_t len;

	late_put(late, 1);
	late_evict(late, 1);
	check_eq(late_promotions(late), 0);
	rig_receive(late_rig(late), c, "me l1\r\nme l2\r\n", 14);
	settle(late, c);
	sent = rig_sent(c, &len);
	check_eq(late_promotions(late), 1);
	check_bytes(sent, "ME l1 exp=-1 ", 13);
	check(len > 17);
	check_bytes(sent + len - 4, "EN\r\n", 4);
	rig_lose(late_rig(late), c);
	settle(late, NULL);
	late_destroy(late);
}

/* The write is executed at last, on a miss: the backend has no copy either. */
TEST(a_key_that_is_always_evicted_is_asked_for_a_few_times)
{
	struct late *late = late_create(
		&(struct late_config){.flash = true, .thrashes = true, .misses_on_failure = true});
	struct conn *c = rig_open(late_rig(late));
	const char *sent;
	uint32_t len;

	late_put(late, 1);
	late_evict(late, 1);
	rig_receive(late_rig(late), c, "incr l1 1\r\nget l1\r\n", 19);
	settle(late, c);
	sent = rig_sent(c, &len);
	check_eq(late_promotions(late), PENDING_TIMES_MAX);
	check_eq(rig_count(late_rig(late), AWAITS_AGAIN), PENDING_TIMES_MAX - 1);
	check_eq(len, 16);
	check_bytes(sent, "NOT_FOUND\r\nEND\r\n", 16);
	rig_lose(late_rig(late), c);
	settle(late, NULL);
	late_destroy(late);
}

/* The client does not read for longer than an answer is kept. */
TEST(a_value_in_pieces_waits_for_a_client_that_does_not_read)
{
	struct late *late = late_create(&(struct late_config){.flash = true});
	struct rig *rig = late_rig(late);
	struct conn *c = rig_open(rig);
	static const char want[] = "STORED\r\nVALUE l1 5 5\r\n17abc\r\nEND\r\n";
	const char *sent;
	uint32_t len;

	late_put(late, 1);
	late_evict(late, 1);
	late_hold(late, true);
	rig_receive(rig, c, "append l1 0 0 3\r\nab", 19);
	late_turn(late);
	rig_receive(rig, c, "c\r\n", 3);
	late_turn(late);
	rig_set_chunks(rig, rig_chunks_used(rig));
	late_hold(late, false);
	for (uint32_t i = 0; i < 3 * LATE_TIMEOUT_NS / LATE_TURN_NS; i++)
		late_turn(late);
	check_eq(late_promotions(late), 1);
	rig_set_chunks(rig, 4096);
	rig_acked(rig, c);
	rig_receive(rig, c, "get l1\r\n", 8);
	settle(late, c);
	sent = rig_sent(c, &len);
	check_eq(len, sizeof want - 1);
	check_bytes(sent, want, len);
	rig_lose(rig, c);
	settle(late, NULL);
	late_destroy(late);
}

/* The copy that was read before a write is released before the write is sent: the backend may
 * keep a copy. */
TEST(a_datagram_reads_no_copy_of_before_its_write)
{
	struct late *late = late_create(&(struct late_config){.writes = true, .delay_max = 2});
	static const char want[] = "VALUE l1 0 1\r\nx\r\nEND\r\nDELETED\r\nEND\r\n";
	const struct fake_sent *sent;
	char got[256];
	uint32_t len = 0;

	rig_datagram_text(late_rig(late), 1, "set l1 0 0 1\r\nx\r\n");
	settle(late, NULL);
	rig_forget_datagrams(late_rig(late));
	late_pace(late, 2, 10);
	rig_datagram_text(late_rig(late), 2, "get l1\r\ndelete l1\r\nget l1\r\n");
	settle(late, NULL);
	check_eq(rig_datagrams_sent(late_rig(late), &sent), 3);
	for (uint32_t i = 0; i < 3; i++) {
		memcpy(got + len, sent[i].bytes + 8, sent[i].len - 8);
		len += sent[i].len - 8;
	}
	check_eq(len, sizeof want - 1);
	check_bytes(got, want, len);
	late_destroy(late);
}

#ifndef FEW_PENDING
#define WRITE_TURNS 8u /* the most until an answer */
#define LOST_GETS   300u
#define LOST_BYTES  17u /* of such a get */

/* Returns the turns until this many gets that miss are answered, behind the request `first`. */
static uint32_t
turns_for_gets(const char *first, const char *expected, uint32_t gets)
{
	struct late *late =
		late_create(&(struct late_config){.writes = true, .delay_max = WRITE_TURNS});
	struct rig *rig = late_rig(late);
	struct conn *c = rig_open(rig);
	uint32_t turns = 0, len = 0;
	char line[16];

	rig_receive_text(rig, c, first);
	for (uint32_t i = 0; i < gets; i++)
		rig_receive(rig, c, line, (uint32_t)sprintf(line, "get s%u\r\n", 5 * i));
	for (; len < strlen(expected) + gets * strlen("END\r\n"); turns++) {
		check(turns < SETTLE_TURNS_MAX);
		late_turn(late);
		rig_acked(rig, c);
		rig_sent(c, &len);
	}
	rig_lose(rig, c);
	settle(late, NULL);
	late_destroy(late);
	return turns;
}

TEST(one_write_in_front_costs_many_gets_no_more_than_a_few_turns)
{
	const uint32_t behind = turns_for_gets("set l1 0 0 1\r\nx\r\n", "STORED\r\n", 400),
		       alone = turns_for_gets("", "", 400);

	check(behind <= alone + alone / 2 + WRITE_TURNS);
}

/* Gets beyond the read buffer are asked for, and the stack drops their bytes, which arrive again
 * before or after all answers. */
static void
lose_asked_bytes(uint32_t turns_between)
{
	struct late *late = late_create(&(struct late_config){.writes = true, .delay_max = 1});
	struct rig *rig = late_rig(late);
	struct conn *c = rig_open(rig);
	uint8_t bytes[LOST_GETS * LOST_BYTES];
	uint32_t lost, len = 0;

	for (uint32_t i = 0; i < LOST_GETS; i++)
		sprintf((char *)bytes + i * LOST_BYTES, "get s%010u\r", 5 * i);
	for (uint32_t i = 0; i < LOST_GETS; i++)
		bytes[(i + 1) * LOST_BYTES - 1] = '\n';
	late_hold(late, true);
	rig_receive(rig, c, bytes, sizeof bytes);
	for (uint32_t i = 0; i < 3; i++)
		late_turn(late);
	check_eq(late_asked(late), LOST_GETS);
	lost = conn_peek_copy(c, 0, bytes, sizeof bytes);
	check(lost > 0);
	rig_drop_unread(rig, c);
	late_hold(late, false);
	for (uint32_t i = 0; i < turns_between; i++) {
		late_turn(late);
		rig_acked(rig, c);
	}
	rig_receive(rig, c, bytes, lost);
	settle(late, c);
	check_str(rig_sent(c, &len) + (LOST_GETS - 1) * strlen("END\r\n"), "END\r\n");
	check_eq(len, LOST_GETS * strlen("END\r\n"));
	rig_lose(rig, c);
	settle(late, NULL);
	late_destroy(late);
}

TEST(gets_whose_bytes_the_stack_drops_are_answered_when_they_arrive_again)
{
	lose_asked_bytes(0);
	lose_asked_bytes(1);
	lose_asked_bytes(200);
}
#endif

int
main(int argc, char **argv)
{
	if (argc > 1)
		seeds = strtoull(argv[1], NULL, 10);
	only_flash = argc > 2; /* any word */
	return tests_run(NULL, NULL);
}
