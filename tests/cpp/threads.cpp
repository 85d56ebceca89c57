// Plans of one context on several threads: its callbacks are then in use by several threads at a time, and each call is its own thread's:
// what a callback answers or throws reaches the call that it was about. Run under ThreadSanitizer.
#include "check.hpp"

#include <isocenter.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace iso = isocenter;
using iso::next;

namespace {

constexpr int views = 64, bins = 64, rows = 8, workers = 2;

// Lets nobody on until all have come. If the library let one thread at a time into a callback, they would wait until the end of the program.
class meeting {
public:
    void come() {
        std::unique_lock<std::mutex> lock(mutex_);
        if (++here_ == workers) everybody_.notify_all();
        everybody_.wait(lock, [this] { return here_ >= workers; });
    }

private:
    std::mutex mutex_;
    std::condition_variable everybody_;
    int here_ = 0;
};

struct own_exception {
    int value;
};

// What the thread at hand wants of callbacks, and what they saw there.
thread_local int me = -1;
thread_local bool met = false;

iso::ct::geometry geometry(double step) {
    iso::ct::geometry g;
    g.angles = std::vector<double>(views);
    for (int k = 0; k < views; k++) g.angles[static_cast<std::size_t>(k)] = step * k;
    g.bins = bins, g.rows = rows;
    return g;
}

// A plan for each thread, made and used there. Each ends as `work` says.
template <class F> std::vector<std::string> on_threads(const iso::context &context, F &&work) {
    std::vector<std::string> ends(workers);
    std::vector<std::thread> all;
    for (int k = 0; k < workers; k++)
        all.emplace_back([&, k] {
            me = k;
            std::string &end = ends[static_cast<std::size_t>(k)];
            try {
                iso::ct plan(context);
                work(plan);
                end = "done";
            } catch (const own_exception &e) {
                end = "threw " + std::to_string(e.value);
            } catch (const iso::cancelled &) {
                end = "cancelled";
            } catch (const std::exception &e) {
                end = e.what();
            }
        });
    for (std::thread &one : all) one.join();
    return ends;
}

void reconstruct(iso::ct &plan) {
    plan.set_geometry(geometry(3.14159265358979 / views));
    std::vector<float> projections(std::size_t{ views * rows * bins }, 1.0f), volume(std::size_t{ rows * bins * bins });
    plan.reconstruct({ projections, { views, rows, bins } }, { volume, { rows, bins, bins } });
}

iso::context::options on_processor() {
    iso::context::options options;
    options.device = ISOC_CONTEXT_DEVICE_CPU, options.threads = 2;
    return options;
}

using ends = std::vector<std::string>;

void both_in_progress() {
    meeting place;
    std::atomic<int> reports{ 0 };
    iso::context::options options = on_processor();
    options.on_progress = [&](double, const char *) {
        reports++;
        if (!met) met = true, place.come();
        return next::proceed;
    };
    const iso::context context(options);
    expect("two threads in progress at a time", on_threads(context, reconstruct) == ends{ "done", "done" });
    expect("both were reported on", reports >= workers);
}

void both_in_log() {
    meeting place;
    iso::context::options options = on_processor();
    options.on_log = [&](int, const char *) {
        if (!met) met = true, place.come();
    };
    const iso::context context(options);
    const auto degrees = [](iso::ct &plan) { plan.set_geometry(geometry(1.0)); };
    expect("two threads in log at a time", on_threads(context, degrees) == ends{ "done", "done" });
}

// The callback answers for one thread alone, while the other is in it too.
template <class F> ends answers(F &&answer) {
    meeting place;
    iso::context::options options = on_processor();
    options.on_progress = [&](double fraction, const char *) {
        if (fraction == 1) return next::proceed; // no answer is heeded any more
        if (!met) met = true, place.come();
        return answer();
    };
    const iso::context context(options);
    return on_threads(context, [](iso::ct &plan) { reconstruct(plan); });
}

void each_its_own() {
    expect("one is cancelled, the other goes on",
           answers([] { return me == 0 ? next::stop : next::proceed; }) == ends{ "cancelled", "done" });
    expect("both are cancelled", answers([] { return next::stop; }) == ends{ "cancelled", "cancelled" });
    const auto fails = [] {
        if (me == 1) throw own_exception{ 42 };
        return next::proceed;
    };
    expect("one throws, the other goes on", answers(fails) == ends{ "done", "threw 42" });
    expect("each throws its own", answers([]() -> next { throw own_exception{ me }; }) == ends{ "threw 0", "threw 1" });
}

} // namespace

int main() {
    std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(120)), std::abort(); }).detach();
    both_in_progress();
    both_in_log();
    each_its_own();
    return finish();
}
