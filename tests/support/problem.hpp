// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Random problems for any layer, made on the host from a Spec: the tensors, rounded to their
/// types, in guarded storages. The arguments can be bound to the host's copy (for the reference)
/// or to a device's (for the launchers).

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "spec.hpp"

namespace gdr::test {

/// The tensors of a problem, whatever its layer type.
struct ProblemData {
  Spec spec;
  std::vector<Storage> storages;
  Tensor q, k, v, gate, beta, o;
  StateTensor initial_state, final_state;
  int cu_seqlens_storage = -1;
  int parameter_storage = -1;  // what a gate function's pointers point to

  std::int64_t sequences() const {
    return spec.cu_seqlens.empty() ? spec.shape.batch
                                   : static_cast<std::int64_t>(spec.cu_seqlens.size()) - 1;
  }
  /// Where sequence n's tokens are: batch row, first token, one past the last.
  struct Span {
    std::int64_t batch, begin, end;
  };
  Span span(std::int64_t n) const {
    if (spec.cu_seqlens.empty()) return {n, 0, spec.shape.seq_len};
    return {0, spec.cu_seqlens[static_cast<std::size_t>(n)],
            spec.cu_seqlens[static_cast<std::size_t>(n) + 1]};
  }

  const unsigned char* byte(int storage, std::int64_t at) const {
    return storages[static_cast<std::size_t>(storage)].bytes.data() + at;
  }
  unsigned char* byte(int storage, std::int64_t at) {
    return storages[static_cast<std::size_t>(storage)].bytes.data() + at;
  }
  double value(const Tensor& tensor, const Index& at) const {
    return decode(tensor.type, byte(tensor.storage, tensor.byte_of(at)));
  }
  void set(const Tensor& tensor, const Index& at, double value) {
    encode(tensor.type, value, byte(tensor.storage, tensor.byte_of(at)));
  }

  int add_storage(DataType type, std::int64_t elements) {
    storages.push_back(Storage::make(type, elements, spec.gap));
    return static_cast<int>(storages.size()) - 1;
  }
  void fill(const Tensor& tensor, const Fill& recipe, std::uint64_t salt) {
    Random random(spec.seed * 1000003 + salt);
    tensor.for_each([&](const Index& at, std::int64_t where) {
      encode(tensor.type, recipe(random, at), byte(tensor.storage, where));
    });
  }
  /// k <- k / |k| for each token and head.
  void normalise(const Tensor& tensor) {
    Tensor rows = tensor;
    rows.channels = 1;
    rows.for_each([&](Index at, std::int64_t) {
      double sum = 0;
      for (at.channel = 0; at.channel < tensor.channels; ++at.channel) {
        sum += value(tensor, at) * value(tensor, at);
      }
      const double factor = sum > 0 ? 1 / std::sqrt(sum) : 1;
      for (at.channel = 0; at.channel < tensor.channels; ++at.channel) {
        set(tensor, at, value(tensor, at) * factor);
      }
    });
  }
  void add_parameters(const std::vector<float>& values) {
    parameter_storage = add_storage(DataType::float32, static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      encode(DataType::float32, values[i],
             byte(parameter_storage, Storage::front_guard + static_cast<std::int64_t>(4 * i)));
    }
  }
  void write_cu_seqlens() {
    for (std::size_t n = 0; n < spec.cu_seqlens.size(); ++n) {
      const std::int64_t size = spec.cu_seqlens_int64 ? 8 : 4;
      unsigned char* to =
          byte(cu_seqlens_storage, Storage::front_guard + static_cast<std::int64_t>(n) * size);
      const std::int64_t wide = spec.cu_seqlens[n];
      const std::int32_t narrow = static_cast<std::int32_t>(wide);
      if (spec.cu_seqlens_int64) {
        std::memcpy(to, &wide, 8);
      } else {
        std::memcpy(to, &narrow, 4);
      }
    }
  }
};

namespace detail {

inline Tensor tensor_of(DataType type, std::int64_t batch, std::int64_t time, std::int64_t heads,
                        std::int64_t channels) {
  Tensor tensor;
  tensor.type = type;
  tensor.batch = batch;
  tensor.time = time;
  tensor.heads = heads;
  tensor.channels = channels;
  return tensor;
}

inline Fill either(const Fill& recipe, Fill fallback) { return recipe ? recipe : fallback; }

/// What of a layer's type decides the tensors.
struct LayerFacts {
  DataType element, gate;
  bool has_gate, has_beta;
  std::int64_t gate_channels;
};

inline void place_qkv(ProblemData& data, const LayerFacts& layer) {
  const Spec& spec = data.spec;
  const Shape& shape = spec.shape;
  const std::int64_t key_heads = shape.key_heads;
  data.q = tensor_of(layer.element, shape.batch, shape.seq_len, key_heads, shape.key_dim);
  data.k = data.q;
  data.v = tensor_of(layer.element, shape.batch, shape.seq_len, shape.heads, shape.value_dim);
  if (!spec.packed_qkv) {
    data.q.storage = data.add_storage(layer.element, place(data.q, spec.q));
    data.k.storage = data.add_storage(layer.element, place(data.k, spec.k));
    data.v.storage = data.add_storage(layer.element, place(data.v, spec.v));
    return;
  }
  const std::int64_t slice = shape.heads * shape.value_dim;
  const int storage = data.add_storage(layer.element, 3 * slice * shape.seq_len * shape.batch);
  std::int64_t offset = 0;
  for (Tensor* tensor : {&data.q, &data.k, &data.v}) {
    tensor->storage = storage;
    tensor->offset = offset;
    tensor->strides = {3 * slice * shape.seq_len, 3 * slice, shape.value_dim, 1};
    tensor->contiguous = false;
    offset += slice;
  }
}

inline void place_states(ProblemData& data) {
  Spec& spec = data.spec;
  StateTensor state;
  state.sequences = data.sequences();
  state.heads = spec.shape.heads;
  state.key_dim = spec.shape.key_dim;
  state.value_dim = spec.shape.value_dim;
  data.initial_state = state;
  data.final_state = state;
  if (spec.initial_state.present) {
    const std::int64_t size = place(data.initial_state, spec.initial_state);
    data.initial_state.storage = data.add_storage(spec.initial_state.type, size);
  }
  if (spec.in_place) {
    data.final_state = data.initial_state;
  } else if (spec.final_state.present) {
    const std::int64_t size = place(data.final_state, spec.final_state);
    data.final_state.storage = data.add_storage(spec.final_state.type, size);
  }
}

inline void fill_state(ProblemData& data) {
  if (!data.initial_state.present()) return;
  const Fill recipe = either(data.spec.state_values, fills::normal());
  Random random(data.spec.seed * 1000003 + 6);
  data.initial_state.for_each([&](std::int64_t where) {
    encode(data.initial_state.type, recipe(random, Index{}),
           data.byte(data.initial_state.storage, where));
  });
}

}  // namespace detail

/// A problem of a layer.
template <class Layer>
struct Problem : ProblemData {
  typename Layer::GateFunction gate_function{};
  typename Layer::BetaFunction beta_function{};
  /// Points the functions at their parameters in the copy that the arguments are bound to.
  std::function<void(ForwardArgs<Layer>&, const float*)> bind_parameters;

