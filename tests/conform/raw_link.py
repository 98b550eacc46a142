"""Frames by hand: a packet socket on one interface, and what stands in tagged frames.

The kernel removes the VLAN tag from a frame for a packet socket and passes it beside the frame
(packet(7), PACKET_AUXDATA); here it is put back, so that a frame is what was on the wire.
"""

import re
import socket
import struct
import subprocess
import time

SOL_PACKET, PACKET_AUXDATA = 263, 8
AUXDATA = struct.Struct("=IIIHHHH")
STATUS_VLAN = 1 << 4
ETH_P_ALL = 3
TAG = 0x8100


def cksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def tagged(frame, tag):
    return frame[:12] + struct.pack(">HH", TAG, tag) + frame[12:]


def mac_of(iface):
    """Asks the kernel for the MAC: sysfs shows the interfaces of the namespace in which it was mounted."""
    said = subprocess.run(["ip", "-o", "link", "show", iface], check=True, capture_output=True,
                          text=True).stdout
    return bytes.fromhex(re.search(r"link/ether (\S+)", said)[1].replace(":", ""))


def udp4(ends, payload):
    """Returns a frame. ends: ((mac, ip, port) of the sender, of the receiver)."""
    (smac, sip, sport), (dmac, dip, dport) = ends
    ip = [socket.inet_aton(sip), socket.inet_aton(dip)]
    udp = struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload
    head = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(payload), 1, 0, 64, 17, 0) + ip[0] + ip[1]
    head = head[:10] + struct.pack(">H", cksum(head)) + head[12:]
    return dmac + smac + b"\x08\0" + head + udp


def arp(mac, ip, target):
    return (b"\xff" * 6 + mac + b"\x08\x06" + struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + mac +
            socket.inet_aton(ip) + bytes(6) + socket.inet_aton(target) + bytes(18))


class Link:
    def __init__(self, iface):
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.sock.bind((iface, 0))
        self.sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.mac = mac_of(iface)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, frame):
        self.sock.send(frame)

    def frames(self, wait_s):
        """Yields frames to our MAC that arrive within that time."""
        end = time.monotonic() + wait_s
        while (left := end - time.monotonic()) > 0:
            self.sock.settimeout(left)
            try:
                data, notes, _, _ = self.sock.recvmsg(65536, 256)
            except TimeoutError:
                return
            for level, kind, note in notes:
                if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                    status, *_, tci, _ = AUXDATA.unpack(note[:AUXDATA.size])
                    if status & STATUS_VLAN:
                        data = tagged(data, tci)
            if data[:6] == self.mac and data[6:12] != self.mac:
                yield data
