#!/usr/bin/python3 -B
"""Tests a server by rules of RFC 5246 and RFC 8446, with tlslite-ng: tls_rules.py HOST PORT.

Prints "ok - RULE" or "not ok - RULE: what was seen" for each. A hello that breaks a rule is written here byte by byte;
after a handshake bytes are sent through tlslite-ng's record layer.
"""

import os
import socket
import struct
import sys

from tlslite.api import HandshakeSettings, TLSConnection
from tlslite.constants import AlertDescription, AlertLevel, ContentType
from tlslite.errors import TLSAbruptCloseError, TLSAlert, TLSRemoteAlert
from tlslite.messages import Alert, ClientHello, Message

WHERE = sys.argv[1], int(sys.argv[2])
WAIT_S = 10  # generous: only a server that is silent is waited for
TLS12, TLS13 = (3, 3), (3, 4)
HANDSHAKE, ALERT, DATA, CHANGE = 22, 21, 23, 20
SUITES = bytes.fromhex("1301 1302 1303 c02f c030 c02b c02c")
OLD_SUITES = bytes.fromhex("c02f c030 c02b c02c c013 c014 009c 002f 0035")
VERSION_ALERTS = {AlertDescription.protocol_version}
SYNTAX = {AlertDescription.decode_error, AlertDescription.illegal_parameter}
UNEXPECTED = {AlertDescription.unexpected_message}
HELLO, CLOSED, SILENT = "a hello", "closed", "silent"


# ---- hellos by hand ----

def sized(width, data):
    return len(data).to_bytes(width, "big") + data


def extension(kind, data):
    return struct.pack(">H", kind) + sized(2, data)


GROUPS = extension(10, sized(2, bytes.fromhex("001d 0017")))
POINTS = extension(11, sized(1, b"\0"))
SIGNATURES = extension(13, sized(2, bytes.fromhex("0403 0503 0804 0805 0806 0401 0501")))
SHARE = extension(51, sized(2, bytes.fromhex("001d") + sized(2, bytes(range(1, 33)))))


def versions(*numbers):
    return extension(43, sized(1, b"".join(struct.pack(">H", number) for number in numbers)))


COMMON = GROUPS + POINTS + SIGNATURES
MODERN = COMMON + SHARE + versions(0x0304, 0x0303)


def hello_body(extensions=MODERN, version=0x0303, session=b"", suites=SUITES, compressions=b"\0"):
    return struct.pack(">H", version) + os.urandom(32) + sized(1, session) + sized(2, suites) + sized(1, compressions) + \
        (b"" if extensions is None else sized(2, extensions))


def message(body, kind=1):
    return bytes([kind]) + sized(3, body)


def record(data, kind=HANDSHAKE, version=0x0301):
    return struct.pack(">BHH", kind, version, len(data)) + data


def hello(*args, **words):
    return record(message(hello_body(*args, **words)))


def read_exactly(sock, count):
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def first_answer(*parts):
    """Returns the description of an alert, or HELLO, CLOSED or SILENT, and the version of a hello."""
    with socket.create_connection(WHERE, WAIT_S) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for part in parts:
                sock.sendall(part)
            kind, _, length = struct.unpack(">BHH", read_exactly(sock, 5))
            body = read_exactly(sock, length)
        except (EOFError, ConnectionError):
            return CLOSED, None
        except TimeoutError:
            return SILENT, None
    if kind == ALERT:
        return body[1], None
    return (HELLO, chosen_version(body)) if kind == HANDSHAKE and body[0] == 2 else (f"record {kind}", None)


def chosen_version(body):
    at = 4 + 2 + 32
    at += 1 + body[at] + 3
    left = body[at + 2:]
    while len(left) >= 4:
        kind, length = struct.unpack(">HH", left[:4])
        if kind == 43:
            return struct.unpack(">H", left[4:6])[0]
        left = left[4 + length:]
    return struct.unpack(">H", body[4:6])[0]


def alerts(wanted, *parts):
    seen, version = first_answer(*parts)
    assert seen in wanted, f"{seen} {version or ''}, not one of {sorted(wanted)}"


