"""What holds for every test."""

from __future__ import annotations

import os
import tempfile

# Tests, and the programs they start, remember nothing in the home of the person who runs them.
os.environ.setdefault("EXPORTLINT_CACHE_DIR", tempfile.mkdtemp(prefix="exportlint-tests-"))
