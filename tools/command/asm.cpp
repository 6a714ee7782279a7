// `ncemu asm` and `ncemu disasm`: text to container and back.

#include <cstdio>

#include "isa/container.h"
#include "isa/text.h"
#include "tools/command/kernel.h"
#include "tools/command/output_files.h"
#include "tools/command/verbs.h"
#include "tools/files/file.h"

namespace ncemu::command {
namespace {

std::string listing(const Program& program) {
  std::string text;
  for (const Engine engine : all_engines) {
    const auto& stream = program.stream(engine);
    if (stream.empty()) continue;
    text += fmt::format("{} ({} instructions)\n", name(engine), stream.size());
    for (std::size_t i = 0; i < stream.size(); ++i) {
      text += fmt::format("  {:>6}  {}  # {}\n", i, print(stream[i], engine, program),
                          describe_site(program, stream[i].site));
    }
  }
  return text;
}

}  // namespace

int assemble(const Arguments& arguments) {
  Options options("asm", "asm KERNEL.nca -o KERNEL.ncb [options]",
                  "Assembles a source: places its tiles, synchronises its engines, writes a container.", 1);
  declare_kernel_options(options);
  options.group("Output")
      .value("output,o", "FILE.ncb", "the container to write")
      .flag("list", "prints every stream, one instruction per line, with its source line")
      .flag("explain-sync", "prints why each wait was inserted");
  if (!options.parse(arguments)) return 0;
  KernelSource source = kernel_source(options);
  source.explain_sync = options.on("explain-sync");
  const std::string output = options.text("output");
  if (output.empty() && !options.on("list") && !source.explain_sync) {
    throw Fault(FaultKind::input, "ncemu asm", "nothing to do: give -o FILE.ncb, --list or --explain-sync");
  }
  OutputFiles files;
  files.keep("its source", source.path);
  files.add("-o", output);
  const Kernel kernel = load_kernel(source);
  if (options.on("list")) std::fputs(listing(kernel.program).c_str(), stdout);
  if (source.explain_sync) std::fputs(explain_sync(kernel).c_str(), stdout);
  if (!output.empty()) save_container(kernel.program, output);
  return 0;
}

int disassemble(const Arguments& arguments) {
  Options options("disasm", "disasm KERNEL.ncb",
                  "Prints a container as source that assembles to the same words, tensors and constants.", 1);
  if (!options.parse(arguments)) return 0;
  std::fputs(ncemu::disassemble(load_container(options.word("the container (.ncb)"))).c_str(), stdout);
  return 0;
}

}  // namespace ncemu::command
