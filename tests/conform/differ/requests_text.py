"""Random requests of the text and meta protocol, valid and not.

A request is (bytes, cas_key): the runner replaces CAS_HERE in the bytes by cas_key's CAS, as that server last gave it,
since two servers number their items differently.

What memcached 1.6.18 and 1.6.45 answer differently is made by broken() alone, and judged by
known.py; everything else must be the same to the byte.
"""

CAS_HERE = b"{cas}"
KEYS = [b"k%d" % i for i in range(30)] + [b"L" * 250, b"tab\tkey", b"\x01\xfe", b"noreply1"]
# Numbers have keys of their own, to which nothing is appended. A number that gets shorter is padded with spaces, except
# while its item is being sent; appended bytes would show that difference.
COUNTERS = [b"n%d" % i for i in range(10)]
BASE64_KEYS = [b"YQ==", b"YWJj", b"AAECAwQ=", b"/////w=="]

FLAGS = [b"0", b"0", b"0", b"1", b"5", b"65535", b"4294967295"]
EXPTIMES = [b"0", b"0", b"0", b"0", b"1000", b"86400", b"-1", b"2592001", b"2000000000"]
# Below 2^63: from there on 1.6.18 looks for a minus sign beyond the end of the value.
DELTAS = [b"1", b"1", b"7", b"100", b"0", b"1000000000000"]
NUMBERS = [b"0", b"1", b"9", b"10", b"99", b"100", b"1000", b"4611686018427387904", b"12 ", b"007",
           b" 17", b"+17", b"12" + b" " * 30 + b"x", b"0" * 30 + b"5", b"17\0x", b"18446744073709551616",
           b"12x", b"-1", b""]  # never only spaces: 1.6.18 reads beyond them
VALUE_BYTES = b"abcdefghijklmnopqrstuvwxyz0123456789 \0\t\xff-"  # no upper case, so that no value looks like a reply


def value(rnd):
    """Returns a random value, never a number."""
    kind = rnd.random()
    if kind < 0.05:
        return b""
    if kind < 0.08:
        return b"v" + b"\r\n" * rnd.randrange(1, 4)
    size = rnd.randrange(0, 60) if kind < 0.95 else rnd.randrange(60, 3000)
    return b"v" + bytes(rnd.choices(VALUE_BYTES, k=size))


def _number(rnd):
    word, data = rnd.choice([b"set", b"set", b"add", b"replace"]), rnd.choice(NUMBERS)
    return b"%s %s %s %s %d\r\n%s\r\n" % (word, rnd.choice(COUNTERS), rnd.choice(FLAGS),
                                        rnd.choice(EXPTIMES), len(data), data), None


def _storage(rnd):
    word = rnd.choice([b"set", b"set", b"set", b"add", b"replace", b"append", b"prepend"])
    data, key = value(rnd), rnd.choice(KEYS)
    noreply = b" noreply" if rnd.random() < 0.1 else b""
    line = b"%s %s %s %s %d%s\r\n" % (word, key, rnd.choice(FLAGS), rnd.choice(EXPTIMES),
                                      len(data), noreply)
    return line + data + b"\r\n", None


def _cas(rnd):
    data, key = value(rnd), rnd.choice(KEYS)
    return b"cas %s %s 0 %d %s\r\n%s\r\n" % (key, rnd.choice(FLAGS), len(data), CAS_HERE, data), key


def _get(rnd):
    word = rnd.choice([b"get", b"get", b"gets"])
    return word + b" " + b" ".join(rnd.choices(KEYS + COUNTERS, k=rnd.randrange(1, 6))) + b"\r\n", None


def _gat(rnd):
    word = rnd.choice([b"gat", b"gats"])
    keys = b" ".join(rnd.choices(KEYS + COUNTERS, k=rnd.randrange(1, 4)))
    return b"%s %s %s\r\n" % (word, rnd.choice(EXPTIMES), keys), None


def _delete(rnd):
    key = rnd.choice(KEYS + COUNTERS)
    return b"delete %s%s\r\n" % (key, rnd.choice([b"", b"", b" 0", b" noreply"])), None


def _count(rnd):
    word = rnd.choice([b"incr", b"decr"])
    noreply = b" noreply" if rnd.random() < 0.1 else b""
    delta = rnd.choice(DELTAS) if rnd.random() < 0.95 else rnd.choice([b"x", b"-1", b"1x", b"1.5"])
    key = rnd.choice(COUNTERS if rnd.random() < 0.9 else KEYS)
    return b"%s %s %s%s\r\n" % (word, key, delta, noreply), None


def _touch(rnd):
    when = rnd.choice(EXPTIMES) if rnd.random() < 0.9 else rnd.choice([b"x", b"1x", b"--1"])
    return b"touch %s %s\r\n" % (rnd.choice(KEYS), when), None


def _other(rnd):
    return rnd.choice([
        b"verbosity 0\r\n", b"verbosity x\r\n", b"verbosity 0 noreply\r\n", b"mn\r\n",
        b"flush_all\r\n", b"flush_all noreply\r\n", b"flush_all 0\r\n", b"flush_all x\r\n",
        b"nonsense\r\n", b"GET k1\r\n", b"gett k1\r\n", b"getsx k1\r\n",
        b"\0\0\0\0\r\n", b"stats nonsense\r\n", b"incr k1 x noreply\r\n", b"touch k1 x noreply\r\n",
        b"mn q k O1\r\n", b"flush_allx\r\n", b"get k1 k2\n", b"get  k1   k2  \r\n",
    ]), None


