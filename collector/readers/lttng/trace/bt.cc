#include "bt.h"

namespace margay::lttng {
namespace {

constexpr std::size_t kMostSentence = 300;

// Without ", msg-it-addr=0x5565...": addresses tell nobody anything.
std::string without_addresses(std::string text) {
  for (std::size_t at; (at = text.find("-addr=0x")) != std::string::npos;) {
    std::size_t begin = text.find_last_of(" :,", at);
    begin = begin == std::string::npos ? 0 : begin + 1;
    const std::size_t end = text.find_first_not_of("0123456789abcdef", at + 8);
    const bool more = end != std::string::npos && text.compare(end, 2, ", ") == 0;
    if (more) {
      text.erase(begin, end + 2 - begin);
    } else {
      while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == ',' || text[begin - 1] == ':'))
        --begin;
      text.erase(begin, (end == std::string::npos ? text.size() : end) - begin);
    }
  }
  return text;
}

// One line without control characters, cut.
std::string sentence(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool blank = static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == ' ';
    if (!blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
    if (out.size() >= kMostSentence) {
      out += "...";
      break;
    }
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '.')) out.pop_back();
  return out;
}

}  // namespace

BtError take_error() {
  BtError out;
  if (const bt_error* error = bt_current_thread_take_error(); error != nullptr) {
    for (std::uint64_t i = 0; i < bt_error_get_cause_count(error); ++i)
      out.causes.emplace_back(bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, i)));
    bt_error_release(error);
  }
  if (!out.causes.empty()) out.text = sentence(without_addresses(out.causes.front()));
  // What is wrong with metadata is not among the causes.
  if (out.text.starts_with("Cannot create trace for")) out.text = "its metadata does not decode";
  if (out.text.empty()) out.text = "Babeltrace does not say why";
  return out;
}

}  // namespace margay::lttng
