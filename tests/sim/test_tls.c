/*
 * TLS on a whole core. Goal: requests arrive and replies are sent only in records, of any length;
 * an error of a peer closes its connection and is counted; all resources are freed. Method: a core,
 * a lossless cable, and OpenSSL's client in memory at the other end. Certificates are made here.
 */
#include "sim_tls.h"
#include "tls/tls_hello.h"

#include "support/test.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <time.h>

TEST(requests_are_answered_in_records)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	static const char say[] = "set k 7 0 5\r\nhello\r\nget k\r\nget none k\r\n",
			  want[] = "STORED\r\nVALUE k 7 5\r\nhello\r\nEND\r\nVALUE k 7 "
				   "5\r\nhello\r\nEND\r\n";

	for (uint32_t i = 0; i < 2; i++) {
		struct client cl;
		struct world w;

		world_create(&w, 0);
		client_open(&w, &cl, 2000, versions[i]);
		client_say(&w, &cl, say, sizeof say - 1);
		client_receive(&w, &cl, sizeof want - 1);
		check_str(cl.got, want);
		check_eq(SSL_version(cl.ssl), versions[i]);
		check(memmem(cl.peer->in, cl.peer->in_len, "hello", 5) == NULL);
		client_say(&w, &cl, "quit\r\n", 6);
		client_receive(&w, &cl, UINT32_MAX);
		check(cl.ended);
		cl.peer->close = true;
		check_eq(counted(&w, TLS_HANDSHAKES), 1);
		check_eq(counted(&w, TLS_PROTO_ERRORS), 0);
		check_eq(counted(&w, TLS_CUT), 0);
		all_is_given_back(&w);
		client_close(&cl);
		world_destroy(&w);
	}
}

TEST(values_of_any_length_come_back)
{
	static const uint32_t lengths[] = {1, 1900, 2048, 16384, 100000, 1000000};
	char *value = malloc(PEER_BYTES / 2), *say = malloc(PEER_BYTES / 2);
	struct client cl;
	struct world w;

	ensure(value != NULL && say != NULL);
	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		const uint32_t len = lengths[i];
		uint32_t head, n;

		for (uint32_t k = 0; k < len; k++)
			value[k] = (char)('a' + (k * 7 + i) % 26);
		n = (uint32_t)sprintf(say, "set v%u 0 0 %u\r\n", i, len);
		memcpy(say + n, value, len);
		n += len;
		n += (uint32_t)sprintf(say + n, "\r\nget v%u\r\n", i);
		cl.got_len = 0;
		client_say(&w, &cl, say, n);
		head = (uint32_t)sprintf(say, "STORED\r\nVALUE v%u 0 %u\r\n", i, len);
		client_receive(&w, &cl, head + len + 7);
		check_eq(cl.got_len, head + len + 7);
		check(memcmp(cl.got, say, head) == 0);
		check(memcmp(cl.got + head, value, len) == 0);
		check_str(cl.got + head + len, "\r\nEND\r\n");
	}
	cl.peer->close = true;
	for (uint32_t i = 0; i < 100; i++)
		world_turn(&w);
	check_eq(counted(&w, TLS_CUT), 1); /* without close_notify */
	all_is_given_back(&w);
	client_close(&cl);
	world_destroy(&w);
	free(value);
	free(say);
}

TEST(many_requests_in_one_record_are_answered_in_order)
{
	char *say = malloc(1u << 20), *want = malloc(1u << 20);
	uint32_t n = 0, m = 0;
	struct client cl;
	struct world w;

	ensure(say != NULL && want != NULL);
	for (uint32_t i = 0; i < 3000; i++) {
		n += (uint32_t)sprintf(say + n, "set key%u 0 0 4\r\nabcd\r\nmg key%u v\r\n", i, i);
		m += (uint32_t)sprintf(want + m, "STORED\r\nVA 4\r\nabcd\r\n");
	}
	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, say, n);
	client_receive(&w, &cl, m);
	check_eq(cl.got_len, m);
	check(memcmp(cl.got, want, m) == 0);
	client_close(&cl);
	world_destroy(&w);
	free(say);
	free(want);
}

