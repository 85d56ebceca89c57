# Every target works on a fresh Debian machine with a Rust toolchain, gcc, make and python3: what else it needs, it installs.

PREFIX ?= target/install
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
CFLAGS ?= -O2 -g
CARGO ?= cargo
# The compiler of `make cuda`, if it has been fetched; empty leaves the search to build.rs.
export ISOC_NVCC := $(or $(ISOC_NVCC),$(wildcard $(CURDIR)/target/cuda/nvidia/cu13/bin/nvcc))

STAGE := $(DESTDIR)$(abspath $(PREFIX))
LIBRARY := $(or $(CARGO_TARGET_DIR),target)/release/libisocenter.so
EXAMPLES := cbindings/examples/c
OUT := target/demo
# The command isocenter, where it can be built.
PROGRAM = $(if $(shell pkg-config --exists hdf5 2>/dev/null && echo 1),$(dir $(LIBRARY))isocenter)
# What it needs, and what MPI's binding needs besides.
FOR_PROGRAM := cmd:cc:gcc cmd:pkg-config:pkg-config pc:hdf5:libhdf5-dev
FOR_MPI := mpi:$(or $(MPICC),mpicc):libopenmpi-dev cmd:mpirun:openmpi-bin so:clang:libclang-dev
# A sinogram alone.
OF_TIFF := $(filter %.tif %.tiff %.TIF %.TIFF,$(DATA))
STAGED_LIBDIR := $(DESTDIR)$(abspath $(LIBDIR))
MANIFEST := $(DESTDIR)$(abspath $(DATADIR))/isocenter/manifest.txt
WITH_INSTALLED := PKG_CONFIG_PATH="$(STAGED_LIBDIR)/pkgconfig:$$PKG_CONFIG_PATH"

COMPILE = $(WITH_INSTALLED) sh -c '$(CC) -std=c11 -Wall -Wextra -Wpedantic $(CFLAGS) $$(pkg-config --cflags $(1)) $(2) \
	-o $(3) $$(pkg-config --libs $(1)) -lm -Wl,-rpath,$(STAGED_LIBDIR)'

.PHONY: help build program program-mpi cuda install uninstall dist tarball wheel deb octave-pkg windows windows-zip test-windows test-packages test-all-platforms size demo demo-program demo-mri demo-pet demo-python demo-raw demo-quant test test-all bench gpu-bundle bundle fuzz miri lint header clean

help:
	@echo 'make demo                       build, install into target/install, reconstruct a phantom from C, draw a picture'
	@echo 'make demo DATA=scan.h5          the same with a Data Exchange HDF5 scan, or the sinogram of one row in a TIFF file;'
	@echo '                                ALGORITHM=sirt, cgls or mlem ITERATIONS=50: by iterations'
	@echo 'make demo-program DATA=scan.nx  volume, picture and report of a scan by the command isocenter; PROCESSES=3 under mpirun'
	@echo 'make demo-mri                   reconstruct a non-Cartesian MRI scan of a phantom from C, draw a picture'
	@echo 'make demo-mri DATA=folder       the same with a measured scan: NumPy arrays, see cbindings/examples/c/kspace.h'
	@echo 'make demo-pet                   simulate and reconstruct a time-of-flight PET scan from C, draw pictures'
	@echo 'make demo-pet COUNTS=1e8        the same with more events; ITERATIONS=20 with more passes, DEVICE=cpu or gpu: where'
	@echo 'make demo-python                the same three in Python, CT from 30 views and a series of MRI, with pictures; DATA=scan.h5 a CT scan'
	@echo 'make demo-raw                   write a raw scan of several coils (ISMRMRD), and reconstruct it from that file in Python, with a picture'
	@echo 'make demo-raw DATA=scan.h5      the same with a measured one; UNIT=cycles_per_metre: of its trajectory, where more than one fits'
	@echo 'make demo-quant                 simulate a PET scan as a list-mode file (PETSIRD) with an attenuation map (NIfTI), and reconstruct it in Bq/ml by one command; COUNTS=4e6'
	@echo 'make program                    the command isocenter, from a scan file to a volume file: target/release/isocenter'
	@echo 'make program-mpi                the same for runs of many processes under mpirun or srun; MPICC says which MPI'
	@echo 'make test                       all tests, exported symbols, and programs outside the project'
	@echo 'make lint                       imports, formatting, clippy and documentation, warnings denied'
	@echo 'make bench                      benchmarks, alone and beside other packages'
	@echo 'make install PREFIX=/usr/local  library, command (if HDF5 is there; MPI=1: for mpirun), headers, pkg-config and CMake files, examples, pages, Python, MATLAB; DESTDIR, LIBDIR,'
	@echo '                                INCLUDEDIR and DATADIR are heeded; make uninstall with the same words removes it'
	@echo 'make dist                       target/dist/isocenter-VERSION-linux-x86_64.tar.gz, for glibc 2.28 or newer'
	@echo 'make wheel                      target/wheels/*.whl, a Python package with the library inside; PLATFORM=linux-aarch64, windows-x86_64, macos-arm64'
	@echo 'make deb                        target/debs/*.deb: library, files for programs that use it, command, Octave classes'
	@echo 'make octave-pkg                 target/octave-pkg/isocenter-VERSION.tar.gz, for pkg install'
	@echo 'make windows                    target/dist/isocenter-VERSION-windows-x86_64.zip, for Windows 10 or newer; make test-windows tests it under Wine (ALL=1: Rust tests too)'
	@echo 'make test-packages              makes these and the tarball, installs each in an environment of its own, reconstructs with it'
	@echo 'make test-all-platforms         before a release: every test on 64-bit Arm and on Windows, emulated, all packages, Miri; hours'
	@echo 'make size                       where the bytes of the library go'
	@echo 'make fuzz SECONDS=600           looks for calls that break the library, so long for each modality, with AddressSanitizer'
	@echo 'make miri                       small sessions of every modality, interpreted by Miri: undefined behaviour and races'
	@echo 'make cuda                       fetch the CUDA compiler into target/cuda, unless there is one: for GPU kernels'
	@echo 'make gpu-bundle                 target/gpu-bundle: tests and benchmarks for a machine with just a GPU and its driver'
	@echo 'make header                     write include/isocenter.h anew from src/ffi, and what Python takes from it'
	@echo 'make clean                      remove everything that was built'

