// Lines of a Pajé trace in, names, leaves and records out, in the order of time.
//
// Thread safety: none. A Reader is for one trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "margay/import/format.h"
#include "paje_containers.h"
#include "paje_header.h"
#include "paje_late.h"
#include "paje_types.h"

namespace margay::trace::paje {

inline constexpr std::size_t kMostOpenLinks = 1 << 20;

class Reader {
 public:
  // `name` is what messages call the trace. The consumer and the options outlive the reader.
  Reader(std::string name, const ReadOptions& options, Consumer& consumer);

  // The next line, without its end. Errors: as Format::read; with keep_going only those that no line is to
  // blame for (kIo, kUnavailable, kInternal; more is late than memory allows).
  Status take_line(std::string_view line);
  // It was longer than kLongestLine and is left out.
  Status take_long_line();
  // After the last line: what was held back; what exists still ends with the last record.
  Status finish();

  const ReadCounts& counts() const { return counts_; }
  void set_bytes(std::uint64_t bytes) { counts_.bytes = bytes; }

 private:
  struct HalfLink {
    std::int32_t number;
    bool begun;
  };

  Status take(std::string_view line);
  // What was held back and happened at this time or before.
  Status release(std::int64_t until);
  Status happen(const EventDef& def, std::int64_t time_ns);
  Status dispatch(const EventDef& def, std::int64_t time_ns);
  Status define(const EventDef& def);
  // What is wrong with line `number`: an error with its place, or counted.
  Status problem(std::uint64_t number, const Error& error);
  Status advance(std::int64_t time_ns);

  Status create_container();
  Status destroy_container();
  Status change_state(Event event);
  Status change_variable(Event event);
  Status mark();
  Status link(bool begins);
  Status end_all();

  std::string_view value(Field f) const { return values_[static_cast<std::size_t>(f)]; }
  Result<std::uint32_t> container_of(Field f) const;
  Result<std::uint32_t> type_of(Type::Kind kind, std::uint32_t container) const;
  Result<OpenLeaf*> leaf_of(std::uint32_t container, std::uint32_t state_type);
  Result<LeafIndex> leaf_for_records(std::uint32_t container);
  EventRecord record(std::uint8_t kind, std::uint16_t name) const;
  Status emit(LeafIndex leaf, const EventRecord& r);
  Status leave_all(OpenLeaf& leaf);

  const std::string name_;
  const ReadOptions& options_;
  Consumer& consumer_;
  ReadCounts counts_;
  Header header_;
  Types types_;
  Containers containers_;
  LateLines late_;
  Values values_{};
  std::string event_;        // of the line that is wrong, for its message
  std::int64_t now_ = 0;     // of the newest record
  std::int64_t newest_ = 0;  // of any line, also of those held back
  bool began_ = false, any_time_ = false;
  bool is_late_ = false;                                  // what is wrong with the line: it came too late
  std::unordered_map<std::string, HalfLink> half_links_;  // by link type and key
  std::string link_key_;
  std::int32_t next_link_ = 0;
};

}  // namespace margay::trace::paje