/* Bytes outside a record are not answered, and each such connection is counted once. */
TEST(connections_without_a_handshake_are_closed_and_counted)
{
	static const struct {
		const char *say;
		uint32_t len;
	} rows[] = {
		{"get k\r\n", 7},
		{"GET / HTTP/1.1\r\n\r\n", 18},
		{"\x80\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0k", 25},
		{"\x16\3\1\xff\xff\1\0", 7},    /* a record too long */
		{"\x16\3\1\0\5\1\0\0\1\0", 10}, /* a hello too short */
		{"\x15\3\1\0\2\2\50", 7},       /* an alert */
		{"\x17\3\3\0\5hello", 10},      /* data before a handshake */
		/* Half a hello, and the end of the stream. */
		{"\x16\3\1\2\0\1\0\1\xfc\3\3zzzzzzzz", 19},
	};

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sim_peer *p;
		struct world w;

		world_create(&w, 0);
		p = sim_peer_open(w.peers, SIM_PEERS + 1, 2000, 4096, 4096);
		sim_peer_send(p, rows[i].say, rows[i].len);
		for (uint32_t k = 0; k < 400; k++) {
			world_turn(&w);
			p->close = k > 100;
		}
		check_eq(counted(&w, TLS_HANDSHAKE_ERRORS), 1);
		/* An alert has 7 bytes. */
		check(p->in_len == 0 || (p->in_len == 7 && p->in[0] == 0x15));
		check_eq(counter_read(&serve_counters(w.sc->cores[0].core.serve)[CONN_OPENED]), 0);
		all_is_given_back(&w);
		world_destroy(&w);
	}
}

/* Writes a hello of `message` bytes, in handshake records of at most `record` bytes, to `to`.
 * Returns its length. */
static uint32_t
hello_put(uint8_t *to, uint32_t message, uint32_t record)
{
	const uint32_t all = message + TLS_MESSAGE_HEADER;
	uint32_t at = 0;

	for (uint32_t done = 0; done < all;) {
		const uint32_t n = all - done < record ? all - done : record;

		memcpy(to + at, "\x16\3\1", 3);
		to[at + 3] = (uint8_t)(n >> 8);
		to[at + 4] = (uint8_t)n;
		memset(to + at + TLS_RECORD_HEADER, 'z', n);
		if (done == 0) {
			to[at + 5] = 1;
			to[at + 6] = (uint8_t)(message >> 16);
			to[at + 7] = (uint8_t)(message >> 8);
			to[at + 8] = (uint8_t)message;
		}
		at += TLS_RECORD_HEADER + n;
		done += n;
	}
	return at;
}

/* The last row is no hello, but has the longest permitted length: OpenSSL reports the error. */
TEST(a_hello_of_any_length_is_answered_with_an_alert)
{
	static const struct {
		uint32_t message, record;
	} rows[] = {{TLS_HELLO_MAX + 1, 16384},
		    {TLS_HELLO_MAX + 1, 512},
		    {17000, 16384},
		    {20000, 9000},
		    {40000, 16384},
		    {60000, 1000},
		    {TLS_HELLO_MAX, 16384},
		    {TLS_HELLO_MAX, 512},
		    {TLS_HELLO_MAX - 1, 16383}};
	static uint8_t hello[64u << 10];

	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const uint32_t len = hello_put(hello, rows[i].message, rows[i].record);
		struct sim_peer *p;
		struct world w;

		world_create(&w, 0);
		p = sim_peer_open(w.peers, SIM_PEERS + 1, 2000, sizeof hello, 4096);
		sim_peer_send(p, hello, len);
		for (uint32_t k = 0; k < STEPS && p->in_len < 7; k++)
			world_turn(&w);
		if (p->in_len != 7 || p->in[0] != 0x15 || p->in[5] != 2)
			fail_msg("%u in records of %u: %u bytes", rows[i].message, rows[i].record,
				 p->in_len);
		check_eq(counted(&w, TLS_HANDSHAKE_ERRORS), 1);
		world_destroy(&w);
	}
}

/* Appends the certificates of one file to another. */
static void
file_append(const char *to, const char *from)
{
	FILE *out = fopen(to, "a"), *in = fopen(from, "r");
	char text[4096];
	size_t n;

	check(out != NULL && in != NULL);
	n = fread(text, 1, sizeof text, in);
	check(n > 0 && fwrite(text, 1, n, out) == n);
	fclose(in);
	fclose(out);
}

