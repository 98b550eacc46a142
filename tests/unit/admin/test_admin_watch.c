/*
 * watch. Goal: a connection that watches receives the events it requested and nothing else, in
 * memcached's words, in order, from all cores; a watcher that does not read learns how many
 * events it missed and delays no other connection. Method: known requests on other connections,
 * lines compared but for their time.
 */
#include "support/test.h"
#include "unit/serve/fake_stack.h"
#include "proto/mc_table.h"
#include "serve/serve_policy.h"

#include <stdlib.h>

static struct rig *rig;

SETUP(start)
{
	rig = rig_create();
	rig_turn(rig);
}

TEARDOWN(stop)
{
	rig_destroy(rig);
}

static struct conn *
watcher(const char *words)
{
	struct conn *c = rig_open(rig);
	char line[128];

	snprintf(line, sizeof line, "watch%s%s\r\n", words[0] != '\0' ? " " : "", words);
	rig_receive_text(rig, c, line);
	rig_turn(rig);
	check_str(rig_sent(c, NULL), "OK\r\n");
	rig_acked(rig, c);
	rig_forget_sent(c);
	return c;
}

static void
said(const char *text)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, text);
	rig_turn(rig);
	rig_turn(rig);
	rig_lose(rig, c);
	rig_turn(rig);
}

/* Returns the lines without "ts=<s>.<us> gid=<n> ", and with N for the numbers of connections. */
static const char *
seen(struct conn *c)
{
	static char out[1u << 20];
	char *to = out;

	for (const char *at = rig_sent(c, NULL); *at != '\0';) {
		unsigned long long s, us, gid;
		int head = 0;

		if (sscanf(at, "ts=%llu.%6llu gid=%llu %n", &s, &us, &gid, &head) == 3) {
			check_eq(s, rig->clock.unix_s);
			at += head;
		}
		for (bool first = true; *at != '\n'; first = false) {
			const uint32_t mark =
				strncmp(at, " cfd=", 5) == 0 ? 5 : first && *at == '<';

			memcpy(to, at, mark);
			to += mark;
			at += mark;
			if (mark > 0) {
				*to++ = 'N';
				at += strspn(at, "0123456789");
			} else {
				*to++ = *at++;
			}
		}
		*to++ = *at++;
	}
	*to = '\0';
	return out;
}

