#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/accuracy/report.h"

namespace ncemu::accuracy {
namespace {

constexpr double panel = 360, margin = 60, gap = 80;  // pixels

struct Box {
  double left = 0, top = 0;
  double right() const { return left + panel; }
  double bottom() const { return top + panel; }
};

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
}

std::string frame(const Box& box, const std::string& title) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
                     box.left, box.top, panel, panel) +
         label(box.left + panel / 2, box.top - 12, "middle", title);
}

// Errors in bins of 2.5 %; the outer two take everything beyond.
std::string histogram(const Box& box, const std::vector<double>& errors) {
  constexpr std::size_t bins = 24;
  constexpr double width = 0.025, least = -0.3;
  std::array<std::size_t, bins> counts{};
  for (const double e : errors) {
    const double at = std::clamp(std::floor((e - least) / width), 0.0, static_cast<double>(bins - 1));
    ++counts[static_cast<std::size_t>(at)];
  }
  const double most =
      static_cast<double>(std::max<std::size_t>(1, *std::max_element(counts.begin(), counts.end())));
  std::string svg = frame(box, fmt::format("signed error of {} predictions", errors.size()));
  const double step = panel / static_cast<double>(bins);
  for (std::size_t i = 0; i < bins; ++i) {
    const double height = static_cast<double>(counts[i]) / most * (panel - 20);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#47a\"/>\n",
                       box.left + static_cast<double>(i) * step + 1, box.bottom() - height, step - 2, height);
  }
  for (const double tick : {-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3}) {
    const double x = box.left + (tick - least) / (width * static_cast<double>(bins)) * panel;
    svg += label(x, box.bottom() + 18, "middle", fmt::format("{:+.0f}%", 100 * tick));
  }
  return svg + label(box.left - 6, box.top + 24, "end", fmt::format("{:.0f}", most));
}

// Numbers of one unit in one colour; the diagonal is a perfect prediction.
std::string scatter(const Box& box, const std::vector<const Row*>& rows) {
  double low = 1e300, high = 0;
  for (const Row* r : rows) {
    low = std::min({low, r->measured, *r->predicted});
    high = std::max({high, r->measured, *r->predicted});
  }
  std::string svg = frame(box, "predicted against measured, in each row's unit");
  if (rows.empty()) return svg;
  const double from = std::floor(std::log10(low)), to = std::max(from + 1, std::ceil(std::log10(high)));
  const auto place = [&](double value) { return (std::log10(value) - from) / (to - from) * panel; };
  svg += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"#888\"/>\n", box.left,
                     box.bottom(), box.right(), box.top);
  for (double power = from; power <= to; ++power) {
    const double at = (power - from) / (to - from) * panel;
    svg += label(box.left + at, box.bottom() + 18, "middle", fmt::format("1e{:.0f}", power));
    svg += label(box.left - 6, box.bottom() - at + 4, "end", fmt::format("1e{:.0f}", power));
  }
  for (const Row* r : rows) {
    const char* colour = r->unit == "ns" ? "#47a" : r->unit == "us" ? "#a47" : "#7a4";
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
                       box.left + place(r->measured), box.bottom() - place(*r->predicted), colour);
  }
  return svg;
}

}  // namespace

std::string to_svg(const Report& report) {
  std::vector<double> errors;
  std::vector<const Row*> positive;
  for (const Row& r : report.rows) {
    if (!r.error()) continue;
    errors.push_back(*r.error());
    if (r.measured > 0 && *r.predicted > 0) positive.push_back(&r);
  }
  const Box left{margin, margin}, right{margin + panel + gap, margin};
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      right.right() + margin / 2, panel + 2 * margin);
  return svg + histogram(left, errors) + scatter(right, positive) + "</svg>\n";
}

}  // namespace ncemu::accuracy