/* A certificate valid for 30 days, followed by one for 20 that may be its issuer's. */
TEST(certificates_that_clients_refuse_are_named_with_their_date)
{
	static const struct {
		long days; /* from now */
		bool chain;
		const char *words; /* NULL: no message is expected */
	} rows[] = {
		{0, false, NULL},
		{15, false, NULL},
		{17, false, "the certificate expires on 20"},
		{31, false, "the certificate has expired on 20"},
		{-1, false, "the certificate is not valid before 20"},
		{0, true, NULL},
		{7, true, "a certificate of its chain expires on 20"},
		{21, true, "the certificate expires on 20"},
	};
	struct files files, issuer;

	files_make(&files, "dated", 1);
	files_make_days(&issuer, "issuer", 2, 20);
	for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct tls_settings settings = {
			.chain_cert = files.cert, .key = files.key, .keyformat = 1};
		char words[TLS_WHY_BYTES] = "";
		struct tls_context *context;
		bool near;

		if (rows[i].chain && !rows[i - 1].chain)
			file_append(files.cert, issuer.cert);
		context = tls_context_load(&settings, words);
		check_ptr(context);
		near = tls_context_date_is_near(context, time(NULL) + rows[i].days * 86400, words);
		if (near != (rows[i].words != NULL) ||
		    (near && (strstr(words, rows[i].words) != words ||
			      strcmp(words + strlen(words) - 4, " UTC") != 0)))
			fail_msg("row %u: %s", i, words);
		tls_context_free(context);
	}
	files_remove(&files);
	files_remove(&issuer);
}

/* Each port speaks TLS or plain text, and answers the other with an alert only. */
TEST(the_port_beside_is_in_the_clear)
{
	static const char said[] = "set k 7 0 5\r\nhello\r\nget k\r\n", asked[] = "get k\r\n",
			  found[] = "VALUE k 7 5\r\nhello\r\nEND\r\n";
	struct sim_peer *plain, *wrong;
	struct client cl;
	struct world w;

	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, said, sizeof said - 1);
	client_receive(&w, &cl, 8 + sizeof found - 1);
	check_str(cl.got + 8, found);
	w.peers->server_port = PLAIN_PORT;
	plain = sim_peer_open(w.peers, SIM_PEERS + 1, 2001, 4096, 4096);
	sim_peer_send(plain, asked, sizeof asked - 1);
	w.peers->server_port = PLAIN_PORT + 1;
	wrong = sim_peer_open(w.peers, SIM_PEERS + 1, 2002, 4096, 4096);
	for (uint32_t k = 0; k < 200; k++)
		world_turn(&w);
	check_eq(plain->in_len, sizeof found - 1);
	check_eq(memcmp(plain->in, found, plain->in_len), 0);
	check(wrong->state != PEER_OPEN);
	check_eq(counted(&w, TLS_HANDSHAKES), 1);
	check_eq(counted(&w, TLS_HANDSHAKE_ERRORS), 0);
	plain->close = cl.peer->close = true;
	all_is_given_back(&w);
	client_close(&cl);
	world_destroy(&w);
}

TEST(a_handshake_that_does_not_end_is_ended)
{
	struct sim_peer *p;
	struct world w;

	world_create(&w, 0);
	p = sim_peer_open(w.peers, SIM_PEERS + 1, 2000, 4096, 4096);
	sim_peer_send(p, "\x16\3\1\2\0\1\0\1", 8);
	for (uint32_t k = 0; k < 100; k++)
		world_turn(&w);
	check_eq(counted(&w, TLS_HANDSHAKE_TIMEOUTS), 0);
	w.sc->now_ns += TLS_HANDSHAKE_NS;
	for (uint32_t k = 0; k < 100; k++)
		world_turn(&w);
	check_eq(counted(&w, TLS_HANDSHAKE_TIMEOUTS), 1);
	p->close = true;
	all_is_given_back(&w);
	world_destroy(&w);
}

/* A record header that announces 512 bytes; and a complete record with part of a hello. */
static const char half_a_record[] = "\x16\3\1\2\0\1\0\1";
static const char half_a_hello[] = "\x16\3\1\0\3\1\0\1";

/* Runs turns until that many handshakes are complete; returns their number. */
static uint32_t
shake_hands(struct world *w, struct client *cl, uint32_t clients)
{
	uint32_t k;

	for (uint32_t i = 0; i < clients; i++)
		client_open(w, &cl[i], (uint16_t)(2000 + i), TLS1_3_VERSION);
	for (k = 0; k < STEPS && counted(w, TLS_HANDSHAKES) < clients; k++) {
		world_turn(w);
		for (uint32_t i = 0; i < clients; i++)
			client_turn(&cl[i]);
	}
	check_eq(counted(w, TLS_HANDSHAKES), clients);
	return k;
}

