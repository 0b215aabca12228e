// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Streams, threads and graphs; the same bits from run to run and in every batch (R1 to R9). Bodies
/// of the streams tests, for lists of layers and a form.

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device_run.cuh"

namespace gdr::test::stream_cases {

inline Spec stream_spec(Algorithm algorithm, std::int64_t batch, std::int64_t tokens) {
  Spec spec;
  spec.shape.batch = batch;
  spec.shape.seq_len = tokens;
  spec.shape.heads = 2;
  spec.algorithm = algorithm;
  return spec.with_states();
}

// llama.cpp#24360, flashinfer#3439
template <class Layers>
void the_same_bits_from_run_to_run(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const auto& [batch, tokens] : {std::pair<std::int64_t, std::int64_t>{99, 2},
                                        {99, 3},
                                        {99, 4},
                                        {99, 5},
                                        {99, 6},
                                        {99, 7},
                                        {99, 8},
                                        {1, 1000}}) {
      const Problem<L> problem = make_problem<L>(stream_spec(algorithm, batch, tokens));
      const Result first = run_and_check(problem);
      for (int run = 1; run < 5; ++run) {
        expect_same_bits(first, run_on_device(problem), "run " + std::to_string(run));
      }
    }
  });
}

// flashinfer#4476
template <class Layers>
void interleaved_streams(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const Problem<L> one = make_problem<L>(stream_spec(algorithm, 3, 300));
    Spec spec = stream_spec(algorithm, 2, 200);
    spec.seed = 2;
    const Problem<L> two = make_problem<L>(spec);
    const Result one_alone = run_and_check(one);
    const Result two_alone = run_and_check(two);
    const DeviceProblem<L> device_one(one);
    const DeviceProblem<L> device_two(two);
    const Stream stream_one;
    const Stream stream_two;
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(device_one.launch(stream_one).ok());
      ASSERT_TRUE(device_two.launch(stream_two).ok());
    }
    expect_same_bits(one_alone, device_one.collect(), "stream one");
    expect_same_bits(two_alone, device_two.collect(), "stream two");
  });
}

// Work is ordered by the stream that was passed, and by no other.
template <class L>
void the_stream_orders_the_work(Algorithm algorithm) {
  const Problem<L> problem = make_problem<L>(stream_spec(algorithm, 2, 64));
  const Result wanted = run_and_check(problem);
  const DeviceProblem<L> device(problem);
  const ForwardArgs<L> args = device.args();
  using Element = typename L::Element;
  const std::size_t bytes = static_cast<std::size_t>(problem.v.count()) * sizeof(Element);
  const DeviceMemory v(bytes);
  auto* const target = const_cast<Element*>(args.v.data);
  cuda_check(cudaMemcpy(v.data(), target, bytes, cudaMemcpyDeviceToDevice), "save v");
  cuda_check(cudaMemset(target, 0xff, bytes), "spoil v");
  cuda_check(cudaDeviceSynchronize(), "spoil v");
  const Stream stream;
  for (int i = 0; i < 50; ++i) {  // v is right only between the two copies
    cuda_check(cudaMemcpyAsync(target, v.data(), bytes, cudaMemcpyDeviceToDevice, stream), "v");
    ASSERT_TRUE(device.launch(stream).ok());
    cuda_check(cudaMemsetAsync(target, 0xff, bytes, stream), "spoil v");
  }
  cuda_check(cudaMemcpyAsync(target, v.data(), bytes, cudaMemcpyDeviceToDevice, stream), "v");
  stream.synchronize();
  expect_same_bits(wanted, device.collect(), "ordered by a stream");
}

