// Instructions of the vector, scalar and gpsimd engines.
//   duration   the latency of an instruction, against the median
//   interval   start to start of equal instructions, against the median; where the median is longer than the
//              duration the stream was waiting for something else, and the minimum is compared; where that is
//              longer too, no interval was back to back
// Both are medians over a run of equal instructions as long as the row's runs: n instructions in n minus
// n_back_to_back runs.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "bench/accuracy/evaluate.h"
#include "bench/accuracy/patterns.h"
#include "bench/accuracy/replay.h"
#include "bench/accuracy/rows.h"

namespace ncemu::accuracy {
namespace {

struct Described {
  Engine engine = Engine::vector;
  Instruction instruction;
};

// What a row describes, or why it cannot be said in an instruction.
struct Reading {
  std::optional<Described> described;
  std::string why;
};

std::optional<Engine> engine_named(std::string_view text) {
  if (text == "DVE" || text == "Vector") return Engine::vector;
  if (text == "ACT" || text == "Scalar") return Engine::scalar;
  if (text == "POOL" || text == "GpSimd") return Engine::gpsimd;
  if (text == "PE" || text == "Tensor") return Engine::tensor;
  if (text == "SP" || text == "Sync") return Engine::sync;
  return std::nullopt;
}

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

AluOp operator_named(std::string_view function) {
  const std::string word = lower(function.substr(0, function.find(' ')));
  return find<AluOp>(word).value_or(AluOp::add);
}

// The opcode without what the table says about it in brackets: "MEMSET(op 0x49, inferred)".
std::string mnemonic(std::string_view opcode, Engine engine, int generation) {
  const std::string name = lower(opcode.substr(0, opcode.find('(')));
  if (name == "activate") return "activation";
  if (name != "copy" && name != "cast") return name;
  // The scalar engine of NeuronCore-v2 copies with an activation.
  return engine == Engine::scalar && generation == 2 ? "activation" : "tensor_copy";
}

// Operands far enough apart not to touch each other.
constexpr std::uint32_t sbuf_apart = 60 * 1024, psum_apart = 4096;

class Reader {
 public:
  Reader(const Csv& rows, std::size_t row) : rows_(rows), row_(row) {}

  Reading read(const Target& target) {
    const std::optional<Engine> engine = engine_named(text("engine"));
    if (!engine) return {{}, "unknown engine"};
    const std::string name = mnemonic(text("opcode"), *engine, target.generation);
    const InstructionInfo* row = find_instruction(name);
    if (row == nullptr) return {{}, "the instruction set has no " + text("opcode")};
    if (!row->engines(target.generation).contains(*engine))
      return {{}, name + " does not run on this engine"};
    std::optional<Operands> operands = operands_of(*row);
    if (!operands) return {{}, why_.empty() ? "operands are not fully specified" : why_};
    return {Described{*engine, instruction(row->opcode, std::move(*operands))}, {}};
  }

 private:
  const std::string& text(std::string_view column) const { return rows_.text(row_, column); }

  // Destination, then sources; false when one is missing or not a pattern.
  bool read_patterns() {
    const std::string& types = text("dtype");
    const std::size_t arrow = types.find("->");
    const auto all_from = parts_of(std::string_view(types).substr(0, arrow), ",");
    const std::string_view to =
        arrow == std::string::npos ? std::string_view(types) : std::string_view(types).substr(arrow + 2);
    const auto places = parts_of(text("src"), "+");
    const auto shapes = parts_of(text("src_ap"), ",");
    for (std::size_t i = 0; i < shapes.size() && shapes[i] != "-"; ++i) {
      const auto type = i < all_from.size() ? dtype_named(all_from[i]) : std::nullopt;
      const auto place = i < places.size() ? space_named(places[i]) : std::nullopt;
      if (!add(sources_, shapes[i], place, type, static_cast<std::uint32_t>(i))) return false;
    }
    // Fills do not record their type; a float of 32 bits is assumed.
    const auto type = dtype_named(to).value_or(DType::f32);
    return add(destination_, text("dst_ap"), space_named(text("dst")), type, 2);
  }

  bool add(std::vector<AccessPattern>& list, std::string_view shape, std::optional<Space> place,
           std::optional<DType> type, std::uint32_t slot) {
    std::optional<AccessPattern> pattern = pattern_named(shape);
    const std::optional<double> partitions = rows_.number(row_, "partitions");
    if (!pattern || !place || !type || !partitions) return false;
    if (*partitions < 1 || *partitions > 128) {
      why_ = "an operand has 1 to 128 partitions";
      return false;
    }
    pattern->space = *place;
    pattern->dtype = *type;
    pattern->partitions = static_cast<std::uint8_t>(*partitions);
    pattern->offset = slot * (*place == Space::sbuf ? sbuf_apart : psum_apart);
    list.push_back(*pattern);
    return true;
  }

