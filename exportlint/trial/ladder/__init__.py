"""Which stages run on a target, in which order and in which process."""
