#include "beside_question.h"

namespace margay::viewer {

void BesideQuestion::ask(wire::ViewQuestion question, std::uint64_t token) {
  question.set_token(token);
  question_ = std::move(question);
  sent_ = 0;
}

wire::ViewQuestion BesideQuestion::send_as(std::uint64_t token) {
  wire::ViewQuestion question = *question_;
  sent_ = token;
  question.set_token(token);
  return question;
}

std::optional<std::uint64_t> BesideQuestion::done() {
  sent_ = 0;
  const auto question = std::exchange(question_, std::nullopt);
  return question ? std::optional(question->token()) : std::nullopt;
}

}  // namespace margay::viewer
