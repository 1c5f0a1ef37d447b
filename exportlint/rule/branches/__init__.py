"""The functions that operators run (`torch.cond`, `while_loop`): their syntax in, what they touch and return out."""
