/*
 * Meta commands. Goal: every flag is read as memcached 1.6.45 reads it, in the order of the
 * request, and every wrong line gets its error; a body is swallowed whenever its length is known.
 * Method: tables of streams and of the requests that they must give (request_trace.h).
 */
#include "request_rows.h"

TEST(a_meta_command_is_its_key_and_its_flags)
{
	const struct row rows[] = {
		{"mg foo\r\n", "mg foo []\n"},
		{"mg foo \n", "mg foo []\n"},
		{"mg foo v t\r\n", "mg foo [tv] order=t\n"},
		{"mg foo  s   k c\r\n", "mg foo [cks] order=skc\n"},
		{"ms foo 2\r\nhi\r\n", "ms foo [] body=2\n"},
		{"ms foo 2 T60 F7 C9 E10 I c k q\r\nhi\r\n",
		 "ms foo [ckqCEFIT] order=ck cas=9 new-cas=10 flags=7 exptime=60 body=2 quiet\n"},
		{"md foo q Oab I T-1 x C5 E6\r\n",
		 "md foo [qxCEIOT] order=O opaque=ab cas=5 new-cas=6 exptime=-1 quiet\n"},
		{"ma foo\r\n", "ma foo [] delta=1 initial=0\n"},
		{"ma foo N0 J13 D30 T5 v t\r\n",
		 "ma foo [tvDJNT] order=t exptime=5 vivify=0 delta=30 initial=13\n"},
		{"ma foo D18446744073709551615 J18446744073709551615\r\n",
		 "ma foo [DJ] delta=18446744073709551615 initial=18446744073709551615\n"},
		{"me foo\r\n", "me foo []\n"},
		{"me foo x y\r\n", "me foo []\n"},
		{"mn\r\n", "mn\n"},
		{"mn any thing at all\r\n", "mn\n"},
		{"mg foo N30 R10 u h l\r\n", "mg foo [hluNR] order=hl vivify=30 recache=10\n"},
		{"mg foo P L Pabc\r\n", "bad duplicate\n"},
		{"mg foo Ppath Lother\r\n", "mg foo [LP]\n"},
	};

	ROWS_HOLD(rows);
}

TEST(flags_that_mean_nothing_to_a_command_are_taken)
{
	const struct row rows[] = {
		{"mg foo D3 J4 F5 I x E6 MZ\r\n", "mg foo [xDEFIJM] new-cas=6 flags=5\n"},
		{"md foo v h l t u N3 R4 MZ\r\n",
		 "md foo [hltuvMNR] ttl-before-vivify order=hlt vivify=3 recache=4\n"},
	};

	ROWS_HOLD(rows);
}

TEST(a_ttl_shown_before_it_is_set_is_the_old_one)
{
	const struct row rows[] = {
		{"mg foo t T5\r\n", "mg foo [tT] ttl-before-touch order=t exptime=5\n"},
		{"mg foo T5 t\r\n", "mg foo [tT] order=t exptime=5\n"},
		{"ma foo t N5\r\n",
		 "ma foo [tN] ttl-before-vivify order=t vivify=5 delta=1 initial=0\n"},
		{"mg foo T5 N6\r\n", "mg foo [NT] vivify-after-touch exptime=5 vivify=6\n"},
		{"mg foo N6 T5 t\r\n", "mg foo [tNT] order=t exptime=5 vivify=6\n"},
		{"mg foo R9 T5\r\n", "mg foo [RT] recache-before-touch exptime=5 recache=9\n"},
		{"mg foo T5 R9\r\n", "mg foo [RT] exptime=5 recache=9\n"},
	};

	ROWS_HOLD(rows);
}

TEST(every_mode_is_read_where_it_has_a_meaning)
{
	const struct row rows[] = {
		{"ms k 0 ME\r\n\r\n", "ms k [M] mode=add body=0\n"},
		{"ms k 0 MA N5\r\n\r\n", "ms k [MN] mode=append vivify=5 body=0\n"},
		{"ms k 0 MP\r\n\r\n", "ms k [M] mode=prepend body=0\n"},
		{"ms k 0 MR\r\n\r\n", "ms k [M] mode=replace body=0\n"},
		{"ms k 0 MSet\r\n\r\n", "ms k [M] mode=set body=0\n"},
		{"ms k 0 MX\r\n\r\n", "bad mode-ms body=0\n"},
		{"ms k 0 M\r\n\r\n", "bad mode-ms body=0\n"},
		{"ms k 0 MI\r\n\r\n", "bad mode-ms body=0\n"},
		{"ma k MI\r\n", "ma k [M] mode=incr delta=1 initial=0\n"},
		{"ma k M+\r\n", "ma k [M] mode=incr delta=1 initial=0\n"},
		{"ma k MD\r\n", "ma k [M] mode=decr delta=1 initial=0\n"},
		{"ma k M-\r\n", "ma k [M] mode=decr delta=1 initial=0\n"},
		{"ma k MS\r\n", "bad mode-ma\n"},
		{"ma k M\r\n", "bad mode-ma\n"},
	};

	ROWS_HOLD(rows);
}

