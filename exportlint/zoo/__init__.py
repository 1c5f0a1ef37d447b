"""A model's name in, the model with random weights and small inputs out: `exportlint trial transformers:bert`.

A zoo is a module named in the entry point group `exportlint.zoo`; the name of the entry point stands before the colon.
It is imported in the trial's process, so it needs only torch and the library, and it has two functions:

    names() -> list[str]
    build(name: str, options: Mapping[str, Any]) -> tuple[model, args, kwargs, code]

and, where names do not begin with what they have in common, `family(name) -> str`, by which a sweep groups.

`code`, which may be left out, is Python that makes the model without exportlint: an import, and the expression.
`build` raises LookupError for a name that nobody has, and RuntimeError with a sentence where the model cannot be made.
`options` is what the user adds: `transformers:llama,use_cache=False`.
"""
