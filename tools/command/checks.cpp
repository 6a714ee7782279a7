#include "tools/command/checks.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "isa/check.h"
#include "isa/fault.h"
#include "tools/files/file.h"

namespace ncemu::command {
namespace {

// The lines of source files, read when a message first needs one. A file that is not there, or no plain file
// (a pipe gives its bytes only once), has none.
class SourceLines {
 public:
  std::string line(const Location& where) {
    if (where.line == 0) return {};
    auto [entry, is_new] = files_.try_emplace(where.file);
    if (is_new) read(where.file, entry->second);
    const std::vector<std::string>& lines = entry->second;
    return where.line <= lines.size() ? lines[where.line - 1] : std::string();
  }
  void fill(Diagnostic& d) {
    if (d.source.empty()) d.source = line(d.where);
    for (Diagnostic& note : d.notes) fill(note);
  }

 private:
  static void read(const std::string& path, std::vector<std::string>& lines) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error) || error) return;
    const std::vector<std::byte> bytes = read_file(path);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines.emplace_back(text.substr(at, end - at));
      if (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
      at = end + 1;
    }
  }
  std::map<std::string, std::vector<std::string>> files_;
};

std::uint32_t site_of(const Program& program, const Involved& involved) {
  const auto& stream = program.stream(involved.engine);
  return involved.index < stream.size() ? stream[involved.index].site : 0;
}

// Without a source place: which instruction of which stream.
std::string describe(const Program& program, const Involved& involved) {
  if (involved.index == no_index) return fmt::format("{}", name(involved.engine));
  if (site_of(program, involved) != 0) return fmt::format("{}", name(involved.engine));
  return fmt::format("{} instruction {}", name(involved.engine), involved.index);
}

Diagnostic diagnostic_of(const Program& program, const Finding& finding) {
  const std::uint32_t site =
      finding.involved.empty() ? finding.site : site_of(program, finding.involved.front());
  std::string message = finding.message;
  if (site == 0 && !finding.involved.empty())
    message = fmt::format("{}: {}", describe(program, finding.involved.front()), message);
  if (finding.count > 1) message += fmt::format(" ({} times)", finding.count);
  Diagnostic d =
      diagnose(program, finding.severity.value_or(info(finding.kind).severity), site, std::move(message));
  d.reference = info(finding.kind).name;
  d.hint = finding.fix;
  for (std::size_t i = 1; i < finding.involved.size(); ++i) {
    const Involved& other = finding.involved[i];
    Diagnostic note = diagnose(program, Severity::note, site_of(program, other),
                               fmt::format("{} {}", describe(program, other), other.says));
    d.notes.push_back(std::move(note));
  }
  return d;
}

// The source lines of a finding: those of its instructions and of the macro calls that led to them.
std::vector<std::pair<std::string, std::uint32_t>> lines_of(const Diagnostic& d) {
  std::vector<std::pair<std::string, std::uint32_t>> lines = {{d.where.file, d.where.line}};
  for (const Diagnostic& note : d.notes) {
    for (auto& line : lines_of(note)) lines.push_back(std::move(line));
  }
  return lines;
}

class Allowances {
 public:
  explicit Allowances(const Program& program) : program_(program), used_(program.allowances.size()) {
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < check_count; ++i) known.push_back(info(static_cast<CheckKind>(i)).name);
    for (const Allowance& a : program.allowances) {
      for (const std::string& check : a.checks) {
        if (std::find(known.begin(), known.end(), check) != known.end()) continue;
        const std::string_view near = did_you_mean(check, known);
        throw Fault(FaultKind::input, fmt::format("{}:{}:{}", program.files[a.file], a.at_line, a.at_column),
                    "there is no check '{}' to allow{}; the checks are: {}", check,
                    near.empty() ? "" : fmt::format(", did you mean '{}'?", near), fmt::join(known, " "));
      }
    }
  }

  const Allowance* find(CheckKind kind, const Diagnostic& d) {
    const auto lines = lines_of(d);
    const Allowance* found = nullptr;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const Allowance& a = program_.allowances[i];
      if (std::find(a.checks.begin(), a.checks.end(), info(kind).name) == a.checks.end()) continue;
      const std::pair place(program_.files[a.file], a.line);
      if (std::find(lines.begin(), lines.end(), place) == lines.end()) continue;
      used_[i] = true;
      if (found == nullptr) found = &a;
    }
    return found;
  }

  // Only where all its checks were made: a run without data says nothing about values.
  std::vector<Diagnostic> unused(CheckSet set, const RanHow& how) const {
    std::vector<Diagnostic> all;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const Allowance& a = program_.allowances[i];
      const bool made = std::all_of(a.checks.begin(), a.checks.end(), [&](const std::string& name) {
        for (std::size_t k = 0; k < check_count; ++k) {
          const auto kind = static_cast<CheckKind>(k);
          if (info(kind).name == name) return set.has(kind) && (how.data || !needs_data(kind));
        }
        return false;
      });
      if (used_[i] || !made || !how.finished) continue;
      Diagnostic d;
      d.severity = how.strict ? Severity::error : Severity::warning;
      d.where = {program_.files[a.file], a.at_line, a.at_column, 0};
      d.message = fmt::format("nothing was found here that '{}' would allow", fmt::join(a.checks, ", "));
      d.hint = "remove the comment";
      all.push_back(std::move(d));
    }
    return all;
  }

 private:
  const Program& program_;
  std::vector<bool> used_;
};

