#pragma once

// A report in three forms: tables to read, JSON for programs, a picture.

#include <string>

#include "bench/accuracy/evaluate.h"

namespace ncemu::accuracy {

// Groups, then each row with its signed error and, where something was fitted to its group, the error when
// that is fitted again without the row (left out); then what is not expressed, by reason.
std::string to_text(const Report& report);
// The groups alone, as the table of a Markdown page.
std::string to_markdown(const Report& report);
// The text with the Markdown table between the two lines that mark its place. Throws Fault(input) when it has
// none.
std::string with_table(const std::string& text, const Report& report, const std::string& file);
std::string to_json(const Report& report);
// Histogram of the signed errors, and predicted against measured on logarithmic axes.
std::string to_svg(const Report& report);

}  // namespace ncemu::accuracy
