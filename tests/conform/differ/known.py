"""The intended differences between the appliance's answers and those of Debian's memcached 1.6.18, with reasons.

KNOWN lists them, each with an example that the runner sends to both: (name, reason, request, memcached's answer, ours).
A random difference is known only if a JUDGE of that name accepts request and answers; any other is a failure.
"""

import re

BAD = b"CLIENT_ERROR bad command line format\r\n"
L251 = b"k" * 251

VERSION = b"VERSION 1.6.18"
NEWER = "as memcached 1.6.45 does"

KNOWN = [
    ("short line", NEWER, b"a\r\n", b"ERROR\r\n", BAD),
    ("too few words", NEWER, b"touch a\r\n", b"ERROR\r\n", BAD),
    ("too few words", NEWER, b"get\r\n", b"ERROR\r\n", BAD),
    ("too few words", NEWER, b"gat 10\r\n", b"END\r\n", BAD),
    ("leading space", NEWER, b" get a\r\n", b"END\r\n", b"ERROR\r\n"),
    ("body swallowed", NEWER, b"set a x 0 3\r\nabc\r\n", BAD + b"ERROR\r\n", BAD),
    ("body swallowed", NEWER, b"set %s 0 0 3\r\nabc\r\n" % L251, BAD + b"ERROR\r\n", BAD),
    ("body swallowed", NEWER, b"cas a 0 0 3 x\r\nabc\r\n", BAD + b"ERROR\r\n", BAD),
    ("words too many", NEWER, b"incr nosuch 1 2 3\r\n", b"ERROR\r\n", b"NOT_FOUND\r\n"),
    ("words behind delete", NEWER, b"delete nosuch 10\r\n",
     BAD[:-2] + b".  Usage: delete <key> [noreply]\r\n", b"NOT_FOUND\r\n"),
    ("newer flag", NEWER, b"mg nosuch E5\r\n", b"CLIENT_ERROR invalid flag\r\n", b"EN\r\n"),
    ("other words of refusal", NEWER, b"md nosuch -1\r\n",
     b"CLIENT_ERROR invalid or duplicate flag\r\n", BAD),
    ("noreply", NEWER, b"nonsense noreply\r\n", b"ERROR\r\n", b""),
    ("quiet autovivify", NEWER, b"ma nosuch N0 q\r\n", b"HD\r\n", b""),
    ("base64 key", "theirs forgets that a key it vivified was base64", b"mg YWI= N0 k b\r\n",
     b"HD kab W\r\n", b"HD kYWI= b W\r\n"),
    ("base64 strictly", "a key that is no base64 is another key to every encoder",
     b"mg YQ=1 b k\r\n", b"EN kYQA= b\r\n", b"CLIENT_ERROR error decoding key\r\n"),
    ("mode by its first letter", NEWER, b"ma nosuch MIxx\r\n",
     b"CLIENT_ERROR invalid or duplicate flag\r\n", b"NF\r\n"),
    ("large number", NEWER, b"touch nosuch 99999999999\r\n", b"NOT_FOUND\r\n",
     b"CLIENT_ERROR invalid exptime argument\r\n"),
    ("long line", "what is answered must not depend on where TCP cut the line",
     b"x" * 3000 + b"\r\n", b"ERROR\r\n", b""),
    ("shutdown", NEWER, b"shutdown\r\n", b"ERROR: shutdown not enabled\r\n",
     b"SERVER_ERROR: shutdown not enabled\r\n"),
]


def _first(answer):
    return answer.partition(b"\r\n")[0] + b"\r\n"


def _refuses(answer):
    return answer.startswith((b"ERROR\r\n", b"CLIENT_ERROR "))


def _words(request):
    return request.split(b"\n", 1)[0].split()


def _leading_space(request, theirs, ours):
    return request.startswith(b" ") and ours.startswith((b"ERROR\r\n", BAD))


def _too_few_words(request, theirs, ours):
    return _words(request)[:1] in ([b"gat"], [b"gats"]) and theirs == b"END\r\n" and ours == BAD


