// Counts what holds and what does not; each failure is a line on stdout.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

inline int passed = 0, failed = 0;

inline bool expect(const char *what, bool holds, const std::string &seen = "") {
    ++(holds ? passed : failed);
    if (!holds) std::printf("FAILED %s%s%s\n", what, seen.empty() ? "" : ": ", seen.c_str());
    return holds;
}

inline void expect_near(const char *what, double seen, double wanted, double tolerance) {
    expect(what, std::fabs(seen - wanted) <= tolerance, std::to_string(seen) + ", not " + std::to_string(wanted));
}

inline bool has(const char *text, const char *words) { return std::strstr(text, words) != nullptr; }

inline int finish() {
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}

#endif
