#include "messages_output.h"

#include <nlohmann/json.hpp>

#include "margay/base/text.h"
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

const Table& messages_columns() {
  using Kind = Column::Kind;
  static const Table table = {"messages",
                              {{"sent_s", Kind::kMoment},
                               {"took_ns", Kind::kInteger},
                               {"from", Kind::kText},
                               {"to", Kind::kText},
                               {"bytes", Kind::kInteger},
                               {"tag", Kind::kInteger},
                               {"sent_by", Kind::kText},
                               {"send_ns", Kind::kInteger},
                               {"taken_by", Kind::kText},
                               {"posted_s", Kind::kMoment},
                               {"received_s", Kind::kMoment}},
                              {"sent_s", "\"from\", \"to\"", "\"to\""}};
  return table;
}

void message_fields(const MessageRow& row, Row& to) {
  const trace::Message& m = row.what;
  to.clear();
  to.emplace_back(m.sent);
  to.push_back(field_if(m.completed, (m.received - m.sent).value));
  to.emplace_back(row.from);
  to.emplace_back(row.to);
  to.emplace_back(m.bytes);
  to.emplace_back(std::int64_t{m.tag});
  to.emplace_back(row.sent_by.text);
  to.emplace_back((m.sent_end - m.sent).value);
  to.emplace_back(row.taken_by.text);
  to.emplace_back(m.posted);
  to.push_back(field_if(m.completed, m.received));
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
