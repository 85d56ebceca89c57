// What must not compile, one mistake a number: -DMISTAKE=1 and so on. Beside it is what compilers have to say, any or one of them; 0 is
// no mistake.
#include <isocenter.hpp>

#ifndef MISTAKE
#define MISTAKE 0
#endif

namespace iso = isocenter;

void all(iso::ct &plan, std::vector<float> projections, std::vector<float> volume) {
    iso::ct::geometry geometry;
    iso::context::options options;
    const iso::shape sizes(4, 4);
    const auto read = [](const iso::slab<float> &) { return iso::next::proceed; };
    const auto write = [](const iso::slab<const float> &) { return iso::next::proceed; };
    static_cast<void>(plan.reconstruct({ std::move(projections), sizes }, { volume, sizes }));
    static_cast<void>(plan.reconstruct_stream<float>(read, write));
#if MISTAKE == 1 // any: the result would be lost
    static_cast<void>(plan.reconstruct({ projections, sizes }, { std::vector<float>(16), sizes }));
#elif MISTAKE == 2 // any: the result would be lost
    static_cast<void>(plan.reconstruct(projections, std::vector<float>(16)));
#elif MISTAKE == 3 // any: a list of values, not their number
    geometry.angles = 181;
#elif MISTAKE == 4 // any: a list of values, not their number
    iso::ct::geometry other{ ISOC_CT_ORDER_FRAMES, 0, 64, 1, 181 };
#elif MISTAKE == 5 // any: return isocenter::next::proceed
    options.on_progress = [](double, const char *) {};
#elif MISTAKE == 6 // any: return isocenter::next::proceed
    options.on_progress = [](double, const char *) { return true; };
#elif MISTAKE == 7 // any: return isocenter::next::proceed
    static_cast<void>(plan.reconstruct_stream<float>([](const iso::slab<float> &) {}, write));
#elif MISTAKE == 8 // any: return isocenter::next::proceed
    static_cast<void>(plan.reconstruct_stream<float>(read, [](const iso::slab<const float> &) { return false; }));
#elif MISTAKE == 9 // any: a callback takes other arguments
    options.on_progress = [](double) { return iso::next::proceed; };
#elif MISTAKE == 10 // any: its elements must not be const
    const std::vector<float> constant(16);
    static_cast<void>(plan.reconstruct({ projections, sizes }, { constant, sizes }));
#elif MISTAKE == 11 // clang: will be destroyed
    const iso::const_tensor kept(std::vector<float>(16), sizes);
    static_cast<void>(plan.reconstruct(kept, { volume, sizes }));
#endif
}
