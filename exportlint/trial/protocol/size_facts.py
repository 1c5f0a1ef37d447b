"""Facts about sizes that an export found: plain data, worded by the parent.

A fact is a dict that JSON takes. "fact" names it; dims are [label of the input, dim], places are [path, line, source].

about what was declared dynamic; "declared" is the declaration as code, "here": is the line known that breaks it?
  special        "dim", "sample": the sample's size is 0 or 1, of which torch makes a constant
  equals-static  "dim", "others": dims that are not declared and must be equal
  constant       "dim", "value": the trace made a number of it
  narrowed       "dims", "asked" [low, high], "range" [low, high], "name": it takes less than was asked
  condition      "expression", or "name" and "multiple": what must hold and is in no declaration
  unequal        "dim", "other", "other_declared": declared as different ones, and must be equal
  outside        "dim", "sample", "asked": the sample is outside of its own declared range
  other-inputs   "dims", "proposal": the other inputs need what nothing declares

about what may be declared
  range          "name", "dims", "range", "smaller" (a smaller size that was tried and is right, or None)
  because        "range" or "multiple", "place": the line that demands it; of the range before
  equal          "place": the line that made one of several dims; of the range before
  holds          "expression", "place"
  fixed          "dim", "value", "special", "place"
  batches-joined "dims": taken as one batch, though nothing demands it
  one-in-sample  "dims": the sample's 1 was replaced by a larger size
  not-all-tried  "seconds": with all dims free, torch did not end in that time; or "torch_says": it refused
  none           no dim can be dynamic
"""

from __future__ import annotations

from typing import Any

Fact = dict[str, Any]
# What may be declared: {"facts": [Fact, …], "code": the Python that declares it}.
ShapesFound = dict[str, Any]
