// When a comparison is to fail, as a script or a test says it: "Compute > +3%", "time > 2s", "B: MPI_Wait <
// -10%".
//
//     [PHASE:] MEASURE > AMOUNT      MEASURE: time (of the phase; of the run where none is named), a state by
//     [PHASE:] MEASURE < AMOUNT      its name, with or without MPI_, or any: whatever the comparison tells.
//                                    AMOUNT: N% of what it was, or a duration, with + or -
//
// A rule holds where that is certain: with all of the change's interval beyond the amount. Thread safety:
// functions of their arguments.
#pragma once

#include <string>
#include <vector>

#include "margay/base/result.h"
#include "margay/compare/changes.h"

namespace margay::compare {

struct Rule {
  std::string text;     // as it was given
  std::string phase;    // "": all of the run
  std::string measure;  // "time", "any", or a state
  bool greater = true;
  double amount = 0;  // with its sign; a part of what it was, or seconds
  bool is_part = true;
};
// Errors: kInvalidArgument, a sentence with what is expected.
Result<Rule> parse_rule(const std::string& text);

enum class Verdict {
  kNo,
  kPerhaps,  // the change is beyond the amount, but not all of its interval is
  kYes,
};
struct Judged {
  Verdict verdict = Verdict::kNo;
  std::vector<Change> because;  // what it was judged by
};
// `phases`, `states`: names of the comparison's, as Change counts them; the first phase is all of the run.
// Errors: kNotFound (no such phase or state in any of the runs; those that there are, are named).
Result<Judged> judge(const Rule& rule, const Changes& changes, const std::vector<std::string>& phases,
                     const std::vector<std::string>& states);

}  // namespace margay::compare
