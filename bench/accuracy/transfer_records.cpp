// Single records of transfers, known by the words of their item.
#include <algorithm>

#include "bench/accuracy/rows.h"
#include "bench/accuracy/transfers.h"

namespace ncemu::accuracy {
namespace {

// GB/s between the first packet's begin and the last one's end.
double rate(const MachineConfig& m, const TileStream& tiles) {
  const Replay r = stream(m, tiles);
  return static_cast<double>(tiles.bytes()) / ns_from_ticks(m, r.window(tiles.stores));
}

// Of one descriptor, also where several make a packet.
double packet_time(const MachineConfig& m, std::int64_t bytes, int engines, DgeMode mode) {
  const Engine issuer = mode == DgeMode::software ? Engine::gpsimd : Engine::sync;
  const Replay r = descriptors(m, bytes, 1, engines, mode, issuer);
  const DmaService::Event& last = r.packets.back().event;
  return ns_from_ticks(m, last.end - last.begin) / static_cast<double>(last.bytes / bytes);
}

double trigger_to_packet(const MachineConfig& m, DgeMode mode) {
  const Engine issuer = mode == DgeMode::software ? Engine::gpsimd : Engine::sync;
  const Replay r = descriptors(m, 512, 8, 16, mode, issuer);
  return ns_from_ticks(m, r.packets.front().event.begin - r.triggers.front());
}

// From the first packet to the end of the last semaphore write, as the profiler counts: what engines are
// occupied for, without the latency of the memory.
double with_completion(const MachineConfig& m) {
  const Replay r = descriptors(m, 512, 8, 16);
  return ns_from_ticks(m, r.packets.back().event.end - r.packets.front().event.begin) + m.dma.t_sem_ns;
}

// Of stores, from the begin of a packet of four rows until its data have arrived; on trn1 two are under way
// at a time.
double store_begin_to_end(const MachineConfig& m, std::int64_t bytes) {
  const bool v2 = m.target.generation == 2;
  const Replay r = stores(m, bytes / 4, v2 ? 8 : 4);
  return ns_from_ticks(m, r.packets.back().event.end - r.packets.front().event.begin) + m.dma.tail_store_ns;
}

// Of the rows' total, which this shorter run is a part of.
double gather_time(const MachineConfig& m, double rows) {
  constexpr int transfers = 64, rows_each = 128;
  const Replay r = gathers(m, transfers, 64);
  return ns_from_ticks(m, r.window(false)) * rows / (transfers * rows_each);
}

// The semaphore's packet is still in the trace when the engine starts.
double start_before_packet_end(const MachineConfig& m, const std::string& kernels) {
  const Replay r = replay(m, assemble_kernel(kernels + "/vector_add.nca", m, {{"R", "128"}, {"C", "2000"}}));
  return ns_from_ticks(
      m, r.last_packet(false) - r.of(Engine::vector, Opcode::tensor_tensor).front().passage.start);
}

// Four rows of 8000 B are one packet of the measured machine; ours has one per row.
double packet_apart(const MachineConfig& m, std::int64_t bytes) {
  constexpr int rows = 4;
  const Replay r = descriptors(m, bytes / rows, 2 * rows, 1);
  return ns_from_ticks(m, r.packets[rows].event.begin - r.packets[0].event.begin);
}

double scattered(const MachineConfig& m, DType type, int copies, int step) {
  return ns_from_ticks(m, scattered_copies(m, type, copies, step).window(true)) / 1000;
}

// Vector engine's end to the first packet of the store that waits for it.
double result_to_store(const MachineConfig& m, const std::string& kernels) {
  const Replay r = replay(m, assemble_kernel(kernels + "/vector_add.nca", m, {{"R", "128"}, {"C", "2000"}}));
  return ns_from_ticks(
      m, r.first_packet(true) - r.of(Engine::vector, Opcode::tensor_tensor).front().passage.complete);
}

// Of one descriptor.
std::int64_t packet_bytes(const std::string& spec) {
  return whole_number(number_in(spec), 1, 1 << 16, "bytes of a descriptor");
}

std::string_view behind(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + word.size());
}

// "1,624,192 descriptors".
double whole_number_in(std::string_view text) {
  double value = 0;
  for (const char c : text.substr(0, text.find(' '))) {
    if (c >= '0' && c <= '9') value = 10 * value + (c - '0');
  }
  return value;
}

// "8192-wide store", "2048-col bf16 tiles".
std::int64_t columns_in(const std::string& spec) {
  const std::size_t mark = std::min(spec.find("-wide"), spec.find("-col"));
  if (mark == std::string::npos) return 2048;  // the workload's default
  const std::size_t begin = spec.find_last_not_of("0123456789", mark == 0 ? 0 : mark - 1);
  const std::vector<double> found = numbers_in(spec.substr(begin == std::string::npos ? 0 : begin + 1));
  return found.empty() ? 2048 : whole_number(found.front(), 1, 1 << 16, "columns");
}

// About 16 MiB: long enough that its ends do not count.
TileStream tiles_of(std::int64_t columns, bool stores) {
  TileStream t{.columns = columns, .stores = stores};
  t.tiles = static_cast<int>(std::max<std::int64_t>(16, (std::int64_t{16} << 20) / (columns * 256)));
  t.buffers = columns > 8192 ? 3 : 4;
  return t;
}

const std::vector<std::string_view> dma_sections = {"dma", "hbm", "vector", "semaphore"};

}  // namespace

