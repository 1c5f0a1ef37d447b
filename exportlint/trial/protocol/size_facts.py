"""Facts about sizes that an export found: plain data, worded by the parent.

A fact is a dict that JSON takes. "fact" names it; dims are [label of the input, dim], places are [path, line, source].

about what was declared dynamic; "declared" is the declaration as code, "here": is the line known that breaks it?
  special        "dim", "sample": the sample's size is 0 or 1, of which torch makes a constant
  equals-static  "dim", "others": dims that are not declared and must be equal
  constant       "dim", "value": the trace made a number of it
  narrowed       "dims", "asked" [low, high], "range" [low, high], "name": it takes less than was asked; "goes_on": does
                 eager take more?
  condition      "expression", or "name" and "multiple": what must hold and is in no declaration
  unequal        "dim", "other", "other_declared": declared as different ones, and must be equal
  outside        "dim", "sample", "asked": the sample is outside of its own declared range
  other-inputs   "dims", "proposal": the other inputs need what nothing declares
  other-inputs-fixed  "dims": the same, and the line of the observation makes constants of them

about what may be declared
  range          "name", "dims", "range", "step", "smaller" (a smaller size that was tried and is right, or None),
                 "tried" (the largest size that was; None: not told), "memory" (bytes that more takes; None: not known)
  because        "range" (one end is None) or "multiple", "place": the line that demands it; of the range before
  eager-ends     "range" (one end is None), "beyond" [name, size] of each dim with which eager raised, "eager_says",
                 "place"; of the range before
  equal          "place": the line that made one of several dims; of the range before
  follows        "dim", "expression", "place": the dim is computed from others
  holds          "expression", "place": what must hold of several sizes
  limits         "expression", "place": the same, and the ranges above keep to it
  fixed-by       "expression", "dims", "place": the same, and it leaves these dims no other size
  fixed          "dim", "value", "special", "place"
  goes-wrong     "dims", "size", "says": the program was wrong with that size, so the dims stay as they are
  not-taken      "dims", "torch_says": torch refuses the dims with the range that was found
  not-run        "dims", "eager_says": no other size ran
  argument       "name", "value" (as code): an input that is no tensor, of which the export made a constant
  data           "name", "range", "place": a number that is read from data; None where there is no end
  batches-joined "dims": taken as one batch, though nothing demands it
  one-in-sample  "dims": the sample's 1 was replaced by a larger size
  not-all-tried  "seconds": with all dims free, this took longer; or "torch_says": torch refused
  others-inside  "sizes" [name, size], "agrees": the further inputs are within the ranges, and the program agrees with
                 eager there; None where eager does not take them
  others-outside "dims" [label, dim, size]: the further inputs are outside of the ranges; with "expression" and "place",
                 this excludes them
  others-same    the further inputs have the sample's sizes
  none           no dim can be dynamic; none-declared: of those that are declared, and no other was looked at
  not-found      some dims may be dynamic, but no attempt to declare them went well
"""

from __future__ import annotations

from typing import Any

Fact = dict[str, Any]
# Of a declaration that the sample itself breaks, whatever the model does.
OF_THE_SAMPLE = frozenset({"special", "outside"})
# What may be declared: {"facts": [Fact, …], "code": the Python that declares it}.
ShapesFound = dict[str, Any]
