// Student's t distribution, against tables.
#include "margay/statistics/student.h"

#include <gtest/gtest.h>

#include <cmath>

namespace margay::statistics {
namespace student_test {

TEST(Student, IsThatOfTheTables) {
  // Any table of critical values, one-sided.
  EXPECT_NEAR(student_quantile(0.05, 1), 6.313752, 1e-5);
  EXPECT_NEAR(student_quantile(0.025, 3), 3.182446, 1e-5);
  EXPECT_NEAR(student_quantile(0.0005, 7), 5.407883, 1e-5);
  EXPECT_NEAR(student_quantile(0.001, 15), 3.732834, 1e-5);
  EXPECT_NEAR(student_quantile(0.5, 4), 0, 1e-9);
  EXPECT_NEAR(student_quantile(0.975, 3), -3.182446, 1e-5);
  // One degree of freedom is Cauchy's distribution, which has a closed form.
  for (const double t : {-50.0, -1.0, 0.0, 0.3, 2.0, 1e3, 1e7})
    EXPECT_NEAR(student_survival(t, 1) / (t > 0 ? std::atan(1 / t) / M_PI : 0.5 - std::atan(t) / M_PI), 1,
                1e-7)
        << t;
  for (const double df : {2.0, 3.0, 8.0, 15.0, 200.0})
    for (const double s : {1e-12, 1e-6, 0.01, 0.3, 0.9, 0.999})
      EXPECT_NEAR(student_survival(student_quantile(s, df), df) / s, 1, 1e-6) << df << ' ' << s;
}

}  // namespace student_test
}  // namespace margay::statistics
