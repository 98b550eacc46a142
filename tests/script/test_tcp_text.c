/*
 * How text is received. Goal: order, holes, overlaps, acknowledgments and our window, RFC 9293
 * section 3.8 and RFC 5681 section 4.2; the checks of RFC 5961 on an open connection; keepalive.
 * Method: scripts (tcp_script.h).
 */
#include "tcp_script.h"

#include "support/test.h"

/* Half of eight frames a connection: its window is 4 segments at first, and closes. */
static struct stack_config
few_frames(void)
{
	struct stack_config cfg = sim_config(1);

	cfg.rx_frames_max = 8;
	cfg.conns_max = 1;
	return cfg;
}

/* Eight, and one aside for who holds none. */
static struct stack_config
few_frames_and_one(void)
{
	struct stack_config cfg = few_frames();

	cfg.rx_frames_max = 9;
	return cfg;
}

#define FULL(n) IN(A, 1 + (n)*1460, 1, 1460), OUT(A, 1, 1461 + (n)*1460, 0)
#define FILLED                                                                                     \
	IN_SYN(1460, 0), OUT(S | A, 0, 1, 0), WINDOW(5840), IN(A, 1, 1, 0), FULL(0), WINDOW(4380), \
		FULL(1), WINDOW(4380), FULL(2), WINDOW(2920), FULL(3), WINDOW(2920), FULL(4),      \
		WINDOW(1460), FULL(5), WINDOW(1460), FULL(6), WINDOW(0)

static const struct script_step full_window[] = {
	FILLED,     HELD(7),    IN(A, 10221, 1, 1), OUT(A, 1, 10221, 0), WINDOW(0),
	READ(1460), READ(1460), READ(1460),         OUT(A, 1, 10221, 0), WINDOW(2920),
	READ(1460), READ(1460), READ(1460),         READ(1460),          HELD(0),
	END};
static const struct script_step ack_with_probe[] = {
	FILLED,     WRITE(10), OUT(P | A, 1, 10221, 10), IN(A, 10221, 11, 1), OUT(A, 11, 10221, 0),
	WAIT(1000), END};
static const struct script_step fin_beyond_window[] = {
	FILLED,      IN(F | A, 10221, 1, 1), OUT(A, 1, 10221, 0),
	READ(10220), OUT(A, 1, 10221, 0),    END_OF_STREAM(false),
	END};
static const struct script_step in_order[] = {HANDSHAKE,
					      IN(A, 1, 1, 100),
					      OUT(A, 1, 101, 0),
					      IN(A, 101, 1, 50),
					      OUT(A, 1, 151, 0),
					      READ(150),
					      END};
static const struct script_step ack_waits[] = {HANDSHAKE,
					       READING,
					       IN(A, 1, 1, 100),
					       WAIT(30),
					       WAIT(15),
					       OUT(A, 1, 101, 0),
					       COUNTED(TCP_ACKS_DELAYED, 1),
					       END};
static const struct script_step second_full[] = {
	HANDSHAKE, READING, IN(A, 1, 1, 1460), IN(A, 1461, 1, 1460), OUT(A, 1, 2921, 0), END};
static const struct script_step ack_rides[] = {
	HANDSHAKE, READING, IN(A, 1, 1, 100), WRITE(10), OUT(P | A, 1, 101, 10), IN(A, 101, 11, 0),
	WAIT(100), END};
static const struct script_step hole[] = {HANDSHAKE,
					  IN(A, 101, 1, 100),
					  OUT(A, 1, 1, 0),
					  READABLE(0),
					  IN(A, 1, 1, 100),
					  OUT(A, 1, 201, 0),
					  READ(200),
					  COUNTED(TCP_OUT_OF_ORDER, 1),
					  END};
static const struct script_step two_holes[] = {HANDSHAKE,
					       IN(A, 301, 1, 100),
					       OUT(A, 1, 1, 0),
					       IN(A, 101, 1, 100),
					       OUT(A, 1, 1, 0),
					       IN(A, 1, 1, 100),
					       OUT(A, 1, 201, 0),
					       IN(A, 201, 1, 100),
					       OUT(A, 1, 401, 0),
					       READ(400),
					       END};
