# An overlay port, which builds the checkout that it lies in; Cargo has to be there, and nvcc for GPU kernels:
#   vcpkg install isocenter --overlay-ports=FOLDER/packaging/vcpkg
set(VCPKG_POLICY_ALLOW_DEBUG_SHARE enabled)
set(VCPKG_BUILD_TYPE release) # a C ABI: one build serves debug and release
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)
find_program(MAKE make REQUIRED)
vcpkg_execute_required_process(
    COMMAND "${MAKE}" install "PREFIX=${CURRENT_PACKAGES_DIR}" "CARGO_TARGET_DIR=${CURRENT_BUILDTREES_DIR}/target"
    WORKING_DIRECTORY "${SOURCE_PATH}"
    LOGNAME "install-${TARGET_TRIPLET}")
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/isocenter)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE-MIT" "${SOURCE_PATH}/LICENSE-APACHE"
    "${CURRENT_PACKAGES_DIR}/share/doc/isocenter/THIRD-PARTY-NOTICES")
