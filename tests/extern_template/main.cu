// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "layers.hpp"

namespace {

// q, k 1, v 2, gate 0.5. Every element of the state is then s, with s <- 0.5 s + 2, and o is K s;
// all exact, in bfloat16 too.
constexpr int tokens = 4, dim = 8, size = tokens * dim;

void convert(float x, float& to) { to = x; }
void convert(float x, gdr::bfloat16& to) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  to.bits = static_cast<std::uint16_t>(bits >> 16);
}

template <class T>
struct Tensors {
  T host[5][size];  // q, k, v, gate, o: [T, D]
  T* device = nullptr;

  bool upload() {
    const float values[] = {1, 1, 2, 0.5f, -1};
    for (int tensor = 0; tensor < 5; ++tensor) {
      for (T& x : host[tensor]) convert(values[tensor], x);
    }
    return cudaMalloc(&device, sizeof(host)) == cudaSuccess &&
           cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice) == cudaSuccess;
  }
  bool o_is_right() {
    if (cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost) != cudaSuccess) return false;
    float s = 0;
    for (int t = 0; t < tokens; ++t) {
      s = 0.5f * s + 2;
      T expected;
      convert(dim * s, expected);
      for (int j = 0; j < dim; ++j) {
        if (std::memcmp(&host[4][t * dim + j], &expected, sizeof(T)) != 0) return false;
      }
    }
    return true;
  }
};

/// Fills the arguments of either kind.
template <class Args, class T>
Args args_of(const Tensors<T>& tensors) {
  Args args;
  args.shape.batch = 1;
  args.shape.seq_len = tokens;
  args.shape.heads = 1;
  args.q = tensors.device;
  args.k = tensors.device + size;
  args.v = tensors.device + 2 * size;
  args.gate = tensors.device + 3 * size;
  args.o = tensors.device + 4 * size;
  return args;
}

template <class T, class Call>
bool is_right(const char* name, Call call) {
  Tensors<T> tensors;
  if (!tensors.upload()) return false;
  const gdr::Status status = call(tensors);
  if (!status.ok()) std::printf("%s: %s: %s\n", name, status.argument, status.message);
  const bool right = status.ok() && tensors.o_is_right();
  if (!right) std::printf("%s is wrong\n", name);
  cudaFree(tensors.device);
  return right;
}

bool layer_is_right(const char* name, gdr::Status (*call)(const gdr::ForwardArgs<Single>&)) {
  return is_right<float>(
      name, [=](const auto& tensors) { return call(args_of<gdr::ForwardArgs<Single>>(tensors)); });
}

template <class Layer>
bool list_is_right(const char* name,
                   gdr::Status (*call)(const gdr::LayerKey&, const gdr::AnyForwardArgs&)) {
  return is_right<typename Layer::Element>(name, [=](const auto& tensors) {
    return call(gdr::layer_key_of<Layer>, args_of<gdr::AnyForwardArgs>(tensors));
  });
}

}  // namespace

// Ends with 0: right, 1: wrong, 77: there is no device.
int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("Skipped\nthere is no CUDA device\n");
    return 77;
  }
  const bool right[] = {layer_is_right("layer_from_cpp", layer_from_cpp),
                        layer_is_right("layer_from_cu", layer_from_cu),
                        list_is_right<Single>("list_from_cpp", list_from_cpp),
                        list_is_right<Single>("list_from_cu", list_from_cu),
                        list_is_right<Brief>("list_from_cpp", list_from_cpp),
                        list_is_right<Brief>("list_from_cu", list_from_cu)};
  for (const bool call : right) {
    if (!call) return 1;
  }
  return 0;
}