  /// The arguments, over a copy of the storages whose first bytes are at `bases`.
  ForwardArgs<Layer> args(const std::vector<unsigned char*>& bases) const {
    ForwardArgs<Layer> args;
    args.shape = spec.shape;
    args.scale = spec.scale;
    args.q = view<const typename Layer::Element>(q, bases);
    args.k = view<const typename Layer::Element>(k, bases);
    args.v = view<const typename Layer::Element>(v, bases);
    args.gate = view<const typename Layer::GateElement>(gate, bases);
    args.o = view<typename Layer::Element>(o, bases);
    if (beta.present()) {
      args.beta.data = bases[static_cast<std::size_t>(beta.storage)] + beta.byte_of({});
      args.beta.type = beta.type;
      args.beta.strides = beta.strides;
      args.beta.contiguous = beta.contiguous;
    }
    args.initial_state = state_view(initial_state, bases);
    args.final_state = state_view(final_state, bases);
    if (cu_seqlens_storage >= 0) {
      args.cu_seqlens.data =
          bases[static_cast<std::size_t>(cu_seqlens_storage)] + Storage::front_guard;
      args.cu_seqlens.is_int64 = spec.cu_seqlens_int64;
      args.cu_seqlens.sequences = sequences();
    }
    args.gate_function = gate_function;
    args.beta_function = beta_function;
    if (bind_parameters) {
      bind_parameters(
          args, reinterpret_cast<const float*>(bases[static_cast<std::size_t>(parameter_storage)] +
                                               Storage::front_guard));
    }
    args.qk_l2norm = spec.qk_l2norm;
    args.qk_l2norm_eps = spec.qk_l2norm_eps;
    args.batch_invariant = spec.batch_invariant;
    args.split_state_operand = spec.split_state_operand;
    args.algorithm = spec.algorithm;
    return args;
  }

  /// The arguments over the host's copy; nothing is written through them.
  ForwardArgs<Layer> host_args() const {
    std::vector<unsigned char*> bases;
    for (const Storage& storage : storages) {
      bases.push_back(const_cast<unsigned char*>(storage.bytes.data()));
    }
    return args(bases);
  }

  /// Tokens [begin, end) of every batch row, as views of the same storages; dense problems only.
  Problem time_slice(std::int64_t begin, std::int64_t end) const {
    Problem slice = *this;
    slice.spec.shape.seq_len = end - begin;
    for (Tensor* tensor : slice.tensors()) {
      tensor->offset += begin * tensor->strides.time;
      tensor->time = end - begin;
      tensor->contiguous = false;
    }
    return slice;
  }

  /// Batch row b alone, likewise.
  Problem batch_slice(std::int64_t b) const {
    Problem slice = *this;
    slice.spec.shape.batch = 1;
    for (Tensor* tensor : slice.tensors()) {
      tensor->offset += b * tensor->strides.batch;
      tensor->batch = 1;
    }
    for (StateTensor* state : {&slice.initial_state, &slice.final_state}) {
      state->offset += b * state->sequence_stride;
      state->sequences = 1;
    }
    return slice;
  }

