#include "isa/asm/assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "isa/asm/allowances.h"
#include "isa/asm/evaluator.h"
#include "isa/asm/parser.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

using namespace language;

class Assembler {
 public:
  explicit Assembler(const AssembleOptions& options) : options_(options), reporter_(sources_, collected_) {}

  Assembly run(std::uint32_t file) {
    Assembly assembly;
    try {
      parse_source(sources_, file, reporter_, unit_);
      const Target target = choose_target();
      const bool automatic_sync = mode(unit_.sync_modes, "sync");
      const bool automatic_tables = mode(unit_.table_modes, "tables");
      Builder builder(target, std::filesystem::path(sources_.file(file).name()).stem().string());
      Evaluator evaluator(unit_, reporter_, builder, automatic_sync,
                          {options_.most_steps, options_.most_instructions, options_.progress});
      // Not the values of -D options, which come after the files.
      const std::size_t files = sources_.size();
      read_parameters(evaluator);
      // A block that does not close where it should makes nonsense of what follows.
      if (unit_.structure_is_sound) {
        evaluator.run();
        finish(builder, automatic_sync, automatic_tables, assembly);
        read_allowances(files, assembly.program);
      }
    } catch (const GiveUp&) {
    }
    // In the order of the text, but what belongs to no line last.
    std::vector<Diagnostic> all = collected_.all();
    std::stable_sort(all.begin(), all.end(),
                     [&](const Diagnostic& a, const Diagnostic& b) { return rank(a) < rank(b); });
    for (Diagnostic& d : all) {
      add_source(d);
      assembly.diagnostics.add(std::move(d));
    }
    return assembly;
  }

  std::uint32_t add(std::string name, std::string text) {
    return sources_.add(std::move(name), std::move(text));
  }

  std::vector<ParamInfo> parameters(std::uint32_t file) {
    std::vector<ParamInfo> result;
    try {
      parse_source(sources_, file, reporter_, unit_);
    } catch (const GiveUp&) {
    }
    for (const Statement* s : unit_.params) {
      if (s->a == nullptr) continue;
      const SourceFile& f = sources_.file(s->where.file);
      std::string_view rest = f.line(f.line_of(s->where.offset));
      const std::size_t behind = f.column_of(s->a->where.offset) - 1 + s->a->where.length;
      rest = behind < rest.size() ? rest.substr(behind) : std::string_view();
      const std::size_t hash = rest.find('#');
      rest = hash == std::string_view::npos ? std::string_view() : rest.substr(hash + 1);
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      result.push_back({std::string(s->name), std::string(sources_.text(s->a->where)), std::string(rest)});
    }
    return result;
  }

 private:
  // --machine before `.machine` before the default.
  Target choose_target() {
    Target target;
    std::string_view chosen;
    for (const Statement* s : unit_.machines) {
      if (!chosen.empty() && s->name != chosen) {
        reporter_.error(s->name_where,
                        fmt::format("'.machine' was '{}' before and is '{}' here", chosen, s->name));
      }
      chosen = s->name;
      const auto found = options_.find_machine ? options_.find_machine(s->name) : find_target(s->name);
      if (found) {
        target = *found;
        continue;
      }
      const std::string_view near = did_you_mean(s->name, machine_names());
      std::string known;
      for (const std::string_view m : machine_names())
        known += fmt::format("{}{}", known.empty() ? "" : ", ", m);
      reporter_.error(s->name_where, fmt::format("unknown machine '{}'", s->name),
                      near.empty() ? "known: " + known : fmt::format("did you mean '{}'?", near));
    }
    return options_.target ? *options_.target : target;
  }

  // `.sync` and `.tables` hold for the whole source. True: auto.
  bool mode(const std::vector<const Statement*>& statements, std::string_view directive) {
    for (const Statement* s : statements) {
      if (s->flag != statements.front()->flag) {
        reporter_.error(s->where, fmt::format("'.{}' holds for the whole source and was '{}' before",
                                              directive, statements.front()->flag ? "auto" : "manual"));
        break;
      }
    }
    return statements.empty() || statements.front()->flag;
  }

