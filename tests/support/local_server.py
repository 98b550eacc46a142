"""A small server on loopback for a test, with a thread for each connection.

LocalServer(handler): listens on server_address and serves until the last test of the module has ended. Then its
connections are shut down and its threads joined: a thread that still runs while the interpreter ends can crash it
after every test has passed. tools/check refuses daemon threads in tests.
"""

import socket
import socketserver
import threading
import unittest


class LocalServer(socketserver.ThreadingTCPServer):
    request_queue_size = 128

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self._open = set()
        serve_until_the_end(self)

    def process_request(self, request, client_address):
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self):
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the client has ended the connection
        super().server_close()


def serve_until_the_end(server):
    """Serves on a thread that ends with the tests of this module."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))

    def end():
        server.shutdown()
        thread.join()
        server.server_close()

    thread.start()
    unittest.addModuleCleanup(end)
