// SPDX-FileCopyrightText: Copyright (c) 2026 The gdr authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// Which form of the algorithm serves a problem, and how sequences are cut into pieces. Host
/// arithmetic on the arguments alone: the same on every device, but that Algorithm::automatic stays
/// with the recurrent form where the chunked one's tiles do not fit the device's shared memory.
///
/// Algorithm::automatic takes
///   - the recurrent form under the delta rule and for heads of up to 16 key channels; of up to 32
///     also where sequences are not cut and make few blocks;
///   - where sequences are short on average, under `long_sequence` tokens, the recurrent form; with
///     cu_seqlens both, by each sequence's length, if there may be one of 1024 tokens among them;
///   - else the chunked form; cut into pieces (chunked_split) where the caller gave a workspace and
///     a sequence of average length saves more tokens by it than it costs (`split_pays`); with
///     cu_seqlens and more blocks than eight times `split_blocks`, so that blocks for short
///     sequences may be what takes the time, both forms by each one's length.
/// With batch_invariant it may look at K and the type alone of these, takes bfloat16 to the chunked
/// form and the others to the recurrent one, and never cuts.

#include <gdr/dispatch/policy.hpp>
#include <gdr/dispatch/tensor_info.hpp>
#include <gdr/types/args.hpp>

GDR_NAMESPACE_BEGIN
namespace detail {

/// Blocks that pieces are to make: what fills an H100 or H200.
inline constexpr int64_t split_blocks = 132;
/// Tokens of a piece are so many that a piece's state is little beside its tokens, and a multiple of
/// every chunk's; those of its parts, of which there can be two or more, too.
inline constexpr int64_t piece_step = 128;
inline constexpr int64_t part_step = 64;
inline constexpr int64_t least_piece = 256;
inline constexpr int64_t least_part = 128;
inline constexpr int64_t fixed_piece = 2048;  // with batch_invariant
/// What cutting costs, in tokens of bfloat16: two more launches, and for each block the states
/// of its parts and pieces. About 8 us and 0.16 us where a token takes 0.023. Measured on an H200,
/// K = V = 64 and 128, 1 to 66 blocks, 512 to 8192 tokens: the form so chosen takes at most 5 % more
/// than the faster one. Of float32 and float16, whose operands are two numbers each, a token takes
/// about three times as long.
inline constexpr int64_t split_cost = 352;
inline constexpr int64_t split_cost_of_block = 7;
inline constexpr int64_t token_of_two_numbers = 3;

/// Sizes that the choice looks at. Nothing has been checked: they may be negative or huge.
struct FormProblem {
  int64_t sequences = 0;
  int64_t tokens = 0;  // of all sequences
  int64_t heads = 0;
  int key_dim = 0;
  int value_dim = 0;
  int gate_channels = 0;
  bool has_offsets = false;
  bool batch_invariant = false;
  bool has_workspace = false;
  bool delta_rule = false;
  DataType element_type = DataType::bfloat16;
  int states_per_sm = 1;  // blocks for states alone that a multiprocessor holds
  Algorithm algorithm = Algorithm::automatic;
};

template <class Layer>
GDR_HIDDEN FormProblem form_problem(const ForwardArgs<Layer>& args) {
  FormProblem p;
  p.sequences = sequence_count(args);
  p.has_offsets = args.cu_seqlens.data != nullptr;
  const bool multiplies = !p.has_offsets && args.shape.seq_len > 0 && p.sequences > 0;
  p.tokens = multiplies ? limited_product(args.shape.seq_len, p.sequences) : args.shape.seq_len;
  p.heads = args.shape.heads;
  p.key_dim = args.shape.key_dim == 0 ? Layer::key_dim : args.shape.key_dim;
  p.value_dim = args.shape.value_dim == 0 ? Layer::value_dim : args.shape.value_dim;
  p.gate_channels = Layer::gate_channels;
  p.batch_invariant = args.batch_invariant;
  p.has_workspace = args.workspace != nullptr;
  p.delta_rule = Layer::Rule::uses_beta;
  p.element_type = Layer::element_type;
  if (has_states_form<Layer>) p.states_per_sm = StatesPolicy<Layer>::chunked.blocks_per_sm;
  p.algorithm = args.algorithm;
  return p;
}

GDR_HIDDEN inline bool has_sizes(const FormProblem& p) {
  const auto within = [](int64_t size, int64_t least, int64_t most) {
    return size >= least && size <= most;
  };
  return within(p.sequences, 1, size_limit) && within(p.tokens, 0, size_limit) &&
         within(p.heads, 1, size_limit) && within(p.key_dim, 1, 256) && within(p.value_dim, 1, 256);
}

/// Heads whose step by step update is short beside a chunk's fixed cost.
inline constexpr int fewest_chunked_keys = 17;
inline constexpr int most_narrow_keys = 32;
/// Tokens from which on the chunked form is the faster one for a sequence: where the bench's rows
/// cross.
GDR_HIDDEN inline int64_t long_sequence(const FormProblem& p) {
  if (p.key_dim > 64) return 64;
  if (p.key_dim > most_narrow_keys || p.key_dim < 1) return 32;
  return (p.element_type == DataType::float16 ? 12288 : 4096) / p.key_dim;
}

/// Blocks of the chunked form, each for 64 value channels.
GDR_HIDDEN inline int64_t chunked_blocks(const FormProblem& p) {
  return limited_product(limited_product(p.sequences, p.heads), (p.value_dim + 63) / 64);
}

/// How chunked_split cuts the sequences.
struct Cut {
  int64_t tokens = 0;        // of a piece
  int64_t part_tokens = 0;   // of a part
  int64_t parts = 0;         // of a piece: all but the last piece's are blocks of the first pass
  int64_t per_sequence = 0;  // pieces of a sequence without cu_seqlens
  int64_t slots = 0;         // pieces at most
  int64_t part_slots = 0;    // parts at most

