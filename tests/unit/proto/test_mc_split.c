/*
 * Requests arrive in pieces. Goal: wherever the network cuts a stream, the parser asks for more,
 * reads nothing past the cut, and gives the same requests in the end. Method: every prefix of
 * every line, placed so that its last byte is the last readable byte of a page; then streams cut
 * in two at every byte, and byte by byte.
 */
#include "support/guard.h"
#include "support/test.h"
#include "request_trace.h"

static const char *const lines[] = {
	"get key\r\n",
	"get key\n",
	"get a b \r\n",
	"gets some keys and more\r\n",
	"gat 100 a b\r\n",
	"set key 1 2 3\r\n",
	"set key 1 2 3 noreply\r\n",
	"cas key 1 2 3 4\r\n",
	"set key x 2 3\r\n",
	"delete key 0 noreply\r\n",
	"incr key 12\r\n",
	"touch key 12\r\n",
	"flush_all 3 noreply\r\n",
	"version\r\n",
	"verbosity 1\r\n",
	"stats settings\r\n",
	"quit\r\n",
	"a\r\n",
	"  what is this\r\n",
	"GET / HTTP/1.1\r\n",
	"get "
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
	"kk"
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk "
	"b\r\n",
};

TEST(a_cut_line_asks_for_more)
{
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		const uint32_t len = (uint32_t)strlen(lines[i]);

		for (uint32_t cut = 0; cut < len; cut++) {
			struct mc_parser ps = {0};
			struct mc_req req;
			const struct mc_result r =
				mc_text_parse(&ps, &req, at_page_end(lines[i], cut), cut);

			check_eq(r.status, MC_MORE);
			check_eq(r.used, 0);
			check(!ps.in_line && !ps.swallow);
		}
	}
}

TEST(a_whole_line_is_used_to_its_end)
{
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		const uint32_t len = (uint32_t)strlen(lines[i]);
		const uint8_t *p = at_page_end(lines[i], len);
		struct mc_parser ps = {0};
		struct mc_req req;
		uint32_t used = 0;
		struct mc_result r;

		do {
			r = mc_text_parse(&ps, &req, p + used, len - used);
			used += r.used;
		} while (ps.in_line);
		check_ne(r.status, MC_MORE);
		check_eq(used, len);
	}
}

static struct request_trace whole, pieces;

static void
same_trace(void)
{
	check_eq(whole.text_len, pieces.text_len);
	check_str(whole.text, pieces.text);
	check_eq(whole.done, pieces.done);
}

static const char conversation[] = "set a 1 0 5\r\nhello\r\nget a b\r\n\r\nset b 0 x 2\r\nhi\r\n"
				   "set c 0 0 -1\r\nversion\r\ngets a\r\nmn\r\n gets b\r\ncas a 0 "
				   "0 2 77 noreply\r\nxy\r\nincr n 5\r\ndelete a\r\nquit\r\n";

TEST(a_conversation_is_the_same_wherever_it_is_cut)
{
	const uint8_t *stream = (const uint8_t *)conversation;
	const uint32_t len = sizeof conversation - 1;

	trace_start(&whole);
	trace_arrived(&whole, stream, len);
	check_eq(whole.done, len);
	for (uint32_t cut = 0; cut <= len; cut++) {
		trace_start(&pieces);
		trace_arrived(&pieces, stream, cut);
		trace_arrived(&pieces, stream, len);
		same_trace();
	}
	trace_start(&pieces);
	for (uint32_t arrived = 0; arrived <= len; arrived++)
		trace_arrived(&pieces, stream, arrived);
	same_trace();
}

/* Makes a line longer than MC_LINE_MAX: keys of all lengths, one too long near the end. Returns
 * its length. */
static uint32_t
long_line(uint8_t *stream)
{
	uint32_t at = 5;

	memcpy(stream, "gets ", 5);
	for (uint32_t n = 1; at < 2500; n = n * 3 % 251 + 1) {
		memset(stream + at, 'k', n);
		at += n;
		memset(stream + at, ' ', 1 + n % 3);
		at += 1 + n % 3;
	}
	memset(stream + at, 'x', 252);
	at += 252;
	memcpy(stream + at, " y \r\nversion\r\n", 14);
	return at + 14;
}

TEST(spaces_in_front_of_a_key_are_the_same_wherever_they_are_cut)
{
	static uint8_t stream[2400];
	const uint32_t len = sizeof stream;

	memset(stream, ' ', len);
	memcpy(stream, "gets", 4);
	memcpy(stream + 2200, "a b\r\nversion\r\nget ", 18);
	memcpy(stream + len - 3, "c\r\n", 3);
	trace_start(&whole);
	trace_arrived(&whole, stream, len);
	check_str(whole.text, "gets a more\ngets b next\nversion\nget c\n");
	for (uint32_t cut = 0; cut <= len; cut++) {
		trace_start(&pieces);
		trace_arrived(&pieces, stream, cut);
		trace_arrived(&pieces, stream, len);
		same_trace();
	}
}

TEST(a_long_retrieval_line_is_the_same_wherever_it_is_cut)
{
	static uint8_t stream[4096];
	const uint32_t len = long_line(stream);

	trace_start(&whole);
	trace_arrived(&whole, stream, len);
	check_ptr(strstr(whole.text, "bad format next\nversion\n"));
	for (uint32_t cut = 0; cut <= len; cut += 7) {
		trace_start(&pieces);
		trace_arrived(&pieces, stream, cut);
		trace_arrived(&pieces, stream, len);
		same_trace();
	}
	trace_start(&pieces);
	for (uint32_t arrived = 1; arrived <= len; arrived++)
		trace_arrived(&pieces, stream, arrived);
	same_trace();
}