build:
	$(CARGO) build --release

program:
	scripts/need.sh $(FOR_PROGRAM)
	$(CARGO) build --release -p isocenter-program

program-mpi:
	scripts/need.sh $(FOR_PROGRAM) $(FOR_MPI)
	$(CARGO) build --release -p isocenter-program --features mpi

cuda:
	scripts/cuda.sh

install: build
	$(if $(PROGRAM),$(CARGO) build --release -p isocenter-program $(if $(MPI),--features mpi),@echo 'without the command isocenter: HDF5 (libhdf5-dev) is not there')
	PROGRAM="$(PROGRAM)" CARGO="$(CARGO)" DESTDIR="$(DESTDIR)" LIBDIR="$(abspath $(LIBDIR))" INCLUDEDIR="$(abspath $(INCLUDEDIR))" \
		DATADIR="$(abspath $(DATADIR))" scripts/install.sh $(LIBRARY) $(abspath $(PREFIX))

uninstall:
	DESTDIR="$(DESTDIR)" scripts/uninstall.sh $(MANIFEST)

# The kernels of every architecture belong into it, so the compiler comes first; make looks for it when it starts.
dist: cuda
	$(MAKE) tarball

tarball:
	CARGO="$(CARGO)" scripts/dist.sh

# Packages hold the kernels of every architecture, too.
PLATFORM ?= linux-x86_64
wheel: cuda
	scripts/wheel.sh $(PLATFORM)

deb: cuda
	scripts/deb.sh linux-x86_64

octave-pkg: cuda
	scripts/build_for.sh linux-x86_64
	scripts/octave_pkg.sh linux-x86_64 target/octave-pkg/isocenter-$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1).tar.gz

windows: cuda
	$(MAKE) windows-zip

windows-zip:
	CARGO="$(CARGO)" scripts/windows_zip.sh

test-windows:
	CARGO="$(CARGO)" scripts/test_windows.sh $(if $(ALL),all)

test-packages: wheel deb octave-pkg dist
	scripts/wheel.sh linux-aarch64
	scripts/wheel.sh macos-arm64
	scripts/wheel.sh windows-x86_64
	scripts/test_packages.sh wheel wheel-baseline wheel-aarch64 wheel-windows octave deb fetch

test-all-platforms: test test-packages miri
	scripts/test_aarch64.sh all
	$(MAKE) test-windows ALL=1

size: build
	scripts/size_report.py $(LIBRARY) $(dir $(LIBRARY))build/isocenter-kernels

demo: install
	@mkdir -p $(OUT)
ifdef DATA
	scripts/need.sh cmd:cc:gcc cmd:pkg-config:pkg-config pc:cairo:libcairo2-dev pc:hdf5:libhdf5-dev \
		$(if $(OF_TIFF),pc:libtiff-4:libtiff-dev)
	@$(call COMPILE,isocenter cairo hdf5 $(if $(OF_TIFF),libtiff-4),$(if $(OF_TIFF),-DWITH_TIFF) $(addprefix $(EXAMPLES)/,\
		dxchange.c scan.c $(if $(OF_TIFF),sinogram.c) picture.c demo.c),$(OUT)/dxchange)
	$(OUT)/dxchange $(DATA) $(OUT) $(if $(ALGORITHM),--algorithm $(ALGORITHM)) $(if $(ITERATIONS),--iterations $(ITERATIONS))
else
	scripts/need.sh cmd:cc:gcc cmd:pkg-config:pkg-config pc:cairo:libcairo2-dev
	@$(call COMPILE,isocenter cairo,$(addprefix $(EXAMPLES)/,shepp_logan.c picture.c demo.c),$(OUT)/shepp_logan)
	$(OUT)/shepp_logan $(OUT)/shepp_logan.png
endif

