// Which table is read how, records of kernels, and the rows that nothing expresses.
#include <algorithm>
#include <array>
#include <filesystem>

#include "bench/accuracy/replay.h"
#include "bench/accuracy/rows.h"
#include "isa/fault.h"

namespace ncemu::accuracy {
namespace {

// The first number that a row gives for itself, in the order of these columns.
struct ValueColumn {
  std::string_view column, unit;
};
constexpr std::array<ValueColumn, 7> value_columns = {{{"latency_mean_ms", "ms"},
                                                       {"nc_p99_ms", "ms"},
                                                       {"nc_p50_us", "us"},
                                                       {"throughput", "1/s"},
                                                       {"value", ""},
                                                       {"p50_ns", "ns"},
                                                       {"total_time_us", "us"}}};

std::string id_of(const Csv& rows, std::size_t row) {
  if (rows.has("id")) return rows.text(row, "id");
  return rows.text(row, "family") + " " + rows.text(row, "version") + " " + rows.text(row, "metric");
}

}  // namespace

std::string machine_of(std::string_view hardware) {
  std::size_t first = std::string_view::npos;
  std::string machine;
  for (const std::string_view name : machine_names()) {
    if (const std::size_t at = hardware.find(name); at < first) {
      first = at;
      machine = name;
    }
  }
  return machine;
}

std::optional<Case> kernel_record(const Csv& rows, std::size_t row, const std::string& kernels) {
  const std::string& item = rows.text(row, "item");
  const std::vector<double> sizes = numbers_in(item), values = numbers_in(rows.text(row, "value"));
  const std::string machine = machine_of(rows.text(row, "hw"));
  if (values.empty() || machine.empty() || !contains(item, "vector add")) return std::nullopt;
  // Elements are named in brackets behind the item, or in the specification.
  const auto elements_in = [](const std::string& text) -> std::optional<double> {
    const std::size_t at = text.find("n=");
    if (at == std::string::npos) return std::nullopt;
    return number_in(text.substr(at));
  };
  std::optional<double> elements = elements_in(item);
  if (!elements) elements = elements_in(rows.text(row, "spec"));
  const bool free_dimension = contains(item, "free dim") || contains(item, "FD=");
  if (!elements || sizes.empty() || !free_dimension) return std::nullopt;

  Case c{.id = rows.text(row, "id"),
         .group = machine + " whole kernel",
         .unit = rows.text(row, "unit"),
         .measured = values.front(),
         .machine = machine,
         .predict = {},
         .reason = {},
         .sections = {"dma", "hbm", "vector", "semaphore", "control", "runtime"}};
  if (values.size() == 2 && contains(rows.text(row, "value"), "-")) c.measured = (values[0] + values[1]) / 2;
  const std::int64_t columns = whole_number(sizes.front(), 1, 1 << 16, "a free dimension");
  const std::int64_t height = whole_number(*elements, columns, 1 << 30, "elements") / columns;
  const std::string width = std::to_string(columns);
  std::string file = "/vector_add.nca";
  KernelParams params = {{"R", std::to_string(height)}, {"C", width}, {"W", width}};
  // Tiles of a few hundred bytes are bound by how many are in flight, which the compiler chose and the record
  // does not say; ours has three.
  if (columns < 100) c.group = machine + schedule_assumed;
  if (columns < 100 && height % 128 == 0) {
    file = "/published/vector_add_tiles.nca";
    params = {{"TILES", std::to_string(height / 128)}, {"FD", width}};
    if (builtin_machine(machine).target.generation >= 3) params.emplace_back("SOFTWARE", "true");
  }
  // The latency is that of the whole execution, runtime included.
  c.predict = [path = kernels + file, params](const MachineConfig& m) {
    return ns_from_ticks(m, replay(m, assemble_kernel(path, m, params)).total) / 1000 + m.runtime.overhead_us;
  };
  return c;
}

namespace {

// The single case of a record that is no published kernel; absent when its kind is not known.
std::optional<Case> record(const Csv& rows, std::size_t row, const std::string& kernels) {
  const std::string& group = rows.text(row, "group");
  if (group == "1") return instruction_record(rows, row);
  if (group == "2") return transfer_record(rows, row, kernels);
  if (group == "3") return kernel_record(rows, row, kernels);
  return std::nullopt;
}

}  // namespace

Cases record_cases(const Csv& rows, const std::string& kernels) {
  Cases cases;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string& group = rows.text(row, "group");
    std::string why = group == "3"   ? "no kernel with this schedule among ours"
                      : group == "4" ? "several cores are not modelled"
                      : group == "5" ? "whole models with their framework are not modelled"
                                     : "the record's kind is not read: " + rows.text(row, "item");
    try {
      Cases kernel = group == "3" ? published_kernel(rows, row, kernels) : Cases{};
      if (!kernel.empty()) {
        cases.insert(cases.end(), kernel.begin(), kernel.end());
        continue;
      }
      if (std::optional<Case> c = record(rows, row, kernels)) {
        cases.push_back(std::move(*c));
        continue;
      }
    } catch (const Fault& fault) {  // words of a known kind around sizes that are none
      why = fault.what();
    }
    const std::vector<double> values = numbers_in(rows.text(row, "value"));
    const std::string where = group == "1"   ? "instruction records"
                              : group == "2" ? "dma records"
                              : group == "3" ? "kernels not expressed"
                                             : "collectives and models";
    cases.push_back(not_expressed(rows.text(row, "id"), where, rows.text(row, "unit"),
                                  values.empty() ? 0 : values.front(), why));
  }
  return cases;
}

