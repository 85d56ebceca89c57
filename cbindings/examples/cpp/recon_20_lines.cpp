// A disk from 180 sides; its slice, as a picture. C++17 (-rpath is for a library that ldconfig does not know):
//   c++ -std=c++17 recon_20_lines.cpp $(pkg-config --cflags --libs isocenter) -Wl,-rpath,$(pkg-config --variable=libdir isocenter)
#include <isocenter.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>

int main() try {
    const int views = 180, bins = 256;
    std::vector<double> angles(views);
    for (int i = 0; i < views; i++) angles[i] = 3.14159265358979 * i / views;
    std::vector<float> projections(views * bins), volume(bins * bins);

    isocenter::context context; // all GPUs, or the processor
    isocenter::ct ct(context);
    isocenter::ct::geometry geometry;
    geometry.bins = bins, geometry.angles = angles;
    ct.set_geometry(geometry);
    const isocenter::ct::ellipse disk = { 1.0, 20.0, -10.0, 80.0, 80.0, 0.0 }; // attenuation, centre, semi-axes, rotation
    ct.phantom_projections({ disk }, { projections, { views, bins } }); // a scanner's line integrals go here
    ct.reconstruct({ projections, { views, bins } }, { volume, { bins, bins } });
    std::printf("attenuation in the disk: %.3f\n", volume[138 * bins + 148]);
    std::ofstream picture("disk.pgm", std::ios::binary);
    picture << "P5 " << bins << ' ' << bins << " 255\n";
    for (float value : volume) picture.put(char(int(255 * std::clamp(value, 0.0f, 1.0f))));
} catch (const isocenter::error &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
