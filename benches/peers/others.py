"""The other packages' filtered back projection on the CPU: Ram-Lak, linear interpolation, one slice at a time.

Each class takes (side, views), and gives a slice from a sinogram (views, side). `shift` tells where the rotation axis must
pass for it: bin and pixel (side - 1) / 2 + shift.
"""
import numpy as np

from scans import angles_of


class Astra:
    """ASTRA's FBP over its linear projector. The slice is the middle of the detector, as in Isocenter."""

    def __init__(self, side, views):
        import astra
        self.astra, self.name, self.shift = astra, f"ASTRA {astra.__version__}", 0.0
        volume = astra.create_vol_geom(side, side)
        scan = astra.create_proj_geom("parallel", 1.0, side, angles_of(views))
        self.projector = astra.create_projector("linear", scan, volume)
        self.sinogram, self.slice = astra.data2d.create("-sino", scan), astra.data2d.create("-vol", volume)
        config = astra.astra_dict("FBP")
        config.update(ProjectionDataId=self.sinogram, ReconstructionDataId=self.slice, ProjectorId=self.projector,
                      FilterType="Ram-Lak")
        self.algorithm = astra.algorithm.create(config)

    def load(self, sinogram):
        """Not part of the time taken."""
        self.astra.data2d.store(self.sinogram, sinogram)

    def run(self):
        self.astra.algorithm.run(self.algorithm)

    def result(self):
        return self.astra.data2d.get(self.slice)

    def __del__(self):
        self.astra.algorithm.delete(self.algorithm)
        self.astra.data2d.delete([self.sinogram, self.slice])
        self.astra.projector.delete(self.projector)


class ScikitImage:
    """skimage.transform.iradon. Its rotation axis is bin side // 2 and pixel side // 2."""

    def __init__(self, side, views):
        import skimage
        self.iradon, self.name = skimage.transform.iradon, f"scikit-image {skimage.__version__}"
        self.shift, self.theta = side // 2 - (side - 1) / 2, np.degrees(angles_of(views))

    def load(self, sinogram):
        self.sinogram = np.ascontiguousarray(sinogram.T)

    def run(self):
        self.slice = self.iradon(self.sinogram, theta=self.theta, filter_name="ramp", interpolation="linear", circle=True)

    def result(self):
        return self.slice


def available(side, views):
    for package in (Astra, ScikitImage):
        try:
            yield package(side, views)
        except ImportError as e:
            print(f"{package.__name__} is not available: {e}", flush=True)
