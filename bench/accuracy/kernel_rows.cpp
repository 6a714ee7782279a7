// Whole kernels whose published schedule is among ours: a table of how rows name them, and their sources in
// kernels/published. A row is known by its words, never by its id, so other sizes of the same kernel are read
// as well. Compared are
//   time    the kernel window where the row has it, else the whole execution, which is the window and what
//           the runtime adds
//   counts  bytes read and written in HBM, matmul instructions of the machine, where the row has them
#include <algorithm>
#include <array>
#include <memory>

#include "bench/accuracy/replay.h"
#include "bench/accuracy/rows.h"

namespace ncemu::accuracy {
namespace {

// A parameter of the kernel and the word that its value stands behind in the row; `nth` counts from 0, -1 is
// what stands before the first.
struct Size {
  std::string_view parameter = {}, word = {};
  int nth = 0;
};
struct Value {
  std::string_view parameter = {}, value = {};
};
enum class Schedule : std::uint8_t { published, assumed };

struct Published {
  std::string_view column;              // of the row; "item" has its specification behind it
  std::array<std::string_view, 3> has;  // what it contains, all of them
  std::string_view has_not;             // and does not
  std::string_view file;
  std::array<Size, 3> sizes;
  Value fixed;                 // what the row's words mean
  std::array<Value, 3> small;  // of the short run that tells which parameters count
  Schedule schedule = Schedule::published;
};

constexpr std::array<Size, 3> m_k_n = {{{"M", "x", -1}, {"K", "x", 0}, {"N", "x", 1}}};
constexpr std::array<Size, 3> json_m_k_n = {{{"M", "\"M\": "}, {"K", "\"K\": "}, {"N", "\"N\": "}}};
constexpr std::array<Size, 3> json_r_c = {{{"R", "\"M\": "}, {"C", "\"N\": "}}};
constexpr std::array<Size, 3> channels_times = {{{"CHANNELS", "ch "}, {"T", "seq "}}};

// clang-format off
constexpr Published published[] = {
    // column    contains                               not         kernel                   sizes            the words       a short run
    {"item",    {"tutorial matmul", "v2"},             "",         "matmul_tiled.nca",      m_k_n,           {},             {{{"M", "128"}, {"K", "256"}, {"N", "512"}}}},
    {"item",    {"tutorial matmul", "v3"},             "",         "matmul_hoisted.nca",    m_k_n,           {},             {{{"M", "128"}, {"K", "256"}, {"N", "512"}}}},
    {"item",    {"tutorial matmul", "v4"},             "",         "matmul_blocked_mn.nca", m_k_n,           {},             {{{"M", "256"}, {"K", "1024"}, {"N", "1024"}}}},
    {"item",    {"tutorial matmul", "v5"},             "",         "matmul_blocked.nca",    m_k_n,           {},             {{{"M", "512"}, {"K", "1024"}, {"N", "1024"}}}},
    {"item",    {"fused Mamba", "v1"},                 "",         "mamba_v1.nca",          channels_times,  {},             {{{"CHANNELS", "128"}, {"T", "512"}}}},
    {"item",    {"fused Mamba", "v2 seq 512"},         "",         "mamba_v2.nca",          channels_times,  {},             {{{"CHANNELS", "128"}, {"T", "512"}}}},
    {"item",    {"fused Mamba", "v3"},                 "",         "mamba_v3.nca",          channels_times,  {},             {{{"CHANNELS", "128"}, {"T", "1024"}}}},
    {"item",    {"fused fp32", "attention"},           "",         "fused_attention.nca",   {{{"S", " s"}}}, {},             {{{"S", "512"}}}},
    {"item",    {"fused bf16", "attention"},           "",         "fused_attention.nca",   {{{"S", " s"}}}, {"T", "bf16"},  {{{"S", "512"}}}},
    {"item",    {"fused attention", "fp32", "seq 512 "}, "",       "fused_attention.nca",   {},              {},             {{{"S", "512"}}}},
    {"item",    {"fused attention", "bf16", "seq 512 "}, "",       "fused_attention.nca",   {},              {"T", "bf16"},  {{{"S", "512"}}}},
    {"item",    {"fused attention", "fp32", "seq "},   "",         "fused_attention.nca",   {{{"S", "seq "}}}, {},           {{{"S", "512"}}}, Schedule::assumed},
    {"item",    {"fused attention", "bf16", "seq "},   "",         "fused_attention.nca",   {{{"S", "seq "}}}, {"T", "bf16"}, {{{"S", "512"}}}, Schedule::assumed},
    {"item",    {"vector add", "rows=", "n="},         "",         "vector_add_rows.nca",   {{{"N", "n="}, {"ROWS", "rows="}}}, {}, {{{"N", "200"}}}, Schedule::assumed},
    {"item",    {"conv2d", "256ch", "fp32"},           "",         "conv3x3.nca",           {{{"H", "x", -1}, {"W", "x"}}}, {"T", "f32"}, {{{"H", "8"}, {"W", "32"}}}, Schedule::assumed},
    {"kernel",  {"matmul"},                            "rmsnorm",  "matmul_trn1.nca",       json_m_k_n,      {},             {{{"M", "128"}, {"K", "1024"}, {"N", "1024"}}}},
    {"kernel",  {"silu"},                              "",         "silu.nca",              json_r_c,        {},             {{{"R", "128"}, {"C", "1024"}}}},
    {"kernel",  {"adamw"},                             "",         "adamw.nca",             json_r_c,        {},             {{{"R", "128"}, {"C", "1024"}}}},
    {"capture", {"profile_final_float16"},             "smaller",  "conv3x3.nca",           {},              {},             {{{"H", "8"}, {"W", "32"}}}},
    {"capture", {"fused_fp32_s512"},                   "",         "fused_attention.nca",   {{{"S", "_s"}}}, {},             {{{"S", "512"}}}},
    {"capture", {"fused_bf16_s512"},                   "",         "fused_attention.nca",   {{{"S", "_s"}}}, {"T", "bf16"},  {{{"S", "512"}}}},
    {"capture", {"fused_attention_fused"},             "",         "fused_attention.nca",   {},              {},             {{{"S", "512"}}}},
};
// clang-format on

const Published* published_of(const Csv& rows, std::size_t row) {
  for (const Published& p : published) {
    std::string text = rows.text(row, p.column);
    if (text.empty()) continue;
    if (p.column == "item") text += " " + rows.text(row, "spec");
    const bool found =
        std::all_of(p.has.begin(), p.has.end(), [&](std::string_view word) { return contains(text, word); });
    if (found && (p.has_not.empty() || !contains(text, p.has_not))) return &p;
  }
  return nullptr;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::int64_t> number_at(std::string_view text, const Size& size) {
  int to_skip = size.nth;
  for (std::size_t at = text.find(size.word); at != std::string_view::npos;
       at = text.find(size.word, at + 1)) {
    std::size_t from = at + size.word.size();
    if (from >= text.size() || !is_digit(text[from])) continue;
    if (size.nth < 0) {
      from = at;
      while (from > 0 && is_digit(text[from - 1])) --from;
      if (from == at) continue;
    } else if (to_skip-- > 0) {
      continue;
    }
    return whole_number(number_in(text.substr(from)), 1, std::int64_t{1} << 24, "a size");
  }
  return std::nullopt;
}

// Absent when the row does not say all of them.
std::optional<KernelParams> params_of(const Published& p, const Csv& rows, std::size_t row) {
  KernelParams params;
  std::string text = rows.text(row, p.column);
  for (const char* further : {"spec", "shape"}) text += " " + rows.text(row, further);
  for (const Size& size : p.sizes) {
    if (size.parameter.empty()) continue;
    const std::optional<std::int64_t> value = number_at(text, size);
    if (!value) return std::nullopt;
    params.emplace_back(size.parameter, std::to_string(*value));
  }
  if (!p.fixed.parameter.empty()) params.emplace_back(p.fixed.parameter, p.fixed.value);
  return params;
}

// The time and the counts of a row are of one run, so the last one of its size is kept.
struct Run {
  std::string path;
  KernelParams params, small;
  struct Last {
    std::string machine;
    Replay replay;
  };
  std::shared_ptr<Last> last = std::make_shared<Last>();

  Replay small_run(const MachineConfig& m) const { return run(m, small); }
  const Replay& full_run(const MachineConfig& m) const {
    const std::string machine = config_hash(m);
    if (last->machine != machine) *last = {machine, run(m, params)};
    return last->replay;
  }

 private:
  Replay run(const MachineConfig& m, const KernelParams& with) const {
    return replay(m, assemble_kernel(path, m, with), Mode::timing_only, Keep::counts);
  }
};

double window_us(const MachineConfig& m, const Replay& r) {
  const Ticks first = std::min(r.first_packet(false), r.first_packet(true));
  return ns_from_ticks(m, std::max(r.last_packet(true), r.last_packet(false)) - first) / 1000;
}
double execution_us(const MachineConfig& m, const Replay& r) {
  return ns_from_ticks(m, r.total) / 1000 + m.runtime.overhead_us;
}
// What the runtimes of 2026 call the latency: the window and 8 to 9 us (bench/calibration, four latencies).
constexpr double latency_of_2026_us = 8.5;
bool is_latency_of_2026(const Csv& rows, std::size_t row) {
  return contains(rows.text(row, "conditions"), "nc_latency") && contains(rows.text(row, "source"), "2026");
}

// "65,536 matmul instructions".
std::optional<double> count_before(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  std::string digits;
  for (std::size_t i = at; i > 0 && (is_digit(text[i - 1]) || text[i - 1] == ','); --i) {
    if (text[i - 1] != ',') digits.insert(digits.begin(), text[i - 1]);
  }
  return digits.empty() ? std::nullopt : std::optional(number_in(digits));
}

const std::vector<std::string_view> all_sections = {
    "tensor", "gate", "vector", "scalar", "gpsimd", "sync", "control", "dma", "hbm", "semaphore", "runtime"};

// Makes the cases of one row.
class Comparison {
 public:
  Comparison(std::string id, std::string machine, Run run, Schedule schedule)
      : id_(std::move(id)), machine_(std::move(machine)), run_(std::move(run)), schedule_(schedule) {}

  template <typename Of>
  void time(std::string unit, double measured, Of of) {
    add("", schedule_ == Schedule::published ? " whole kernel" : schedule_assumed, std::move(unit), measured,
        of);
  }
  template <typename Of>
  void count(const char* what, const char* unit, std::optional<double> measured, Of of) {
    if (!measured) return;
    add(std::string(" ") + what, " kernel counts", unit, *measured,
        [of](const MachineConfig&, const Replay& r) { return static_cast<double>(of(r)); });
  }

  Cases cases;

 private:
  template <typename Of>
  void add(const std::string& what, const std::string& group, std::string unit, double measured, Of of) {
    cases.push_back({.id = id_ + what,
                     .group = machine_ + group,
                     .unit = std::move(unit),
                     .measured = measured,
                     .machine = machine_,
                     .predict = [run = run_, of](const MachineConfig& m) { return of(m, run.full_run(m)); },
                     .reason = {},
                     .probe = [run = run_, of](const MachineConfig& m) { return of(m, run.small_run(m)); },
                     .sections = all_sections});
  }

  std::string id_, machine_;
  Run run_;
  Schedule schedule_;
};

}  // namespace

Cases published_kernel(const Csv& rows, std::size_t row, const std::string& kernels) {
  const Published* p = published_of(rows, row);
  if (p == nullptr) return {};
  const std::optional<KernelParams> params = params_of(*p, rows, row);
  // The table of NKIBench was measured on trn1 and does not say so in each row.
  const std::string machine = rows.has("hw") ? machine_of(rows.text(row, "hw")) : "trn1";
  if (!params || machine.empty()) return {};
  Run run;
  run.path = kernels + "/published/" + std::string(p->file);
  run.params = *params;
  for (const Value& v : p->small) {
    if (!v.parameter.empty()) run.small.emplace_back(v.parameter, v.value);
  }
  for (const auto& fixed : *params) {
    if (fixed.first == p->fixed.parameter) run.small.push_back(fixed);
  }
  Comparison compare(rows.text(row, "id"), machine, std::move(run), p->schedule);

  const std::optional<double> window = rows.number(row, "kernel_window_us");
  const std::optional<double> mean_ms = rows.number(row, "latency_mean_ms");
  if (window) {
    compare.time("us", *window, window_us);
  } else if (mean_ms) {
    compare.time("ms", *mean_ms,
                 [](const MachineConfig& m, const Replay& r) { return execution_us(m, r) / 1000; });
  } else {
    const std::vector<double> values = numbers_in(rows.text(row, "value"));
    const std::string& unit = rows.text(row, "unit");
    if (values.empty() || (unit != "us" && unit != "ms")) return {};
    const bool in_us = unit == "us", of_2026 = is_latency_of_2026(rows, row);
    compare.time(unit, values.front(), [in_us, of_2026](const MachineConfig& m, const Replay& r) {
      const double us = of_2026 ? window_us(m, r) + latency_of_2026_us : execution_us(m, r);
      return us / (in_us ? 1 : 1000);
    });
  }

  const auto read = [](const Replay& r) { return r.hbm_read; };
  const auto written = [](const Replay& r) { return r.hbm_written; };
  const auto matmuls = [](const Replay& r) { return r.matmuls; };
  compare.count("bytes read", "B", rows.number(row, "hbm_read_bytes"), read);
  compare.count("bytes written", "B", rows.number(row, "hbm_write_bytes"), written);
  compare.count("matmuls", "instructions", rows.number(row, "matmul_instr"), matmuls);
  const std::string& spec = rows.text(row, "spec");
  compare.count("matmuls", "instructions", count_before(spec, " matmul instructions"), matmuls);
  if (const std::size_t at = spec.find("HBM read "); at != std::string::npos) {
    const std::vector<double> bytes = numbers_in(std::string_view(spec).substr(at));
    if (!bytes.empty()) compare.count("bytes read", "B", bytes[0], read);
    if (bytes.size() > 1) compare.count("bytes written", "B", bytes[1], written);
  }
  return std::move(compare.cases);
}

}  // namespace ncemu::accuracy