def _words_too_many(request, theirs, ours):
    return theirs.startswith(b"ERROR\r\n") and not _refuses(ours) and len(_words(request)) > 2


def _words_behind_delete(request, theirs, ours):
    return _words(request)[:1] == [b"delete"] and b"Usage: delete" in theirs and not _refuses(ours)


def _newer_flag(request, theirs, ours):
    words = _words(request)
    flags = {b"mg": b"Ex", b"ms": b"Esx", b"md": b"Ex", b"ma": b"Ex"}
    return (bool(words) and words[0] in flags and theirs.startswith(b"CLIENT_ERROR") and
            any(w[0] in flags[words[0]] for w in words[2:]))


def _noreply(request, theirs, ours):
    return _words(request)[-1:] == [b"noreply"] and ours == b""


def _quiet_autovivify(request, theirs, ours):
    return (request.startswith(b"ma ") and b"q" in _words(request) and theirs.startswith(b"HD") and
            ours == b"")


def _base64_key(request, theirs, ours):
    words, a, b = _words(request), _first(theirs), _first(ours)
    return (words[:1] == [b"mg"] and b"b" in words and theirs[len(a):] == ours[len(b):] and
            re.sub(rb" k[^ \r]*", b"", a) == re.sub(rb" k[^ \r]*(?: b)?", b"", b))


def _base64_strictly(request, theirs, ours):
    return b"b" in _words(request) and ours == b"CLIENT_ERROR error decoding key\r\n"


def _mode(request, theirs, ours):
    return (theirs.startswith(b"CLIENT_ERROR") and
            any(w[:1] == b"M" and len(w) > 2 for w in _words(request)))


def _large_number(request, theirs, ours):
    return ours.startswith(b"CLIENT_ERROR ") and b"99999999999" in request


def _body_swallowed(request, theirs, ours):
    return theirs.startswith(BAD) and ours == b"(lost)"


def _long_line(request, theirs, ours):
    return ours == b"(lost)" and any(len(line) > 2000 for line in request.split(b"\n"))


def _newer_words(request, theirs, ours):
    return _refuses(theirs) and _refuses(ours)


JUDGES = {"leading space": _leading_space, "too few words": _too_few_words,
          "words too many": _words_too_many, "words behind delete": _words_behind_delete, "newer flag": _newer_flag,
          "noreply": _noreply, "quiet autovivify": _quiet_autovivify,
          "base64 key": _base64_key, "base64 strictly": _base64_strictly,
          "mode by its first letter": _mode, "large number": _large_number,
          "body swallowed": _body_swallowed, "long line": _long_line,
          "other words of refusal": _newer_words}


def name_of(request, theirs, ours):
    """Returns the name of the known difference, or None."""
    while theirs and ours and _first(theirs) == _first(ours):  # such as answers to a body parsed as requests
        theirs, ours = theirs[len(_first(theirs)):], ours[len(_first(ours)):]
    for name, judge in JUDGES.items():
        if judge(request, theirs, ours):
            return name
    return None


# Numbers and times that may differ between two correct servers.
SAME_ENOUGH = [
    # A number keeps the length it had in spaces, unless it is still being sent.
    (re.compile(rb"^(VALUE [^ ]+ \d+|VA) \d+((?: .*)?\r\n\d+) *\r$", re.M), rb"\1 #\2\r"),
    (re.compile(rb"^(VA #.*) s\d+(?=[ \r])", re.M), rb"\1 s#"),
    (re.compile(rb"^(VALUE [^ ]+ \d+ [\d#]+) \d+\r$", re.M), rb"\1 #\r"),
    (re.compile(rb"(?<= t)(\d{2,})(?=[ \r])"), b"+"),
    (re.compile(rb"(?<= c)\d+(?=[ \r])"), b"#"),
]


def plain(answer):
    for pattern, text in SAME_ENOUGH:
        answer = pattern.sub(text, answer)
    return answer
