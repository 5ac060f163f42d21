#!/usr/bin/env python3
"""Trains a small network on each of two tables of scikit-learn, and exports it to ONNX.

Needs scikit-learn, PyTorch (CPU), onnx and onnxscript. Run it in this folder; it takes seconds.
Writes NAME.onnx, NAME_outputs.csv, NAME_train.csv (for calibration) and NAME_test.csv with
NAME_test_labels.csv.
The columns are standardised inside the network, so that tables hold the numbers as measured.
"""

import numpy
import torch
from export import export
from sklearn import datasets
from sklearn.model_selection import train_test_split
from torch import nn


class Standardised(nn.Module):
    """(x - mean) / deviation of the training set, folded into the first layer."""

    def __init__(self, features, classes, hidden, activation):
        super().__init__()
        self.first, self.second = nn.Linear(features, hidden), nn.Linear(hidden, classes)
        self.activation = activation

    def forward(self, x):
        return self.second(self.activation(self.first(x)))

    def fold(self, mean, deviation):
        with torch.no_grad():
            self.first.bias -= self.first.weight @ (mean / deviation)
            self.first.weight /= deviation


def write(name, rows, columns):
    numpy.savetxt(name, rows, delimiter=",", fmt="%.7g", header=",".join(columns), comments="")


for name, load, activation in [
    ("breast_cancer", datasets.load_breast_cancer, nn.Sigmoid()),
    ("wine", datasets.load_wine, nn.Tanh()),
]:
    data = load()
    columns = [column.replace(" ", "_").replace("/", "_") for column in data.feature_names]
    split = train_test_split(data.data, data.target, test_size=0.25, random_state=1, stratify=data.target)
    train, test, labels, test_labels = split
    to = lambda rows: torch.tensor(rows, dtype=torch.float32)
    mean, deviation = to(train.mean(0)), to(train.std(0))
    torch.manual_seed(1)
    model = Standardised(train.shape[1], len(data.target_names), 16, activation)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.02)
    standard, target = (to(train) - mean) / deviation, torch.tensor(labels)
    for _ in range(300):
        loss = nn.functional.cross_entropy(model(standard), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.fold(mean, deviation)
    with torch.no_grad():
        right = (model(to(test)).argmax(1) == torch.tensor(test_labels)).float().mean()
    print(f"{name}: {100 * right:.1f} % of the test set")
    export(model, to(test), name)
    write(f"{name}_train.csv", train, columns)
    write(f"{name}_test.csv", test, columns)
    write(f"{name}_test_labels.csv", test_labels[:, None], ["class"])
