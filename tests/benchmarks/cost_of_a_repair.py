"""What it costs to mend a model with one defect, beside its trial. Prints ratios and gates nothing.

`python tests/benchmarks/cost_of_a_repair.py [ROUNDS]`: both in turn, the smallest of the rounds, in the default mode.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cost_of_a_trial import beside, cost

EXAMPLES = Path(__file__).parents[2] / "fixtures/examples"
NAMES = ("branch_on_score", "clip_through_data", "counter_on_self")
WANTED = 2.5


def main(rounds: int) -> None:
    for name in NAMES:
        target = ("--mode", "non-strict", str(EXAMPLES / f"{name}.py"))
        beside(
            name,
            lambda target=target: cost("-m", "exportlint", "fix", *target),
            lambda target=target: cost("-m", "exportlint", "trial", "--exit-zero", *target),
            rounds,
            WANTED,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
