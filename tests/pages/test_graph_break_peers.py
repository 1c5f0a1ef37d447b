"""The page of peers names the lines at which its models break today."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "graph_break_peers.py"


def test_the_page_has_the_lines_of_the_stored_truth() -> None:
    spec = importlib.util.spec_from_file_location("graph_break_peers", BENCHMARK)
    assert spec
    assert spec.loader
    benchmark = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = benchmark  # dataclasses look their module up
    spec.loader.exec_module(benchmark)
    page = BENCHMARK.with_name("GRAPH_BREAK_PEERS.md").read_text("utf-8")
    assert benchmark.models_table(benchmark.models()) in page, f"run python {BENCHMARK.name} --write"
