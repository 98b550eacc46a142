/*
 * Meta commands. Goal: mg ms md ma mn answer as memcached 1.6.45 does, return flags in the order
 * of the request, wherever the stream is cut. Method: conversations as tables; the expected
 * replies were observed on a 1.6.45.
 */
#include "conversation.h"
#include "one_rig.h"
#include "support/differences.h"
#include "support/test.h"

TEST(a_meta_get_shows_what_was_asked_for_in_the_order_asked)
{
	const struct row rows[] = {
		{"mg a\r\n", "EN\r\n"},
		{"mg a v\r\n", "EN\r\n"},
		{"mg a v k O1\r\n", "EN ka O1\r\n"},
		{"mg a q\r\nmn\r\n", "MN\r\n"},
		{"mg a v q k O7\r\nmn\r\n", "MN\r\n"},
		{"ms a 2 F9 E5\r\nhi\r\nmg a\r\nmg a v\r\nmg a s v\r\nmg a v c s f t k O123\r\n",
		 "HD\r\nHD\r\nVA 2\r\nhi\r\nVA 2 s2\r\nhi\r\nVA 2 c5 s2 f9 t-1 ka O123\r\nhi\r\n"},
		{"ms a 2 T30 E5\r\nhi\r\nmg a t\r\nmg a T60 t\r\nmg a t T0\r\nmg a t\r\nmg a v t "
		 "T90\r\nmg a t\r\n",
		 "HD\r\nHD t30\r\nHD t60\r\nHD t60\r\nHD t-1\r\nVA 2 t-1\r\nhi\r\nHD t90\r\n"},
		{"ms a 0\r\n\r\nmg a v s\r\nget a\r\n",
		 "HD\r\nVA 0 s0\r\n\r\nVALUE a 0 0\r\n\r\nEND\r\n"},
		{"ms a 2 E5\r\nhi\r\nmg a h u\r\nmg a h u\r\nmg a h\r\nmg a h\r\n",
		 "HD\r\nHD h0\r\nHD h0\r\nHD h0\r\nHD h1\r\n"},
		/* With u, a new expiry is no use of the item, in place and in a copy that makes
		 * room for it. */
		{"ms a 2\r\nhi\r\nmg a T30 u\r\nmg a h u\r\nmg a T60 u\r\nmg a h u t\r\nmg a "
		 "T90\r\n"
		 "mg a h u t\r\n",
		 "HD\r\nHD\r\nHD h0\r\nHD\r\nHD h0 t60\r\nHD\r\nHD h1 t90\r\n"},
		{"ms a 2\r\nhi\r\ntouch a 30\r\nmg a h u\r\nms a 2\r\nhi\r\ngat 30 a\r\nmg a h "
		 "u\r\n",
		 "HD\r\nTOUCHED\r\nHD h1\r\nHD\r\nVALUE a 0 2\r\nhi\r\nEND\r\nHD h1\r\n"},
		{"ms a 2 E7\r\nhi\r\nmg a v C7\r\nmg a v C8\r\nmg a C7 c\r\n",
		 "HD\r\nHD\r\nVA 2\r\nhi\r\nHD c7\r\n"},
		{"ms a 2\r\nhi\r\nmg a v q k\r\nmg b v q k\r\nmn\r\n",
		 "HD\r\nVA 2 ka\r\nhi\r\nMN\r\n"},
		{"ms a 2\r\nhi\r\nmg a L P1 S2\r\nmg a Pabc Lxyz v\r\n",
		 "HD\r\nCLIENT_ERROR invalid flag\r\nVA 2\r\nhi\r\n"},
		{"mg a v v\r\nmg a !\r\nmg a z\r\nmg a 9\r\nmg a Tx\r\nmg a T\r\nmg a "
		 "O123456789012345678901234567890123\r\nmg a Cx\r\nmg a Ex\r\nmg a Rx\r\nmg a "
		 "Nx\r\n",
		 "CLIENT_ERROR duplicate flag\r\nCLIENT_ERROR bad command line "
		 "format\r\nCLIENT_ERROR invalid flag\r\nCLIENT_ERROR invalid flag\r\nCLIENT_ERROR "
		 "bad token in command line format\r\nCLIENT_ERROR bad token in command line "
		 "format\r\nCLIENT_ERROR opaque token too long\r\nCLIENT_ERROR bad token in "
		 "command line format\r\nCLIENT_ERROR bad token in command line "
		 "format\r\nCLIENT_ERROR bad token in command line format\r\nCLIENT_ERROR bad "
		 "token in command line format\r\n"},
		{"mg\r\nmg \r\nmn x y\r\nmn\r\n",
		 "CLIENT_ERROR bad command line format\r\nCLIENT_ERROR bad command line "
		 "format\r\nMN\r\nMN\r\n"},
		/* With several errors, client flags give way to all errors
		 * with texts of their own. */
		{"mg a Tx F-1\r\nmg a F-1 Jx\r\nmg a F-1 " DIFFERENCES_O33
		 "\r\nmg a " DIFFERENCES_O33 " Tx\r\nmg a F-1\r\nmg a Jx Tx\r\n",
		 "CLIENT_ERROR bad token in command line format\r\nCLIENT_ERROR invalid numeric "
		 "initial "
		 "value\r\nCLIENT_ERROR bad command line format\r\nCLIENT_ERROR bad token in "
		 "command line "
		 "format\r\nCLIENT_ERROR bad command line format\r\nCLIENT_ERROR bad token in "
		 "command line "
		 "format\r\n"},
		{"mg a 1 2\r\nmg a @\r\nmg a [\r\n",
		 "CLIENT_ERROR invalid flag\r\nCLIENT_ERROR bad command line "
		 "format\r\nCLIENT_ERROR invalid flag\r\n"},
	};

	ROWS_HOLD(rig, rows);
}

