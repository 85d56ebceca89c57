"""Names are the header's: of enumerations' values, of options and geometry, each spelt in one way; and signatures show them."""
import importlib.util
import inspect
import pathlib
import re
import unittest

import numpy as np

import isocenter
from test_abi import HEADER, HERE

_spec = importlib.util.spec_from_file_location("generate", HERE / "generate.py")
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)
header = generate.Header(HEADER.read_text())
WORDS = {enum: [member.lower() for member, _, _ in members] for enum, members in header.enums}
FIELDS = {struct: [field for field, _ in fields] for struct, fields in header.structs}

# Lengths of lists, which are known here; what only C needs; what Python does not let one write.
LENGTHS = {field for fields in FIELDS.values() for field in fields if field.endswith("_count")} | {"time_bins"}
PRIVATE = {"struct_size", "reserved", "progress_user", "log_user"}
SPELT = {"lambda": "lambda_"}
# What is one argument here.
JOINED = re.compile(r"^(map_voxel|map_centre)_[xyz]$")
# Structs that a struct points to, whose fields are arguments beside its own.
WITHIN = {("isoc_pet_scatter_options", "factors"): "isoc_pet_factor_options"}
# Struct, the function that takes its fields, and what that takes besides.
TAKEN = [
    ("isoc_context_options", isocenter.Context, ()),
    ("isoc_ct_geometry", isocenter.CT.set_geometry, ("region",)),
    ("isoc_ct_options", isocenter.CT.set_options, ()),
    ("isoc_ct_iterative", isocenter.CT.set_iterative, ()),
    ("isoc_ct_output", isocenter.CT.set_output, ()),
    ("isoc_ct_outliers", isocenter.CT.set_outliers, ()),
    ("isoc_ct_flat_field_options", isocenter.CT.set_flat_field, ("flats", "darks")),
    ("isoc_ct_distortion", isocenter.CT.set_distortion, ()),
    ("isoc_ct_phase", isocenter.CT.set_phase, ()),
    ("isoc_ct_stripes", isocenter.CT.set_stripes, ()),
    ("isoc_ct_half_acquisition", isocenter.CT.set_half_acquisition, ()),
    ("isoc_ct_axis_options", isocenter.CT.find_axis, ("projections", "curve")),
    ("isoc_ct_flat_fit_options", isocenter.CT.fit_flat_field, ("projections", "first_view")),
    ("isoc_mri_geometry", isocenter.MRI.set_geometry, ("trajectory",)),
    ("isoc_mri_options", isocenter.MRI.set_options, ()),
    ("isoc_mri_delay_options", isocenter.MRI.find_delays, ("samples",)),
    ("isoc_mri_maps_options", isocenter.MRI.find_maps, ("samples", "maps", "image")),
    ("isoc_mri_maps_options", isocenter.MRI.maps_memory, ()),
    ("isoc_coil_options", isocenter.coil_maps, ("calibration", "shape", "maps", "sets", "eigenvalues")),
    ("isoc_pet_geometry", isocenter.PET.set_geometry, ("views",)),
    ("isoc_pet_response", isocenter.PET.set_response, ()),
    ("isoc_pet_options", isocenter.PET.set_options, ()),
    ("isoc_pet_prior", isocenter.PET.set_prior, ("weights", "anatomy")),
    ("isoc_pet_body", isocenter.Body, ()),
    ("isoc_pet_scan", isocenter.Scan, ()),
    ("isoc_pet_blocks", isocenter.block_crystals, ()),
    ("isoc_pet_scanner", isocenter.PET.set_scanner, ("positions", "normals")),
    ("isoc_pet_list", isocenter.EventList, ()),
    ("isoc_pet_factor_options", isocenter.PET.factors, ("efficiencies", "attenuation", "out")),
    ("isoc_pet_factor_options", isocenter.PET.factors_memory, ("attenuation",)),
    ("isoc_pet_scatter_options", isocenter.PET.scatter, ("image", "attenuation", "efficiencies", "measured", "randoms", "out")),
    ("isoc_pet_scatter_options", isocenter.PET.scatter_memory, ("attenuation",)),
]
GIVEN = [
    ("isoc_ct_output_info", isocenter.CTOutput),
    ("isoc_ct_info", isocenter.CTInfo), ("isoc_ct_axis", isocenter.CTAxis), ("isoc_ct_flat_fit", isocenter.CTFlatFit),
    ("isoc_ct_iteration", isocenter.CTIteration),
    ("isoc_mri_info", isocenter.MRIInfo), ("isoc_mri_delays", isocenter.MRIDelays), ("isoc_pet_info", isocenter.PETInfo),
    ("isoc_pet_iteration", isocenter.Iteration), ("isoc_pet_table_sizes", isocenter.TableSizes),
    ("isoc_pet_dropped", isocenter.Dropped), ("isoc_pet_lost", isocenter.Lost),
    ("isoc_pet_scatter_found", isocenter.ScatterFound), ("isoc_pet_tally", isocenter.Tally),
]
PLANS = (isocenter.CT, isocenter.MRI, isocenter.PET)


