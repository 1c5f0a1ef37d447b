"""What runs in the processes of a trial, under the interpreter that has torch, and imports nothing else."""
