"""What is known of the fields that PET-BIDS wants beside an image, https://bids-specification.readthedocs.io, "Positron Emission Tomography"; those of the tracer's injection are not."""

def fields(made):
    """Fields of a Quantified but for the times of its frames. Time zero is the scan's start; those that PET-BIDS does not have are named as DICOM does."""
    isotope = made.isotope
    found = {
        "Modality": "PT", "ManufacturersModelName": made.scanner, "Units": "Bq/mL", "ScanStart": 0, "AcquisitionMode": "list mode",
        "TracerRadionuclide": isotope.name.replace("-", ""), "RadionuclideHalfLife": float(isotope.half_life), "RadionuclidePositronFraction": float(isotope.branching),
        "ImageDecayCorrected": True, "ImageDecayCorrectionTime": 0.0 - made.delay, "DecayCorrectionFactor": [float(of.decay) for of in made.found],
        "AttenuationCorrection": made.settings.get("attenuation") or "none",
        # Of all counts, as DICOM's Scatter Fraction Factor, but in percent.
        "ScatterFraction": [100 * of.scatter / of.counted if of.counted else 0.0 for of in made.found],
        "ReconMethodName": made.settings.get("algorithm", ""), "ReconMethodParameterLabels": ["none"], "ReconFilterType": "none"}
    return {name: value for name, value in found.items() if value != ""}
