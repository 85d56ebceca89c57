// A DLL whose context has static storage: it is destroyed while Windows unloads the DLL, when no thread can end.
#include <isocenter.hpp>

#include <vector>

static isocenter::context context;

extern "C" __declspec(dllexport) int reconstructs() try {
    const std::vector<double> angles = { 0.0, 1.0 };
    std::vector<float> projections(2 * 8, 1.0f), volume(8 * 8);
    isocenter::ct ct(context);
    isocenter::ct::geometry geometry;
    geometry.bins = 8, geometry.angles = angles;
    ct.set_geometry(geometry);
    ct.reconstruct({ projections, { 2, 8 } }, { volume, { 8, 8 } });
    return volume[3 * 8 + 3] != 0.0f;
} catch (const isocenter::error &) {
    return 0;
}
