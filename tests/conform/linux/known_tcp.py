"""The known differences between the answers of the two stacks to a peer, with reasons.

A row has its name, the home of the rule, the reason, and a function that is true of such a difference. Its arguments
are the conversation, the number of the step that differs, the segments of that step, and what differs:
{field: (Linux, Clockoo)}. The first row that holds names the difference.
"""

import conversations as talk

FAR = talk.FAR
REPEATS = {"again", "sack", "window"}
STREAM = {"upto", "crc", "fin"}


def kinds(conversation):
    return [kind for kind, *_ in conversation.options]


def mss(conversation):
    return next((values[0] for kind, *values in conversation.options if kind == "mss"), 536)


def before(conversation, number):
    """Returns all segments before a step."""
    return [part for parts in conversation.steps[:number] for part in parts]


def lost_option(conversation, number, parts, fields):
    return "raw" in kinds(conversation) and fields.get("syn_acks", (1, 0))[0] == ()


def urgent(conversation, number, parts, fields):
    has_urgent = any("U" in part.flags and "A" in part.flags for part in before(conversation, number + 1))
    return has_urgent and fields.keys() <= STREAM | REPEATS | {"acked", "resets"}


def without_ack(conversation, number, parts, fields):
    return (
        fields.keys() <= REPEATS
        and not fields.get("again", (True, True))[0]
        and any(not set("ARS") & set(part.flags) for part in parts)
    )


def repeated_fin(conversation, number, parts, fields):
    fins = {part.seq + part.size for part in before(conversation, number) if "F" in part.flags}
    is_repeated = any("F" in part.flags and part.seq + part.size in fins for part in parts)
    return is_repeated and fields.keys() <= REPEATS and fields.get("again") == (False, True)


def syn_ack_again(conversation, number, parts, fields):
    is_repeated = any(set("SA") <= set(part.flags) and part.seq == 0 for part in parts)
    return is_repeated and fields.keys() <= REPEATS | {"syn_acks"}


def data_from_the_syn(conversation, number, parts, fields):
    syns = {part.seq for part in before(conversation, number) if part.flags == "S"}
    linux, own = fields.get("acked", (0, 0))
    others = STREAM | {"acked"} | (REPEATS if linux < own else set())
    return fields.keys() <= others and any(part.size and part.seq in syns for part in parts)


def window_after_timeout(conversation, number, parts, fields):
    linux, own = fields.get("upto", (0, 1))
    return fields.keys() <= STREAM and own < linux and is_old_ack(before(conversation, number))


def syn_in_syn_received(conversation, number, parts, fields):
    return (
        fields.keys() == {"resets"}
        and fields.get("resets", (0, 1))[1] == ()
        and any("S" in part.flags and part.seq != 0 for part in parts)
    )


def is_open(conversation, number):
    """True if a segment before the step has opened the connection."""
    met = before(conversation, number)
    firsts = {part.seq + 1 for part in met if part.flags == "S"}
    return any("A" in part.flags and part.seq in firsts and part.ack == 0 and part.time == "" for part in met)


def echo_in_syn_received(conversation, number, parts, fields):
    """Linux answers the segment that should open the connection, and later lacks its FIN; the appliance takes it."""
    if "ts" not in kinds(conversation) or is_old_ack(parts) or is_open(conversation, number):
        return False
    linux, own = fields.get("upto", fields.get("acked", (1, 2)))
    is_lost = fields.get("again") == (True, False) and linux < own
    is_fin_lost = fields.keys() <= STREAM | {"acked"} and fields.get("acked") == (own - 1, own) and "fin" in fields
    return is_lost or is_fin_lost or fields == {"sack": fields.get("sack")} and fields["sack"][0] == ()


def is_old_ack(parts):
    return any("A" in part.flags and part.ack is not None and part.ack < 0 for part in parts)


