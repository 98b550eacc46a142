"""The frames that tools/bench edge sends to a server, as a capture file: UDP gets and sets of a few keys.

In one pass through the file each key is set once, so from the second pass on each get finds its value.
"""

import random
import struct

KEYS = 200
KEY_BYTES, VALUE_BYTES = 16, 32
GETS_A_SET = 19          # 95 % gets
FRAMES = KEYS * (GETS_A_SET + 1)
CLIENTS = 50             # ports
CLIENT_MAC = bytes.fromhex("020000000001")
CLIENT_IP, SERVER_IP = bytes([10, 99, 0, 2]), bytes([10, 99, 0, 1])
PORT, CLIENT_PORT = 11211, 40000
UDP, TTL = 17, 64
PCAP_HEADER = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)  # Ethernet


def _sum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data[:len(data) & ~1])) + (data[-1] << 8 if len(data) & 1 else 0)
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def frame(mac, number, command):
    """Returns a UDP datagram of memcached's protocol, to a server with that MAC."""
    payload = struct.pack("!HHHH", number & 0xffff, 0, 1, 0) + command
    ports = struct.pack("!HHHH", CLIENT_PORT + number % CLIENTS, PORT, 8 + len(payload), 0)
    pseudo = CLIENT_IP + SERVER_IP + struct.pack("!BBH", 0, UDP, len(ports) + len(payload))
    ports = ports[:6] + struct.pack("!H", _sum(pseudo + ports + payload) or 0xffff)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(ports) + len(payload), 0, 0x4000, TTL, UDP, 0) + CLIENT_IP + SERVER_IP
    ip = ip[:10] + struct.pack("!H", _sum(ip)) + ip[12:]
    return mac + CLIENT_MAC + b"\x08\x00" + ip + ports + payload


def commands():
    draw = random.Random(1)
    keys = [f"key-{number:0{KEY_BYTES - 4}d}".encode() for number in range(KEYS)]
    for key in keys:
        yield b"set %s 0 0 %d\r\n%s\r\n" % (key, VALUE_BYTES, b"v" * VALUE_BYTES)
        for _ in range(GETS_A_SET):
            yield b"get %s\r\n" % draw.choice(keys)


def write(path, mac):
    """Writes the file of all frames for a server with that MAC, such as "02:70:63:61:70:00"."""
    mac = bytes.fromhex(mac.replace(":", ""))
    with open(path, "wb") as out:
        out.write(PCAP_HEADER)
        for number, command in enumerate(commands()):
            data = frame(mac, number, command)
            out.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)
