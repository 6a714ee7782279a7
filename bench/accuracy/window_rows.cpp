// The load and store phases of a streaming vector add: kernels/vector_add.nca with the tile of the row's
// capture. Windows go from the first packet's begin to the end of the last one, a semaphore's.
#include <algorithm>

#include "bench/accuracy/replay.h"
#include "bench/accuracy/rows.h"

namespace ncemu::accuracy {
namespace {

// "..._stream_256k_fd1k": 256,000 elements of fp32 in tiles of 128 x 1000.
struct VectorAdd {
  std::int64_t columns = 0;
  std::int64_t rows = 0;
};
std::optional<VectorAdd> vector_add_of(std::string_view capture) {
  constexpr std::int64_t partitions = 128;
  if (!contains(capture, "stream_")) return std::nullopt;
  const std::vector<double> sizes = numbers_in(capture.substr(capture.find("stream_")));
  if (sizes.size() != 2 || !contains(capture, "k_fd")) return std::nullopt;
  const std::int64_t unit = capture.ends_with('k') ? 1000 : 1;
  VectorAdd add;
  if (sizes[0] < 1 || sizes[0] > 1e6 || sizes[1] < 1 || sizes[1] > 1e5) return std::nullopt;
  add.columns = static_cast<std::int64_t>(sizes[1]) * unit;
  const std::int64_t tile = partitions * add.columns;
  if (tile == 0) return std::nullopt;
  add.rows = static_cast<std::int64_t>(sizes[0]) * 1000 / tile * partitions;
  return add.rows > 0 ? std::optional(add) : std::nullopt;
}

Replay run(const VectorAdd& add, const std::string& kernels, const MachineConfig& machine) {
  const std::string columns = std::to_string(add.columns);
  return replay(machine, assemble_kernel(kernels + "/vector_add.nca", machine,
                                         {{"R", std::to_string(add.rows)}, {"C", columns}, {"W", columns}}));
}

}  // namespace

Cases window_cases(const Csv& rows, const std::string& kernels) {
  Cases cases;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string machine = machine_of(rows.text(row, "hw"));
    const std::optional<VectorAdd> shape = vector_add_of(rows.text(row, "capture"));
    const auto add = [&](std::optional<double> measured, const char* what, auto measure) {
      if (!measured) return;
      const std::string group = machine + " stream " + what;
      if (machine.empty() || !shape) {
        cases.push_back(not_expressed(rows.text(row, "id"), group, "ns", *measured,
                                      "the capture's name does not say its tiles"));
        return;
      }
      cases.push_back(
          {.id = rows.text(row, "id"),
           .group = group,
           .unit = "ns",
           .measured = *measured,
           .machine = machine,
           .predict = [s = *shape, kernels, measure](
                          const MachineConfig& m) { return ns_from_ticks(m, measure(run(s, kernels, m))); },
           .reason = {},
           .sections = {"dma", "hbm", "vector", "semaphore"}});
    };
    const std::optional<double> loads = rows.number(row, "load_window_ns");
    const std::optional<double> between = rows.number(row, "store_start_minus_load_end_ns");
    add(loads, "load window", [](const Replay& r) { return r.window(false); });
    add(rows.number(row, "store_window_ns"), "store window", [](const Replay& r) { return r.window(true); });
    // The end of the loads may lie on either side of it, so it is counted from their begin.
    if (!loads || !between) continue;
    add(*loads + *between, "first load to first store",
        [](const Replay& r) { return r.first_packet(true) - r.first_packet(false); });
  }
  return cases;
}

// Captures of the same kernel: the kernel window, or where it is not given the window of the transfers,
// within which this kernel computes.
Cases capture_cases(const Csv& rows, const std::string& kernels) {
  Cases cases;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string machine = machine_of(rows.text(row, "hw"));
    const std::string& capture = rows.text(row, "capture");
    Cases kernel = published_kernel(rows, row, kernels);
    if (!kernel.empty()) {
      cases.insert(cases.end(), kernel.begin(), kernel.end());
      continue;
    }
    std::optional<double> measured = rows.number(row, "kernel_window_us");
    if (!measured) measured = rows.number(row, "dma_window_us");
    const bool total = !measured;
    if (total) measured = rows.number(row, "total_time_us");
    if (!measured) continue;
    const std::optional<VectorAdd> shape = vector_add_of(capture);
    if (machine.empty() || !shape || total) {
      cases.push_back(not_expressed(rows.text(row, "id"), "kernels not expressed", "us", *measured,
                                    "no kernel with this schedule among ours"));
      continue;
    }
    cases.push_back({.id = rows.text(row, "id"),
                     .group = machine + " whole kernel",
                     .unit = "us",
                     .measured = *measured,
                     .machine = machine,
                     .predict =
                         [s = *shape, kernels](const MachineConfig& m) {
                           const Replay r = run(s, kernels, m);
                           const Ticks first = std::min(r.first_packet(false), r.first_packet(true));
                           return ns_from_ticks(m, r.last_packet(true) - first) / 1000;
                         },
                     .reason = {},
                     .sections = {"dma", "hbm", "vector", "semaphore"}});
  }
  return cases;
}

}  // namespace ncemu::accuracy
