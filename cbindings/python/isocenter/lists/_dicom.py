"""Images in Bq/ml as DICOM."""
import warnings

from .. import images


def write(path, made, like, acquired):
    """Writes a Quantified."""
    if like and not made.in_map_frame:
        warnings.warn(f"the frame of reference of {like} is not taken, since nothing says that the image is in it: it is where the map of attenuation was made of that scan and lies where its "
                      "file says", stacklevel=2)
    found = made.found
    images.write_dicom(
        path, made.image, made.voxel, made.centre, isotope=made.isotope.name, half_life=made.isotope.half_life, branching=made.isotope.branching, position=made.position,
        starts=[of.start for of in found], durations=[of.duration for of in found], labels=made.names or None, like=like, same_frame=made.in_map_frame, acquired=acquired,
        delay=made.delay, corrections=made.corrections, live=[of.alive for of in found], energy_window=made.energy_window, time_of_flight=made.time_of_flight, algorithm=made.algorithm,
        iterations=[len(of.history) for of in found], prompts=[of.prompts for of in found], decays=[of.decay for of in found],
        scatters=[of.scatter / of.counted if of.counted else 0.0 for of in found], scanner=made.scanner, description=f"PET {made.isotope.name}")
