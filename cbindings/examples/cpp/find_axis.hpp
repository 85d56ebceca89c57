// Finds the rotation axis of a scan from one of its rows.
#ifndef FIND_AXIS_HPP
#define FIND_AXIS_HPP

#include <isocenter.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace find_axis_detail {

constexpr double pi = 3.14159265358979323846;

// Half a turn apart views are mirror images about the axis: the half bin about which the two nearest to that agree best.
inline double coarse(const std::vector<float> &rows, const std::vector<double> &angles, int64_t bins) {
    std::size_t first = 0, second = 0;
    double nearest = 5 * pi / 180;
    for (std::size_t p = 0; p < angles.size(); p++)
        for (std::size_t q = p + 1; q < angles.size(); q++) {
            const double off = std::fabs(std::remainder(angles[q] - angles[p] - pi, 2 * pi));
            if (off < nearest) nearest = off, first = p, second = q;
        }
    if (second == 0) throw std::runtime_error("no two views are half a turn apart, to 5 degrees: the axis must be given");
    const float *a = &rows[first * static_cast<std::size_t>(bins)], *b = &rows[second * static_cast<std::size_t>(bins)];
    double best = 0, least = HUGE_VAL, most = 0;
    for (int64_t twice = bins / 2; twice <= 3 * bins / 2; twice++) { // at least half of the bins have to overlap
        const int64_t begin = std::max<int64_t>(0, twice - bins + 1), end = std::min(bins, twice + 1);
        double sum = 0;
        for (int64_t k = begin; k < end; k++) sum += std::pow(double{ a[k] } - double{ b[twice - k] }, 2);
        sum /= static_cast<double>(end - begin);
        if (sum < least) least = sum, best = 0.5 * static_cast<double>(twice);
        most = std::max(most, sum);
    }
    if (!(least < most)) throw std::runtime_error("the row has no object in it, or too few bins: the axis must be given");
    return best;
}

// The negative part of a slice in its largest disk. Attenuation is not negative, and a wrong axis pulls edges apart into bright and dark
// arcs while the mean stays: the right one has the least of it (Donath et al. 2006, J. Opt. Soc. Am. A 23, 1048).
inline double negativity(const std::vector<float> &slice, int64_t n) {
    double sum = 0;
    const double middle = 0.5 * static_cast<double>(n - 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (std::hypot(static_cast<double>(i) - middle, static_cast<double>(j) - middle) <= middle)
                sum += std::max(0.0, -double{ slice[static_cast<std::size_t>(i * n + j)] });
    return sum;
}

} // namespace find_axis_detail

// The axis as a fractional bin. `rows`: line integrals of one detector row, (views, bins); `angles` in radians. Throws where the axis cannot
// be told: no two views are half a turn apart, or there is nothing in the row.
inline double find_axis(const isocenter::context &context, std::vector<float> rows, std::vector<double> angles, int64_t bins) {
    namespace detail = find_axis_detail;
    if (bins < 1 || rows.size() % static_cast<std::size_t>(bins) != 0 || rows.size() / static_cast<std::size_t>(bins) != angles.size())
        throw std::invalid_argument("find_axis: rows has " + std::to_string(rows.size()) + " values; it must have angles (" +
                                    std::to_string(angles.size()) + ") x bins (" + std::to_string(bins) + ")");
    if (!std::all_of(rows.begin(), rows.end(), [](float value) { return std::isfinite(value); }))
        throw std::runtime_error("the row has values that are NaN or infinite: the axis must be given");
    double best = detail::coarse(rows, angles, bins);
    // Over a full turn a wrong axis only blurs, without arcs: half a turn is kept.
    const double begin = *std::min_element(angles.begin(), angles.end());
    std::size_t kept = 0;
    for (std::size_t p = 0; p < angles.size(); p++) {
        if (std::fmod(angles[p] - begin, 2 * detail::pi) >= detail::pi) continue;
        std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(p) * bins, bins, rows.begin() + static_cast<std::ptrdiff_t>(kept) * bins);
        angles[kept++] = angles[p];
    }
    angles.resize(kept);

    isocenter::ct plan(context);
    isocenter::ct::options options;
    options.filter = ISOC_CT_FILTER_PARZEN, options.padding = ISOC_CT_PADDING_EDGE; // noise has a negative part too: little of it
    options.weighted_backprojection = 1;
    plan.set_options(options);
    isocenter::ct::geometry geometry;
    geometry.angles = angles, geometry.bins = bins;
    plan.set_geometry(geometry);
    std::vector<float> filtered(kept * static_cast<std::size_t>(bins));
    plan.filter({ rows, { kept, bins } }, { filtered, { kept, bins } });

    const double covered = std::min(best, static_cast<double>(bins - 1) - best); // from both sides
    const int64_t n = 2 * static_cast<int64_t>(std::max(covered - 4, static_cast<double>(bins) / 8)) + 1;
    std::vector<float> slice(static_cast<std::size_t>(n * n));
    geometry.nx = geometry.ny = n;
    for (double step : { 0.5, 0.0625 }) {
        const double middle = best;
        double least = HUGE_VAL;
        for (int k = -8; k <= 8; k++) {
            geometry.axis = middle + k * step;
            plan.set_geometry(geometry);
            plan.backproject({ filtered, { kept, bins } }, { slice, { n, n } });
            const double seen = detail::negativity(slice, n);
            if (seen < least) least = seen, best = middle + k * step;
        }
    }
    return best;
}

#endif
