"""What it costs to mend a model with one defect, or to find that nothing helps, beside its trial. Prints ratios and
gates nothing.

`python tests/benchmarks/cost_of_a_repair.py [ROUNDS]`: both in turn, the smallest of the rounds, in the default mode.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cost_of_a_trial import beside, cost

EXAMPLES = Path(__file__).parents[2] / "fixtures/examples"
UNMENDED = Path(__file__).parent / "models.py"
NAMES = ("branch_on_score", "clip_through_data", "counter_on_self")
WANTED, WANTED_OF_NOTHING = 1.5, 3.0


def main(rounds: int) -> None:
    targets = {name: (str(EXAMPLES / f"{name}.py"), WANTED, 0) for name in NAMES}
    targets["nothing helps"] = (f"{UNMENDED}:OtherSizes", WANTED_OF_NOTHING, 1)
    for name, (target, wanted, ends_with) in targets.items():
        rest = ("--mode", "non-strict", target)
        beside(
            name,
            lambda rest=rest, code=ends_with: cost("-m", "exportlint", "fix", *rest, ends_with=code),
            lambda rest=rest: cost("-m", "exportlint", "trial", "--exit-zero", *rest),
            rounds,
            wanted,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