static const struct script_step duplicate[] = {
	HANDSHAKE,         READING,          IN(A, 1, 1, 100),  WAIT(41),
	OUT(A, 1, 101, 0), IN(A, 1, 1, 100), OUT(A, 1, 101, 0), END};
static const struct script_step overlap_front[] = {HANDSHAKE,
						   IN(A, 1, 1, 100),
						   OUT(A, 1, 101, 0),
						   IN(A, 51, 1, 100),
						   OUT(A, 1, 151, 0),
						   READ(150),
						   END};
static const struct script_step overlaps_after_hole[] = {HANDSHAKE,
							 IN(A, 201, 1, 100),
							 OUT(A, 1, 1, 0),
							 IN(A, 151, 1, 100),
							 OUT(A, 1, 1, 0),
							 IN(A, 251, 1, 100),
							 OUT(A, 1, 1, 0),
							 IN(A, 101, 1, 300),
							 OUT(A, 1, 1, 0),
							 IN(A, 1, 1, 120),
							 OUT(A, 1, 401, 0),
							 READ(400),
							 END};
static const struct script_step hole_again[] = {HANDSHAKE,
						IN(A, 201, 1, 100),
						OUT(A, 1, 1, 0),
						IN(A, 201, 1, 100),
						OUT(A, 1, 1, 0),
						COUNTED(TCP_DROP_TEXT_OLD, 1),
						IN(A, 210, 1, 10),
						OUT(A, 1, 1, 0),
						COUNTED(TCP_DROP_TEXT_OLD, 2),
						END};
static const struct script_step beyond_window[] = {
	HANDSHAKE,       IN(A, 70000, 1, 10),
	OUT(A, 1, 1, 0), COUNTED(TCP_DROP_OUT_OF_WINDOW, 1),
	READABLE(0),     END};
static const struct script_step window_shrinks_as_text_waits[] = {
	HANDSHAKE,     IN(A, 1, 1, 1460),    OUT(A, 1, 1461, 0),
	WINDOW(65535), IN(A, 1461, 1, 1460), OUT(A, 1, 2921, 0),
	WINDOW(65535), READ(2920),           END};

static const struct script_step order_before_holes[] = {IN_SYN(1460, 0),
							OUT(S | A, 0, 1, 0),
							IN(A, 1, 1, 0),
							IN(A, 1461, 1, 1460),
							OUT(A, 1, 1, 0),
							IN(A, 2921, 1, 1460),
							OUT(A, 1, 1, 0),
							IN(A, 4381, 1, 1460),
							OUT(A, 1, 1, 0),
							HELD(3),
							IN(A, 1, 1, 1),
							OUT(A, 1, 2, 0),
							IN(A, 2, 1, 1),
							OUT(A, 1, 3, 0),
							IN(A, 3, 1, 1),
							OUT(A, 1, 4, 0),
							IN(A, 4, 1, 1),
							OUT(A, 1, 5, 0),
							IN(A, 5, 1, 1),
							OUT(A, 1, 6, 0),
							HELD(8),
							IN(A, 6, 1, 1),
							OUT(A, 1, 7, 0),
							HELD(8),
							COUNTED(TCP_DROP_HOLE_MADE_ROOM, 1),
							READ(6),
							END};
static const struct script_step rst_not_at_edge[] = {HANDSHAKE,
						     IN(R, 2, 0, 0),
						     OUT(A, 1, 1, 0),
						     GONE(0),
						     COUNTED(TCP_CHALLENGED_RST, 1),
						     IN(R, 3, 0, 0),
						     COUNTED(TCP_CHALLENGES_RATIONED, 1),
						     IN(R, 1, 0, 0),
						     GONE(1),
						     END};
static const struct script_step rst_outside[] = {
	HANDSHAKE, IN(R, 90000, 0, 0), IN(R, 0, 0, 0), GONE(0), COUNTED(TCP_DROP_OUT_OF_WINDOW, 2),
	END};
static const struct script_step syn_on_open[] = {
	HANDSHAKE, IN(S, 100, 0, 0), OUT(A, 1, 1, 0), GONE(0), COUNTED(TCP_CHALLENGED_SYN, 1), END};
static const struct script_step same_syn_on_open[] = {HANDSHAKE, IN_SYN(1460, 0), OUT(A, 1, 1, 0),
						      GONE(0), END};
