// Times a copy of another library in turns with memcpy.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

using Clock = std::chrono::steady_clock;

inline double seconds(const std::function<void()> &run) {
    const auto start = Clock::now();
    run();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Reads the image `source`, of `read` bytes, runs `copy` and memcpy of `written` bytes in turns, and
// prints the best time of `copy` in seconds. The first turn is not counted. Writes the result to the
// file `result`. Bytes that `copy` leaves out are 0x55 there.
inline int in_turns(const char *source, const char *result, int repetitions, size_t read,
                    size_t written, const std::function<void(const char *, char *)> &copy) {
    std::vector<char> from(read), to(written, 0x55), same(written), other(written);
    std::FILE *file = std::fopen(source, "rb");
    if (!file || std::fread(from.data(), 1, read, file) != read) {
        std::fprintf(stderr, "%s has less than %zu bytes\n", source, read);
        return 1;
    }
    std::fclose(file);
    double best = 1e9;
    for (int turn = 0; turn <= repetitions; ++turn) {
        std::memcpy(other.data(), same.data(), written);
        const double took = seconds([&] { copy(from.data(), to.data()); });
        if (turn > 0 && took < best) best = took;
    }
    file = std::fopen(result, "wb");
    if (!file || std::fwrite(to.data(), 1, written, file) != written || std::fclose(file)) {
        std::fprintf(stderr, "%s cannot be written\n", result);
        return 1;
    }
    std::printf("%.9f\n", best);
    return 0;
}