  std::optional<Operands> operands_of(const InstructionInfo& row) {
    if (row.cost == CostClass::table_load) return TableLoad{};
    if (!read_patterns()) return std::nullopt;
    const AccessPattern dst = destination_.front();
    const std::string& function = text("function");
    const AluOp op = operator_named(function);
    Operands operands = default_operands(row.opcode);
    if (auto* memset = std::get_if<Memset>(&operands)) {
      memset->dst = dst;
      return operands;
    }
    if (sources_.empty()) return std::nullopt;
    const AccessPattern src = sources_.front();
    if (auto* activation = std::get_if<Activation>(&operands)) {
      activation->dst = dst;
      activation->src = src;
      activation->func = find<ActivationFunction>(lower(function)).value_or(ActivationFunction::copy);
    } else if (auto* unary = std::get_if<Unary>(&operands)) {
      *unary = {dst, src};
    } else if (auto* reduce = std::get_if<TensorReduce>(&operands)) {
      reduce->dst = dst;
      reduce->src = src;
      reduce->op = op;
      reduce->axes = axes_between(src, dst);
    } else if (auto* scalar = std::get_if<TensorScalar>(&operands)) {
      scalar->dst = dst;
      scalar->src = src;
      scalar->op0 = op;
      scalar->scalar0 = 2.0F;
      if (contains(function, "pointer")) scalar->scalar0 = PointerOperand{.offset = 3 * sbuf_apart};
    } else if (auto* pair = std::get_if<TensorTensor>(&operands)) {
      if (sources_.size() != 2) return std::nullopt;
      *pair = {dst, src, sources_[1], op};
    } else {
      why_ = "rows of " + std::string(row.mnemonic) + " are not read";
      return std::nullopt;
    }
    return operands;
  }

  // The fastest dimensions that the destination no longer has.
  static Axes axes_between(const AccessPattern& src, const AccessPattern& dst) {
    std::int64_t consumed = 1;
    for (std::size_t axes = 0; axes < src.dims.size(); ++axes) {
      consumed *= src.dims[axes].count;
      if (consumed * dst.elements() == src.elements()) return static_cast<Axes>(axes);
    }
    return Axes::XYZW;
  }

  const Csv& rows_;
  std::size_t row_;
  std::vector<AccessPattern> sources_, destination_;
  std::string why_;
};

// The mean length of the row's runs; one where it does not say.
int run_length(const Csv& rows, std::size_t row) {
  constexpr double longest = 64;
  const double all = rows.number(row, "n").value_or(1);
  const double close = rows.number(row, "n_back_to_back").value_or(0);
  if (all <= close || close <= 0) return 1;
  return static_cast<int>(std::lround(std::min(longest, all / (all - close))));
}

struct Run {
  Described described;
  int length = 1;
};

std::vector<Start> starts_of(const Run& run, int at_least, const MachineConfig& machine) {
  Streams streams(machine);
  streams.add(run.described.engine, {run.described.instruction}, std::max(at_least, run.length));
  return replay(machine, streams.program()).starts[static_cast<std::size_t>(run.described.engine)];
}

double duration_of(const Run& run, const MachineConfig& machine) {
  std::vector<double> all;
  for (const Start& s : starts_of(run, 1, machine))
    all.push_back(ns_from_ticks(machine, s.passage.complete - s.passage.start));
  return quantile(all, 0.5);
}

double interval_of(const Run& run, const MachineConfig& machine) {
  const std::vector<Start> starts = starts_of(run, 2, machine);
  std::vector<double> all;
  for (std::size_t i = 1; i < starts.size(); ++i)
    all.push_back(ns_from_ticks(machine, starts[i].passage.start - starts[i - 1].passage.start));
  return quantile(all, 0.5);
}

}  // namespace

Cases instruction_cases(const Csv& rows) {
  Cases cases;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string machine = machine_of(rows.text(row, "hw"));
    const std::string& id = rows.text(row, "id");
    const std::optional<double> duration = rows.number(row, "p50_ns");
    if (!duration) continue;
    const std::optional<Engine> engine = engine_named(rows.text(row, "engine"));
    const std::string group = machine + " " + std::string(engine ? name(*engine) : rows.text(row, "engine"));
    Reading reading;
    if (machine.empty()) {
      reading.why = "unknown machine";
    } else {
      reading = Reader(rows, row).read(*find_target(machine));
    }
    const auto add = [&](const char* what, double measured, auto measure) {
      if (!reading.described) {
        cases.push_back(not_expressed(id, group + what, "ns", measured, reading.why));
        return;
      }
      cases.push_back({.id = id,
                       .group = group + what,
                       .unit = "ns",
                       .measured = measured,
                       .machine = machine,
                       .predict = [run = Run{*reading.described, run_length(rows, row)},
                                   measure](const MachineConfig& m) { return measure(run, m); },
                       .reason = {},
                       .sections = {"vector", "scalar", "gpsimd", "stream"}});
    };
    add(" duration", *duration, duration_of);
    const std::optional<double> least = rows.number(row, "issue_interval_min_ns");
    const std::optional<double> median = rows.number(row, "issue_interval_p50_ns");
    if (!least || !median) continue;
    if (*least > *duration) {
      cases.push_back(
          not_expressed(id, group + " interval", "ns", *median,
                        "no interval was back to back: the shortest is longer than the duration"));
    } else {
      add(" interval", *median > *duration ? *least : *median, interval_of);
    }
  }
  return cases;
}

}  // namespace ncemu::accuracy