std::vector<std::string> not_checked(const Kernel& kernel, const Checks& checks, CheckSet set,
                                     const RanHow& how) {
  std::vector<std::string> texts;
  if (how.data) return texts;
  std::vector<std::string_view> kinds;
  for (std::size_t i = 0; i < check_count; ++i) {
    const auto kind = static_cast<CheckKind>(i);
    if (set.has(kind) && needs_data(kind)) kinds.push_back(info(kind).name);
  }
  if (!kinds.empty()) texts.push_back(fmt::format("{}: values are needed", fmt::join(kinds, ", ")));
  for (const std::uint32_t site : checks.unknown_rows()) {
    texts.push_back(
        fmt::format("init, outputs: which rows the index chooses at {}; all of them count as written",
                    describe_site(kernel.program, site)));
  }
  return texts;
}

std::size_t count(const CheckReport& report, Severity severity) {
  const auto counts = [&](const Reported& r) { return !r.allowed && r.text.severity == severity; };
  const auto found = std::count_if(report.findings.begin(), report.findings.end(), counts);
  const auto unused = std::count_if(report.unused.begin(), report.unused.end(),
                                    [&](const Diagnostic& d) { return d.severity == severity; });
  return static_cast<std::size_t>(found + unused);
}

std::string_view level(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

nlohmann::ordered_json place_json(const Location& where) {
  const auto number = [](std::uint32_t n) {
    return n == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(n);
  };
  return {{"file", where.file}, {"line", number(where.line)}, {"column", number(where.column)}};
}

}  // namespace

void declare_check_options(Options& options) {
  std::string known;
  for (std::size_t i = 0; i < check_count; ++i)
    known += fmt::format("{}{}", i == 0 ? "" : " ", info(static_cast<CheckKind>(i)).name);
  options.group("Checks")
      .value(
          "checks", "LIST",
          fmt::format("which checks to make: all (default), none, or names separated by commas, '-' before "
                      "a name leaves it out: {}",
                      known)
              .c_str())
      .value("sarif", "FILE", "the findings as SARIF 2.1.0, for code hosts that annotate lines");
}

CheckSet check_set(const Options& options) {
  return CheckSet::parse(options.text("checks", "default"), "--checks");
}

bool CheckReport::failed() const { return errors() > 0; }
std::size_t CheckReport::errors() const { return count(*this, Severity::error); }
std::size_t CheckReport::warnings() const { return count(*this, Severity::warning); }

CheckReport report_checks(const Kernel& kernel, const Checks& checks, CheckSet set, const RanHow& how) {
  CheckReport report;
  report.set = set;
  SourceLines sources;
  Allowances allowances(kernel.program);
  const auto add = [&](CheckKind kind, Diagnostic d, std::uint64_t times) {
    if (how.strict && d.severity == Severity::warning) d.severity = Severity::error;
    Reported reported{
        .kind = kind, .text = std::move(d), .fix = {}, .count = times, .allowed = false, .reason = {}};
    reported.fix = reported.text.hint;
    if (const Allowance* a = allowances.find(kind, reported.text)) {
      reported.allowed = true;
      reported.reason = a->reason;
    }
    sources.fill(reported.text);
    report.findings.push_back(std::move(reported));
  };
  for (const Finding& finding : checks.findings(how.finished))
    add(finding.kind, diagnostic_of(kernel.program, finding), finding.count);
  if (set.has(CheckKind::overlap)) {
    for (Diagnostic d : kernel.overlaps) {
      d.severity = info(CheckKind::overlap).severity;
      d.reference = info(CheckKind::overlap).name;
      add(CheckKind::overlap, std::move(d), 1);
    }
  }
  report.unused = allowances.unused(set, how);
  for (Diagnostic& d : report.unused) sources.fill(d);
  report.not_checked = not_checked(kernel, checks, set, how);
  return report;
}

std::string findings_text(const CheckReport& report) {
  std::string text;
  for (const Reported& r : report.findings) {
    if (!r.allowed) text += format(r.text);
  }
  for (const Diagnostic& d : report.unused) text += format(d);
  return text;
}

nlohmann::ordered_json findings_json(const CheckReport& report) {
  auto all = nlohmann::ordered_json::array();
  for (const Reported& r : report.findings) {
    auto notes = nlohmann::ordered_json::array();
    for (const Diagnostic& note : r.text.notes)
      notes.push_back({{"place", place_json(note.where)}, {"message", note.message}});
    all.push_back({{"check", info(r.kind).name},
                   {"severity", level(r.text.severity)},
                   {"place", place_json(r.text.where)},
                   {"message", r.text.message},
                   {"fix", r.fix},
                   {"count", r.count},
                   {"allowed", r.allowed ? nlohmann::ordered_json(r.reason) : nlohmann::ordered_json()},
                   {"notes", std::move(notes)}});
  }
  return all;
}

}  // namespace ncemu::command
