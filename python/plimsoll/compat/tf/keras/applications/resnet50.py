"""ResNet50 under the name of its own module."""

from .resnet import (
    ResNet50 as ResNet50, decode_predictions as decode_predictions, preprocess_input as preprocess_input,
)
