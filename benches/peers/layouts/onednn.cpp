// A reorder of oneDNN: onednn TYPE DIMENSIONS FROM TO SOURCE RESULT REPETITIONS, where FROM and TO are
// format tags. Prints the best time in seconds.
#include <map>
#include <sstream>
#include <string>

#include <dnnl.hpp>

#include "turns.hpp"

// Every tag that the case list names and the header of this version has.
static const std::map<std::string, dnnl::memory::format_tag> TAGS = {
#define TAG(name) {#name, dnnl::memory::format_tag::name},
#include "tags.inc"
};

static const std::map<std::string, dnnl::memory::data_type> TYPES = {
    {"f32", dnnl::memory::data_type::f32}, {"bf16", dnnl::memory::data_type::bf16},
    {"f16", dnnl::memory::data_type::f16}, {"s32", dnnl::memory::data_type::s32},
    {"s8", dnnl::memory::data_type::s8},   {"u8", dnnl::memory::data_type::u8},
};

int main(int count, char **words) {
    if (count != 8 || !TYPES.count(words[1]) || !TAGS.count(words[3]) || !TAGS.count(words[4])) {
        std::fprintf(stderr, "this version of oneDNN does not have the type or a tag\n");
        return 2;
    }
    dnnl::memory::dims dims;
    std::stringstream list(words[2]);
    for (std::string extent; std::getline(list, extent, ',');) dims.push_back(std::stoll(extent));
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const auto type = TYPES.at(words[1]);
    const dnnl::memory::desc from(dims, type, TAGS.at(words[3])), to(dims, type, TAGS.at(words[4]));
    dnnl::memory source(from, engine, nullptr), result(to, engine, nullptr);
    const dnnl::reorder reorder(dnnl::reorder::primitive_desc(engine, from, engine, to));
    const auto copy = [&](const char *read, char *write) {
        source.set_data_handle(const_cast<char *>(read));
        result.set_data_handle(write);
        reorder.execute(stream, source, result);
        stream.wait();
    };
    return in_turns(words[5], words[6], std::atoi(words[7]), from.get_size(), to.get_size(), copy);
}
