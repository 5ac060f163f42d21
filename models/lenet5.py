#!/usr/bin/env python3
"""Trains LeNet-5 on the digits of mnist/, with ReLU and with squares, and exports both to ONNX.

Needs PyTorch (CPU), onnx and onnxscript. Run it in this folder; it takes about two minutes on two
cores. Of the 9000 digits of train.gz, 8000 train and 1000, drawn with a fixed seed, choose the
epoch. test.gz is read once, after both models are trained, to print the accuracy and to write
example outputs.
"""

import copy
import gzip

import numpy
import torch
from export import export
from torch import nn

VALIDATION = 1000
EPOCHS = 16
RATE = 4e-3


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


def right(model, images, labels):
    """The fraction of the images whose class the model finds."""
    model.eval()
    with torch.no_grad():
        return (model(images).argmax(1) == labels).double().mean().item()


def train(model, images, labels, validation):
    """Trains for EPOCHS epochs, and keeps the weights of the best one.

    The best epoch is the first with the most digits right of the validation set. Returns it, from
    1, and that fraction.
    """
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=1e-2)
    steps = EPOCHS * -(-len(images) // 64)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    best = (0, -1.0, None)
    for epoch in range(1, EPOCHS + 1):
        model.train()
        for batch in torch.randperm(len(images)).split(64):
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
        accuracy = right(model, *validation)
        if accuracy > best[1]:
            best = (epoch, accuracy, copy.deepcopy(model.state_dict()))
    model.load_state_dict(best[2])
    return best[:2]


images, labels = digits("train")
order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
held_out, rest = order[:VALIDATION], order[VALIDATION:]
trained = []
for name, activation, normalise in [("lenet5_relu", nn.ReLU, False), ("lenet5_square", Square, True)]:
    torch.manual_seed(1)
    model = lenet5(activation, normalise)
    validation = images[held_out], labels[held_out]
    epoch, accuracy = train(model, images[rest], labels[rest], validation)
    print(f"{name}: epoch {epoch} of {EPOCHS}, {100 * accuracy:.1f} % of the validation set")
    trained.append((name, model))

# Everything is chosen: the test set is read here for the first time.
test_images, test_labels = digits("test")
for name, model in trained:
    accuracy = right(model, test_images, test_labels)
    print(f"{name}: {100 * accuracy:.1f} % of the test set")
    export(model, test_images, name)
