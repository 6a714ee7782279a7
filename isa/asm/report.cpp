#include "isa/asm/report.h"

namespace ncemu::language {

void Reporter::report(const Stop& error) {
  if (!error.reported) add(Severity::error, error.where, error.message, error.hint, error.notes);
}

void Reporter::error(Where where, std::string message, std::string hint) {
  add(Severity::error, where, std::move(message), std::move(hint), {});
}

void Reporter::warning(Where where, std::string message, std::string hint) {
  add(Severity::warning, where, std::move(message), std::move(hint), {});
}

Diagnostic Reporter::note(Where where, std::string message) const {
  Diagnostic d;
  d.severity = Severity::note;
  d.where = sources_.location(where);
  d.message = std::move(message);
  d.source = std::string(sources_.line(d.where));
  return d;
}

void Reporter::add(Severity severity, Where where, std::string message, std::string hint,
                   std::vector<Diagnostic> notes) {
  Diagnostic d = note(where, std::move(message));
  d.severity = severity;
  d.hint = std::move(hint);
  d.notes = std::move(notes);
  diagnostics_.add(std::move(d));
  if (severity == Severity::error && diagnostics_.errors() >= most_errors) {
    diagnostics_.error({}, "too many errors; the rest of the source was not looked at");
    throw GiveUp{};
  }
}

}  // namespace ncemu::language