TEST(a_meta_set_stores_as_its_mode_says)
{
	const struct row rows[] = {
		{"ms a 2\r\nhi\r\nget a\r\n", "HD\r\nVALUE a 0 2\r\nhi\r\nEND\r\n"},
		{"ms a 2 c E77\r\nhi\r\ngets a\r\n", "HD c77\r\nVALUE a 0 2 77\r\nhi\r\nEND\r\n"},
		{"ms a S2\r\nhi\r\n", "CLIENT_ERROR bad command line format\r\nERROR\r\n"},
		{"ms a\r\nms a x\r\nms a -1\r\n",
		 "CLIENT_ERROR bad command line format\r\nCLIENT_ERROR bad command line "
		 "format\r\nCLIENT_ERROR bad command line format\r\n"},
		{"ms a 2 F7 T0 I k O9 b\r\nhi\r\n", "CLIENT_ERROR error decoding key\r\n"},
		{"ms a 2 ME\r\nhi\r\nms a 2 ME\r\nho\r\nget a\r\n",
		 "HD\r\nNS\r\nVALUE a 0 2\r\nhi\r\nEND\r\n"},
		{"ms a 2 MR\r\nhi\r\nms a 2\r\nhi\r\nms a 2 MR\r\nho\r\nget a\r\n",
		 "NS\r\nHD\r\nHD\r\nVALUE a 0 2\r\nho\r\nEND\r\n"},
		{"ms a 2 MA\r\nhi\r\nms a 2 F5\r\nhi\r\nms a 2 MA F9 s\r\nho\r\nms a 1 MP "
		 "s\r\n>\r\nget a\r\n",
		 "NS\r\nHD\r\nHD s4\r\nHD s5\r\nVALUE a 5 5\r\n>hiho\r\nEND\r\n"},
		{"ms a 2 MA N30 s F3\r\nhi\r\nmg a v t f\r\nms a 2 MP N60 s\r\nho\r\nmg a v t "
		 "f\r\n",
		 "HD s2\r\nVA 2 t30 f3\r\nhi\r\nHD s4\r\nVA 4 t30 f3\r\nhohi\r\n"},
		{"ms a 2 MS\r\nhi\r\nms a 2 MX\r\nhi\r\nmn\r\nms a 2 M\r\nhi\r\nmn\r\nms a 2 "
		 "Mset\r\nhi\r\nms a 2 Ms\r\nhi\r\n",
		 "HD\r\nCLIENT_ERROR invalid mode for ms M token\r\nMN\r\nCLIENT_ERROR invalid "
		 "mode for ms M token\r\nMN\r\nCLIENT_ERROR invalid mode for ms M "
		 "token\r\nCLIENT_ERROR invalid mode for ms M token\r\n"},
		{"ms a 2 q\r\nhi\r\nms a 2 q ME O1 k\r\nhi\r\nms b 2 q MR c\r\nhi\r\nmn\r\n",
		 "NS O1 ka\r\nNS c0\r\nMN\r\n"},
		{"ms a 2 q k O5\r\nhiho\r\nmn\r\n",
		 "CLIENT_ERROR bad data chunk\r\nCLIENT_ERROR bad command line format\r\nMN\r\n"},
		{"ms a 2\r\nhixxmn\r\n", "CLIENT_ERROR bad data chunk\r\nMN\r\n"},
		{"ms a 2 C5\r\nhi\r\nms a 2 E5\r\nhi\r\nms a 2 C6 c\r\nho\r\nms a 2 C5 E9 "
		 "c\r\nho\r\nms a 2 C9 MR E10 c\r\nhi\r\nms a 2 C1 ME c\r\nhi\r\nmg a c v\r\n",
		 "NF\r\nHD\r\nEX c0\r\nHD c9\r\nHD c10\r\nNS c0\r\nVA 2 c10\r\nhi\r\n"},
		{"ms a 2 MR C5 c\r\nhi\r\nms a 2 E5\r\nhi\r\nms a 2 MR C6 c k\r\nho\r\n"
		 "ms a 2 MR C5 E7 c\r\nhe\r\nmg a v\r\n",
		 "NF c0\r\nHD\r\nEX c0 ka\r\nHD c7\r\nVA 2\r\nhe\r\n"},
		{"ms a 2 E5\r\nhi\r\nms a 2 MA C4\r\nho\r\nms a 2 MA C5 E6 c s\r\nho\r\nmg a v "
		 "c\r\n",
		 "HD\r\nEX\r\nHD c6 s4\r\nVA 4 c6\r\nhiho\r\n"},
		/* For modes where a cas may be left out, 0 is no cas; a set
		 * with C always compares. */
		{"ms a 1 E5\r\n1\r\nms a 1 MA C0\r\n2\r\nms a 1 MP C0\r\n0\r\nms a 1 MR C0\r\n9\r\n"
		 "ms a 1 C0\r\n9\r\nms a 1 C0 I\r\n9\r\nms a 1 ME C0\r\n9\r\nmg a v\r\n",
		 "HD\r\nHD\r\nHD\r\nEX\r\nEX\r\nEX\r\nNS\r\nVA 3\r\n012\r\n"},
		{"ms a 2 E50 T100\r\nhi\r\nms a 2 C40 I T60 c E51\r\nho\r\nmg a v c t\r\nmg a v c "
		 "t\r\nms a 2 C51 I E52\r\nhe\r\nmg a v c\r\n",
		 "HD\r\nHD c51\r\nVA 2 c51 t100 X W\r\nho\r\nVA 2 c51 t100 Z X\r\nho\r\nHD\r\nVA 2 "
		 "c52\r\nhe\r\n"},
		{"ms a 2 E50\r\nhi\r\nms a 2 C60 I\r\nho\r\nmg a v c\r\n",
		 "HD\r\nEX\r\nVA 2 c50\r\nhi\r\n"},
		{"ms a 2 Fx\r\nhi\r\nmn\r\nms a 2 Tx\r\nhi\r\nmn\r\nms a 2 F1 F2\r\nhi\r\nmn\r\nms "
		 "a 2 Cx\r\nhi\r\nmn\r\nms a 2 z\r\nhi\r\nmn\r\nms a 2 F-1\r\nhi\r\nmn\r\nms a 2 "
		 "F4294967296\r\nhi\r\nmn\r\n",
		 "CLIENT_ERROR bad command line format\r\nMN\r\nCLIENT_ERROR bad token in command "
		 "line format\r\nMN\r\nCLIENT_ERROR duplicate flag\r\nMN\r\nCLIENT_ERROR bad token "
		 "in command line format\r\nMN\r\nCLIENT_ERROR invalid flag\r\nMN\r\nCLIENT_ERROR "
		 "bad command line format\r\nMN\r\nCLIENT_ERROR bad command line format\r\nMN\r\n"},
		{"ms a 2 T-1\r\nhi\r\nmg a v\r\n", "HD\r\nEN\r\n"},
		{"ms a 2 O123456789012345678901234567890123\r\nhi\r\nmn\r\n",
		 "CLIENT_ERROR opaque token too long\r\nMN\r\n"},
		{"ms a 2 O1234567890123456789012345678901\r\nhi\r\nmn\r\n",
		 "HD O1234567890123456789012345678901\r\nMN\r\n"},
		{"ms a 2 v t h l f k\r\nhi\r\n", "HD ka\r\n"},
	};

	ROWS_HOLD(rig, rows);
}

