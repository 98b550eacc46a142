/*
 * differences.h - requests that the appliance answers differently from memcached 1.6.45, and why:
 * rows of lib/proto/COMMANDS.md, which unit/proto/test_mc_table writes and
 * unit/serve/test_serve_meta sends.
 *
 * Shape: DIFFERENCES(X) X(requests on a new connection and an empty cache, memcached's answers,
 *        ours, reason). memcached's answers were observed.
 */
#ifndef CLOCKOO_DIFFERENCES_H
#define CLOCKOO_DIFFERENCES_H

#define DIFFERENCES_K50 "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define DIFFERENCES_K250                                                                           \
	DIFFERENCES_K50 DIFFERENCES_K50 DIFFERENCES_K50 DIFFERENCES_K50 DIFFERENCES_K50
#define DIFFERENCES_O33 "O01234567890123456789012345678901"

/* clang-format off */
#define DIFFERENCES(X) \
	X("delete a b c d\r\n", \
	  "NOT_FOUND\r\n", \
	  "CLIENT_ERROR bad command line format\r\n", \
	  "memccapable expects an error of so many words") \
	X("ms a 1 E5\r\n1\r\nmd a x\r\nms a 1 C5\r\n2\r\n", \
	  "HD\r\nHD\r\nHD\r\n", \
	  "HD\r\nHD\r\nEX\r\n", \
	  "a cas names one value: a client that read the old one must not overwrite the empty one unseen") \
	X("ms a 1 E50\r\n1\r\nms a 1\r\n2\r\nms a 1 C40 I\r\n3\r\n", \
	  "HD\r\nHD\r\nEX\r\n", \
	  "HD\r\nHD\r\nHD\r\n", \
	  "behind an E the cas of a key goes on from there, so 40 is an older version; memcached's goes on from its own counter") \
	X("mg YWI= b k N30\r\n", \
	  "HD kab W\r\n", \
	  "HD kYWI= b W\r\n", \
	  "a key that was sent in base64 is returned in base64, also of an item that N or x made") \
	X("mg Zh== b k\r\n", \
	  "EN kZg== b\r\n", \
	  "CLIENT_ERROR error decoding key\r\n", \
	  "no encoder writes it; two spellings would name one key") \
	X("mg a N-1 t\r\n", \
	  "HD t4294960000 W\r\n", \
	  "HD t0 W\r\n", \
	  "an expired item has no seconds left; memcached's number wraps") \
	X("ma a N0 J5 " DIFFERENCES_O33 "\r\nget a\r\n", \
	  "CLIENT_ERROR opaque token too long\r\nVALUE a 0 1\r\n5\r\nEND\r\n", \
	  "CLIENT_ERROR opaque token too long\r\nEND\r\n", \
	  "a line with an error changes nothing") \
	X("ms a 4 !\r\nwhat\r\n", \
	  "CLIENT_ERROR bad command line format\r\nERROR\r\n", \
	  "CLIENT_ERROR bad command line format\r\n", \
	  "the length is known, so the data are never read as commands") \
	X("get " DIFFERENCES_K250 "k\r\n", \
	  "CLIENT_ERROR bad command line format\r\n\r\n", \
	  "CLIENT_ERROR bad command line format\r\n", \
	  "one line for one error: a client would take the empty line for the next answer")
/* clang-format on */

#endif
