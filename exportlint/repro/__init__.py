"""A trial's report in, scripts out that fail in the same way without exportlint."""