  void read_parameters(Evaluator& evaluator) {
    for (const auto& [name, value] : options_.params) {
      const auto param =
          std::find_if(unit_.params.begin(), unit_.params.end(),
                       [&, n = std::string_view(name)](const Statement* s) { return s->name == n; });
      const std::uint32_t file = sources_.add(fmt::format("-D {}", name), value);
      const Where where{file, 0, static_cast<std::uint32_t>(value.size())};
      if (param == unit_.params.end()) {
        std::vector<std::string_view> candidates;
        std::string all;
        for (const Statement* s : unit_.params) {
          candidates.push_back(s->name);
          all += fmt::format("{}{}", all.empty() ? "" : ", ", s->name);
        }
        const std::string_view near = did_you_mean(name, candidates);
        reporter_.error(where, fmt::format("the kernel has no parameter '{}'", name),
                        !near.empty() ? fmt::format("did you mean '{}'?", near)
                        : all.empty() ? "it has none"
                                      : "it has " + all);
        continue;
      }
      if (const Expression* e = parse_value(sources_, file, reporter_, unit_)) {
        evaluator.override_parameter(**param, *e);
      }
    }
  }

  void finish(Builder& builder, bool automatic_sync, bool automatic_tables, Assembly& assembly) {
    Builder::Finish options;
    options.automatic_sync = automatic_sync;
    options.automatic_tables = automatic_tables;
    options.sync.explain = options_.explain_sync;
    options.lower = !options_.keep_text_order;
    try {
      assembly.program = builder.finish(collected_, options, &assembly.sync);
    } catch (const Fault& fault) {
      if (fault.kind() == FaultKind::internal) throw;
      collected_.error({sources_.file(0).name(), 0, 0, 0}, fault.what());
    }
  }

  // A file that is included twice is read once.
  void read_allowances(std::size_t files, Program& program) {
    std::set<std::string> read;
    for (std::uint32_t f = 0; f < files; ++f) {
      const std::string& file_name = sources_.file(f).name();
      if (!read.insert(file_name).second) continue;
      for (Allowance& allowance : find_allowances(sources_, f, reporter_)) {
        const auto known = std::find(program.files.begin(), program.files.end(), file_name);
        allowance.file = static_cast<std::uint32_t>(known - program.files.begin());
        if (known == program.files.end()) program.files.push_back(file_name);
        program.allowances.push_back(std::move(allowance));
      }
    }
  }

  std::pair<std::size_t, std::uint32_t> rank(const Diagnostic& d) const {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (d.where.line != 0 && sources_.file(static_cast<std::uint32_t>(i)).name() == d.where.file)
        return {i, d.where.line};
    }
    return {sources_.size(), 0};
  }

  // Rules and placement know sites; their lines are here.
  void add_source(Diagnostic& d) const {
    if (d.source.empty()) d.source = std::string(sources_.line(d.where));
    for (Diagnostic& note : d.notes) add_source(note);
  }

  const AssembleOptions& options_;
  Sources sources_;
  Diagnostics collected_;
  Reporter reporter_;
  Unit unit_;
};

}  // namespace

Assembly assemble_file(const std::string& path, const AssembleOptions& options) {
  std::string text;
  try {
    text = language::read_text_file(path);
  } catch (const Fault& fault) {
    Assembly assembly;
    assembly.diagnostics.error({path, 0, 0, 0}, fault.message());
    return assembly;
  }
  return assemble_text(text, path, options);
}

Assembly assemble_text(const std::string& text, const std::string& name, const AssembleOptions& options) {
  Assembler assembler(options);
  return assembler.run(assembler.add(name, text));
}

std::vector<ParamInfo> parameters(const std::string& path) {
  const AssembleOptions options;
  Assembler assembler(options);
  return assembler.parameters(assembler.add(path, language::read_text_file(path)));
}

}  // namespace ncemu
