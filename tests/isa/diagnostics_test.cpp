#include "isa/diagnostics.h"

#include <doctest/doctest.h>

#include "isa/program.h"

using namespace ncemu;

TEST_CASE("a diagnostic shows place, message, source line, caret, hint and notes") {
  Diagnostic d;
  d.where = {"gemm.nca", 12, 3, 6};
  d.message = "unknown name 'matmull'";
  d.source = "  matmull acc, w";
  d.hint = "did you mean matmul?";
  d.reference = "datasheet 6.1";
  Diagnostic note;
  note.severity = Severity::note;
  note.where = {"gemm.nca", 40, 1, 0};
  note.message = "expanded from here";
  d.notes = {note};
  CHECK(format(d) ==
        "gemm.nca:12:3: error: unknown name 'matmull' [datasheet 6.1]\n"
        "    matmull acc, w\n"
        "    ^~~~~~\n"
        "  hint: did you mean matmul?\n"
        "gemm.nca:40:1: note: expanded from here\n");
}

TEST_CASE("the caret stands under its character after tabs and wide characters, and inside the line") {
  Diagnostic d;
  d.where = {"a", 1, 3, 1};
  d.message = "m";
  d.source = "\tx y";
  CHECK(format(d) == "a:1:3: error: m\n  \tx y\n  \t ^\n");
  d.source = "\xC3\xA4y";  // one character of two bytes
  CHECK(format(d) == "a:1:3: error: m\n  \xC3\xA4y\n   ^\n");
  d.where.column = 99;
  d.where.length = 50;
  d.source = "ab";
  CHECK(format(d) == "a:1:99: error: m\n  ab\n    ^\n");
}

TEST_CASE("of a long line only the part around the column is shown") {
  Diagnostic d;
  d.where = {"a", 1, 5001, 3};
  d.message = "m";
  d.source = std::string(5000, ' ') + "bad" + std::string(5000, '-');
  const std::string text = format(d);
  CHECK(text.starts_with("a:1:5001: error: m\n"));
  CHECK(text.size() < 500);
  CHECK(text.find("  ..." + std::string(80, ' ') + "bad-") != std::string::npos);
  CHECK(text.find("\n" + std::string(85, ' ') + "^~~\n") != std::string::npos);
  d.where = {"a", 1, 1, 9000};
  CHECK(format(d).size() < 700);
}

TEST_CASE("line 0 is the whole file, column 0 the whole line") {
  Diagnostic d;
  d.severity = Severity::warning;
  d.where = {"a.nca", 0, 0, 0};
  d.message = "m";
  CHECK(format(d) == "a.nca: warning: m\n");
  d.where = {"a.nca", 4, 0, 0};
  d.source = "text";
  CHECK(format(d) == "a.nca:4: warning: m\n  text\n");
  d.where = {};
  d.source.clear();
  CHECK(format(d) == "warning: m\n");
}

TEST_CASE("only errors count as errors") {
  Diagnostics all;
  all.warning({"a", 1, 1, 0}, "w");
  CHECK_FALSE(all.has_errors());
  all.error({"a", 2, 1, 0}, "e", "h");
  CHECK(all.errors() == 1);
  CHECK(all.all().size() == 2);
  CHECK(all.text() == "a:1:1: warning: w\na:2:1: error: e\n  hint: h\n");
}

TEST_CASE("a suggestion is one slip in three characters away, else there is none") {
  const std::vector<std::string_view> known = {"tensor_copy", "tensor_scalar", "add", "matmul"};
  CHECK(did_you_mean("tensor_cpoy", known) == "tensor_copy");
  CHECK(did_you_mean("tensorscaler", known) == "tensor_scalar");
  CHECK(did_you_mean("adn", known) == "add");
  CHECK(did_you_mean("matmull", known) == "matmul");
  CHECK(did_you_mean("activation", known).empty());
  CHECK(did_you_mean("x", known).empty());
  CHECK(did_you_mean("", known).empty());
}

TEST_CASE("a source place names the macro calls that led there") {
  Program p;
  p.files = {"k.nca", "std.nca"};
  p.sites = {Site{}, Site{0, 12, 3, no_index}, Site{1, 5, 1, 1}};
  CHECK(describe_site(p, 1) == "k.nca:12:3");
  CHECK(describe_site(p, 2) == "std.nca:5:1 (from k.nca:12:3)");
  CHECK(describe_site(p, 0) == "<unknown>");
  CHECK(describe_site(p, no_index) == "<unknown>");
}
