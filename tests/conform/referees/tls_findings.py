#!/usr/bin/python3 -B
"""Runs sslscan, testssl or sslyze against a TLS server: tls_findings.py TOOL HOST PORT.

Prints "ok - WHAT" for each check without a finding, and "not ok - FINDING" for each finding. Each suite and group that
the server accepts counts as a finding, so that lists of two servers can be compared.
"""

import json
import re
import subprocess
import sys
import tempfile

OLD = ("SSLv2", "SSLv3", "TLSv1.0", "TLSv1.1")
# Ciphers are sslscan's and sslyze's to find: testssl takes minutes for them.
TESTSSL = ("--protocols", "--server-defaults", "--heartbleed", "--ccs-injection", "--ticketbleed", "--robot", "--renegotiation", "--compression", "--tls-fallback")
# The scans that judge a TLS server, but not its certificate or early data of HTTP. By default sslyze skips resumption.
SSLYZE = ("--sslv2", "--sslv3", "--tlsv1", "--tlsv1_1", "--tlsv1_2", "--tlsv1_3", "--compression", "--openssl_ccs", "--fallback", "--heartbleed", "--robot",
          "--reneg", "--resum", "--elliptic_curves", "--ems")
# Rows about the certificate, which both servers share, about this machine's programs, or about the time of the scan.
NOT_OF_THE_SERVER = re.compile(r"scanTime|engine_problem|service|cert_.*|cert|DNS_CAArecord|clientsimulation.*|scanProblem|old_fs")


def tell(found):
    for name, held in found:
        print(f"{'ok' if held else 'not ok'} - {name}", flush=True)


def output_of(*words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False).stdout


def sslscan(where):
    said = output_of("sslscan", "--no-colour", where)
    for version, state in re.findall(r"^((?:SSL|TLS)v\S+)\s+(enabled|disabled)$", said, re.M):
        yield f"{version} {'is off' if version in OLD else 'is on'}", (state == "disabled") == (version in OLD)
    yield "TLS Fallback SCSV", "Server supports TLS Fallback SCSV" in said
    yield "no insecure renegotiation", "Insecure session renegotiation" not in said and "renegotiation" in said
    yield "no compression", "Compression enabled" not in said
    for version, state in re.findall(r"^(TLSv\S+) (not vulnerable|vulnerable) to heartbleed", said, re.M):
        yield f"no heartbleed in {version}", state == "not vulnerable"
    for version, bits, suite in re.findall(r"^(?:Preferred|Accepted)\s+(\S+)\s+(\d+) bits\s+(\S+)", said, re.M):
        yield f"{version} takes {suite}, {bits} bits", False
    for version, group in re.findall(r"^(\S+)\s+\d+ bits\s+((?!TLS_)\S+)(?: \(.*\))?$", said, re.M):
        yield f"{version} takes group {group}", False


def testssl(where):
    with tempfile.TemporaryDirectory() as folder:
        output_of("testssl", "--quiet", "--color", "0", "--warnings", "off", *TESTSSL, "--jsonfile", f"{folder}/found.json", where)
        rows = json.load(open(f"{folder}/found.json", encoding="utf-8"))
    for row in rows:
        if NOT_OF_THE_SERVER.fullmatch(row["id"]) is None:
            yield f"{row['id']}: {row['finding'][:60]}" if row["severity"] == "INFO" else row["id"], row["severity"] in ("OK", "INFO")


def sslyze(where):
    with tempfile.NamedTemporaryFile("r", suffix=".json") as found:
        output_of(sys.executable, "-m", "sslyze", "--quiet", *SSLYZE, f"--json_out={found.name}", where)
        scan = json.load(found)["server_scan_results"][0]
    results = {}
    for name, command in scan["scan_result"].items():
        if command["status"] == "NOT_SCHEDULED" or name in ("http_headers", "certificate_info"):
            continue
        yield f"{name} was asked", command["status"] == "COMPLETED"
        if command["status"] == "COMPLETED":
            results[name] = command["result"]
    for name, result in results.items():
        for suite in result.get("accepted_cipher_suites", []):
            yield f"{name} takes {suite['cipher_suite']['name']}", False
        if re.match("ssl_|tls_1_[01]_c", name):
            yield f"{name} is off", not result["accepted_cipher_suites"]
        for what, value in result.items():
            if isinstance(value, bool):
                yield f"{name}: {what} is {str(value).lower()}", value == what.startswith("supports_") or what == "is_tls_version_supported"
            elif what == "robot_result":
                yield f"{name}: {what} is {value}", str(value).startswith("NOT_VULNERABLE")
            elif what in ("session_id_resumption_result", "tls_ticket_resumption_result"):
                yield f"{name}: {what}", value == "FULLY_SUPPORTED"
        for group in result.get("supported_curves") or []:
            yield f"{name}: takes {group['name']}", False


def main():
    tool, host, port = sys.argv[1:]
    tell({"sslscan": sslscan, "testssl": testssl, "sslyze": sslyze}[tool](f"{host}:{port}"))


main()
