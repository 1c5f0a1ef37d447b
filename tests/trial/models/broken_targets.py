"""Targets that are wrong in themselves."""

import torch


def make():
    return torch.nn.Linear(3, 3)


bound = torch.nn.Linear(3, 3).forward


def args():
    return (torch.ones(2, 3),)


def lone_tensor():
    return torch.ones(2, 3)


def args_list():
    return [torch.ones(2, 3)]


def args_that_raise():
    raise ValueError("no data here")


def no_model():
    return 3


def wrong_shape():
    return (torch.ones(2, 4),)


def kwargs_tuple():
    return (1,)
