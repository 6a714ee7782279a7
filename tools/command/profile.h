#pragma once

// The reports of `ncemu profile` on one recorded run.

#include <string>
#include <vector>

#include "emu/observe/profile.h"
#include "emu/observe/verdict.h"
#include "tools/command/advice.h"
#include "tools/command/execution.h"
#include "tools/command/report.h"
#include "tools/command/retime.h"
#include "tools/command/source_blocks.h"

namespace ncemu::command {

// A kernel's run with everything that the reports are made of.
struct ProfileReport {
  ReportHead head;
  const Kernel& kernel;
  const RunReport& run;
  const Profile& profile;
  const SourceText& source;
  Verdict verdict;
  std::vector<WhatIf> what_if;
  std::vector<Advice> advice;
};

// Fills in verdict, what-ifs and advice; the last two only for a run that finished.
ProfileReport make_report(ReportHead head, const Kernel& kernel, const RunReport& run, const Profile& profile,
                          const SourceText& source);

std::string profile_text(const ProfileReport& report, bool colour);
std::string profile_json(const ProfileReport& report);
// The page of tools/report with this run in it.
std::string profile_html(const ProfileReport& report);
std::string profile_html(const ProfileReport& report, const std::string& json);  // its profile_json()
// The JSON Schema that profile_json() follows.
std::string profile_schema();

}  // namespace ncemu::command
