// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The words for the library's enumerations: of the options, of the output, and of GDR_RUN_LAYERS.

#include <gdr/types.hpp>

#include <string>

namespace gdr_run {

enum class Space { linear, log };
enum class Rule { outer_product, delta };

/// Who computes.
enum class Device {
  automatic,  // the GPU, or the reference where there is none
  gpu,
  reference,
};

template <class Value>
struct Named {
  const char* name;
  Value value;
};

inline constexpr Named<gdr::DataType> compute_types[] = {{"float32", gdr::DataType::float32},
                                                         {"float16", gdr::DataType::float16},
                                                         {"bfloat16", gdr::DataType::bfloat16}};
inline constexpr Named<gdr::GateAxis> axes[] = {{"value", gdr::GateAxis::value},
                                                {"key", gdr::GateAxis::key},
                                                {"head", gdr::GateAxis::head},
                                                {"none", gdr::GateAxis::none}};
inline constexpr Named<Space> spaces[] = {{"linear", Space::linear}, {"log", Space::log}};
inline constexpr Named<Rule> rules[] = {{"outer_product", Rule::outer_product},
                                        {"delta", Rule::delta}};
inline constexpr Named<gdr::Algorithm> algorithms[] = {
    {"automatic", gdr::Algorithm::automatic},
    {"recurrent", gdr::Algorithm::recurrent},
    {"chunked", gdr::Algorithm::chunked},
    {"chunked_split", gdr::Algorithm::chunked_split},
    {"by_length", gdr::Algorithm::by_length}};
inline constexpr Named<gdr::StateLayout> state_layouts[] = {{"kv", gdr::StateLayout::kv},
                                                            {"vk", gdr::StateLayout::vk}};
inline constexpr Named<Device> devices[] = {
    {"auto", Device::automatic}, {"gpu", Device::gpu}, {"reference", Device::reference}};

template <class Value, size_t count>
std::string name_of(const Named<Value> (&table)[count], Value value) {
  for (const Named<Value>& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

}  // namespace gdr_run