  /// Overwrites the initial state by values in the order of [N, H, K, V].
  void set_initial_state(const std::vector<float>& values) {
    std::size_t next = 0;
    initial_state.for_each([&](std::int64_t where) {
      encode(initial_state.type, values[next++], byte(initial_state.storage, where));
    });
  }

  std::string describe() const { return layer_name<Layer>() + "; " + spec.describe(); }

 private:
  template <class T>
  static TensorView<T> view(const Tensor& tensor, const std::vector<unsigned char*>& bases) {
    if (!tensor.present()) return {};
    T* data =
        reinterpret_cast<T*>(bases[static_cast<std::size_t>(tensor.storage)] + tensor.byte_of({}));
    return tensor.contiguous ? TensorView<T>(data) : TensorView<T>(data, tensor.strides);
  }
  static StateView state_view(const StateTensor& state, const std::vector<unsigned char*>& bases) {
    StateView view;
    if (!state.present()) return view;
    view.data = bases[static_cast<std::size_t>(state.storage)] + state.byte_of(0, 0, 0, 0);
    view.type = state.type;
    view.layout = state.layout;
    view.sequence_stride = state.sequence_stride;
    view.head_stride = state.head_stride;
    view.row_stride = state.row_stride;
    view.contiguous = state.contiguous;
    return view;
  }
  std::vector<Tensor*> tensors() { return {&q, &k, &v, &gate, &beta, &o}; }
};

/// Makes a problem. Under the delta rule k is normalised unless the layer does it. Outputs are NaN.
template <class Layer>
Problem<Layer> make_problem(Spec spec) {
  Shape& shape = spec.shape;
  if (shape.key_heads == 0) shape.key_heads = shape.heads;
  if (shape.key_dim == 0) shape.key_dim = Layer::key_dim;
  if (shape.value_dim == 0) shape.value_dim = Layer::value_dim;
  constexpr GateAxis axis = Layer::Gate::axis;
  const detail::LayerFacts facts{Layer::element_type, Layer::gate_type, axis != GateAxis::none,
                                 Layer::Rule::uses_beta,
                                 axis == GateAxis::value ? shape.value_dim
                                 : axis == GateAxis::key ? shape.key_dim
                                                         : 1};

  Problem<Layer> problem;
  problem.spec = std::move(spec);
  const Spec& s = problem.spec;
  detail::place_qkv(problem, facts);
  problem.fill(problem.q, detail::either(s.q_values, fills::normal()), 1);
  problem.fill(problem.k, detail::either(s.k_values, fills::normal()), 2);
  if (facts.has_beta && !s.qk_l2norm) problem.normalise(problem.k);
  problem.fill(problem.v, detail::either(s.v_values, fills::normal()), 3);
  if (facts.has_gate) {
    problem.gate = detail::tensor_of(facts.gate, s.shape.batch, s.shape.seq_len, s.shape.heads,
                                     facts.gate_channels);
    problem.gate.storage = problem.add_storage(facts.gate, place(problem.gate, s.gate));
    problem.fill(problem.gate,
                 detail::either(s.gate_values, fills::in_space<Layer>(fills::uniform(0.9, 1))), 4);
  }
  if (facts.has_beta) {
    problem.beta = detail::tensor_of(s.beta_type, s.shape.batch, s.shape.seq_len, s.shape.heads, 1);
    problem.beta.storage = problem.add_storage(s.beta_type, place(problem.beta, s.beta));
    problem.fill(problem.beta, detail::either(s.beta_values, fills::uniform(0, 1)), 5);
  }
  problem.o = detail::tensor_of(facts.element, s.shape.batch, s.shape.seq_len, s.shape.heads,
                                s.shape.value_dim);
  const std::int64_t o_size = place(problem.o, s.o);
  if (!s.null_o) {
    problem.o.storage = problem.add_storage(facts.element, o_size);
    problem.o.for_each([&](const Index&, std::int64_t where) {
      std::memset(problem.byte(problem.o.storage, where), 0xff,
                  static_cast<std::size_t>(size_of(facts.element)));
    });
  }
  detail::place_states(problem);
  detail::fill_state(problem);
  if (problem.final_state.present() && !s.in_place) {
    problem.final_state.for_each([&](std::int64_t where) {
      std::memset(problem.byte(problem.final_state.storage, where), 0xff,
                  static_cast<std::size_t>(size_of(problem.final_state.type)));
    });
  }
  if (!s.cu_seqlens.empty()) {
    const DataType wide_or_narrow =
        s.cu_seqlens_int64 ? DataType::float64 : DataType::float32;  // 8 or 4 bytes
    problem.cu_seqlens_storage =
        problem.add_storage(wide_or_narrow, static_cast<std::int64_t>(s.cu_seqlens.size()));
    problem.write_cu_seqlens();
  }
  return problem;
}

}  // namespace gdr::test