def old_ack(conversation, number, parts, fields):
    is_answer = fields.keys() <= STREAM | REPEATS | {"acked"}
    is_predicted = is_answer and not fields.get("again", (False, True))[0]
    is_late = is_answer and any("F" in part.flags for part in before(conversation, number))
    is_reset = "resets" in fields and all(fields["resets"])  # each with its own number
    return is_old_ack(parts) and (is_predicted or is_late or is_reset)


def syn_in_fin_wait_2(conversation, number, parts, fields):
    return (
        any(set("SA") & set(part.flags) == {"S"} for part in parts)
        and fields.get("again") == (False, True)
        and fields.get("resets", (0, 1))[1] == ()
    )


def syn_without_ecn(conversation, number, parts, fields):
    return (
        fields.keys() == {"syn_acks"}
        and any("E" in part.flags for part in before(conversation, number))
        and all(fields["syn_acks"])
    )


def data_after_close(conversation, number, parts, fields):
    return (
        "resets" in fields
        and fields.get("resets", (0, 1))[1] == ()
        and b"quit" in conversation.stream[: max(part.seq + part.size for part in parts)]
    )


def data_beyond_fin(conversation, number, parts, fields):
    met = before(conversation, number + 1)
    ends = [part.seq + part.size for part in met if "F" in part.flags]
    if not ends or not fields.keys() <= STREAM | REPEATS | {"acked", "resets"}:
        return False
    return any(part.seq + part.size > min(ends) for part in met)


def fin_into_closed_window(conversation, number, parts, fields):
    met = before(conversation, number + 1)
    if "resets" in fields:  # ours was acknowledged, and the connection is no more
        was_closed = any(part.win == 0 and "A" in part.flags for part in met)
        return was_closed and fields["resets"][0] == () and any("F" in part.flags for part in met)
    is_closed = any(part.win == 0 for part in met[-2:])
    return is_closed and fields.keys() == {"upto", "fin"} and fields["fin"] == (None, fields["upto"][1])


def closes_by_older_segment(conversation, number):
    newest = max((part.seq for part in before(conversation, number)), default=0)
    last = conversation.steps[number][-1]
    return last.win == 0 and last.seq < newest


def window_of_older_segment(conversation, number, parts, fields):
    """In that step, or later: the peer counts a reply into its closed window as a probe, and what follows has a gap."""
    if fields.get("gap") == (False, True):
        was_closed = any(closes_by_older_segment(conversation, n) for n in range(number))
        return was_closed and fields.keys() <= STREAM | {"gap"}
    return fields.keys() <= STREAM and closes_by_older_segment(conversation, number)


def reply_after_closed_window(conversation, number, parts, fields):
    had_none = any(part.win == 0 and "A" in part.flags for part in before(conversation, number))
    return had_none and fields.keys() <= STREAM and fields.get("upto", (0, 1))[0] > fields.get("upto", (0, 1))[1]


def another_syn(conversation, number, parts, fields):
    """Two SYNs with different numbers have met a connection that was not open yet."""
    syns = {part.seq for part in before(conversation, number + 1) if part.flags == "S"}
    if "syn_acks" in fields:
        return len(syns) > 1
    return "acked" in fields and fields["acked"][1] - 1 in syns


def wrong_ack_in_syn_received(conversation, number, parts, fields):
    is_wrong = any("A" in part.flags and part.ack for part in parts)
    return is_wrong and fields.get("resets", (0, 1))[1] == () and fields.keys() <= REPEATS | {"resets"}


def reset_at_fin(conversation, number, parts, fields):
    met = before(conversation, number)
    fins = {part.seq + part.size for part in met if "F" in part.flags}
    is_gone = fields.get("resets", (0, 0))[1] == () or fields.get("syn_acks", (0, 0))[1] == ()
    return is_gone and any("R" in part.flags and part.seq in fins for part in met)