def greets(version, *parts):
    seen = first_answer(*parts)
    assert seen == (HELLO, version), f"{seen}, not a hello of {version:#x}"


# ---- connections by tlslite-ng ----

class Peer:
    def __init__(self, version, session=None, **settings):
        self.sock = socket.create_connection(WHERE, WAIT_S)
        self.tls = TLSConnection(self.sock)
        chosen = HandshakeSettings()
        chosen.minVersion = chosen.maxVersion = version
        for name, value in settings.items():
            setattr(chosen, name, value)
        self.tls.handshakeClientCert(session=session, settings=chosen)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def ask(self, data=b"version\r\n", want=b"VERSION "):
        self.tls.write(data)
        got = b""
        while len(got) < len(want):
            part = self.tls.read(max=65536, min=1)
            assert part, f"closed behind {got!r}"
            got += part
        assert got.startswith(want), f"{got[:60]!r}"
        return got

    def send(self, data, kind=DATA):
        for _ in self.tls._recordLayer.sendRecord(Message(kind, bytearray(data))):
            pass

    def ends_with(self, wanted):
        """Checks that one of these alerts ends the connection, after reading earlier answers."""
        try:
            while self.tls.read(max=65536, min=1):
                pass
        except TLSRemoteAlert as alert:
            assert alert.description in wanted, f"alert {alert.description}, not one of {sorted(wanted)}"
            return
        except (TLSAbruptCloseError, ConnectionError):
            raise AssertionError("closed without an alert") from None
        raise AssertionError("closed without a fatal alert")

    def ends(self):
        try:
            while self.tls.read(max=65536, min=1):
                pass
        except (TLSAlert, TLSAbruptCloseError, ConnectionError):
            pass


def serves():
    for version in (TLS12, TLS13):
        with Peer(version) as peer:
            peer.ask()


RULES = []


def rule(function):
    RULES.append(function)
    return function


# ---- rules: how a version is chosen ----

@rule
def tls_1_2_and_1_3_are_served():
    serves()


@rule
def the_newest_common_version_is_chosen():
    greets(0x0304, hello())


@rule
def a_hello_without_supported_versions_is_of_tls_1_2():
    greets(0x0303, hello(COMMON, suites=OLD_SUITES))


@rule
def a_hello_version_of_the_future_is_taken_as_tls_1_2():
    greets(0x0303, hello(COMMON, version=0x0305, suites=OLD_SUITES))


@rule
def unknown_versions_in_the_list_are_passed_over():
    greets(0x0304, hello(COMMON + SHARE + versions(0x7a7a, 0x0305, 0x0304)))


@rule
def a_list_of_unknown_versions_is_refused():
    alerts(VERSION_ALERTS, hello(COMMON + SHARE + versions(0x7a7a, 0x0305)))


@rule
def ssl_3_is_refused():
    alerts(VERSION_ALERTS | {AlertDescription.handshake_failure}, hello(None, version=0x0300, suites=OLD_SUITES))


@rule
def tls_1_0_is_refused():
    alerts(VERSION_ALERTS, hello(COMMON, version=0x0301, suites=OLD_SUITES))


@rule
def tls_1_1_is_refused():
    alerts(VERSION_ALERTS, hello(COMMON, version=0x0302, suites=OLD_SUITES))


@rule
def a_fallback_to_an_older_version_is_refused():
    alerts({AlertDescription.inappropriate_fallback}, hello(COMMON, suites=OLD_SUITES + bytes.fromhex("5600")))


# ---- rules: hellos ----

@rule
def unknown_suites_and_extensions_are_passed_over():
    greets(0x0304, hello(MODERN + extension(0x0a0a, b"") + extension(0xfafa, b"\0\1"), suites=bytes.fromhex("2a2a") + SUITES))


@rule
def no_common_suite_is_refused():
    alerts({AlertDescription.handshake_failure, AlertDescription.insufficient_security}, hello(suites=bytes.fromhex("2a2a 0001")))


