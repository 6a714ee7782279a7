#include "isa/comparison.h"

namespace ncemu {

std::string_view sign(Comparison condition) {
  switch (condition) {
    case Comparison::always: return "";
    case Comparison::lt: return "<";
    case Comparison::le: return "<=";
    case Comparison::eq: return "==";
    case Comparison::ne: return "!=";
    case Comparison::ge: return ">=";
    case Comparison::gt: return ">";
  }
  return "";
}

}  // namespace ncemu
