"""What all kinds of lists have."""
import collections

#: What simulations know of their events, and can be left out.
EXCLUDED = ("randoms", "scatter")

Said = collections.namedtuple("Said", "isotope nuclide position lies alignment calibration", defaults=(None, "", None, "", None, 1.0))
Said.__doc__ = """`isotope`, None of none or one that is not known, and `nuclide`, its name in the file; `position` of the patient, None where the file does not say all
of it, and in words how the patient `lies`; `alignment` (3, 4) from the scanner to a reference, such as a CT, None of none; and the factor of `calibration`, 1 of none."""


class List:
    """A file of list-mode events, whose header was read. A class for each kind of files has all of this.

    Attributes
    ----------
    kind : str
        Of the file, such as "CASToR".
    path : path
    scanner : Scanner
    said : Said
        What the header says besides.
    has_prompts, has_delays : bool
    excluded : tuple of str
        Which of "randoms" and "scatter" are left out.
    remarks : list of str
        What else there is, in words.
    """
    #: Words of `open_list` that are for files of the kind.
    OPTIONS = ()
    kind, path, scanner, said, has_prompts, has_delays, excluded, remarks = "", None, None, Said(), True, False, (), []

    def read(self, frames=None, delays=True):
        """A Reading, which is one pass over the events: iterating over it brings Parts.

        Parameters
        ----------
        frames : array, optional
            (frames, 2) of start and end, ascending, s. None: one of all.
        delays : bool
            Whether delayed coincidences are brought, too.
        """
        raise NotImplementedError

    def close(self):
        """Takes away what was unpacked of a compressed file."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
