#!/usr/bin/env python3
"""Trains LeNet-5 on the digits of mnist/, with ReLU and with squares, and exports both to ONNX.

Needs PyTorch (CPU), onnx and onnxscript. Run it in this folder; it takes about two minutes on two
cores. Training sees train.gz alone; test.gz is read once, to print the accuracy.
"""

import gzip

import numpy
import torch
from export import export
from torch import nn


class Square(nn.Module):
    def forward(self, x):
        return x * x


def lenet5(activation, normalise):
    """The layers of LeCun et al. 1998, padded to keep 28 x 28, with averages as pooling.

    Squares need their inputs to be of one size, which batch normalisation sees to.
    """
    norm2 = (lambda n: [nn.BatchNorm2d(n)]) if normalise else lambda n: []
    norm1 = (lambda n: [nn.BatchNorm1d(n)]) if normalise else lambda n: []
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), *norm2(6), activation(), nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5), *norm2(16), activation(), nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120), *norm1(120), activation(),
        nn.Linear(120, 84), *norm1(84), activation(),
        nn.Linear(84, 10),
    )  # fmt: skip


def digits(name):
    records = numpy.frombuffer(gzip.open(f"mnist/{name}.gz").read(), numpy.uint8).reshape(-1, 785)
    images = torch.tensor(records[:, 1:].reshape(-1, 1, 28, 28) / 255, dtype=torch.float32)
    return images, torch.tensor(records[:, 0], dtype=torch.int64)


def train(model, images, labels, epochs, rate):
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-2)
    steps = epochs * -(-len(images) // 64)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps)
    model.train()
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    model.eval()


images, labels = digits("train")
test_images, test_labels = digits("test")
for name, activation, normalise in [("lenet5_relu", nn.ReLU, False), ("lenet5_square", Square, True)]:
    torch.manual_seed(1)
    model = lenet5(activation, normalise)
    train(model, images, labels, 8, 4e-3)
    with torch.no_grad():
        right = (model(test_images).argmax(1) == test_labels).float().mean()
    print(f"{name}: {100 * right:.1f} % of the test set")
    export(model, test_images, name)
