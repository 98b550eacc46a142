"""The text protocol, request by request, over TCP. Data only.

Goal: every command of the surface answers the bytes clients and test suites expect.
Method: a case is one connection and a list of (request, answer). In both, \\n stands for \\r\\n and
@ for a key of the case's own; an answer that begins with ~ is a regular expression for one line,
and what it names (?P<cas>...) replaces {cas} in later requests. CLOSED: the server hangs up. A
number instead of a request: sleep that many seconds. After every case a version request shows that
no answer too many was sent.
"""

CLOSED = object()

BAD_FORMAT = "CLIENT_ERROR bad command line format\n"
BAD_CHUNK = "CLIENT_ERROR bad data chunk\n"
BAD_EXPTIME = "CLIENT_ERROR invalid exptime argument\n"
BAD_DELTA = "CLIENT_ERROR invalid numeric delta argument\n"
NON_NUMERIC = "CLIENT_ERROR cannot increment or decrement non-numeric value\n"
TOO_LARGE = "SERVER_ERROR object too large for cache\n"
KEY_250, KEY_251 = "k" * 250, "k" * 251

# Long enough for a clock of one second to have passed one second for certain.
EXPIRED_S = 2.1

CASES = [
    ("set and get", [("set @ 5 0 3\nabc\n", "STORED\n"), ("get @\n", "VALUE @ 5 3\nabc\nEND\n")]),
    ("get of a missing key", [("get @\n", "END\n")]),
    ("an empty value", [("set @ 0 0 0\n\n", "STORED\n"), ("get @\n", "VALUE @ 0 0\n\nEND\n")]),
    ("set replaces value and flags", [
        ("set @ 1 0 3\nabc\n", "STORED\n"), ("set @ 2 0 2\nxy\n", "STORED\n"),
        ("get @\n", "VALUE @ 2 2\nxy\nEND\n")]),
    ("flags up to 32 bit", [
        ("set @ 4294967295 0 1\nx\n", "STORED\n"), ("get @\n", "VALUE @ 4294967295 1\nx\nEND\n")]),
    ("flags beyond 32 bit are cut", [
        ("set @ 4294967296 0 1\nx\n", "STORED\n"), ("get @\n", "VALUE @ 0 1\nx\nEND\n")]),
    ("a value that looks like protocol", [
        ("set @ 0 0 18\nEND\nset b 0 0 1\n\n", "STORED\n"),
        ("get @\n", "VALUE @ 0 18\nEND\nset b 0 0 1\n\nEND\n")]),
    ("add stores only what is missing", [
        ("add @ 1 0 1\na\n", "STORED\n"), ("add @ 2 0 1\nb\n", "NOT_STORED\n"),
        ("get @\n", "VALUE @ 1 1\na\nEND\n")]),
    ("replace stores only what is there", [
        ("replace @ 0 0 1\na\n", "NOT_STORED\n"), ("get @\n", "END\n"),
        ("set @ 0 0 1\na\n", "STORED\n"), ("replace @ 3 0 1\nb\n", "STORED\n"),
        ("get @\n", "VALUE @ 3 1\nb\nEND\n")]),
    ("append and prepend keep the flags", [
        ("append @ 0 0 1\na\n", "NOT_STORED\n"), ("prepend @ 0 0 1\na\n", "NOT_STORED\n"),
        ("set @ 7 0 1\nm\n", "STORED\n"), ("append @ 9 0 2\nyz\n", "STORED\n"),
        ("prepend @ 9 0 2\nab\n", "STORED\n"), ("get @\n", "VALUE @ 7 5\nabmyz\nEND\n")]),
    ("cas: stored, exists, not found", [
        ("cas @ 0 0 1 1\na\n", "NOT_FOUND\n"), ("set @ 0 0 1\na\n", "STORED\n"),
        ("gets @\n", r"~VALUE @ 0 1 (?P<cas>\d+)"), (None, "a\nEND\n"),
        ("cas @ 0 0 1 {cas}\nb\n", "STORED\n"), ("cas @ 0 0 1 {cas}\nc\n", "EXISTS\n"),
        ("get @\n", "VALUE @ 0 1\nb\nEND\n")]),
    ("cas 0 of an item that is there", [
        ("set @ 0 0 1\na\n", "STORED\n"), ("cas @ 0 0 1 0\nb\n", "EXISTS\n")]),
    ("cas with a bad number", [
        ("cas @ 0 0 1 -1\na\n", BAD_FORMAT), ("cas @ 0 0 1 x\na\n", BAD_FORMAT)]),
    ("every change gives a new cas", [
        ("set @ 0 0 1\n1\n", "STORED\n"), ("gets @\n", r"~VALUE @ 0 1 (?P<cas>\d+)"),
        (None, "1\nEND\n"), ("incr @ 1\n", "2\n"), ("cas @ 0 0 1 {cas}\n9\n", "EXISTS\n")]),
    ("get of many keys, in order, twice the same", [
        ("set @a 0 0 1\na\n", "STORED\n"), ("set @b 0 0 1\nb\n", "STORED\n"),
        ("get @b @x @a @b\n", "VALUE @b 0 1\nb\nVALUE @a 0 1\na\nVALUE @b 0 1\nb\nEND\n")]),
    ("delete", [
        ("delete @\n", "NOT_FOUND\n"), ("set @ 0 0 1\na\n", "STORED\n"), ("delete @\n", "DELETED\n"),
        ("delete @\n", "NOT_FOUND\n"), ("get @\n", "END\n")]),
    ("delete ignores words behind the key", [
        ("set @ 0 0 1\na\n", "STORED\n"), ("delete @ 10\n", "DELETED\n"), ("get @\n", "END\n"),
        ("set @ 0 0 1\na\n", "STORED\n"), ("delete @ foo noreply\n", ""), ("get @\n", "END\n"),
        ("delete @ 0\n", "NOT_FOUND\n")]),
    ("incr and decr", [
        ("incr @ 1\n", "NOT_FOUND\n"), ("decr @ 1\n", "NOT_FOUND\n"),
        ("set @ 0 0 2\n10\n", "STORED\n"), ("incr @ 5\n", "15\n"), ("decr @ 6\n", "9\n"),
        ("decr @ 100\n", "0\n")]),
    ("incr wraps at 64 bit", [
        ("set @ 0 0 20\n18446744073709551615\n", "STORED\n"), ("incr @ 2\n", "1\n")]),
    ("a number grows a digit", [
        ("set @ 3 0 2\n99\n", "STORED\n"), ("incr @ 1\n", "100\n"),
        ("get @\n", "VALUE @ 3 3\n100\nEND\n")]),
    ("a number that loses a digit keeps its length", [
        ("set @ 0 0 2\n10\n", "STORED\n"), ("decr @ 1\n", "9\n"),
        ("get @\n", "VALUE @ 0 2\n9 \nEND\n")]),
    ("incr of no number", [
        ("set @ 0 0 3\nabc\n", "STORED\n"), ("incr @ 1\n", NON_NUMERIC),
        ("set @ 0 0 0\n\n", "STORED\n"), ("decr @ 1\n", NON_NUMERIC),
        ("set @ 0 0 2\n-1\n", "STORED\n"), ("incr @ 1\n", NON_NUMERIC)]),
    ("incr by no number", [
        ("set @ 0 0 1\n1\n", "STORED\n"), ("incr @ x\n", BAD_DELTA), ("incr @ -1\n", BAD_DELTA),
        ("get @\n", "VALUE @ 0 1\n1\nEND\n")]),
    ("a negative expiry is expired at once", [
        ("set @ 0 -1 1\na\n", "STORED\n"), ("get @\n", "END\n")]),
    ("a second's expiry expires", [
        ("set @ 0 1 1\na\n", "STORED\n"), (EXPIRED_S, None), ("get @\n", "END\n"),
        ("add @ 0 0 1\nb\n", "STORED\n")]),
    ("an absolute time that is past", [("set @ 0 2592001 1\na\n", "STORED\n"), ("get @\n", "END\n")]),
    ("touch keeps an item alive", [
        ("touch @ 10\n", "NOT_FOUND\n"), ("set @ 0 1 1\na\ntouch @ 100\n", "STORED\nTOUCHED\n"), (EXPIRED_S, None), ("get @\n", "VALUE @ 0 1\na\nEND\n"),
        ("touch @ -1\n", "TOUCHED\n"), ("get @\n", "END\n")]),
    ("gat and gats set the expiry", [
        ("gat 10 @\n", "END\n"),
        ("set @ 4 1 1\na\ngat 100 @ @x\n", "STORED\nVALUE @ 4 1\na\nEND\n"), ("gats 100 @\n", r"~VALUE @ 4 1 \d+"),
        (None, "a\nEND\n"), (EXPIRED_S, None), ("get @\n", "VALUE @ 4 1\na\nEND\n")]),
    ("bad expiry", [
        ("touch @ x\n", BAD_EXPTIME), ("gat x @\n", BAD_EXPTIME), ("flush_all x\n", BAD_EXPTIME)]),
    ("flush_all empties, and a set after it stays", [
        ("set @ 0 0 1\na\n", "STORED\n"), ("flush_all\n", "OK\n"), ("get @\n", "END\n"),
        ("set @ 0 0 1\nb\n", "STORED\n"), ("get @\n", "VALUE @ 0 1\nb\nEND\n")]),
    ("flush_all with a delay", [
        ("set @ 0 0 1\na\n", "STORED\n"), ("flush_all 1\n", "OK\n"),
        (EXPIRED_S, None), ("get @\n", "END\n"), ("set @ 0 0 1\nb\n", "STORED\n"),
        ("get @\n", "VALUE @ 0 1\nb\nEND\n")]),
    ("flush_all noreply", [
        ("set @ 0 0 1\na\nflush_all noreply\nget @\n", "STORED\nEND\n")]),
    ("version", [("version\n", r"~VERSION \d+\.\d+\.\d+.*")]),
    ("verbosity", [
        ("verbosity 1\n", "OK\n"), ("verbosity 9\n", "OK\n"), ("verbosity\n", BAD_FORMAT),
        ("verbosity x\n", BAD_FORMAT), ("verbosity 0 noreply\n", "")]),
    ("quit closes after earlier answers", [
        ("set @ 0 0 1\na\nget @\nquit\n", "STORED\nVALUE @ 0 1\na\nEND\n"), (None, CLOSED)]),
    ("noreply silences every storage command", [
        ("set @ 0 0 1 noreply\n5\nadd @ 0 0 1 noreply\n6\nreplace @ 0 0 1 noreply\n7\n"
         "append @ 0 0 1 noreply\n1\nprepend @ 0 0 1 noreply\n3\nincr @ 1 noreply\n"
         "decr @ 2 noreply\ntouch @ 0 noreply\ncas @ 0 0 1 1 noreply\n0\nget @\n",
         "VALUE @ 0 3\n370\nEND\n"),
        ("delete @ noreply\nget @\n", "END\n")]),
    ("noreply silences errors too", [
        ("incr @ x noreply\ntouch @ x noreply\nnonsense noreply\nget @\n", "END\n")]),
    ("requests in one segment are answered in order", [
        ("set @ 0 0 1\na\nget @\nset @ 0 0 1\nb\nget @\ndelete @\nget @\n",
         "STORED\nVALUE @ 0 1\na\nEND\nSTORED\nVALUE @ 0 1\nb\nEND\nDELETED\nEND\n")]),
    ("unknown commands", [
        ("nonsense\n", "ERROR\n"), ("GET @\n", "ERROR\n"), ("getx @\n", "ERROR\n"),
        (" get @\n", "ERROR\n")]),
    ("lines too short to be a command", [("\n", BAD_FORMAT), ("a\n", BAD_FORMAT)]),
    ("too few words", [
        ("get\n", BAD_FORMAT), ("gets\n", BAD_FORMAT), ("delete\n", BAD_FORMAT),
        ("incr @\n", BAD_FORMAT), ("touch @\n", BAD_FORMAT), ("set @ 0 0\n", BAD_FORMAT),
        ("gat 10\n", BAD_FORMAT)]),
    ("a line may end in a bare newline", [
        (b"get @\n", "END\n"), (b"set @ 0 0 1\nx\r\n", "STORED\n")]),
    ("runs of spaces separate once", [
        ("set  @   0  0 1\nx\n", "STORED\n"), ("get   @  \n", "VALUE @ 0 1\nx\nEND\n")]),
    ("a key of 250 bytes", [
        (f"set {KEY_250} 0 0 1\nx\n", "STORED\n"),
        (f"get {KEY_250}\n", f"VALUE {KEY_250} 0 1\nx\nEND\n"), (f"delete {KEY_250}\n", "DELETED\n")]),
    ("a key of 251 bytes", [
        (f"get {KEY_251}\n", BAD_FORMAT), (f"set {KEY_251} 0 0 1\nx\n", BAD_FORMAT),
        (f"delete {KEY_251}\n", BAD_FORMAT), (f"incr {KEY_251} 1\n", BAD_FORMAT)]),
    ("an over-long key among good ones spoils the get", [
        ("set @ 0 0 1\nx\n", "STORED\n"), (f"get @ {KEY_251}\n", BAD_FORMAT)]),
    ("a bad length is refused, its data are requests", [
        ("set @ 0 0 -1\n", BAD_FORMAT), ("set @ 0 0 x\n", BAD_FORMAT),
        ("set @ 0 0 99999999999\n", BAD_FORMAT), ("set @ 0 0 -1\nversion\n", BAD_FORMAT),
        (None, r"~VERSION .*")]),
    ("bad flags or expiry are refused, the data swallowed", [
        ("set @ -1 0 1\nx\n", BAD_FORMAT), ("set @ x 0 1\nx\n", BAD_FORMAT),
        ("set @ 0 x 1\nx\n", BAD_FORMAT), ("get @\n", "END\n")]),
    ("data longer than announced", [
        ("set @ 0 0 1\nversion\n", BAD_CHUNK), (None, "ERROR\n"), ("get @\n", "END\n")]),
    ("1.2 MB is too large, and deletes the old item", [
        ("set @ 0 0 1\nx\n", "STORED\n"), ("set @ 0 0 1200000\n" + "v" * 1200000 + "\n", TOO_LARGE),
        ("get @\n", "END\n")]),
    ("1.2 MB too large to add leaves the old item", [
        ("set @ 0 0 1\nx\n", "STORED\n"), ("add @ 0 0 1200000\n" + "v" * 1200000 + "\n", TOO_LARGE),
        ("get @\n", "VALUE @ 0 1\nx\nEND\n")]),
    ("a long line without an end is hung up on", [(b"x" * 20000, CLOSED)]),
    ("stats of an unknown kind", [("stats nonsense\n", "ERROR\n")]),
]

# Rows that cannot be asked over UDP, and why.
NOT_OVER_UDP = {
    "verbosity": "an administrative command",
    "flush_all empties, and a set after it stays": "refused without --udp-admin",
    "flush_all with a delay": "refused without --udp-admin",
    "flush_all noreply": "refused without --udp-admin",
    "version": "asked alone by every other case",
}
DATAGRAM_MAX = 8000  # above 1472 it goes in fragments


def fits_udp(name, dialog):
    requests = [request for request, _ in dialog if isinstance(request, (str, bytes))]
    return (name not in NOT_OVER_UDP and all(answer is not CLOSED for _, answer in dialog) and
            all(len(request) < DATAGRAM_MAX for request in requests))


def waits(dialog):
    return any(isinstance(request, (int, float)) for request, _ in dialog)
