"""The built-in model's tokenizer as a sentencepiece model, made from the vocabulary in the weights file.

Heavy to import and needed once, like `graph`.
"""

import io
from pathlib import Path
from typing import Any

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from archivist.embedders.weights import Weights

_messages: Any = sentencepiece_model_pb2  # generated code without types
_CONTROLS, _UNKNOWN = 3, 3
"""Ids 0, 1 and 2 are <s>, <pad> and </s>; 3 is <unk>."""


def build_vocabulary(weights: Weights, path: Path) -> None:
    """Write the unigram model to `path`. Its text normalisation is sentencepiece's own `nmt_nfkc`."""
    model = _normaliser()
    del model.pieces[:]
    for number, (piece, score) in enumerate(zip(weights.pieces(), weights.scores, strict=True)):
        kind = _messages.ModelProto.SentencePiece.NORMAL
        if number < _CONTROLS:
            kind = _messages.ModelProto.SentencePiece.CONTROL
        elif number == _UNKNOWN:
            kind = _messages.ModelProto.SentencePiece.UNKNOWN
        model.pieces.add(piece=piece, score=float(score), type=kind)
    trainer = model.trainer_spec
    trainer.vocab_size = len(model.pieces)
    trainer.bos_id, trainer.pad_id, trainer.eos_id, trainer.unk_id = range(4)
    trainer.bos_piece, trainer.pad_piece, trainer.eos_piece, trainer.unk_piece = weights.pieces()[:4]
    path.write_bytes(model.SerializeToString())


def _normaliser() -> Any:
    """A tiny trained model: the one way to get sentencepiece's compiled normalisation rules out of its library."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a tiny model", "for its rules"] * 20),
        model_writer=written,
        vocab_size=40,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
    )
    model = _messages.ModelProto()
    model.ParseFromString(written.getvalue())
    return model
