"""Imported in the process that measurements are forks of, where it exports once in each mode.

At its first export, decomposition and save a process builds torch's tables, which takes three seconds; the forks find
them built, and need half a second.
"""

import contextlib
import io
import warnings

import torch

from exportlint.trial.protocol.outcomes import MODES, STRICT


def _export(*, strict: bool) -> None:
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(3),), strict=strict)
    program.run_decompositions()
    torch.export.save(program, file := io.BytesIO())
    file.seek(0)
    torch.export.load(file)


with contextlib.suppress(ImportError):
    import tqdm

    tqdm.tqdm.monitor_interval = 0  # no thread watches the progress bar of a decomposition: forks follow
# A version that cannot do one of these says so where it is measured; there it is only slower.
with warnings.catch_warnings(), contextlib.suppress(Exception):
    warnings.simplefilter("ignore")
    for _mode in MODES:
        _export(strict=_mode == STRICT)