TEST(a_base64_key_is_decoded_and_a_wrong_one_refused)
{
	const struct row rows[] = {
		{"mg Zm9v b k\r\n", "mg foo base64 [bk] order=k\n"},
		{"ms Zm9vYg== 2 b\r\nhi\r\n", "ms foob base64 [b] body=2\n"},
		{"md AAECAw== b\r\n", "md \\00\\01\\02\\03 base64 [b]\n"},
		{"ma Zm9vYmE= b\r\n", "ma fooba base64 [b] delta=1 initial=0\n"},
		{"me Zm9v b\r\n", "me foo base64 [b]\n"},
		{"mg foo b\r\n", "bad base64\n"},
		{"mg Zm9v= b\r\n", "bad base64\n"},
		{"mg ==== b\r\n", "bad base64\n"},
		{"mg Zm9vYh== b\r\n", "bad base64\n"}, /* bits under the padding */
		{"mg Zm=v b\r\n", "bad base64\n"},
		{"mg Zm9- b\r\n", "bad base64\n"},
		{"ms foo 2 b\r\nhi\r\n", "bad base64 body=2\n"},
		{"ma foo b\r\n", "bad flags-ma\n"},
		{"me foo b\r\n", "bad format\n"},
	};

	ROWS_HOLD(rows);
}

TEST(every_wrong_flag_has_its_error)
{
	const struct row rows[] = {
		{"mg foo s s\r\n", "bad duplicate\n"},
		{"mg foo Oa Ob\r\n", "bad duplicate\n"},
		{"mg foo z\r\n", "bad flag\n"},
		{"mg foo S2\r\n", "bad flag\n"},
		{"mg foo 1\r\n", "bad flag\n"},
		{"mg foo [\r\n", "bad flag\n"},
		{"mg foo !\r\n", "bad format\n"},
		{"mg foo v \x7f\r\n", "bad format\n"},
		{"mg foo {\r\n", "bad format\n"},
		{"mg foo @\r\n", "bad format\n"},
		{"mg foo A\r\n", "bad flag\n"},
		{"mg foo /\r\n", "bad format\n"},
		{"mg foo 0\r\n", "bad flag\n"},
		{"mg foo 9\r\n", "bad flag\n"},
		{"mg foo :\r\n", "bad format\n"},
		{"me foo !\r\n", "bad format\n"},
		{"ma foo !\r\n", "bad format\n"},
		{"mg foo T\r\n", "bad token\n"},
		{"mg foo Tx\r\n", "bad token\n"},
		{"mg foo T2147483648\r\n", "bad token\n"},
		{"mg foo N-\r\n", "bad token\n"},
		{"mg foo R1.5\r\n", "bad token\n"},
		{"mg foo C-1\r\n", "bad token\n"},
		{"mg foo E18446744073709551616\r\n", "bad token\n"},
		{"ms foo 2 F-1\r\nhi\r\n", "bad format body=2\n"},
		{"ms foo 2 F4294967296\r\nhi\r\n", "bad format body=2\n"},
		{"md foo Jx\r\n", "bad initial\n"},
		{"md foo D-1\r\n", "bad meta-delta\n"},
		{"ma foo Jx\r\n", "bad flags-ma\n"},
		{"ma foo D-1\r\n", "bad flags-ma\n"},
		{"ma foo z\r\n", "bad flags-ma\n"},
		{"ma foo v v\r\n", "bad flags-ma\n"},
		{"mg foo Cx z\r\n", "bad flag\n"},       /* an unknown letter is reported first */
		{"mg foo Cx C1\r\n", "bad duplicate\n"}, /* then a duplicate */
		{"mg foo Cx Jx\r\n", "bad initial\n"},   /* else the last wrong token */
		{"mg foo q z\r\n", "bad flag quiet\n"},
	};

	ROWS_HOLD(rows);
}