#define HALF 16u
#define GOOD 10u

/* Returns how many turns the handshakes of others take beside peers that send these bytes and no
 * more, on a core with two places for handshakes. */
static uint32_t
turns_beside(const char *bytes, uint32_t len, uint32_t peers, uint32_t yielded)
{
	static struct client cl[GOOD];
	struct world w;
	uint32_t turns;

	world_create_of(&w, 0, 0, 2);
	for (uint16_t i = 0; i < peers; i++)
		sim_peer_send(sim_peer_open(w.peers, SIM_PEERS + 1, 1000 + i, 4096, 4096), bytes,
			      len);
	for (uint32_t k = 0; k < 600; k++)
		world_turn(&w);
	turns = shake_hands(&w, cl, GOOD);
	check_eq(counted(&w, TLS_HANDSHAKE_TIMEOUTS), 0);
	check_eq(counted(&w, TLS_HANDSHAKE_YIELDED), yielded);
	for (uint32_t i = 0; i < GOOD; i++)
		client_close(&cl[i]);
	world_destroy(&w);
	return turns;
}

TEST(an_unfinished_hello_delays_no_handshake)
{
	const uint32_t alone = turns_beside(NULL, 0, 0, 0);

	check(turns_beside(half_a_record, sizeof half_a_record - 1, HALF, 0) * 2 <= alone * 3);
	check(turns_beside(half_a_hello, sizeof half_a_hello - 1, HALF, HALF) * 2 <= alone * 3);
}

TEST(a_wrong_record_closes_and_is_counted)
{
	struct client cl;
	struct world w;

	world_create_served(&w, &cl);
	sim_peer_send(cl.peer, "\x17\3\3\0\x20not a record that fits any key..", 37);
	for (uint32_t i = 0; i < 300; i++) {
		world_turn(&w);
		cl.peer->close = i > 100;
	}
	check_eq(counted(&w, TLS_PROTO_ERRORS), 1);
	all_is_given_back(&w);
	client_close(&cl);
	world_destroy(&w);
}

/* Requests that many values of 16 KB; the peer reads none of them and ends its stream. */
static void
ask_and_read_nothing(struct world *w, uint16_t port, uint32_t gets)
{
	char say[256] = {0};
	struct client cl;

	client_open(w, &cl, port, TLS1_3_VERSION);
	client_say(w, &cl, "get k\r\n", 7);
	client_receive(w, &cl, 16000);
	cl.peer->window = 0;
	for (uint32_t i = 0; i < gets; i++)
		strcat(say, "get k\r\n");
	strcat(say, "quit\r\n");
	client_say(w, &cl, say, (uint32_t)strlen(say));
	for (uint32_t i = 0; i < 400; i++)
		world_turn(w);
	client_close(&cl);
}

/* `-c` limits sessions. Wires that stayed after their session would fill the slots without
 * limit. */
TEST(a_peer_that_does_not_read_the_end_is_reset)
{
	enum { BYTES = 16000, GETS = 12 };
	char *say = calloc(1, BYTES + 64);
	const struct counter *serve;
	struct client cl;
	struct world w;

	ensure(say != NULL);
	world_create(&w, 0);
	serve = serve_counters(w.sc->cores[0].core.serve);
	memset(say + snprintf(say, 64, "set k 0 0 %u\r\n", BYTES), 'x', BYTES);
	strcat(say, "\r\n");
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	client_say(&w, &cl, say, (uint32_t)strlen(say));
	client_receive(&w, &cl, 8);
	check_str(cl.got, "STORED\r\n");
	for (uint32_t i = 1; i <= GETS; i++)
		ask_and_read_nothing(&w, (uint16_t)(2000 + i), i);
	check(counter_read(&serve[CONN_ENDED]) > 0);
	check_eq(counted(&w, TLS_UNREAD), 0);
	w.sc->now_ns += TLS_UNREAD_NS;
	for (uint32_t i = 0; i < 200; i++)
		world_turn(&w);
	check(counted(&w, TLS_UNREAD) > 0);
	client_say(&w, &cl, "mn\r\n", 4);
	client_receive(&w, &cl, 12);
	check_str(cl.got, "STORED\r\nMN\r\n");
	client_close(&cl);
	free(say);
	world_destroy(&w);
}

