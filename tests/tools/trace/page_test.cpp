// The page that `ncemu profile --html` writes carries the run: its columns agree with the JSON of the same
// run.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "tests/tools/command/runner.h"
#include "tests/tools/trace/unpacked.h"

using namespace ncemu;
using namespace ncemu::test;
using Json = nlohmann::json;

namespace {

struct Report {
  std::string html;
  Json profile;  // of --json
  Json inside;   // the same, as the page has it

  explicit Report(const std::string& words) {
    const Outcome o = ncemu_run("profile " + words + " --html report.html --json=profile.json");
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    html = text_of(directory() + "/report.html");
    profile = Json::parse(text_of(directory() + "/profile.json"));
    inside = Json::parse(element("ncemu-profile"));
  }
  std::string element(const std::string& id) const {
    const std::size_t tag = html.find("<script id=\"" + id + "\"");
    REQUIRE(tag != std::string::npos);
    const std::size_t begin = html.find('>', tag) + 1;
    return html.substr(begin, html.find("</script>", begin) - begin);
  }
  Unpacked trace() const { return Unpacked(element("ncemu-trace")); }
};

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

const std::string softmax = NCEMU_SOURCE_DIR "/kernels/softmax.nca -D R=256 -D C=512";

}  // namespace

TEST_CASE("the page holds the profile that --json prints") {
  const Report report(softmax);
  CHECK(report.inside == report.profile);
}

TEST_CASE("busy, stalled and idle time follow from the columns of the page") {
  const Report report(softmax);
  const Unpacked trace = report.trace();
  const auto total = report.profile["total_ticks"].get<double>();
  CHECK(trace.header["total"] == total);
  REQUIRE(trace["start"].size() == report.profile["instruction_count"]);
  for (std::size_t e = 0; e < 5; ++e) {
    const Json& ticks = report.profile["engines"][e]["ticks"];
    double until = 0, busy = 0;
    std::map<std::string, double> stalled;
    for (std::size_t i = 0; i < trace["start"].size(); ++i) {
      if (trace["engine"][i] != static_cast<double>(e)) continue;
      const double start = trace["start"][i];
      const double since = std::max(start - trace["stalled"][i], until);
      const double end = std::min(start + trace["busy"][i], total);
      const std::string reason = trace.header["reasons"][static_cast<std::size_t>(trace["reason"][i])];
      if (since < start) stalled[reason] += start - since;
      busy += std::max(0.0, end - std::max(start, until));
      until = std::max(until, end);
    }
    CAPTURE(trace.header["engines"][e]);
    CHECK(busy == ticks["busy"]);
    for (const auto& [reason, amount] : ticks["stalled"].items()) CHECK(stalled[reason] == amount);
  }
}

TEST_CASE("transfers, critical path and stalls of the page add up to the figures of the profile") {
  const Report report(softmax);
  const Unpacked trace = report.trace();
  const auto sum = [&](const std::string& name) {
    double all = 0;
    for (const double v : trace[name]) all += v;
    return all;
  };
  CHECK(trace["transfer_bytes"].size() == report.profile["dma"]["transfer_count"]);
  CHECK(sum("transfer_bytes") == report.profile["dma"]["bytes"]);
  CHECK(sum("transfer_descriptors") == report.profile["dma"]["descriptor_count"]);
  CHECK(sum("span_bytes") == report.profile["dma"]["bytes"]);
  CHECK(trace["path_kind"].size() == report.profile["critical_path"]["step_count"]);
  CHECK(sum("path_length") == report.profile["total_ticks"]);
  CHECK(std::count(trace["slack"].begin(), trace["slack"].end(), 0.0) > 0);
}

TEST_CASE("an instruction of the page leads to its operands and to its line") {
  const Report report(softmax);
  const Unpacked trace = report.trace();
  const Json& texts = trace.header["texts"];
  const auto text = [&](double number) { return texts[static_cast<std::size_t>(number)].get<std::string>(); };
  bool found = false;
  for (const double row_number : trace["row"]) {
    const auto row = static_cast<std::size_t>(row_number);
    if (text(trace["row_mnemonic"][row]) != "dma_copy") continue;
    const auto site = static_cast<std::size_t>(trace["row_site"][row]);
    const Json& file = trace.header["files"][static_cast<std::size_t>(trace["site_file"][site])];
    const auto line = static_cast<std::size_t>(trace["site_line"][site]);
    const std::string source = file["text"];
    std::size_t begin = 0;
    for (std::size_t n = 1; n < line; ++n) begin = source.find('\n', begin) + 1;
    CHECK(source.substr(begin, source.find('\n', begin) - begin).find("dma_copy") != std::string::npos);
    const auto first = static_cast<std::size_t>(trace["row_operand_begin"][row]);
    CHECK(text(trace["operand_name"][first]) == "dst");
    CHECK(!text(trace["operand_text"][first]).empty());
    found = true;
  }
  CHECK(found);
}

TEST_CASE("a source that speaks of scripts does not end the page's own") {
  write_source("tags.nca",
               ".input  x : bf16[128, 64]\n"
               ".output y : bf16[128, 64]\n"
               ".sbuf t : bf16[128, 64]\n"
               "dma_copy t, x  # </script><!-- <script>\n"
               "dma_copy y, t\n");
  const Report plain(softmax), tags("tags.nca");
  CHECK(count(tags.html, "<script") == count(plain.html, "<script"));
  CHECK(count(tags.html, "</script") == count(plain.html, "</script"));
  CHECK(tags.inside == tags.profile);
}

TEST_CASE("a page asks for nothing outside itself") {
  const Report report(softmax);
  for (const std::string_view what : {"src=", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket"})
    CHECK_MESSAGE(count(report.html, what) == 0, what);
}

TEST_CASE("the page is not written over the kernel") {
  write_source("own.nca", "nop\n");
  const Outcome o = ncemu_run("profile own.nca --html own.nca");
  CHECK(o.code == 2);
  CHECK(text_of(directory() + "/own.nca") == "nop\n");
}
