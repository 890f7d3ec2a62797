"""The built-in model as an ONNX graph: a BERT encoder whose word embeddings come in from outside, in 8 bits.

Heavy to import and needed once: only the process that builds the model may import it. The operators beyond
standard ONNX are onnxruntime's own (`com.microsoft`), which fuse what one layer does into few calls.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from archivist.embedders.weights import Shape, Weights

_FUSED = "com.microsoft"
_OPSET = 17
_IR_VERSION = 9


def build_graph(weights: Weights, path: Path) -> None:
    """Write the graph to `path`.

    Inputs: `embeds` (B, S, hidden), `mask` (B, S) int32 with 1 for tokens and 0 for padding. Output: `mean`
    (B, hidden), the unit mean of the last layer over the tokens. Matrices have 7-bit weights, one scale a column, so
    that processors without VNNI do not saturate; each layer's last matrix stays in full precision, for its
    inputs have the widest range.
    """
    graph = _Graph(weights)
    state = graph.embedding()
    for layer in range(weights.shape.layers):
        state = graph.layer(layer, state)
    graph.pool(state)
    plain = path.with_suffix(".plain")
    onnx.save(graph.model(), plain)
    quantize_dynamic(
        plain,
        path,
        op_types_to_quantize=["MatMul"],
        nodes_to_exclude=graph.precise,
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": TensorProto.FLOAT},  # shape inference does not know the fused operators
    )
    plain.unlink()


class _Graph:
    """Collects nodes and constants. Every method returns the name of what it computes."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._shape: Shape = weights.shape
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self.precise: list[str] = []

    def embedding(self) -> str:
        """Words, positions and the token type together, normalised."""
        positions = self._weights.vector("emb.pos").reshape(-1, self._shape.hidden)
        table = self._constant("positions", positions + self._weights.vector("emb.type")[: self._shape.hidden])
        bounds = [self._integers(name, value) for name, value in (("zero", 0), ("one", 1), ("two", 2))]
        zero, one, two = bounds
        self._node("Shape", ["mask"], "shape")
        self._node("Slice", ["shape", one, two, zero], "length")
        self._node("Slice", [table, zero, "length", zero], "here")
        self._node("Add", ["embeds", "here"], "placed")
        gain, bias = self._norm("emb.ln")
        return self._node(
            "LayerNormalization", ["placed", gain, bias], "embedded", axis=-1, epsilon=self._shape.epsilon
        )

    def layer(self, number: int, state: str) -> str:
        """Attention, then the feed-forward part, each added to its input and normalised."""
        name, hidden, inner = f"l{number}", self._shape.hidden, self._shape.inner
        mixed = self._linear(f"{name}.ao", self._attention(name, state), hidden)
        state = self._add_and_norm(f"{name}.aln", state, mixed, f"{name}.ao.b")
        wide = self._linear(f"{name}.fi", state, hidden)
        active = self._node("BiasGelu", [wide, self._bias(f"{name}.fi.b")], f"{name}.active", _FUSED)
        narrow = self._linear(f"{name}.fo", active, inner)
        self.precise.append(f"{name}.fo")
        return self._add_and_norm(f"{name}.oln", state, narrow, f"{name}.fo.b")

    def pool(self, state: str) -> None:
        """The unit mean over what the mask keeps; its length needs no division, for normalising undoes it."""
        self._node("Cast", ["mask"], "kept", to=TensorProto.FLOAT)
        self._node("Unsqueeze", ["kept", self._integers("last", -1)], "column")
        self._node("Mul", [state, "column"], "tokens")
        self._node("ReduceSum", ["tokens", "one"], "sum", keepdims=0)
        self._node("LpNormalization", ["sum"], "mean", axis=-1, p=2)

    def model(self) -> onnx.ModelProto:
        embeds = helper.make_tensor_value_info("embeds", TensorProto.FLOAT, ["B", "S", self._shape.hidden])
        mask = helper.make_tensor_value_info("mask", TensorProto.INT32, ["B", "S"])
        mean = helper.make_tensor_value_info("mean", TensorProto.FLOAT, ["B", self._shape.hidden])
        graph = helper.make_graph(self._nodes, "encoder", [embeds, mask], [mean], self._constants)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)

    def _attention(self, name: str, state: str) -> str:
        """Queries, keys and values come from one multiplication, which is cheaper than three."""
        hidden, parts = self._shape.hidden, [f"{name}.{part}" for part in "qkv"]
        matrix = np.concatenate([self._weights.matrix(f"{part}.w", hidden).T for part in parts], axis=1)
        bias = np.concatenate([self._weights.vector(f"{part}.b") for part in parts])
        product = self._node("MatMul", [state, self._constant(f"{name}.qkv.w", matrix)], f"{name}.product")
        shifted = self._node("Add", [product, self._constant(f"{name}.qkv.b", bias)], f"{name}.shifted")
        self._nodes.append(helper.make_node("Split", [shifted], parts, axis=-1))
        attended = [*parts, "", "mask"]
        return self._node("MultiHeadAttention", attended, f"{name}.attended", _FUSED, num_heads=self._shape.heads)

    def _linear(self, name: str, state: str, columns: int) -> str:
        matrix = self._constant(f"{name}.w", self._weights.matrix(f"{name}.w", columns).T)
        return self._node("MatMul", [state, matrix], name)

    def _add_and_norm(self, name: str, state: str, change: str, bias: str) -> str:
        inputs = [state, change, *self._norm(name), self._bias(bias)]
        return self._node("SkipLayerNormalization", inputs, name, _FUSED, epsilon=self._shape.epsilon)

    def _norm(self, name: str) -> tuple[str, str]:
        return self._bias(f"{name}.w"), self._bias(f"{name}.b")

    def _bias(self, name: str) -> str:
        return self._constant(name, self._weights.vector(name))

    def _integers(self, name: str, value: int) -> str:
        return self._constant(name, np.array([value], np.int64))

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _node(self, operator: str, inputs: list[str], output: str, domain: str = "", **settings: Any) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [output], output, domain=domain, **settings))
        return output
