// A function of MKL or IPP: images LIBRARY KIND TYPE ROWS COLUMNS SOURCE RESULT REPETITIONS. Prints the
// best time in seconds. KIND is one of
//
//     turned                  columns become rows
//     mirrored-1, mirrored-3  each row is reversed, in pixels of 1 or 3 elements
//     flipped                 the order of rows is reversed
//     rotated                 both are
//     to-planes, to-pixels    pixels of 3 elements become 3 planes, and back
#include <string>

#include <ipp.h>
#include <mkl.h>

#include "turns.hpp"

template <typename T>
using Call = std::function<IppStatus(const T *, T *, int, int)>;

// The calls of IPP for one type. `t` is the suffix of its names.
#define CALLS(T, t)                                                                                   \
    template <> Call<T> call<T>(const std::string &kind) {                                            \
        const auto mirror = [](IppiAxis axis) {                                                       \
            return [axis](const T *from, T *to, int rows, int columns) {                              \
                const int step = columns * int(sizeof(T));                                            \
                return ippiMirror_##t##_C1R(from, step, to, step, {columns, rows}, axis);             \
            };                                                                                        \
        };                                                                                            \
        if (kind == "mirrored-1") return mirror(ippAxsVertical);                                      \
        if (kind == "flipped") return mirror(ippAxsHorizontal);                                       \
        if (kind == "rotated") return mirror(ippAxsBoth);                                             \
        if (kind == "mirrored-3")                                                                     \
            return [](const T *from, T *to, int rows, int columns) {                                  \
                const int step = 3 * columns * int(sizeof(T));                                        \
                return ippiMirror_##t##_C3R(from, step, to, step, {columns, rows}, ippAxsVertical);   \
            };                                                                                        \
        if (kind == "turned")                                                                         \
            return [](const T *from, T *to, int rows, int columns) {                                  \
                const int size = sizeof(T);                                                           \
                return ippiTranspose_##t##_C1R(from, columns * size, to, rows * size, {columns, rows}); \
            };                                                                                        \
        if (kind == "to-pixels")                                                                      \
            return [](const T *from, T *to, int rows, int columns) {                                  \
                const int plane = rows * columns, step = columns * int(sizeof(T));                    \
                const T *const planes[] = {from, from + plane, from + 2 * plane};                     \
                return ippiCopy_##t##_P3C3R(planes, step, to, 3 * step, {columns, rows});             \
            };                                                                                        \
        if (kind == "to-planes")                                                                      \
            return [](const T *from, T *to, int rows, int columns) {                                  \
                const int plane = rows * columns, step = columns * int(sizeof(T));                    \
                T *const planes[] = {to, to + plane, to + 2 * plane};                                 \
                return ippiCopy_##t##_C3P3R(from, 3 * step, planes, step, {columns, rows});           \
            };                                                                                        \
        return nullptr;                                                                               \
    }

template <typename T>
Call<T> call(const std::string &kind);
CALLS(Ipp8u, 8u)
CALLS(Ipp16u, 16u)
CALLS(Ipp32f, 32f)

struct Case {
    std::string library, kind, type;
    int rows, columns;
    const char *source, *result;
    int repetitions;

    int run(size_t bytes, const std::function<void(const char *, char *)> &copy) const {
        return in_turns(source, result, repetitions, bytes, bytes, copy);
    }

    size_t elements() const {
        const bool pixels = kind == "mirrored-3" || kind == "to-planes" || kind == "to-pixels";
        return size_t(rows) * columns * (pixels ? 3 : 1);
    }

    template <typename T>
    int ipp() const {
        const auto function = call<T>(kind);
        if (!function) return 2;
        return run(elements() * sizeof(T), [&](const char *from, char *to) {
            const auto status = function(reinterpret_cast<const T *>(from), reinterpret_cast<T *>(to),
                                         rows, columns);
            if (status != ippStsNoErr) {
                std::fprintf(stderr, "%s\n", ippGetStatusString(status));
                std::exit(1);
            }
        });
    }

    template <typename T, typename Transpose>
    int mkl(Transpose transpose) const {
        return run(elements() * sizeof(T), [&](const char *from, char *to) {
            transpose('R', 'T', rows, columns, T(1), reinterpret_cast<const T *>(from), columns,
                      reinterpret_cast<T *>(to), rows);
        });
    }
};

int main(int count, char **words) {
    if (count != 9) return 2;
    const Case of = {words[1], words[2], words[3], std::atoi(words[4]), std::atoi(words[5]),
                     words[6], words[7], std::atoi(words[8])};
    if (of.library == "mkl" && of.kind == "turned") {
        if (of.type == "f32") return of.mkl<float>(mkl_somatcopy);
        if (of.type == "f64") return of.mkl<double>(mkl_domatcopy);
    }
    if (of.library == "ipp") {
        ippInit();
        if (of.type == "u8") return of.ipp<Ipp8u>();
        if (of.type == "u16") return of.ipp<Ipp16u>();
        if (of.type == "f32") return of.ipp<Ipp32f>();
    }
    return 2;
}
