# Every target works on a fresh Debian machine with a Rust toolchain, gcc, make and python3: what else it needs, it installs.

PREFIX ?= target/install
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
CFLAGS ?= -O2 -g
CARGO ?= cargo
# The compiler of `make cuda`, if it has been fetched; empty leaves the search to crates/nvcc.
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
# The library and the crates that it is made of.
OF_LIBRARY := --workspace --exclude isocenter-program --exclude isocenter-benches
FOR_DEMO := cmd:cc:gcc cmd:pkg-config:pkg-config pc:cairo:libcairo2-dev
# What tests need besides; without Valgrind, which is for `make test-release`.
FOR_TEST := cmd:c++:g++ cmd:cmake:cmake pc:libtiff-4:libtiff-dev cmd:octave-cli:octave cmd:mkoctfile:octave-dev cmd:chromium:chromium \
	cmd:prlimit:util-linux py:ensurepip:python3-venv
# The packages of scripts/test_python.sh and of the demonstrations, in the same words as there: who finds them has nothing to install.
FOR_PYTHON := matplotlib ismrmrd==1.15.0 petsird==0.12.0 nibabel==5.3.2 pydicom==3.0.2 uproot==5.7.7
# Programs and tests run against target/install; where phases run beside each other, `stage` has made it before.
STAGED = $(if $(BUILT),,stage)
# A sinogram alone.
OF_TIFF := $(filter %.tif %.tiff %.TIF %.TIFF,$(DATA))
STAGED_LIBDIR := $(DESTDIR)$(abspath $(LIBDIR))
MANIFEST := $(DESTDIR)$(abspath $(DATADIR))/isocenter/manifest.txt
WITH_INSTALLED := PKG_CONFIG_PATH="$(STAGED_LIBDIR)/pkgconfig:$$PKG_CONFIG_PATH"

COMPILE = $(WITH_INSTALLED) sh -c '$(CC) -std=c11 -Wall -Wextra -Wpedantic $(CFLAGS) $$(pkg-config --cflags $(1)) $(2) \
	-o $(3) $$(pkg-config --libs $(1)) -lm -Wl,-rpath,$(STAGED_LIBDIR)'

# The phases of `make test`, in the order in which they begin where there is a choice; each is a target of that name, and can be made alone.
PHASES := cuda tools stage python-env lint-format test-rust test-consumer test-python test-octave test-program lint-clippy lint-doc test-installed
# Those that .ci/run has besides: demonstrations that show what no test does.
DEMOS := demo demo-scan demo-scan-program demo-raw demo-quant
# So many at a time: most leave a core idle some of the time.
SIDE_BY_SIDE ?= 2
RUNS := $(addprefix phase-,$(PHASES) $(DEMOS))
# The parts of `make test-release`, each `make release-PART`.
RELEASE := kernels lint rust program program-plain consumer python octave peers demos scans fuzz miri bundle packages windows aarch64

.PHONY: help build stage program program-mpi cuda tools python-env install uninstall dist tarball wheel deb octave-pkg windows windows-zip test-windows \
	test-packages size demo demo-program demo-scan demo-scan-program demo-mri demo-pet demo-python demo-raw demo-quant test test-rust test-program \
	test-consumer test-python test-octave test-peers test-installed test-release phases-keep bench gpu-bundle bundle fuzz miri lint lint-format \
	lint-clippy lint-doc header clean $(RUNS) $(addprefix release-,$(RELEASE))

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
	@echo 'make test                       every test of the processor, the code of all pages, programs outside the project, lint; kernels of one'
	@echo '                                architecture (ISOC_CUDA_ARCHS=80,86: of these); prints how long each phase took. Each can be made alone:'
	@echo '                                test-rust, test-program, test-consumer (C and C++), test-python, test-octave, test-installed, lint'
	@echo 'make phases-keep                keeps these times in benches/results/phases.tsv, to which the next are compared'
	@echo 'make test-release               before a release: what takes longer, hours, in parts that are not repeated at a commit where they passed;'
	@echo '                                PARTS="rust octave": some of $(RELEASE)'
	@echo '                                It sets ISOC_TEST_RELEASE=1, with which tests go through all variants: of C, C++, Valgrind, Octave, ASTRA'
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
	@echo 'make size                       where the bytes of the library go'
	@echo 'make fuzz SECONDS=600           looks for calls that break the library and files that break the program, so long for each target, with AddressSanitizer'
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

