"""Which attributes carry a value from one call to the next (exportlint/rule/lifetimes/attribute_use.py)."""

import ast
import textwrap

import pytest

from exportlint import use_of


def use(source, attribute="x"):
    body = ast.parse(textwrap.dedent(source)).body
    return use_of(attribute, {f.name: f for f in body if isinstance(f, ast.FunctionDef)})


CARRIED = {
    "read, then set": "def forward(self):\n    y = self.x\n    self.x = 1",
    "counted, then read": "def forward(self):\n    self.x += 1\n    return self.x",
    "set on one path only": "def forward(self, a):\n    if a:\n        self.x = 1\n    return self.x",
    "tested before it is made": "def forward(self):\n    if self.x is None:\n        self.x = 1\n    return self.x",
    "set in a loop that may not run": "def forward(self, a):\n    for b in a:\n        self.x = b\n    return self.x",
    "read by a method that runs first": (
        "def forward(self):\n    self.look()\n    self.x = 1\ndef look(self):\n    return self.x"
    ),
    "read through a property": (
        "def forward(self):\n    a = self.p\n    self.x = a\n@property\ndef p(self):\n    return self.x"
    ),
    "read by name": "def forward(self):\n    a = getattr(self, 'x')\n    self.x = a",
    "taken out of a container": "def forward(self):\n    return self.x.pop(0)",
}

RESET = {
    "set, then read": "def forward(self):\n    self.x = 1\n    return self.x",
    "set on both paths": "def forward(self, a):\n    if a: self.x = 1\n    else: self.x = 2\n    return self.x",
    "set, or the call ends": "def forward(self, a):\n    if a: self.x = 1\n    else: return 0\n    return self.x",
    "set by a method": "def forward(self):\n    self.make()\n    return self.x\ndef make(self):\n    self.x = 1",
    "set under `with`": "def forward(self, c):\n    with c:\n        self.x = 1\n    return self.x",
    "emptied, filled, read": "def forward(self, a):\n    self.x.clear()\n    self.x.append(a)\n    return self.x",
    "an item set and read": "def forward(self, a):\n    self.x['k'] = a\n    return self.x['k']",
    "never read": "def forward(self, a):\n    self.x = a",
    "appended to, never read": "def forward(self, a):\n    self.x.append(a)",
    "counted, never read": "def forward(self):\n    self.x += 1",
}


@pytest.mark.parametrize("source", CARRIED.values(), ids=CARRIED)
def test_a_value_of_the_last_call_is_read(source):
    assert use(source).early


@pytest.mark.parametrize("source", RESET.values(), ids=RESET)
def test_no_value_of_the_last_call_is_read(source):
    assert not use(source).early


def test_an_attribute_of_an_attribute():
    assert use("def forward(self):\n    y = self.m.n\n    self.m.n = y", "m.n").early
    assert not use("def forward(self):\n    self.m.n = 1\n    return self.m.n", "m.n").early
    assert not use("def forward(self):\n    self.m = make()\n    return self.m.n", "m.n").early


def test_methods_that_call_each_other_end():
    assert use("def forward(self):\n    self.a()\ndef a(self):\n    self.forward()\n    return self.x").early
