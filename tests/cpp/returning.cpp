// isocenter.hpp without exceptions: results in place of them. Built with -fno-exceptions -fno-rtti, and with exceptions but
// ISOCENTER_NO_EXCEPTIONS, where a callback may still throw.
#include "check.hpp"

#include <isocenter.hpp>

#include <csignal>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#if ISOCENTER_EXCEPTIONS
#error "to be compiled with -fno-exceptions or -DISOCENTER_NO_EXCEPTIONS"
#endif

namespace iso = isocenter;
using iso::next;

namespace {

constexpr int views = 90, bins = 64;

static_assert(std::is_same_v<decltype(std::declval<iso::ct &>().memory()), iso::result<uint64_t>>);
static_assert(!std::is_constructible_v<iso::context, iso::context::options>, "handles come from create()");

template <class T> std::string seen(const iso::result<T> &done) {
    return std::string(iso::status_string(done.status())) + ": " + done.message();
}

void reconstructs() {
    enum { quiet, stop, raise } wish = quiet;
    iso::context::options wanted;
    wanted.device = ISOC_CONTEXT_DEVICE_CPU;
    wanted.on_progress = [&](double, const char *) {
#if defined(__cpp_exceptions)
        if (wish == raise) throw 42;
#endif
        return wish == quiet ? next::proceed : next::stop;
    };
    auto context = iso::context::create(wanted);
    auto made = iso::ct::create(*context);
    if (!expect("create", context && made)) return;
    iso::ct plan = std::move(*made);

    std::vector<double> angles(views);
    for (int k = 0; k < views; k++) angles[static_cast<std::size_t>(k)] = 3.14159265358979 * k / views;
    iso::ct::geometry g;
    g.views = views, g.bins = bins, g.angles = angles;
    auto done = plan.set_geometry(g);
    expect("set_geometry", static_cast<bool>(done) && done.status() == ISOC_STATUS_OK && !*done.message(), seen(done));
    std::vector<float> projections(views * bins), volume(bins * bins);
    const iso::tensor p(projections, { views, bins }), v(volume, { bins, bins });
    expect("phantom_projections", static_cast<bool>(plan.phantom_projections({ { 1.0, 0, 0, 20.0, 20.0, 0.0 } }, p)));
    done = plan.reconstruct(p, v);
    expect("reconstruct", static_cast<bool>(done), seen(done));
    expect_near("a disk of 1", double{ volume[(bins / 2) * bins + bins / 2] }, 1.0, 0.01);
    const auto info = plan.get_info();
    expect("get_info", info && info->distinct_angles == views);
    expect("memory", plan.memory() && *plan.memory() > 0);

    done = plan.reconstruct(p, { volume, { bins, bins + 1 } });
    expect("an error of the header's", done.status() == ISOC_STATUS_TENSOR_SHAPE && has(done.message(), "(64, 65)"), seen(done));
    done = plan.reconstruct({ projections.data(), { views, bins - 1 } }, v);
    auto kept = std::move(done);
    const auto later = plan.reconstruct(p, nullptr);
    expect("an error of the library's", kept.status() == ISOC_STATUS_TENSOR_SHAPE && has(kept.message(), "63"), seen(kept));
    expect("a later error has its own words", later.status() == ISOC_STATUS_NULL_POINTER && has(later.message(), "volume"),
           seen(later));

    wish = stop;
    done = plan.reconstruct(p, v);
    expect("stop cancels", done.status() == ISOC_STATUS_CANCELLED, seen(done));
    wish = raise;
    done = plan.reconstruct(p, v);
    expect("an exception cancels, and goes no further", done.status() == ISOC_STATUS_CANCELLED, seen(done));
    wish = quiet;

    std::vector<float> streamed(volume.size());
    bool stop_read = false;
    const auto read = [&](const iso::slab<float> &slab) {
        std::memcpy(slab.data, projections.data(), slab.size() * sizeof(float));
        return stop_read ? next::stop : next::proceed;
    };
    const auto write = [&](const iso::slab<const float> &slab) {
        std::memcpy(streamed.data(), slab.data, slab.size() * sizeof(float));
        return next::proceed;
    };
    expect("stream", plan.reconstruct(p, v) && plan.reconstruct_stream<float>(read, write) && streamed == volume);
    stop_read = true;
    done = plan.reconstruct_stream<float>(read, write);
    expect("a reader stops a stream", done.status() == ISOC_STATUS_CALLBACK && has(done.message(), "read"), seen(done));

    iso::ct::outliers zingers;
    zingers.window = 4;
    done = plan.set_outliers(zingers);
    expect("outliers", done.status() == ISOC_STATUS_OUT_OF_RANGE && has(done.message(), "window is 4"), seen(done));
    expect("no outliers", static_cast<bool>(plan.set_outliers(nullptr)));
    iso::ct::phase propagation;
    propagation.energy_kev = 20, propagation.distance_mm = 0.1, propagation.pixel_um = 1, propagation.delta_beta = 100;
    done = plan.set_phase(propagation);
    expect("phase", done.status() == ISOC_STATUS_OUT_OF_RANGE && has(done.message(), "is the distance in metres?"), seen(done));
    expect("no phase", static_cast<bool>(plan.set_phase(nullptr)));
    iso::ct::distortion lens;
    lens.tilt = 2;
    done = plan.set_distortion(lens);
    expect("distortion", done.status() == ISOC_STATUS_OUT_OF_RANGE && has(done.message(), "distortion.tilt is 2"), seen(done));
    lens.tilt = 0, lens.perspective = { 1 };
    done = plan.set_distortion(lens);
    expect("distortion: an error of the header's", done.status() == ISOC_STATUS_OUT_OF_RANGE && has(done.message(), "perspective has 1 values"), seen(done));
    expect("no distortion", static_cast<bool>(plan.set_distortion(nullptr)));
    iso::ct::flat_field_options flats_in_time;
    flats_in_time.group_frames = { 1 };
    const std::vector<float> flat(bins, 1.0f);
    done = plan.set_flat_field({ flat, { 1, 1, bins } }, nullptr, flats_in_time);
    expect("groups without places", done.status() == ISOC_STATUS_OUT_OF_RANGE && has(done.message(), "group_positions has 0 values"), seen(done));

    iso::ct moved = std::move(plan);
    done = plan.reconstruct(p, v); // NOLINT: what is left behind is the point
    expect("what was moved from says so", done.status() == ISOC_STATUS_NULL_POINTER && moved.reconstruct(p, v), seen(done));
}

void creates() {
    iso::context::options none;
    none.device = ISOC_CONTEXT_DEVICE_GPU, none.gpus = { 1000 };
    const auto failed_context = iso::context::create(none);
    expect("no such GPU", failed_context.status() == ISOC_STATUS_NO_DEVICE && *failed_context.message(), seen(failed_context));
    auto context = iso::context::create();
    if (!expect("context", static_cast<bool>(context), seen(context))) return;
    auto array = iso::host_array<float>::create(*context, 1000);
    expect("host_array", array && array->size() == 1000 && array->data());
    const auto much = iso::host_array<double>::create(*context, SIZE_MAX);
    expect("host_array: too much", much.status() == ISOC_STATUS_OUT_OF_RANGE, seen(much));
    const auto mri = iso::mri::create(*context);
    auto pet = iso::pet::create(*context);
    if (!expect("plans", mri && pet)) return;
    const auto needed = pet->randoms_memory(4);
    expect("memory of a plan that has no geometry", needed.status() == ISOC_STATUS_NOT_CONFIGURED, seen(needed));
    iso::context gone = std::move(*context);
    const auto orphan = iso::ct::create(*context);
    expect("a plan of a context that was moved from", orphan.status() == ISOC_STATUS_NULL_POINTER, seen(orphan));
    const auto head = iso::mri::shepp_logan(99, 10);
    expect("a phantom that is not known", head.status() == ISOC_STATUS_UNKNOWN_VALUE, seen(head));
}

#ifndef _WIN32 // which has no fork
// What a child of this process says on stderr where `asks` ends it by SIGABRT; otherwise nothing.
template <class F> std::string last_words(F &&asks) {
    int ends[2];
    if (pipe(ends) != 0) return "";
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        asks();
        _exit(0);
    }
    close(ends[1]);
    std::string said;
    for (char c; read(ends[0], &c, 1) == 1;) said += c;
    close(ends[0]);
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? said : "";
}

void ends_without_a_value() {
    iso::context::options none;
    none.device = ISOC_CONTEXT_DEVICE_GPU, none.gpus = { 1000 };
    const auto failed = iso::context::create(none);
    auto also = iso::context::create(none);
    for (const std::string &said : { last_words([&] { (void)(*failed).get(); }), last_words([&] { (void)failed->get(); }),
                                     last_words([&] { iso::context taken = std::move(*also); }) })
        expect("no value where a call failed", has(said.c_str(), iso::status_string(failed.status())) && has(said.c_str(), failed.message()), said);
}
#endif

} // namespace

int main() {
    reconstructs();
    creates();
#ifndef _WIN32
    ends_without_a_value();
#endif
    return finish();
}
