#pragma once

// Rows of the tables to cases, one function per kind of table. What is compared with what stands at the top
// of each file.

#include <string>

#include "bench/accuracy/case.h"
#include "bench/accuracy/csv.h"

namespace ncemu::accuracy {

Cases instruction_cases(const Csv& rows);  // g1_instructions.csv
// g1_pe_matmul.csv; the loads between the matmuls are those of the other table, where that has them.
Cases matmul_cases(const Csv& rows, const Csv* loads = nullptr);
Cases weight_load_cases(const Csv& rows);                          // g1_pe_loadweights.csv
Cases control_cases(const Csv& rows);                              // g1_control.csv
Cases window_cases(const Csv& rows, const std::string& kernels);   // g2_stream_windows.csv
Cases record_cases(const Csv& rows, const std::string& kernels);   // records.csv
Cases capture_cases(const Csv& rows, const std::string& kernels);  // g3_captures.csv
// Any other table: its rows are counted and listed.
Cases other_cases(const Csv& rows, const std::string& file, const std::string& kernels);

// Single records of instructions, of transfers and of kernels, by row; absent when the record is none.
std::optional<Case> instruction_record(const Csv& rows, std::size_t row);
std::optional<Case> transfer_record(const Csv& rows, std::size_t row, const std::string& kernels);
std::optional<Case> kernel_record(const Csv& rows, std::size_t row, const std::string& kernels);

// Kernels of which the record does not say what decides their time: how many tiles are in flight, or the
// order of the work. They stand in groups of their own.
inline constexpr const char* schedule_assumed = " kernel, schedule assumed";

// A kernel whose published schedule is among ours: its time and its counts; nothing when the row is none.
Cases published_kernel(const Csv& rows, std::size_t row, const std::string& kernels);

// Every table of a directory, by name. `kernels` is the directory of the .nca sources.
Cases all_cases(const std::string& directory, const std::string& kernels);

}  // namespace ncemu::accuracy
