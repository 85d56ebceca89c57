"""Writes ISMRMRD files for tests."""
import os

import h5py
import ismrmrd
import numpy as np

HEADER = """<?xml version="1.0"?>
<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD">
  <acquisitionSystemInformation>{vendor}{bandwidth}<receiverChannels>{coils}</receiverChannels></acquisitionSystemInformation>
  <experimentalConditions><H1resonanceFrequency_Hz>63500000</H1resonanceFrequency_Hz></experimentalConditions>
  <encoding>
    <encodedSpace>{encoded}</encodedSpace><reconSpace>{recon}</reconSpace>
    <encodingLimits>{limits}</encodingLimits>
    <trajectory>{kind}</trajectory>{described}
  </encoding>
</ismrmrdHeader>"""


def space(shape, field_of_view):
    sizes = ("".join(f"<{axis}>{value}</{axis}>" for axis, value in zip("xyz", values[::-1])) for values in (shape, field_of_view))
    return "<matrixSize>{}</matrixSize><fieldOfView_mm>{}</fieldOfView_mm>".format(*sizes)


def header(*, kind, encoded, recon=None, coils=1, centres=(), bandwidth=None, vendor=None, described=None):
    """`encoded` and `recon` are (shape, field of view in mm), z, y, x; `centres` of phase encoding along y and z; `described` numbers of the trajectory."""
    limits = "".join(f"<kspace_encoding_step_{n}><minimum>0</minimum><maximum>{2 * c}</maximum><center>{c}</center></kspace_encoding_step_{n}>"
                     for n, c in enumerate(centres, 1))
    numbers = "".join(f"<userParameterDouble><name>{name}</name><value>{value}</value></userParameterDouble>" for name, value in (described or {}).items())
    words = "" if described is None else f"<trajectoryDescription><identifier>ConventionalEPI</identifier>{numbers}</trajectoryDescription>"
    return HEADER.format(kind=kind, described=words, encoded=space(*encoded), recon=space(*(recon or encoded)), coils=coils, limits=limits,
                         vendor="" if vendor is None else f"<systemVendor>{vendor}</systemVendor>",
                         bandwidth="" if bandwidth is None else f"<relativeReceiverNoiseBandwidth>{bandwidth}</relativeReceiverNoiseBandwidth>")


def acquisition(data, trajectory=None, *, flags=(), dwell=5e-6, **fields):
    """One readout: data (coils, samples), trajectory (samples, dims), names of flags, fields of the header or of its counters."""
    made = ismrmrd.Acquisition.from_array(np.ascontiguousarray(data, np.complex64),
                                          None if trajectory is None else np.ascontiguousarray(trajectory, np.float32))
    made.sample_time_us, made.center_sample = dwell * 1e6, data.shape[1] // 2
    for name, value in fields.items():
        if hasattr(made.idx, name):
            setattr(made.idx, name, value)
        elif isinstance(value, (tuple, list, np.ndarray)):
            getattr(made, name)[:] = [float(v) for v in value]
        else:
            setattr(made, name, value)
    for name in flags:
        made.setFlag(getattr(ismrmrd, "ACQ_" + name))
    return made


def write(path, text, acquisitions):
    """An ISMRMRD file of a header and readouts."""
    if os.path.exists(path):
        os.remove(path)
    with h5py.File(path, "w") as file:
        folder = file.create_group("dataset")
        if text is not None:
            folder.create_dataset("xml", data=np.array([text.encode()], dtype=object), dtype=h5py.special_dtype(vlen=bytes))
        table = folder.create_dataset("data", (len(acquisitions),), ismrmrd.hdf5.acquisition_dtype, maxshape=(None,))
        if acquisitions:
            table[:] = np.array([ismrmrd.file.Acquisitions.to_numpy(a) for a in acquisitions], ismrmrd.hdf5.acquisition_dtype)
    return path
