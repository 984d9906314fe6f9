"""A streaming transducer for sherpa-onnx that hears one word in any loud sound, once a turn.

Weights of real recognisers cannot be had where Trunkline is built. This one has none to speak of, but the library loads
and runs it as any other: features, chunks, the search, tokens and text are sherpa-onnx's own. The files are ONNX
(github.com/onnx/onnx, onnx.proto); their metadata is what sherpa-onnx wants of an LSTM transducer.
"""

import pathlib
import struct

FLOAT, INT64 = 1, 7
# What the mean of a chunk's log mel energies is above in speech: that of silence is -15.9.
LOUD = -8.0
# The log probability of what is not said.
NEVER = -1_000.0


def varint(value):
    value &= (1 << 64) - 1
    data = b""
    while value > 0x7F:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def field(number, value):
    """Of a message: an integer, a text, or bytes (a message is bytes too)."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, item) for item in value) + field(20, 7)


def node(kind, inputs, output, **attributes):
    data = b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, kind)
    return data + b"".join(field(5, attribute(*item)) for item in attributes.items())


def constant(name, values, kind=FLOAT):
    raw = struct.pack(f"<{len(values)}{'f' if kind == FLOAT else 'q'}", *values)
    return field(1, len(values)) + field(2, kind) + field(8, name) + field(9, raw)


def value(name, kind, *shape):
    dimensions = b"".join(field(1, field(2 if isinstance(size, str) else 1, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dimensions)))


def model(nodes, constants, inputs, outputs, **metadata):
    graph = b"".join(field(1, item) for item in nodes) + field(2, "toy")
    graph += b"".join(field(5, item) for item in constants)
    graph += b"".join(field(11, item) for item in inputs) + b"".join(field(12, item) for item in outputs)
    data = field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))
    return data + b"".join(field(14, field(1, name) + field(2, str(item))) for name, item in metadata.items())


def write(folder, word):
    """Writes the four files of a recogniser of this word."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    state = ("layers", "N", 1)
    encoder = model(
        [
            node("ReduceMean", ["x"], "encoder_out", axes=[1, 2], keepdims=1),
            node("Identity", ["h"], "next_h"),
            node("Identity", ["c"], "next_c"),
        ],
        [],
        [value("x", FLOAT, "N", "T", 80), value("h", FLOAT, *state), value("c", FLOAT, *state)],
        [value("encoder_out", FLOAT, "N", 1, 1), value("next_h", FLOAT, *state), value("next_c", FLOAT, *state)],
        model_type="lstm",
        num_encoder_layers=1,
        T=9,
        decode_chunk_len=4,
        rnn_hidden_size=1,
        d_model=1,
    )
    # The last token: 0 at the beginning, 3 once the word was said.
    decoder = model(
        [
            node("Gather", ["y", "last"], "token", axis=1),
            node("Cast", ["token"], "decoder_out", to=FLOAT),
        ],
        [constant("last", [1], INT64)],
        [value("y", INT64, "N", 2)],
        [value("decoder_out", FLOAT, "N", 1)],
        vocab_size=4,
        context_size=2,
    )
    joiner = model(
        [
            node("Mul", ["encoder_out", "zero"], "blank"),
            node("Add", ["blank", "never"], "other"),
            node("Sub", ["encoder_out", "loud"], "louder"),
            node("Mul", ["decoder_out", "never"], "said"),
            node("Add", ["louder", "said"], "word"),
            node("Concat", ["blank", "other", "other", "word"], "logit", axis=1),
        ],
        [constant("zero", [0.0]), constant("never", [NEVER]), constant("loud", [LOUD])],
        [value("encoder_out", FLOAT, "N", 1), value("decoder_out", FLOAT, "N", 1)],
        [value("logit", FLOAT, "N", 4)],
        joiner_dim=1,
    )
    for name, data in (("encoder", encoder), ("decoder", decoder), ("joiner", joiner)):
        (folder / f"{name}.onnx").write_bytes(data)
    (folder / "tokens.txt").write_text(f"<blk> 0\n<sos/eos> 1\n<unk> 2\n\u2581{word} 3\n")
