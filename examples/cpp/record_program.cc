// The twin of examples/record_program.rs for Vulkan: compiles examples/data/movements.txt to SPIR-V,
// and records it into one command buffer. Parameters, results and scratch are parts of one buffer.

#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>
#include <vulkan/vulkan_raii.hpp>

#include "stridec.h"
#include "stridec.pb.h"

using stridec::ProgramBuffer;
namespace raii = vk::raii;
constexpr int kRows = 7, kColumns = 13, kPixels = kRows * kColumns, kChannels = 3, kMore = 29;
constexpr auto kStorage = vk::DescriptorType::eStorageBuffer;
constexpr auto kStage = vk::ShaderStageFlagBits::eCompute;
constexpr auto kAll = vk::PipelineStageFlagBits::eAllCommands;
constexpr auto kMapped = vk::MemoryPropertyFlagBits::eHostVisible | vk::MemoryPropertyFlagBits::eHostCoherent;
constexpr auto kCompute = vk::PipelineBindPoint::eCompute;

stridec::Program Compile(const char* path) {
  std::ifstream file(path);
  stridec::CompileRequest request;
  request.set_hlo_text(std::string(std::istreambuf_iterator<char>(file), {}));
  request.set_language(stridec::SPIRV);
  // One buffer serves for sources and destinations if all bindings are `read_write`.
  request.mutable_target()->set_read_write_sources(true);
  const std::string bytes = request.SerializeAsString();
  uint8_t* answer = nullptr;
  size_t length = 0;
  stridec_compile(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &answer, &length);
  stridec::CompileResponse response;
  response.ParseFromArray(answer, static_cast<int>(length));
  stridec_free(answer, length);
  if (!response.has_program()) throw std::runtime_error(response.error().message());
  return response.program();
}