def _bad_body(rnd):
    data, key = bytes(rnd.choices(b"abcdefghij", k=rnd.randrange(10, 60))), rnd.choice(KEYS)
    size = len(data) + rnd.choice([-6, -5, -2, -1])
    return b"set %s 0 0 %d\r\n%s\r\n" % (key, size, data), None


TEXT = [(_get, 30), (_storage, 26), (_number, 5), (_cas, 6), (_gat, 4), (_delete, 8), (_count, 12), (_touch, 4),
        (_other, 3), (_bad_body, 3)]


# ---- meta ---------------------------------------------------------------------------------------

def _meta_key(rnd):
    if rnd.random() < 0.1:
        return rnd.choice(BASE64_KEYS), [b"b"]
    return rnd.choice(KEYS), []


def _some(rnd, flags, most=6):
    return rnd.sample(flags, rnd.randrange(0, min(most, len(flags)) + 1))


def _opaque(rnd):
    return b"O" + rnd.choice([b"1", b"abc", b"0123456789", b"x" * 31])


def _line(word, key, middle, flags, rnd):
    rnd.shuffle(flags)
    return b" ".join([word, key, *middle, *flags]) + b"\r\n"


def _mg(rnd):
    key, flags = _meta_key(rnd)
    flags += _some(rnd, [b"f", b"s", b"t", b"v", b"k", b"q", b"c", _opaque(rnd)], 8)
    if rnd.random() < 0.25:
        flags += _some(rnd, [b"N" + rnd.choice([b"0", b"30", b"1000"]),
                             b"R" + rnd.choice([b"30", b"2000"]),
                             b"T" + rnd.choice([b"0", b"1000", b"86400"])], 3)
    return _line(b"mg", key, [], flags, rnd), None


def _ms(rnd):
    key, flags = _meta_key(rnd)
    data = value(rnd)
    flags += _some(rnd, [b"k", b"q", b"F" + rnd.choice(FLAGS), b"T" + rnd.choice(EXPTIMES),
                         _opaque(rnd), b"I",
                         b"M" + rnd.choice([b"S", b"E", b"A", b"P", b"R", b"s"])], 5)
    return _line(b"ms", key, [b"%d" % len(data)], flags, rnd) + data + b"\r\n", None


def _ms_cas(rnd):
    key, data = rnd.choice(KEYS), value(rnd)
    flags = [b"C" + CAS_HERE] + _some(rnd, [b"k", b"I", _opaque(rnd)])
    return _line(b"ms", key, [b"%d" % len(data)], flags, rnd) + data + b"\r\n", key


def _md(rnd):
    key, flags = _meta_key(rnd)
    flags += _some(rnd, [b"k", b"q", _opaque(rnd)], 3)
    if rnd.random() < 0.4:
        flags += [b"I"] + _some(rnd, [b"T" + rnd.choice([b"30", b"1000", b"0"])])
    return _line(b"md", key, [], flags, rnd), None


def _ma(rnd):
    key, flags = rnd.choice(COUNTERS if rnd.random() < 0.9 else KEYS), []
    # Without q: 1.6.18 says HD for a number it made although q was asked for.
    flags += _some(rnd, [b"k", b"v", b"t", b"c", _opaque(rnd),
                         b"D" + rnd.choice([b"1", b"5", b"1000000000000"]),
                         b"M" + rnd.choice([b"I", b"D", b"+", b"-", b"i", b"d"]),
                         b"N" + rnd.choice([b"0", b"1000"]), b"J" + rnd.choice([b"0", b"13"])], 5)
    return _line(b"ma", key, [], flags, rnd), None


def _meta_wrong(rnd):
    return rnd.choice([
        b"mg k1 v v\r\n", b"mg k1 !\r\n", b"ms k1 2 Mx\r\nab\r\n", b"ma k1 Mz\r\n", b"ma k1 Dx\r\n",
        b"mg YQ= b v\r\n", b"mg k1 N\r\n", b"mg k1 Tx\r\n",
        b"mg k1 O" + b"y" * 33 + b"\r\n", b"ms k1 x\r\n", b"me nokey\r\n",
    ]), None


META = [(_mg, 40), (_ms, 30), (_ms_cas, 6), (_md, 10), (_ma, 14), (_number, 6), (_meta_wrong, 1), (_get, 5)]


# ---- broken lines -------------------------------------------------------------------------------

def broken(rnd, table):
    """Returns a valid request with a damaged line: words lost, doubled or changed, or bytes changed."""
    request, cas_key = pick(rnd, table)
    line, end, body = request.partition(b"\r\n")
    words = line.split(b" ")
    at = rnd.randrange(len(words))
    how = rnd.randrange(6)
    if how == 0:
        del words[at]
    elif how == 1:
        words.insert(at, rnd.choice([b"noreply", b"0", b"-1", b"x", b"q", b"k1"]))
    elif how == 2:
        words[at] = rnd.choice([b"-1", b"x", b"99999999999", b"18446744073709551616", b"k" * 251])
    elif how == 3:
        words = words[:at]
    elif how == 4 and words[at]:
        i = rnd.randrange(len(words[at]))
        words[at] = words[at][:i] + bytes([rnd.choice(b"abcxyz019-!~")]) + words[at][i + 1:]
    else:
        words[at] += rnd.choice([b" ", b"  ", b"x"])
    line = b" ".join(words)
    return (request if beside_the_point(line) else line + end + body), cas_key


def beside_the_point(line):
    """True for requests whose answers describe the server itself, and for a get with too long a key, after which 1.6.18
    discards the answers to earlier requests."""
    words = line.split()
    return bool(words) and (words[0] in (b"stats", b"version") or words[0][:1] == b"g" and
                            any(len(w) > 250 for w in words))


def pick(rnd, table):
    return rnd.choices([make for make, _ in table], [share for _, share in table])[0](rnd)
