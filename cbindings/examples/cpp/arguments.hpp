// Numbers from a command line. What is none is an error that says which argument it was.
#ifndef ARGUMENTS_HPP
#define ARGUMENTS_HPP

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

// All of `word` as a whole number of `minimum` or more.
inline int64_t whole_number(const std::string &name, const std::string &word, int64_t minimum = std::numeric_limits<int64_t>::min()) {
    int64_t value = 0;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failure != std::errc() || end != word.data() + word.size())
        throw std::invalid_argument(name + " is '" + word + "'; it must be a whole number");
    if (value < minimum) throw std::invalid_argument(name + " is " + word + "; it must be " + std::to_string(minimum) + " or more");
    return value;
}

// All of `word` as a number of 0 or more.
inline double number_from_zero(const std::string &name, const std::string &word) {
    char *end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end || !std::isfinite(value) || value < 0)
        throw std::invalid_argument(name + " is '" + word + "'; it must be a number of 0 or more");
    return value;
}

#endif