@rule
def no_suite_is_refused():
    alerts(SYNTAX, hello(suites=b""))


@rule
def half_a_suite_is_refused():
    alerts(SYNTAX, hello(suites=SUITES + b"\x13"))


@rule
def compression_in_tls_1_3_is_refused():
    alerts({AlertDescription.illegal_parameter}, hello(compressions=b"\1\0"))


@rule
def a_hello_without_null_compression_is_refused():
    alerts(SYNTAX, hello(COMMON, suites=OLD_SUITES, compressions=b"\1"))


@rule
def a_session_id_of_33_bytes_is_refused():
    alerts(SYNTAX, hello(session=bytes(33)))


@rule
def an_extension_given_twice_is_refused():
    alerts(SYNTAX, hello(MODERN + GROUPS))


@rule
def an_extension_longer_than_the_hello_is_refused():
    alerts(SYNTAX, hello(COMMON + struct.pack(">HH", 0x0a0a, 9) + b"x"))


@rule
def bytes_behind_the_extensions_are_refused():
    alerts(SYNTAX, record(message(hello_body() + b"\0")))


@rule
def a_hello_that_is_cut_short_is_refused():
    alerts(SYNTAX, record(message(hello_body()[:40])))


@rule
def an_empty_hello_is_refused():
    alerts(SYNTAX, record(message(b"")))


@rule
def a_list_of_signatures_that_is_empty_is_refused():
    alerts(SYNTAX | {AlertDescription.handshake_failure}, hello(GROUPS + extension(13, sized(2, b"")) + SHARE + versions(0x0304)))


@rule
def tls_1_3_without_signatures_is_refused():
    alerts({AlertDescription.missing_extension}, hello(GROUPS + SHARE + versions(0x0304)))


@rule
def tls_1_3_without_groups_is_refused():
    alerts({AlertDescription.missing_extension}, hello(SIGNATURES + SHARE + versions(0x0304)))


@rule
def a_key_share_of_a_wrong_length_is_refused():
    alerts(SYNTAX, hello(COMMON + extension(51, sized(2, bytes.fromhex("001d") + sized(2, bytes(31)))) + versions(0x0304)))


@rule
def a_key_share_of_a_group_that_is_not_offered_is_refused():
    share = extension(51, sized(2, bytes.fromhex("0018") + sized(2, b"\4" + bytes(96))))
    alerts(SYNTAX, hello(COMMON + share + versions(0x0304)))


@rule
def a_hello_without_a_share_is_asked_again():
    greets(0x0304, hello(COMMON + extension(51, sized(2, b"")) + versions(0x0304)))


@rule
def a_hello_of_one_byte_segments_is_read():
    greets(0x0304, *(bytes([byte]) for byte in hello()))


@rule
def a_hello_in_several_records_is_read():
    whole = message(hello_body())
    greets(0x0304, *(record(whole[at:at + 20]) for at in range(0, len(whole), 20)))


# ---- rules: records before a handshake is done ----

@rule
def a_record_longer_than_it_may_be_is_refused():
    alerts({AlertDescription.record_overflow}, struct.pack(">BHH", HANDSHAKE, 0x0301, 16385 + 2048) + message(bytes(18000)))


@rule
def data_before_the_handshake_is_refused():
    alerts(UNEXPECTED, record(b"version\r\n", DATA))


@rule
def an_unknown_kind_of_record_is_refused():
    alerts(UNEXPECTED, record(b"version\r\n", 99))


@rule
def an_empty_handshake_record_is_refused():
    alerts(UNEXPECTED | SYNTAX, record(b"") + hello())


@rule
def a_finished_in_place_of_a_hello_is_refused():
    alerts(UNEXPECTED, record(message(bytes(32), 20)))


@rule
def a_second_hello_is_refused():
    with socket.create_connection(WHERE, WAIT_S) as sock:
        sock.sendall(hello() + hello())
        kinds = []
        try:
            while True:
                kind, _, length = struct.unpack(">BHH", read_exactly(sock, 5))
                body = read_exactly(sock, length)
                kinds.append(kind)
        except (EOFError, ConnectionError):
            pass
        assert ALERT in kinds or kinds[-1:] == [DATA], f"{kinds}"
        assert kinds and body is not None


