// `ncemu profile` as a user meets it: the first sentence, the figures, the schema.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/tools/command/runner.h"

using namespace ncemu;
using namespace ncemu::test;
using Json = nlohmann::json;

namespace {

const std::string kernels = NCEMU_SOURCE_DIR "/kernels/";

// The profile of `words` as JSON, which is also left in profile.json.
Json profile_of(const std::string& words) {
  const Outcome o = ncemu_run("profile " + words + " --json=profile.json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  return Json::parse(text_of(directory() + "/profile.json"));
}

std::string first_sentence(const std::string& words) {
  const Outcome o = ncemu_run("profile " + words);
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  return o.out.substr(0, o.out.find('\n'));
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// 64 tiles of 4 KiB, two transfers each.
void write_small_transfers() {
  write_source("small.nca",
               ".input  x : bf16[64, 128, 16]\n"
               ".output y : bf16[64, 128, 16]\n"
               ".for i in 0 .. 64\n"
               "  .sbuf t : bf16[128, 16], buffers = 4\n"
               "  dma_copy t, x[i, :, :]\n"
               "  tensor_scalar t, t, op0 = mult, scalar0 = 2.0\n"
               "  dma_copy y[i, :, :], t\n"
               ".end\n");
}

// Two matmuls a round, evicted by vector and by scalar, which v2 lets at PSUM one at a time.
void write_starved() {
  write_source("starved.nca",
               ".input  at : bf16[128, 128]\n"
               ".input  b  : bf16[128, 512]\n"
               ".output c  : bf16[2, 128, 512]\n"
               ".sbuf a : bf16[128, 128]\n"
               ".sbuf w : bf16[128, 512]\n"
               "dma_copy a, at\n"
               "dma_copy w, b\n"
               ".sbuf even : bf16[128, 512]\n"
               ".sbuf odd  : bf16[128, 512]\n"
               "load_stationary a\n"
               ".for i in 0 .. 40\n"
               "  .psum acc[2] : f32[128, 512], buffers = 2\n"
               "  matmul acc[0], w\n"
               "  matmul acc[1], w\n"
               "  tensor_copy even, acc[0], engine = vector\n"
               "  activation odd, acc[1], func = copy\n"
               ".end\n"
               "dma_copy c[0, :, :], even\n"
               "dma_copy c[1, :, :], odd\n");
}

const Json* advice(const Json& profile, std::string_view name) {
  for (const Json& a : profile["advice"]) {
    if (a["name"] == name) return &a;
  }
  return nullptr;
}

const Json& what_if(const Json& profile, std::string_view name) {
  for (const Json& w : profile["what_if"]) {
    if (w["name"] == name) return w;
  }
  FAIL("no such question");
  return profile;
}

}  // namespace

TEST_CASE("the first sentence names small transfers where they bound the kernel") {
  write_small_transfers();
  const std::string sentence = first_sentence("small.nca");
  CHECK(sentence.starts_with("Bound by DMA"));
  CHECK(says(sentence, "small transfers"));
  CHECK(says(sentence, "4096 bytes each"));
}

TEST_CASE("the first sentence names the vector engine where a softmax is bound by it") {
  const std::string sentence = first_sentence(kernels + "softmax.nca");
  CHECK(sentence.starts_with("Bound by vector"));
  CHECK(says(sentence, "softmax.nca:"));
}

TEST_CASE(
    "the first sentence names PSUM eviction and v2's port rule where the tensor engine starves by them") {
  write_starved();
  const std::string sentence = first_sentence("starved.nca --machine trn1");
  CHECK(sentence.starts_with("Bound by PSUM eviction"));
  CHECK(says(sentence, "the tensor engine starves"));
  CHECK(says(sentence, "port rule of NeuronCore-v2"));
  // The next generation has no such rule.
  CHECK_FALSE(says(first_sentence("starved.nca --machine trn2"), "port rule"));
}

TEST_CASE("advice says what a second run without the effect takes") {
  write_small_transfers();
  const Json small = profile_of("small.nca");
  const Json* transfers = advice(small, "small_transfers");
  REQUIRE(transfers != nullptr);
  CHECK((*transfers)["gain_us"].get<double>() > small["total_us"].get<double>() / 2);
  CHECK((*transfers)["place"]["file"] == "small.nca");
  CHECK(advice(small, "small_descriptors") != nullptr);
  CHECK(advice(small, "transposes") == nullptr);

  write_starved();
  const Json starved = profile_of("starved.nca --machine trn1");
  const Json* ports = advice(starved, "port_conflicts");
  REQUIRE(ports != nullptr);
  CHECK((*ports)["total_us"] == what_if(starved, "ports_shared")["total_us"]);
  CHECK((*ports)["gain_us"].get<double>() > 0);
}

TEST_CASE("a faster part helps as far as a machine that has it") {
  // "If the DMA engines were twice as fast", asked of the profile and of a machine that is.
  write_small_transfers();
  const Json profile = profile_of("small.nca --machine trn1");
  const Outcome machine = ncemu_run("machine trn1 --json");
  REQUIRE(machine.code == 0);
  double r_peak = 0, c_core = 0, o_desc = 0, desc_min = 0, element = 0, hbm = 0;
  const Json parameters = Json::parse(machine.out)["parameters"];
  for (const Json& p : parameters) {
    const auto value = [&] {
      return p["value"].is_string() ? std::stod(p["value"].get<std::string>()) : p["value"].get<double>();
    };
    if (p["key"] == "dma.r_peak") r_peak = value();
    if (p["key"] == "dma.c_core") c_core = value();
    if (p["key"] == "dma.o_desc_ns") o_desc = value();
    if (p["key"] == "dma.desc_min_ns") desc_min = value();
    if (p["key"] == "dma.element_ns") element = value();
    if (p["key"] == "hbm.bytes_per_ns") hbm = value();
  }
  REQUIRE(r_peak > 0);
  const Json faster = profile_of(
      fmt::format("small.nca --machine trn1 --set dma.r_peak={} --set dma.c_core={} --set dma.o_desc_ns={} "
                  "--set dma.desc_min_ns={} --set dma.element_ns={} --set hbm.bytes_per_ns={}",
                  2 * r_peak, 2 * c_core, o_desc / 2, desc_min / 2, element / 2, 2 * hbm));
  CHECK(what_if(profile, "dma_twice_as_fast")["total_us"].get<double>() ==
        doctest::Approx(faster["total_us"].get<double>()));
}

TEST_CASE("the engines' ticks, the stalls and the critical path of the JSON add up to the total") {
  write_starved();
  for (const std::string& words :
       {kernels + "softmax.nca", kernels + "fp8_gemm.nca --machine trn2", std::string("starved.nca")}) {
    CAPTURE(words);
    const Json p = profile_of(words);
    const auto total = p["total_ticks"].get<std::int64_t>();
    std::map<std::string, std::int64_t> stalled;
    for (const Json& s : p["stalls"])
      stalled[s["engine"].get<std::string>()] += s["ticks"].get<std::int64_t>();
    for (const Json& e : p["engines"]) {
      std::int64_t stalls = 0;
      for (const auto& [reason, ticks] : e["ticks"]["stalled"].items()) stalls += ticks.get<std::int64_t>();
      CHECK(e["ticks"]["busy"].get<std::int64_t>() + stalls + e["ticks"]["idle"].get<std::int64_t>() ==
            total);
      CHECK(stalled[e["engine"].get<std::string>()] == stalls);
    }
    std::int64_t path = 0;
    double dma = 0, causes = 0;
    for (const Json& g : p["critical_path"]["by"]) {
      path += g["ticks"].get<std::int64_t>();
      if (g["kind"].get<std::string>().starts_with("dma_")) dma += g["us"].get<double>();
    }
    CHECK(path == total);
    for (const Json& c : p["dma"]["critical_path"]) causes += c["us"].get<double>();
    CHECK(causes == doctest::Approx(dma));
  }
}

TEST_CASE("loops and macros of the source are parts of the source view") {
  const Json p = profile_of(kernels + "softmax.nca -D R=512");
  std::map<std::string, Json> regions;
  for (const Json& region : p["source"]) {
    if (region["kind"] != "line") regions[region["text"].get<std::string>()] = region;
  }
  REQUIRE(regions.count("head") == 1);
  REQUIRE(regions.count("tail") == 1);
  REQUIRE(regions.count(".for r in 1 .. TILES") == 1);
  // Four tiles: head(0) and tail(3) stand outside the loop. One load or store each.
  CHECK(regions["head"]["transfer_count"] == 4);
  CHECK(regions["tail"]["transfer_count"] == 4);
  CHECK(regions[".for r in 1 .. TILES"]["transfer_count"] == 6);
  CHECK(regions["head"]["dma_bytes"] == 512 * 2048 * 2);
}

TEST_CASE("what is loaded again is counted by tensor") {
  write_source("again.nca",
               ".input  x : f32[128, 1024]\n"
               ".output y : f32[4, 128, 1024]\n"
               ".for i in 0 .. 4\n"
               "  .sbuf t : f32[128, 1024], buffers = 2\n"
               "  dma_copy t, x\n"
               "  dma_copy y[i, :, :], t\n"
               ".end\n");
  const Json p = profile_of("again.nca");
  REQUIRE(p["tensors"].size() == 2);
  CHECK(p["tensors"][0]["name"] == "x");
  CHECK(p["tensors"][0]["times_read"] == 4);
  CHECK(p["tensors"][0]["read_once_bytes"] == 128 * 1024 * 4);
  const Json* found = advice(p, "reloads");
  REQUIRE(found != nullptr);
  CHECK(says((*found)["finding"].get<std::string>(), "tensor 'x' is loaded 4 times"));
  CHECK((*found)["gain_us"].get<double>() > 0);
}

TEST_CASE("the JSON follows the published schema, by an independent validator") {
  const Outcome schema = ncemu_run("profile --schema");
  REQUIRE(schema.code == 0);
  write_source("schema.json", schema.out);
  write_source("validate.py",
               "import json, sys, jsonschema\n"
               "schema = json.load(open('schema.json'))\n"
               "jsonschema.Draft202012Validator.check_schema(schema)\n"
               "jsonschema.validate(json.load(open(sys.argv[1])), schema)\n");
  write_small_transfers();
  const auto validates = [](const std::string& file) {
    const std::string command =
        fmt::format("cd '{}' && python3 validate.py {} 2>validate.txt", directory(), file);
    const int status = std::system(command.c_str());
    INFO(text_of(directory() + "/validate.txt"));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  for (const std::string& words : {std::string("small.nca --windows 5"),
                                   kernels + "fp32_gemm.nca --machine trn2", kernels + "softmax.nca"}) {
    CAPTURE(words);
    Json p = profile_of(words);
    CHECK(validates("profile.json"));
    // And the validator does look.
    p["engines"][0]["busy_us"] = "long";
    write_source("broken.json", p.dump());
    CHECK_FALSE(validates("broken.json"));
  }
}

TEST_CASE("with data, and with --json on standard output, nothing else is printed there") {
  write_small_transfers();
  const Outcome o = ncemu_run("profile small.nca --in x=random --json");
  REQUIRE(o.code == 0);
  const Json with_data = Json::parse(o.out);
  CHECK(with_data["mode"] == "timed");
  CHECK(with_data["inputs"][0]["name"] == "x");
  const Json without = profile_of("small.nca");
  CHECK(without["mode"] == "timing-only");
  CHECK(with_data["total_ticks"] == without["total_ticks"]);
}

TEST_CASE("text that is not for a terminal has no colour") {
  write_small_transfers();
  const Outcome o = ncemu_run("profile small.nca");
  CHECK(o.out.find('\x1b') == std::string::npos);
}

TEST_CASE("a mode without a clock, an impossible number of windows and a run cut short are told apart") {
  write_small_transfers();
  const Outcome clockless = ncemu_run("profile small.nca --mode functional --in x=random");
  CHECK(clockless.code == 2);
  CHECK(clockless.says("a profile needs a clock"));
  CHECK(ncemu_run("profile small.nca --windows 0").code == 2);
  const Outcome cut = ncemu_run("profile small.nca --max-instructions 20 --json=cut.json");
  CHECK(cut.code == 1);
  const Json p = Json::parse(text_of(directory() + "/cut.json"));
  CHECK(p["partial"] == true);
  CHECK(p["instruction_count"] == 20);
  CHECK(p["what_if"].empty());
}
