// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
// A kernel of one's own around the block collective: the gate is computed from a logit, and what
// leaves the kernel is not o but y = rms_norm(o) * weight * sigmoid(output gate).
#include <gdr/gated_delta.cuh>
#include <gdr/reference.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

constexpr int B = 2, T = 100, H = 3, K = 32, V = 64;
constexpr float norm_eps = 1e-5f;

// The gate: sigmoid(x + bias), with a bias of each head and channel.
struct BiasedSigmoid {
  using Space = gdr::Linear;
  const float* bias = nullptr;  // [H, V]
  GDR_HOST_DEVICE float operator()(float x, int head, int channel) const {
    return 1 / (1 + expf(-x - bias[head * V + channel]));
  }
  GDR_HOST_DEVICE float derivative(float x, int head, int channel) const {
    const float a = (*this)(x, head, channel);
    return a * (1 - a);
  }
};
using Layer = gdr::Recurrence<gdr::HeadDims<K, V>, float, gdr::ValueGate<BiasedSigmoid>>;

// The norm needs all value channels of a token in one block.
struct Policy {
  static constexpr gdr::RecurrentTuning recurrent = {
      /*lanes=*/4,        /*rows=*/K / 4,        /*columns_per_thread=*/2,
      /*step_warps=*/4,
      /*stage_warps=*/4,  /*tokens_per_tile=*/8, /*tokens_in_flight=*/2,
      /*blocks_per_sm=*/1};
};
using Block = gdr::BlockRecurrent<Layer, Policy>;
static_assert(Block::columns == V, "one block per head");

struct Epilogue {
  const float* weight;  // [V]
  const float* gate;    // [B, T, H, V], a logit
  float* y;             // [B, T, H, V]
};

__global__ void __launch_bounds__(Block::threads)
    own_kernel(const __grid_constant__ gdr::ForwardArgs<Layer> args, Epilogue epilogue) {
  __shared__ Block::TempStorage storage;
  const int sequence = static_cast<int>(blockIdx.x) / H, head = static_cast<int>(blockIdx.x) % H;
  const gdr::SequenceBounds bounds = gdr::sequence_bounds(args, sequence);
  const gdr::Span<Layer> span = gdr::span_of(args, bounds, head);

  Block block(storage, /*first_column=*/0);
  gdr::load_state(block, args.initial_state, sequence, span);
  block.run(span, [&](const Block::Output& output) {
    const int channel = output.lane() * 2;  // a warp per token, two channels a lane
    for (int t = output.warp(); t < output.tokens; t += output.warps) {
      float o[2];
      output.load(t, channel, o);
      float square[1] = {o[0] * o[0] + o[1] * o[1]};
      gdr::sum_over_lanes<32>(square);
      const float inverse = rsqrtf(square[0] / V + norm_eps);
      const int64_t token = bounds.batch * T + bounds.first_token + output.first_token + t;
      for (int c = channel; c < channel + 2; ++c) {
        const int64_t at = (token * H + head) * V + c;
        const float gate = 1 / (1 + expf(-epilogue.gate[at]));
        epilogue.y[at] = o[c - channel] * inverse * epilogue.weight[c] * gate;
      }
    }
  });
  gdr::store_state(block, args.final_state, sequence, span);
}

static void require(cudaError_t error, const char* what, int exit_code = 1) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(exit_code);
}

// Memory that the kernel and the reference share, filled with normal numbers.
static float* random_floats(size_t count) {
  static std::mt19937 random(1);
  float* data = nullptr;
  require(cudaMallocManaged(&data, count * sizeof(float)), "cudaMallocManaged");
  for (size_t n = 0; n < count; ++n) data[n] = std::normal_distribution<float>()(random);
  return data;
}

// |actual - expected| / |expected|, in 2-norms.
static double error_of(const float* actual, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (size_t n = 0; n < expected.size(); ++n) {
    difference += std::pow(static_cast<double>(actual[n]) - expected[n], 2);
    size += expected[n] * expected[n];
  }
  return std::sqrt(difference / size);
}

int main() {
  int devices = 0;
  require(cudaGetDeviceCount(&devices), "Skipped\nno usable GPU", 77);

  gdr::ForwardArgs<Layer> args;
  args.shape.batch = B, args.shape.seq_len = T, args.shape.heads = H;
  args.q = random_floats(B * T * H * K), args.k = random_floats(B * T * H * K);
  args.v = random_floats(B * T * H * V), args.gate = random_floats(B * T * H * V);
  args.gate_function.bias = random_floats(H * V);
  args.initial_state = random_floats(B * H * K * V);
  float* const final_state = random_floats(B * H * K * V);
  args.final_state = final_state;
  args = gdr::resolve(args);  // strides and defaults, for span_of and the states
  const Epilogue epilogue{random_floats(V), random_floats(B * T * H * V),
                          random_floats(B * T * H * V)};

  own_kernel<<<B * H, Block::threads>>>(args, epilogue);
  require(cudaGetLastError(), "launch");
  require(cudaDeviceSynchronize(), "kernel");

  gdr::reference::Output expected = gdr::reference::forward(args);
  for (size_t row = 0; row < expected.o.size(); row += V) {
    double* const y = &expected.o[row];
    double square = 0;
    for (size_t c = 0; c < V; ++c) square += y[c] * y[c];
    for (size_t c = 0; c < V; ++c) {
      const double gate = 1 / (1 + std::exp(-static_cast<double>(epilogue.gate[row + c])));
      y[c] *= static_cast<double>(epilogue.weight[c]) * gate / std::sqrt(square / V + norm_eps);
    }
  }
  const double y_error = error_of(epilogue.y, expected.o);
  const double state_error = error_of(final_state, expected.final_state);
  std::printf("relative error of y: %.1e, of the final state: %.1e\n", y_error, state_error);
  // The norm divides each row by its size: y has the bound of single rows.
  return y_error <= 4e-6 && state_error <= 1e-6 ? 0 : 1;
}
