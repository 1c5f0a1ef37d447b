"""Load torch, and serve its forks at the line that is named: `python torch_alone.py FD`."""

import os
import socket
import sys

import torch  # noqa: F401 - for the forks

from exportlint.trial.child.lowering.torch_forks import serve_torch_forks

serve_torch_forks(socket.socket(fileno=int(sys.argv[1])), os.getppid())