def reset_in_fin_wait_2(conversation, number, parts, fields):
    end = max((part.seq + part.size for part in before(conversation, number) if part.seq < FAR), default=0)
    is_outside = any("R" in part.flags and not end <= part.seq < FAR for part in parts)
    return is_outside and fields.keys() <= REPEATS and fields.get("again") == (True, False)


def old_ack_and_time(conversation, number, parts, fields):
    is_late = any(part.time in ("far", "old") for part in before(conversation, number + 1))
    return (
        is_late
        and fields.keys() <= REPEATS
        and fields.get("again") == (False, True)
        and all(part.size == 0 for part in parts)
    )


def discarded_after_close(conversation, number, parts, fields):
    return fields == {"sack": fields.get("sack")} and fields["sack"][1] == () and b"quit" in conversation.stream


def short_line(conversation, number, parts, fields):
    return fields.keys() <= STREAM and any(
        "S" in part.flags and part.seq != 0 for part in before(conversation, number)
    )


def old_data_after_close(conversation, number, parts, fields):
    """In FIN-WAIT-1 it acknowledges our FIN as well; Linux then forgets the rest of the segment."""
    is_closed = b"quit" in conversation.stream[: max(part.seq + part.size for part in parts)]
    return is_closed and fields.keys() <= REPEATS and fields.get("again") == (False, True)


def blocks_apart(conversation, number, parts, fields):
    is_lone = fields.keys() <= REPEATS and fields.get("again") == (False, True)
    return is_lone and fields.get("sack", (0, 0))[0] is None and bool(fields["sack"][1])


def small_segments(conversation, number, parts, fields):
    syns = [part.seq for part in before(conversation, number) if part.flags == "S"]
    is_small = mss(conversation) <= 536 or len(syns) > len(set(syns))
    return is_small and fields.keys() <= STREAM | {"again"} and "upto" in fields