static const struct script_step ack_of_unsent[] = {
	HANDSHAKE, IN(A, 1, 500, 10), OUT(A, 1, 1, 0), READABLE(0), COUNTED(TCP_CHALLENGED_ACK, 1),
	END};
static const struct script_step ack_too_old[] = {
	HANDSHAKE,   IN(A, 1, (uint32_t)-70000, 10), OUT(A, 1, 1, 0),
	READABLE(0), COUNTED(TCP_CHALLENGED_ACK, 1), END};
static const struct script_step no_ack_flag[] = {HANDSHAKE, IN(P, 1, 0, 10), READABLE(0),
						 COUNTED(TCP_DROP_NO_ACK, 1), END};
static const struct script_step keepalive_of_peer[] = {
	HANDSHAKE, IN(A, 0, 1, 0), OUT(A, 1, 1, 0), IN(A, 0, 1, 1), OUT(A, 1, 1, 0), READABLE(0),
	END};
static const struct script_step keepalive[] = {HANDSHAKE,       WAIT(60010), OUT(A, 0, 1, 0),
					       IN(A, 1, 1, 0),  WAIT(74000), WAIT(1010),
					       OUT(A, 0, 1, 0), END};
static const struct script_step keepalive_dead[] = {HANDSHAKE,
						    WAIT(60010),
						    OUT(A, 0, 1, 0),
						    WAIT(75010),
						    OUT(A, 0, 1, 0),
						    WAIT(75010),
						    OUT(A, 0, 1, 0),
						    WAIT(75010),
						    OUT(A, 0, 1, 0),
						    WAIT(75010),
						    OUT(A, 0, 1, 0),
						    WAIT(75010),
						    OUT(A, 0, 1, 0),
						    WAIT(75010),
						    OUT(A, 0, 1, 0),
						    WAIT(75010),
						    OUT(A, 0, 1, 0),
						    WAIT(75010),
						    OUT(A, 0, 1, 0),
						    WAIT(75010),
						    OUT(R | A, 1, 1, 0),
						    GONE(1),
						    COUNTED(TCP_TIMEOUT_KEEPALIVE, 1),
						    END};

static const struct script scripts[] = {
	SCRIPT_WITH(few_frames, "a full window is shut, and opens as text is read", full_window),
	SCRIPT_WITH(few_frames, "the ACK of a window probe counts", ack_with_probe),
	SCRIPT_WITH(few_frames, "a FIN beyond the window is not taken", fin_beyond_window),
	SCRIPT("text in order is read in order", in_order),
	SCRIPT("the ACK of text that was read waits 40 ms", ack_waits),
	SCRIPT("every second full segment is acknowledged at once", second_full),
	SCRIPT("an ACK rides on a reply", ack_rides),
	SCRIPT("text after a hole waits for it", hole),
	SCRIPT("holes are filled in any order", two_holes),
	SCRIPT("text that comes again is acknowledged again", duplicate),
	SCRIPT("only what is new of a segment is taken", overlap_front),
	SCRIPT("text after a hole may overlap", overlaps_after_hole),
	SCRIPT("text after a hole that comes again is dropped", hole_again),
	SCRIPT("text beyond the window is dropped", beyond_window),
	SCRIPT("a window is not taken back while text waits", window_shrinks_as_text_waits),
	SCRIPT_WITH(few_frames_and_one, "text in order takes the room of text after a hole",
		    order_before_holes),
	SCRIPT("a RST in the window is challenged", rst_not_at_edge),
	SCRIPT("a RST outside the window is nothing", rst_outside),
	SCRIPT("a SYN in the window is challenged", syn_on_open),
	SCRIPT("the first SYN again is answered by an ACK", same_syn_on_open),
	SCRIPT("an ACK of what was never sent is challenged", ack_of_unsent),
	SCRIPT("an ACK from long ago is challenged", ack_too_old),
	SCRIPT("a segment without ACK is dropped", no_ack_flag),
	SCRIPT("a peer's keepalive is answered", keepalive_of_peer),
	SCRIPT("a silent peer is asked", keepalive),
	SCRIPT("a peer that stays silent is given up", keepalive_dead),
};

int
main(void)
{
	return script_run_all("tcp-text", scripts, sizeof scripts / sizeof *scripts);
}
