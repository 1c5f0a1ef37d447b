"""A rule package of somebody else: installed with pip, and its rule works with no edit anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from processes import exportlint

if TYPE_CHECKING:
    from pathlib import Path


PACKAGE = {
    "pyproject.toml": """
        [build-system]
        requires = ["setuptools"]
        build-backend = "setuptools.build_meta"
        [project]
        name = "acme-export-rules"
        version = "1.0"
        [project.entry-points."exportlint.rules"]
        acme = "acme_rules"
        [tool.setuptools]
        packages = ["acme_rules", "acme_rules.fixtures"]
        [tool.setuptools.package-data]
        "acme_rules.fixtures" = ["truth/*/*.json"]
    """,
    "acme_rules/__init__.py": "",
    "acme_rules/acme_kernel_call.py": '''
        """Calls of the vendor kernel `acme.kernel`, which has no fake implementation."""

        import libcst as cst

        from exportlint import Case, Rule


        class AcmeKernelCall(Rule):
            cases = {"BadKernel": Case("`{code}` calls a vendor kernel", "Call `acme.traceable` instead.")}

            def visit_Call(self, node: cst.Call) -> None:
                if self.code.name(node.func) == "acme.kernel":
                    self.report(node, "BadKernel")
    ''',
    "acme_rules/fixtures/__init__.py": "",
    "acme_rules/fixtures/acme_kernel_call.py": '''
        import acme
        from torch import nn


        class BadKernel(nn.Module):
            """Calls the kernel."""

            def forward(self, x):
                return acme.kernel(x)  # error: acme-kernel-call
    ''',
    "acme_rules/fixtures/truth/acme_kernel_call/torch-2.13.0.json": json.dumps(
        {
            "torch": "2.13.0",
            "exported": {"BadKernel": {"non-strict": {"outcome": "refused"}, "strict": {"outcome": "refused"}}},
        }
    ),
}
MODEL = """
import acme
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return acme.kernel(x)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package installed in it."""
    folder = tmp_path_factory.mktemp("acme")
    for name, text in PACKAGE.items():
        path = folder / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(line.removeprefix("        ") for line in text.split("\n")).lstrip("\n"), "utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder / "site")]
    subprocess.run([*pip, str(folder / "source")], check=True)
    return folder / "site"


@pytest.mark.slow
def test_an_installed_rule_finds_explains_and_is_listed(site: Path, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL, "utf-8")
    done = exportlint(tmp_path, "--output-format", "json", PYTHONPATH=str(site))
    assert done.returncode == 1, done.stderr
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["rule"], finding["line"], finding["severity"]) == ("acme-kernel-call", 8, "error")
    assert finding["effect"]["non-strict"] == "refused"
    assert finding["fix"]["description"] == "Call `acme.traceable` instead."
    explained = exportlint(tmp_path, "explain", "acme-kernel-call", PYTHONPATH=str(site)).stdout
    assert "class BadKernel" in explained
    assert "torch 2.13.0: non-strict: refused; strict: refused" in explained
    assert "acme-kernel-call" in exportlint(tmp_path, "rules", PYTHONPATH=str(site)).stdout
    assert exportlint(tmp_path, "--ignore", "acme-kernel-call", PYTHONPATH=str(site)).returncode == 0


@pytest.mark.slow
def test_the_pages_of_this_repository_do_not_list_it(site: Path) -> None:
    code = "from exportlint.pages.catalogue import rules_page; print(rules_page())"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert "acme" not in done.stdout