  int64_t parts_per_sequence() const { return per_sequence * parts; }
};

/// Parts of a piece: as many as run side by side in the first pass. More than that make it longer,
/// by the states that they leave.
GDR_HIDDEN inline int64_t parts_of_piece(const FormProblem& p, int64_t tokens) {
  if (p.batch_invariant) return p.states_per_sm;
  const int64_t average = (p.tokens + p.sequences - 1) / p.sequences;
  const int64_t pieces = average > tokens ? (average - 1) / tokens : 1;  // but for the last
  const int64_t blocks = limited_product(chunked_blocks(p), pieces);
  int64_t parts = split_blocks * p.states_per_sm / blocks;
  if (parts > tokens / least_part) parts = tokens / least_part;
  while (parts > 1 && tokens % (parts * part_step) != 0) --parts;
  return parts < 1 ? 1 : parts;
}

GDR_HIDDEN inline Cut cut_sequences(const FormProblem& p) {
  Cut cut;
  if (!has_sizes(p)) return cut;
  cut.tokens = fixed_piece;
  if (!p.batch_invariant) {
    const int64_t wanted = split_blocks / chunked_blocks(p);  // pieces of each sequence
    const int64_t average = (p.tokens + p.sequences - 1) / p.sequences;
    const int64_t tokens = wanted < 1 ? average : (average + wanted - 1) / wanted;
    cut.tokens = (tokens + piece_step - 1) / piece_step * piece_step;
    if (cut.tokens < least_piece) cut.tokens = least_piece;
  }
  cut.parts = parts_of_piece(p, cut.tokens);
  cut.part_tokens = cut.tokens / cut.parts;
  const int64_t length = p.tokens / p.sequences;
  cut.per_sequence = length == 0 ? 1 : (length + cut.tokens - 1) / cut.tokens;
  const auto slots = [&](int64_t tokens, int64_t of_each) {
    return p.has_offsets ? p.tokens / tokens + p.sequences : limited_product(p.sequences, of_each);
  };
  cut.slots = slots(cut.tokens, cut.per_sequence);
  cut.part_slots = slots(cut.part_tokens, cut.parts_per_sequence());
  return cut;
}

/// Whether cut sequences are faster than whole ones. The longest way through blocks is then a part,
/// in the first pass, and a piece, in place of a sequence.
GDR_HIDDEN inline bool split_pays(const FormProblem& p) {
  const Cut cut = cut_sequences(p);
  const int64_t saved = p.tokens / p.sequences - cut.part_tokens - cut.tokens;
  const int64_t token = p.element_type == DataType::bfloat16 ? 1 : token_of_two_numbers;
  return token * saved >= split_cost + split_cost_of_block * chunked_blocks(p);
}

/// The form that serves the problem; never automatic, and by_length with cu_seqlens alone.
GDR_HIDDEN inline Algorithm choose_form(const FormProblem& p) {
  if (p.algorithm == Algorithm::by_length && !p.has_offsets) {
    const bool is_long = has_sizes(p) && p.tokens / p.sequences >= long_sequence(p);
    return is_long ? Algorithm::chunked : Algorithm::recurrent;
  }
  if (p.algorithm != Algorithm::automatic) return p.algorithm;
  if (p.delta_rule || p.key_dim < fewest_chunked_keys || !has_sizes(p)) return Algorithm::recurrent;
  const bool is_narrow = p.key_dim <= most_narrow_keys;
  if (p.batch_invariant) {
    const bool is_chunked = p.element_type == DataType::bfloat16 && !is_narrow;
    return is_chunked ? Algorithm::chunked : Algorithm::recurrent;
  }
  if (p.has_workspace && split_pays(p)) return Algorithm::chunked_split;
  // Step by step few of them are spread over more blocks.
  if (is_narrow && chunked_blocks(p) < split_blocks / 2) return Algorithm::recurrent;
  const bool may_differ = p.has_offsets && p.sequences > 1;
  const bool many_blocks = chunked_blocks(p) > 8 * split_blocks;
  const int64_t average = p.tokens / p.sequences;
  if (average < long_sequence(p)) {
    // What a long sequence costs token by token is more than a second launch in vain.
    const int64_t longest = p.tokens - p.sequences + 1;  // if none is empty
    return may_differ && longest >= 1024 ? Algorithm::by_length : Algorithm::recurrent;
  }
  return may_differ && many_blocks ? Algorithm::by_length : Algorithm::chunked;
}

/// Elements of a row of a state in the workspace, a multiple of 16 bytes. What lies past K is of no
/// account.
constexpr int64_t state_row(int key_dim) { return round_up(key_dim, 4); }
/// Bytes of some slots' states.
GDR_HIDDEN inline int64_t states_bytes(const FormProblem& p, int64_t slots) {
  return limited_product(limited_product(slots, p.heads), 4 * state_row(p.key_dim) * p.value_dim);
}
/// The workspace of chunked_split: states of parts from zero, states at the starts of pieces, then
/// products of the parts' gates (8 bytes each).
GDR_HIDDEN inline int64_t products_offset(const FormProblem& p, const Cut& cut) {
  return states_bytes(p, cut.part_slots) + states_bytes(p, cut.slots);
}
GDR_HIDDEN inline int64_t split_workspace(const FormProblem& p) {
  if (!has_sizes(p)) return 0;
  const Cut cut = cut_sequences(p);
  return products_offset(p, cut) +
         limited_product(limited_product(cut.part_slots, p.heads), int64_t{8} * p.gate_channels);
}

}  // namespace detail
GDR_NAMESPACE_END