# PROGRAM: the command's path, if it is to be installed.
INSTALL = CARGO="$(CARGO)" DESTDIR="$(DESTDIR)" LIBDIR="$(abspath $(LIBDIR))" INCLUDEDIR="$(abspath $(INCLUDEDIR))" \
	DATADIR="$(abspath $(DATADIR))" scripts/install.sh $(LIBRARY) $(abspath $(PREFIX))

install: build
	$(if $(PROGRAM),$(CARGO) build --release -p isocenter-program $(if $(MPI),--features mpi),@echo 'without the command isocenter: HDF5 (libhdf5-dev) is not there')
	PROGRAM="$(PROGRAM)" $(INSTALL)

# The library alone, with all that programs need.
stage: build
	PROGRAM= $(INSTALL)

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

size: build
	scripts/size_report.py $(LIBRARY) $(dir $(LIBRARY))build/isocenter-kernels

# with_tools WORDS: the library is built, while packages are fetched that the next lines need.
define with_tools
	@mkdir -p $(OUT)
	@scripts/need.sh $(1) & needed=$$!; $(if $(BUILT),,$(MAKE) --no-print-directory stage;) built=$$?; wait $$needed && exit $$built
endef

demo:
ifdef DATA
	$(call with_tools,$(FOR_DEMO) pc:hdf5:libhdf5-dev $(if $(OF_TIFF),pc:libtiff-4:libtiff-dev))
	@$(call COMPILE,isocenter cairo hdf5 $(if $(OF_TIFF),libtiff-4),$(if $(OF_TIFF),-DWITH_TIFF) $(addprefix $(EXAMPLES)/,\
		dxchange.c scan.c $(if $(OF_TIFF),sinogram.c) picture.c demo.c),$(OUT)/dxchange)
	$(OUT)/dxchange $(DATA) $(OUT) $(if $(ALGORITHM),--algorithm $(ALGORITHM)) $(if $(ITERATIONS),--iterations $(ITERATIONS))
else
	$(call with_tools,$(FOR_DEMO))
	@$(call COMPILE,isocenter cairo,$(addprefix $(EXAMPLES)/,shepp_logan.c picture.c demo.c),$(OUT)/shepp_logan)
	$(OUT)/shepp_logan $(OUT)/shepp_logan.png
endif

demo-program: $(if $(PROCESSES)$(MPI),program-mpi,program)
	@mkdir -p $(OUT)
	$(if $(PROCESSES),mpirun -n $(PROCESSES)) $(dir $(LIBRARY))isocenter recon $(DATA) -o $(OUT)/$(notdir $(basename $(DATA)))_volume.h5

# of_scan TARGET PATH WORDS: makes a demonstration of a measured scan, where it is there.
of_scan = @$(if $(wildcard $(2)),$(MAKE) --no-print-directory $(1) DATA=$(2) $(3),echo 'skipped: make $(1) DATA=$(2) (it is not there)')
TOOTH := ../shared/data/ct/tooth.h5

demo-scan:
	$(call of_scan,demo,$(TOOTH))

# The command as it was tested.
demo-scan-program:
	$(call of_scan,demo-program,$(TOOTH),MPI=1)

demo-mri:
	$(call with_tools,$(FOR_DEMO))
	@$(call COMPILE,isocenter cairo,$(addprefix $(EXAMPLES)/,mri.c kspace.c npy.c picture.c demo.c),$(OUT)/mri)
	$(OUT)/mri $(OUT) $(DATA)