std::optional<Case> transfer_record(const Csv& rows, std::size_t row, const std::string& kernels) {
  const std::string& item = rows.text(row, "item");
  const std::string& spec = rows.text(row, "spec");
  const std::string& conditions = rows.text(row, "conditions");
  const std::vector<double> values = numbers_in(rows.text(row, "value"));
  if (values.empty()) return std::nullopt;
  Case c{.id = rows.text(row, "id"),
         .group = "",
         .unit = rows.text(row, "unit"),
         .measured = values.front(),
         .machine = machine_of(rows.text(row, "hw")),
         .predict = {},
         .reason = {},
         .sections = dma_sections};
  c.group = c.machine + " dma packet";
  const bool range = rows.text(row, "value").find('-') != std::string::npos && values.size() == 2;
  if (range) c.measured = (values[0] + values[1]) / 2;
  const bool quartiles = contains(rows.text(row, "stat"), "min/p50/max") && values.size() == 3;
  if (quartiles) c.measured = values[1];

  if (contains(item, "DMA packet on one engine")) {
    const auto bytes = packet_bytes(spec);
    const DgeMode mode = contains(item, "SWDGE")   ? DgeMode::software
                         : contains(item, "HWDGE") ? DgeMode::hardware
                                                   : DgeMode::static_;
    c.predict = [=](const MachineConfig& m) { return packet_time(m, bytes, 1, mode); };
  } else if (contains(item, "4-byte DMA element transfer")) {
    c.predict = [](const MachineConfig& m) { return packet_time(m, 4, 1, DgeMode::static_); };
  } else if (contains(item, "one 32 KiB descriptor") || contains(item, "one 2 KiB descriptor")) {
    const auto bytes = packet_bytes(spec);
    // A tile over the 16 engines of the core, which share its rate.
    c.predict = [=](const MachineConfig& m) { return packet_time(m, bytes, 16, DgeMode::static_); };
  } else if (contains(item, "packet start-to-start")) {
    const auto bytes = packet_bytes(spec);
    c.predict = [=](const MachineConfig& m) { return packet_apart(m, bytes); };
  } else if (contains(item, "semaphore-to-first-byte") || contains(item, "HWDGE trigger start")) {
    c.predict = [](const MachineConfig& m) { return trigger_to_packet(m, DgeMode::hardware); };
  } else if (contains(item, "SWDGE trigger")) {
    c.predict = [](const MachineConfig& m) { return trigger_to_packet(m, DgeMode::software); };
  } else if (contains(item, "including completion semaphore")) {
    c.predict = with_completion;
  } else if (contains(item, "end to first store packet")) {
    c.predict = [=](const MachineConfig& m) { return result_to_store(m, kernels); };
  } else if (contains(item, "semaphore write) end minus VectorE start")) {
    c.predict = [=](const MachineConfig& m) { return start_before_packet_end(m, kernels); };
  } else if (contains(item, "element-granular") || contains(item, "four-byte elements")) {
    const bool wide = contains(item, "four-byte");
    const int step =
        static_cast<int>(whole_number(number_in(behind(item, "source stride")), 1, 4096, "a stride")) /
        (wide ? 4 : 2);
    c.group = c.machine + " dma elements";
    c.predict = [=](const MachineConfig& m) {
      return scattered(m, wide ? DType::f32 : DType::f16, 36, step);
    };
    c.probe = [=](const MachineConfig& m) { return scattered(m, wide ? DType::f32 : DType::f16, 1, step); };
  } else if (contains(item, "indirect gather")) {
    c.group = c.machine + " dma elements";
    const double rows_gathered = whole_number_in(spec);
    c.predict = [=](const MachineConfig& m) { return gather_time(m, rows_gathered) / 1e6; };
  } else if (contains(item, "effective rate of one DMA engine")) {
    c.group = c.machine + " dma rate";
    c.unit = "GB/s";
    c.measured = values.back();
    c.predict = [](const MachineConfig& m) { return rate(m, tiles_of(8192, false)); };
  } else if (contains(item, "2 cores") || contains(item, "cores together") ||
             contains(rows.text(row, "hw"), "2 cores")) {
    c.group = c.machine + " dma rate";
    c.reason = "one core is modelled";
  } else if (contains(item, "GiB: total_active_time")) {
    c.group = c.machine + " dma rate";
    const std::int64_t gib = whole_number(number_in(item), 1, 1024, "GiB");
    TileStream t{.columns = columns_in(conditions)};
    t.tiles = static_cast<int>((gib << 30) / (t.columns * 256));
    // Proportional to the length, but for its ends.
    c.predict = [=](const MachineConfig& m) {
      return static_cast<double>(t.bytes()) / rate(m, tiles_of(t.columns, false)) / 1e6;
    };
  } else if (contains(item, "HBM read stream") || contains(item, "HBM write stream") ||
             contains(item, "prefetch depth")) {
    c.group = c.machine + " dma rate";
    TileStream t = tiles_of(columns_in(spec), contains(item, "write"));
    if (contains(item, "prefetch depth"))
      t.buffers = static_cast<int>(whole_number(number_in(item), 1, 64, "a depth"));
    c.predict = [=](const MachineConfig& m) { return rate(m, t); };
  } else if (contains(item, "semaphore packet") || contains(item, "semaphore write packet")) {
    c.reason = "how long a trace shows a packet that has long had its effect; the windows are read with it";
  } else if (contains(item, "packet begin-to-end")) {
    // "1468 / 1665", "993-1082 / 838-883": stores come first.
    const std::string& value = rows.text(row, "value");
    const std::vector<double> stored = numbers_in(value.substr(0, value.find('/')));
    if (stored.empty()) return std::nullopt;
    c.measured = stored.size() == 2 ? (stored[0] + stored[1]) / 2 : stored.front();
    const auto bytes = packet_bytes(spec);
    c.predict = [=](const MachineConfig& m) { return store_begin_to_end(m, bytes); };
  } else {
    return std::nullopt;
  }
  return c;
}

}  // namespace ncemu::accuracy
