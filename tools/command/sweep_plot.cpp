// A sweep as SVG: one line per combination of the other axes.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "isa/fault.h"
#include "tools/command/sweep.h"

namespace ncemu::command {
namespace {

// Colours that stay apart for most eyes (Okabe and Ito).
constexpr std::array<std::string_view, 8> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#000000", "#999999"};
constexpr double width = 760, height = 440, left = 80, right = 24, top = 48, bottom = 56, legend_row = 18;

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

bool all_numbers(const Axis& axis) {
  return std::all_of(axis.values.begin(), axis.values.end(),
                     [](const std::string& v) { return number(v).has_value(); });
}

struct Scale {
  double low = 0, high = 1;
  bool logarithmic = false;
  double begin = 0, end = 1;  // in the picture

  double at(double x) const {
    const auto f = [&](double v) { return logarithmic ? std::log2(v) : v; };
    const double span = f(high) - f(low);
    return begin + (end - begin) * (span == 0 ? 0.5 : (f(x) - f(low)) / span);
  }
};

// A step of 1, 2 or 5 times a power of ten that gives about five.
double step_for(double span) {
  const double power = std::pow(10, std::floor(std::log10(span / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (span / (factor * power) <= 6) return factor * power;
  }
  return 10 * power;
}

class Plot {
 public:
  Plot(const SweepResults& results, std::string metric) : r_(results), metric_(std::move(metric)) {
    const std::vector<Axis>& axes = r_.grid->request().axes;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (axis_ == none || rank(axes[a]) > rank(axes[axis_])) axis_ = a;
    }
    numbers_ = axis_ != none && all_numbers(axes[axis_]);
    collect();
  }

  std::string svg() const {
    const double legend = legend_row * static_cast<double>(lines_.size());
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
        width, height + legend);
    text += label(left, 24, "start", fmt::format("{}: {}", r_.grid->request().kernel, metric_), 15);
    text += frame();
    for (std::size_t l = 0; l < lines_.size(); ++l) text += line(l);
    return text + "</svg>\n";
  }

 private:
  static constexpr auto none = static_cast<std::size_t>(-1);
  struct Point {
    double x = 0, y = 0;
    std::string name;
  };
  struct Line {
    std::string name;
    std::vector<Point> points;
  };

  // Numbers before words, then the axis with more values.
  static std::size_t rank(const Axis& axis) {
    return axis.values.size() + (all_numbers(axis) && axis.values.size() > 1 ? 1'000'000 : 0);
  }

  void collect() {
    const std::vector<Axis>& axes = r_.grid->request().axes;
    double low = INFINITY, high = -INFINITY, largest = 0;
    for (std::size_t p = 0; p < r_.points.size(); ++p) {
      const auto y = sweep_value(r_.points[p], metric_);
      if (!y) continue;
      const std::vector<std::string> values = r_.grid->values(p);
      std::string others;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        if (a != axis_ && axes[a].values.size() > 1)
          others += fmt::format("{}{}={}", others.empty() ? "" : " ", axes[a].name, values[a]);
      }
      double x = 0;
      if (axis_ != none) {
        const std::vector<std::string>& all = axes[axis_].values;
        x = numbers_ ? *number(values[axis_])
                     : static_cast<double>(std::find(all.begin(), all.end(), values[axis_]) - all.begin());
      }
      auto found =
          std::find_if(lines_.begin(), lines_.end(), [&](const Line& l) { return l.name == others; });
      if (found == lines_.end()) found = lines_.insert(lines_.end(), {others, {}});
      found->points.push_back({x, *y, r_.grid->name(p)});
      low = std::min(low, x);
      high = std::max(high, x);
      largest = std::max(largest, *y);
    }
    for (Line& l : lines_) {
      std::stable_sort(l.points.begin(), l.points.end(),
                       [](const Point& a, const Point& b) { return a.x < b.x; });
    }
    if (lines_.empty()) low = high = 0;
    // Tile sizes and the like double from one to the next.
    x_ = {low, high, numbers_ && low > 0 && high >= 8 * low, left, width - right};
    y_ = {0, largest > 0 ? largest * 1.05 : 1, false, height - bottom, top};
  }

  static std::string label(double x, double y, std::string_view anchor, const std::string& text,
                           int size = 12) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n", x,
                       y, anchor, size, escaped(text));
  }
  static std::string stroke(double x1, double y1, double x2, double y2, std::string_view colour) {
    return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1,
                       y1, x2, y2, colour);
  }

  std::string frame() const {
    std::string text;
    const double step = step_for(y_.high);
    for (double y = 0; y <= y_.high; y += step) {
      text += stroke(left, y_.at(y), width - right, y_.at(y), "#dddddd");
      text += label(left - 8, y_.at(y) + 4, "end", fmt::format("{:.6g}", y));
    }
    if (axis_ != none) {
      const Axis& axis = r_.grid->request().axes[axis_];
      for (std::size_t v = 0; v < axis.values.size(); ++v) {
        const double x = numbers_ ? *number(axis.values[v]) : static_cast<double>(v);
        if (x < x_.low || x > x_.high) continue;
        text += stroke(x_.at(x), height - bottom, x_.at(x), height - bottom + 5, "black");
        text += label(x_.at(x), height - bottom + 19, "middle", axis.values[v]);
      }
      text += label((left + width - right) / 2, height - bottom + 42, "middle", axis.name);
    }
    return text + stroke(left, height - bottom, width - right, height - bottom, "black") +
           stroke(left, top, left, height - bottom, "black");
  }

  std::string line(std::size_t l) const {
    const std::string_view colour = colours[l % colours.size()];
    std::string path, dots;
    for (const Point& p : lines_[l].points) {
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x_.at(p.x), y_.at(p.y));
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"><title>{}: {:.6g}</title></circle>\n",
          x_.at(p.x), y_.at(p.y), colour, escaped(p.name), p.y);
    }
    std::string text =
        fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path,
                    colour) +
        dots;
    if (lines_[l].name.empty()) return text;
    const double y = height + legend_row * static_cast<double>(l);
    return text + stroke(left, y - 4, left + 24, y - 4, colour) +
           label(left + 32, y, "start", lines_[l].name);
  }

  const SweepResults& r_;
  std::string metric_;
  std::size_t axis_ = none;
  bool numbers_ = false;
  std::vector<Line> lines_;
  Scale x_, y_;
};

}  // namespace

std::string sweep_svg(const SweepResults& results, const std::string& metric) {
  return Plot(results, metric).svg();
}

}  // namespace ncemu::command
