#!/usr/bin/env python3
"""Trains a small network on the digits of mnist/, for keys that a browser can make, as ONNX.

Needs NumPy and onnx. Run it in this folder; it takes about three minutes on two cores. Of the 9000
digits of train.gz, 8000 train and 1000, drawn with a fixed seed, choose the epoch. test.gz is read
once, at the end, to print the accuracy and to write example outputs.
"""

import gzip

import numpy
import onnx
from onnx import helper, numpy_helper

NAME = "digits_small"
HIDDEN = 64
VALIDATION = 1000
EPOCHS = 60
BATCH = 64
RATE = 2e-3
DECAY = 1e-2


def digits(name):
    records = numpy.frombuffer(gzip.open(f"mnist/{name}.gz").read(), numpy.uint8).reshape(-1, 785)
    return records[:, 1:] / 255, records[:, 0].astype(int)


def moved(images, random):
    """Each picture turned, sheared, scaled and shifted a little, as people write."""
    count = len(images)
    angle = random.uniform(-0.2, 0.2, count)
    shear = random.uniform(-0.15, 0.15, count)
    scale = random.uniform(0.88, 1.12, (count, 2))
    shift = random.uniform(-1.0, 1.0, (count, 2))
    cos, sin = numpy.cos(angle), numpy.sin(angle)
    # From a place of the new picture to one of the old, both from the middle.
    place = numpy.arange(28) - 13.5
    y, x = place[None, :, None], place[None, None, :]
    turned_x = cos[:, None, None] * x - sin[:, None, None] * y + shear[:, None, None] * y
    turned_y = sin[:, None, None] * x + cos[:, None, None] * y
    at_x = turned_x * scale[:, :1, None] + shift[:, :1, None] + 13.5
    at_y = turned_y * scale[:, 1:, None] + shift[:, 1:, None] + 13.5
    padded = numpy.pad(images.reshape(-1, 28, 28), ((0, 0), (1, 2), (1, 2)))
    at_x, at_y = numpy.clip(at_x + 1, 0, 28.999), numpy.clip(at_y + 1, 0, 28.999)
    left, top = at_x.astype(int), at_y.astype(int)
    right_part, bottom_part = at_x - left, at_y - top
    which = numpy.arange(count)[:, None, None]
    pixel = lambda dy, dx: padded[which, top + dy, left + dx]  # noqa: E731
    upper = (1 - right_part) * pixel(0, 0) + right_part * pixel(0, 1)
    lower = (1 - right_part) * pixel(1, 0) + right_part * pixel(1, 1)
    return ((1 - bottom_part) * upper + bottom_part * lower).reshape(count, -1)


def scores(weights, images):
    first, bias, last, offset = weights
    hidden = images @ first.T + bias
    return hidden, hidden * hidden @ last.T + offset


def right(weights, images, labels):
    """The fraction of the images whose class the network finds."""
    return (scores(weights, images)[1].argmax(1) == labels).mean()


def gradient(weights, images, labels):
    """Of the mean cross entropy."""
    hidden, outputs = scores(weights, images)
    outputs = numpy.exp(outputs - outputs.max(1, keepdims=True))
    error = outputs / outputs.sum(1, keepdims=True)
    error[numpy.arange(len(labels)), labels] -= 1
    error /= len(labels)
    inner = 2 * hidden * (error @ weights[2])
    return [inner.T @ images, inner.sum(0), error.T @ (hidden * hidden), error.sum(0)]


def train(images, labels, validation, random):
    """Trains by AdamW with one cycle of the rate, and keeps the weights of the best epoch.

    The best epoch is the first with the most digits right of the validation set. Returns the
    weights, that epoch from 1, and the fraction.
    """
    weights = [
        random.normal(0, 0.05, (HIDDEN, 784)),
        numpy.zeros(HIDDEN),
        random.normal(0, 0.2, (10, HIDDEN)),
        numpy.zeros(10),
    ]
    means, squares = [[numpy.zeros_like(w) for w in weights] for _ in range(2)]
    steps, step = EPOCHS * (len(images) // BATCH), 0
    best = (None, 0, -1.0)
    for epoch in range(1, EPOCHS + 1):
        order = random.permutation(len(images))
        for batch in order[: len(order) // BATCH * BATCH].reshape(-1, BATCH):
            step += 1
            part = step / steps
            rate = RATE * min(part / 0.2, (1 - part) / 0.8 + 1e-3)
            for i, g in enumerate(gradient(weights, moved(images[batch], random), labels[batch])):
                means[i] += 0.1 * (g - means[i])
                squares[i] += 0.001 * (g * g - squares[i])
                mean, square = means[i] / (1 - 0.9**step), squares[i] / (1 - 0.999**step)
                weights[i] = weights[i] * (1 - rate * DECAY) - rate * mean / (numpy.sqrt(square) + 1e-8)
        fraction = right(weights, *validation)
        if fraction > best[2]:
            best = ([w.copy() for w in weights], epoch, fraction)
    return best


def export(weights):
    names = ["first", "bias", "last", "offset"]
    constants = [numpy_helper.from_array(w.astype(numpy.float32), n) for w, n in zip(weights, names)]
    nodes = [
        helper.make_node("Flatten", ["image"], ["flat"], axis=1),
        helper.make_node("Gemm", ["flat", "first", "bias"], ["hidden"], transB=1),
        helper.make_node("Mul", ["hidden", "hidden"], ["squares"]),
        helper.make_node("Gemm", ["squares", "last", "offset"], ["scores"], transB=1),
    ]
    value = lambda name, shape: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)  # noqa: E731
    inputs, outputs = [value("image", ["n", 1, 28, 28])], [value("scores", ["n", 10])]
    graph = helper.make_graph(nodes, NAME, inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, f"{NAME}.onnx")


images, labels = digits("train")
random = numpy.random.default_rng(0)
order = random.permutation(len(images))
held_out, rest = order[:VALIDATION], order[VALIDATION:]
weights, epoch, fraction = train(images[rest], labels[rest], (images[held_out], labels[held_out]), random)
print(f"{NAME}: epoch {epoch} of {EPOCHS}, {100 * fraction:.1f} % of the validation set")
# As float32, which is what the file holds.
weights = [w.astype(numpy.float32).astype(float) for w in weights]

# Everything is chosen: the test set is read here for the first time.
test_images, test_labels = digits("test")
print(f"{NAME}: {100 * right(weights, test_images, test_labels):.1f} % of the test set")
export(weights)
outputs = scores(weights, test_images[:8])[1]
numpy.savetxt(f"{NAME}_outputs.csv", outputs, "%.17g", ",")
