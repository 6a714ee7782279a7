// `ncemu isa`: the reference pages, printed from the instruction table.

#include <cstdio>

#include "isa/codec.h"
#include "isa/reference.h"
#include "tools/command/verbs.h"

namespace ncemu::command {

int isa(const Arguments& arguments) {
  Options options("isa", "isa [MNEMONIC] [--encoding]",
                  "Lists every instruction with its engines and its sentence, or prints the page of one.", 1);
  options.flag("encoding", "print the layout of instruction words instead");
  if (!options.parse(arguments)) return 0;
  if (options.on("encoding")) {
    std::fputs(describe_encoding().c_str(), stdout);
  } else if (options.words().empty()) {
    std::fputs(list_instructions().c_str(), stdout);
  } else {
    std::fputs(reference_page(options.words().front()).c_str(), stdout);
  }
  return 0;
}

}  // namespace ncemu::command
