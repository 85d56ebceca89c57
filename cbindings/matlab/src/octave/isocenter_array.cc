// isocenter_array(size, class, is_complex): an array whose elements are whatever was in memory, for isocenter_mex in Octave. Octave copies
// arrays that mex files make, and zeros(...) writes every element twice before the library does.
#include <octave/oct.h>
#include <octave/ov-cx-mat.h>
#include <octave/ov-flt-cx-mat.h>

#include <cstdint>
#include <new>

// Octave frees it with operator delete.
template <class T> static Array<T> unwritten(const dim_vector &size) {
    return Array<T>(static_cast<T *>(::operator new(static_cast<size_t>(size.safe_numel()) * sizeof(T))), size);
}

DEFUN_DLD(isocenter_array, arguments, , "Memory for results of isocenter_mex; not to be called by others.") {
    if (arguments.length() != 3) error("isocenter_array: for isocenter_mex alone");
    const Array<octave_idx_type> sizes = arguments(0).octave_idx_type_vector_value();
    const std::string name = arguments(1).string_value();
    const bool is_complex = arguments(2).bool_value();
    dim_vector size;
    size.resize(static_cast<int>(sizes.numel()));
    for (int k = 0; k < size.ndims(); k++) size(k) = sizes(k);
    // Complex ones by way of their own types: octave_value makes them real if they happen to hold zeros.
    if (name == "single" && is_complex) return octave_value(new octave_float_complex_matrix(FloatComplexNDArray(unwritten<FloatComplex>(size))));
    if (name == "single") return octave_value(FloatNDArray(unwritten<float>(size)));
    if (name == "double" && is_complex) return octave_value(new octave_complex_matrix(ComplexNDArray(unwritten<Complex>(size))));
    if (name == "double") return octave_value(NDArray(unwritten<double>(size)));
    if (name == "uint8") return octave_value(uint8NDArray(unwritten<octave_uint8>(size)));
    if (name == "uint16") return octave_value(uint16NDArray(unwritten<octave_uint16>(size)));
    if (name == "uint32") return octave_value(uint32NDArray(unwritten<octave_uint32>(size)));
    error("isocenter_array: there is no class %s", name.c_str());
}