demo-program: $(if $(PROCESSES),program-mpi,program)
	@mkdir -p $(OUT)
	$(if $(PROCESSES),mpirun -n $(PROCESSES)) $(dir $(LIBRARY))isocenter recon $(DATA) -o $(OUT)/$(notdir $(basename $(DATA)))_volume.h5

demo-mri: install
	@mkdir -p $(OUT)
	scripts/need.sh cmd:cc:gcc cmd:pkg-config:pkg-config pc:cairo:libcairo2-dev
	@$(call COMPILE,isocenter cairo,$(addprefix $(EXAMPLES)/,mri.c kspace.c npy.c picture.c demo.c),$(OUT)/mri)
	$(OUT)/mri $(OUT) $(DATA)

demo-pet: install
	@mkdir -p $(OUT)
	scripts/need.sh cmd:cc:gcc cmd:pkg-config:pkg-config pc:cairo:libcairo2-dev
	@$(call COMPILE,isocenter cairo,$(addprefix $(EXAMPLES)/,pet.c picture.c demo.c),$(OUT)/pet)
	$(OUT)/pet $(OUT) $(if $(COUNTS),--counts $(COUNTS)) $(if $(ITERATIONS),--iterations $(ITERATIONS)) \
		$(if $(DEVICE),--device $(DEVICE))

demo-python: install
	DATA="$(DATA)" COUNTS="$(or $(COUNTS),4e6)" scripts/demo_python.sh $(STAGE) target/demo-python $(if $(DATA),ct iterative,ct iterative mri series pet)

demo-raw: install
	DATA="$(DATA)" UNIT="$(UNIT)" scripts/demo_python.sh $(STAGE) target/demo-python raw

demo-quant: install
	COUNTS="$(or $(COUNTS),4e5)" scripts/demo_python.sh $(STAGE) target/demo-python petsird_scan

# Tests cover the kernels of every architecture, so the compiler comes first; make looks for it when it starts.
test: cuda
	$(MAKE) test-all

test-all: install
	scripts/need.sh cmd:cc:gcc cmd:c++:g++ cmd:pkg-config:pkg-config cmd:valgrind:valgrind cmd:cmake:cmake pc:hdf5:libhdf5-dev \
		cmd:octave-cli:octave cmd:mkoctfile:octave-dev $(FOR_PROGRAM) $(FOR_MPI) \
		cmd:chromium:chromium cmd:prlimit:util-linux
	$(CARGO) test --release
	$(CARGO) test --release -p isocenter-program --features mpi
	scripts/test_program_formats.sh $(or $(CARGO_TARGET_DIR),target)/release/isocenter
	scripts/check_symbols.sh $(STAGED_LIBDIR)/libisocenter.so include/isocenter.h
	scripts/check_abi.py $(STAGED_LIBDIR)/libisocenter.so include/isocenter.h
	scripts/check_sass.py $(dir $(LIBRARY))build/isocenter-kernels
	scripts/check_consumer.sh $(STAGE) target/consumer
	scripts/test_python.sh $(STAGE)
	scripts/test_program_volumes.sh $(dir $(LIBRARY))isocenter
	scripts/test_octave.sh $(STAGE) target/octave-tests

bench:
	$(CARGO) bench
	$(if $(wildcard benches/peers/run.sh),benches/peers/run.sh)

gpu-bundle: cuda
	$(MAKE) bundle

bundle: install
	CARGO=$(CARGO) scripts/gpu_bundle.sh $(STAGE) target/gpu-bundle

fuzz:
	scripts/fuzz.sh $(or $(SECONDS),60)

# Leaks are of crossbeam, which keeps its lists until the process ends; its pointers go through integers.
miri:
	rustup +nightly component add miri rust-src 2>/dev/null || rustup toolchain install nightly --profile minimal --component miri,rust-src
	ISOC_NVCC=none CARGO_TARGET_DIR=target/miri \
		MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-ignore-leaks' \
		$(CARGO) +nightly miri test --test interpreted
	# Many orders of threads, and all that weak memory as Arm's lets them see.
	ISOC_NVCC=none CARGO_TARGET_DIR=target/miri MIRIFLAGS='-Zmiri-disable-isolation -Zmiri-many-seeds=0..64' \
		$(CARGO) +nightly miri test --lib -- queue_tests handle_tests

lint:
	@$(CARGO) clippy --version >/dev/null 2>&1 && $(CARGO) fmt --version >/dev/null 2>&1 || rustup component add clippy rustfmt
	scripts/imports.py
	$(CARGO) fmt --all --check
	rustfmt --edition 2024 --check fuzz/src/lib.rs fuzz/fuzz_targets/*.rs
	scripts/need.sh $(FOR_PROGRAM) $(FOR_MPI)
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
	$(CARGO) clippy --release -p isocenter-program --all-targets --features mpi -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --release --no-deps

header:
	ISOC_BLESS=1 $(CARGO) test --release --test header
	python3 cbindings/python/generate.py include/isocenter.h >cbindings/python/isocenter/_abi.py

clean:
	$(CARGO) clean
	rm -rf target
