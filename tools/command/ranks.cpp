#include "tools/command/ranks.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "isa/fault.h"

namespace ncemu::command {
namespace {

namespace fs = std::filesystem;

constexpr const char* module_name = "ncemu_mpi.so";

// What launchers tell their processes: Open MPI, those that speak PMI (MPICH, Intel, srun).
bool launched_with_others() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && std::atoi(value) > 1) return true;
  }
  return false;
}

// Beside the program as it is built, or where it is installed.
std::string module_path() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& place : {here / module_name, here / ".." / NCEMU_MODULE_DIR / module_name}) {
    if (fs::exists(place)) return place.string();
  }
  return {};
}

}  // namespace

std::unique_ptr<Ranks> join_ranks() {
  if (!launched_with_others()) return nullptr;
  const std::string path = module_path();
  if (path.empty()) {
    throw Fault(FaultKind::input, "ncemu sweep",
                "mpirun started several processes, but this ncemu was built without MPI: build it where "
                "libopenmpi-dev is installed, or run it without mpirun");
  }
  // Never unloaded: MPI keeps threads and exit handlers.
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) throw Fault(FaultKind::input, path, "cannot be loaded: {}", dlerror());
  using Join = Ranks* (*)();
  const auto join = reinterpret_cast<Join>(dlsym(module, "ncemu_join_ranks"));
  if (join == nullptr) throw Fault(FaultKind::input, path, "is not the module of this ncemu: {}", dlerror());
  return std::unique_ptr<Ranks>(join());
}

}  // namespace ncemu::command
