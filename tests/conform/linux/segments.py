"""TCP segments as bytes, written and read here, without the code of either stack.

Numbers of a conversation are relative: sequence numbers count from the peer's SYN, acknowledgments from the server's.
"""

import collections
import socket
import struct

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << n for n in range(8))
LETTERS = {"F": FIN, "S": SYN, "R": RST, "P": PSH, "A": ACK, "U": URG, "E": ECE, "C": CWR}
WORDS = {"F": "FIN", "S": "SYN", "R": "RST", "P": "PSH", "A": "ACK", "U": "URG", "E": "ECE", "C": "CWR"}
PORT = 11211
MSS, WSCALE, SACKOK, SACK, TS = 2, 3, 4, 5, 8
IP_HEAD, TCP_HEAD = struct.Struct(">BBHHHBBH4s4s"), struct.Struct(">HHIIHHHH")
NUMBERS = 1 << 32

Found = collections.namedtuple("Found", "host port flags seq ack win options data")


def checksum(data):
    """The sum of RFC 1071: words in ones' complement are numbers modulo 65535."""
    return 65535 - int.from_bytes(data + b"\0" * (len(data) % 2), "big") % 65535


def flags_of(letters):
    return sum(LETTERS[letter] for letter in letters)


def spelled(letters):
    return "-".join(WORDS[letter] for letter in letters) or "none"


def frame(macs, hosts, port, flags, seq, ack, win, options, data, urgent=0):
    """Returns a segment from hosts[0]:port to the server."""
    options += b"\1" * (-len(options) % 4)
    head = TCP_HEAD.pack(
        port, PORT, seq % NUMBERS, ack % NUMBERS, (5 + len(options) // 4) << 12 | flags, win, 0, urgent
    )
    tcp = head + options + data
    pseudo = hosts[0] + hosts[1] + struct.pack(">HH", 6, len(tcp))
    tcp = tcp[:16] + struct.pack(">H", checksum(pseudo + tcp)) + tcp[18:]
    ip = IP_HEAD.pack(0x45, 0, 20 + len(tcp), 1, 0x4000, 64, 6, 0, *hosts)
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    return macs[1] + macs[0] + b"\x08\0" + ip + tcp


def read(data):
    """Returns the fields of a frame from the server; None if it is no TCP from the server's port."""
    if data[12:14] != b"\x08\0" or data[23] != 6:
        return None
    at = 14 + 4 * (data[14] & 15)
    end = 14 + int.from_bytes(data[16:18], "big")
    source, port, seq, ack, flags, win, _, _ = TCP_HEAD.unpack_from(data, at)
    if source != PORT:
        return None
    body = at + 4 * (flags >> 12)
    return Found(data[30:34], port, flags & 255, seq, ack, win, read_options(data[at + 20 : body]), data[body:end])


def read_options(data):
    found, at = {}, 0
    while at < len(data) and data[at] != 0:
        if data[at] == 1:
            at += 1
            continue
        if at + 1 >= len(data) or data[at + 1] < 2:
            break
        found[data[at]] = data[at + 2 : at + data[at + 1]]
        at += data[at + 1]
    return found


def option(kind, value=b""):
    return bytes([kind, 2 + len(value)]) + value


def timestamps(value, echo):
    return b"\1\1" + option(TS, struct.pack(">II", value % NUMBERS, echo % NUMBERS))


def address(number):
    """Returns the four address bytes of the nth peer."""
    return (int.from_bytes(socket.inet_aton("10.65.0.0"), "big") + number).to_bytes(4, "big")


def arp_reply(mac, request):
    """Returns the answer to an ARP request for a peer, None if the frame is none."""
    if request[12:14] != b"\x08\x06" or request[20:22] != b"\0\1" or request[38] != 10:
        return None
    asks, wanted = request[22:32], request[38:42]
    return request[6:12] + mac + b"\x08\x06" + struct.pack(">HHBBH", 1, 0x0800, 6, 4, 2) + mac + wanted + asks