// DeepJIT#15: the first use of a kernel, from two threads at once.
template <class L>
void threads_at_first_use(Algorithm algorithm) {
  const Problem<L> problem = make_problem<L>(stream_spec(algorithm, 2, 50));
  std::vector<Status> statuses(4);
  std::vector<std::unique_ptr<DeviceProblem<L>>> copies;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    copies.push_back(std::make_unique<DeviceProblem<L>>(problem));
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    threads.emplace_back([&, i] {
      const Stream stream;
      for (int run = 0; run < 20; ++run) {
        const Status status = copies[i]->launch(stream);
        if (!status.ok()) statuses[i] = status;
      }
      stream.synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Expected expected = expect(problem);
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    EXPECT_TRUE(statuses[i].ok()) << describe(statuses[i]);
    expect_matches(problem, expected, copies[i]->collect());
  }
}

/// A captured call, ready to be replayed.
class Graph {
 public:
  template <class Launch>
  explicit Graph(cudaStream_t stream, Launch launch) {
    cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin capture");
    const Status status = launch();
    cuda_check(cudaStreamEndCapture(stream, &graph_), "end capture");
    EXPECT_TRUE(status.ok()) << describe(status);
    cuda_check(cudaGraphInstantiate(&executable_, graph_, 0), "instantiate");
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    (void)cudaGraphExecDestroy(executable_);
    (void)cudaGraphDestroy(graph_);
  }
  void replay(cudaStream_t stream) const {
    cuda_check(cudaGraphLaunch(executable_, stream), "replay");
    cuda_check(cudaStreamSynchronize(stream), "replay");
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

// fla#1155
template <class Layers>
void graph_replays_with_new_data(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    Spec spec = stream_spec(algorithm, 2, 70);
    DeviceProblem<L> device(make_problem<L>(spec));
    const Stream stream;
    const Graph graph(stream, [&] { return device.launch(stream); });
    for (const std::uint64_t seed : {1, 2, 3}) {
      spec.seed = seed;
      const Problem<L> problem = make_problem<L>(spec);
      device.upload(problem);
      graph.replay(stream);
      const Result replayed = device.collect();
      expect_matches(problem, replayed);
      expect_same_bits(replayed, run_on_device(problem), "graph and launch");
    }
  });
}

template <class Layers>
void graph_replays_with_new_sequences(Layers layers, Algorithm algorithm) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    const std::vector<std::vector<std::int64_t>> all_offsets = {
        {0, 10, 100, 130}, {0, 0, 130, 130}, {0, 64, 65, 70}, {0, 0, 0, 0}};
    Spec spec = stream_spec(algorithm, 1, 130);
    spec.cu_seqlens = all_offsets.front();
    DeviceProblem<L> device(make_problem<L>(spec));
    const Stream stream;
    const Graph graph(stream, [&] { return device.launch(stream); });
    for (const auto& offsets : all_offsets) {
      spec.cu_seqlens = offsets;
      ++spec.seed;
      const Problem<L> problem = make_problem<L>(spec);
      device.upload(problem);
      graph.replay(stream);
      expect_matches(problem, device.collect());
    }
  });
}

/// The part of a batch's outputs that belongs to tokens [begin, end) of batch row b and to
/// sequence n.
template <class L>
Result part_of(const Problem<L>& problem, const Result& result, std::int64_t b, std::int64_t begin,
               std::int64_t end, std::int64_t n) {
  const auto row = static_cast<std::ptrdiff_t>(problem.spec.shape.heads * L::value_dim);
  const auto state = row * L::key_dim;
  const auto first = result.o.begin() + b * problem.spec.shape.seq_len * row;
  return {{first + begin * row, first + end * row},
          {result.final_state.begin() + n * state, result.final_state.begin() + (n + 1) * state}};
}

// vllm#48613. 64 sequences, each of one of `lengths`.
template <class Layers>
void batch_invariance(Layers layers, Algorithm algorithm,
                      const std::vector<std::int64_t>& lengths) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    std::vector<std::int64_t> offsets = {0};
    Random random(9);
    while (offsets.size() <= 64) {
      offsets.push_back(offsets.back() + random.pick(lengths));
    }
    Spec spec = stream_spec(algorithm, 1, offsets.back());
    spec.cu_seqlens = offsets;
    spec.batch_invariant = true;
    const Problem<L> batch = make_problem<L>(spec);
    const Result result = run_and_check(batch);
    for (std::int64_t n = 0; n < 64; n += 7) {
      const ProblemData::Span span = batch.span(n);
      const Result wanted = part_of(batch, result, 0, span.begin, span.end, n);
      // Alone, dense: the same tokens, its own state.
      Problem<L> alone = batch.time_slice(span.begin, span.end);
      alone.spec.cu_seqlens.clear();
      alone.cu_seqlens_storage = -1;
      for (StateTensor* state : {&alone.initial_state, &alone.final_state}) {
        state->offset += n * state->sequence_stride;
        state->sequences = 1;
      }
      expect_same_bits(wanted, run_on_device(alone), "alone, dense");
      // Alone, by cu_seqlens.
      alone.spec.cu_seqlens = {0, span.end - span.begin};
      alone.cu_seqlens_storage = batch.cu_seqlens_storage;
      alone.write_cu_seqlens();
      expect_same_bits(wanted, run_on_device(alone), "alone, cu_seqlens");
    }
  });
}

template <class Layers>
void batch_invariance_of_dense_batches(Layers layers, Algorithm algorithm,
                                       const std::vector<std::int64_t>& lengths) {
  for_each_layer(layers, [&](auto layer) {
    using L = typename decltype(layer)::type;
    for (const std::int64_t tokens : lengths) {
      Spec spec = stream_spec(algorithm, 64, tokens);
      spec.batch_invariant = true;
      const Problem<L> batch = make_problem<L>(spec);
      const Result result = run_and_check(batch);
      for (const std::int64_t b : {0, 31, 63}) {
        expect_same_bits(part_of(batch, result, b, 0, tokens, b),
                         run_on_device(batch.batch_slice(b)), "batch row alone");
      }
    }
  });
}

}  // namespace gdr::test::stream_cases