TEST(a_meta_delete_deletes_or_marks_or_empties)
{
	const struct row rows[] = {
		{"md a\r\nms a 2\r\nhi\r\nmd a\r\nmg a\r\n", "NF\r\nHD\r\nHD\r\nEN\r\n"},
		{"md a q\r\nms a 2\r\nhi\r\nmd a q k\r\nmn\r\nmd a q O5 k\r\nmn\r\n",
		 "NF\r\nHD\r\nMN\r\nNF O5 ka\r\nMN\r\n"},
		{"ms a 2 E5\r\nhi\r\nmd a C4 k O1\r\nmd a C5 k O1\r\nmg a\r\n",
		 "HD\r\nEX ka O1\r\nHD ka O1\r\nEN\r\n"},
		{"ms a 2 E5 T100\r\nhi\r\nmd a I E6 T50\r\nmg a v c t\r\nmg a v c t\r\nms a 2 C6 "
		 "E8\r\nho\r\nmg a v c\r\n",
		 "HD\r\nHD\r\nVA 2 c6 t50 X W\r\nhi\r\nVA 2 c6 t50 Z X\r\nhi\r\nHD\r\nVA 2 "
		 "c8\r\nho\r\n"},
		{"ms a 2 E5 F7\r\nhi\r\nmd a x E9\r\nmg a v f c t\r\nmd a x I T30 E11\r\nmg a v f "
		 "c t\r\n",
		 "HD\r\nHD\r\nVA 0 f0 c9 t-1\r\n\r\nHD\r\nVA 0 f0 c11 t30 X W\r\n\r\n"},
		{"ms a 2 E5 T100\r\nhi\r\nmd a x\r\nmg a v f t\r\n",
		 "HD\r\nHD\r\nVA 0 f0 t-1\r\n\r\n"},
		{"ms a 2 E5 T100 F3\r\nhi\r\nmd a x T50\r\nmg a v f t\r\nmd a x F9\r\nmg a f\r\n",
		 "HD\r\nHD\r\nVA 0 f0 t50\r\n\r\nHD\r\nHD f9\r\n"},
		{"ms a 2 F3\r\nhi\r\nmd a x F5 I\r\nmg a v f\r\nmd a F7 I\r\nmg a v f\r\n",
		 "HD\r\nHD\r\nVA 0 f5 X W\r\n\r\nHD\r\nVA 0 f5 X W\r\n\r\n"},
		{"ms a 1 E5\r\n1\r\nmd a C0\r\nmd a C0 x\r\nmg a v\r\n",
		 "HD\r\nEX\r\nEX\r\nVA 1\r\n1\r\n"},
		{"ms a 2 E5\r\nhi\r\nmd a q C4\r\nmn\r\nmd a I q E6\r\nmn\r\nmd a I E7\r\nmg a "
		 "c\r\nmd a I E8\r\nmg a c\r\nmg a c\r\n",
		 "HD\r\nEX\r\nMN\r\nMN\r\nHD\r\nHD c7 X W\r\nHD\r\nHD c8 X W\r\nHD c8 Z X\r\n"},
		{"md a z\r\nmd a k k\r\nmd\r\nmd a Tx\r\n",
		 "CLIENT_ERROR invalid flag\r\nCLIENT_ERROR duplicate flag\r\nCLIENT_ERROR bad "
		 "command line format\r\nCLIENT_ERROR bad token in command line format\r\n"},
	};

	ROWS_HOLD(rig, rows);
}

