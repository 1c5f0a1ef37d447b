"""One file a target of deployment: an exported program in; compiled, loaded, run and compared with eager out."""
