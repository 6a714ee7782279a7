#include "tools/command/advice.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace ncemu::command {
namespace {

// The vendor's thresholds where it has one (profile pages of the Neuron tools), else ours [assumed].
constexpr double small_descriptor_bytes = 4096;          // vendor
constexpr double small_transfer_bytes = 32 * 1024;       // vendor
constexpr double transpose_share = 0.10;                 // vendor, of FLOPs
constexpr double reload_share = 0.25;                    // vendor, of the bytes read from HBM
constexpr double tensor_busy_share = 0.50;               // vendor, of the time that any engine is active
constexpr double matmuls_per_stationary = 2;             // assumed
constexpr double gated_share = 0.05, port_share = 0.05;  // assumed, of the time
constexpr double uneven_engines = 1.25;                  // assumed, busiest DMA engine against the mean
constexpr double noticeable_dma = 0.10;                  // assumed: below, DMA is no subject
constexpr double worth_saying = 0.01;                    // assumed: least gain, of the time

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }
double share(Ticks part, Ticks whole) { return share(static_cast<double>(part), static_cast<double>(whole)); }

class Adviser {
 public:
  Adviser(const Profile& profile, const Retimer& retimer) : p_(profile), retimer_(retimer) {}

  std::vector<Advice> all() {
    const bool dma_matters = share(p_.summary.dma.active, p_.timeline.total()) > noticeable_dma;
    if (dma_matters) {
      descriptors();
      transfers();
      uneven();
    }
    reloads();
    transposes();
    stationary();
    starved();
    tables();
    gate();
    ports();
    time();
    std::stable_sort(found_.begin(), found_.end(), [](const Advice& a, const Advice& b) {
      const auto left = [](const Advice& x) { return x.total.value_or(std::numeric_limits<Ticks>::max()); };
      return left(a) < left(b);
    });
    return std::move(found_);
  }

 private:
  void add(Advice advice, Change change) {
    found_.push_back(std::move(advice));
    changes_.push_back(std::move(change));
  }

  // A threshold that is crossed where it costs nothing is no news.
  void time() {
    const Ticks total = p_.timeline.total();
    const std::vector<std::optional<Ticks>> totals = retimer_.totals(changes_);
    for (std::size_t i = 0; i < found_.size(); ++i) found_[i].total = totals[i];
    std::erase_if(found_,
                  [&](const Advice& a) { return a.total && share(total - *a.total, total) < worth_saying; });
  }