demo-pet:
	$(call with_tools,$(FOR_DEMO))
	@$(call COMPILE,isocenter cairo,$(addprefix $(EXAMPLES)/,pet.c picture.c demo.c),$(OUT)/pet)
	$(OUT)/pet $(OUT) $(if $(COUNTS),--counts $(COUNTS)) $(if $(ITERATIONS),--iterations $(ITERATIONS)) \
		$(if $(DEVICE),--device $(DEVICE))

demo-python: $(STAGED)
	DATA="$(DATA)" COUNTS="$(or $(COUNTS),4e6)" scripts/demo_python.sh $(STAGE) target/demo-python $(if $(DATA),ct iterative,ct iterative mri series pet)

demo-raw: $(STAGED)
	DATA="$(DATA)" UNIT="$(UNIT)" scripts/demo_python.sh $(STAGE) target/demo-python raw

demo-quant: $(STAGED)
	COUNTS="$(or $(COUNTS),4e5)" scripts/demo_python.sh $(STAGE) target/demo-python petsird_scan

# Kernels of one architecture, unless more are asked for: others are looked at by `make test-release`.
ifneq ($(filter test test-rust test-program test-consumer test-python test-octave test-installed lint lint-%,$(MAKECMDGOALS)),)
ifndef ISOC_TEST_RELEASE
export ISOC_CUDA_ARCHS ?= 90
endif
endif

test:
	@rm -rf target/phases target/phases.tsv
	@$(MAKE) --no-print-directory -j$(SIDE_BY_SIDE) $(addprefix phase-,$(PHASES) $(WITH)); status=$$?; \
		scripts/phases.py; exit $$status

$(RUNS): phase-%:
	@scripts/phase.sh $* $(MAKE) --no-print-directory BUILT=1 $*
# What has to have ended before they begin.
phase-stage: phase-cuda
phase-python-env: phase-tools
phase-test-rust phase-lint-doc: phase-stage
phase-test-consumer phase-test-octave phase-lint-clippy phase-demo phase-demo-scan: phase-stage phase-tools
phase-test-python phase-demo-raw phase-demo-quant: phase-stage phase-python-env
phase-test-program: phase-test-rust phase-tools
phase-demo-scan-program phase-test-installed: phase-test-program

phases-keep:
	scripts/phases.py --keep

# All at once: installing takes turns.
tools:
	scripts/need.sh $(FOR_DEMO) $(FOR_PROGRAM) $(FOR_MPI) $(FOR_TEST)

python-env:
	scripts/python_env.sh $(FOR_PYTHON)

test-rust: $(STAGED)
	$(CARGO) test --release $(OF_LIBRARY)

test-program:
	scripts/need.sh $(FOR_PROGRAM) $(FOR_MPI) cmd:chromium:chromium cmd:prlimit:util-linux
	$(CARGO) test --release -p isocenter-program --features mpi

test-consumer: $(STAGED)
	scripts/check_symbols.sh $(STAGED_LIBDIR)/libisocenter.so include/isocenter.h
	scripts/check_abi.py $(STAGED_LIBDIR)/libisocenter.so include/isocenter.h
	scripts/check_consumer.sh $(STAGE) target/consumer

test-python: $(STAGED)
	scripts/test_python.sh $(STAGE)

test-octave: $(STAGED)
	scripts/test_octave.sh $(STAGE) target/octave-tests

# What the command reads and writes, beside the programs that others have.
test-peers: program-mpi
	scripts/test_program_formats.sh $(dir $(LIBRARY))isocenter
	scripts/test_program_volumes.sh $(dir $(LIBRARY))isocenter

