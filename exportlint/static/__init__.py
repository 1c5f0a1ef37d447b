"""The static pass: files in, findings out, without torch; `tests/benchmarks/STATIC_PASS.md` has what it costs."""