TEST(each_stream_shows_what_is_its)
{
	const struct {
		const char *words, *in, *out;
	} rows[] = {
		{"", "get a\r\nset a 0 0 2\r\nhi\r\nget a\r\ndelete a\r\n",
		 "type=item_get key=a status=not_found clsid=0 cfd=N size=0\n"
		 "type=item_get key=a status=not_found clsid=0 cfd=N size=0\n"
		 "type=item_get key=a status=found clsid=1 cfd=N size=2\n"
		 "type=item_get key=a status=found clsid=1 cfd=N size=2\n"},
		{"fetchers", "mg a v\r\ngat 0 a\r\n",
		 "type=item_get key=a status=not_found clsid=0 cfd=N size=0\n"
		 "type=item_get key=a status=not_found clsid=0 cfd=N size=0\n"},
		{"mutations",
		 "set a 0 90 2\r\nhi\r\nadd a 0 0 3\r\nhoi\r\ncas b 0 0 1 5\r\nx\r\n"
		 "append a 0 0 1\r\n!\r\nms a 2 MR\r\nho\r\nget a\r\n"
		 "ms a 1 ME C7\r\nx\r\nms a 1 MR C7\r\nx\r\nset b 0 0 2000000\r\n",
		 "type=item_store key=a status=stored cmd=set ttl=90 clsid=1 cfd=N size=2\n"
		 "type=item_store key=a status=not_stored cmd=add ttl=0 clsid=0 cfd=N size=3\n"
		 "type=item_store key=b status=not_found cmd=cas ttl=0 clsid=0 cfd=N size=1\n"
		 "type=item_store key=a status=stored cmd=append ttl=90 clsid=1 cfd=N size=3\n"
		 "type=item_store key=a status=stored cmd=replace ttl=0 clsid=1 cfd=N size=2\n"
		 /* A compare version makes a set or a replace a cas, and leaves
		  * other modes as they are. */
		 "type=item_store key=a status=not_stored cmd=add ttl=0 clsid=0 cfd=N size=1\n"
		 "type=item_store key=a status=exists cmd=cas ttl=0 clsid=0 cfd=N size=1\n"
		 "type=item_store key=b status=too_large cmd=set ttl=0 clsid=0 cfd=N "
		 "size=2000000\n"},
		/* A command that vivifies is logged as a miss, and as a store if
		 * the new item has a value. */
		{"fetchers mutations",
		 "ma a N30 J13\r\nma a N30\r\nmg b N30\r\nmg b N30\r\nms c 1 MA N30\r\nx\r\n"
		 "md c x T50\r\nmd c I\r\n",
		 "type=item_get key=a status=not_found clsid=0 cfd=N size=0\n"
		 "type=item_store key=a status=stored cmd=add ttl=30 clsid=1 cfd=N size=2\n"
		 "type=item_get key=a status=found clsid=1 cfd=N size=2\n"
		 "type=item_get key=b status=not_found clsid=0 cfd=N size=0\n"
		 "type=item_get key=b status=found clsid=1 cfd=N size=0\n"
		 "type=item_get key=c status=not_found clsid=0 cfd=N size=0\n"
		 "type=item_store key=c status=stored cmd=append ttl=30 clsid=1 cfd=N size=1\n"
		 "type=item_get key=c status=found clsid=1 cfd=N size=1\n"
		 "type=item_store key=c status=stored cmd=set ttl=50 clsid=1 cfd=N size=0\n"
		 "type=item_get key=c status=found clsid=1 cfd=N size=0\n"},
		{"deletions",
		 "delete a\r\nset a 0 0 4\r\nabcd\r\ndelete a\r\nset b 0 0 0\r\n\r\n"
		 "md b\r\nget b\r\n",
		 "type=deleted key=a cmd=delete clsid=1 size=4\n"
		 "type=deleted key=b cmd=md clsid=1 size=0\n"},
		{"rawcmds",
		 "version\r\nset %\t 0 0 1\r\nx\r\nbogus \x01\xff"
		 "z\n",
		 "<N version\n<N set %%09 0 0 1\n<N bogus %01%FFz\n"},
		{"sysevents proxyreqs proxyevents proxyuser", "get a\r\n", ""},
		{"fetchers deletions", "set a 0 0 0\r\n\r\nget a\r\ndelete a\r\n",
		 "type=item_get key=a status=not_found clsid=0 cfd=N size=0\n"
		 "type=item_get key=a status=found clsid=1 cfd=N size=0\n"
		 "type=item_get key=a status=found clsid=1 cfd=N size=0\n"
		 "type=deleted key=a cmd=delete clsid=1 size=0\n"},
		{"fetchers", "get a#\xc3\xa4~_-.\r\n",
		 "type=item_get key=a%23%C3%A4~_-. status=not_found clsid=0 cfd=N size=0\n"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct conn *c = watcher(rows[i].words);

		said(rows[i].in);
		check_str(seen(c), rows[i].out);
		rig_lose(rig, c);
		said("flush_all\r\n");
	}
}

TEST(requests_in_datagrams_are_seen_too)
{
	struct conn *c = watcher("rawcmds");

	said("verbosity 1\r\n");
	rig_datagram_text(rig, 7, "get a\r\nversion\r\n");
	rig_turn(rig);
	rig_turn(rig);
	check_str(seen(c), "<N verbosity 1\n<N get a\n<N version\n");
}

TEST(watchers_see_each_their_own)
{
	struct conn *gets = watcher("fetchers"), *deletes = watcher("deletions");

	said("set a 0 0 0\r\n\r\nget a\r\ndelete a\r\n");
	check_str(seen(gets), "type=item_get key=a status=not_found clsid=0 cfd=N size=0\n"
			      "type=item_get key=a status=found clsid=1 cfd=N size=0\n"
			      "type=item_get key=a status=found clsid=1 cfd=N size=0\n");
	check_str(seen(deletes), "type=deleted key=a cmd=delete clsid=1 size=0\n");
}

/* memcached looks a key up for every command on it, and its watchers see the lookup. */
TEST(a_key_is_looked_up_before_it_is_written)
{
	struct conn *c = watcher("fetchers mutations deletions");

	said("set v 0 0 4\r\nvbar\r\nget v\r\nincr v 1\r\nms v 1\r\n5\r\nma v\r\nme v\r\n"
	     "delete v\r\ndecr v 1\r\nmd v\r\n");
	check_str(seen(c),
		  "type=item_get key=v status=not_found clsid=0 cfd=N size=0\n"
		  "type=item_store key=v status=stored cmd=set ttl=0 clsid=1 cfd=N size=4\n"
		  "type=item_get key=v status=found clsid=1 cfd=N size=4\n"
		  "type=item_get key=v status=found clsid=1 cfd=N size=4\n"
		  "type=item_get key=v status=found clsid=1 cfd=N size=4\n"
		  "type=item_store key=v status=stored cmd=set ttl=0 clsid=1 cfd=N size=1\n"
		  "type=item_get key=v status=found clsid=1 cfd=N size=1\n"
		  "type=item_get key=v status=found clsid=1 cfd=N size=1\n"
		  "type=item_get key=v status=found clsid=1 cfd=N size=1\n"
		  "type=deleted key=v cmd=delete clsid=1 size=1\n"
		  "type=item_get key=v status=not_found clsid=0 cfd=N size=0\n"
		  "type=item_get key=v status=not_found clsid=0 cfd=N size=0\n");
}

TEST(a_line_tells_the_wall_clock_to_the_microsecond)
{
	struct conn *c = watcher("fetchers");

	rig->clock.unix_ns = FAKE_UNIX * 1000000000ll + 987654321;
	said("get a\r\n");
	check_ptr(strstr(rig_sent(c, NULL), ".987654 gid="));
}

TEST(connections_come_and_go)
{
	struct conn *c = watcher("connevents");
	const char *const rows[] = {"version\r\nquit\r\n", "GET / HTTP/1.1\r\n"};

	for (size_t i = 0; i < 2; i++)
		said(rows[i]);
	check_str(seen(c), "type=conn_new rip=2001:db8::2 rport=4001 transport=tcp cfd=N\n"
			   "type=conn_close rip=2001:db8::2 rport=4001 transport=tcp reason=normal "
			   "cfd=N\n"
			   "type=conn_new rip=2001:db8::2 rport=4001 transport=tcp cfd=N\n"
			   "type=conn_close rip=2001:db8::2 rport=4001 transport=tcp reason=error "
			   "cfd=N\n");
}

/* The close is reported although the client may keep its socket open. */
TEST(a_connection_that_the_service_closes_is_seen_to_go_at_once)
{
	struct conn *c = watcher("connevents"), *client = rig_open(rig);

	rig_receive_text(rig, client, "quit\r\n");
	rig_turns(rig, 2);
	check_str(seen(c), "type=conn_new rip=2001:db8::2 rport=4001 transport=tcp cfd=N\n"
			   "type=conn_close rip=2001:db8::2 rport=4001 transport=tcp reason=normal "
			   "cfd=N\n");
}

TEST(evictions_are_seen_before_they_happen)
{
	struct conn *c = watcher("evictions"), *writer = rig_open(rig);
	static char value[9000];
	uint32_t lines = 0;

	memset(value, 'v', sizeof value);
	for (uint32_t i = 0; i < 4000 && rig_sent(c, NULL)[0] == '\0'; i++) {
		char head[64];

		snprintf(head, sizeof head, "set key%u 0 100 8998 noreply\r\n", i);
		memcpy(value + 8998, "\r\n", 2);
		rig_receive_text(rig, writer, head);
		rig_receive(rig, writer, value, 9000);
		rig_turn(rig);
	}
	for (const char *at = strtok(memcpy(value, seen(c), sizeof value - 1), "\n");
	     at != NULL && lines < 3; at = strtok(NULL, "\n"), lines++) {
		unsigned key;
		int ttl, la, class, size;

		check_eq(sscanf(at,
				"type=eviction key=key%u fetch=no ttl=%d la=%d clsid=%d size=%d",
				&key, &ttl, &la, &class, &size),
			 5);
		check_eq(ttl, 100);
		check_eq(size, 8998);
		check(class > 1);
	}
	check(lines > 0);
}

/* The lines of these gets are more than a connection may have queued. */
#define GETS 6000u

TEST(a_watcher_that_does_not_read_gets_the_number_it_missed)
{
	struct conn *c = watcher("fetchers"), *reader = rig_open(rig);
	unsigned long long skipped = 0, lines = 0, more;
	const char *at;

	rig_set_chunks(rig, 2 * GETS);
	for (uint32_t i = 0; i < GETS; i++) {
		rig_receive_text(rig, reader, "get a\r\n");
		rig_turn(rig);
		rig_acked(rig, reader);
		rig_forget_sent(reader);
	}
	rig_acked(rig, c);
	for (uint32_t i = 0; i < 10; i++)
		rig_turn(rig);
	for (at = rig_sent(c, NULL); *at != '\0'; at = strchr(at, '\n') + 1) {
		if (sscanf(at, "skipped=%llu\n", &more) == 1)
			skipped += more;
		else
			lines++;
	}
	check(skipped > 0 && lines > 0);
	check_eq(skipped + lines, GETS);
	check_eq(rig_count(rig, EVENTS_SKIPPED), skipped);
	check_eq(rig_count(rig, EVENTS_SENT), lines);
	check_eq(rig_count(rig, EVENTS_LOGGED), GETS);
}

TEST(what_a_watcher_says_is_dropped_and_its_end_ends_it)
{
	struct conn *c = watcher("");

	rig_receive_text(rig, c, "set a 0 0 5\r\nhello\r\nbogus");
	rig_turn(rig);
	said("get a\r\n");
	check_str(seen(c), "type=item_get key=a status=not_found clsid=0 cfd=N size=0\n");
	rig_eof(rig, c);
	rig_turn(rig);
	check(rig_closed(c));
	rig_lose(rig, c);
	said("get a\r\n");
	check_eq(rig_count(rig, EVENTS_LOGGED), 1);
	check_eq(rig_chunks_used(rig), 0);
}

TEST(what_stands_behind_watch_is_not_answered)
{
	struct conn *c = rig_open(rig);

	rig_receive_text(rig, c, "version\r\nwatch\r\nversion\r\nget a\r\n");
	rig_turn(rig);
	rig_turn(rig);
	check_str(rig_sent(c, NULL), "VERSION 9.8.7\r\nOK\r\n");
}

/* A watcher asks for nothing more, so nothing but the change of users can end it. */
TEST(a_watcher_whose_user_may_watch_no_more_is_closed)
{
	const enum mc_role roles[] = {MC_ROLE_ADMIN, MC_ROLE_WRITE};
	const struct serve_policy policy = {.auth = true};
	struct serve_users users = {
		.count = 1, .user = {{.name_len = 1, .password_len = 1, .role = MC_ROLE_ADMIN}}};
	struct rig *guarded = rig_create();
	struct conn *c;

	memcpy(users.user[0].bytes, "ax", 2);
	serve_shared_set_policy(guarded->shared, &policy);
	check(serve_users_replace_mt(guarded->shared, &users));
	rig_turn(guarded);
	c = rig_open(guarded);
	rig_receive_text(guarded, c, "set x 0 0 3\r\na x\r\nwatch rawcmds\r\n");
	rig_turn(guarded);
	check_str(rig_sent(c, NULL), "STORED\r\nOK\r\n");
	for (uint32_t i = 0; i < 2; i++) {
		users.user[0].role = (uint8_t)roles[i];
		check(!rig_closed(c));
		check(serve_users_replace_mt(guarded->shared, &users));
		rig_turn(guarded);
	}
	check(rig_closed(c));
	rig_destroy(guarded);
}