# `make install` with the command, as it was tested, and `make uninstall`.
test-installed:
	rm -rf target/installed
	$(MAKE) --no-print-directory install PREFIX=target/installed MPI=1
	cmp $(dir $(LIBRARY))isocenter target/installed/bin/isocenter
	target/installed/bin/isocenter --version
	$(MAKE) --no-print-directory uninstall PREFIX=target/installed
	@left=$$(find target/installed ! -type d); [ -z "$$left" ] || { echo "make uninstall left: $$left" >&2; exit 1; }

# Kernels of all architectures, so the compiler comes first; make looks for it when it starts.
test-release: cuda
	MAKE="$(MAKE)" scripts/release.py run "$(RELEASE)" "$(PARTS)"

release-kernels: stage
	scripts/check_sass.py $(dir $(LIBRARY))build/isocenter-kernels --all

release-lint: lint

release-rust:
	scripts/need.sh cmd:c++:g++ cmd:valgrind:valgrind
	$(MAKE) test-rust

release-program: test-program test-installed

# Without MPI, as most build it.
release-program-plain: program
	$(CARGO) clippy --release -p isocenter-program --all-targets -- -D warnings
	$(call of_scan,demo-program,$(TOOTH))

release-consumer:
	scripts/need.sh cmd:valgrind:valgrind
	$(MAKE) test-consumer

release-python: test-python

release-octave: test-octave

release-peers: test-peers

release-demos:
	$(MAKE) demo
	$(MAKE) demo-pet COUNTS=4e6 ITERATIONS=3
	$(MAKE) demo-mri
	$(MAKE) demo-python COUNTS=4e5
	$(MAKE) demo-raw
	$(MAKE) demo-quant

# Where root and fewer cores than processes are no mistake.
release-scans: export OMPI_ALLOW_RUN_AS_ROOT := 1
release-scans: export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
release-scans: export OMPI_MCA_rmaps_base_oversubscribe := 1
release-scans:
	$(call of_scan,demo,$(TOOTH))
	$(call of_scan,demo,../shared/data/ct/sinogram_360_neutron.tif)
	$(call of_scan,demo-program,$(TOOTH),PROCESSES=3)
	$(call of_scan,demo-mri,../shared/data/mri/spiral3d_brain_4coil)
	$(call of_scan,demo-mri,../shared/data/mri/radial_brain_32coil)

# Half an hour: the readers have fewer paths than sessions.
release-fuzz:
	scripts/fuzz.sh $(or $(SECONDS),300) ct mri pet
	scripts/fuzz.sh $(or $(SECONDS),120) filters tiff edf folder par options plan table hdf5 petsird

release-miri: miri

release-bundle: bundle

release-packages: test-packages

release-windows:
	$(MAKE) test-windows ALL=1

release-aarch64:
	scripts/test_aarch64.sh all

bench:
	$(CARGO) bench -p isocenter-benches
	$(if $(wildcard benches/peers/run.sh),benches/peers/run.sh)

gpu-bundle: cuda
	$(MAKE) bundle

bundle: stage
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
		$(CARGO) +nightly miri test -p isocenter -p isocenter-ct --lib -- queue_tests handle_tests

lint: lint-format lint-clippy lint-doc

lint-format:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	scripts/imports.py
	scripts/one_build.py
	$(CARGO) fmt --all --check
	rustfmt --edition 2024 --check fuzz/src/lib.rs fuzz/corpus/*.rs fuzz/fuzz_targets/*.rs program/encoders/src/lib.rs
	$(CARGO) metadata --format-version 1 --locked --manifest-path fuzz/Cargo.toml >/dev/null

lint-clippy:
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
	scripts/need.sh $(FOR_PROGRAM) $(FOR_MPI)
	$(CARGO) clippy --release --workspace --all-targets --features isocenter-program/mpi -- -D warnings

lint-doc:
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --release --no-deps $(OF_LIBRARY)

header:
	ISOC_BLESS=1 $(CARGO) test --release --test header
	python3 cbindings/python/generate.py include/isocenter.h >cbindings/python/isocenter/_abi.py

clean:
	$(CARGO) clean
	rm -rf target