def keywords(function):
    return [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "context")]


def shown(struct):
    """Names of a struct's fields as they are here."""
    named = []
    for field in FIELDS[struct]:
        if (struct, field) in WITHIN:
            named += shown(WITHIN[struct, field])
        elif field not in LENGTHS | PRIVATE:
            named.append(JOINED.sub(r"\1", SPELT.get(field, field)))
    return list(dict.fromkeys(named))


class Names(unittest.TestCase):
    def setUp(self):
        ct = isocenter.CT(angles=[0.0, 1.0], bins=8)
        mri = isocenter.MRI(trajectory=np.zeros((4, 2)), unit="cycles_per_voxel", nx=4, ny=4)
        pet = isocenter.PET()
        lattice = isocenter.PET(nx=4, ny=4, nz=4, voxel_x=4, max_tilt=0.1, azimuths=2)
        scan = isocenter.CT.shepp_logan
        turn = isocenter.CT(angles=np.linspace(0, np.pi, 65), bins=64)
        seen = turn.phantom_projections([[1.0, 3.0, -5.0, 14.0, 9.0, 0.4], [0.5, -9.0, 7.0, 4.0, 6.0, 0.2]])
        coils = np.ones((2, 8, 8), "complex64")
        self.setters = {"isoc_coil_options": lambda **word: isocenter.coil_maps(coils, (8, 8), **word),
                        "isoc_ct_axis_options": lambda **word: turn.find_axis(seen, **word),
                        "isoc_context_options": isocenter.Context, "isoc_ct_options": ct.set_options, "isoc_ct_output": ct.set_output,
                        "isoc_ct_iterative": lambda **word: ct.set_iterative(**word, upper=1.0 if word.get("bounds") == "box" else 0.0),
                        "isoc_ct_outliers": lambda **word: ct.set_outliers(threshold=1.0, **word),
                        "isoc_ct_flat_field_options": lambda **word: ct.set_flat_field(np.ones((2, 1, 8), np.float32), **word),
                        "isoc_ct_phase": lambda **word: ct.set_phase(energy_kev=20, distance_mm=100, pixel_um=1, delta_beta=3, **word),
                        "isoc_ct_stripes": ct.set_stripes, "isoc_ct_half_acquisition": isocenter.CT().set_half_acquisition,
                        "isoc_mri_options": mri.set_options,
                        "isoc_pet_options": pet.set_options,
                        "isoc_pet_prior": lambda **word: lattice.set_prior(strength=1.0, **word),
                        "isoc_ct_geometry": lambda **word: ct.set_geometry(**{"angles": [0.0, 1.0], "bins": 8, **word}),
                        "isoc_mri_geometry": lambda **word: mri.set_geometry(**{
                            "trajectory": np.zeros((4, 2)), "unit": "cycles_per_voxel", "nx": 4, "ny": 4, **word}),
                        "isoc_pet_response": lambda **word: pet.set_response(tof_fwhm=300, radial_fwhm=9, axial_fwhm=9, **word),
                        "isoc_pet_body": lambda shape: isocenter.pet._bodies([isocenter.Body(shape, half_x=9)])}
        self.arguments = {"isoc_ct_shepp_logan_kind": lambda word: scan(3, word),
                          "isoc_mri_shepp_logan_kind": lambda word: isocenter.MRI.shepp_logan(3, 0, word),
                          "isoc_mri_density": lambda word: mri.compute_weights(word, 4),
                          "isoc_pet_quantity": lambda word: lattice.phantom_image([isocenter.Body(half_x=9)], word)}

    def test_words_of_enumerations(self):
        """Of all of the header's, each word is taken, no other spelling is, and what is said of one is the list of words."""
        calls = dict(self.arguments)
        for (struct, field), enum in header.chosen.items():
            name = SPELT.get(field, field)
            calls[enum] = lambda word, struct=struct, name=name: self.setters[struct](**{name: word})
        given = {"isoc_status", "isoc_ct_view_fault"}  # by calls, and taken by none
        self.assertEqual(set(calls), set(WORDS) - given)
        for enum, call in calls.items():
            for word in WORDS[enum]:
                with self.subTest(enum, word=word):
                    try:
                        call(word)
                    except (isocenter.NoDeviceError, isocenter.DriverTooOldError, isocenter.NoKernelImageError):
                        self.assertEqual(word, "gpu")
                    except isocenter.Error as e:  # the word was understood
                        self.assertIn(word, ("custom", "asymmetric", "radial", "fista", "primal_dual"), e)
            for wrong in (WORDS[enum][0].upper(), WORDS[enum][-1].replace("_", "-") + "-", "", 0, True, None, isocenter.enums.Status.OK):
                with self.subTest(enum, wrong=wrong), self.assertRaises((ValueError, TypeError)) as caught:
                    call(wrong)
                said = str(caught.exception).rpartition("must be one of ")[2]
                self.assertEqual(re.findall("'(.*?)'", said), WORDS[enum])
            call(getattr(isocenter.enums, generate.camel(enum))[WORDS[enum][0].upper()])

    def test_keywords_are_fields(self):
        for struct, function, besides in TAKEN:
            with self.subTest(struct):
                self.assertEqual(sorted(p.name for p in keywords(function)), sorted([*shown(struct), *besides]))

    def test_results_are_fields(self):
        for struct, record in GIVEN:
            self.assertEqual(list(record._fields), shown(struct), struct)
        taken = {struct for struct, *_ in TAKEN + GIVEN}
        rest = {"isoc_device", "isoc_dtype", "isoc_tensor", "isoc_ct_ellipse", "isoc_mri_ellipsoid", "isoc_pet_tables"}  # arrays
        self.assertEqual(set(FIELDS), taken | rest)


