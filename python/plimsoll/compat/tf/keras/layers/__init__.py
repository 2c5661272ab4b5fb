"""Layers, channels last, with Keras's defaults and TensorFlow's layouts of weights."""

from __future__ import annotations

from typing import Any

from ._attention import (
    AdditiveAttention as AdditiveAttention, Attention as Attention,
    GroupQueryAttention as GroupQueryAttention, MultiHeadAttention as MultiHeadAttention,
)
from ._conv import (
    Conv1D as Conv1D, Conv1DTranspose as Conv1DTranspose, Conv2D as Conv2D,
    Conv2DTranspose as Conv2DTranspose, Conv3D as Conv3D, Conv3DTranspose as Conv3DTranspose,
    Convolution1D as Convolution1D, Convolution2D as Convolution2D,
    Convolution2DTranspose as Convolution2DTranspose, Convolution3D as Convolution3D,
    DepthwiseConv1D as DepthwiseConv1D, DepthwiseConv2D as DepthwiseConv2D,
    SeparableConv1D as SeparableConv1D, SeparableConv2D as SeparableConv2D,
    SeparableConvolution2D as SeparableConvolution2D,
)
from ._core_layers import (
    ELU as ELU, Activation as Activation, ActivityRegularization as ActivityRegularization,
    AlphaDropout as AlphaDropout, Dense as Dense, Dropout as Dropout, EinsumDense as EinsumDense,
    Embedding as Embedding, GaussianDropout as GaussianDropout, GaussianNoise as GaussianNoise,
    Identity as Identity, Lambda as Lambda, LeakyReLU as LeakyReLU, Masking as Masking, PReLU as PReLU,
    ReLU as ReLU, Softmax as Softmax, SpatialDropout1D as SpatialDropout1D,
    SpatialDropout2D as SpatialDropout2D, SpatialDropout3D as SpatialDropout3D,
)
from ._images import (
    CenterCrop as CenterCrop, RandomBrightness as RandomBrightness, RandomContrast as RandomContrast,
    RandomCrop as RandomCrop, RandomFlip as RandomFlip, RandomHeight as RandomHeight,
    RandomRotation as RandomRotation, RandomTranslation as RandomTranslation,
    RandomWidth as RandomWidth, RandomZoom as RandomZoom, Rescaling as Rescaling, Resizing as Resizing,
)
from ._input import Input as Input, InputLayer as InputLayer
from ._layer import Layer as Layer
from ._lookup import (
    CategoryEncoding as CategoryEncoding, Discretization as Discretization, Hashing as Hashing,
    IntegerLookup as IntegerLookup, Normalization as Normalization, StringLookup as StringLookup,
)
from ._norm import (
    BatchNormalization as BatchNormalization, GroupNormalization as GroupNormalization,
    LayerNormalization as LayerNormalization, RMSNormalization as RMSNormalization,
    SpectralNormalization as SpectralNormalization, UnitNormalization as UnitNormalization,
)
from ._pool import (
    AdaptiveAveragePooling2D as AdaptiveAveragePooling2D, AdaptiveMaxPooling2D as AdaptiveMaxPooling2D,
    AveragePooling1D as AveragePooling1D, AveragePooling2D as AveragePooling2D,
    AveragePooling3D as AveragePooling3D, AvgPool1D as AvgPool1D, AvgPool2D as AvgPool2D,
    AvgPool3D as AvgPool3D, GlobalAveragePooling1D as GlobalAveragePooling1D,
    GlobalAveragePooling2D as GlobalAveragePooling2D, GlobalAveragePooling3D as GlobalAveragePooling3D,
    GlobalAvgPool1D as GlobalAvgPool1D, GlobalAvgPool2D as GlobalAvgPool2D,
    GlobalAvgPool3D as GlobalAvgPool3D, GlobalMaxPool1D as GlobalMaxPool1D,
    GlobalMaxPool2D as GlobalMaxPool2D, GlobalMaxPool3D as GlobalMaxPool3D,
    GlobalMaxPooling1D as GlobalMaxPooling1D, GlobalMaxPooling2D as GlobalMaxPooling2D,
    GlobalMaxPooling3D as GlobalMaxPooling3D, MaxPool1D as MaxPool1D, MaxPool2D as MaxPool2D,
    MaxPool3D as MaxPool3D, MaxPooling1D as MaxPooling1D, MaxPooling2D as MaxPooling2D,
    MaxPooling3D as MaxPooling3D,
)
from ._conv_rnn import ConvLSTM2D as ConvLSTM2D
from ._registry import deserialize as deserialize, serialize as serialize
from ._rnn import (
    GRU as GRU, LSTM as LSTM, RNN as RNN,
    GRUCell as GRUCell, LSTMCell as LSTMCell, SimpleRNN as SimpleRNN, SimpleRNNCell as SimpleRNNCell,
    StackedRNNCells as StackedRNNCells,
)
from ._text_layers import TextVectorization as TextVectorization
from ._shape_layers import (
    Add as Add, Average as Average, Concatenate as Concatenate, Cropping1D as Cropping1D,
    Cropping2D as Cropping2D, Cropping3D as Cropping3D, Dot as Dot, Flatten as Flatten,
    Maximum as Maximum, Minimum as Minimum, Multiply as Multiply, Permute as Permute,
    RepeatVector as RepeatVector, Reshape as Reshape, Subtract as Subtract,
    UpSampling1D as UpSampling1D, UpSampling2D as UpSampling2D, UpSampling3D as UpSampling3D,
    ZeroPadding1D as ZeroPadding1D, ZeroPadding2D as ZeroPadding2D, ZeroPadding3D as ZeroPadding3D,
    add as add, average as average, concatenate as concatenate, dot as dot, maximum as maximum,
    minimum as minimum, multiply as multiply, subtract as subtract,
)
from ._wrappers import (
    Bidirectional as Bidirectional, TimeDistributed as TimeDistributed, Wrapper as Wrapper,
)


def __getattr__(name: str) -> Any:
    if name == "experimental":  # TextVectorization and others were there in TensorFlow 2.3
        import sys

        return sys.modules[__name__]
    if name == "InputSpec":
        from .._utilities import InputSpec

        return InputSpec
    if name == "preprocessing":
        import sys

        return sys.modules[__name__]
    from ..._names import missing

    if name.startswith("__"):
        raise AttributeError(name)
    missing(f"tf.keras.layers.{name}", list(globals()))