static void
client_rekey(struct client *cl)
{
	check_eq(SSL_key_update(cl->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
	check_eq(SSL_do_handshake(cl->ssl), 1);
}

/* Returns the most that a counter rose by in one turn. */
static uint64_t
most_a_turn(struct world *w, enum tls_counter which, struct client *cl, uint32_t clients,
	    uint32_t turns)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < turns; i++) {
		const uint64_t before = counted(w, which);

		world_turn(w);
		for (uint32_t k = 0; k < clients; k++)
			client_turn(&cl[k]);
		if (counted(w, which) - before > most)
			most = counted(w, which) - before;
	}
	return most;
}

/* A frame has room for fifty updates, each of which would take the core 30 us. */
TEST(key_updates_are_few_and_one_a_turn)
{
	struct client cl;
	struct world w;

	world_create_served(&w, &cl);
	for (uint32_t i = 0; i < TLS_REKEYS_EARLY; i++)
		client_rekey(&cl);
	client_say(&w, &cl, "get k\r\n", 7);
	check_eq(most_a_turn(&w, TLS_REKEYS, &cl, 1, 200), 1);
	check_eq(counted(&w, TLS_REKEYS), TLS_REKEYS_EARLY);
	check_str(cl.got, "END\r\nEND\r\n");
	for (uint32_t i = 0; i < 60; i++)
		client_rekey(&cl);
	check_eq(most_a_turn(&w, TLS_REKEYS, &cl, 1, 200), 1);
	check_eq(counted(&w, TLS_REKEYS), TLS_REKEYS_EARLY + 1);
	check_eq(counted(&w, TLS_REKEYS_REFUSED), 1);
	check_eq(counted(&w, TLS_PROTO_ERRORS), 0);
	cl.peer->close = true;
	all_is_given_back(&w);
	client_close(&cl);
	world_destroy(&w);
}

/* A peer that transfers much data may update its keys more often. */
TEST(key_updates_in_proportion_to_data_are_no_fault)
{
	const uint32_t bytes = 1000000;
	char *say = malloc(bytes + 64);
	struct client cl;
	struct world w;

	ensure(say != NULL);
	world_create(&w, 0);
	client_open(&w, &cl, 2000, TLS1_3_VERSION);
	for (uint32_t i = 0; i < 2; i++) {
		const int head = snprintf(say, 64, "set k 0 0 %u\r\n", bytes);

		memset(say + head, 'x', bytes);
		memcpy(say + head + bytes, "\r\n", 2);
		client_say(&w, &cl, say, (uint32_t)head + bytes + 2);
		client_receive(&w, &cl, 8 * (i + 1));
	}
	check_str(cl.got, "STORED\r\nSTORED\r\n");
	for (uint32_t i = 0; i < TLS_REKEYS_EARLY + 1; i++)
		client_rekey(&cl);
	client_say(&w, &cl, "mn\r\n", 4);
	client_receive(&w, &cl, 20);
	check_str(cl.got, "STORED\r\nSTORED\r\nMN\r\n");
	check_eq(counted(&w, TLS_REKEYS_REFUSED), 0);
	client_close(&cl);
	free(say);
	world_destroy(&w);
}

TEST(key_updates_of_many_are_a_few_a_turn)
{
	enum { CLIENTS = 12 };
	struct client cl[CLIENTS];
	struct world w;

	world_create(&w, 0);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		client_open(&w, &cl[i], (uint16_t)(2000 + i), TLS1_3_VERSION);
		client_say(&w, &cl[i], "get k\r\n", 7);
		client_receive(&w, &cl[i], 5);
	}
	for (uint32_t i = 0; i < CLIENTS; i++) {
		client_rekey(&cl[i]);
		client_say(&w, &cl[i], "mn\r\n", 4);
	}
	check_eq(most_a_turn(&w, TLS_REKEYS, cl, CLIENTS, 200), TLS_REKEYS_A_TURN);
	check_eq(counted(&w, TLS_REKEYS), CLIENTS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		check_str(cl[i].got, "END\r\nMN\r\n");
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_close(&cl[i]);
	world_destroy(&w);
}