  // The line whose transfers weigh most by `weight`.
  PlaceNumber heaviest_transfer(auto&& weight) const {
    std::map<PlaceNumber, double> lines;
    for (std::uint32_t t = 0; t < p_.timeline.transfers.size(); ++t)
      lines[p_.place(p_.timeline.transfers.serial[t])] += weight(t);
    return heaviest(lines);
  }
  PlaceNumber heaviest_instruction(Engine e, auto&& weight) const {
    std::map<PlaceNumber, double> lines;
    for (const Serial s : p_.timeline.of_engine[static_cast<std::size_t>(e)]) lines[p_.place(s)] += weight(s);
    return heaviest(lines);
  }
  static PlaceNumber heaviest(const std::map<PlaceNumber, double>& lines) {
    const auto most = std::max_element(lines.begin(), lines.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == lines.end() ? 0 : most->first;
  }

  void descriptors() {
    const DmaSummary& dma = p_.summary.dma;
    const double average = share(static_cast<double>(dma.bytes), static_cast<double>(dma.descriptors));
    if (dma.descriptors == 0 || average >= small_descriptor_bytes) return;
    add({.name = "small_descriptors",
         .threshold = "descriptors under 4096 bytes on average",
         .finding = fmt::format("{} descriptors move {:.0f} bytes each on average", dma.descriptors, average),
         .suggestion = "lay the tensor out, or cut the tile, so that each partition's run is longer",
         .place = heaviest_transfer([&](std::uint32_t t) {
           const TransferShape& shape = p_.timeline.shape(t);
           return static_cast<double>(shape.descriptors);
         }),
         .removed = "the fixed cost of a descriptor",
         .total = {}},
        {.machine = [](MachineConfig& m) { m.dma.o_desc_ns = m.dma.desc_min_ns = m.dma.element_ns = 0; },
         .options = {}});
  }

  void transfers() {
    const DmaSummary& dma = p_.summary.dma;
    const double average = share(static_cast<double>(dma.bytes), static_cast<double>(dma.transfers));
    if (dma.transfers == 0 || average >= small_transfer_bytes) return;
    add({.name = "small_transfers",
         .threshold = "transfers under 32 KiB on average",
         .finding = fmt::format("{} transfers move {:.0f} bytes each on average", dma.transfers, average),
         .suggestion = "move more with each transfer: several tiles, or several steps of the loop",
         .place = heaviest_transfer([](std::uint32_t) { return 1.0; }),
         .removed = "the fixed cost of a transfer (trigger, generation, completion)",
         .total = {}},
        {.machine =
             [](MachineConfig& m) {
               for (double* ns :
                    {&m.dma.g_static_ns, &m.dma.g_software_ns, &m.dma.g_hardware_ns, &m.dma.l_trig_ns,
                     &m.dma.l_trig_software_ns, &m.dma.l_trig_hardware_ns, &m.dma.t_sem_ns,
                     &m.dma.tail_load_ns, &m.dma.tail_store_ns, &m.dma.tail_short_ns, &m.dma.l_done_ns}) {
                 *ns = 0;
               }
             },
         .options = {}});
  }

  void uneven() {
    std::int64_t most = 0, sum = 0;
    for (const DmaEngineUse& e : p_.dma_engines) {
      most = std::max(most, e.bytes);
      sum += e.bytes;
    }
    const double mean = static_cast<double>(sum) / dma_engine_count;
    if (sum == 0 || static_cast<double>(most) < uneven_engines * mean) return;
    add({.name = "uneven_dma_engines",
         .threshold = "a DMA engine with 25 % more bytes than the mean",
         .finding = fmt::format("the busiest DMA engine moves {:.1f} times the mean of the 16",
                                static_cast<double>(most) / mean),
         .suggestion = "use all 128 partitions: DMA engine n serves partitions 8 n to 8 n + 7",
         .place = heaviest_transfer(
             [&](std::uint32_t t) { return static_cast<double>(p_.timeline.shape(t).bytes); }),
         .removed = "the difference between the DMA engines",
         .total = {}},
        evenly_spread());
  }

  void reloads() {
    std::int64_t read = 0, again = 0;
    std::string tensors;
    for (const TensorTraffic& t : p_.traffic.tensors) {
      read += t.read + t.unknown_read;
      again += t.read - t.read_once;
      if (t.read > t.read_once) {
        tensors += fmt::format("{}tensor '{}' is loaded {:.3g} times", tensors.empty() ? "" : ", ",
                               p_.program->tensors[t.tensor].name, t.times_read());
      }
    }
    if (share(static_cast<double>(again), static_cast<double>(read)) < reload_share) return;
    // Transfers that only repeat what was loaded before.
    std::array<std::vector<bool>, engine_count> repeats;
    for (std::uint32_t t = 0; t < p_.timeline.transfers.size(); ++t) {
      const auto issuer =
          static_cast<std::size_t>(p_.timeline.instructions.engine[p_.timeline.transfers.serial[t]]);
      const TransferShape& shape = p_.timeline.shape(t);
      repeats[issuer].push_back(shape.hbm_read > 0 && p_.traffic.reloaded[t] >= shape.hbm_read);
    }
    add({.name = "reloads",
         .threshold = "a quarter of the bytes read from HBM had been read before",
         .finding = fmt::format("{} of {} bytes read: {}", again, read, tensors),
         .suggestion = "keep it in SBUF, or change the order of the loops",
         .place =
             heaviest_transfer([&](std::uint32_t t) { return static_cast<double>(p_.traffic.reloaded[t]); }),
         .removed = "the bytes of transfers that repeat earlier ones",
         .total = {}},
        without_moving([repeats = std::move(repeats)](Engine issuer, std::size_t nth) {
          const auto& mine = repeats[static_cast<std::size_t>(issuer)];
          return nth < mine.size() && mine[nth];
        }));
  }

  static bool transposes_weights(const Instruction& i) {
    if (const auto* m = std::get_if<Matmul>(&i.operands)) return m->transpose;
    return false;
  }

  void transposes() {
    const auto hardware = value(p_.metrics, Metric::hardware_flops);
    const auto transposed = value(p_.metrics, Metric::transpose_flops);
    if (!hardware || share(*transposed, *hardware) <= transpose_share) return;
    add({.name = "transposes",
         .threshold = "transposes above 10 % of the FLOPs",
         .finding =
             fmt::format("{:.0f} % of the tensor engine's FLOPs transpose", 100 * *transposed / *hardware),
         .suggestion = "store the operand transposed, or load it with dma_transpose",
         .place = heaviest_instruction(Engine::tensor,
                                       [&](Serial s) {
                                         return transposes_weights(p_.instruction(s))
                                                    ? static_cast<double>(p_.timeline.work_of(s).flops)
                                                    : 0.0;
                                       }),
         .removed = "the time of transposing matmuls",
         .total = {}},
        scaled(0, [](const Instruction& i, Engine) { return transposes_weights(i); }));
  }

  void stationary() {
    double loads = 0, matmuls = 0;
    for (const OpcodeTime& o : p_.opcodes) {
      if (o.opcode == Opcode::load_stationary) loads += static_cast<double>(o.count);
      if (o.opcode == Opcode::matmul) matmuls += static_cast<double>(o.count);
    }
    if (loads == 0 || matmuls >= matmuls_per_stationary * loads) return;
    const auto is_load = [](const Instruction& i, Engine) { return i.opcode == Opcode::load_stationary; };
    Change change = scaled(0, is_load);
    change.machine = [](MachineConfig& m) { m.tensor.load_issue = m.tensor.load_after = 0; };
    add({.name = "stationary_not_reused",
         .threshold = "fewer than two matmuls for each load_stationary",
         .finding = fmt::format("{:.0f} weight loads serve {:.0f} matmuls", loads, matmuls),
         .suggestion = "let each stationary tile serve several moving tiles: a loop over columns inside",
         .place = heaviest_instruction(
             Engine::tensor,
             [&](Serial s) { return is_load(p_.instruction(s), Engine::tensor) ? 1.0 : 0.0; }),
         .removed = "the time of weight loads",
         .total = {}},
        change);
  }

  void starved() {
    const auto tensor = static_cast<std::size_t>(Engine::tensor);
    const auto active = value(p_.metrics, Metric::total_active_time);
    if (p_.summary.hardware_flops == 0 || !active) return;
    // Not the profiler's active time: the latency of results that others wait for is no work.
    const double busy = p_.us(p_.engines[tensor].busy) * 1e-6;
    if (share(busy, *active) >= tensor_busy_share) return;
    const auto most = std::find_if(p_.stalls.begin(), p_.stalls.end(), [](const StallGroup& g) {
      return g.engine == Engine::tensor && g.cause_known && g.cause_engine != Engine::tensor;
    });
    if (most == p_.stalls.end()) return;
    const bool dma = most->reason == StallReason::dma;
    const Engine cause = most->cause_engine;
    add({.name = "tensor_engine_starved",
         .threshold = "the tensor engine works less than half of the time that any engine is active",
         .finding = fmt::format("it works {:.0f} % of the active time, and waits longest for {} on {}",
                                100 * share(busy, *active), dma ? "the transfers" : name(cause),
                                p_.regions.describe(most->cause_place)),
         .suggestion = dma ? "load earlier: more buffers, or the loads of stage i + 1 before stage i"
                           : "give the work to an engine that is free, or spread it over two",
         .place = most->place,
         .removed = dma ? "the bytes of all transfers" : fmt::format("the time of {}", name(cause)),
         .total = {}},
        dma ? without_moving([](Engine, std::size_t) { return true; })
            : scaled(0, [cause](const Instruction&, Engine e) { return e == cause; }));
  }

  void tables() {
    std::set<std::string> sets;
    std::uint64_t loads = 0;
    for (const Serial s : p_.timeline.of_engine[static_cast<std::size_t>(Engine::scalar)]) {
      const Instruction& i = p_.instruction(s);
      if (const auto* load = std::get_if<TableLoad>(&i.operands)) {
        ++loads;
        sets.insert(fmt::format("{}", static_cast<int>(load->table)));
      }
    }
    if (loads <= sets.size()) return;
    const auto is_load = [](const Instruction& i, Engine) { return i.opcode == Opcode::act_table_load; };
    add({.name = "table_reloads",
         .threshold = "more table loads than sets of functions",
         .finding = fmt::format("{} table loads for {} sets of functions", loads, sets.size()),
         .suggestion = "group activations by function, or choose functions of one set",
         .place = heaviest_instruction(
             Engine::scalar,
             [&](Serial s) { return is_load(p_.instruction(s), Engine::scalar) ? 1.0 : 0.0; }),
         .removed = "the time of table loads",
         .total = {}},
        scaled(0, is_load));
  }

  void gate() {
    const Ticks gated = p_.engines[static_cast<std::size_t>(Engine::tensor)].gated;
    if (share(gated, p_.timeline.total()) < gated_share) return;
    add({.name = "clock_gate",
         .threshold = "the clock gate takes more than 5 % of the time",
         .finding = fmt::format(
             "the tensor engine runs at half rate, {:.1f} us longer than at the full clock", p_.us(gated)),
         .suggestion =
             "keep the tensor engine busy without pauses; work before the first matmul does not count",
         .place = heaviest_instruction(
             Engine::tensor,
             [&](Serial s) { return static_cast<double>(p_.timeline.instructions.gated[s]); }),
         .removed = "the clock gate",
         .total = {}},
        {.machine = [](MachineConfig& m) { m.gate.window = 0; }, .options = {}});
  }

  void ports() {
    Ticks ticks = 0;
    const StallGroup* most = nullptr;
    for (const StallGroup& g : p_.stalls) {
      if (g.reason != StallReason::port) continue;
      ticks += g.ticks;
      if (most == nullptr) most = &g;
    }
    if (most == nullptr || share(ticks, p_.timeline.total()) < port_share) return;
    add({.name = "port_conflicts",
         .threshold = "engines wait more than 5 % of the time for each other's ports",
         .finding =
             fmt::format("{:.1f} us of waiting, most of it {} for {} on {}", p_.us(ticks), name(most->engine),
                         name(most->cause_engine), p_.regions.describe(most->cause_place)),
         .suggestion =
             "NeuronCore-v2 lets vector and gpsimd use SBUF, and vector and scalar use PSUM, one at a time: "
             "leave the memory to one of them",
         .place = most->place,
         .removed = "the exclusion of engines from SBUF and PSUM",
         .total = {}},
        {.machine = {}, .options = [](RunOptions& options) { options.share_ports = true; }});
  }

  const Profile& p_;
  const Retimer& retimer_;
  std::vector<Advice> found_;
  std::vector<Change> changes_;  // that each asks for
};

}  // namespace

std::vector<Advice> advise(const Profile& profile, const Retimer& retimer) {
  return Adviser(profile, retimer).all();
}

}  // namespace ncemu::command
