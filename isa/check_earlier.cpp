#include "isa/check_earlier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <set>

#include "isa/check.h"

namespace ncemu {
namespace {

class Earlier {
 public:
  Earlier(const Program& program, Diagnostics& diagnostics) : program_(program), diagnostics_(diagnostics) {}

  void run() {
    if (program_.order.empty()) {
      for (const Engine e : all_engines) {
        for (const Instruction& i : program_.stream(e)) see(i, e);
      }
      return;
    }
    std::array<std::size_t, engine_count> next{};
    const std::set<std::uint32_t> edges = edges_of_doubtful_loops();
    for (std::uint32_t k = 0; k < program_.order.size(); ++k) {
      if (edges.contains(k)) forget();
      const Engine e = program_.order[k];
      see(program_.stream(e)[next[static_cast<std::size_t>(e)]++], e);
    }
  }

 private:
  struct Load {
    ArrayPair position, size;
    int lanes = 0;
    std::int64_t columns = 0;
    DType dtype = DType::f32;
    bool double_row = false;
  };

  // First and one past the last position of loops that may have no round.
  std::set<std::uint32_t> edges_of_doubtful_loops() const {
    std::set<std::uint32_t> edges;
    for (const Loop& loop : program_.loops) {
      const auto* start = std::get_if<std::int32_t>(&loop.start);
      const auto* stop = std::get_if<std::int32_t>(&loop.stop);
      if (start != nullptr && stop != nullptr && *start < *stop) continue;
      edges.insert({loop.begin, loop.end});
    }
    return edges;
  }

  void forget() {
    loads_.clear();
    table_.reset();
    certain_.fill(false);
  }

  void see(const Instruction& i, Engine engine) {
    bool& ended = ended_[static_cast<std::size_t>(engine)];
    ended = ended || i.opcode == Opcode::compare_branch || i.opcode == Opcode::halt;
    if (ended) return;
    if (const auto* load = std::get_if<LoadStationary>(&i.operands)) {
      remember(*load);
    } else if (const auto* matmul = std::get_if<Matmul>(&i.operands)) {
      check(*matmul, i);
    } else if (i.opcode == Opcode::load_mask) {
      mask_ = true;
    } else if (i.opcode == Opcode::stream_shuffle) {
      if (!mask_ && certain(Engine::vector))
        report(i, "no load_mask stands before it", "stream_shuffle moves lanes by a mask.", "6.3.4");
    } else if (i.opcode == Opcode::match_value_load) {
      const AccessPattern& src = std::get<Source>(i.operands).src;
      for (unsigned p = src.partition; p < src.partition + src.partitions && p < match_.size(); ++p)
        match_.set(p);
    } else if (i.opcode == Opcode::find_index8 || i.opcode == Opcode::match_replace8) {
      check_match(i);
    } else if (const auto* table = std::get_if<TableLoad>(&i.operands)) {
      table_ = table->table;
      certain_[static_cast<std::size_t>(Engine::scalar)] = true;
    } else if (const auto* activation = std::get_if<Activation>(&i.operands)) {
      check(*activation, i);
    }
  }

  // ---- the tensor engine

  void remember(const LoadStationary& f) {
    const auto apart = [](int x, int nx, int y, int ny) { return x + nx <= y || y + ny <= x; };
    std::erase_if(loads_, [&](const Load& load) {
      return !apart(load.position.row, load.size.row, f.tile_position.row, f.tile_size.row) &&
             !apart(load.position.column, load.size.column, f.tile_position.column, f.tile_size.column);
    });
    loads_.push_back({f.tile_position, f.tile_size, f.src.partitions,
                      f.src.elements() / (f.double_row ? 2 : 1), f.src.dtype, f.double_row});
  }

  void check(const Matmul& f, const Instruction& i) {
    static constexpr std::string_view rule =
        "A matmul fits the load_stationary before it in its tile of the array.";
    const auto load = std::find_if(loads_.begin(), loads_.end(), [&](const Load& l) {
      return l.position == f.tile_position && l.size == f.tile_size;
    });
    if (load == loads_.end()) {
      if (!certain(Engine::tensor)) return;
      report(
          i,
          f.tile_size == whole_array
              ? std::string("no load_stationary stands before it")
              : fmt::format("no load_stationary into the tile of {} x {} at [{}, {}] stands before it",
                            f.tile_size.row, f.tile_size.column, f.tile_position.row, f.tile_position.column),
          rule, "6.1");
      return;
    }
    if (is_fp32_like(f.moving.dtype) != is_fp32_like(load->dtype)) {
      report(i,
             fmt::format("moving is {} and the stationary operand {}; f32 and tf32 pair only with each other",
                         name(f.moving.dtype), name(load->dtype)),
             rule, "6.1");
    }
    if (f.double_row != load->double_row) {
      report(i,
             fmt::format("double_row is {}, that of its load_stationary {}", f.double_row, load->double_row),
             rule, "6.1");
    }
    if (f.moving.partitions != load->lanes) {
      report(i,
             fmt::format("moving has {} partitions, the stationary operand has {} (k)", f.moving.partitions,
                         load->lanes),
             rule, "6.1");
    }
    if (f.dst.partitions != load->columns) {
      report(i,
             fmt::format("dst has {} partitions, the stationary operand has {} columns (m)", f.dst.partitions,
                         load->columns),
             rule, "6.1");
    }
  }

  // ---- the vector and the scalar engine

  void check_match(const Instruction& i) {
    if (!certain(Engine::vector)) return;
    const AccessPattern& src = i.opcode == Opcode::find_index8 ? std::get<Unary>(i.operands).src
                                                               : std::get<MatchReplace>(i.operands).src;
    for (unsigned p = src.partition; p < src.partition + src.partitions && p < match_.size(); ++p) {
      if (match_.test(p)) continue;
      report(i, fmt::format("no match_value_load for partition {} stands before it", p),
             "find_index8 and match_replace8 search for the match values of src's partitions.", "6.7");
      return;
    }
  }

  void check(const Activation& f, const Instruction& i) {
    const TableSet needed = table_set(f.func);
    if (needed == TableSet::any || table_ == needed || !certain(Engine::scalar)) return;
    report(i,
           fmt::format("{} needs table set {}, {} is loaded", name(f.func), name(needed),
                       table_ ? name(*table_) : "none"),
           "Under `.tables manual` an act_table_load comes first.", "6.4.4");
  }

  bool certain(Engine engine) const { return certain_[static_cast<std::size_t>(engine)]; }

  void report(const Instruction& i, const std::string& message, std::string_view rule,
              std::string_view section) {
    if (!reported_.insert({i.site, message}).second) return;
    Diagnostic d = diagnose(program_, Severity::warning, i.site,
                            fmt::format("{}: {}", info(i.opcode).mnemonic, message));
    d.fails_run = true;
    d.hint = rule;
    d.reference = fmt::format("datasheet {}", section);
    diagnostics_.add(std::move(d));
  }

  const Program& program_;
  Diagnostics& diagnostics_;
  std::vector<Load> loads_;
  std::bitset<128> match_;
  bool mask_ = false;
  std::optional<TableSet> table_;
  std::array<bool, engine_count> certain_ = [] {
    std::array<bool, engine_count> all{};
    all.fill(true);
    return all;
  }();
  std::array<bool, engine_count> ended_{};  // a branch or halt: what follows may not
  std::set<std::pair<std::uint32_t, std::string>> reported_;
};

}  // namespace

void check_earlier(const Program& program, Diagnostics& diagnostics) { Earlier(program, diagnostics).run(); }

}  // namespace ncemu