class Signatures(unittest.TestCase):
    def test_constructors_take_the_geometry(self):
        """By the same keywords, with the same defaults; what is required may be left out, for later."""
        for plan in PLANS:
            made, wanted = ({p.name: p for p in keywords(f)} for f in (plan, plan.set_geometry))
            self.assertEqual(list(made), list(wanted), plan)
            for name, p in wanted.items():
                default = None if p.default is p.empty else p.default
                self.assertEqual((made[name].default, made[name].kind), (default, inspect.Parameter.KEYWORD_ONLY), (plan, name))

    def test_nothing_takes_just_anything(self):
        for name in isocenter.__all__:
            thing = getattr(isocenter, name)
            if isinstance(thing, type) and issubclass(thing, (BaseException, tuple)):
                continue
            methods = [m for m_name, m in inspect.getmembers(thing, inspect.isfunction) if not m_name.startswith("_")]
            for function in [thing, *methods] if callable(thing) else methods:
                for p in inspect.signature(function).parameters.values():
                    self.assertNotIn(p.kind, (p.VAR_KEYWORD, p.VAR_POSITIONAL), function)

    def test_every_keyword_is_explained(self):
        for struct, function, besides in TAKEN:
            text = inspect.getdoc(function)
            for p in keywords(function):
                self.assertRegex(text, rf"\b{re.escape(p.name)}\b", function)
        for plan in PLANS:
            for p in keywords(plan):
                self.assertRegex(inspect.getdoc(plan), rf"\b{p.name}\b", plan)

    def test_what_is_missing_is_said(self):
        self.assertRaisesRegex(TypeError, r"set_geometry\(\) missing 1 required keyword-only argument: 'angles'", isocenter.CT, bins=8)
        self.assertRaisesRegex(TypeError, "missing.*'unit'", isocenter.MRI, trajectory=np.zeros((4, 2)), nx=4, ny=4)
        self.assertRaisesRegex(TypeError, "missing.*'max_tilt'", isocenter.PET, nx=4, ny=4, nz=4, voxel_x=4)
        self.assertRaisesRegex(TypeError, "missing 2", isocenter.CT, rows=3)
        self.assertRaisesRegex(TypeError, "unexpected keyword argument 'angle'", isocenter.CT, angle=[0.0], bins=8)
        for plan in PLANS:
            plan().close()

    def test_repr_has_the_facts(self):
        context = isocenter.Context(device="cpu", threads=2, memory_cap=1 << 20, log=lambda *_: None)
        self.assertEqual(repr(context), "<isocenter.Context: device='cpu', threads=2, memory_cap=1048576>")
        ct = isocenter.CT(context)
        self.assertEqual(repr(ct), "<isocenter.CT: no geometry, device='cpu'>")
        ct.set_geometry(angles=[0.0, 1.0], bins=8, rows=3, slices=2, nx=5)
        self.assertEqual(repr(ct), "<isocenter.CT: projections=(2, 3, 8), order='frames', volume=(2, 8, 5), axis=3.5, bin_pitch=1.0, "
                                   "pixel_size=1.0, flat_field=False, device='cpu'>")
        ct.set_flat_field(np.ones((3, 8), np.float32))
        ct.set_geometry(angles=[0.0, 1.0], bins=8, rows=3, axis=[3.0, 4.0], bin_pitch=0.5, order="sinograms")
        self.assertIn("axis=(3.0, 4.0), bin_pitch=0.5, pixel_size=0.5, flat_field=True", repr(ct))  # of as many rows and bins
        ct.set_flat_field(None)
        self.assertIn("flat_field=False", repr(ct))
        ct.set_flat_field(np.ones((3, 8), np.float32))
        ct.set_geometry(angles=[0.0, 1.0], bins=8, rows=3, axis=5, pixel_size=2)
        self.assertIn("axis=5.0, bin_pitch=1.0, pixel_size=2.0, flat_field=True", repr(ct))
        ct.set_geometry(angles=[0.0, 1.0], bins=8)
        self.assertIn("flat_field=False", repr(ct))
        ct.set_flat_field(np.ones((1, 8), np.float32), monitor=[1.0, 2.0])
        ct.set_geometry(angles=[0.0, 2.0], bins=8)
        self.assertIn("flat_field=True", repr(ct))
        ct.set_geometry(angles=[0.0, 1.0, 2.0], bins=8)  # it varies from view to view
        self.assertIn("flat_field=False", repr(ct))
        mri = isocenter.MRI(context, trajectory=np.zeros((4, 2)), unit="radians_per_voxel", nx=6, ny=5, coils=2)
        self.assertEqual(repr(mri), "<isocenter.MRI: samples=(2, 4), image=(2, 5, 6), unit='radians_per_voxel', precision='single', "
                                    "maps=False, device='cpu'>")
        mri.set_maps(np.ones((2, 5, 6), np.complex64))
        self.assertIn("image=(5, 6)", repr(mri))
        self.assertEqual(mri.image_shape, (5, 6))
        for shape in ((2, 2, 5, 6), (2, 2, 1, 5, 6)):
            mri.set_maps(np.ones(shape, np.complex64))
            self.assertIn("image=(2, 5, 6)", repr(mri))
            self.assertEqual(mri.image_shape, (2, 5, 6))
        pet = isocenter.PET(context, nx=6, ny=5, nz=4, voxel_x=4, voxel_z=3, max_tilt=0.1, azimuths=3, tilts=2)
        self.assertEqual(repr(pet), "<isocenter.PET: histo_images=(6, 4, 5, 6), image=(4, 5, 6), voxel=(4.0, 4.0, 3.0), device='cpu'>")
        for thing in (ct, mri, pet, context):
            thing.close()
            self.assertEqual(repr(thing), f"<isocenter.{type(thing).__name__}: closed>")


class Source(unittest.TestCase):
    def test_messages_name_the_function(self):
        """Everything that the package raises of its own says who was called: see errors.wrong."""
        for file in pathlib.Path(isocenter.__file__).parent.rglob("*.py"):
            if file.name not in ("_library.py", "_abi.py"):
                self.assertEqual(re.findall(r"raise \w+(?:Error|Exception)\(.*", file.read_text()), [], file.name)


if __name__ == "__main__":
    unittest.main()
