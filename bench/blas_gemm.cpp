// The other side of the GEMM comparison: what a user could run instead. Reads the same .npy files as ncemu,
// multiplies by OpenBLAS in FP32, writes the product; shares no code with the emulator.
//
//   ncemu_blas_gemm SIZE AT.npy B.npy C.npy      C = AT^T x B, all SIZE x SIZE

#include <cblas.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

struct File {
  std::FILE* stream;
  File(const char* path, const char* mode) : stream(std::fopen(path, mode)) {
    if (stream == nullptr) {
      std::perror(path);
      std::exit(2);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::fclose(stream); }
};

// NumPy's format 1.0: a prefix of 10 bytes, the last two the header's length.
void read(const char* path, float* values, std::size_t count) {
  const File file(path, "rb");
  unsigned char prefix[10] = {};
  bool fine = std::fread(prefix, 1, sizeof prefix, file.stream) == sizeof prefix && prefix[6] == 1;
  const long header = prefix[8] + 256L * prefix[9];
  fine = fine && std::fseek(file.stream, header, SEEK_CUR) == 0;
  if (fine && std::fread(values, sizeof(float), count, file.stream) == count) return;
  std::fprintf(stderr, "%s: is no .npy of %zu float32\n", path, count);
  std::exit(2);
}

bool write(const char* path, std::size_t size, const float* values) {
  const File file(path, "wb");
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(size) + ", " +
                       std::to_string(size) + "), }";
  header.resize(118, ' ');
  header.back() = '\n';
  std::fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file.stream);
  std::fwrite(header.data(), 1, header.size(), file.stream);
  std::fwrite(values, sizeof(float), size * size, file.stream);
  return std::fflush(file.stream) == 0;
}

// As ncemu's tensors and BLAS users have it: not touched before it is filled.
std::unique_ptr<float[]> room(std::size_t count) { return std::make_unique_for_overwrite<float[]>(count); }

}  // namespace

int main(int count, char** words) {
  const int size = count == 5 ? std::atoi(words[1]) : 0;
  if (size < 1) {
    std::fprintf(stderr, "usage: ncemu_blas_gemm SIZE AT.npy B.npy C.npy\n");
    return 2;
  }
  const auto n = static_cast<std::size_t>(size);
  const auto at = room(n * n), b = room(n * n), c = room(n * n);
  read(words[2], at.get(), n * n);
  read(words[3], b.get(), n * n);
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, size, size, size, 1.0F, at.get(), size, b.get(), size,
              0.0F, c.get(), size);
  return write(words[4], n, c.get()) ? 0 : 2;
}
