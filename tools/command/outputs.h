#pragma once

// `--out name=file` and `--expect name=reference`: what becomes of the results. Everything is read and
// compared before anything is written.

#include <string>
#include <vector>

#include "emu/data/state.h"
#include "isa/program.h"
#include "tools/files/compare.h"
#include "tools/files/load.h"

namespace ncemu::command {

struct Save {
  std::uint16_t tensor = 0;
  std::string path;
  bool as_float32 = false;   // .npy only
  bool safetensors = false;  // all tensors saved under one path go into one file
};

struct Expectation {
  std::uint16_t tensor = 0;
  std::string source;
  FileSpec file;
  Tolerance tolerance;
  bool bits = false;
};

struct Checked {
  std::string tensor, source, text;
  Difference difference;
};

class Outputs {
 public:
  // "c=c.npy", "c=c.npy:float32", "all.safetensors" (every output and inout). Throws Fault(input) for
  // names that the kernel does not have or that are not results, and for directories that do not exist.
  Outputs(const Program& program, const std::vector<std::string>& saves,
          const std::vector<std::string>& expectations, const Tolerance& tolerance, bool bits);

  // Reads the references; call it before the run, so that a bad file is found before the time is spent.
  void read_references();
  std::vector<Checked> compare(const State& state) const;
  // The paths written.
  std::vector<std::string> save(const State& state) const;
  bool empty() const { return saves_.empty() && expectations_.empty(); }

 private:
  void add_save(const std::string& text);
  void add_expectation(const std::string& text, const Tolerance& tolerance, bool bits);
  std::uint16_t result(const std::string& name, const std::string& option) const;

  const Program& program_;
  std::vector<Save> saves_;
  std::vector<Expectation> expectations_;
  std::vector<std::vector<double>> values_;
  std::vector<std::vector<std::byte>> patterns_;
};

}  // namespace ncemu::command
