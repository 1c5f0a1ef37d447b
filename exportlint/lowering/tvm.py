"""TVM: to be written."""

from exportlint.lowering.backend import Lowering


class TVM(Lowering):
    """To be written."""

    def missing(self) -> str | None:
        """Not there yet."""
        return "not written yet"
