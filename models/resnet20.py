#!/usr/bin/env python3
"""Trains ResNet-20 on the digits of scikit-learn as coloured pictures of 32 x 32, exports to ONNX.

Needs scikit-learn, PyTorch (CPU), onnx and onnxscript. Run it in this folder; it takes some
minutes on two cores. The network is the one of He et al. 2015 for CIFAR-10, whose shape the
pictures have: each digit of 8 x 8 is enlarged four times and drawn in one colour over another.
Writes resnet20.onnx, resnet20_outputs.csv, and resnet20_train.gz and resnet20_test.gz with 100
records of 3073 bytes each: the label, then the red, green and blue plane row by row.
"""

import gzip

import numpy
import torch
from export import export
from sklearn.datasets import load_digits
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1:
            # A projection (option B of the paper).
            conv = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


def resnet20():
    blocks, inputs = [], 16
    for outputs in [16, 32, 64]:
        for index in range(3):
            blocks.append(Block(inputs, outputs, 2 if index == 0 and outputs > 16 else 1))
            inputs = outputs
    stem = [nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def pictures():
    """Coloured digits as bytes, and their labels; the colours come from a fixed seed."""
    data = load_digits()
    random = numpy.random.default_rng(1)
    large = numpy.kron(data.images / 16, numpy.ones((4, 4)))[:, None]
    ink, paper = random.uniform(0.5, 1, (2, len(large), 3, 1, 1))
    paper -= 0.5
    coloured = numpy.round(255 * (large * ink + (1 - large) * paper)).astype(numpy.uint8)
    return coloured, data.target.astype(numpy.uint8)


def write(name, images, labels):
    records = numpy.concatenate([labels[:, None], images.reshape(len(images), -1)], 1)
    with open(name, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(records.astype(numpy.uint8).tobytes())


torch.manual_seed(1)
images, labels = pictures()
order = numpy.random.default_rng(2).permutation(len(images))
train, test = order[:-297], order[-297:]
to = lambda rows: torch.tensor(images[rows] / 255, dtype=torch.float32)
model, epochs, rate = resnet20(), 6, 2e-3
optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-2)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=epochs * -(-len(train) // 64))
x, y = to(train), torch.tensor(labels[train].astype(numpy.int64))
model.train()
for epoch in range(epochs):
    total = 0.0
    for batch in torch.randperm(len(x)).split(64):
        loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        total += loss.item()
    print(f"epoch {epoch + 1}: loss {total * 64 / len(x):.3f}", flush=True)
model.eval()
with torch.no_grad():
    right = (model(to(test)).argmax(1).numpy() == labels[test]).mean()
print(f"resnet20: {100 * right:.1f} % of the test set")
export(model, to(test), "resnet20")
write("resnet20_train.gz", images[train[:100]], labels[train[:100]])
write("resnet20_test.gz", images[test[:100]], labels[test[:100]])
