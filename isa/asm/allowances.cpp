#include "isa/asm/allowances.h"

#include <algorithm>
#include <optional>

namespace ncemu::language {
namespace {

constexpr std::string_view blanks = " \t\r";
constexpr std::string_view form = "write # ncemu: allow CHECK, \"the reason\"";

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// One line: its code, its comment without '#', and how it changes the depth of open brackets.
struct Line {
  std::string_view code, comment;
  std::uint32_t comment_at = 0;  // of '#', from the line's start
  int brackets = 0;
};

Line split(std::string_view text) {
  Line line{text, {}, 0, 0};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[') ++line.brackets;
    if (c == ')' || c == ']') --line.brackets;
    if (c != '#') continue;
    line.code = text.substr(0, i);
    line.comment = text.substr(i + 1);
    line.comment_at = static_cast<std::uint32_t>(i);
    break;
  }
  line.code = trim(line.code);
  return line;
}

class Reader {
 public:
  Reader(const Sources& sources, std::uint32_t file, Reporter& reporter)
      : text_(sources.file(file).text()), file_(file), reporter_(reporter) {}

  std::vector<Allowance> run() {
    std::uint32_t number = 0, statement = 0;  // the line where the statement at hand begins
    bool continues = false;
    int depth = 0;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      const Line line = split(text_.substr(at, end - at));
      ++number;
      if (!line.code.empty()) {
        if (!continues) statement = number;
        for (; pending_ < found_.size(); ++pending_) found_[pending_].line = statement;
        depth = std::max(0, depth + line.brackets);
        continues = depth > 0 || line.code.ends_with('\\');
      }
      const std::string_view comment = trim(line.comment);
      if (comment.starts_with("ncemu:")) {
        if (auto allowance = read(comment, static_cast<std::uint32_t>(at) + line.comment_at)) {
          allowance->line = statement;
          allowance->at_line = number;
          allowance->at_column = line.comment_at + 1;
          found_.push_back(std::move(*allowance));
          if (!line.code.empty()) pending_ = found_.size();
        }
      }
      at = end + 1;
    }
    return std::move(found_);
  }

 private:
  std::optional<Allowance> read(std::string_view comment, std::uint32_t offset) {
    const Where where{file_, offset, static_cast<std::uint32_t>(comment.size())};
    const auto refuse = [&](std::string message) {
      reporter_.error(where, std::move(message), std::string(form));
      return std::nullopt;
    };
    std::string_view rest = trim(comment.substr(std::string_view("ncemu:").size()));
    if (!rest.starts_with("allow ")) return refuse("a comment that begins with 'ncemu:' allows something");
    rest = trim(rest.substr(std::string_view("allow ").size()));
    Allowance allowance;
    while (!rest.starts_with('"')) {
      const std::size_t comma = rest.find(',');
      const std::string_view check = trim(rest.substr(0, comma));
      if (check.empty() || check.find_first_of(" \t\"") != std::string_view::npos)
        return refuse("the name of a check is missing");
      allowance.checks.emplace_back(check);
      if (comma == std::string_view::npos) return refuse("the reason is missing");
      rest = trim(rest.substr(comma + 1));
    }
    if (allowance.checks.empty()) return refuse("the name of a check is missing");
    if (rest.size() < 2 || !rest.ends_with('"')) return refuse("the reason does not end with '\"'");
    allowance.reason = std::string(trim(rest.substr(1, rest.size() - 2)));
    if (allowance.reason.empty()) return refuse("the reason is missing");
    return allowance;
  }

  std::string_view text_;
  std::uint32_t file_;
  Reporter& reporter_;
  std::vector<Allowance> found_;
  std::size_t pending_ = 0;  // from here on they wait for the next statement
};

}  // namespace

std::vector<Allowance> find_allowances(const Sources& sources, std::uint32_t file, Reporter& reporter) {
  return Reader(sources, file, reporter).run();
}

}  // namespace ncemu::language