TEST(a_line_with_too_few_words_is_a_format_error)
{
	const struct row rows[] = {
		{"mg\r\n", "bad format\n"},
		{"mg \r\n", "bad format\n"},
		{"md\r\n", "bad format\n"},
		{"ma\r\n", "bad format\n"},
		{"me\r\n", "bad format\n"},
		{"ms\r\n", "bad format\n"},
		{"ms foo\r\n", "bad format\n"},
		{"mn\n", "bad format\n"}, /* three bytes are too short for any line */
	};

	ROWS_HOLD(rows);
}

TEST(a_bad_length_of_ms_leaves_the_body_to_be_read_as_commands)
{
	const struct row rows[] = {
		{"ms foo S2\r\nmn\r\n", "bad format\nmn\n"},
		{"ms foo -1\r\nmn\r\n", "bad format\nmn\n"},
		{"ms foo 2147483646\r\nmn\r\n", "bad format\nmn\n"},
		{"ms foo x T0\r\nmn\r\n", "bad format\nmn\n"},
		{"ms foo 2 z\r\nhi\r\nmn\r\n", "bad flag body=2\nmn\n"},
		{"ms foo 2 !\r\nhi\r\nmn\r\n", "bad format body=2\nmn\n"},
	};

	ROWS_HOLD(rows);
}

TEST(an_opaque_of_32_bytes_with_its_letter_is_taken_and_one_more_refused)
{
	const char *const fits[] = {"mg k O%s\r\n", "md k O%s\r\n", "ma k O%s\r\n"};

	for (size_t i = 0; i < sizeof fits / sizeof fits[0]; i++) {
		const char *line = text_of(fits[i], run_of('o', 31));
		const char *over = text_of(fits[i], run_of('o', 32));

		check_ptr(strstr(requests_of(line, (uint32_t)strlen(line)),
				 text_of("opaque=%s", run_of('o', 31))));
		check_str(requests_of(over, (uint32_t)strlen(over)), "bad opaque\n");
	}
	check_str(requests_of("mg k O\r\n", 8), "mg k [O] order=O opaque=\n");
	/* A wrong flag or mode is reported before a long opaque. */
	ROWS_HOLD(((struct row[]){
		{text_of("mg k O%s Tx\r\n", run_of('o', 32)), "bad token\n"},
		{text_of("mg k Tx O%s\r\n", run_of('o', 32)), "bad token\n"},
		{text_of("ms k 1 O%s MZ\r\nx\r\n", run_of('o', 32)), "bad mode-ms body=1\n"},
		{text_of("ms k 1 O%s\r\nx\r\n", run_of('o', 32)), "bad opaque body=1\n"},
	}));
}

TEST(twenty_words_are_read_and_one_more_is_too_many)
{
	ROWS_HOLD(((struct row[]){
		{"mg k v f h t l c s k O1 P L q u b C1 N1 R1 T1\r\n", "bad base64 quiet\n"},
		{"mg k v f h t l c s k O1 P L q u x C1 N1 R1 T1\r\n",
		 "mg k [cfhklqstuvxCLNOPRT] ttl-before-touch ttl-before-vivify "
		 "recache-before-touch order=fhtlcskO opaque=1 "
		 "cas=1 "
		 "exptime=1 vivify=1 recache=1 quiet\n"},
		{"mg k v f h t l c s k O1 P L q u x C1 N1 R1 T1 I\r\n", "bad options\n"},
		{"ma k v f h t l c s k O1 P L q u x C1 N1 R1 T1 I\r\n", "bad flags-ma\n"},
		{"ms k 1 v f h t l c s k O1 P L q u x C1 N1 R1 T1\r\nx\r\n",
		 "bad options body=1\n"},
	}));
}

TEST(a_key_of_250_bytes_as_sent_is_read_and_one_of_251_refused)
{
	const char *const formats[] = {"mg %s\r\n", "md %s\r\n", "me %s\r\n"};

	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		const char *fits = text_of(formats[i], run_of('k', 250));
		const char *over = text_of(formats[i], run_of('k', 251));

		check_null(strstr(requests_of(fits, (uint32_t)strlen(fits)), "bad"));
		check_str(requests_of(over, (uint32_t)strlen(over)), "bad format\n");
	}
	/* 248 letters of base64 are the longest that fit: 186 bytes. */
	check_ptr(strstr(requests_of(text_of("mg %s b\r\n", run_of('A', 248)), 248 + 7), "base64"));
	check_str(requests_of(text_of("mg %s b\r\n", run_of('A', 252)), 252 + 7), "bad format\n");
}
