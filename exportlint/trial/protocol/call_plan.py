"""Which inputs a program is called with when it is compared with eager."""

from __future__ import annotations

# Input set 0 is the sample, 1 the target's other inputs or other values of the same shapes. Each is called twice in a
# row on the same program, so that state shows.
CALL_PLAN = (0, 0, 1, 1)
