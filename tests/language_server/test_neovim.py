"""Neovim, set up as docs/editors.md says: what it underlines, what it shows on a name, what it offers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from processes import all_end
from sources import ROOT

GATE = """\
import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x: torch.Tensor):
        if x.mean() > 0:
            return x * 2
        return x
"""
# What somebody does by hand. `vim.wait` asks every 20 ms; a language server that starts reads the rules first.
SESSION = """\
local seen = {}

local function wait(what, holds)
  if not vim.wait(60000, holds, 20) then
    seen.failed = what
  end
end

local function asked(method, parameters)
  for _, answer in pairs(vim.lsp.buf_request_sync(0, method, parameters, 60000) or {}) do
    return answer.result
  end
end

local function at(line, character)
  return { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = line, character = character } }
end

wait('a diagnostic', function() return #vim.diagnostic.get(0) > 0 end)
seen.diagnostics = vim.tbl_map(function(one)
  return { code = one.code, source = one.source, line = one.lnum, from = one.col, to = one.end_col }
end, vim.diagnostic.get(0))

seen.underlined = {}
for _, namespace in pairs(vim.diagnostic.get_namespaces()) do
  local drawn = namespace.user_data.underline_ns
  for _, mark in ipairs(drawn and vim.api.nvim_buf_get_extmarks(0, drawn, 0, -1, { details = true }) or {}) do
    table.insert(seen.underlined, { mark[2], mark[3], mark[4].end_col, mark[4].hl_group })
  end
end

seen.hover = asked('textDocument/hover', at(6, 11)).contents.value
seen.actions = {}
local there = { start = at(6, 11).position, ['end'] = at(6, 11).position }
local actions = asked('textDocument/codeAction', {
  textDocument = at(0, 0).textDocument, range = there, context = { diagnostics = {} },
})
for _, action in ipairs(actions or {}) do
  table.insert(seen.actions, action.title)
end

vim.api.nvim_buf_set_lines(0, 6, 7, true, { '        if x.dim() > 0:' })
wait('no diagnostic after the line was changed', function() return #vim.diagnostic.get(0) == 0 end)
vim.fn.writefile({ vim.fn.json_encode(seen) }, 'seen.json')
vim.cmd('qall!')
"""


@pytest.fixture(scope="module")
def neovim() -> tuple[str, str]:
    """The command, and the part of the page that is for its version."""
    # A variable of the environment names another version than the one that is installed.
    command = os.environ.get("NEOVIM") or shutil.which("nvim")
    if not command:
        pytest.skip("these tests need Neovim: apt-get install -y --no-install-recommends neovim")
    version = re.match(r"NVIM v0\.(\d+)", subprocess.check_output([command, "--version"], text=True))
    assert version
    heading = "### 0.11 and newer" if int(version[1]) >= 11 else "### 0.7 to 0.10"
    page = (ROOT / "docs/editors.md").read_text("utf-8")
    block = re.search(rf"{re.escape(heading)}\n.*?```lua\n(.*?)```", page, re.DOTALL)
    assert block, f"docs/editors.md has no Lua under {heading!r}"
    return command, block[1]


@pytest.fixture(scope="module")
def seen(neovim: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Neovim showed of a file that was opened and then edited."""
    command, configuration = neovim
    folder = tmp_path_factory.mktemp("neovim")
    (folder / "gate.py").write_text(GATE, "utf-8")
    (folder / "init.lua").write_text(configuration, "utf-8")
    (folder / "session.lua").write_text(SESSION, "utf-8")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        **{f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")},
    }
    arguments = ["--headless", "-n", "-u", "init.lua", "gate.py", "-c", "luafile session.lua"]
    done = subprocess.run(
        [command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    said = folder / "seen.json"
    assert said.exists(), done.stderr
    found: dict[str, Any] = json.loads(said.read_text("utf-8"))
    assert "failed" not in found, f"waited for {found['failed']}: {found}\n{done.stderr}"
    # Of this folder alone: other tests have servers too.
    found["processes"] = [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == str(folder)]
    return found


def test_the_condition_is_underlined(seen: dict[str, Any]) -> None:
    assert seen["diagnostics"] == [
        {"code": "data-dependent-branch", "source": "exportlint", "line": 6, "from": 11, "to": 23}
    ]
    assert seen["underlined"] == [[6, 11, 23, "DiagnosticUnderlineError"]]


def test_it_tells_what_torch_does_and_offers_what_to_write(seen: dict[str, Any]) -> None:
    assert "data-dependent-branch" in seen["hover"]
    assert "Suppress" in " ".join(seen["actions"])


def test_nothing_runs_on_after_the_editor_has_ended(seen: dict[str, Any]) -> None:
    assert all_end(seen["processes"])