@rule
def a_fatal_alert_ends_a_handshake():
    seen, _ = first_answer(record(bytes([AlertLevel.fatal, AlertDescription.internal_error]), ALERT))
    assert seen in (CLOSED, AlertDescription.unexpected_message), f"{seen}"


# ---- rules: records behind it ----

@rule
def the_largest_record_is_read():
    for version in (TLS12, TLS13):
        with Peer(version) as peer:
            data = b"set big 0 0 16350\r\n" + bytes(16350) + b"\r\n"
            peer.send(data[:16384])
            peer.ask(data[16384:] + b"version\r\n", b"STORED\r\n")


@rule
def a_record_with_too_much_in_it_is_refused():
    for version in (TLS12, TLS13):
        with Peer(version) as peer:
            peer.send(b"set big 0 0 16400\r\n" + bytes(16400 - 10))
            peer.ends_with({AlertDescription.record_overflow})


@rule
def empty_data_records_are_passed_over():
    for version in (TLS12, TLS13):
        with Peer(version) as peer:
            for _ in range(5):
                peer.send(b"")
            peer.ask()


@rule
def a_record_that_was_changed_is_refused():
    for version in (TLS12, TLS13):
        with Peer(version) as peer:
            peer.sock.sendall(record(os.urandom(64), DATA, 0x0303))
            peer.ends_with({AlertDescription.bad_record_mac})


@rule
def a_record_shorter_than_its_tag_is_refused():
    for version in (TLS12, TLS13):
        with Peer(version) as peer:
            peer.sock.sendall(record(b"x", DATA, 0x0303))
            peer.ends_with({AlertDescription.bad_record_mac, AlertDescription.decode_error, AlertDescription.decryption_failed})


@rule
def an_unknown_kind_behind_the_handshake_is_refused():
    for version in (TLS12, TLS13):
        with Peer(version) as peer:
            peer.send(b"version\r\n", 99)
            peer.ends_with(UNEXPECTED)


@rule
def an_empty_record_of_no_kind_is_refused():
    with Peer(TLS13) as peer:
        peer.send(b"", 0)
        peer.ends_with(UNEXPECTED)


@rule
def a_change_of_ciphers_behind_tls_1_3_is_refused():
    with Peer(TLS13) as peer:
        peer.send(b"\1", CHANGE)
        peer.ends_with(UNEXPECTED)


@rule
def a_fatal_alert_ends_a_connection():
    for version in (TLS12, TLS13):
        with Peer(version) as peer:
            peer.send(bytes([AlertLevel.fatal, AlertDescription.internal_error]), ALERT)
            peer.ends()


@rule
def a_close_notify_is_answered_by_the_end():
    for version in (TLS12, TLS13):
        with Peer(version) as peer:
            peer.ask()
            peer.send(bytes([AlertLevel.warning, AlertDescription.close_notify]), ALERT)
            peer.ends()


@rule
def an_early_close_harms_nobody_else():
    for version in (TLS12, TLS13):
        for _ in range(20):
            with Peer(version) as peer:
                peer.send(b"set early 0 0 100\r\nhalf")
    for _ in range(20):
        with socket.create_connection(WHERE, WAIT_S) as sock:
            sock.sendall(hello()[:50])
    serves()


# ---- rules: keys, sessions, handshakes behind the first ----

def update_keys(count):
    with Peer(TLS13) as peer:
        for _ in range(count):
            for _ in peer.tls.send_keyupdate_request(0):
                pass
            peer.ask()


@rule
def key_updates_are_followed():
    update_keys(3)


@rule
def many_key_updates_in_a_row_are_followed():
    update_keys(10)


@rule
def key_updates_are_answered():
    with Peer(TLS13) as peer:
        peer.ask()
        before = bytes(peer.tls.session.sr_app_secret)
        for _ in peer.tls.send_keyupdate_request(1):
            pass
        peer.ask()
        peer.ask()
        assert bytes(peer.tls.session.sr_app_secret) != before, "the server's keys stay"


