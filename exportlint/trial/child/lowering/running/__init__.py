"""An artefact and calls in, what a process that has only the runtime gives for them out."""
