"""Loops that data ends or skips take all their steps, and a step that would not have been changes nothing."""

import pytest
from rewritten_text import forward, rewritten


def steps(body):
    return rewritten(forward(body)).partition("self, x: torch.Tensor):\n")[2].rstrip().split("\n        ")


def test_behind_continue_what_was_there_before_the_loop_keeps_its_value():
    body = """\
total = torch.zeros(4)
for row in x.unbind(0):
    if row.sum() < 0:
        continue
    doubled = row * 2
    total = total + doubled
return total"""
    assert steps(body)[1:] == [
        "for row in x.unbind(0):",
        "    skipped = row.sum() < 0",
        "    doubled = row * 2",
        "    total = torch.where(skipped, total, total + doubled)",
        "return total",
    ]


def test_places_of_a_tensor_keep_theirs():
    body = """\
out = torch.zeros_like(x)
for i in range(3):
    if x[i].sum() < 0:
        continue
    out[i:] += x[i]
return out"""
    assert steps(body)[2:-1] == [
        "    skipped = x[i].sum() < 0",
        "    out[i:] = torch.where(skipped, out[i:], out[i:] + x[i])",
    ]


def test_a_loop_with_a_bound_of_python_goes_on_to_it():
    body = """\
step = 0
while step < 8 and (x < 1).any():
    x = x * 2
    step += 1
return x"""
    assert steps(body) == [
        "        step = 0",
        "done = torch.tensor(False)",
        "while step < 8:",
        "    done = done | torch.logical_not((x < 1).any())",
        "    x = torch.where(done, x, x * 2)",
        "    step += 1",
        "return x",
    ]


def test_names_of_a_step_alone_need_no_choice():
    body = """\
for _ in range(5):
    new = x.sigmoid()
    change = (new - x).norm()
    x = new
    if change < 0.1:
        break
return x"""
    assert steps(body)[1:] == [
        "for _ in range(5):",
        "    new = x.sigmoid()",
        "    change = (new - x).norm()",
        "    x = torch.where(done, x, new)",
        "    done = torch.logical_or(done, change < 0.1)",
        "return x",
    ]


SKIPPING = "for row in x.unbind(0):\n    if row.sum() < 0:\n        continue\n    "


@pytest.mark.parametrize(
    "body",
    [
        "step = 0\nwhile step < 8 and (x < 1).any():\n    x = x * 2\n    step += 1\nreturn x * step",
        f"found = []\n{SKIPPING}found.append(row)\nreturn found",
        f"{SKIPPING}last = row * 2\nreturn last",
    ],
    ids=["the steps are counted", "a list grows", "a name of the steps is read behind the loop"],
)
def test_others_stay(body):
    assert steps(body)[0].strip() == body.split("\n")[0]
    assert "torch.where" not in "\n".join(steps(body))
