"""An MRD server: takes scans over TCP by the ISMRMRD streaming protocol, as they are measured, and answers with images.

``python -m isocenter.raw.server`` runs it; docs/raw.md says what it takes, answers and refuses.
"""
from ._serving import Server

__all__ = ["Server"]
