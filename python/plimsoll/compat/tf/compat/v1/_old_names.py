"""Names of TensorFlow 1 that moved into modules of TensorFlow 2."""

from __future__ import annotations

import importlib
from typing import Any

_MOVED = {
    "math": "angle bincount ceil confusion_matrix conj cumprod digamma erf erfc expm1 floormod imag is_finite is_inf is_nan "
    "lgamma log1p log_sigmoid logical_xor real reciprocal rint rsqrt segment_max segment_mean segment_min segment_sum "
    "squared_difference unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_sum "
    "accumulate_n=add_n div_no_nan=divide_no_nan floor_div=floordiv mod=floormod",
    "linalg": "cholesky cholesky_solve cross global_norm qr svd trace matrix_band_part=band_part matrix_determinant=det "
    "matrix_diag=diag diag=diag matrix_diag_part=diag_part diag_part=diag_part matrix_inverse=inv "
    "matrix_set_diag=set_diag matrix_solve=solve matrix_solve_ls=lstsq matrix_transpose=matrix_transpose "
    "matrix_triangular_solve=triangular_solve self_adjoint_eig=eigh self_adjoint_eigvals=eigvalsh",
    "io": "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature decode_csv decode_raw matching_files "
    "parse_example parse_single_example parse_single_sequence_example parse_tensor read_file serialize_tensor write_file "
    "decode_base64 encode_base64",
    "debugging": "assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal assert_near "
    "assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive assert_rank "
    "assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_type check_numerics "
    "is_numeric_tensor verify_tensor_all_finite=assert_all_finite",
    "strings": "as_string reduce_join regex_replace substr string_join=join string_strip=strip "
    "string_to_number=to_number string_to_hash_bucket_fast=to_hash_bucket_fast",
    "nn": "depth_to_space space_to_depth",
    "signal": "fft ifft rfft irfft",
    "image": "random_crop extract_image_patches=extract_patches",
    "random": "random_gamma=gamma random_poisson=poisson",
    "sparse": "sparse_tensor_to_dense=to_dense sparse_reorder=reorder sparse_tensor_dense_matmul=sparse_dense_matmul "
    "sparse_reduce_sum=reduce_sum",
    "errors": "OpError",
    "keras.initializers": "orthogonal_initializer=Orthogonal variance_scaling_initializer=VarianceScaling",
    "": "lin_space=linspace py_func=numpy_function reverse_v2=reverse where_v2=where tensor_scatter_add=tensor_scatter_nd_add "
    "tensor_scatter_sub=tensor_scatter_nd_sub tensor_scatter_update=tensor_scatter_nd_update unravel_index "
    "histogram_fixed_width reverse_sequence",
}
_WHERE = {
    each.split("=")[0]: (module, each.split("=")[-1]) for module, names in _MOVED.items() for each in names.split()
}
MODULES = ("audio", "autograph", "bitwise", "dtypes", "experimental", "nest", "profiler", "quantization", "ragged", "signal",
           "sparse", "sysconfig", "types", "xla")


def find(name: str) -> Any:
    """What TensorFlow 2 has under another name, or None."""
    tf = importlib.import_module(__name__.rpartition(".compat.")[0])
    if name in MODULES:
        return getattr(tf, name)
    if name == "gfile":
        return tf.io.gfile
    where = _WHERE.get(name)
    if where is None:
        return None
    found = tf
    for part in where[0].split(".") if where[0] else []:
        found = getattr(found, part)
    return getattr(found, where[1])


def names() -> list[str]:
    return [*_WHERE, *MODULES, "gfile"]