TEST(a_meta_arithmetic_counts)
{
	const struct row rows[] = {
		{"ma a\r\nma a q\r\nma a k O3\r\nms a 1\r\n5\r\nma a\r\nma a v\r\nma a v D10 c "
		 "E9\r\nma a MD v\r\nma a M- D100 v\r\nma a MI v\r\nma a M+ v t\r\nget a\r\n",
		 "NF\r\nNF\r\nNF ka O3\r\nHD\r\nHD\r\nVA 1\r\n7\r\nVA 2 c9\r\n17\r\nVA "
		 "2\r\n16\r\nVA 1\r\n0\r\nVA 1\r\n1\r\nVA 1 t-1\r\n2\r\nVALUE a 0 2\r\n2 "
		 "\r\nEND\r\n"},
		{"ma a N0\r\nma a v\r\nget a\r\n",
		 "HD\r\nVA 1\r\n1\r\nVALUE a 0 1\r\n1\r\nEND\r\n"},
		{"ma a N30 J13 v t c E5\r\nma a v t T60 D2 c E6\r\nma a v t\r\n",
		 "VA 2 t30 c5\r\n13\r\nVA 2 t30 c6\r\n15\r\nVA 2 t60\r\n16\r\n"},
		{"ma a N30 J13 q\r\nmn\r\nma a v q\r\nmn\r\nma b q\r\nmn\r\n",
		 "MN\r\nMN\r\nNF\r\nMN\r\n"},
		{"ms a 1 E5\r\n5\r\nma a C4 k O1\r\nma a C4 q\r\nmn\r\nma a C5 E6 c v\r\n",
		 "HD\r\nEX ka O1\r\nEX\r\nMN\r\nVA 1 c6\r\n6\r\n"},
		{"ms a 1 E5\r\n5\r\nma a C0 v\r\nma b C0\r\n", "HD\r\nVA 1\r\n6\r\nNF\r\n"},
		{"ma a N-1 J13 v\r\nma a\r\nma a N-1 T90 J13 v t\r\nma a v\r\n",
		 "VA 2\r\n13\r\nNF\r\nVA 2 t90\r\n13\r\nVA 2\r\n14\r\n"},
		{"ms a 1\r\nx\r\nma a\r\nma a q\r\nma a Dx\r\nma a Jx\r\nma a MX\r\nma a z\r\nma a "
		 "k k\r\nma\r\nma a Nx\r\n",
		 "HD\r\nCLIENT_ERROR cannot increment or decrement non-numeric "
		 "value\r\nCLIENT_ERROR cannot increment or decrement non-numeric "
		 "value\r\nCLIENT_ERROR invalid or duplicate flag\r\nCLIENT_ERROR invalid or "
		 "duplicate flag\r\nCLIENT_ERROR invalid mode for ma M token\r\nCLIENT_ERROR "
		 "invalid or duplicate flag\r\nCLIENT_ERROR invalid or duplicate "
		 "flag\r\nCLIENT_ERROR bad command line format\r\nCLIENT_ERROR invalid or "
		 "duplicate flag\r\n"},
		{"ms a 2\r\n10\r\nma a MD v s k O1\r\nget a\r\n",
		 "HD\r\nVA 1 ka O1\r\n9\r\nVALUE a 0 2\r\n9 \r\nEND\r\n"},
		{"ms a 20\r\n18446744073709551615\r\nma a v\r\n", "HD\r\nVA 1\r\n0\r\n"},
		{"ma a N0 J18446744073709551615 v\r\nma a D2 v\r\n",
		 "VA 20\r\n18446744073709551615\r\nVA 1\r\n1\r\n"},
		{"ms a 1 T50\r\n5\r\nma a t T0\r\nma a t\r\nma a N7 t\r\n",
		 "HD\r\nHD t50\r\nHD t-1\r\nHD t-1\r\n"},
	};

	ROWS_HOLD(rig, rows);
}

