"""An exported program and a lowering in; compiled, loaded in a fresh process, run and compared with eager out."""
