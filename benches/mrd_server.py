#!/usr/bin/env python3
"""How long after the last readout an MRD server answers: 402 spokes of 512 samples, 8 coils, 256 x 256 voxels, a noise scan.

usage: mrd_server.py [SERVERS [SCANS]]    each of so many servers, one after the other, takes so many scans; needs the packages isocenter, ismrmrd, h5py
"""
import os
import re
import socket
import statistics
import struct
import subprocess
import sys
import time

import numpy as np

import isocenter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cbindings", "python", "tests"))
import mrd_client as client  # noqa: E402
from raw_files import acquisition, header  # noqa: E402

N, COILS, SPOKES, READOUT = 256, 8, 402, 512


def scan():
    """Messages of the Shepp-Logan phantom's scan; a sine's sensitivity is a shift in k-space."""
    angle, along = np.arange(SPOKES) * np.pi / SPOKES, 0.96 * (np.arange(READOUT) - READOUT / 2) / READOUT
    k = np.stack([np.outer(np.cos(angle), along), np.outer(np.sin(angle), along)], axis=-1)
    samples = np.empty((COILS, SPOKES, READOUT), np.complex64)
    for coil in range(COILS):
        shift = np.array([np.cos(2 * np.pi * coil / COILS), np.sin(2 * np.pi * coil / COILS)]) / (2 * N)
        parts = [isocenter.MRI(trajectory=(k + way * shift).reshape(-1, 2), unit="cycles_per_voxel", nx=N, ny=N).phantom_samples(isocenter.MRI.shepp_logan(N / 2))
                 for way in (0, -1, 1)]
        samples[coil] = (parts[0] / 2 + (parts[1] - parts[2]) / 4j).reshape(SPOKES, READOUT)
    rng = np.random.default_rng(0)
    noise = 0.01 * (rng.standard_normal((COILS, 2048)) + 1j * rng.standard_normal((COILS, 2048)))
    readouts = [acquisition(noise, flags=["IS_NOISE_MEASUREMENT"])] + [acquisition(samples[:, s], k[s]) for s in range(SPOKES)]
    return client.scan(header(kind="radial", encoded=((1, N, N), (5.0, 300.0, 300.0)), coils=COILS), readouts)


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def answered(process, address, data):
    """Seconds from the message that closes a scan to the first image, and those that the server's threads took for all of it."""
    before = processor_seconds(process)
    with socket.create_connection(address) as connection, connection.makefile("rb") as file:
        connection.sendall(data[:-2])
        begin = time.perf_counter()
        connection.sendall(data[-2:])
        if struct.unpack("<H", client.exactly(file, 2))[0] != 1022:
            raise ValueError("no image")
        client.image(file)
        return time.perf_counter() - begin, processor_seconds(process) - before


def main(servers=3, scans=6):
    data, found = scan(), {"first": [], "later": []}
    for _ in range(servers):
        command = [sys.executable, "-m", "isocenter.raw.server", "--port", "0", "--device", "cpu"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            address = "127.0.0.1", int(re.search(r":(\d+)", process.stdout.readline())[1])
            for number in range(scans):
                found["later" if number else "first"].append(answered(process, address, data))
            process.terminate()
    print(f"{os.cpu_count()} processors, load " + ", ".join(f"{load:.1f}" for load in os.getloadavg()))
    for name, values in found.items():
        seconds, processor = (sorted(column) for column in zip(*values)) if values else ([], [])
        if seconds:
            print(f"{name} scans of a server: median {statistics.median(seconds):.2f} s, {seconds[0]:.2f} to {seconds[-1]:.2f}; processor {statistics.median(processor):.2f} s, "
                  f"{processor[0]:.2f} to {processor[-1]:.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