int main(int, char** arguments) {
  const stridec::Program program = Compile(arguments[1]);
  // Each buffer begins at a multiple of 256 bytes and has room for a last access of 16 bytes.
  std::map<std::pair<int, uint32_t>, vk::DeviceSize> places;
  vk::DeviceSize pool_size = 0;
  auto place = [&](int kind, const auto& images) {
    for (int number = 0; number < images.size(); ++number) {
      places[{kind, number}] = pool_size;
      pool_size = (pool_size + images[number].size_in_bytes() + 15) / 256 * 256 + 256;
    }
  };
  place(ProgramBuffer::PARAMETER, program.parameters());
  place(ProgramBuffer::RESULT, program.results());
  place(ProgramBuffer::SCRATCH, program.scratch());

  raii::Context context;
  vk::ApplicationInfo application("record_program", 1, nullptr, 0, VK_API_VERSION_1_1);
  raii::Instance instance(context, vk::InstanceCreateInfo({}, &application));
  raii::PhysicalDevice adapter = std::move(raii::PhysicalDevices(instance).front());
  uint32_t family = 0, type = 0;
  while (!(adapter.getQueueFamilyProperties().at(family).queueFlags & vk::QueueFlagBits::eCompute)) ++family;
  const float priority = 1;
  vk::DeviceQueueCreateInfo queues({}, family, 1, &priority);
  raii::Device device(adapter, vk::DeviceCreateInfo({}, queues));
  raii::Buffer pool(device, {{}, pool_size, vk::BufferUsageFlagBits::eStorageBuffer});
  const auto needs = pool.getMemoryRequirements();
  const auto types = adapter.getMemoryProperties().memoryTypes;
  while (!(needs.memoryTypeBits >> type & 1) || kMapped & ~types.at(type).propertyFlags) ++type;
  raii::DeviceMemory memory(device, {needs.size, type});
  pool.bindMemory(*memory, 0);
  auto* bytes = static_cast<uint8_t*>(memory.mapMemory(0, needs.size));
  uint8_t* image = bytes + places[{ProgramBuffer::PARAMETER, 0}];
  uint8_t* more = bytes + places[{ProgramBuffer::PARAMETER, 1}];
  for (int at = 0; at < kPixels * kChannels; ++at) image[at] = at * 7 % 251;
  for (int at = 0; at < kMore; ++at) more[at] = at * 31 % 251;
  raii::CommandPool commands(device, {{}, family});
  raii::CommandBuffer recorded = std::move(raii::CommandBuffers(device, {*commands, {}, 1}).front());
  vk::DescriptorPoolSize room(kStorage, 512);
  raii::DescriptorPool descriptors(device, {vk::DescriptorPoolCreateFlagBits::eFreeDescriptorSet, 64, room});
  std::vector<raii::DescriptorSetLayout> layouts;
  std::vector<raii::DescriptorSet> sets;
  std::vector<raii::PipelineLayout> interfaces;
  std::vector<raii::Pipeline> pipelines;
  recorded.begin({});
  for (const auto& kernel : program.kernels()) {
    std::vector<vk::DescriptorSetLayoutBinding> slots;
    for (const auto& binding : kernel.bindings()) slots.push_back({binding.slot().index(), kStorage, 1, kStage});
    layouts.emplace_back(device, vk::DescriptorSetLayoutCreateInfo({}, slots));
    sets.push_back(std::move(raii::DescriptorSets(device, {*descriptors, *layouts.back()}).front()));
    for (const auto& binding : kernel.bindings()) {
      const auto offset = places.at({binding.source().kind(), binding.source().number()});
      vk::DescriptorBufferInfo part(*pool, offset, binding.size_in_bytes());
      device.updateDescriptorSets(vk::WriteDescriptorSet(*sets.back(), binding.slot().index(), 0, 1, kStorage, {}, &part), {});
    }
    interfaces.emplace_back(device, vk::PipelineLayoutCreateInfo({}, *layouts.back()));
    const auto& spirv = kernel.translation();
    raii::ShaderModule shader(device, {{}, spirv.code().size(), reinterpret_cast<const uint32_t*>(spirv.code().data())});
    vk::PipelineShaderStageCreateInfo stage({}, kStage, *shader, spirv.entry_point().c_str());
    pipelines.emplace_back(device, nullptr, vk::ComputePipelineCreateInfo({}, stage, *interfaces.back()));
    recorded.bindPipeline(kCompute, *pipelines.back());
    recorded.bindDescriptorSets(kCompute, *interfaces.back(), 0, *sets.back(), {});
    for (const auto& of : kernel.dispatches()) recorded.dispatch(of.workgroups(0), of.workgroups(1), of.workgroups(2));
    vk::MemoryBarrier written(vk::AccessFlagBits::eMemoryWrite, vk::AccessFlagBits::eMemoryRead);
    recorded.pipelineBarrier(kAll, kAll | vk::PipelineStageFlagBits::eHost, {}, written, {}, {});
  }
  recorded.end();
  device.getQueue(family, 0).submit(vk::SubmitInfo({}, {}, *recorded));
  device.waitIdle();
  auto pixel = [&](int row, int column, int channel) { return image[(row * kColumns + column) * kChannels + channel]; };
  auto expected = [&](uint32_t number, int at) {
    if (number == 0) return pixel(at / kColumns % kRows, kColumns - 1 - at % kColumns, at / kPixels);
    if (number == 2) return pixel(at / 3 % kRows, at / 21 % kColumns, at % 3);
    return at < kMore ? more[at] : pixel((at - kMore) / 18, (at - kMore) / 3 % 6 * 2 + 1, (at - kMore) % 3);
  };
  for (uint32_t number = 0; number < 3; ++number) {
    const uint8_t* result = bytes + places[{ProgramBuffer::RESULT, number}];
    for (uint64_t at = 0; at < program.results(number).size_in_bytes(); ++at)
      if (result[at] != expected(number, at)) throw std::runtime_error("a wrong result");
    std::printf("// result %u: right\n", number);
  }
}
