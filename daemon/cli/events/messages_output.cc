#include "messages_output.h"

#include <nlohmann/json.hpp>

#include "margay/base/text.h"
#include "margay/text/csv.h"
#include "margay/text/text.h"

namespace margay::daemon {
namespace {

constexpr std::size_t kLongestCell = 120;  // columns

}  // namespace

MessagesTable::MessagesTable(TimeNs zero)
    : zero_(zero), table_({">sent s", ">took", "from", "to", ">bytes", ">tag", "calls"}) {}

void MessagesTable::add(const MessageRow& row) {
  const trace::Message& m = row.what;
  const DurationNs took = m.received - m.sent;
  table_.add({text::seconds_text(text::minus(m.sent.value, zero_.value)),
              m.completed ? text::short_duration_text(took.value) : "?",
              text::printable(row.from, true, kLongestCell), text::printable(row.to, true, kLongestCell),
              text::size_text(m.bytes), std::to_string(m.tag),
              text::printable(row.sent_by.text + " " + row.taken_by.text, true, kLongestCell)});
}

std::string messages_csv_head() {
  return "sent_s,took_ns,from,to,bytes,tag,sent_by,send_ns,taken_by,posted_s,received_s\n";
}

std::string message_csv(const MessageRow& row, TimeNs zero) {
  const trace::Message& m = row.what;
  const auto since = [&](TimeNs t) { return text::seconds_text(text::minus(t.value, zero.value)); };
  return since(m.sent) + "," + (m.completed ? std::to_string((m.received - m.sent).value) : "") + "," +
         text::csv_field(clean_utf8(row.from)) + "," + text::csv_field(clean_utf8(row.to)) + "," +
         std::to_string(m.bytes) + "," + std::to_string(m.tag) + "," +
         text::csv_field(clean_utf8(row.sent_by.text)) + "," + std::to_string((m.sent_end - m.sent).value) +
         "," + text::csv_field(clean_utf8(row.taken_by.text)) + "," + since(m.posted) + "," +
         (m.completed ? since(m.received) : "") + "\n";
}

std::string message_json(const MessageRow& row, TimeNs zero) {
  const trace::Message& m = row.what;
  nlohmann::ordered_json j;
  j["sent_ns"] = text::minus(m.sent.value, zero.value);
  if (m.completed) j["took_ns"] = (m.received - m.sent).value;
  j["from"] = clean_utf8(row.from);
  j["to"] = clean_utf8(row.to);
  j["bytes"] = m.bytes;
  j["tag"] = m.tag;
  j["sent_by"] = clean_utf8(row.sent_by.text);
  j["send_ns"] = (m.sent_end - m.sent).value;
  j["taken_by"] = clean_utf8(row.taken_by.text);
  j["posted_ns"] = text::minus(m.posted.value, zero.value);
  if (m.completed) j["received_ns"] = text::minus(m.received.value, zero.value);
  return j.dump() + "\n";
}

}  // namespace margay::daemon