KNOWN = [
    (
        "option that leads nowhere",
        "RFC 9293 3.1, MUST-7",
        "a length below 2 or beyond the header ends the options of a SYN, as in BSD; Linux with TCP-AO drops the SYN",
        lost_option,
    ),
    ("urgent byte", "RFC 6093 6", "urgent data stays in the stream; Linux takes a byte out of it", urgent),
    (
        "no ACK flag",
        "RFC 9293 3.10.7.4, first",
        "a segment out of the window is answered even if it lacks an ACK; Linux drops it",
        without_ack,
    ),
    (
        "old ACK",
        "RFC 5961 5.2",
        "an old ACK counts if it lies in the largest window and is of bytes which were sent; the second is not asked "
        "after the peer's FIN. Linux takes any ACK where header prediction takes the segment",
        old_ack,
    ),
    (
        "SYN-ACK in SYN-RECEIVED",
        "RFC 9293 3.10.7.4, first",
        "the SYN-ACK is repeated; Linux sends an ACK",
        syn_ack_again,
    ),
    (
        "SYN in SYN-RECEIVED",
        "RFC 9293 3.10.7.4, fourth",
        "a connection that the peer opened returns to LISTEN; Linux resets it",
        syn_in_syn_received,
    ),
    (
        "SYN in FIN-WAIT-2",
        "RFC 5961 4.2",
        "a SYN is challenged in each synchronized state; Linux resets the connection in this one",
        syn_in_fin_wait_2,
    ),
    (
        "another SYN in SYN-RECEIVED",
        "RFC 4987 3.6",
        "another SYN is answered without state, or whoever forges the first keeps the peer out; "
        "Linux sends an ACK",
        another_syn,
    ),
    (
        "repeated data in FIN-WAIT",
        "RFC 9293 3.10.7.4, first",
        "repeated data is acknowledged; Linux drops it if it acknowledges our FIN",
        old_data_after_close,
    ),
    (
        "wrong ACK in SYN-RECEIVED",
        "RFC 9293 3.10.7.4, first",
        "the sequence number is checked before the acknowledgment; Linux resets by the acknowledgment alone",
        wrong_ack_in_syn_received,
    ),
    (
        "RST at the number of the FIN",
        "RFC 5961 3.2",
        "a RST counts at the next number; Linux takes it at the peer's FIN, too, as macOS sends it",
        reset_at_fin,
    ),
    (
        "RST out of window in FIN-WAIT-2",
        "RFC 9293 3.10.7.4, first",
        "a RST is never answered; Linux answers it in this state",
        reset_in_fin_wait_2,
    ),
    (
        "old ACK with an old timestamp",
        "RFC 7323 5.3, R1",
        "what PAWS rejects is answered; Linux drops an empty segment before the next number",
        old_ack_and_time,
    ),
    (
        "data kept after close",
        "RFC 9293 3.6.1",
        "after our close, blocks beyond a gap are discarded; Linux keeps them and reports them by SACK",
        discarded_after_close,
    ),
    (
        "short line",
        "differ/known.py",
        "a stream that begins amid a request: memcached 1.6.18 refuses one letter in other words",
        short_line,
    ),
    (
        "FIN into a closed window",
        "RFC 9293 3.8.6.1",
        "a FIN takes no room in the window, as BSD sends it; Linux sends it with a probe",
        fin_into_closed_window,
    ),
    (
        "window of an older segment",
        "RFC 9293 3.10.7.4, fifth",
        "a window counts if no segment with a higher number came before; Linux takes it if it acknowledges more, too",
        window_of_older_segment,
    ),
    (
        "reply after a closed window",
        "lib/serve/README.md",
        "of requests that came into a closed window the next is executed when the reply before it is acknowledged",
        reply_after_closed_window,
    ),
    (
        "repeated SYN without ECN",
        "RFC 3168 6.1.1.1",
        "the second SYN-ACK offers what the second SYN does; Linux repeats the first",
        syn_without_ecn,
    ),
    (
        "echo in SYN-RECEIVED",
        "RFC 7323 3.2",
        "Linux takes only the timestamp of its SYN-ACK for an echo, not that of an ACK after it",
        echo_in_syn_received,
    ),
    (
        "data after close",
        "RFC 9293 3.6.1, SHLD-3",
        "a RST waits until the peer has acknowledged our FIN, or it would lose replies (TCP.md); Linux "
        "sends it at once",
        data_after_close,
    ),
    (
        "data beyond FIN",
        "RFC 9293 3.10.7.4, eighth",
        "of a peer that sends beyond its own FIN, bytes that came before the FIN count",
        data_beyond_fin,
    ),
    (
        "repeated FIN",
        "RFC 9293 3.10.7.4, first",
        "a FIN that was received is out of the window, so it is acknowledged and its ACK does not count; Linux takes "
        "the ACK, which may end the connection",
        repeated_fin,
    ),
    (
        "data from the number of the SYN",
        "RFC 9293 3.10.7.4, first",
        "a segment that begins at the SYN is trimmed and opens the connection; Linux waits for its data again",
        data_from_the_syn,
    ),
    (
        "window after a timeout",
        "RFC 5681 3.1",
        "a reply whose ACKs are all too old is sent again, and the next begins with one segment",
        window_after_timeout,
    ),
    (
        "blocks in an ACK of their own",
        "RFC 2018 4",
        "a full segment has no room for SACK blocks, and an ACK of its own tells them; Linux sends a shorter segment",
        blocks_apart,
    ),
    (
        "first window",
        "RFC 6928",
        "of small segments, bytes are counted, and none has less than 216; Linux counts segments, from 48, and begins "
        "with one after a repeated SYN",
        small_segments,
    ),
]


def name_of(conversation, found):
    """Returns the name of the row that explains the difference, None if none does."""
    number, _, fields = found
    for name, _, _, holds in KNOWN:
        if holds(conversation, number, conversation.steps[number], fields):
            return name
    return None
