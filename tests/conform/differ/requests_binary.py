"""Random packets of the binary protocol, and how to read its answers.

A packet is (bytes, cas_key), as in requests_text: if cas_key is not None, the runner puts the key's CAS, as that server
last gave it, into the header.
"""

import struct

HEADER = struct.Struct(">BBHBBHIIQ")
REQUEST, RESPONSE = 0x80, 0x81
CAS_AT = 16
NO_CAS = 0xabcdef0123456789  # no item has it

GET, SET, ADD, REPLACE, DELETE, INCR, DECR, QUIT, FLUSH, GETQ, NOOP, VERSION, GETK, GETKQ, APPEND, \
    PREPEND, STAT, SETQ, ADDQ, REPLACEQ, DELETEQ, INCRQ, DECRQ, QUITQ, FLUSHQ, APPENDQ, \
    PREPENDQ = range(27)
TOUCH, GAT, GATQ, GATK, GATKQ = 0x1c, 0x1d, 0x1e, 0x23, 0x24
SASL_LIST, SASL_AUTH, SASL_STEP = 0x20, 0x21, 0x22

KEYS = [b"b%d" % i for i in range(30)] + [b"B" * 250, b"\0\r\n ", b" space "]
# Numbers live under keys of their own: see requests_text.
COUNTERS = [b"c%d" % i for i in range(10)]
NUMBERS = [b"0", b"1", b"9", b"10", b"99", b"100", b"4611686018427387904", b"12 ", b"abc", b"", b" 5"]
NEVER, NO_CREATE = 0, 0xffffffff
EXPTIMES = [0, 0, 0, 1000, 86400, 2592001, 2000000000]


def packet(opcode, key=b"", extras=b"", body=b"", opaque=0, cas=0):
    return HEADER.pack(REQUEST, opcode, len(key), len(extras), 0, 0,
                       len(key) + len(extras) + len(body), opaque, cas) + extras + key + body


def value(rnd):
    """Returns a random value, never a number."""
    return rnd.choice([b"", b"v", b"v" + rnd.randbytes(rnd.choice([1, 10, 100, 1000]))])


def _cas(rnd, key):
    """Returns (cas for the header, key whose CAS replaces it)"""
    kind = rnd.random()
    return (0, None) if kind < 0.8 else (NO_CAS, None) if kind < 0.85 else (0, key)


def _get(rnd, opaque):
    return packet(rnd.choice([GET, GETQ, GETK, GETKQ]), rnd.choice(KEYS + COUNTERS), opaque=opaque), None


def _set(rnd, opaque):
    key = rnd.choice(KEYS)
    cas, cas_key = _cas(rnd, key)
    extras = struct.pack(">II", rnd.choice([0, 1, 0xffffffff]), rnd.choice(EXPTIMES))
    opcode = rnd.choice([SET, SET, SETQ, ADD, ADDQ, REPLACE, REPLACEQ])
    return packet(opcode, key, extras, value(rnd), opaque, cas), cas_key


def _number(rnd, opaque):
    key = rnd.choice(COUNTERS)
    cas, cas_key = _cas(rnd, key)
    extras = struct.pack(">II", rnd.choice([0, 1]), rnd.choice(EXPTIMES))
    return packet(rnd.choice([SET, SET, SETQ, ADD, REPLACE]), key, extras, rnd.choice(NUMBERS),
                  opaque, cas), cas_key


def _append(rnd, opaque):
    key = rnd.choice(KEYS)
    cas, cas_key = _cas(rnd, key)
    opcode = rnd.choice([APPEND, APPENDQ, PREPEND, PREPENDQ])
    return packet(opcode, key, b"", value(rnd), opaque, cas), cas_key


def _delete(rnd, opaque):
    key = rnd.choice(KEYS + COUNTERS)
    cas, cas_key = _cas(rnd, key)
    return packet(rnd.choice([DELETE, DELETEQ]), key, opaque=opaque, cas=cas), cas_key


def _count(rnd, opaque):
    key = rnd.choice(COUNTERS if rnd.random() < 0.9 else KEYS)
    cas, cas_key = _cas(rnd, key)
    extras = struct.pack(">QQI", rnd.choice([0, 1, 7, 10 ** 12]), rnd.choice([0, 5, 2 ** 62]),
                         rnd.choice([NEVER, 1000, NO_CREATE, NO_CREATE]))
    return packet(rnd.choice([INCR, INCRQ, DECR, DECRQ]), key, extras, b"", opaque, cas), cas_key


def _touch(rnd, opaque):
    opcode = rnd.choice([TOUCH, GAT, GATQ, GATK, GATKQ])
    return packet(opcode, rnd.choice(KEYS), struct.pack(">I", rnd.choice(EXPTIMES)),
                  opaque=opaque), None


def _other(rnd, opaque):
    # After an unknown opcode with a key, 1.6.18 skips the key's length once more, in the next packet. So unknown
    # opcodes here have only a body.
    return rnd.choice([
        packet(NOOP, opaque=opaque), packet(0x1b, opaque=opaque), packet(0x30, opaque=opaque),
        packet(0x7f, b"", b"", b"body", opaque=opaque),
        packet(STAT, b"nonsense", opaque=opaque), packet(SASL_LIST, opaque=opaque),
        packet(FLUSH, opaque=opaque), packet(FLUSHQ, opaque=opaque),
        packet(FLUSH, b"", b"\0\0\0\0", opaque=opaque),
    ]), None


BINARY = [(_get, 35), (_set, 30), (_number, 5), (_append, 6), (_delete, 8), (_count, 10), (_touch, 5), (_other, 1)]


def pick(rnd, opaque):
    make = rnd.choices([make for make, _ in BINARY], [share for _, share in BINARY])[0]
    return make(rnd, opaque)


def wrong_lengths(rnd, opaque):
    """Returns a packet whose lengths contradict each other, which must end the connection."""
    good, _ = pick(rnd, opaque)
    magic, opcode, key, extras, kind, vbucket, body, opaque, cas = HEADER.unpack_from(good)
    how = rnd.randrange(5)
    if how == 0:
        key = rnd.choice([0, 251, key + 1, 65535])
    elif how == 1:
        extras = rnd.choice([0, 3, 9, 255])
    elif how == 2:
        body = rnd.choice([0, 0xffffffff, 1 << 30])
    elif how == 3:
        magic = rnd.choice([0x81, 0x00, 0x67])
    else:
        return rnd.randbytes(24)
    return HEADER.pack(magic, opcode, key, extras, kind, vbucket, body, opaque, cas) + good[24:]


def answers(text):
    """[(opcode, status, extras, key, body, opaque, cas)] of whole packets; what is left over."""
    found, at = [], 0
    while len(text) - at >= HEADER.size:
        magic, opcode, keys, extras, _, status, size, opaque, cas = HEADER.unpack_from(text, at)
        if magic != RESPONSE or keys + extras > size:
            raise ValueError(f"no answer: {text[at:at + 40]!r}")
        if len(text) - at - HEADER.size < size:
            break
        body = text[at + HEADER.size:at + HEADER.size + size]
        found.append((opcode, status, body[:extras], body[extras:extras + keys],
                      body[extras + keys:], opaque, cas))
        at += HEADER.size + size
    return found, text[at:]