TEST(stale_items_are_fetched_anew_by_one_client)
{
	const struct row rows[] = {
		{"mg a N30 v t\r\nmg a N30 v\r\nmg a v\r\nms a 2 T60\r\nhi\r\nmg a N30 v\r\n",
		 "VA 0 t30 W\r\n\r\nVA 0 Z\r\n\r\nVA 0 Z\r\n\r\nHD\r\nVA 2\r\nhi\r\n"},
		{"mg a t N30\r\nmg a t N60\r\nmg a T20 t N60\r\nmg a t T50\r\nmg a t\r\n",
		 "HD t-1 W\r\nHD t30 Z\r\nHD t20 Z\r\nHD t20 Z\r\nHD t50 Z\r\n"},
		{"mg a T20 N30 t\r\nmg b N30 T20 t\r\nma c T20 N30 t\r\nma d N30 T20 t\r\n"
		 "ma e t N30\r\n",
		 "HD t30 W\r\nHD t20 W\r\nHD t30\r\nHD t20\r\nHD t-1\r\n"},
		{"mg a N30 t T20\r\nmg a t\r\nmg b t N30 T20\r\nma c N30 t T20\r\nma c t\r\n",
		 "HD t30 W\r\nHD t20 Z\r\nHD t-1 W\r\nHD t30\r\nHD t20\r\n"},
		{"mg a N-1 T90\r\nmg a t\r\nmg b N-1\r\nmg b\r\nmg b T90 N-1 v\r\nmg b\r\nmg c N90 "
		 "T-1\r\nmg c\r\n",
		 "HD W\r\nHD t90 Z\r\nHD W\r\nEN\r\nVA 0 W\r\n\r\nEN\r\nHD W\r\nEN\r\n"},
		{"mg a N0 t c E5 s k O1\r\nmg a N0 c\r\n", "HD t-1 c5 s0 ka O1 W\r\nHD c5 Z\r\n"},
		{"ms a 2 T30\r\nhi\r\nmg a R20 v\r\nmg a R60 v t\r\nmg a R60 v\r\nmg a v\r\n",
		 "HD\r\nVA 2\r\nhi\r\nVA 2 t30 W\r\nhi\r\nVA 2 Z\r\nhi\r\nVA 2 Z\r\nhi\r\n"},
		{"ms a 2\r\nhi\r\nmg a R60 v\r\n", "HD\r\nVA 2\r\nhi\r\n"},
		{"mg a N30 R60\r\nmg a N30 R60\r\n", "HD W\r\nHD Z\r\n"},
		{"ms a 2 T30\r\nhi\r\nmg a R60 T100 v\r\nmg a T100 R60\r\nmg a T30 R60\r\nmg a T30 "
		 "R60\r\n",
		 "HD\r\nVA 2 W\r\nhi\r\nHD Z\r\nHD Z\r\nHD Z\r\n"},
		{"ms a 2 E5\r\nhi\r\nmd a I\r\nmg a v\r\nmg a v\r\ntouch a 0\r\nmg a v\r\nget "
		 "a\r\n",
		 "HD\r\nHD\r\nVA 2 X W\r\nhi\r\nVA 2 Z X\r\nhi\r\nTOUCHED\r\nVA 2 Z "
		 "X\r\nhi\r\nVALUE a 0 2\r\nhi\r\nEND\r\n"},
		{"ms a 2 E5\r\nhi\r\nmd a I E6\r\nmg a R30\r\nmg a R30\r\n",
		 "HD\r\nHD\r\nHD X W\r\nHD Z X\r\n"},
		{"mg a N30 q\r\nmg a q\r\nmn\r\n", "HD W\r\nHD Z\r\nMN\r\n"},
	};

	ROWS_HOLD(rig, rows);
}