@rule
def a_key_update_of_no_kind_is_refused():
    with Peer(TLS13) as peer:
        peer.send(message(b"\2", 24), HANDSHAKE)
        peer.ends_with({AlertDescription.illegal_parameter})


@rule
def a_key_update_of_a_wrong_length_is_refused():
    with Peer(TLS13) as peer:
        peer.send(message(b"\0\0", 24), HANDSHAKE)
        peer.ends_with(SYNTAX)


@rule
def a_key_update_in_tls_1_2_is_refused():
    with Peer(TLS12) as peer:
        peer.send(message(b"\0", 24), HANDSHAKE)
        peer.ends_with(UNEXPECTED)


@rule
def a_renegotiation_is_refused():
    """RFC 5246, 7.2.2: the server refuses by a warning or a fatal alert. A hello would begin another handshake."""
    with Peer(TLS12) as peer:
        again = ClientHello().create((3, 3), bytearray(32), bytearray(), [0xc02f, 0xc030])
        peer.send(again.write(), HANDSHAKE)
        try:
            peer.tls.write(b"version\r\n")
            got = peer.tls.read(max=100, min=1)
        except TLSRemoteAlert as alert:
            assert alert.description in {AlertDescription.no_renegotiation, AlertDescription.handshake_failure} | UNEXPECTED, f"{alert.description}"
        except (TLSAbruptCloseError, ConnectionError):
            pass
        else:
            assert got == b"" or got.startswith(b"VERSION"), f"{got!r}"


@rule
def a_hello_behind_tls_1_3_is_refused():
    with Peer(TLS13) as peer:
        peer.send(message(hello_body()), HANDSHAKE)
        peer.ends_with(UNEXPECTED)


@rule
def a_ticket_that_was_changed_gives_a_whole_handshake():
    with Peer(TLS13) as peer:
        peer.ask()
        session = peer.tls.session
    assert session.tickets, "no ticket came"
    session.tickets[0].ticket = bytearray(os.urandom(len(session.tickets[0].ticket)))
    with Peer(TLS13, session) as again:
        again.ask()
        assert not again.tls.resumed, "a changed ticket was taken"


@rule
def a_session_of_tls_1_3_is_resumed():
    with Peer(TLS13) as peer:
        peer.ask()
        session = peer.tls.session
    with Peer(TLS13, session) as again:
        again.ask()
        assert again.tls.resumed


@rule
def the_extended_master_secret_is_agreed():
    with Peer(TLS12, requireExtendedMasterSecret=True) as peer:
        peer.ask()


@rule
def a_limit_of_records_is_kept():
    """RFC 8449: a server that agrees sends no larger record, and one that does not says nothing of it."""
    with Peer(TLS13, record_size_limit=512) as peer:
        peer.ask(b"set limited 0 0 3000\r\n" + bytes(3000) + b"\r\n", b"STORED\r\n")
        want = b"VALUE limited 0 3000\r\n" + bytes(3000) + b"\r\nEND\r\n"
        peer.ask(b"get limited\r\n", want)


@rule
def each_group_and_suite_is_served():
    for curve in ("x25519", "secp256r1", "secp384r1", "secp521r1"):
        for version in (TLS12, TLS13):
            with Peer(version, eccCurves=[curve], keyShares=[curve], dhGroups=[]) as peer:
                peer.ask()
    for cipher in ("aes128gcm", "aes256gcm", "chacha20-poly1305"):
        for version in (TLS12, TLS13):
            with Peer(version, cipherNames=[cipher]) as peer:
                peer.ask()


@rule
def a_server_serves_behind_all_this():
    serves()


def main():
    for function in RULES:
        name, why = function.__name__.replace("_", " "), None
        try:
            function()
        except Exception as error:  # any exception of tlslite-ng is a finding about the server
            why = f"{type(error).__name__}: {error}"
        print(f"ok - {name}" if why is None else f"not ok - {name}\n    {why}", flush=True)


main()
