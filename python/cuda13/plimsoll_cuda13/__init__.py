"""The CUDA library of plimsoll, which loads it from here when a GPU is first asked for."""
