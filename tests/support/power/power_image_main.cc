// power_image BOOK ROOT TO [SEED]: a directory as it would be after a loss of power (power_image.h). Exit
// code: 0; 1 with a sentence.
#include "power_image.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::mt19937_64 random(argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0);
  const std::string error =
      margay::test::make_power_image(argv[1], argv[2], argv[3], argc > 4 ? &random : nullptr);
  if (!error.empty()) std::fprintf(stderr, "power_image: %s\n", error.c_str());
  return error.empty() ? 0 : 1;
}