Cases other_cases(const Csv& rows, const std::string& file, const std::string& kernels) {
  const bool models = file.starts_with("g5");
  Cases cases;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    Cases kernel = published_kernel(rows, row, kernels);
    if (!kernel.empty()) {
      cases.insert(cases.end(), kernel.begin(), kernel.end());
      continue;
    }
    double measured = 0;
    std::string unit = rows.text(row, "unit");
    for (const ValueColumn& v : value_columns) {
      if (!rows.has(v.column) || rows.text(row, v.column).empty()) continue;
      const std::vector<double> values = numbers_in(rows.text(row, v.column));
      if (values.empty()) continue;
      measured = values.front();
      if (!v.unit.empty()) unit = v.unit;
      break;
    }
    cases.push_back(not_expressed(id_of(rows, row),
                                  models ? "collectives and models" : "kernels not expressed", unit, measured,
                                  models ? "whole models with their framework are not modelled"
                                         : "no kernel with this schedule among ours"));
  }
  return cases;
}

Cases all_cases(const std::string& directory, const std::string& kernels) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  if (error) throw Fault(FaultKind::input, directory, "cannot be read: {}", error.message());
  if (files.empty()) throw Fault(FaultKind::input, directory, "holds no .csv file");
  std::sort(files.begin(), files.end());
  std::vector<Csv> tables;
  for (const std::filesystem::path& path : files) tables.push_back(Csv::read(path.string()));
  const auto loads =
      std::find_if(tables.begin(), tables.end(), [](const Csv& t) { return t.has("weights_ap"); });
  Cases cases;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Csv& rows = tables[i];
    // By its columns: users name their files as they like.
    Cases found = rows.has("issue_interval_p50_ns") ? instruction_cases(rows)
                  : rows.has("moving_ap")      ? matmul_cases(rows, loads == tables.end() ? nullptr : &*loads)
                  : rows.has("weights_ap")     ? weight_load_cases(rows)
                  : rows.has("load_window_ns") ? window_cases(rows, kernels)
                  : rows.has("kernel_window_us") ? capture_cases(rows, kernels)
                  : rows.has("item")             ? record_cases(rows, kernels)
                  : rows.has("opcode")           ? control_cases(rows)
                                                 : other_cases(rows, files[i].filename().string(), kernels);
    std::move(found.begin(), found.end(), std::back_inserter(cases));
  }
  return cases;
}

}  // namespace ncemu::accuracy
