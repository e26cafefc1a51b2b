// Compiles a relayout through stridec's C interface, with the message classes that protoc generates.

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stridec.h"
#include "stridec.pb.h"
#include "xla_data.pb.h"

namespace {

// Calls the library with one message and returns the other.
stridec::CompileResponse Compile(const std::string& request) {
  uint8_t* bytes = nullptr;
  size_t length = 0;
  const auto* data = reinterpret_cast<const uint8_t*>(request.data());
  if (stridec_compile(data, request.size(), &bytes, &length) != STRIDEC_STATUS_OK) {
    throw std::runtime_error("stridec_compile refused its arguments");
  }
  stridec::CompileResponse response;
  const bool parsed = response.ParseFromArray(bytes, static_cast<int>(length));
  stridec_free(bytes, length);
  if (!parsed) throw std::runtime_error("the response does not parse");
  return response;
}

xla::Shape F32(std::initializer_list<int64_t> dimensions,
               std::initializer_list<int64_t> minor_to_major) {
  xla::Shape shape;
  shape.set_element_type(xla::F32);
  for (int64_t extent : dimensions) {
    shape.add_dimensions(extent);
    shape.add_is_dynamic_dimension(false);
  }
  for (int64_t dimension : minor_to_major) {
    shape.mutable_layout()->add_minor_to_major(dimension);
  }
  return shape;
}

stridec::CompileRequest Relayout(const xla::Shape& source, const xla::Shape& destination) {
  stridec::CompileRequest request;
  *request.mutable_relayout()->mutable_source()->mutable_shape() = source;
  *request.mutable_relayout()->mutable_destination()->mutable_shape() = destination;
  return request;
}

void Expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

void Run() {
  // NCHW memory to NHWC memory.
  const auto source = F32({8, 64, 112, 112}, {3, 2, 1, 0});
  const auto request = Relayout(source, F32({8, 64, 112, 112}, {1, 3, 2, 0}));
  const auto response = Compile(request.SerializeAsString());
  Expect(response.has_kernel(), response.error().message().c_str());
  const auto& kernel = response.kernel();
  std::printf("// stridec %s: %s\n%s", stridec_version(), kernel.strategy().c_str(),
              kernel.wgsl().c_str());
  for (const auto& binding : kernel.bindings()) {
    std::printf("// binding %u of group %u: %s, %llu bytes\n", binding.binding(), binding.group(),
                binding.writable() ? "written" : "read",
                static_cast<unsigned long long>(binding.size_in_bytes()));
  }
  for (const auto& dispatch : kernel.dispatches()) {
    std::printf("// dispatch %u x %u x %u workgroups\n", dispatch.workgroups(0),
                dispatch.workgroups(1), dispatch.workgroups(2));
  }

  // Compiles the same kernel to SPIR-V, for Vulkan.
  auto spirv_request = request;
  spirv_request.set_language(stridec::SPIRV);
  const auto spirv = Compile(spirv_request.SerializeAsString());
  Expect(spirv.has_kernel(), spirv.error().message().c_str());
  const auto& translation = spirv.kernel().translation();
  Expect(translation.code().size() % 4 == 0 && translation.code()[0] == 0x03, "SPIR-V's words");
  std::printf("// SPIR-V of %zu bytes, entry point %s\n", translation.code().size(),
              translation.entry_point().c_str());
  for (const auto& binding : spirv.kernel().bindings()) {
    std::printf("// set %u, binding %u: %llu bytes\n", binding.slot().space(), binding.slot().index(),
                static_cast<unsigned long long>(binding.size_in_bytes()));
  }

  // The error of an invalid layout names its field.
  const auto refused = Compile(
      Relayout(source, F32({8, 64, 112, 112}, {1, 3, 3, 0})).SerializeAsString());
  Expect(refused.error().code() == stridec::Error::INVALID, "an error code");
  Expect(refused.error().field() == "relayout.destination.shape.layout.minor_to_major[2]",
         refused.error().field().c_str());
  std::printf("// refused: %s\n", refused.error().message().c_str());

  // Bytes that are no request, and an empty request, have errors too.
  Expect(Compile("no message").has_error(), "an error for what is no message");
  Expect(Compile("").error().field() == "operation", "an error for an empty message");

  // Many threads may call the library at once.
  std::vector<std::thread> threads;
  std::vector<std::string> texts(4);
  for (auto& text : texts) {
    threads.emplace_back([&] { text = Compile(request.SerializeAsString()).kernel().wgsl(); });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& text : texts) Expect(text == kernel.wgsl(), "the same kernel in every thread");
}

}  // namespace

int main() {
  try {
    Run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return EXIT_FAILURE;
  }
  google::protobuf::ShutdownProtobufLibrary();
  return EXIT_SUCCESS;
}