/* A segment has room for sixty records of one byte, each of which costs the core 1 us. */
TEST(tiny_records_of_many_are_a_few_a_turn)
{
	enum { CLIENTS = 12, TIMES = 50 };
	static const char ask[] = "get nokey\r\n";
	struct client cl[CLIENTS];
	struct world w;

	world_create(&w, 0);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		client_open(&w, &cl[i], (uint16_t)(2000 + i), TLS1_3_VERSION);
		client_say(&w, &cl[i], ask, sizeof ask - 1);
		client_receive(&w, &cl[i], 5);
	}
	for (uint32_t i = 0; i < CLIENTS; i++)
		for (uint32_t k = 0; k < TIMES * (sizeof ask - 1); k++)
			check_eq(SSL_write(cl[i].ssl, &ask[k % (sizeof ask - 1)], 1), 1);
	check(most_a_turn(&w, TLS_RECORDS, cl, CLIENTS, 400) <
	      TLS_RECORDS_A_TURN + TLS_RECORDS_FEW);
	for (uint32_t i = 0; i < CLIENTS; i++)
		check_eq(cl[i].got_len, 5 * (TIMES + 1));
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_close(&cl[i]);
	world_destroy(&w);
}

TEST(a_client_without_a_required_certificate_is_refused)
{
	for (uint32_t shows = 0; shows < 2; shows++) {
		struct client cl;
		struct world w;

		world_create(&w, 2);
		client_open(&w, &cl, 2000, TLS1_3_VERSION);
		if (shows != 0) {
			check_eq(SSL_use_certificate_file(cl.ssl, w.files.cert, SSL_FILETYPE_PEM),
				 1);
			check_eq(SSL_use_PrivateKey_file(cl.ssl, w.files.key, SSL_FILETYPE_PEM), 1);
		}
		client_say(&w, &cl, "get k\r\n", 7);
		for (uint32_t i = 0; i < 300; i++) {
			world_turn(&w);
			client_turn(&cl);
		}
		check_str(cl.got, shows != 0 ? "END\r\n" : "");
		check_eq(counted(&w, TLS_HANDSHAKE_ERRORS), shows == 0);
		client_close(&cl);
		world_destroy(&w);
	}
}

