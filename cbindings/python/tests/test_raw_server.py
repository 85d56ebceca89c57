"""The MRD server: images are those of the same scan as a file, right way up; mistakes, half scans and garbage leave it running."""
import json
import logging
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np

import isocenter
import isocenter.raw
from isocenter.raw._memory import Memory
from isocenter.raw._reconstruction import Work
from isocenter.raw.server import Server
from isocenter.raw.server._early import Early
from test_raw import COILS, FIELD, N, PLANE, ismrmrd, lines, noise, radial, sensitivities, spiral
from test_raw_ways import AXIAL, Kinds

if ismrmrd:
    import mrd_client as client
    from raw_files import acquisition, header, write

HEAD = dict(position=(10, -20, 30), **AXIAL, patient_table_position=(0, 0, -500), measurement_uid=7, acquisition_time_stamp=1234)


@unittest.skipUnless(ismrmrd, "no ismrmrd")
class Served(Kinds):
    """With a server that is there for all tests of a class."""
    settings = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.configs = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.configs.cleanup)
        cls.server = Server(port=0, configs=cls.configs.name, **cls.settings)
        thread = threading.Thread(target=cls.server.serve, daemon=True)
        thread.start()
        cls.addClassCleanup(thread.join, 30)
        cls.addClassCleanup(cls.server.stop)
        level = logging.getLogger("isocenter.raw.server").level
        logging.getLogger("isocenter.raw.server").setLevel(logging.CRITICAL)
        cls.addClassCleanup(logging.getLogger("isocenter.raw.server").setLevel, level)

    def text_of(self, kind="cartesian", encoded=PLANE, **words):
        words.setdefault("coils", COILS)
        if kind == "cartesian":
            words.setdefault("centres", (encoded[0][1] // 2,))
        return header(kind=kind, encoded=encoded, **words)

    def ask(self, made, config=None, **words):
        return client.asked(self.server.address, client.scan(self.text_of(**words), made, config))

    def of_a_file(self, made, options={}, **words):
        return isocenter.raw.reconstruct(write(self.path, self.text_of(**words), made), **options)

    def is_there(self):
        """The server takes a whole scan."""
        images, texts = self.ask(lines(self.full[:1]), coils=1)
        self.assertEqual((len(images), texts), (1, []))

    # Of the class that this one is made of.
    test_errors = None


class Images(Served):
    def test_scans_come_back_right_way_up(self):
        """Within 2 % of the exact ellipses, as the table of docs/raw.md has them of files: smoothed by 3 voxels, maps of coils are what is left. And
        each bit as the file's."""
        for kind, made in (("cartesian", lines(self.full, **HEAD)), ("radial", self.along(radial(76), **HEAD)), ("spiral", self.along(spiral(16, turns=4), **HEAD))):
            with self.subTest(kind):
                images, texts = self.ask(made, kind=kind)
                self.assertEqual((len(images), texts), (1, []))
                seen = client.values(images[0])[0]
                self.assertLess(self.error(seen), 2.0)
                self.marks(seen / np.linalg.norm(sensitivities(), axis=0), ((10, -1), (2, -10), (-8, -1), (2, 8)))
                expected = self.of_a_file(made, kind=kind).images[0]
                np.testing.assert_array_equal(client.values(images[0]), np.abs(expected))
                images, _ = self.ask(made, '{"images": "complex"}', kind=kind)
                np.testing.assert_array_equal(client.values(images[0]), expected)

    def test_a_trajectory_that_was_seen_before(self):
        """Its density weights are kept: to the bit as without; another trajectory of as many samples, of another matrix too, has its own."""
        k = radial(38)
        for made, words in ((self.along(k), {}), (self.along(k), {}), (self.along(k[:, ::-1] * 0.9), {}), (self.along(k), {"recon": ((1, 40, 40), PLANE[1])})):
            images, texts = self.ask(made, kind="radial", **words)
            self.assertEqual(texts, [])
            np.testing.assert_array_equal(client.values(images[0]), np.abs(self.of_a_file(made, kind="radial", **words).images[0]))

    def test_heads_of_images(self):
        images, _ = self.ask(lines(self.full, **HEAD), recon=((1, N, N), (6.0, FIELD, FIELD)))
        head = images[0].getHead()
        self.assertEqual((head.version, head.data_type, head.channels, list(head.matrix_size), list(head.field_of_view), head.image_type, head.image_index),
                         (1, 5, 1, [N, N, 1], [FIELD, FIELD, 6.0], 1, 1))
        for name, value in HEAD.items():
            self.assertEqual(list(value) if isinstance(value, tuple) else value, list(getattr(head, name)) if isinstance(value, tuple) else getattr(head, name), name)
        meta = ismrmrd.Meta.deserialize(images[0].attribute_string)
        self.assertEqual((meta["DataRole"], meta["ImageRowDir"], meta["ImageColumnDir"]), ("Image", ["1", "0", "0"], ["0", "1", "0"]))
        complex_head = self.ask(lines(self.full, **HEAD), '{"images": "complex"}')[0][0].getHead()
        self.assertEqual((complex_head.data_type, complex_head.image_type), (7, 5))

    def test_images_of_their_own(self):
        """Slices, contrasts and repetitions: each with its counters and place, numbered frame by frame."""
        made = [a for repetition in (0, 1) for echo in (0, 1) for z in (0, 1, 2)
                for a in lines((1 + z + 0.1 * echo + 0.3 * repetition) * self.full, repetition=repetition, contrast=echo, slice=z, **{**HEAD, "position": (0, 0, 6 * z)})]
        images, texts = self.ask(made)
        expected = self.of_a_file(made)
        self.assertEqual((len(images), texts), (12, []))
        places = {}
        for image in images:
            head = image.getHead()
            frame = expected.frames.index({"repetition": head.repetition, "contrast": head.contrast, "phase": 0, "set": 0})
            np.testing.assert_array_equal(client.values(image)[0], np.abs(expected.images[frame, head.slice]))
            self.assertEqual(list(head.position), [0, 0, 6 * head.slice])
            places[head.image_index] = frame, head.slice
        self.assertEqual([places[i] for i in range(1, 13)], [(frame, z) for frame in range(4) for z in range(3)])

    def test_volumes(self):
        weights = np.array([0, 1, 0.5, 1, 1, 0])
        made, words = self.along(radial(76), weights, **HEAD), {"kind": "radial", "encoded": ((6, N, N), (30.0, FIELD, FIELD)), "centres": (0, 3)}
        images, texts = self.ask(made, **words)
        self.assertEqual((len(images), texts, list(images[0].getHead().matrix_size), list(images[0].getHead().field_of_view)), (1, [], [N, N, 6], [FIELD, FIELD, 30.0]))
        np.testing.assert_array_equal(client.values(images[0]), np.abs(self.of_a_file(made, **words).images[0]))

    def test_noise_is_whitened(self):
        mixing = np.eye(COILS) + 0.4 * np.random.default_rng(1).standard_normal((COILS, COILS))
        made = [acquisition(mixing @ noise((COILS, 20000), 7), flags=["IS_NOISE_MEASUREMENT"])] + lines(self.full, **HEAD)
        shades = np.tensordot(np.linalg.inv(np.linalg.cholesky(mixing @ mixing.T)), sensitivities(), 1)
        white, plain = (client.values(self.ask(made, config)[0][0])[0] for config in ("{}", '{"whitening": false}'))
        self.assertLess(self.error(white, shades), 2.0)
        np.testing.assert_array_equal(white, np.abs(self.of_a_file(made).images[0, 0]))
        np.testing.assert_array_equal(plain, np.abs(self.of_a_file(made, {"whitening": False}).images[0, 0]))
        self.assertGreater(np.abs(white - plain).max(), 0.01)

    def test_what_does_not_matter_is_passed_over(self):
        """Waveforms, images, texts for people, and zeros after texts."""
        image, waveform = ismrmrd.Image.from_array(np.ones((3, 4), "f4")), ismrmrd.Waveform.from_array(np.ones((2, 5), "u4"))
        parts = [[], []]
        image.serialize_into(lambda data: parts[0].append(bytes(data)))
        waveform.serialize_into(lambda data: parts[1].append(bytes(data)))
        between = client.pack(1022, b"".join(parts[0])) + client.pack(1026, b"".join(parts[1])) + client.text(5, "patient is asleep")
        readouts = list(map(client.readout, lines(self.full)))
        data = client.name("default.xml") + client.text(3, self.text_of().encode() + bytes(3)) + b"".join(readouts[:9] + [between] * 2 + readouts[9:]) + client.pack(4)
        images, texts = client.asked(self.server.address, data)
        np.testing.assert_array_equal(client.values(images[0])[0], np.abs(self.of_a_file(lines(self.full)).images[0, 0]))
        self.assertEqual(len(texts), 1)
        self.assertIn("images are not used", texts[0])


class Beforehand(Served):
    """What is made of repetitions that are over is that of the whole scan, or is made again."""

    def work(self, made, memory, **options):
        return Work(isocenter.raw.read(write(self.path, self.text_of(), made)), memory=memory, **options)

    def series(self, scales, calibrated=False):
        mixing = np.eye(COILS) + 0.4 * np.random.default_rng(1).standard_normal((COILS, COILS))
        made = [acquisition(mixing @ noise((COILS, 4096), 7), flags=["IS_NOISE_MEASUREMENT"])]
        made += [a for z in (0, 1) for a in lines((2 + z) * self.full, flags=["IS_PARALLEL_CALIBRATION"], slice=z)[12:36]] * calibrated
        return made + [a for r, scale in enumerate(scales) for z in (0, 1) for a in lines((scale + z) * self.full, repetition=r, slice=z)]

    def test_images_are_known_again_by_what_they_are_made_of(self):
        for calibrated, options in ((False, {}), (True, {}), (False, {"penalty": "variation", "regularisation": 3e-3, "iterations": 4}), (False, {"virtual_coils": 1}),
                                    (False, {"regularisation": 0.1})):
            whole = self.series((1, 2, 3), calibrated)
            expected = [one.image for one in self.work(whole, None, **options)]
            whitened = [self.series((1, 2, 3), calibrated), self.series((1, 2.5, 3), calibrated), self.series((1.5, 2, 3), calibrated), self.series((1, 2, 3), calibrated)]
            whitened[3][0] = acquisition(noise((COILS, 4096), 8), flags=["IS_NOISE_MEASUREMENT"])
            for made, recalled in list(zip(whitened, (4, 2, 0, 0)))[:1 if options else 4]:  # of two slices: all of it, other second frames, other first ones, other noise
                memory = Memory(1 << 30)
                images = [one.image for one in self.work(made[:1 + 48 * calibrated + 4 * N], memory, **options)]
                self.assertEqual((len(images), len(memory)), (4, 4))
                memory.close()
                work = self.work(whole, memory, **options)
                np.testing.assert_array_equal([one.image for one in work], expected)
                self.assertEqual((memory.recalled, len(memory)), (recalled, 4))

    def test_room(self):
        """No more images are kept than there is room for, and the others are made again."""
        memory = Memory(2 * 8 * N * N + 100)
        for _ in range(2):
            list(self.work(self.series((1, 2)), memory))
            self.assertEqual(len(memory), 2)
        self.assertEqual(memory.recalled, 2)

    def test_while_a_series_comes(self):
        """The images of repetitions 0 and 1 are made before the scan ends, and come as of a file; with an option that comes late, all is made anew."""
        made, one_thread = self.series((1, 2, 3)), Early
        for late in ("", client.text(5, '{"iterations": 3}')):
            seen, done = [], threading.Event()

            class Watched(one_thread):
                def _solve(self, readouts, repetition):
                    super()._solve(readouts, repetition)
                    seen.append((repetition, len(self.memory)))
                    done.set()

            data = client.name("default") + client.text(3, self.text_of()) + b"".join(map(client.readout, made[:-1]))
            with mock.patch("isocenter.raw.server._session.Early", Watched), socket.create_connection(self.server.address, 60) as connection:
                connection.sendall(data)
                self.assertTrue(done.wait(60))
                connection.sendall((late or b"") + client.readout(made[-1]) + client.pack(4))
                images, texts = client.answers(connection)
            self.assertEqual(texts, [])
            self.assertGreater(seen[0][1], 0)
            expected = self.of_a_file(made, {"iterations": 3} if late else {}).images
            for image in images:
                np.testing.assert_array_equal(client.values(image)[0], np.abs(expected[image.repetition, image.slice]))


class Configurations(Served):
    def test_options_are_those_of_reconstruct(self):
        made = self.along(radial(38))
        samples = 38 * 96
        arrays = {"maps": sensitivities(), "weights": np.ones(samples), "trajectory": radial(38) * 0.9, "whitening": 2 * np.eye(COILS, dtype="complex64")}
        for name, value in arrays.items():
            np.save(os.path.join(self.configs.name, f"{name}.npy"), value)
        for options in ({"iterations": 4}, {"calibration": 16, "crop": 0.5}, {"calibration": "nlinv"}, {"virtual_coils": 2}, {"penalty": "variation", "regularisation": 3e-3, "iterations": 5},
                        {"coils": [0, 2]}, {"unit": "cycles_per_voxel"}, {"repetition": 0, "slice": 0}, {"navigators": False, "partial_fourier": False}, {"shift": [10, -2.5]}, *({name: value} for name, value in arrays.items())):
            sent = {name: f"{name}.npy" if isinstance(value, np.ndarray) else value for name, value in options.items()}
            with self.subTest(options=sent):
                images, texts = self.ask(made, json.dumps({"parameters": sent}), kind="radial")
                self.assertEqual(texts, [])
                np.testing.assert_array_equal(client.values(images[0]), np.abs(self.of_a_file(made, options, kind="radial").images[0]))
                as_texts = {name: ",".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in sent.items()}
                again, _ = client.asked(self.server.address, client.name("default") + client.text(3, self.text_of("radial")) + client.text(5, json.dumps(as_texts))
                                        + b"".join(map(client.readout, made)) + client.pack(4))
                np.testing.assert_array_equal(client.values(again[0]), client.values(images[0]))

    def test_grappa(self):
        images, texts = self.ask(self.accelerated(2), '{"method": "grappa", "tikhonov": "1e-4"}')
        self.assertEqual(texts, [])
        np.testing.assert_array_equal(client.values(images[0]), np.abs(self.of_a_file(self.accelerated(2), {"method": "grappa", "tikhonov": 1e-4}).images[0]))
        self.assertRegex(self.ask(lines(self.full)[::2], '{"method": "grappa"}')[1][0], 'fully sampled over 1 lines, of which GRAPPA\'s kernel needs 7.* or "method": "sense", the default, with "maps" of another')

    def test_presets(self):
        with open(os.path.join(self.configs.name, "quick.json"), "w") as file:
            file.write('{"iterations": 2, "config": "quick"}')
        made, expected = lines(self.full), np.abs(self.of_a_file(lines(self.full), {"iterations": 2}).images[0])
        body = client.text(3, self.text_of()) + b"".join(map(client.readout, made)) + client.pack(4)
        for config in (client.name("quick"), client.name("quick.json"), client.text(2, '{"parameters": {"config": "quick"}}')):
            images, texts = client.asked(self.server.address, config + body)
            self.assertEqual(texts, [])
            np.testing.assert_array_equal(client.values(images[0]), expected)
        for name in ("invertcontrast", "../quick", "/etc/passwd", "quick\x01", ""):
            images, texts = client.asked(self.server.address, client.name(name) + body)
            self.assertEqual(len(images), 1)
            self.assertEqual([bool(re.search(r"is none of this server's, which has quick: the scan is reconstructed with the defaults", t)) for t in texts], [True] * bool(name))

    def test_what_is_no_option_is_told(self):
        made = lines(self.full)
        images, texts = self.ask(made, '{"iteratons": 2, "sendOriginal": true, "version": "1.2"}')
        np.testing.assert_array_equal(client.values(images[0]), np.abs(self.of_a_file(made).images[0]))
        self.assertEqual(len(texts), 2)
        self.assertIn("'iteratons' is no option of this server: do you mean 'iterations'? It is not used", texts[0])
        self.assertIn("'sendOriginal' is no option of this server: it has slice, contrast,", texts[1])
        self.assertIn("XML, which is for Gadgetron", self.ask(made, "<gadgetronStreamConfiguration/>")[1][0])

    def test_options_that_cannot_be(self):
        for config, words in (('{"iterations": "many"}', "the option 'iterations' is 'many'; it must be a whole number"), ('{"iterations": 2.5}', "'iterations' is '2.5'"),
                              ('{"iterations": true}', "'iterations' is 'True'"), ('{"navigators": "no"}', "'navigators' is 'no'; it must be true or false"), ('{"crop": []}', r"'crop' is '\[\]'; it must be a number"),
                              ('{"penalty": "TV"}', "it must be one of identity, wavelets, variation"), ('{"images": "phase"}', "one of magnitude, complex"),
                              ('{"coils": "0-999999999999"}', "'coils' is '0-999999999999'; it must be a list"), ('{"coils": 5}', "it must be a list"), ('{"method": "smash"}', "it must be one of sense, grappa"), ('{"tikhonov": 1}', "pass \"method\": \"grappa\""), ('{"method": "grappa", "kind": "other", "tikhonov": -1}', "tikhonov is -1.0"), ('{"shift": 5}', "'shift' is '5'; it must be two or three numbers in mm"), ('{"shift": [0, 0, 3]}', "a plane lies where it was excited"),
                              ('{"coils": [9]}', r"coils is \[9\]; the scan has 4"), ('{"maps": "../maps.npy"}', "it must be the name of a .npy file in the server's --configs"),
                              ('{"whitening": "none.npy"}', "in the server's --configs, or false"), ('{"slice": 7}', "slice is 7; the scan has 0"), ("{", "is no JSON"), ("[1]", "must be a JSON object"),
                              ("[" * 100000, "is no JSON"), (b"\xff\xfe{}", "no text in UTF-8"), ('{"iterations": 1e999}', "'iterations' is 'inf'"), ('{"kind": "radial"}', "has no trajectory")):
            with self.subTest(config[:40]):
                images, texts = self.ask(lines(self.full), config)
                self.assertEqual((images, len(texts)), ([], 1))
                self.assertRegex(texts[0], words)
        self.is_there()

    def test_words_are_the_clients(self):
        images, texts = self.ask([acquisition(noise((1, 96)), spoke / 3) for spoke in radial()], kind="radial", coils=1)
        self.assertEqual(images, [])
        self.assertRegex(texts[0], r"^isocenter: the unit of the trajectory cannot be told, .*: pass \"unit\", one of 'cycles_per_voxel'")
        _, texts = self.ask(self.along(radial()), '{"unit": "cycles_per_metre"}', kind="radial")
        self.assertIn('pass "unit": "cycles_per_voxel"', texts[0])

    def test_warnings_are_told(self):
        made = lines(self.full)
        for readout in made:
            readout.center_sample = 0
        with self.assertLogs("isocenter", logging.WARNING):
            images, texts = self.ask(made)
        self.assertEqual((len(images), len(texts)), (1, 1))
        self.assertIn("center_sample is 0", texts[0])


class Mistakes(Served):
    settings = {"max_bytes": 1 << 22, "max_clients": 3}

    def begun(self):
        return client.name("default") + client.text(3, self.text_of())

    def head(self, **fields):
        made = acquisition(noise((1, 4)))
        head = made.getHead()
        for name, value in fields.items():
            setattr(head, name, value)
        return client.pack(1008, bytes(head))

    def test_table_of_bad_input(self):
        text, whole = self.text_of(), list(map(client.readout, lines(self.full)))
        bomb = '<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]>' + text.replace('<?xml version="1.0"?>', "")
        large = text.replace("<x>48</x>", "<x>40000</x>")
        for name, data, words in (
                ("unknown message", client.pack(999, bytes(40)), "message 999 is none that this server knows"),
                ("garbage", random.Random(1).randbytes(5000), "none that this server knows|longer than texts|more than the"),
                ("a text of 4 GB", client.pack(2, struct.pack("<I", 0xffffffff)), "a configuration of 4294967295 bytes is longer than texts may be"),
                ("a text beyond the session", client.pack(3, struct.pack("<I", 1 << 23)), "a header takes 8388608 bytes, more than the 4194304 that are left"),
                ("a readout of 34 GB", self.begun() + self.head(number_of_samples=65535, active_channels=65535), "a readout of 65535 samples, 65535 coils and 0 dimensions takes 3435869[0-9]{4} bytes"),
                ("a trajectory of 17 GB", self.begun() + self.head(number_of_samples=65535, trajectory_dimensions=65535), "65535 dimensions takes 17"),
                ("compressed", self.begun() + self.head(flags=1 << 53), "readouts are compressed"),
                ("an image of 2**64 bytes", client.pack(1022, bytes(2) + b"\5\0" + bytes(194) + b"\xff" * 8), "an image takes 18446744073709551615 bytes"),
                ("an image of no type", client.pack(1022, bytes(198) + bytes(8)), "an image has numbers of type 0"),
                ("more than a session", self.begun() + b"".join(whole * 60), "more than the [0-9]+ that are left of 4194304 for a session"),
                ("no header", client.name("default") + whole[0] + client.pack(4), "the scan has no header"),
                ("two headers", self.begun() + client.text(3, text), "a second header came"),
                ("no XML", client.text(3, "Dummy XML header"), r"is no ISMRMRD header \(it is no XML: "),
                ("no header's XML", client.text(3, "<a/>"), "it has no element encoding"),
                ("entities", client.text(3, bomb), "it has a document type"),
                ("entities in UTF-16", client.text(3, bomb.encode("utf-16")), "it has a document type"),
                ("a matrix of 40000 x 40000", client.text(3, re.sub("<y>48</y>", "<y>40000</y>", large)), "voxels for 1 coil take 1.28e[+]10 bytes, more than 4194304"),
                ("a matrix without end", client.text(3, large.replace("40000", "1e300")), "voxels for 1 coil take"),
                ("a voxel of nothing", client.text(3, text.replace("<x>240.0</x>", "<x>1e-300</x>", 2).replace("1e-300", "240", 1)), "voxels for 1 coil take"),
                ("a matrix of 0", client.text(3, text.replace("<y>48</y>", "<y>0</y>")) + whole[0] + client.pack(4), "sizes must be above 0"),
                ("readouts of no samples", self.begun() + self.head(number_of_samples=0) + client.pack(4), "acquisition 0 has 0 samples"),
                ("coils that differ", self.begun() + whole[0] + client.readout(lines(self.full[:2])[1]) + client.pack(4), "acquisition 1 has 2 coils; others have 4"),
                ("nothing but noise", self.begun() + client.readout(acquisition(noise((4, 8)), flags=["IS_NOISE_MEASUREMENT"])) + client.pack(4), "1 NOISE_MEASUREMENT"),
                ("NaN", self.begun() + b"".join(map(client.readout, lines(self.full * np.nan))) + client.pack(4), "NaN|not finite"),
                ("no readouts", self.begun() + client.pack(4), "no readouts came")):
            with self.subTest(name):
                images, texts = client.asked(self.server.address, data)
                self.assertEqual((images, len(texts)), ([], 1), texts)
                self.assertRegex(texts[0], words)
        self.is_there()

    def test_a_client_that_only_asks(self):
        for data in (client.pack(4), client.name("default") + client.pack(4)):
            self.assertEqual(client.asked(self.server.address, data), ([], []))

    def test_connections_that_end_anywhere(self):
        """By a half-closed connection the server tells what it drops; by one that is reset it just goes on."""
        data = self.begun() + b"".join(map(client.readout, lines(self.full)[:2]))
        for end in sorted({0, 1, 2, 3, 500, 1025, 1026, 1028, 1031, 1032, 1500, *range(len(data) - 900, len(data), 97), len(data)}):
            with self.subTest(end=end), socket.create_connection(self.server.address, 20) as connection:
                connection.sendall(data[:end])
                connection.shutdown(socket.SHUT_WR)
                images, texts = client.answers(connection)
                self.assertEqual((images, len(texts)), ([], 1))
                self.assertIn("ended before the message that closes it", texts[0])
            with socket.create_connection(self.server.address, 20) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.sendall(data[:end])
        self.is_there()

    def test_clients_that_leave_before_their_images(self):
        data = client.scan(self.text_of(), [a for r in range(4) for a in lines(self.full[:, :, :], repetition=r)])
        for reset in (0, 1):
            with socket.create_connection(self.server.address, 20) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", reset, 0))
                connection.sendall(data)
        self.is_there()

    def test_more_clients_than_there_is_room_for(self):
        """They wait, and all are answered."""
        found, data = [], client.scan(self.text_of(), lines(self.full))
        expected = np.abs(self.of_a_file(lines(self.full)).images[0])
        threads = [threading.Thread(target=lambda: found.append(client.asked(self.server.address, data))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(len(found), 8)
        for images, texts in found:
            self.assertEqual(texts, [])
            np.testing.assert_array_equal(client.values(images[0]), expected)

    def test_two_clients_at_once(self):
        """Readouts of two scans come by turns, and each client has its own images, warnings and options."""
        scans = [(lines(self.full), "cartesian", "{}"), (self.along(radial(38)), "radial", '{"iterations": 3, "wrong": 1}')]
        sockets = [socket.create_connection(self.server.address, 20) for _ in scans]
        for connection, (made, kind, config) in zip(sockets, scans):
            connection.sendall(client.text(2, config) + client.text(3, self.text_of(kind)))
        for number in range(N):
            for connection, (made, *_) in zip(sockets, scans):
                if number < len(made):
                    connection.sendall(client.readout(made[number]))
        for connection in sockets:
            connection.sendall(client.pack(4))
        for connection, (made, kind, config), options, told in zip(sockets, scans, ({}, {"iterations": 3}), (0, 1)):
            with connection:
                images, texts = client.answers(connection)
            self.assertEqual(len(texts), told)
            np.testing.assert_array_equal(client.values(images[0]), np.abs(self.of_a_file(made, options, kind=kind).images[0]))

    def test_nothing_is_left(self):
        """Threads and descriptors are given back, whatever clients did."""
        def open_files():
            return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

        self.is_there()
        before, threads = open_files(), threading.active_count()
        for _ in range(30):
            with socket.create_connection(self.server.address, 20) as connection:
                connection.sendall(self.begun()[:700])
        self.is_there()
        for _ in range(100):
            if threading.active_count() <= threads and open_files() <= before:
                break
            threading.Event().wait(0.1)
        self.assertLessEqual((threading.active_count(), open_files()), (threads, before))


class Silence(Served):
    settings = {"timeout": 0.5}

    def test_silence(self):
        with socket.create_connection(self.server.address, 20) as connection:
            connection.sendall(client.name("default"))
            images, texts = client.answers(connection)
        self.assertRegex(texts[0], "nothing was sent or taken for 0.5 s, the server's --timeout")


class Parser(unittest.TestCase):
    """Mutated sessions: the parser gives messages, or one of its two exceptions, and takes no more memory than came."""
    ROUNDS = int(os.environ.get("ISOC_FUZZ_ROUNDS", "3000"))

    def test_mutations(self):
        import mrd_mutations
        self.assertGreater(mrd_mutations.run(self.ROUNDS, seed=0)["whole"], 0)


class Command(Served):
    def begun(self, *arguments):
        process = subprocess.Popen([sys.executable, "-m", "isocenter.raw.server", "--port", "0", "--device", "cpu", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        where = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+)\n", process.stdout.readline())
        return process, ("127.0.0.1", int(where[1]))

    @unittest.skipIf(sys.platform == "win32", "no SIGTERM")
    def test_signals_end_it(self):
        """While a client is silent, and while one sends; each is told, and the status is 0."""
        for how in (signal.SIGTERM, signal.SIGINT):
            process, address = self.begun()
            images, texts = client.asked(address, client.scan(self.text_of(), lines(self.full)))
            self.assertEqual((len(images), texts), (1, []))
            with socket.create_connection(address, 20) as connection:
                connection.sendall(client.name("none of these") + client.text(3, self.text_of()))
                with connection.makefile("rb") as file:  # a text says that the session has begun
                    client.exactly(file, 2)
                    client.exactly(file, struct.unpack("<I", client.exactly(file, 4))[0])
                    process.send_signal(how)
                    client.exactly(file, 2)
                    words = client.exactly(file, struct.unpack("<I", client.exactly(file, 4))[0])
            self.assertIn(b"the server is being stopped", words)
            self.assertEqual(process.wait(30), 0)
            self.assertRegex(process.stderr.read(), r"127\.0\.0\.1:\d+: 48 readouts, the first image \d+\.\d+ s after the last")

    def test_arguments(self):
        def run(*arguments):
            done = subprocess.run([sys.executable, "-m", "isocenter.raw.server", *arguments], capture_output=True, text=True, timeout=60)
            return done.returncode, done.stderr

        status, said = run("--port", str(self.server.address[1]))
        self.assertEqual(status, 1)
        self.assertRegex(said, "^isocenter.raw.server: cannot listen on 127.0.0.1:")
        for arguments, words in ((["--port", "many"], "invalid int value"), (["--max-bytes", "0"], "it must be above 0"), (["--max-bytes", "5X"], "invalid"), (["--timeout", "-1"], "it must be above 0"),
                                 (["--configs", "none"], "none is no folder"), (["--max-clients", "0"], "it must be above 0")):
            with self.subTest(arguments):
                status, said = run(*arguments)
                self.assertEqual(status, 2)
                self.assertIn(words, said)
        status, said = run("--port", "70000")
        self.assertEqual(status, 1)
        self.assertIn("70000", said)


if __name__ == "__main__":
    unittest.main()
