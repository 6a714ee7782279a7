// Plain loops to check the first kernel against; shares no code with the emulator.
//
//   ncemu_reference_gemm M K N DIRECTORY
//
// writes at.npy [K, M] and b.npy [K, N], FP8 (e4m3) bit patterns with both signs and a spread of 2^7, and
// expected.npy [M, N], the BF16 bit patterns of C = AT^T x B by the rule of the tensor engine: per group of
// 128 k one chain of fused multiply-adds in FP32 from 0, the groups added in FP32, one rounding to BF16 at
// the end.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

// Sign, 4 bits of exponent with bias 7, 3 bits of mantissa.
float e4m3_value(std::uint8_t bits) {
  const int exponent = (bits >> 3) & 15, mantissa = bits & 7;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                   : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (bits & 0x80) != 0 ? -size : size;
}

// To nearest even; finite values only.
std::uint16_t bf16_bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

// Exponents 3..9 of a linear congruential generator's high bits (Knuth's MMIX constants).
std::vector<std::uint8_t> random_e4m3(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint8_t> all(count);
  for (std::uint8_t& value : all) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const auto high = static_cast<std::uint32_t>(seed >> 33);
    value = static_cast<std::uint8_t>((high & 0x87) | ((3 + (high >> 8) % 7) << 3));
  }
  return all;
}

template <typename T>
bool save(const std::string& path, const char* type, std::size_t rows, std::size_t columns,
          const std::vector<T>& data) {
  std::string header = std::string("{'descr': '") + type + "', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(static_cast<char>(header.size() & 0xFF)).put(static_cast<char>(header.size() >> 8));
  file << header;
  file.write(reinterpret_cast<const char*>(data.data()),
             static_cast<std::streamsize>(data.size() * sizeof(T)));
  file.flush();
  if (!file) std::fprintf(stderr, "%s: cannot write\n", path.c_str());
  return static_cast<bool>(file);
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "usage: ncemu_reference_gemm M K N DIRECTORY\n");
    return 2;
  }
  std::size_t sizes[3] = {};
  for (int i = 0; i < 3; ++i) sizes[i] = std::strtoul(words[i + 1], nullptr, 10);
  const auto [m_count, k_count, n_count] = sizes;
  if (m_count == 0 || k_count == 0 || n_count == 0) {
    std::fprintf(stderr, "ncemu_reference_gemm: M, K and N are at least 1\n");
    return 2;
  }
  const std::vector<std::uint8_t> at = random_e4m3(k_count * m_count, 1),
                                  b = random_e4m3(k_count * n_count, 2);

  std::vector<float> b_values(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) b_values[i] = e4m3_value(b[i]);
  std::vector<std::uint16_t> c(m_count * n_count);
  std::vector<float> group(n_count), total(n_count);
  for (std::size_t m = 0; m < m_count; ++m) {
    for (std::size_t first = 0; first < k_count; first += 128) {
      group.assign(n_count, 0.0F);
      for (std::size_t k = first; k < k_count && k < first + 128; ++k) {
        const float a = e4m3_value(at[k * m_count + m]);
        for (std::size_t n = 0; n < n_count; ++n) group[n] = std::fma(a, b_values[k * n_count + n], group[n]);
      }
      for (std::size_t n = 0; n < n_count; ++n) total[n] = first == 0 ? group[n] : total[n] + group[n];
    }
    for (std::size_t n = 0; n < n_count; ++n) c[m * n_count + n] = bf16_bits(total[n]);
  }
  const std::string directory = words[4];
  const bool saved = save(directory + "/at.npy", "|u1", k_count, m_count, at) &&
                     save(directory + "/b.npy", "|u1", k_count, n_count, b) &&
                     save(directory + "/expected.npy", "<u2", m_count, n_count, c);
  return saved ? 0 : 2;
}
