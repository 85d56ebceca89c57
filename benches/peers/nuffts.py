"""FINUFFT (NumPy arrays) and cuFINUFFT (PyTorch tensors on a GPU): the same interface."""
import numpy as np


class Nufft:
    """Type 1 (samples to image) or 2 (image to samples), with the signs of the adjoint and the forward operator.

    `points` are in radians, (samples, axes), x first, of the precision of `dtype`.
    """

    def __init__(self, package, kind, shape, points, transforms=1, eps=1e-5, dtype="complex64", **options):
        self.plan = package.Plan(kind, tuple(shape), n_trans=transforms, eps=eps, isign=1 if kind == 1 else -1, dtype=dtype,
                                 **options)
        # Both packages name the slowest dimension first.
        columns = (points[:, axis] for axis in reversed(range(points.shape[1])))
        self.columns = [np.ascontiguousarray(x) if isinstance(x, np.ndarray) else x.contiguous() for x in columns]
        self.plan.setpts(*self.columns)

    def run(self, source, target):
        self.plan.execute(source, out=target)
