"""Sends an ISMRMRD file to an MRD server, and draws the images that come back, side by side:

    python -m isocenter.raw.server &
    DATA=scan.h5 SERVER=127.0.0.1:9002 CONFIG='{"iterations": 20}' python mrd_client.py

The pictures are written to `mrd.png`; pixels as they come, x to the right and y downwards. It needs the packages ismrmrd and matplotlib."""
import os
import socket
import struct
import threading

import ismrmrd
import matplotlib.pyplot as plt
import numpy as np

CONFIG_TEXT, HEADER, CLOSE, TEXT, ACQUISITION, IMAGE = 2, 3, 4, 5, 1008, 1022


def send(connection, path, config):
    """A session: configuration, header, readouts, close."""
    with ismrmrd.Dataset(path, create_if_needed=False) as data:
        for kind, text in ((CONFIG_TEXT, config.encode()), (HEADER, data.read_xml_header())):
            connection.sendall(struct.pack("<HI", kind, len(text)) + text)
        for number in range(data.number_of_acquisitions()):
            connection.sendall(struct.pack("<H", ACQUISITION))
            data.read_acquisition(number).serialize_into(connection.sendall)
    connection.sendall(struct.pack("<H", CLOSE))


def received(file):
    """Images up to close; texts are printed."""
    while True:
        kind, = struct.unpack("<H", file.read(2))
        if kind == CLOSE:
            return
        if kind == TEXT:
            print(file.read(*struct.unpack("<I", file.read(4))).rstrip(b"\0").decode())
        elif kind == IMAGE:
            yield ismrmrd.Image.deserialize_from(file.read)


host, port = os.environ.get("SERVER", "127.0.0.1:9002").rsplit(":", 1)
with socket.create_connection((host, int(port))) as connection, connection.makefile("rb") as file:
    # Beside the readouts, since a server may answer before it has them all.
    sender = threading.Thread(target=send, args=(connection, os.environ["DATA"], os.environ.get("CONFIG", "{}")))
    sender.start()
    images = sorted(received(file), key=lambda image: image.image_index)
    sender.join()
for image in images:
    print(f"image {image.image_index}: slice {image.slice}, contrast {image.contrast}, repetition {image.repetition}, {image.data.shape[1:]} voxels over "
          f"{tuple(image.field_of_view)} mm about {tuple(image.position)}")
if images:
    planes = [np.abs(plane) for image in images for plane in image.data[0]]
    _, axes = plt.subplots(1, len(planes), figsize=(4 * len(planes), 4), squeeze=False, constrained_layout=True)
    for ax, plane in zip(axes[0], planes):
        ax.imshow(plane, cmap="gray", vmin=0, vmax=np.percentile(plane, 99.8))
        ax.axis("off")
    plt.savefig("mrd.png")
