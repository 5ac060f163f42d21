"""Writes a trained model as ONNX, in one file and without a trace of the machine."""

import numpy
import onnx
import torch


def export(model, examples, name):
    """Writes NAME.onnx, and NAME_outputs.csv with PyTorch's outputs for some examples.

    The model is exported in evaluation mode, for any number of examples. Outputs are those of the
    exported weights in float64, for tests to compare with.
    """
    model.eval()
    path, example = f"{name}.onnx", examples[:1]
    batch = torch.export.Dim("batch", min=1, max=1 << 20)
    shapes = ({0: batch},)
    program = torch.onnx.export(
        model, (example.repeat(2, *[1] * (example.dim() - 1)),), dynamo=True, dynamic_shapes=shapes,
        input_names=["input"], output_names=["output"], external_data=False, verbose=False,
    )  # fmt: skip
    proto = program.model_proto
    # The exporter notes source lines and module names, which say nothing about the model.
    for node in proto.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for value in [*proto.graph.value_info, *proto.graph.input, *proto.graph.output]:
        del value.metadata_props[:]
    for tensor in proto.graph.initializer:
        del tensor.metadata_props[:]
        tensor.doc_string = ""
    del proto.metadata_props[:], proto.graph.metadata_props[:]
    del proto.functions[:]
    onnx.checker.check_model(proto)
    onnx.save(proto, path)
    with torch.no_grad():
        outputs = model.double()(examples[:8].double()).numpy()
    numpy.savetxt(f"{name}_outputs.csv", outputs, delimiter=",", fmt="%.17g")
    print(f"{path}: {[node.op_type for node in proto.graph.node]}")
