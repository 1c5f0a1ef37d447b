"""Hands one model to torch, and ends as its argument says."""

import os
import signal
import sys
import threading

import torch


def export():
    torch.export.export(torch.nn.Linear(3, 3).eval(), (torch.ones(2, 3),))


match sys.argv[1:]:
    case ["thread"]:
        thread = threading.Thread(target=export)
        thread.start()
        thread.join()
    case ["fork"]:
        export()
        if os.fork() == 0:
            export()
            os._exit(0)
        os.wait()
    case ["never"]:
        sys.stdout.write("nothing to see")
    case ["prepares"]:
        torch.compile(torch.nn.Linear(3, 3))
    case ["early"]:
        raise OSError("no weights here")
    case [how]:
        export()
        match how:
            case "exit":
                os._exit(5)
            case "segfault":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "hang":
                signal.pause()
            case "raise":
                raise ValueError("no data here")
