"""Lines that register a distribution of torch with pytree, by the parameters that it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.rewriting.interface.registration import node_registration

if TYPE_CHECKING:
    from collections.abc import Iterator


_BY_PLACE = ("loc", "scale")
_PARAMETERS = {
    "Normal": (_BY_PLACE,),
    "Laplace": (_BY_PLACE,),
    "Gumbel": (_BY_PLACE,),
    "Cauchy": (_BY_PLACE,),
    "Categorical": (("logits",), ("probs",)),
    "Bernoulli": (("logits",), ("probs",)),
    "OneHotCategorical": (("logits",), ("probs",)),
    "Beta": (("concentration1", "concentration0"),),
    "Dirichlet": (("concentration",),),
    "Gamma": (("concentration", "rate"),),
    "Exponential": (("rate",),),
    "Poisson": (("rate",),),
    "Uniform": (("low", "high"),),
    "StudentT": (("df", "loc", "scale"),),
}


def distribution_registrations(name: str) -> Iterator[tuple[str, str]]:
    """The parameters, as words, and the lines, for each way to make a `Normal` or `Categorical`; nothing for others."""
    whole = f"torch.distributions.{name}"
    for parameters in _PARAMETERS.get(name, ()):
        values = ", ".join(f"value.{one}" for one in parameters)
        made = f"{whole}(**dict(zip(keys, values)), validate_args=False)"
        text = node_registration(whole, f'"{whole}"', f"[{values}]", repr(list(parameters)), made)
        lines = (f"    {line}" for line in text.split("\n"))
        guard = f"if {whole} not in torch.utils._pytree.SUPPORTED_NODES:  # another file may register it"
        yield " and ".join(parameters), "\n".join((guard, *lines))