TEST(a_key_may_be_base64)
{
	const struct row rows[] = {
		{"ms Zm9v 2 b k\r\nhi\r\nmg Zm9v b v k\r\nmg Zm9v k\r\nmd Zm9v b k\r\nmg Zm9v b "
		 "k\r\nma Zm9v b k\r\nma Zm9v b k N0 J5 v\r\n",
		 "HD kZm9v b\r\nVA 2 kZm9v b\r\nhi\r\nEN kZm9v\r\nHD kZm9v b\r\nEN kZm9v b\r\nNF "
		 "kZm9v b\r\nVA 1 kZm9v b\r\n5\r\n"},
		{"ms Zm9v 2 b\r\nhi\r\nget foo\r\nmg Zm9v k b O1\r\n",
		 "HD\r\nVALUE foo 0 2\r\nhi\r\nEND\r\nHD kZm9v b O1\r\n"},
		{"mg Zm9 b\r\nmg Z b\r\nmg *** b\r\nmg ==== b\r\nms Z*** 2 b\r\nhi\r\nmn\r\nma "
		 "Z*** b\r\nmd Z*** b\r\n",
		 "CLIENT_ERROR error decoding key\r\nCLIENT_ERROR error decoding "
		 "key\r\nCLIENT_ERROR error decoding key\r\nCLIENT_ERROR error decoding "
		 "key\r\nCLIENT_ERROR error decoding key\r\nMN\r\nCLIENT_ERROR invalid or "
		 "duplicate flag\r\nCLIENT_ERROR error decoding key\r\n"},
		{"ms AAECAwQ= 2 b k\r\nhi\r\nmg AAECAwQ= b k v\r\n",
		 "HD kAAECAwQ= b\r\nVA 2 kAAECAwQ= b\r\nhi\r\n"},
		/* Bits under the padding: 1.6.45 accepts it as Zg==. */
		{"mg Zh== b k\r\n", "CLIENT_ERROR error decoding key\r\n"},
	};

	ROWS_HOLD(rig, rows);
}

TEST(what_differs_from_memcached_is_what_the_document_says)
{
#define ROW(request, theirs, ours, why) {request, ours},
	const struct row rows[] = {DIFFERENCES(ROW)};

	ROWS_HOLD(rig, rows);
}
