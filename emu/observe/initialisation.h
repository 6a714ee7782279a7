#pragma once

// Reads of bytes that nothing wrote, and outputs that are not written in full. Follows the resolved
// instructions in the order of their effects and needs no data, except to know which rows an index chooses.
//
// What may be written counts as written: every element of a predicated copy's destination and, without data,
// all rows of a table that an index chooses from. What may be read, because data choose it (the table of a
// gather or of a transfer by index, the sources of predicated selections), is reported only where a whole
// lane of it was never written, and never as an error.
//
// A read is an error if its value reaches an output, a register or a DMA index: every byte computed from an
// unwritten one carries the number of the read that is to blame (emu/observe/shadow.h). How values flow from
// sources to destinations is in data_flow.h.

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "emu/machine/observer.h"
#include "emu/observe/data_flow.h"
#include "emu/observe/finding.h"
#include "emu/observe/shadow.h"

namespace ncemu {

class Initialisation : public Observer {
 public:
  explicit Initialisation(const Program& program);

  void on_start(const Started& started) override;

  // Kind init, in the order of their first occurrence.
  std::vector<Finding> reads() const;
  // Kind outputs; only of use for a run that came to its end.
  std::vector<Finding> outputs() const;
  // Some execution of the instruction read bytes that nothing wrote, or values that come from such bytes.
  bool saw_unwritten(Engine engine, std::uint32_t index) const { return tainted_.contains({engine, index}); }
  // Transfers whose rows could not be followed for want of data: their source places.
  const std::vector<std::uint32_t>& unknown_rows() const { return unknown_rows_; }

 private:
  struct Read {
    Involved by;
    std::string operand, memory, first, carried_to;  // carried_to: the output
    std::uint64_t missing = 0, elements = 0;         // of the first occurrence
    std::uint64_t times = 0;
    bool decides = false;  // a register, or the rows of a transfer
    Involved carrier;      // of carried_to
  };
  using Key = std::tuple<std::uint32_t, int, std::uint32_t, std::string>;  // site, engine, index, operand

  bool tracked(std::uint16_t tensor) const { return tensors_[tensor] != nullptr; }
  ChipShadow& chip(const AccessPattern& p) { return p.space == Space::psum ? psum_ : sbuf_; }
  bool is_sound(const AccessPattern& pattern) { return chip(pattern).is_sound(pattern); }
  // Known to be sound, without looking.
  bool is_known(const AccessPattern& pattern) { return chip(pattern).is_known(pattern); }
  bool is_known(const HbmPattern& pattern) const { return !tracked(pattern.tensor); }
  bool is_sound(const HbmPattern& pattern) const {
    return !tracked(pattern.tensor) || tensors_[pattern.tensor]->is_sound(pattern);
  }
  std::vector<Origin> look(const AccessPattern& pattern) { return chip(pattern).look(pattern); }
  std::vector<Origin> look(const HbmPattern& pattern) const;
  void write(const AccessPattern& pattern, const std::vector<Origin>* origins);
  void write(const HbmPattern& pattern, const std::vector<Origin>* origins);

  void follow(const Started& started, const Instruction& instruction);
  void follow_rows(const Started& started, const DmaCopy& copy);
  void write_words(const Write& words);
  template <typename Pattern>
  void report(const Started& started, std::string_view operand, const Pattern& pattern,
              std::vector<Origin>& origins);
  void reaches_output(const Started& started, const HbmPattern& pattern, const std::vector<Origin>& origins);
  void decide(const std::vector<Origin>& origins);

  const Program& program_;
  ChipShadow sbuf_, psum_;
  std::vector<std::unique_ptr<TensorShadow>> tensors_;  // outputs and scratch; null: written from the start
  EngineOrigins engines_;
  std::vector<Read> reads_;
  std::map<Key, Origin> numbers_;
  std::vector<std::uint32_t> unknown_rows_;
  std::set<std::pair<Engine, std::uint32_t>> tainted_;
};

}  // namespace ncemu
