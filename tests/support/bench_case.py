"""A test of a part of tools/bench around programs that the test makes up; tools/py is in its path."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import progress


class BenchCase(unittest.TestCase):
    def setUp(self):
        progress.quiet = True
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="clockoo-bench-test-")))

    def program(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def rows(self, name, rows):
        (self.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    def measured(self, measure):
        """Calls measure(keep). Returns its figures, what it printed, and what it kept, step by step."""
        kept = []
        with contextlib.redirect_stdout(io.StringIO()) as out:
            figures = measure(lambda found: kept.append(dict(found)))
        return figures, out.getvalue(), kept