/* All hellos arrive at once; a turn takes one step of one of them. */
TEST(handshakes_are_taken_one_a_turn)
{
	enum { CLIENTS = 24 };
	struct client cl[CLIENTS];
	uint64_t before = 0, most = 0;
	struct world w;

	world_create(&w, 0);
	for (uint16_t i = 0; i < CLIENTS; i++)
		client_open(&w, &cl[i], 2000 + i, TLS1_3_VERSION);
	for (uint32_t i = 0; i < STEPS && before < CLIENTS; i++) {
		world_turn(&w);
		for (uint32_t k = 0; k < CLIENTS; k++)
			client_turn(&cl[k]);
		most = counted(&w, TLS_HANDSHAKES) - before > most
			       ? counted(&w, TLS_HANDSHAKES) - before
			       : most;
		before = counted(&w, TLS_HANDSHAKES);
	}
	check_eq(before, CLIENTS);
	check_eq(most, 1);
	/* Each waits for both of its steps, and is not visited meanwhile. */
	check(counted(&w, TLS_DEFERRED) >= CLIENTS - 1);
	check(counted(&w, TLS_DEFERRED) <= 2 * CLIENTS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		client_close(&cl[i]);
	world_destroy(&w);
}

/* A hello that arrives byte by byte takes a step of one connection each turn; a new connection's
 * steps come between them. */
TEST(dribbled_hellos_do_not_delay_others)
{
	enum { DRIBBLERS = 30, TURNS = 400 };
	static const uint8_t begin[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3};
	struct sim_peer *p[DRIBBLERS];
	uint32_t turn = 0;
	struct client cl;
	struct world w;

	world_create(&w, 0);
	for (uint16_t i = 0; i < DRIBBLERS; i++) {
		p[i] = sim_peer_open(w.peers, SIM_PEERS + 1, 1000 + i, 4096, 4096);
		sim_peer_send(p[i], begin, sizeof begin);
	}
	for (; turn < TURNS && counted(&w, TLS_HANDSHAKES) == 0; turn++) {
		if (turn == TURNS / 2)
			client_open(&w, &cl, 2000, TLS1_3_VERSION);
		for (uint32_t i = 0; i < DRIBBLERS; i++)
			sim_peer_send(p[i], "z", 1);
		world_turn(&w);
		if (turn >= TURNS / 2)
			client_turn(&cl);
	}
	check(turn < TURNS / 2 + 4 * DRIBBLERS);
	check_eq(counted(&w, TLS_HANDSHAKES), 1);
	client_close(&cl);
	world_destroy(&w);
}

/* OpenSSL has one error queue for each thread. It is read when a record is incomplete, and must not
 * show another call's error. */
TEST(an_error_left_by_another_call_is_no_error)
{
	char say[128] = "get ";
	struct client cl;
	struct world w;

	memset(say + 4, 'k', 100);
	memcpy(say + 104, "\r\n", 3);
	world_create_served(&w, &cl);
	cl.peer->mss = 1;
	client_say(&w, &cl, say, 106);
	for (uint32_t i = 0; i < 100 && cl.got_len < 10; i++) {
		ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
		world_turn(&w);
		ERR_clear_error();
		client_turn(&cl);
	}
	check_str(cl.got, "END\r\nEND\r\n");
	check_eq(counted(&w, TLS_PROTO_ERRORS), 0);
	client_close(&cl);
	world_destroy(&w);
}

/* Sends one request, with the session's ticket if it is not NULL. Returns the serial number of the
 * certificate, and the new session. */
static long
ask_once(struct world *w, uint16_t port, SSL_SESSION **session)
{
	struct client cl;
	X509 *shown;
	long serial;

	client_open(w, &cl, port, TLS1_3_VERSION);
	if (*session != NULL)
		SSL_set_session(cl.ssl, *session);
	SSL_SESSION_free(*session);
	client_say(w, &cl, "get k\r\n", 7);
	client_receive(w, &cl, 5);
	check_str(cl.got, "END\r\n");
	shown = SSL_get1_peer_certificate(cl.ssl);
	serial = ASN1_INTEGER_get(X509_get0_serialNumber(shown));
	X509_free(shown);
	/* Only sessions that were shut down may be resumed. */
	SSL_shutdown(cl.ssl);
	client_turn(&cl);
	*session = SSL_get1_session(cl.ssl);
	cl.peer->close = true;
	for (uint32_t i = 0; i < 50; i++)
		world_turn(w);
	client_close(&cl);
	return serial;
}

TEST(tickets_resume_until_the_certificate_changes)
{
	struct tls_settings settings = {.min_version = 2};
	SSL_SESSION *session = NULL;
	char why[TLS_WHY_BYTES];
	struct files other;
	struct world w;

	world_create(&w, 0);
	check_eq(ask_once(&w, 2000, &session), 1);
	check_eq(counted(&w, TLS_RESUMED), 0);
	check_eq(ask_once(&w, 2001, &session), 1);
	check_eq(counted(&w, TLS_RESUMED), 1);
	files_make(&other, "other", 2);
	settings.chain_cert = other.cert;
	settings.key = other.key;
	check(tls_shared_replace_mt(&w.shared, tls_context_load(&settings, why)));
	/* The core has run no turn since. */
	check(!tls_shared_replace_mt(&w.shared, NULL));
	check_eq(ask_once(&w, 2002, &session), 2);
	check_eq(counted(&w, TLS_RESUMED), 1);
	SSL_SESSION_free(session);
	all_is_given_back(&w);
	world_destroy(&w);
	files_remove(&other);
}

TEST(faults_of_certificates_are_reported_on_one_line)
{
	struct tls_settings settings = {.chain_cert = "/nowhere/cert.pem", .min_version = 2};
	char why[TLS_WHY_BYTES];
	struct files one, other;

	files_make(&one, "one", 1);
	files_make(&other, "other", 2);
	check(tls_context_load(&settings, why) == NULL);
	check(strncmp(why, "ssl_chain_cert /nowhere/cert.pem: cannot be read", 48) == 0);
	settings.chain_cert = one.cert;
	settings.key = other.key;
	check(tls_context_load(&settings, why) == NULL);
	check(strncmp(why, "ssl_key /tmp/", 13) == 0);
	settings.key = one.key;
	settings.ca_cert = one.key;
	check(tls_context_load(&settings, why) == NULL);
	check(strncmp(why, "ssl_ca_cert /tmp/", 17) == 0);
	settings.ca_cert = NULL;
	settings.ciphers = "NO-SUCH-CIPHER";
	check(tls_context_load(&settings, why) == NULL);
	check(strncmp(why, "ssl_ciphers NO-SUCH-CIPHER: ", 28) == 0);
	check(strchr(why, '\n') == NULL);
	files_remove(&one);
	files_remove(&other);
}
